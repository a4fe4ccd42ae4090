#!/usr/bin/python3
"""Renews the pictures in docs/understand/strategies.md from the planners' own output.

Each line `<!-- picture: NAME -->` is followed by what `unisono-strategies --draw NAME` prints.
With --check nothing is written: the exit status says whether the pictures are current.
"""

import argparse
import pathlib
import re
import subprocess
import sys

DOCUMENT = pathlib.Path(__file__).resolve().parent.parent / "docs" / "understand" / "strategies.md"
PICTURE = re.compile(r"^(<!-- picture: (\w+) -->\n)(?:```text\n.*?^```\n)?", re.MULTILINE | re.DOTALL)


def renewed(text: str, program: pathlib.Path) -> str:
    def draw(match: re.Match) -> str:
        picture = subprocess.run([program, "--draw", match[2]], capture_output=True, text=True,
                                 check=True).stdout
        return f"{match[1]}```text\n{picture}```\n"
    return PICTURE.sub(draw, text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=pathlib.Path, help="unisono-strategies, as built")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()

    before = DOCUMENT.read_text()
    after = renewed(before, options.program.resolve())
    if not options.check:
        DOCUMENT.write_text(after)
    elif before != after:
        print(f"{DOCUMENT}: pictures are not current; run {pathlib.Path(__file__).name}",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
