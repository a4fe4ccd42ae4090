"""A pocket file system for one experiment: its mounts, and the files that programs will read."""

from __future__ import annotations

import contextlib
import importlib
import os
import pathlib
import shutil
import string
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Protocol

from sides import LaunchError

from .experiment import Cluster, Figure, Servers

# Ranks that wait sleep (testbed/cluster/yield_shim.c): the emulated servers need the cores. 50 us are
# little beside a disk's milliseconds. MPICH's UCX looks at every network device, and its program ends if
# one vanishes meanwhile, as those of a pocket cluster do; on a cluster its launchers say which to take.
ENVIRONMENT = {"YIELD_SHIM_SLEEP_US": "50", "UCX_NET_DEVICES": "lo"}

# A run whose requests were answered later than modelled by more than this is rejected. The median is
# the bound that the testbed is built for; 2 ms are a quarter of a turn of a disk at 7200 rpm. An
# answer that is due while a thread copies another one into a program's memory waits for it.
LATE_MEDIAN_US = 200
LATE_P99_US = 2000
COPYING_US_PER_BYTE = 0.2e-3

# Each rank of MPICH is in a session of its own, Open MPI's share one; with Linux's autogroups each session
# has as much of the cores as any other that wants them, whatever its processes' niceness.
GO_FIRST = '{ echo -20 > /proc/self/autogroup; } 2>/dev/null; exec nice -n -20 "$@"'


def going_first(command: list[str]) -> list[str]:
    """The launcher's words, with ranks that go before what else runs on this machine, on all sides alike.
    Behind env: a cluster's launchers put what they preload there."""
    at = command.index("env") + 1
    while "=" in command[at]:
        at += 1
    return [*command[:at], "sh", "-c", GO_FIRST, "sh", *command[at:]]


def commands_of(build: pathlib.Path, part: str = "pocket") -> ModuleType:
    """The command's own module for pocket file systems, or for clusters, from the build folder."""
    folder = str(build / "lib" / "unisono" / "python")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(f"unisono.{part}")


def reason_to_skip(build: pathlib.Path) -> str:
    """Why no pocket file system can be mounted here; empty if it can."""
    if not (build / "bin" / "unisono-pocketfs").exists():
        return "unisono-pocketfs is not built: libfuse3-dev is missing"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "/dev/fuse cannot be opened"
    if os.geteuid() != 0 and shutil.which("fusermount3") is None:
        return "only root can mount without fusermount3 (Debian: fuse3)"
    return ""


def reason_without_cluster() -> str:
    """Why there can be no pocket cluster here; empty if there can."""
    if os.geteuid() != 0:
        return "a pocket cluster needs root"
    missing = [tool for tool in ("ip", "tc", "nsenter") if shutil.which(tool) is None]
    return f"a pocket cluster needs {missing[0]}" if missing else ""


def reason_without_orchestra(build: pathlib.Path, options: tuple[str, ...]) -> str:
    """Why `unisono orchestra up` with these options cannot be had; empty if it can."""
    asked = subprocess.run([build / "bin" / "unisono", "orchestra", "up", "--help"],
                           capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        return "it needs 'unisono orchestra', which is not there"
    if "clients" in options and "clients" not in asked.stdout:
        return "it needs 'unisono orchestra up --gate clients', which is not there yet"
    return ""


class RunningCluster(Protocol):
    """As `unisono cluster` has it (cli/unisono/cluster.py)."""

    nodes: list

    def environment(self) -> Mapping[str, str]: ...

    def command_on(self, node: int, command: list[str]) -> list[str]: ...


@dataclass
class Pocket:
    """Folders of one pocket file system; the backing folder outlives its mounts."""

    commands: ModuleType
    folder: pathlib.Path
    unisono: pathlib.Path
    realtime: bool = False
    cluster: RunningCluster | None = None  # where programs run

    @property
    def mountpoint(self) -> pathlib.Path:
        return self.folder / "mount"

    @property
    def environment(self) -> Mapping[str, str] | None:
        """Of MPI launchers; None: ours."""
        return self.cluster.environment() if self.cluster else None

    @contextlib.contextmanager
    def mounted(self, testbed: Servers, profile: str, seed: int) -> Iterator[None]:
        options = testbed.options(seed)
        if self.cluster:
            options += ["--node", "cluster"]  # file data goes over the nodes' links, too
        self.commands.up(str(self.mountpoint), str(self.folder / "bytes"), profile, options)
        try:
            if self.realtime:
                self._raise_priority()
            yield
        finally:
            self.commands.down(str(self.mountpoint))

    def _raise_priority(self) -> None:
        """The emulator's threads go before everything else on this machine, also before programs with
        --realtime."""
        pid = self.commands.mount_at(str(self.mountpoint)).pid
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setscheduler(int(thread), os.SCHED_RR, os.sched_param(2))

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
def cluster_for(wanted: Cluster | None, build: pathlib.Path) -> Iterator[RunningCluster | None]:
    """A new cluster, if one is wanted. In its environment MPI launchers start on its nodes."""
    if wanted is None:
        yield None
        return
    commands = commands_of(build, "cluster")
    taken = commands.names()
    name = next(name for name in (f"papers{letter}" for letter in string.ascii_lowercase) if name not in taken)
    made = commands.up(name, wanted.nodes, wanted.rate)
    try:
        yield made
    finally:
        commands.down(name)


def segments_sent(cluster: RunningCluster) -> float:
    """TCP segments that a node has sent so far, on average, as /proc/net/snmp has them there."""
    def of(node: int) -> int:
        told = subprocess.run(cluster.command_on(node, ["cat", "/proc/net/snmp"]),
                              capture_output=True, text=True, check=True).stdout
        names, values = (row.split() for row in told.splitlines() if row.startswith("Tcp:"))
        return int(values[names.index("OutSegs")])

    return sum(map(of, range(len(cluster.nodes)))) / len(cluster.nodes)


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
    if not late or not late["requests"]:
        return False
    moved = sum(server["read_bytes"] + server["written_bytes"] for server in statistics["servers"])
    copying_us = COPYING_US_PER_BYTE * moved / late["requests"]
    return (late["median"] > LATE_MEDIAN_US + copying_us
            or late["p99"] > LATE_P99_US + copying_us)


def summary_of(statistics: dict) -> dict:
    """What explains a speed: sums over the servers, and how late the emulation was."""
    if not statistics.get("emulated"):
        return {}
    servers = statistics["servers"]
    names = ("reads", "writes", "flushes", "block_requests", "media_accesses", "seeks",
             "positioning_ms")
    sums = {name: sum(server[name] for server in servers) for name in names}
    ascending = sum(server["ascending_share"] for server in servers) / len(servers)
    return {**sums, "ascending_share": ascending, "lateness_us": statistics["lateness_us"]}
