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
        O overcommit s oversubscribe Q quiet u unbuffered v verbose Z no-allocate multi-prog pty""",
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
    programs_file: frozenset[str] = frozenset()  # options that name a file of command lines


HYDRA = Family("mpich", _HYDRA, frozenset({"genv", "env"}), frozenset({"configfile"}))
OPEN_MPI = Family("openmpi", _OPEN_MPI, frozenset({"x"}), frozenset({"app"}))
SLURM = Family(None, _SLURM)
OTHER = Family(None, {})

# Programs that run the rest of their command line in their own place.
TRANSPARENT = frozenset(
    "chrt env ionice nice nohup numactl setsid stdbuf taskset time timeout".split()
)
# Programs that run it under their eyes: they get the preload library, too, and look further.
OBSERVERS = frozenset("gdb ltrace perf strace valgrind".split())

Runnable = Callable[[str], bool]


def is_runnable(word: str) -> bool:
    return shutil.which(word) is not None


@dataclass
class Segment:
    """One program of a launcher's command line, with the launcher's options before it."""

    options: list[str]
    program: list[str]
    variables: dict[str, str] = field(default_factory=dict)  # those the options set
    folders: list[str] = field(default_factory=list)  # where the launcher would look for it, too
    programs_file: int | None = None  # index into options of a file of command lines


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
    segment = Segment([], [])
    at = 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "--":
            at += 1
            break
        taken = _words_of_option(words[at:], family, runnable)
        _note_option(segment, words[at : at + taken], at, family)
        at += taken
    segment.options, segment.program = words[:at], words[at:]
    return segment


def _words_of_option(words: list[str], family: Family, runnable: Runnable) -> int:
    name = words[0].lstrip("-")
    following = words[1] if len(words) > 1 else None
    if "=" in name or following is None:
        return 1
    # Hydra takes both `-genv NAME VALUE` and `-genv NAME=VALUE`.
    if name in family.set_variable and "=" in following:
        return 2
    if name in family.options:
        return min(1 + family.options[name], len(words))
    return 1 if following.startswith("-") or runnable(following) else 2


def _note_option(segment: Segment, words: list[str], at: int, family: Family) -> None:
    name = words[0].lstrip("-")
    if len(words) < 2:
        return
    if name in family.set_variable:
        assignment = words[1] if len(words) == 2 else f"{words[1]}={words[2]}"
        variable, equals, value = assignment.partition("=")
        segment.variables[variable] = value if equals else os.environ.get(variable, "")
    elif name in family.programs_file:
        segment.programs_file = at + 1
    elif name in ("wdir", "wd"):
        segment.folders.insert(0, words[1])
    elif name == "path":
        segment.folders += words[1].split(os.pathsep)


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
