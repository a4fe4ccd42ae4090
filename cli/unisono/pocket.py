"""Pocket parallel file systems: mounts, state and control. Knows no terminal."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import places
from .places import Failure

_TYPE = "fuse.pocketfs"
_PROGRAM = "unisono-pocketfs"
_ATTRIBUTE = "user.pocketfs."
_PATIENCE_S = 5.0


@dataclass(frozen=True)
class Mount:
    mountpoint: str
    backing: str
    record: dict[str, Any] = field(default_factory=dict)  # what the daemon wrote when it began

    @property
    def pid(self) -> int | None:
        """The daemon's, if it is alive and this mount's."""
        pid = self.record.get("pid")
        alive = places.words_of_daemon(_PROGRAM, pid) and self.is_recorded_at(self.mountpoint)
        return pid if alive else None

    def is_recorded_at(self, path: str) -> bool:
        """Records have U+FFFD where a name is no UTF-8."""
        return self.record.get("mountpoint") == os.fsencode(path).decode(errors="replace")

    @property
    def profile(self) -> str:
        if "profile_file" not in self.record:
            return ""  # who did not mount it may not know
        return Path(self.record["profile_file"]).stem or "off"


def mounts(table: str = "/proc/self/mountinfo") -> list[Mount]:
    """All pocket file systems that are mounted, the daemon dead or alive."""
    found = []
    for line in Path(table).read_text(errors="surrogateescape").splitlines():
        before, _, after = line.partition(" - ")
        kind, source, _options = after.split(" ", 2)
        if kind == _TYPE:
            backing = unescaped(source)
            found.append(Mount(unescaped(before.split()[4]), backing, _record(backing)))
    return found


def unescaped(text: str) -> str:
    """A path as the kernel's tables have it."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def _record(backing: str) -> dict[str, Any]:
    try:
        record = json.loads(Path(backing, "mount.json").read_text())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def mount_at(mountpoint: str) -> Mount:
    """The topmost pocket file system at this folder."""
    found = find(mountpoint)
    if found is None:
        raise Failure(f"no pocket file system is mounted at {os.path.abspath(mountpoint)}")
    return found


def find(path: str) -> Mount | None:
    """The same; None if there is none."""
    here = _mounts_at(_without_links(path))
    return here[-1] if here else None


def _mounts_at(path: str) -> list[Mount]:
    return [mount for mount in mounts() if mount.mountpoint == path]


def _without_links(path: str) -> str:
    """As the kernel names a mountpoint; asks nothing of what is mounted there, which may hang."""
    path = os.path.abspath(path)
    for _ in range(40):
        folder, name = os.path.split(path)
        path = os.path.join(os.path.realpath(folder), name)
        try:
            target = os.readlink(path)
        except OSError:
            break
        path = os.path.normpath(os.path.join(os.path.dirname(path), target))
    return path


def profile_folder(prefix: Path = places.PREFIX) -> Path:
    return prefix / "share" / "unisono" / "profiles"


def profile_names() -> list[str]:
    return sorted(file.stem for file in profile_folder().glob("*.json"))


def profile_file(name: str) -> Path | None:
    """The file of a profile, which is shipped or named by its path; None for "off"."""
    if name == "off":
        return None
    for file in (profile_folder() / f"{name}.json", Path(name)):
        if file.is_file():
            return file.absolute()
    raise Failure(f"unknown profile '{name}'; valid: off, {', '.join(profile_names())}, or a file")


def program() -> Path:
    path = places.PREFIX / "bin" / _PROGRAM
    if not path.exists():
        raise Failure(f"{path} is missing: Unisono was built without libfuse3 (libfuse3-dev)")
    return path


def why_no_fuse(device: str = "/dev/fuse") -> str:
    """What keeps this user from mounting; empty: nothing that is known."""
    if not os.path.exists(device):
        return f"{device} is not there: load the kernel module fuse, or give it to the container (--device)"
    if not os.access(device, os.R_OK | os.W_OK):
        return (f"{device} is not accessible to you (mode {os.stat(device).st_mode & 0o777:o});"
                f" root can change that: chmod 666 {device}")  # fmt: skip
    if os.geteuid() != 0 and shutil.which("fusermount3") is None:
        return "fusermount3 is missing, without which only root can mount (Debian: fuse3)"
    return ""


def up(mountpoint: str, backing: str, profile: str, options: list[str]) -> None:
    """Mounts; returns when the file system can be used."""
    if reason := why_no_fuse():
        raise Failure(reason)
    file = profile_file(profile)
    if file is not None:
        options = [*options, "--profile-file", str(file)]
    path = _without_links(mountpoint)
    if _mounts_at(path):
        raise Failure(f"{path} has a pocket file system already; 'unisono pocket down' removes it")
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from error
    # In a session of its own: Ctrl-C is for us, who know what to do then.
    with subprocess.Popen([program(), path, "--backing", backing, *options], start_new_session=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True) as mounting:  # fmt: skip
        try:
            _, said = mounting.communicate()
        except BaseException:
            mounting.communicate()
            down(path)
            raise
    if mounting.returncode != 0:
        raise Failure(said.strip().removeprefix(f"{_PROGRAM}: ") or "the daemon died")


def down(mountpoint: str) -> bool:
    """Unmounts and ends the daemon, whatever state they are in. False: there was nothing."""
    path = _without_links(mountpoint)
    found = False
    while here := _mounts_at(path):
        found = True
        mount, pid = here[-1], here[-1].pid
        if not _unmount(path, lazy=False) and not _unmount(path, lazy=True):
            raise Failure(f"{path} cannot be unmounted; who mounted it, or root, can do it")
        if pid is not None:
            _end(pid, lambda mount=mount: mount.pid)
        if mount.is_recorded_at(path):  # and not where the bytes are mounted by now
            Path(mount.backing, "mount.json").unlink(missing_ok=True)
    return found


def _unmount(path: str, lazy: bool) -> bool:
    if os.geteuid() == 0:
        # -c: asks nothing of the file system, whose daemon may stand still.
        command = ["umount", "-c", *(["-l"] if lazy else []), path]
    else:
        command = ["fusermount3", "-u", *(["-z"] if lazy else []), path]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _end(pid: int, still: Callable[[], int | None]) -> None:
    """Waits for the daemon to end by itself, asks it to, and at last ends it."""
    for request in (None, signal.SIGTERM, signal.SIGKILL):
        if request is not None and still() == pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, request)
        deadline_s = time.monotonic() + (_PATIENCE_S if request else 1.0)
        while time.monotonic() < deadline_s:
            if still() != pid:
                return
            time.sleep(0.01)


def state(mount: Mount) -> str:
    try:
        os.statvfs(mount.mountpoint)
    except PermissionError:
        return "in a folder that is closed to you"
    except OSError as error:
        return f"broken ({error.strerror}); 'unisono pocket down' cleans up"
    return "mounted"


def attribute(mount: Mount, name: str) -> str:
    """One of those of the mountpoint that the file system makes up (docs/understand/testbed.md)."""
    try:
        return os.getxattr(mount.mountpoint, _ATTRIBUTE + name).decode()
    except OSError as error:
        raise Failure(f"{mount.mountpoint}: {error.strerror}") from error


def _set(mount: Mount, name: str, value: str, meanings: dict[int, str] | None = None) -> None:
    """`meanings`: what an errno means here, where its own text would not tell."""
    try:
        os.setxattr(mount.mountpoint, _ATTRIBUTE + name, value.encode())
    except OSError as error:
        reason = (meanings or {}).get(error.errno, error.strerror)
        raise Failure(f"{mount.mountpoint}: {value}: {reason}") from error


def statistics(mount: Mount) -> dict[str, Any]:
    """Counters per server and the lateness, since the start or the last reset."""
    return json.loads(attribute(mount, "stats"))


def reset(mount: Mount) -> None:
    _set(mount, "control", "reset")


def drop_caches(mount: Mount) -> None:
    _set(mount, "control", "drop_caches")


def fault(mount: Mount, what: dict[str, Any]) -> None:
    servers = mount.record.get("servers")
    valid = f"; valid: 0 to {servers - 1}" if servers and "server" in what else ""
    _set(mount, "fault", json.dumps(what), {
        errno.EXDEV: "the path leads out of the file system: give one below the mountpoint",
        errno.EINVAL: f"there is no such server{valid}",
        errno.ENOTSUP: "without emulation there are no servers",
    })  # fmt: skip


def path_within(mount: Mount, path: str) -> str:
    """A path that may be given in full, as one below the mountpoint."""
    if not os.path.isabs(path):
        return path
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name).removeprefix(f"{mount.mountpoint}/")


def power_cut(mount: Mount) -> None:
    _set(mount, "control", "power_cut", {errno.ENOTSUP: "it was mounted without --power-cuts"})


@dataclass(frozen=True)
class TraceEntry:
    time_us: float
    server: int
    lba: int
    bytes: int
    operation: str
    process: int
    program: str


def trace(mount: Mount) -> Path:
    """Has the daemon write its trace; returns the file."""
    if mount.profile == "off":
        raise Failure(f"{mount.mountpoint}: without emulation there is no trace")
    return Path(attribute(mount, "trace"))


def trace_entries(file: Path) -> Iterator[TraceEntry]:
    with file.open(errors="replace") as lines:
        next(lines, None)
        for line in lines:
            fields = line.rstrip("\n").split(",", 6)
            yield TraceEntry(float(fields[0]), int(fields[1]), int(fields[2]), int(fields[3]),
                             fields[4], int(fields[5]), fields[6])  # fmt: skip
