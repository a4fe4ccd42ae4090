"""The sides of the comparison, and how each one is launched."""

import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class Side:
    """One implementation under test. `hints` may name {ranks}."""

    name: str
    title: str
    mpi: str
    launcher_options: tuple[str, ...] = ()
    hints: str = ""
    unisono: bool = False
    posix: bool = False
    own_default: str = ""  # for Unisono: what its MPI does by itself
    strategy: str = ""  # for Unisono: UNISONO_STRATEGY, or BEHIND

    @property
    def native(self) -> bool:
        return not self.unisono and not self.posix


DEFAULT_ROMIO = "mpich"
POSIX = "posix"
BEHIND = "behind"  # calls that repeat do not meet

SIDES = (
    Side("mpich", "MPICH default (ROMIO)", "mpich"),
    Side("mpich-tuned", "MPICH, every rank aggregates", "mpich",
         hints="cb_config_list=*:{ranks}"),
    Side("ompio", "Open MPI default (OMPIO)", "openmpi"),
    Side("ompi-romio", "Open MPI's ROMIO", "openmpi",
         launcher_options=("--mca", "io", "romio321")),
    Side("unisono-mpich", "Unisono on MPICH", "mpich", unisono=True, own_default="mpich"),
    Side("unisono-ompi", "Unisono on Open MPI", "openmpi", unisono=True, own_default="ompio"),
    Side(POSIX, "contiguous pwrite / pread", "mpich", posix=True),
)


def with_strategies(chosen: tuple[Side, ...], strategies: tuple[str, ...]) -> tuple[Side, ...]:
    """Unisono's sides with a strategy; with several, once for each, as `unisono-mpich:lacio`."""
    result = []
    for side in chosen:
        for strategy in strategies if side.unisono and strategies else ("",):
            name = f"{side.name}:{strategy}" if len(strategies) > 1 and strategy else side.name
            result.append(dataclasses.replace(side, name=name, strategy=strategy))
    return tuple(result)


def plain_name(name: str) -> str:
    """Of a side in SIDES, with or without a strategy."""
    return name.partition(":")[0]


# What Unisono says where it goes on without what it was asked for.
NOT_AS_ASKED = re.compile(r"cannot be preloaded|^unisono: .*ignored; valid: ", re.MULTILINE)
OWN_MESSAGE = re.compile(rf"wrong byte|^rank \d+:|{NOT_AS_ASKED.pattern}")

LAUNCHERS = {"mpich": "mpiexec.mpich", "openmpi": "mpiexec.openmpi"}


def _cores() -> int:
    """That this process may use; a core's hardware threads are one."""
    cpus = os.sched_getaffinity(0)
    siblings = [pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") for cpu in cpus]
    return len({path.read_text() for path in siblings}) if all(path.exists() for path in siblings) else len(cpus)


CORES = _cores()


class LaunchError(Exception):
    """One line for the user."""


@dataclasses.dataclass(frozen=True)
class Tools:
    """Where the build put things."""

    build: pathlib.Path
    settings: dict[str, str] = dataclasses.field(default_factory=dict)  # for Unisono
    timeout_s: float = 300.0
    binds: bool = False  # ranks to cores, where each has one

    def program(self, mpi: str) -> pathlib.Path:
        return self.build / "programs" / f"unisono-bench-patterns.{mpi}"

    def library(self, mpi: str) -> pathlib.Path:
        return self.build / "lib" / f"libunisono-{mpi}.so"

    @property
    def yield_shim(self) -> pathlib.Path:
        return self.build / "lib" / "libunisono-yield.so"

    def missing_for(self, side: Side, *programs: pathlib.Path) -> str:
        """Why this side cannot run these programs here (none: the patterns); empty if it can."""
        if shutil.which(LAUNCHERS[side.mpi]) is None:
            return f"{LAUNCHERS[side.mpi]} is not installed"
        needed = [*(programs or [self.program(side.mpi)]), self.yield_shim]
        if side.unisono:
            needed.append(self.library(side.mpi))
        absent = [path for path in needed if not path.exists()]
        return f"{absent[0]} is not built" if absent else ""


def words_before(side: Side, tools: Tools, ranks: int, report: pathlib.Path) -> list[str]:
    """What comes before the program: launcher, preloaded libraries, settings. Where ranks share
    cores, every side gets the yield shim, without which MPICH never yields its core."""
    bound = tools.binds and ranks <= CORES
    preload = [tools.library(side.mpi)] if side.unisono else []
    if not bound:
        preload.append(tools.yield_shim)
    command = [LAUNCHERS[side.mpi], *side.launcher_options]
    if bound:
        command += ["--bind-to", "core"]
    if side.mpi == "openmpi":
        command.append("--oversubscribe")
        if os.geteuid() == 0:
            command.append("--allow-run-as-root")
    command += ["-n", str(ranks), "env", "LD_PRELOAD=" + ":".join(map(str, preload))]
    if side.unisono:
        command += ["UNISONO_REPORT=json", f"UNISONO_REPORT_FILE={report}"]
        command += [f"{name}={value}" for name, value in tools.settings.items()]
        if side.strategy == BEHIND:
            command += ["UNISONO_WRITE_BEHIND=enable", "UNISONO_READ_AHEAD=enable"]
        elif side.strategy:
            command.append(f"UNISONO_STRATEGY={side.strategy}")
    return command


def patterns_command(side: Side, tools: Tools, ranks: int, arguments: list[str]) -> list[str]:
    """The program that has the patterns, as this side runs it."""
    command = [str(tools.program(side.mpi)), *arguments]
    if side.hints:
        command += ["--hints", side.hints.format(ranks=ranks)]
    if side.posix:
        command.append("--posix")
    return command


def launch(side: Side, tools: Tools, ranks: int, command: list[str],
           report: pathlib.Path) -> list[dict]:
    """Runs a program on one side; returns its lines, with `strategies` on Unisono's sides.

    Raises LaunchError if it fails, hangs, finds wrong contents, or Unisono had no part in it.
    """
    report.unlink(missing_ok=True)
    lines = lines_of(start([*words_before(side, tools, ranks, report), *command]), tools.timeout_s)
    if side.unisono:
        strategies = strategies_in(report)
        report.unlink(missing_ok=True)
        for line in lines:
            line["strategies"] = strategies
    return lines


def start(command: list[str], environment: Mapping[str, str] | None = None) -> subprocess.Popen:
    """In a session of its own, so that its ranks can be ended with it. `environment`: None for
    ours."""
    return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, errors="replace",
                            start_new_session=True)


def lines_of(process: subprocess.Popen, timeout_s: float) -> list[dict]:
    """Waits for its end; returns its lines of JSON. Raises LaunchError if it fails or hangs."""
    with process:
        try:
            output, errors = process.communicate(timeout=timeout_s)
        except BaseException as error:
            end_session_of(process)
            if isinstance(error, subprocess.TimeoutExpired):
                raise LaunchError(f"no end within {timeout_s:.0f} s") from error
            raise
    if process.returncode != 0 or NOT_AS_ASKED.search(errors):
        raise LaunchError(_cause(errors) or f"exit code {process.returncode}")
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def strategies_in(report: pathlib.Path) -> dict[str, int]:
    """Calls by strategy, from Unisono's own report."""
    if not report.exists():
        raise LaunchError("the library is loaded, but reported no file: it took no part")
    calls: dict[str, int] = {}
    for line in report.read_text(errors="replace").splitlines():
        opened = json.loads(line)
        for direction in ("read", "write"):
            for name, use in opened[direction]["strategies"].items():
                calls[name] = calls.get(name, 0) + use["calls"]
    return calls


def _cause(errors: str) -> str:
    """What the program itself says, rather than what its launcher says about it."""
    lines = [line.strip() for line in errors.splitlines() if line.strip(" -=")]
    own = [line for line in lines if OWN_MESSAGE.search(line)]
    first = next(iter(own or lines), "")
    return f"{first} {lines[-1]}" if first.endswith("error stack:") else first  # MPICH's


def end_session_of(process: subprocess.Popen) -> None:
    """Launchers pass SIGTERM on to their ranks; SIGKILL is for what remains of the group."""
    for signal_number, patience_s in ((signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, signal_number)
            process.communicate(timeout=patience_s)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
