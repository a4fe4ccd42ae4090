#!/usr/bin/python3
"""Builds Unisono and runs all of its tests: every part, whatever becomes of the others.

Most tests wait rather than compute, so that what only computes is done beside them, at idle priority, tests
that bear company (their label is "patient") at a low one, and tests that hardly compute ("waits") at their own.
Each part's output goes to BUILD/test-logs/PART.log and to the terminal: as it comes, or, of parts that
are done beside others, when all of those are over. At the end come the tests that were skipped, the
parts with their outcome and time, and the summary lines of ctest and pytest. The exit code is 0 only
if every part passed, or could not be done here.
"""

import argparse
import asyncio
import contextlib
import dataclasses
import os
import pathlib
import re
import signal
import sys
import time
from typing import TextIO

ROOT = pathlib.Path(__file__).resolve().parent.parent
PYTHON = "/usr/bin/python3"
UNIT_TESTS = r"^unit\.[a-z0-9_]+$"  # without MPI
PATIENT = "^patient$"
WAITS = "^waits$"  # and look at the time, so that others must not go first
PYTEST_FOLDERS = ("bench", "cli", "demo", "tests", "tools")
AT_IDLE_PRIORITY = ["chrt", "--idle", "0"]
AT_LOW_PRIORITY = ["nice", "--adjustment", "15"]
# MPICH's UCX cannot bear that network devices come and go, as those of other tests do.
STEADY_DEVICES = ["env", "UCX_NET_DEVICES=lo"]
LINE_BYTES_MAX = 1 << 24
CLEAN_UP_S = 10
SKIPPED = 77  # what a part ends with that cannot be done here

CTEST_SUMMARY = re.compile(r"\d+% tests passed, \d+ tests failed out of \d+")
PYTEST_SUMMARY = re.compile(r"=+ (\d+ \w+(, )?)+ in [\d.]+s.* =+")
CTEST_SKIPPED = re.compile(r"\s*\d+ - (\S+) \((Skipped|Not Run|Disabled)\)")
PYTEST_SKIPPED = re.compile(r"SKIPPED \[\d+\] (.+)")


@dataclasses.dataclass
class Part:
    """One command of the test run."""

    name: str
    command: list[str]
    code: int | None = None  # its exit code
    seconds: float = 0.0
    last_line: str = ""
    summary: list[str] = dataclasses.field(default_factory=list)
    skipped: list[str] = dataclasses.field(default_factory=list)

    @property
    def left_out(self) -> bool:
        return self.code == SKIPPED

    @property
    def passed(self) -> bool:
        return self.code == 0 or self.left_out

    def take(self, line: str) -> None:
        """Keeps what the end of the test run is to say of this line of output."""
        line = self.last_line = line.rstrip()
        if CTEST_SUMMARY.match(line) or PYTEST_SUMMARY.fullmatch(line):
            self.summary.append(line)
        for pattern in (CTEST_SKIPPED, PYTEST_SKIPPED):
            if match := pattern.match(line):
                self.skipped.append(match[1])

    async def run(self, log_folder: pathlib.Path, environment: dict[str, str], shown: bool = True) -> None:
        if shown:
            print(f"\n==== {self.name} ====", flush=True)
        start_s = time.monotonic()
        # A session of its own: whatever it has started ends with it.
        process = await asyncio.create_subprocess_exec(
            *self.command, cwd=ROOT, env=environment, stdin=asyncio.subprocess.DEVNULL, limit=LINE_BYTES_MAX,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, start_new_session=True)
        try:
            with open(log_folder / f"{self.name}.log", "w") as log:
                async for line in process.stdout:
                    self.take_and_pass_on(line.decode(errors="replace"), log, shown)
            self.code = await process.wait()
            if self.left_out:
                self.skipped.append(self.last_line)
        finally:
            if process.returncode is None:
                await end_group(process)
        self.seconds = time.monotonic() - start_s

    def take_and_pass_on(self, line: str, log: TextIO, shown: bool) -> None:
        self.take(line)
        log.write(line)
        if shown:
            print(line, end="", flush=True)

    def show(self, log_folder: pathlib.Path) -> None:
        print(f"\n==== {self.name} ====\n{(log_folder / f'{self.name}.log').read_text()}", end="", flush=True)


async def end_group(process: asyncio.subprocess.Process) -> None:
    """Lets tests clean up, but not for ever."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
    try:
        await asyncio.wait_for(process.wait(), CLEAN_UP_S)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


@dataclasses.dataclass
class Stage:
    """Parts one after the other and, at the same time, chains of others that leave the cores to them."""

    parts: list[Part]
    beside: list[list[Part]] = dataclasses.field(default_factory=list)

    @property
    def all_parts(self) -> list[Part]:
        return [part for chain in (self.parts, *self.beside) for part in chain]

    async def run(self, log_folder: pathlib.Path, environment: dict[str, str]) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(run_in_turn(self.parts, log_folder, environment))
            for chain in self.beside:
                group.create_task(run_in_turn(chain, log_folder, environment, shown=False))
        for part in self.all_parts[len(self.parts):]:
            part.show(log_folder)


async def run_in_turn(parts: list[Part], *arguments, **keywords) -> None:
    for part in parts:
        await part.run(*arguments, **keywords)


async def run_stages(stages: list[Stage], *arguments) -> None:
    for stage in stages:
        await stage.run(*arguments)


def stages_of_test_run(build: str) -> list[Stage]:
    ctest = ["ctest", "--test-dir", build, "--output-on-failure", "--no-tests=error"]
    folders = [folder for folder in PYTEST_FOLDERS if (ROOT / folder).exists()]
    return [
        Stage([
            Part("configure", ["cmake", "--preset", "default", "-B", build]),
            Part("build", ["cmake", "--build", build]),
        ]),
        Stage([
            Part("unit", [*ctest, "--tests-regex", UNIT_TESTS, "--parallel", str(2 * os.cpu_count())]),
            # One at a time: an MPI test alone has more ranks than most machines cores. pytest, below, runs
            # the tests of the command.
            Part("ctest", [*ctest, "--exclude-regex", f"{UNIT_TESTS}|^cli$", "--label-exclude", f"{PATIENT}|{WAITS}",
                           "--parallel", "1"]),
        ], beside=[
            [Part("patient", [*AT_LOW_PRIORITY, *STEADY_DEVICES, *ctest, "--label-regex", PATIENT])],
            [Part("waits", [*STEADY_DEVICES, *ctest, "--label-regex", WAITS])],
            [Part("format", [*AT_IDLE_PRIORITY, "tools/format.sh", "--check"]),
             Part("tidy", [*AT_IDLE_PRIORITY, PYTHON, "tools/tidy.py"]),
             Part("sanitizers-build", [*AT_IDLE_PRIORITY, "tools/sanitize.sh", "--build"])],
        ]),
        Stage([
            Part("pytest", [PYTHON, "-m", "pytest", "-rs", "-p", "no:cacheprovider", *folders]),
        ], beside=[
            [Part("sanitizers", ["tools/sanitize.sh"])],
        ]),
    ]


def print_end(parts: list[Part], total_s: float) -> None:
    skipped = [f"  {part.name}: {test}" for part in parts for test in part.skipped]
    if skipped:
        print("\n==== skipped ====", *skipped, sep="\n")
    print("\n==== summary ====")
    for part in parts:
        outcome = "skipped" if part.left_out else "passed" if part.passed else "FAILED"
        print(f"{part.name:<16} {outcome:<8} {part.seconds:6.0f} s")
        for line in part.summary:
            print(line)
    print(f"{'all':<16} {'passed' if all(part.passed for part in parts) else 'FAILED':<8}"
          f" {total_s:6.0f} s", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--only", action="append", metavar="PART", help="run these parts only")
    options = parser.parse_args()

    stages = stages_of_test_run(options.build)
    if options.only:
        stages = [Stage([part for part in stage.parts if part.name in options.only],
                        [[part for part in chain if part.name in options.only] for chain in stage.beside])
                  for stage in stages]
    log_folder = ROOT / options.build / "test-logs"
    log_folder.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {"UNISONO_BUILD_DIR": str(ROOT / options.build),
                                # Ranks that wait leave their cores to others (testbed/cluster/yield_shim.c).
                                "YIELD_SHIM_SLEEP_US": "50"}
    start_s = time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    asyncio.run(run_stages(stages, log_folder, environment))
    parts = [part for stage in stages for part in stage.all_parts]
    print_end(parts, time.monotonic() - start_s)
    return 0 if parts and all(part.passed for part in parts) else 1


if __name__ == "__main__":
    sys.exit(main())
