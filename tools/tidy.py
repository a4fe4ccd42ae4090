#!/usr/bin/python3
"""Runs clang-tidy over Unisono; what is compiled for several MPIs, for one of them.

Sources that are compiled alike are looked at several at a time, through a file that includes them:
most of the time goes into headers. Where something is found, each half of them is looked at again.
What passed is not looked at again until it, a header, or the settings change. The whole run is
bounded by --seconds: what could not be checked within that time counts as failed. Exit code 77: another
version is there, which finds other things.
"""

import argparse
import concurrent.futures
import dataclasses
import hashlib
import itertools
import json
import os
import pathlib
import re
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


SOURCES_AT_ONCE = 16  # more of them find names of one another that are alike

# What these find in sources that are together are no mistakes.
NOT_TOGETHER = "-bugprone-suspicious-include,-bugprone-forward-declaration-namespace"


@dataclasses.dataclass
class Unit:
    """Sources that one compiler command fits."""

    sources: list[pathlib.Path]
    command: str  # of the first source
    folder: str  # where it is run

    def halves(self) -> list["Unit"]:
        middle = len(self.sources) // 2
        return [dataclasses.replace(self, sources=some, command=self.command_for(some[0]))
                for some in (self.sources[:middle], self.sources[middle:])]

    def command_for(self, path: pathlib.Path) -> str:
        return self.command.replace(str(self.sources[0]), str(path))


def units_of(build: pathlib.Path) -> list[Unit]:
    """Sources below FOLDERS, each in one unit."""
    alone = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if (any(source.is_relative_to(ROOT / folder) for folder in FOLDERS)
                and source.suffix in (".cpp", ".c") and not source.stem.endswith("_test")):
            alone[source] = Unit([source], entry["command"], entry["directory"])
    alike = {}
    for unit in alone.values():
        alike.setdefault(form_of(unit), []).append(unit)
    return [dataclasses.replace(same[at], sources=[unit.sources[0] for unit in some])
            for same in alike.values() for at in range(0, len(same), SOURCES_AT_ONCE)
            if (some := same[at:at + SOURCES_AT_ONCE])]


def form_of(unit: Unit) -> tuple:
    """What is equal for sources that go together."""
    source = unit.sources[0]
    of_a_program = re.search(r"\bint main\(", source.read_text()) and source
    command = re.sub(r" -o \S+ ", " ", unit.command_for(pathlib.Path("SOURCE")))
    return source.parent, source.suffix, of_a_program, command


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

    def check(self, unit: Unit) -> dict[pathlib.Path, str]:
        """What there is to say about the unit's sources that are not in order."""
        stamp = self.passed / digest_of(unit.sources, self.common + unit.command)
        if stamp.exists():
            return {}
        good, text = self.look_at(unit)
        if good:
            stamp.touch()
            return {}
        if len(unit.sources) == 1:
            return {unit.sources[0]: text}
        return dict(itertools.chain.from_iterable(self.check(one).items() for one in unit.halves()))

    def look_at(self, unit: Unit) -> tuple[bool, str]:
        left_s = self.deadline_s - time.monotonic()
        if left_s <= 0:
            return False, "not checked: no time left"
        try:
            run = subprocess.run(["clang-tidy", "--quiet", *EXTRA, *self.arguments_for(unit)],
                                 capture_output=True, text=True, timeout=left_s)
        except subprocess.TimeoutExpired:
            return False, "not checked to its end: no time left"
        return run.returncode == 0, run.stdout.strip() or run.stderr.strip()

    def arguments_for(self, unit: Unit) -> list[str]:
        name = digest_of([], " ".join(map(str, unit.sources)))[:16]
        folder = self.build / "tidy-units" / name
        folder.mkdir(parents=True, exist_ok=True)
        file, settings = unit.sources[0], []
        if len(unit.sources) > 1:
            # The analyzer searches the functions of included sources only below this name.
            file, settings = folder / f"UnifiedSource{file.suffix}", [f"--checks={NOT_TOGETHER}"]
            file.write_text("".join(f'#include "{source}"\n' for source in unit.sources))
        # One command for the file: clang-tidy looks at it once for each.
        entry = {"directory": unit.folder, "file": str(file), "command": unit.command_for(file)}
        (folder / "compile_commands.json").write_text(json.dumps([entry]))
        return ["-p", str(folder), *settings, str(file)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=2400, help="limit for the whole run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()

    said = subprocess.run(["clang-tidy", "--version"], check=True, capture_output=True, text=True).stdout
    if not re.search(r"version 14\.", said):
        print("tidy: needs clang-tidy 14, and this is", *re.findall(r"version \S+", said))
        return 77
    subprocess.run(["cmake", "--preset", "tidy"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    units = units_of(BUILD)
    checker = Checker(BUILD, time.monotonic() + options.seconds)
    files, failed = sum(len(unit.sources) for unit in units), 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for found in pool.map(checker.check, units):
            failed += len(found)
            for source, text in found.items():
                print(f"{source.relative_to(ROOT)}:\n{text}\n", flush=True)
    print(f"tidy: {files - failed} of {files} files in order")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
