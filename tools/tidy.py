#!/usr/bin/python3
"""Runs clang-tidy over Unisono; what is compiled for several MPIs, for one of them.

A file that passed is not looked at again until it, a header, or the settings change. The whole run
is bounded by --seconds: what could not be checked within that time counts as failed.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "tidy"  # of the preset of that name
FOLDERS = ("src", "orchestra", "daemons", "testbed")

# The analyzer's search within functions only: less than half of the time of the deep one. And more
# steps of what is computed at compile time: clang counts them, gcc does not.
EXTRA = [f"--extra-arg={word}" for word in ("-Xclang", "-analyzer-config", "-Xclang", "mode=shallow",
                                            "-fconstexpr-steps=10000000")]


def commands_of(build: pathlib.Path) -> dict[pathlib.Path, str]:
    """Sources below FOLDERS, with a compiler command of each."""
    chosen = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if not any(source.is_relative_to(ROOT / folder) for folder in FOLDERS):
            continue
        if source.suffix not in (".cpp", ".c"):
            continue
        if not source.stem.endswith("_test"):
            chosen[source] = entry["command"]
    return chosen


def digest_of(paths, extra: str) -> str:
    digest = hashlib.sha256(extra.encode())
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()


class Checker:
    def __init__(self, build: pathlib.Path, deadline_s: float):
        self.build = build
        self.deadline_s = deadline_s
        self.passed = build / "tidy-passed"
        self.passed.mkdir(exist_ok=True)
        headers = [header for folder in ("include", *FOLDERS)
                   for header in sorted(ROOT.glob(f"{folder}/**/*.hpp"))]
        self.common = digest_of([ROOT / ".clang-tidy", *headers], "")

    def check(self, source: pathlib.Path, command: str) -> tuple[bool, str]:
        """Whether the file is in order, and what there is to say about it."""
        stamp = self.passed / digest_of([source], self.common + command)
        if stamp.exists():
            return True, ""
        left_s = self.deadline_s - time.monotonic()
        if left_s <= 0:
            return False, "not checked: no time left"
        try:
            run = subprocess.run(["clang-tidy", "--quiet", "-p", str(self.build), *EXTRA,
                                  str(source)], capture_output=True, text=True, timeout=left_s)
        except subprocess.TimeoutExpired:
            return False, "not checked to its end: no time left"
        if run.returncode == 0:
            stamp.touch()
            return True, ""
        return False, run.stdout.strip() or run.stderr.strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1200, help="limit for the whole run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()

    subprocess.run(["cmake", "--preset", "tidy"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    commands = commands_of(BUILD)
    checker = Checker(BUILD, time.monotonic() + options.seconds)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for source, (good, text) in zip(commands, pool.map(lambda item: checker.check(*item),
                                                           commands.items())):
            if not good:
                failed += 1
                print(f"{source.relative_to(ROOT)}:\n{text}\n", flush=True)
    print(f"tidy: {len(commands) - failed} of {len(commands)} files in order")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
