#!/usr/bin/python3
"""Compiles the C++ of a Markdown file: all its ```cpp blocks, one after the other, as one file."""

import argparse
import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(r"^```cpp\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("document", type=pathlib.Path)
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--include", action="append", default=[])
    options = parser.parse_args()

    blocks = BLOCK.findall(options.document.read_text())
    if not blocks:
        print(f"{options.document}: no C++ in it", file=sys.stderr)
        return 1
    folders = [f"-I{folder}" for folder in options.include]
    command = [options.compiler, "-std=c++20", "-Wall", "-Wextra", "-Wno-missing-field-initializers",
               "-fsyntax-only", *folders, "-x", "c++", "-"]
    return subprocess.run(command, input="\n".join(blocks), text=True, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
