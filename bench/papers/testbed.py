"""A pocket file system for one experiment: its mounts, and the files that programs will read."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

from sides import LaunchError

from .experiment import Figure, Servers

# A run whose requests were answered later than modelled by more than this is rejected. The median is
# the bound that the testbed is built for; 2 ms are a quarter of a turn of a disk at 7200 rpm.
LATE_MEDIAN_US = 200
LATE_P99_US = 2000


def commands_of(build: pathlib.Path) -> ModuleType:
    """The command's own module for pocket file systems, from the build folder."""
    folder = str(build / "lib" / "unisono" / "python")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    from unisono import pocket

    return pocket


def reason_to_skip(build: pathlib.Path) -> str:
    """Why no pocket file system can be mounted here; empty if it can."""
    if not (build / "bin" / "unisono-pocketfs").exists():
        return "unisono-pocketfs is not built: libfuse3-dev is missing"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "/dev/fuse cannot be opened"
    if os.geteuid() != 0 and shutil.which("fusermount3") is None:
        return "only root can mount without fusermount3 (Debian: fuse3)"
    return ""


def has_orchestra(build: pathlib.Path) -> bool:
    """`unisono orchestra` is there."""
    asked = subprocess.run([build / "bin" / "unisono", "orchestra", "--help"], capture_output=True,
                           check=False)
    return asked.returncode == 0


@dataclass
class Pocket:
    """Folders of one pocket file system; the backing folder outlives its mounts."""

    commands: ModuleType
    folder: pathlib.Path
    unisono: pathlib.Path
    realtime: bool = False

    @property
    def mountpoint(self) -> pathlib.Path:
        return self.folder / "mount"

    @contextlib.contextmanager
    def mounted(self, testbed: Servers, profile: str, seed: int) -> Iterator[None]:
        self.commands.up(str(self.mountpoint), str(self.folder / "bytes"), profile,
                         testbed.options(seed))
        try:
            if self.realtime:
                self._raise_priority()
            yield
        finally:
            self.commands.down(str(self.mountpoint))

    def _raise_priority(self) -> None:
        """The emulator's threads go before everything else on this machine."""
        pid = self.commands.mount_at(str(self.mountpoint)).pid
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setscheduler(int(thread), os.SCHED_RR, os.sched_param(1))

    def begin_run(self) -> None:
        """What an earlier run left in memory is written, caches are empty, counters at zero."""
        for path in self.mountpoint.iterdir():
            with path.open("rb") as file:
                os.fsync(file)
        mount = self.commands.mount_at(str(self.mountpoint))
        if mount.profile != "off":
            self.commands.drop_caches(mount)
            self.commands.reset(mount)

    @contextlib.contextmanager
    def orchestrated(self, options: tuple[str, ...] | None) -> Iterator[None]:
        """Programs take turns meanwhile; None: they do not."""
        if options is None:
            yield
            return
        self._orchestra("up", *options)
        try:
            yield
        finally:
            self._orchestra("down")

    def _orchestra(self, command: str, *options: str) -> None:
        words = [self.unisono, "orchestra", command, self.mountpoint, *options]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise LaunchError(done.stderr.strip())

    def statistics(self) -> dict:
        return self.commands.statistics(self.commands.mount_at(str(self.mountpoint)))

    def place(self, file: str, address_bytes: int) -> None:
        """Makes an empty file that begins at this byte of each disk."""
        path = self.mountpoint / file
        path.touch()
        os.setxattr(path, "user.pocketfs.address", str(address_bytes).encode())


@contextlib.contextmanager
def pocket_for(figure: Figure, build: pathlib.Path, scratch: pathlib.Path,
               realtime: bool) -> Iterator[Pocket]:
    """A new one in `scratch`, which is removed in the end with all that was written."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"unisono-{figure.name}-", dir=scratch))
    pocket = Pocket(commands_of(build), folder, build / "bin" / "unisono", realtime)
    try:
        yield pocket
    finally:
        pocket.commands.down(str(pocket.mountpoint))  # if a mount was left in the middle
        shutil.rmtree(folder)


def too_late(statistics: dict) -> bool:
    """The machine was too slow for what it emulated."""
    late = statistics.get("lateness_us")
    return late is not None and (late["median"] > LATE_MEDIAN_US or late["p99"] > LATE_P99_US)


def summary_of(statistics: dict) -> dict:
    """What explains a speed: sums over the servers, and how late the emulation was."""
    if not statistics.get("emulated"):
        return {}
    servers = statistics["servers"]
    names = ("reads", "writes", "block_requests", "media_accesses", "seeks", "positioning_ms")
    sums = {name: sum(server[name] for server in servers) for name in names}
    ascending = sum(server["ascending_share"] for server in servers) / len(servers)
    return {**sums, "ascending_share": ascending, "lateness_us": statistics["lateness_us"]}
