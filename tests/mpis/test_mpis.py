#!/usr/bin/python3
"""Unisono on MPI libraries from PyPI (tools/mpi_wheels.sh), each with the programs of this build.

For each: a strided program under `unisono run`, the semantics suites, mpi4py where its wheel knows the
MPI, and the fuzzer for a while. With --quick the standard ABI on MPICH 5 alone, without the fuzzer.
Exit code: 0, 1, or 77 where a wheel or a program is missing and nothing could be tried.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3"
SKIPPED = 77
AS_ROOT = {f"{name}_ALLOW_RUN_AS_ROOT{more}": "1" for name in ("OMPI", "PRTE") for more in ("", "_CONFIRM")}

# Faults of the libraries themselves (docs/use/mpis.md): the tests, by the beginnings of their names, that
# show them under Unisono as well, because the call is the library's.
ERRORS_OF_OPEN = ["opening.exclusive_creation", "permission.a_directory_without_permission"]
HANDLER_FORGETS = ["handler.a_handler_on_file_null_sees_open_fail"]
NULL_FILES = ["handler.a_hidden_error_of_open", "argument.a_null_file_is_an_error"]
# Subarrays, and nonblocking collective writes, that are the library's to do.
LEFT_TO_INTEL = ["handler.few_data_of_a_rank_without_a_descriptor", "handler.nonblocking_calls_of_a_rank_without_a_descriptor",
                 "view.a_wrong_view_after_a_call_of_the_mpi_librarys"]  # fmt: skip


@dataclass
class Library:
    """One MPI library, spoken to by one ABI."""

    name: str
    wheel: str
    abi: str  # which of Unisono's engines
    faults: list[str] = field(default_factory=list)
    fuzzer_skips: str | None = ""  # None: the fuzzer finds the library's own faults only
    mpi4py: str = "mpi4py"  # its wheel
    options: list[str] = field(default_factory=list)  # of the launcher
    numbers: str = ""  # which of this build's programs, where it is not the engine's


LIBRARIES = [
    Library("MPICH 5, standard ABI", "mpich", "abi", HANDLER_FORGETS + NULL_FILES, mpi4py="mpi4py-abi"),
    Library("MPICH 5, MPICH's ABI", "mpich", "mpich", ERRORS_OF_OPEN + HANDLER_FORGETS, "forbidden_open"),
    # Its own nonblocking collective writes end the program: an invalid request in MPI_Testall.
    Library("Intel MPI, MPICH's ABI", "impi-rt", "mpich", ERRORS_OF_OPEN, "forbidden_open,library_nonblocking"),
    # It ends programs in MPI_File_set_view with a subarray or darray, which the fuzzer has in each case.
    Library("Intel MPI, standard ABI", "impi-rt", "abi", HANDLER_FORGETS + NULL_FILES + LEFT_TO_INTEL, None,
            "mpi4py-abi", numbers="abi_intel"),  # fmt: skip
    Library("Open MPI 5", "openmpi", "openmpi", options=["--oversubscribe"]),
]


class Trial:
    """What is tried with one library, and what came of it."""

    def __init__(self, library: Library, build: Path, scratch: Path, seconds: float) -> None:
        self.library = library
        self.build = build
        self.scratch = scratch
        self.seconds = seconds
        self.prefix = build / "mpis" / library.wheel
        self.launcher = [str(self.prefix / "bin" / "mpiexec"), *library.options]
        self.failed: list[str] = []
        self.left_out: list[str] = []
        self.tried = 0

    def leave_out(self, what: str, why: str) -> None:
        self.left_out.append(f"{what}: {why}")
        print(f"skipped {self.library.name}: {what}: {why}", flush=True)

    def program(self, name: str) -> Path:
        return self.build / "programs" / f"{name}.{self.library.numbers or self.library.abi}"

    def strided_program(self) -> Path:
        """The same one on all libraries of an ABI."""
        return self.build / "programs" / f"strided.{self.library.abi}"

    def environment(self) -> dict[str, str]:
        """The wheel's library in place of the one that the program was built with. Debian's programs
        want MPICH by another name than everybody else's."""
        aliases = self.scratch / f"aliases-{self.library.wheel}"
        if not aliases.exists():
            aliases.mkdir()
            (aliases / "libmpich.so.12").symlink_to(self.prefix / "lib" / "libmpi.so.12")
        lib = self.prefix / "lib"
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("UNISONO_", "LD_"))}
        return inherited | AS_ROOT | {"LD_LIBRARY_PATH": f"{lib}:{lib}/mpich:{aliases}", "UNISONO_TUNE": "off"}

    def run(self, what: str, command: list[str], limit_s: float, expected: str, **variables: str) -> None:
        """`expected` is a pattern that the output must have, besides the exit code 0."""
        began = time.monotonic()
        with subprocess.Popen(command, env=self.environment() | variables, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              start_new_session=True) as process:  # fmt: skip
            try:
                output, _ = process.communicate(timeout=limit_s)
                code = str(process.returncode)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                output, _ = process.communicate()
                code = f"none within {limit_s:g} s"
        found = re.search(expected, output)
        passed = code in ("0", str(SKIPPED)) and found is not None
        told = found[found.lastindex or 0] if found else f"exit code {code}"
        if passed and told.startswith("skipped: "):
            return self.leave_out(what, told.removeprefix("skipped: "))
        self.tried += 1
        print(f"{'ok    ' if passed else 'FAILED'} {self.library.name}: {what}: {told}"
              f" ({time.monotonic() - began:.0f} s)", flush=True)  # fmt: skip
        if not passed:
            self.failed.append(what)
            print(*[f"  | {line}" for line in output.splitlines()[-40:]], sep="\n", flush=True)

    def strided(self) -> None:
        """The command finds out which library to preload, the library which engine."""
        file = self.scratch / "strided-file"
        unisono = [PYTHON, str(self.build / "bin" / "unisono"), "run", "--"]
        self.run("strided program", [*unisono, *self.launcher, "-n", "3", str(self.strided_program()), str(file)],
                 200, r"version: (.*)\n(?:.*\n)*unisono_strategy: \S+\n(?:.*\n)*strided: ok")  # fmt: skip

    def preloaded(self, ranks: int, abi: str = "") -> list[str]:
        library = self.build / "lib" / f"libunisono-{abi or self.library.abi}.so"
        both = f"{library}:{self.build / 'lib' / 'libunisono-yield.so'}"
        return [*self.launcher, "-n", str(ranks), "env", f"LD_PRELOAD={both}"]

    def semantics(self, ranks: int, *suites: str) -> None:
        left_out = [word for fault in self.library.faults for word in ("--without", fault)]
        self.run(f"semantics, {ranks} ranks",
                 [*self.preloaded(ranks), str(self.program("semantics")), "--under", "unisono", *left_out, *suites],
                 280, r"(\d+ tests, 0 failed), ")  # fmt: skip

    def other_preload_library(self) -> None:
        """MPICH's and the standard ABI's each load the engine that fits."""
        if self.library.wheel != "mpich":
            return
        other = {"mpich": "abi", "abi": "mpich"}[self.library.abi]
        self.run(f"libunisono-{other}.so",
                 [*self.preloaded(2, other), str(self.program("semantics")), "--under", "unisono", "pointer"],
                 120, r"(\d+ tests, 0 failed), ")  # fmt: skip

    def carried(self) -> None:
        """Nonblocking calls between pretended nodes, without MPI_THREAD_MULTIPLE."""
        self.run("messages carried, 4 ranks on 2 nodes",
                 [*self.preloaded(4), str(self.program("semantics")), "--under", "unisono", "--threads", "single",
                  "nonblocking", "pending_call"], 120, r"(\d+ tests, 0 failed), ",
                 UNISONO_TOPOLOGY="nodes=2", UNISONO_OVERLAP="enable")  # fmt: skip

    def dynamic(self, *more: str) -> None:
        """Spawned processes, with Unisono or without. 77: this library cannot spawn here."""
        self.run(" ".join(["dynamic processes", *more]),
                 [*self.preloaded(2), str(self.program("dynamic")), "--under", "unisono", *more],
                 60, r"(3 tests, 0 failed)|(skipped: .*)")  # fmt: skip

    def fuzz(self) -> None:
        if self.library.fuzzer_skips is None:
            return self.leave_out("fuzzer", "it would find the library's own faults only")
        if self.seconds <= 0:
            return self.leave_out("fuzzer", "--seconds 0")
        skips = ["--skip", self.library.fuzzer_skips] if self.library.fuzzer_skips else []
        command = [PYTHON, str(ROOT / "tests" / "fuzz" / "fuzz.py"), "--build", str(self.build), "--mpi",
                   self.library.abi, "--seconds", str(self.seconds), "--launcher", " ".join(self.launcher), *skips]  # fmt: skip
        self.run("fuzzer", command, self.seconds + 200, r"(\d+ passed, 0 failed)")

    def mpi4py(self) -> None:
        wheel = self.build / "mpis" / self.library.mpi4py
        if not (wheel / "complete").exists():
            return self.leave_out("mpi4py", f"no wheel: tools/mpi_wheels.sh {wheel.name}")
        soname = "libmpi.so.40" if self.library.abi == "openmpi" else "libmpi.so.12"
        packages = next(wheel.glob("lib/python3*/site-packages"))
        script = self.scratch / "check.py"
        script.write_text("import sys\nfrom mpi4py import MPI\nfrom mpi4py_tests import strategy_after_own_check\n"
                          "strategy = strategy_after_own_check(MPI, sys.argv[1])\n"
                          "if MPI.COMM_WORLD.rank == 0: print('mpi4py:', strategy)\n")  # fmt: skip
        self.run("mpi4py", [*self.preloaded(3), PYTHON, str(script), str(self.scratch / "mpi4py-file")], 60,
                 r"mpi4py: (\S+)", PYTHONPATH=f"{packages}:{ROOT / 'tests' / 'clients'}",
                 MPI4PY_LIBMPI=str(self.prefix / "lib" / soname))  # fmt: skip

    def missing(self) -> str:
        if not (self.prefix / "complete").exists():
            return f"no wheel {self.library.wheel}: tools/mpi_wheels.sh {self.library.wheel}"
        needed = [self.strided_program(), self.program("semantics"),
                  self.build / "lib" / f"libunisono-{self.library.abi}-engine.so"]  # fmt: skip
        return ", ".join(f"no {path.name}" for path in needed if not path.exists())


def try_out(trial: Trial, quick: bool) -> None:
    if why := trial.missing():
        return trial.leave_out("all", why)
    if trial.library.faults:
        trial.leave_out("semantics", "faults of the library itself, " + ", ".join(trial.library.faults))
    trial.strided()
    if quick:
        trial.semantics(3, "pointer", "coverage", "consistency", "partial", "handler", "query", "lifetime",
                        "nonblocking", "pending_call", "deferred")  # fmt: skip
        return
    trial.semantics(3)
    trial.semantics(4)
    trial.other_preload_library()
    trial.carried()
    trial.dynamic()
    trial.dynamic("--children-without")
    trial.mpi4py()
    trial.fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--seconds", type=float, default=60, help="of the fuzzer, for each library")
    parser.add_argument("--only", help="libraries whose name has this in it")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    wanted = LIBRARIES[:1] if options.quick else [one for one in LIBRARIES if (options.only or "") in one.name]
    with tempfile.TemporaryDirectory(prefix="unisono-mpis-") as scratch:
        trials = [Trial(one, options.build.resolve(), Path(scratch), options.seconds) for one in wanted]
        for trial in trials:
            try_out(trial, options.quick)
    failed = [f"failed  {trial.library.name}: {what}" for trial in trials for what in trial.failed]
    left_out = [f"skipped {trial.library.name}: {what}" for trial in trials for what in trial.left_out]
    tried = sum(trial.tried for trial in trials)
    print(f"{tried} tried, {len(failed)} failed, {len(left_out)} skipped", *left_out, *failed, sep="\n  ")
    if failed:
        return 1
    return 0 if tried else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
