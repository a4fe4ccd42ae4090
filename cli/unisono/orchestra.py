"""Orchestrators: start, end, state, timeline. Knows no terminal."""

from __future__ import annotations

import contextlib
import csv
import fcntl
import json
import os
import select
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import places, pocket, trace_picture
from .places import Failure

_PROGRAM = "unisono-orchestrator"
_NODE_DAEMON = "unisono-node-daemon"
_PATIENCE_S = 5.0


def program(name: str = _PROGRAM) -> Path:
    path = places.PREFIX / "bin" / name
    if not path.exists():
        raise Failure(f"{path} is missing")
    return path


@dataclass(frozen=True)
class Gate:
    """A gate that there may be an orchestrator for: where it stands, and the daemons' own folder."""

    where: str  # "servers" or "clients"
    path: str
    folder: Path
    slots: Path | None = None  # in the clients: of the processes

    @property
    def state_file(self) -> Path:
        return self.folder / "orchestra.json"


def policies() -> list[places.Entry]:
    """The table that the daemon was built with, the default first."""
    listed = subprocess.run([program(), "list"], capture_output=True, text=True, check=True)
    return places.entries(listed.stdout)


def mount_for(mountpoint: str | None) -> pocket.Mount:
    """The pocket file system that is meant; without a name the only one there is."""
    if mountpoint is not None:
        return pocket.mount_at(mountpoint)
    mounts = pocket.mounts()
    if len(mounts) != 1:
        raise Failure(f"name the folder or mountpoint: {len(mounts) or 'no'} pocket file systems are mounted")
    return mounts[0]


def gate_in_servers(mount: pocket.Mount) -> Gate:
    return Gate("servers", mount.mountpoint, Path(mount.backing))


def gate_in_clients(path: str) -> Gate:
    """The one of this user on the file system of `path`."""
    try:
        device = os.stat(path).st_dev
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from error
    folder, slots = _folders(os.geteuid(), device)
    return Gate("clients", str(Path(path).resolve()), folder / "own", slots)


def _folders(owner: int, device: int) -> tuple[Path, Path]:
    """Where a user's gate has its page, and its slots: as in orchestra/gate/gate_paths.cpp."""
    chosen = os.environ.get("UNISONO_RUNTIME")
    if chosen and not os.path.isabs(chosen):
        raise Failure(f"UNISONO_RUNTIME is '{chosen}', and has to begin with /: daemons and programs are elsewhere")
    shared = chosen or "/dev/shm"
    closed = chosen or ("/run" if owner == 0 else shared)
    name = f"{owner}-{device:x}"
    return Path(closed, f"unisono-gate-{name}"), Path(shared, f"unisono-slots-{name}")


def gate_at(path: str | None) -> Gate:
    """The gate in the clients if it has an orchestrator, else that of a pocket file system."""
    if path is not None and os.path.exists(path):
        in_clients = gate_in_clients(path)
        if state(in_clients) is not None or pocket.find(path) is None:
            return in_clients
    return gate_in_servers(mount_for(path))


def state(gate: Gate) -> dict[str, Any] | None:
    """What the orchestrator decided last; None if there is none, or it is dead."""
    if not _is_folder_of(gate.folder, 0, os.geteuid()):
        return None
    try:
        found = json.loads(gate.state_file.read_text())
    except (OSError, ValueError):
        return None
    alive = os.fsencode(gate.state_file) in places.words_of_daemon(_PROGRAM, found.get("pid"))
    return found if alive else None


def _is_folder_of(folder: Path, *users: int) -> bool:
    """In /dev/shm anybody may have made it, or a link of that name."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid in users


def up(gate: Gate, options: list[str]) -> None:
    """Starts one; returns when the gate has its first schedule, and this node its node daemon. Interrupted,
    it ends what it has started."""
    with _interrupts_kept_back() as interrupts:
        _up(gate, options)
    if interrupts:
        down(gate)
        raise KeyboardInterrupt


@contextlib.contextmanager
def _interrupts_kept_back() -> Iterator[list[int]]:
    """Lists those that came meanwhile: nothing stops halfway."""
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)


def _up(gate: Gate, options: list[str]) -> None:
    command = [gate.path, "--state", str(gate.state_file), *options]
    if gate.where == "servers":
        _start(_PROGRAM, command, gate.folder / "orchestra.log")
    else:
        with _folders_for(gate):
            _up_in_clients(gate, command, options)


def _up_in_clients(gate: Gate, command: list[str], options: list[str]) -> None:
    listen = options[options.index("--listen") + 1] if "--listen" in options else None
    address = listen or f"unix:{gate.folder}/socket"
    command += ["--gate", "clients", *([] if listen else ["--listen", address])]
    orchestrator = _start(_PROGRAM, command, gate.folder / "orchestra.log")
    keys = options[options.index("--key-file"):][:2] if "--key-file" in options else []
    refused = None
    try:
        join(gate, address, keys)
    except Failure as failure:
        refused = failure  # one that lost its orchestrator comes back by itself
    if not _within_patience(lambda: (state(gate) or {}).get("nodes")):
        if not down(gate):  # it could not even say that it is there
            orchestrator.kill()
            orchestrator.wait()
        raise refused or Failure(f"the orchestrator has not heard of its node daemon in {_PATIENCE_S:g} s")


def join(gate: Gate, address: str, options: list[str]) -> None:
    """Starts this node's node daemon; returns when programs can find the gate."""
    with _folders_for(gate):
        _start(_NODE_DAEMON, [gate.path, "--connect", address, *options], gate.folder / "node_daemon.log")


@contextlib.contextmanager
def _folders_for(gate: Gate) -> Iterator[None]:
    """What was not there before goes again where the daemon is refused."""
    assert gate.slots is not None
    there_before = gate.folder.parent.exists()
    try:
        _make_folders(gate)
        yield
    except Failure:
        if not there_before:
            _remove_folders(gate, gate.slots)
        raise


def _make_folders(gate: Gate) -> None:
    """As the node daemon does; it checks whose they are. Not beside root's gate, where all programs are."""
    roots, _ = _folders(0, os.stat(gate.path).st_dev)
    if os.geteuid() != 0 and (roots / "page").exists():
        raise Failure(f"programs take turns at root's gate here ({roots}), and would not come to another one")
    read_by_all = 0o755 if os.geteuid() == 0 else 0o700
    for folder, mode in ((gate.folder.parent, read_by_all), (gate.folder, 0o700)):
        try:
            folder.mkdir()
            folder.chmod(mode)
        except FileExistsError:
            _refuse_others(folder)


def _refuse_others(folder: Path) -> None:
    if not _is_folder_of(folder, os.geteuid()):
        raise Failure(f"{folder}: somebody else's")


def _start(name: str, words: list[str], log: Path) -> subprocess.Popen[str]:
    """Returns when the daemon says that it is ready."""
    _refuse_others(log.parent)
    with open(log, "a", opener=_no_link) as errors:  # there may be one at work, which writes into it, too
        said_before = errors.tell()
        daemon = subprocess.Popen([str(program(name)), *words], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=errors, cwd="/",
                                  start_new_session=True, text=True)  # fmt: skip
    assert daemon.stdout is not None
    with daemon.stdout:
        readable, _, _ = select.select([daemon.stdout], [], [], _PATIENCE_S)
        if readable and daemon.stdout.readline() == "ready\n":
            return daemon
    daemon.kill()
    daemon.wait()
    reason = log.read_bytes()[said_before:].decode(errors="replace").strip().removeprefix(f"{name}: ")
    raise Failure(reason or f"{name} did not get ready")


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def _within_patience(condition: Callable[[], Any]) -> bool:
    deadline_s = time.monotonic() + _PATIENCE_S
    while not condition():
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.01)
    return True


def down(gate: Gate) -> bool:
    """Ends it, and its node daemons end with it; the gate is open then. False: there was none."""
    found = state(gate)
    if found is None:
        return False
    for request in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(found["pid"], request)
        if _within_patience(lambda: state(gate) is None):
            break
    else:
        raise Failure(f"process {found['pid']} does not end")
    if gate.slots is not None:
        _remove_folders(gate, gate.slots)
    return True


def _remove_folders(gate: Gate, slots: Path) -> None:
    """A node daemon that lost its orchestrator before lives on for a while: it needs them."""
    if _within_patience(lambda: not _has_daemon(gate)):
        shutil.rmtree(gate.folder.parent, ignore_errors=True)
        shutil.rmtree(slots, ignore_errors=True)


def _has_daemon(gate: Gate) -> bool:
    """Each holds a lock there."""
    return any(_is_locked(file) for file in gate.folder.glob("*.lock"))


def _is_locked(file: Path) -> bool:
    try:
        with open(file) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        pass
    return False


# ---- the timeline --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Turn:
    begin_us: float
    end_us: float
    object: str


def turns(mount: pocket.Mount) -> list[Turn]:
    with open(pocket.attribute(mount, "turns")) as lines:
        return [Turn(float(row["begin_us"]), float(row["end_us"]), row["object"])
                for row in csv.DictReader(lines)]  # fmt: skip


def programs_by_process(mount: pocket.Mount) -> dict[int, str]:
    with open(pocket.attribute(mount, "programs")) as lines:
        return {int(row["process"]): row["program"] for row in csv.DictReader(lines)}


def draw(mount: pocket.Mount, picture: Path, seconds: float) -> None:
    """The last seconds: LBAs over time by program, the turns as a background of the same colours."""
    accesses = trace_picture.accesses_of(list(pocket.trace_entries(pocket.trace(mount))))
    since_us = max(e.time_us for e in accesses) - seconds * 1e6
    accesses = [e for e in accesses if e.time_us >= since_us]
    begin_us = min(e.time_us for e in accesses)
    names = programs_by_process(mount)
    shown = turns_within(turns(mount), begin_us)

    def draw_turns(panel: Any, colours: trace_picture.Colours) -> None:
        for turn in shown:
            panel.axvspan((turn.begin_us - begin_us) / 1e6, (turn.end_us - begin_us) / 1e6,
                          color=colours.get(turn.object, "grey"), alpha=0.15, linewidth=0)  # fmt: skip

    trace_picture.draw(accesses, picture, f"{mount.profile} (emulated); background: whose turn it was",
                       program_of=lambda entry: names.get(entry.process, "unknown"), behind=draw_turns)  # fmt: skip


def turns_within(all_turns: list[Turn], begin_us: float) -> list[Turn]:
    """Those that reach into the time from then on, cut off at its beginning."""
    return [Turn(max(turn.begin_us, begin_us), turn.end_us, turn.object)
            for turn in all_turns if turn.end_us > begin_us]  # fmt: skip
