"""The command lines of MPI launchers: which words are the launcher's, where programs begin.

A launcher's options are told from its program by a table of how many words each option takes.
An option that is in no table takes the next word unless that is something that can be run.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


def _table(**words_by_count: str) -> Mapping[str, int]:
    counts = {"none": 0, "one": 1, "two": 2}
    return {
        name: counts[count] for count, names in words_by_count.items() for name in names.split()
    }


_HYDRA = _table(
    none="""genvnone genvall envnone envall enable-x disable-x verbose v info print-all-exitcodes
        profile prepend-rank l disable-auto-cleanup enable-auto-cleanup
        disable-hostname-propagation enable-hostname-propagation skip-launch-node pmi-port help h
        version""",
    one="""n np f hostfile machinefile machine machines machinelist host hosts hostlist wdir wd
        configfile genvlist envlist launcher launcher-exec bootstrap bootstrap-exec rmk topolib
        bind-to binding map-by membind demux iface ppn prepend-pattern outfile-pattern outfile
        errfile-pattern errfile nameserver localhost usize order-nodes gpus-per-proc""",
    two="genv env",
)

# Open MPI 4 (orterun) and 5 (prterun).
_OPEN_MPI = _table(
    none="""allow-run-as-root bind-to-core bind-to-socket bycore bynode byslot continuous
        debug-devel d debug debug-daemons debug-daemons-file disable-recovery display-allocation
        display-devel-allocation display-devel-map display-diffable-map display-map display-topo
        do-not-launch do-not-resolve dvm enable-instant-on-support enable-recovery fwd-mpirun-port
        get-stack-traces index-argv-by-rank leave-session-attached merge-stderr-to-stdout nolocal
        nooversubscribe noprefix novm output-proctable oversubscribe pernode quiet q
        report-bindings report-child-jobs-separately report-state-on-timeout preload-binary s
        set-cwd-to-session-dir show-progress tag-output timestamp-output tv use-hwthread-cpus
        use-regexp verbose v version V xml stream-buffering""",
    one="""am app bind-to c np n N cartofile cf cpu-list cpu-set cpus-per-proc cpus-per-rank
        debugger default-hostfile host H hnp hostfile launch-agent machinefile map-by max-restarts
        max-vm-size npernode npersocket ompi-server output-filename output path personality ppr
        prefix preload-files rank-by rankfile rf report-events report-pid report-uri stdin timeout
        tune wd wdir x xml-file xterm display help h runtime-options""",
    two="mca gmca omca prtemca pmixmca",
)

_SLURM = _table(
    none="""exclusive X disable-status E preserve-env H hold K kill-on-bad-exit l label no-kill
        O overcommit s oversubscribe Q quiet u unbuffered v verbose Z no-allocate multi-prog pty exact overlap whole
        contiguous spread-job test-only version V help h""",
    one="""A account n ntasks N nodes c cpus-per-task p partition q qos t time J job-name o output
        e error i input w nodelist x exclude C constraint D chdir d dependency m distribution
        mem mem-per-cpu mpi export r relative R reservation jobid B extra-node-info G gpus
        ntasks-per-node cpu-bind""",
)


@dataclass(frozen=True)
class Family:
    """Launchers that share a command line."""

    mpi: str | None  # None: starts programs of any MPI
    options: Mapping[str, int]
    set_variable: frozenset[str] = frozenset()  # options that set a rank's environment
    for_all: frozenset[str] = frozenset()  # of these, that of all programs
    set_variables: frozenset[str] = frozenset()  # options that set several, with commas
    folder: frozenset[str] = frozenset({"wdir", "wd"})  # options that name the one where ranks start
    programs_file: frozenset[str] = frozenset()  # options that name a file of command lines
    colons_in_file: bool = False  # a line of it may hold several programs
    programs_flag: frozenset[str] = frozenset()  # options that make the program's word such a file
    glues: bool = False  # letters stand together, and their values behind them: -ln4
    count: frozenset[str] = frozenset({"n", "np"})  # options that say how many ranks


HYDRA = Family("mpich", _HYDRA, set_variable=frozenset({"genv", "env"}), for_all=frozenset({"genv"}),
               programs_file=frozenset({"configfile"}), colons_in_file=True)  # fmt: skip
OPEN_MPI = Family("openmpi", _OPEN_MPI, set_variable=frozenset({"x"}),
                  programs_file=frozenset({"app"}), count=frozenset({"n", "np", "c"}))  # fmt: skip
SLURM = Family(None, _SLURM, set_variables=frozenset({"export"}), folder=frozenset({"D", "chdir"}),
               programs_flag=frozenset({"multi-prog"}), glues=True,
               count=frozenset({"n", "ntasks"}))  # fmt: skip
OTHER = Family(None, {})

# Programs that run the rest of their command line in their own place.
TRANSPARENT = frozenset(
    "chrt env ionice nice nohup numactl setsid taskset time timeout".split()
)
# Programs that run it under their eyes: they get the preload library, too, and look further. Behind stdbuf, which
# preloads something as well, ours would replace that.
OBSERVERS = frozenset("gdb ltrace perf stdbuf strace valgrind".split())
BEFORE_LAUNCHERS = TRANSPARENT | {"stdbuf"}

Runnable = Callable[[str], bool]


def is_runnable(word: str) -> bool:
    return shutil.which(word) is not None


@dataclass(frozen=True)
class Option:
    name: str
    value: str | None  # also where it stands in the same word
    words: list[str]


@dataclass
class Segment:
    """One program of a launcher's command line, with the launcher's options before it."""

    family: Family
    options: list[str]
    program: list[str]
    parts: list[Option] = field(default_factory=list)  # of the options, but for a last --
    variables: dict[str, str] = field(default_factory=dict)  # those the options set
    variables_of_all: dict[str, str] = field(default_factory=dict)  # of these, those that other programs have, too
    folders: list[str] = field(default_factory=list)  # where the launcher would look for it, too
    programs_file: int | None = None  # index into options of a file of command lines
    programs_flag: str = ""  # the option that makes the program's word such a file
    guessed: str = ""  # an option that is in no table, where the word behind it was taken for its value and is the last


def split_segments(words: list[str]) -> list[list[str]]:
    """The parts between single colons: several programs in one job."""
    segments: list[list[str]] = [[]]
    for word in words:
        if word == ":":
            segments.append([])
        else:
            segments[-1].append(word)
    return segments


def parse_segment(words: list[str], family: Family, runnable: Runnable = is_runnable) -> Segment:
    segment = Segment(family, [], [])
    at = 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "--":
            at += 1
            break
        name, equals, value = words[at].lstrip("-").partition("=")
        if equals and name in family.programs_file:  # as two words it is the same
            words = [*words[:at], f"-{name}", value, *words[at + 1 :]]
        option = _option(words[at : at + _words_of_option(words[at:], family, runnable)], family)
        _note_option(segment, option, at, family)
        at += len(option.words)
    segment.options, segment.program = words[:at], words[at:]
    if segment.program:
        segment.guessed = ""
    return segment


def _letters(word: str, family: Family) -> tuple[str, str] | None:
    """Of -ln4 the last letter and the value behind it: n and 4. None: it is no such word."""
    if not family.glues or word.startswith("--"):
        return None
    for at, letter in enumerate(word[1:], 1):
        if letter not in family.options:
            return None
        if family.options[letter] or at + 1 == len(word):
            return letter, word[at + 1 :]
    return None


def _words_of_option(words: list[str], family: Family, runnable: Runnable) -> int:
    letters = _letters(words[0], family)
    name = letters[0] if letters else words[0].lstrip("-")
    following = words[1] if len(words) > 1 else None
    if "=" in name or following is None or (letters and letters[1]):
        return 1
    # Hydra takes both `-genv NAME VALUE` and `-genv NAME=VALUE`.
    if name in family.set_variable and "=" in following:
        return 2
    if name in family.options:
        return min(1 + family.options[name], len(words))
    return 1 if following.startswith("-") or runnable(following) else 2


def _option(words: list[str], family: Family) -> Option:
    letters = _letters(words[0], family)
    name, equals, value = words[0].lstrip("-").partition("=")
    if letters:
        name, value = letters
    return Option(name, value if equals or value else words[1] if len(words) > 1 else None, words)


def _note_option(segment: Segment, option: Option, at: int, family: Family) -> None:
    name, value, words = option.name, option.value, option.words
    segment.parts.append(option)
    segment.guessed = words[0] if len(words) > 1 and name not in family.options else ""
    if name in family.programs_flag:
        segment.programs_flag = words[0]
    if value is None:
        return
    if name in family.set_variable:
        _note_variable(segment, value if len(words) < 3 else f"{value}={words[2]}", name in family.for_all)
    elif name in family.set_variables:
        for assignment in value.split(","):
            _note_variable(segment, assignment)
    elif name in family.programs_file:
        segment.programs_file = at + 1
    elif name in family.folder:
        segment.folders.insert(0, value)
    elif name == "path":
        segment.folders += value.split(os.pathsep)


def _note_variable(segment: Segment, assignment: str, for_all: bool = False) -> None:
    variable, equals, value = assignment.partition("=")
    segment.variables[variable] = value if equals else os.environ.get(variable, "")
    if for_all:
        segment.variables_of_all[variable] = segment.variables[variable]


def skip_wrappers(
    words: list[str], wrappers: frozenset[str], runnable: Runnable = is_runnable
) -> int:
    """Index of the program that `words` come down to: one that is none of `wrappers`, or a wrapper
    that has nothing to run (`env` alone prints its environment)."""
    at = 0
    while at < len(words) and Path(words[at]).name in wrappers:
        following = at + 1
        # An option's value may be the name of a program; nobody writes that before the program.
        while following < len(words) and (
            _is_setting(words[following]) or not runnable(words[following])
        ):
            following += 1
        if following == len(words):
            break
        at = following
    return at


def _is_setting(word: str) -> bool:
    return word.startswith("-") or "=" in word


_LAUNCHERS = {
    **dict.fromkeys(["mpiexec.mpich", "mpirun.mpich", "mpiexec.hydra", "hydra"], HYDRA),
    **dict.fromkeys(["mpiexec.openmpi", "mpirun.openmpi", "orterun", "prterun"], OPEN_MPI),
    "srun": SLURM,
    **dict.fromkeys(["mpiexec", "mpirun", "aprun", "jsrun", "ibrun"], OTHER),
}


def family_by_name(name: str) -> Family | None:
    """The family that a launcher's own name tells; None if it is no launcher's name."""
    return _LAUNCHERS.get(name)
