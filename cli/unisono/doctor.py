"""What on this machine helps or hinders Unisono, each finding with what to change. Knows no terminal."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from . import bench, ending, launchers, mpi, mpi_versions, places, pocket, preload, report, reports, run
from .places import Failure
from .run import Ending

OK, NOTE, WRONG = "ok", "note", "wrong"

_TRIAL_LIMIT_S = 30
_LINE_WIDTH = 200
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
_EXPORTS = Path("/var/lib/nfs/etab")  # what Linux's NFS server serves
_SHM_LEAST_BYTES = 64 << 20  # less is a container's default, which MPI libraries fill with a few ranks
_FOLDER_LEAST_BYTES = 2 << 20  # what the trial writes, and its report
_NAME_A_FOLDER = "name a folder where the program's files will be"
_MOVE = "move Unisono, or install it anew"
_RIGHT_LAUNCHER = "use the launcher of the MPI that the program is linked with"
_MAKE_SPACE = f"free space there, or {_NAME_A_FOLDER}"
_TAKE_ALL_THE_SAME = "UNISONO_DISABLE=0 takes them all the same"
_NO_SPACE = re.compile(r"No space left|quota exceeded", re.IGNORECASE)
# What launchers say of any program that has called MPI_Abort, and settings that Unisono ignores.
_SAYS_NOTHING = re.compile(r"^unisono: (.* ignored(; valid: .*)?|unknown variable .*)$"
                           r"|MPI_ABORT (was|causes)|called MPI_Abort|with errorcode|You may or may not see"
                           r"|exactly when Open MPI|sent help message|help_aggregate|ORTE_ERROR_LOG")  # fmt: skip
_SONAMES = {"mpich": ["libmpich.so.12", "libmpi.so.12"], "openmpi": ["libmpi.so.40"],
            "abi": ["libmpi_abi.so.1"]}
_OUTPUT_OPTIONS = frozenset(["o", "output", "e", "error", "outfile", "errfile", "outfile-pattern", "errfile-pattern",
                             "output-filename"])  # fmt: skip
_FOR_WARNINGS = {"statically": "link it dynamically",
                 "linked with": "start it by its own MPI's launcher, or link it with this one's",
                 "": "give the command as it is started"}  # fmt: skip
_TOOLS = {"darshan": "Darshan", "scorep": "Score-P"}
_ASK_VERSION = """
import ctypes, sys
text, length = ctypes.create_string_buffer(8192), ctypes.c_int()
ctypes.CDLL(sys.argv[1]).MPI_Get_library_version(text, ctypes.byref(length))
print("version", text.value.decode(errors="replace").splitlines()[0])
"""


@dataclass(frozen=True)
class Finding:
    subject: str
    state: str
    said: str
    change: str = ""


def examine(path: str | None, command: list[str]) -> list[Finding]:
    """All findings. Starts two ranks of each MPI that could be used, with a time limit."""
    folder = Path(path or ".").absolute()
    if not os.path.exists(folder):
        raise Failure(f"{folder} is not there: {_NAME_A_FOLDER}")
    folder = folder if folder.is_dir() else folder.parent
    family, before, segment = _launcher_of(command)
    findings = list(_command(command))
    wanted = _mpi_of(command) or (family and family.mpi)
    findings += [finding for name in mpi.ENGINES for finding in _mpi(name, wanted)]
    if not any(finding.state == OK or finding.change == _MOVE for finding in findings if finding.subject in mpi.ENGINES):
        findings.append(Finding("MPI", WRONG, "no MPI here has an engine of Unisono",
                                "install MPICH 4.0 or Open MPI 4.1, and build Unisono for it"))  # fmt: skip
    findings += _place(folder, named=path is not None)
    usable = [f.subject for f in findings if f.state == OK and f.subject in bench.MPIS]
    for name in usable:
        if wanted in (None, name):
            usual = segment is None or segment.programs_file is not None or segment.programs_flag  # other programs
            words = None if usual else _trial_launcher(before, segment)
            others = None if wanted or words else _of_another_mpi(name)
            findings += [others] if others else _trial(name, folder, words)
    return [*findings, *_preloaded(wanted), _shared_memory(), *_huge_pages(), _cores(segment), _io_uring(), _fuse(),
            *_settings(str(path or folder), _program_of(command, segment))]  # fmt: skip


# ---- the command -----------------------------------------------------------------------------------


def _launcher_of(command: list[str]) -> tuple[launchers.Family | None, list[str], launchers.Segment | None]:
    """Its words, also those of wrappers in front of it, and the command's first program."""
    start = launchers.skip_wrappers(command, launchers.BEFORE_LAUNCHERS)
    if not command or (family := mpi.launcher_family(command[start])) is None:
        return None, [], None
    words = launchers.split_segments(command[start + 1 :])[0]
    return family, command[: start + 1], launchers.parse_segment(words, family)


def _mpi_of(command: list[str]) -> str | None:
    try:
        return preload.mpi_of(command, lambda _mpi: Path()) if command else None
    except Failure:
        return None


def _command(command: list[str]) -> Iterator[Finding]:
    if not command:
        return
    try:
        job = preload.rewrite(command, {}, places.preload_library)
    except Failure as failure:
        yield Finding("command", WRONG, str(failure), "give the command as it is started")
        return
    job.remove_temporary()
    for warning in job.warnings:
        yield Finding("command", WRONG, warning, next(change for word, change in _FOR_WARNINGS.items() if word in warning))
    if not job.mpi:
        yield Finding("command", WRONG, "no program is in it", "give the command as it is started")
    elif not job.warnings:
        yield Finding("command", OK, f"its ranks get {places.preload_library(job.mpi).name}")


# ---- MPI libraries and engines ---------------------------------------------------------------------


def library_version(soname: str) -> str:
    """As the MPI library itself says it; empty if it is not there."""
    said = mpi.output_of([sys.executable, "-I", "-c", _ASK_VERSION, soname])
    found = re.search(r"^version (.*)$", said, re.MULTILINE)
    return " ".join(found[1].rstrip("\0").split()) if found else ""


def _mpi(name: str, wanted: str | None) -> Iterator[Finding]:
    versions = [text for soname in _SONAMES[name] if (text := library_version(soname))]
    bad = WRONG if wanted == name else NOTE
    if not versions:
        if name == "abi" and wanted != name:
            return  # few have it yet, and nobody misses it
        yield Finding(name, bad, "its library is not found",
                      f"if it is to be used: install it, or name its folder in LD_LIBRARY_PATH ({_SONAMES[name][0]})")  # fmt: skip
        return
    try:
        engine = places.library(f"libunisono-{name}-engine.so")
        places.preload_library(name)
    except places.Unnameable as failure:
        yield Finding(name, WRONG, f"{versions[0]}; {failure}", _MOVE)
        return
    except Failure as failure:
        yield Finding(name, bad, f"{versions[0]}; no engine: {failure}", "build Unisono where CMake finds mpi_abi.h" if name == "abi" else
                      f"build Unisono where mpicc.{name} is found")  # fmt: skip
        return
    if lost := re.findall(r"(\S+) => not found", mpi.output_of(["ldd", str(engine)])):
        yield Finding(name, WRONG, f"{versions[0]}; the engine lacks {', '.join(lost)}",
                      "install these libraries, or build Unisono anew on this machine")  # fmt: skip
        return
    row = mpi_versions.known(versions[0])
    if row and row.state == mpi_versions.REFUSED:
        yield Finding(name, bad, f"{versions[0]}: refused: {row.remark}", "use a version that docs/use/mpis.md lists")
        return
    state = row.state if row else "of an unknown version"
    yield Finding(name, OK, f"{versions[0]}, {state}; engine {engine.name}")


# ---- a trial with two ranks ------------------------------------------------------------------------


def _trial_launcher(before: list[str], segment: launchers.Segment) -> list[str]:
    """The command's launcher, and what stands `before` its options, for two ranks whose output is not the program's."""
    kept = [option for option in segment.parts if option.name not in {*segment.family.count, *_OUTPUT_OPTIONS}]
    return [*before, *(word for option in kept for word in option.words), "-n", "2"]


def _of_another_mpi(name: str) -> Finding | None:
    """Where the launcher that there is belongs to another MPI, and nobody has said that he uses this one."""
    launcher = bench.launcher_words(name, 2, None)[0]
    family = mpi.launcher_family(launcher) if shutil.which(launcher) else None
    if family is None or family.mpi in (None, name):
        return None
    return Finding(_trial_of(name), NOTE, f"not tried: {launcher} is {family.mpi}'s", f"if it is to be used: put mpiexec.{name},"
                   " or the folder of its mpiexec, in PATH")  # fmt: skip


def _trial_of(name: str) -> str:
    return f"two ranks, {name}"


def _trial(name: str, folder: Path, words: list[str] | None, limit_s: float = _TRIAL_LIMIT_S) -> Iterator[Finding]:
    """Two ranks write a small file in the folder, and the report says who did it, and how."""
    subject = _trial_of(name)
    try:
        program = bench.words_for(name, "demo", ["--file-bytes", "1M", "--write"])
    except Failure as failure:
        yield Finding(subject, NOTE, f"not tried: {failure}")
        return
    try:
        made = tempfile.mkdtemp(prefix=".unisono-doctor-", dir=folder)
    except OSError as error:
        yield Finding(subject, NOTE, f"not tried: {folder}: {error.strerror}")
        return
    with run.removed_at_the_end(Path(made)):
        settings = {k: v for k, v in os.environ.items() if k.startswith("UNISONO_") and k != "UNISONO_REPORT_FILE"}
        collected = reports.collect_in(Path(made), settings)
        try:
            job = preload.rewrite([*(words or bench.launcher_words(name, 2, None)), *program, "--path", f"{made}/file"],
                                  settings | collected.variables(), places.preload_library, name)  # fmt: skip
            code, output = run.run_with_limit(job.command, limit_s, AS_ROOT)
        except (Failure, OSError) as failure:
            of_files = isinstance(failure, OSError)
            yield Finding(subject, WRONG, places.said_of(failure) if of_files else str(failure),
                          "free space, or name another folder in TMPDIR" if of_files else f"put mpiexec.{name} or mpiexec in PATH")  # fmt: skip
            return
        records = collected.records()
        why = "; ".join(ending.marks(collected.traces))
    yield _of_trial(subject, code, output, records, why, limit_s)
    if records:
        yield from _what_was_done(records[-1], name)


def _telling_line(output: str) -> str:
    """That there is no space, else what Unisono says, else the last line that says something."""
    lines = [line.strip() for line in output.splitlines() if re.search(r"\w", line)]
    telling = [line for line in lines if not _SAYS_NOTHING.search(line)] or lines or [""]
    best = [*filter(_NO_SPACE.search, telling), *(line for line in telling if line.startswith("unisono:")), telling[-1]]
    return textwrap.shorten(best[0], _LINE_WIDTH, placeholder=" ...")


def _of_trial(subject: str, code: int | None, output: str, records: list[report.Record], why: str,
              limit_s: float) -> Finding:  # fmt: skip
    last = _telling_line(output)
    if code is None:
        return Finding(subject, WRONG, f"did not end within {limit_s:g} s: {last}",
                       "start the launcher with two ranks of `hostname`: if that hangs, it is the MPI or its network")  # fmt: skip
    if code != 0 and _NO_SPACE.search(last):
        return Finding(subject, WRONG, last, _MAKE_SPACE)
    if code != 0:
        return Finding(subject, WRONG, ending.describe(Ending(code if code > 0 else 128 - code)) + f": {last}",
                       _RIGHT_LAUNCHER if "knows of none but itself" in last else
                       "start the same launcher without Unisono: if that fails too, it is the MPI")  # fmt: skip
    if not records:
        return Finding(subject, WRONG, why or "ran, but the library did not reach them",
                       "take UNISONO_DISABLE back" if "DISABLE" in why else
                       "let the launcher keep LD_PRELOAD of the command line (env LD_PRELOAD=...)")  # fmt: skip
    if records[-1]["ranks"] != 2:
        ranks = report.counted(records[-1]["ranks"], "rank")
        return Finding(subject, WRONG, f"ran as jobs of {ranks} each", _RIGHT_LAUNCHER)
    return Finding(subject, OK, "started, preloaded, and wrote a file together")


def _what_was_done(record: report.Record, name: str) -> Iterator[Finding]:
    if record["left_alone"]:
        yield Finding("files here", NOTE, f"left to the MPI library: {record['left_alone']}",
                      _TAKE_ALL_THE_SAME)  # fmt: skip
        return
    strategies = ", ".join(f"{used} ({'; '.join(use['why'])})" for used, use in record["write"]["strategies"].items())
    told = [f"layout {record['layout']}"] if record["layout"] else []  # else there are no servers
    told += [f"backend {record['backend']}" + (f" ({record['backend_why']})" if record["backend_why"] else ""),
             f"a small shared file: {strategies or 'the MPI library'}"]  # fmt: skip
    yield Finding(f"files here, {name}", OK, "; ".join(told))


# ---- the machine -----------------------------------------------------------------------------------


def _place(folder: Path, named: bool) -> Iterator[Finding]:
    said = mpi.output_of(["df", "--output=fstype", str(folder)])  # `stat -f` calls ext4 ext2/ext3
    kind = said.split()[-1] if said else "an unknown file system"
    space = os.statvfs(folder)
    free = space.f_bavail * space.f_frsize
    if not os.access(folder, os.W_OK | os.X_OK):
        yield Finding("folder", WRONG if named else NOTE, f"{folder} ({kind}) is not writable for you", _NAME_A_FOLDER)
    elif space.f_blocks and free < _FOLDER_LEAST_BYTES:
        yield Finding("folder", WRONG, f"{folder} ({kind}) is full: {report.short_bytes(free)} free", _MAKE_SPACE)
    else:
        yield Finding("folder", OK, f"{folder} is on {kind}")
    yield from _exported(folder.resolve())


def _exported(folder: Path) -> Iterator[Finding]:
    try:
        lines = _EXPORTS.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return  # it serves nothing, or nobody may know
    served = {Path(pocket.unescaped(line.split()[0])) for line in lines if line.strip()}
    for path in sorted(served & {folder, *folder.parents}):
        yield Finding("folder", NOTE, f"this node serves {path} by NFS: its ranks see a local file system, other nodes' NFS",
                      "for jobs on several nodes, mount it here, too, and use that path; docs/use/recipes.md")  # fmt: skip


def _preloaded(wanted: str | None) -> Iterator[Finding]:
    entries = preload.entries(os.environ.get("LD_PRELOAD", ""))
    names = [Path(entry).name for entry in entries]
    there = [entry for entry in entries if os.sep not in entry or Path(entry).exists()]
    for entry in [entry for entry in entries if entry not in there]:
        yield Finding("LD_PRELOAD", WRONG, f"{entry} is not there", "take it out of LD_PRELOAD")
    yield from _switched_on([entry for entry in there if preload.engine_of(entry)], wanted)
    tools = [tool for word, tool in _TOOLS.items() if any(word in name for name in names)]
    if tools:
        yield Finding("LD_PRELOAD", OK, f"{', '.join(tools)}: `unisono run` puts Unisono before it: it counts"
                      " Unisono's file accesses, but not the MPI-IO calls that Unisono does",
                      "to have these calls counted, preload by hand: the tool first, then Unisono")  # fmt: skip


def _switched_on(own: list[str], wanted: str | None) -> Iterator[Finding]:
    """For all programs, by who has set LD_PRELOAD: `own` are Unisono's libraries there."""
    served = {name for entry in own if (name := preload.engine_of(entry))}
    also = {"mpich", "abi"} if served & {"mpich", "abi"} else set()  # each serves both
    others = [entry for entry in own if os.sep in entry and not _is_of_this_installation(Path(entry))]
    if others:
        yield Finding("LD_PRELOAD", NOTE, f"{others[0]} is of another installation than this command ({places.PREFIX})",
                      "`unisono run` gives ranks its own instead; else use that installation's command")  # fmt: skip
    if own and wanted and wanted not in served | also:
        yield Finding("LD_PRELOAD", NOTE, f"Unisono is switched on here, but not for {wanted}, which this command's program uses",
                      f"add libunisono-{wanted}.so, or start it by `unisono run`")  # fmt: skip
    elif own:
        yield Finding("LD_PRELOAD", OK, f"Unisono is switched on for all programs here ({', '.join(sorted(served))})",
                      "if that is not wanted: UNISONO_DISABLE=1, or unset LD_PRELOAD")  # fmt: skip


def _is_of_this_installation(library: Path) -> bool:
    try:
        return library.samefile(places.library(library.name))
    except Failure:
        return False


def _shared_memory() -> Finding:
    try:
        space = os.statvfs("/dev/shm")
    except OSError as error:
        return Finding("/dev/shm", WRONG, error.strerror, "mount a tmpfs there: MPI libraries need it")
    free = space.f_bavail * space.f_frsize
    said = f"{report.human_bytes(free)} free of {report.human_bytes(space.f_blocks * space.f_frsize)}"
    if free < _SHM_LEAST_BYTES:
        return Finding("/dev/shm", WRONG, f"{said}: MPI libraries may fail there",
                       "remove what is left in it, or start the container with --shm-size=1g")  # fmt: skip
    return Finding("/dev/shm", OK, said)


def _huge_pages() -> Iterator[Finding]:
    """Of the kernel, for what ranks of a node share. What they bring was not measured: no advice."""
    try:
        chosen = re.search(r"\[(\w+)\]", _HUGE_PAGES.read_text())
    except OSError:
        return  # a kernel without them
    if chosen:
        yield Finding("huge pages", OK, f"for shared memory: {chosen[1]}")


def ranks_of(segment: launchers.Segment | None) -> int | None:
    counts = [option.value for option in segment.parts if option.name in segment.family.count] if segment else []
    return int(counts[-1]) if counts and counts[-1] and counts[-1].isdecimal() else None


def _cores(segment: launchers.Segment | None) -> Finding:
    cores, ranks = len(os.sched_getaffinity(0)), ranks_of(segment)
    said = report.counted(cores, "core")
    if ranks is None:
        return Finding("cores", OK, said)
    said += f" here for {report.counted(ranks, 'rank')}"
    if ranks > cores:
        return Finding("cores", NOTE, f"{said}: on this machine alone they wait for each other",
                       f"-n {cores}, or more machines; timings mean little like this")  # fmt: skip
    return Finding("cores", OK, said)


def _try_io_uring() -> str:
    """Empty, or why the kernel gives us no ring."""
    io_uring_setup = 425
    library = ctypes.CDLL(None, use_errno=True)
    parameters = ctypes.create_string_buffer(120)  # struct io_uring_params
    descriptor = library.syscall(io_uring_setup, 4, parameters)
    if descriptor < 0:
        return os.strerror(ctypes.get_errno())
    os.close(descriptor)
    return ""


def _io_uring() -> Finding:
    reason = _try_io_uring()
    if not reason:
        return Finding("io_uring", OK, "allowed")
    sysctl = Path("/proc/sys/kernel/io_uring_disabled")
    value = sysctl.read_text().strip() if sysctl.exists() else "absent"
    return Finding("io_uring", NOTE, f"{reason} (kernel.io_uring_disabled: {value}): threads do its work",
                   "sysctl kernel.io_uring_disabled=0, or a container profile that allows it")  # fmt: skip


def _fuse() -> Finding:
    if shutil.which("unisono-pocketfs") is None and not (places.PREFIX / "bin" / "unisono-pocketfs").exists():
        return Finding("FUSE", NOTE, "Unisono was built without libfuse3: no `unisono pocket`", "libfuse3-dev")
    reason = pocket.why_no_fuse()
    return Finding("FUSE", NOTE if reason else OK, reason or "`unisono pocket` can mount",
                   "only `unisono pocket` needs it" if reason else "")  # fmt: skip


# ---- settings --------------------------------------------------------------------------------------


def _program_of(command: list[str], segment: launchers.Segment | None) -> list[str]:
    """The executable of the command's first program, and its words."""
    words = segment.program if segment else command
    words = words[launchers.skip_wrappers(words, launchers.TRANSPARENT) :]
    executable = shutil.which(words[0]) if words else None
    return [os.path.realpath(executable), *words] if executable else []


def _settings(path: str, program: list[str]) -> Iterator[Finding]:
    for complaint in places.complaints(path):
        yield Finding("settings", WRONG, complaint, "correct it or take it back; docs/use/hints.md lists all")
    in_force = places.settings_for(path, program=program)
    built_in, left_alone = in_force.pop("site file", ""), in_force.pop("left alone", "")
    if left_alone:
        yield Finding("settings", NOTE, f"the MPI library does all calls: {left_alone}", _TAKE_ALL_THE_SAME)
    site = os.environ.get("UNISONO_SITE_FILE") or built_in
    sources = [f"site file {site}"] if site and Path(site).exists() else []
    sources += [name for name in ("ROMIO_HINTS", "UNISONO_HINTS", "MPICH_MPIIO_HINTS") if os.environ.get(name)]
    apart = {"UNISONO_HINTS", "UNISONO_SITE_FILE", "UNISONO_ROOT", "UNISONO_DIR"}  # these two say where it is only
    sources += sorted(k for k in os.environ if k.startswith("UNISONO_") and k not in apart)
    if not sources:
        yield Finding("settings", OK, f"none (no site file {site}); the defaults are in force")
        return
    yield Finding("settings", OK, f"from weak to strong, the last wins: {', '.join(sources)}")
    values = ", ".join(f"{name}={value}" for name, value in in_force.items())
    yield Finding("settings", OK, f"for files here that gives {values or 'the defaults'}")
