#!/usr/bin/python3
"""Builds Unisono and runs all of its tests: every part, whatever becomes of the others.

Each part's output goes to the terminal as it comes and to BUILD/test-logs/PART.log. At the end come
the tests that were skipped, the parts with their outcome and time, and the summary lines of ctest
and pytest. The exit code is 0 only if every part passed.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PYTHON = "/usr/bin/python3"
UNIT_TESTS = r"^unit\.[a-z0-9_]+$"  # without MPI
PYTEST_FOLDERS = ("bench", "cli", "demo", "tests", "tools")

CTEST_SUMMARY = re.compile(r"\d+% tests passed, \d+ tests failed out of \d+")
PYTEST_SUMMARY = re.compile(r"=+ (\d+ \w+(, )?)+ in [\d.]+s.* =+")
CTEST_SKIPPED = re.compile(r"\s*\d+ - (\S+) \((Skipped|Not Run|Disabled)\)")
PYTEST_SKIPPED = re.compile(r"SKIPPED \[\d+\] (.+)")


@dataclasses.dataclass
class Part:
    """One command of the test run."""

    name: str
    command: list[str]
    passed: bool = False
    seconds: float = 0.0
    summary: list[str] = dataclasses.field(default_factory=list)
    skipped: list[str] = dataclasses.field(default_factory=list)

    def take(self, line: str) -> None:
        """Keeps what the end of the test run is to say of this line of output."""
        line = line.rstrip()
        if CTEST_SUMMARY.match(line) or PYTEST_SUMMARY.fullmatch(line):
            self.summary.append(line)
        for pattern in (CTEST_SKIPPED, PYTEST_SKIPPED):
            if match := pattern.match(line):
                self.skipped.append(match[1])

    def run(self, log_folder: pathlib.Path, environment: dict[str, str]) -> None:
        print(f"\n==== {self.name} ====", flush=True)
        start_s = time.monotonic()
        with (open(log_folder / f"{self.name}.log", "w") as log,
              subprocess.Popen(self.command, cwd=ROOT, env=environment, text=True, errors="replace",
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT) as process):
            for line in process.stdout:
                print(line, end="", flush=True)
                log.write(line)
                self.take(line)
        self.passed = process.returncode == 0
        self.seconds = time.monotonic() - start_s


def parts_of_test_run(build: str) -> list[Part]:
    ctest = ["ctest", "--test-dir", build, "--output-on-failure", "--no-tests=error"]
    folders = [folder for folder in PYTEST_FOLDERS if (ROOT / folder).exists()]
    return [
        Part("configure", ["cmake", "--preset", "default"]),
        Part("build", ["cmake", "--build", build]),
        Part("format", ["tools/format.sh", "--check"]),
        Part("tidy", [PYTHON, "tools/tidy.py"]),
        Part("sanitizers", ["tools/sanitize.sh"]),
        Part("unit", [*ctest, "--tests-regex", UNIT_TESTS, "--parallel", str(os.cpu_count())]),
        # One at a time: an MPI test alone has more ranks than most machines cores. pytest, below, runs
        # the tests of the command, too.
        Part("ctest", [*ctest, "--exclude-regex", f"{UNIT_TESTS}|^cli$", "--parallel", "1"]),
        Part("pytest", [PYTHON, "-m", "pytest", "-rs", "-p", "no:cacheprovider", *folders]),
    ]


def print_end(parts: list[Part]) -> None:
    skipped = [f"  {part.name}: {test}" for part in parts for test in part.skipped]
    if skipped:
        print("\n==== skipped ====", *skipped, sep="\n")
    print("\n==== summary ====")
    for part in parts:
        print(f"{part.name:<12} {'passed' if part.passed else 'FAILED':<8} {part.seconds:6.0f} s")
        for line in part.summary:
            print(line)
    total_s = sum(part.seconds for part in parts)
    print(f"{'all':<12} {'passed' if all(part.passed for part in parts) else 'FAILED':<8}"
          f" {total_s:6.0f} s", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--only", action="append", metavar="PART", help="run these parts only")
    options = parser.parse_args()

    parts = parts_of_test_run(options.build)
    if options.only:
        parts = [part for part in parts if part.name in options.only]
    log_folder = ROOT / options.build / "test-logs"
    log_folder.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {"UNISONO_BUILD_DIR": str(ROOT / options.build)}
    for part in parts:
        part.run(log_folder, environment)
    print_end(parts)
    return 0 if parts and all(part.passed for part in parts) else 1


if __name__ == "__main__":
    sys.exit(main())
