"""Rewrites a command line so that every rank, and nothing else, is started under Unisono.

Each program word is preceded by `env LD_PRELOAD=... UNISONO_...=...`. The launcher, its daemons
and programs that only wrap the rank (timeout, numactl, env) do not see the library. The variables
travel in the command line because launchers do not all hand their environment to other nodes.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from . import launchers, mpi
from .launchers import Family, Segment
from .places import Failure


@dataclass
class Job:
    """What is to be run, ready for exec, and files to remove afterwards."""

    command: list[str]
    mpi: str
    warnings: list[str] = field(default_factory=list)
    temporary: list[Path] = field(default_factory=list)
    static: bool = False  # a program is that nothing can be loaded into
    linked: bool = False  # a program is with Unisono

    def remove_temporary(self) -> None:
        for path in self.temporary:
            path.unlink(missing_ok=True)


@dataclass
class _Rewriter:
    family: Family
    settings: dict[str, str]
    library: Callable[[str], Path | None]
    forced_mpi: str | None
    job: Job
    variables: dict[str, str] = field(default_factory=dict)  # that all programs get, by wrappers and options so far

    def segments(self, words: list[str]) -> list[str]:
        """Of several programs, with colons between them."""
        rewritten: list[str] = []
        for number, one in enumerate(launchers.split_segments(words)):
            rewritten += [":"] * (number > 0) + self.segment(one)
        return rewritten

    def segment(self, words: list[str]) -> list[str]:
        segment = launchers.parse_segment(words, self.family)
        self.variables |= segment.variables_of_all
        if segment.programs_file is not None:
            options = list(segment.options)
            options[segment.programs_file] = self._programs_file(options[segment.programs_file])
            return options + segment.program
        if segment.guessed:
            self.job.warnings.append(f"no program is left behind the option {' '.join(segment.options[-2:])}: if that has"
                                     f" no value, {segment.options[-1]} is not found, or runs without Unisono")  # fmt: skip
        if not segment.program:
            return segment.options  # for instance `mpiexec --version`
        if segment.programs_flag:
            raise Failure(f"the programs in the file of {segment.programs_flag} are not looked at: put env, and what"
                          " 'unisono env --mpi NAME' prints, before each of them, and leave out 'unisono run'")  # fmt: skip
        return segment.options + self._program(segment)

    def _program(self, segment: Segment) -> list[str]:
        start = launchers.skip_wrappers(segment.program, launchers.TRANSPARENT)
        wrappers, program = segment.program[:start], segment.program[start:]
        program = [located(program[0], segment.folders), *program[1:]]
        library = self.library(self._mpi_for(program))
        before = _preload_before(wrappers, self.variables | segment.variables)
        return [*wrappers, *_environment(library, before, self.settings), *program]

    def _mpi_for(self, program: list[str]) -> str:
        linked = None if self.forced_mpi else mpi.mpi_of_program(program)
        chosen = self.forced_mpi or linked or self.family.mpi
        if chosen is None:
            raise Failure(
                f"cannot tell which MPI '{program[0]}' uses; say it with --mpi mpich, --mpi"
                " openmpi or --mpi abi (for a script, put 'unisono run' before the mpiexec inside it)"
            )
        # A program of the standard ABI is at home with any launcher.
        if linked not in (None, "abi") and self.family.mpi not in (None, linked):
            self.job.warnings.append(
                f"{program[0]} is linked with {linked}, but the launcher is {self.family.mpi}'s:"
                f" its processes may each run alone{_right_launcher(linked)}"
            )
        file = shutil.which(program[0])
        if file and mpi.is_static(file):
            self.job.static = True
            self.job.warnings.append(f"{program[0]} is statically linked: it runs without Unisono")
        self.job.linked |= bool(file) and mpi.is_linked_with_unisono(file)
        self.job.mpi = chosen
        return chosen

    def _programs_file(self, name: str) -> str:
        """A copy of a launcher's file of command lines, each of them rewritten."""
        try:
            lines = Path(name).read_text(errors="surrogateescape").splitlines()
        except OSError as error:
            raise Failure(f"{name}: {error.strerror}") from error
        copied = [self._line_of_programs(line) for line in lines]
        descriptor, copy = tempfile.mkstemp(prefix="unisono-", suffix=".programs")
        self.job.temporary.append(Path(copy))
        with os.fdopen(descriptor, "w", errors="surrogateescape") as file:
            file.writelines(f"{line}\n" for line in copied)
        return copy

    def _line_of_programs(self, line: str) -> str:
        if not line.strip() or line.lstrip().startswith("#"):
            return line
        words = line.split()  # launchers know no quotes here
        words = self.segments(words) if self.family.colons_in_file else self.segment(words)
        unspeakable = next((word for word in words if " " in word), None)
        if unspeakable:
            raise Failure(f"a launcher's file of programs cannot hold a space: '{unspeakable}'")
        return " ".join(words)


def rewrite(
    command: list[str],
    settings: dict[str, str],
    library: Callable[[str], Path | None],
    forced_mpi: str | None = None,
) -> Job:
    """`settings` are the variables for the ranks; `library` finds the library for an MPI; None: ranks get none."""
    if not command:
        raise Failure("nothing to run: give the command behind --, for instance -- mpiexec -n 4 ./app")
    start = launchers.skip_wrappers(command, launchers.BEFORE_LAUNCHERS)
    if shutil.which(command[start]) is None:
        raise Failure(f"program not found: {command[start]}", 127)
    family = mpi.launcher_family(command[start])
    job = Job(command=[], mpi=forced_mpi or (family and family.mpi) or "")
    rewriter = _Rewriter(family or launchers.OTHER, settings, library, forced_mpi, job)
    if family is None:
        job.command = rewriter.segment(command)
        return job
    rewriter.variables["LD_PRELOAD"] = _preload_before(command[:start], {})
    job.command = command[: start + 1] + rewriter.segments(command[start + 1 :])
    return job


def mpi_of(command: list[str], library: Callable[[str], Path]) -> str:
    """The MPI that it would be run with; empty if nothing says it."""
    job = rewrite(command, {}, library)
    job.remove_temporary()
    return job.mpi


def located(program: str, folders: list[str]) -> str:
    """`env` searches only PATH; a launcher may find a bare name elsewhere, too."""
    if shutil.which(program):
        return program
    for folder in [*folders, "."]:
        path = os.path.join(folder, program)
        if shutil.which(path):
            # A relative path is resolved by the rank, which may start in one of the folders.
            return program if os.sep in program else os.path.abspath(path)
    raise Failure(f"program not found: {program}", 127)


_FORGETS_PRELOAD = frozenset(
    ["-", "-i", "--ignore-environment", "LD_PRELOAD", "-uLD_PRELOAD", "--unset=LD_PRELOAD"]
)


def _right_launcher(mpi_name: str) -> str:
    launcher = f"mpiexec.{mpi_name}"
    return f"; start it by {launcher}" if shutil.which(launcher) else ""


def _preload_before(wrappers: list[str], variables: dict[str, str]) -> str:
    """LD_PRELOAD as the rank would have it without us."""
    value = variables.get("LD_PRELOAD", os.environ.get("LD_PRELOAD", ""))
    for word in wrappers:  # env's words, but for one
        if word.startswith("LD_PRELOAD="):
            value = word.removeprefix("LD_PRELOAD=")
        elif word in _FORGETS_PRELOAD:
            value = ""
        elif Path(word).name == "stdbuf":
            value = ":".join(filter(None, [value, _preloaded_by_stdbuf(word)]))
    return value


def _preloaded_by_stdbuf(stdbuf: str) -> str:
    library = mpi.output_of([stdbuf, "-oL", "printenv", "LD_PRELOAD"]).strip()
    return library if os.path.exists(library) else ""


def entries(preload: str) -> list[str]:
    """Of LD_PRELOAD."""
    return [entry for entry in re.split("[: ]+", preload) if entry]


def engine_of(entry: str) -> str | None:
    """The MPI that it is Unisono's library for, whichever installation's."""
    return next((name for name in mpi.ENGINES if Path(entry).name == f"libunisono-{name}.so"), None)


def _environment(library: Path | None, before: str, settings: dict[str, str]) -> list[str]:
    """Without the libraries by which a site has Unisono in all programs: one of another build would take the same calls."""
    others = [entry for entry in entries(before) if engine_of(entry) is None]
    preloaded = [f"LD_PRELOAD={':'.join([*([str(library)] if library else []), *others])}"] if library or before else []
    # Found here, as the launcher may be told to search elsewhere for its programs.
    env = shutil.which("env") or "env"
    return [env, *preloaded, *(f"{k}={v}" for k, v in settings.items())]
