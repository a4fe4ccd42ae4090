"""Pocket clusters: nodes on one machine, with host names and shaped links. Knows no terminal.

A node is a network namespace and a UTS namespace; files, processes and memory are this machine's.
What is going to be made is written to the cluster's record first, so that `down` finds it after a
crash as well; and what is in the way without being in a record is somebody else's: it is left alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from ipaddress import IPv4Network
from pathlib import Path

from . import cluster_launch, cluster_network, mpi, places
from .cluster_launch import Site
from .cluster_network import Link, Node
from .places import Failure

DEFAULT_NAME = "pocket"
# Not the user's: namespaces and interfaces are the whole machine's, and root's alone.
_RECORDS = Path("/run/unisono")
_NAMESPACES = Path("/run/netns")
_INTERFACES = Path("/sys/class/net")
_NAME = re.compile(r"[a-z][a-z0-9]{0,7}")  # an interface's name has room for no more
_NODES_MAX = 64
_PATIENCE_S = 3.0
_COMMAND_LIMIT_S = 20

_TOOLS = {"ip": "iproute2", "tc": "iproute2", "nsenter": "util-linux", "unshare": "util-linux",
          "umount": "mount", "hostname": "hostname", "timeout": "coreutils"}  # fmt: skip
_LAUNCHERS = ("mpiexec", "mpirun", "mpiexec.mpich", "mpirun.mpich", "mpiexec.hydra",
              "mpiexec.openmpi", "mpirun.openmpi", "orterun")  # fmt: skip

_REMOTE_SHELL = """#!/bin/sh
# HOST COMMAND...: what a launcher takes for rsh. The node has a /sys of its own, where UCX looks for interfaces.
host=$1
shift
exec ip netns exec unisono-"$host" nsenter --uts={folder}/uts-"$host" -- sh -c "$*"
"""
_RANK_WRAPPER = """#!/bin/sh
# COMMAND...: one rank, with test equipment behind what it preloads already.
export LD_PRELOAD="${{LD_PRELOAD:+$LD_PRELOAD:}}{preload}"
export YIELD_SHIM_SLEEP_US="${{YIELD_SHIM_SLEEP_US:-50}}"
exec "$@"
"""
_LAUNCHER = """#!/bin/sh
exec {unisono} cluster launch {name} {launcher} "$@"
"""


@dataclass(frozen=True)
class Traffic:
    """Bytes on one node's link, headers included, since the cluster is up."""

    sent: int
    received: int


@dataclass
class Cluster:
    """One that is up, or what is left of it."""

    name: str
    network: str
    link: Link
    limit_s: int  # no launch lives longer
    nodes: list[Node]
    # Which namespaces and interfaces are its own: inode or index by name; None: about to be made.
    namespaces: dict[str, int | None] = field(default_factory=dict)
    interfaces: dict[str, int | None] = field(default_factory=dict)

    @property
    def bridge(self) -> str:
        return f"uni-{self.name}"

    @property
    def folder(self) -> Path:
        return _RECORDS / self.name

    @property
    def launchers(self) -> Path:
        """A folder with mpiexec.mpich and the like, which start their ranks on the nodes."""
        return self.folder / "bin"

    def environment(self) -> dict[str, str]:
        """For commands whose MPI launchers are to be the cluster's."""
        path = os.environ.get("PATH", os.defpath)
        return {**os.environ, "PATH": f"{self.launchers}{os.pathsep}{path}"}

    def launch_command(self, launcher: str, words: list[str]) -> list[str]:
        """What `launcher words...` is on this cluster, ready for exec."""
        found = shutil.which(launcher, path=_path_without_clusters())
        family = mpi.launcher_family(found) if found else None
        if found is None or family is None:
            raise Failure(f"launcher not found: {launcher}", 127)
        site = Site([node.host for node in self.nodes], self.bridge, self.network,
                    str(self.folder / "rsh"), str(self.folder / "rank"))  # fmt: skip
        command = cluster_launch.launch_command(site, family, found, words)
        return ["timeout", "--foreground", "--kill-after=10", str(self.limit_s), *command]

    def command_on(self, node: int, command: list[str]) -> list[str]:
        """`command` as a process of one node, ready for exec."""
        return [str(self.folder / "rsh"), self.nodes[node].host, shlex.join(command)]

    def traffic(self) -> list[Traffic]:
        """Of each node. What arrives at the bridge's end of a link was sent by the node."""
        return [Traffic(sent=_counter(node.port, "rx_bytes"), received=_counter(node.port, "tx_bytes"))
                for node in self.nodes]  # fmt: skip

    def processes(self, node: int) -> list[int]:
        listed = _run(["ip", "netns", "pids", self.nodes[node].namespace])
        return [int(word) for word in listed.split()]

    def missing(self, node: int) -> str:
        """What a node has lost; empty if it is whole."""
        if not _is_own(_namespace_now, self.namespaces, self.nodes[node].namespace):
            return "its namespace is gone"
        if not _is_own(_interface_now, self.interfaces, self.nodes[node].port):
            return "its link is gone"
        return ""


def _counter(interface: str, name: str) -> int:
    try:
        return int((_INTERFACES / interface / "statistics" / name).read_text())
    except OSError:
        return 0


def _path_without_clusters() -> str:
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(one for one in folders if not Path(one).is_relative_to(_RECORDS))


# ---- records -------------------------------------------------------------------------------------


def _save(cluster: Cluster) -> None:
    """In one step: a record is whole or not there."""
    unfinished = cluster.folder / "cluster.json.part"
    unfinished.write_text(json.dumps(asdict(cluster), indent=1) + "\n")
    unfinished.replace(cluster.folder / "cluster.json")


def find(name: str = DEFAULT_NAME) -> Cluster:
    cluster = _find(name)
    if cluster is None:
        raise Failure(f"no cluster '{name}' is up; 'unisono cluster up' makes one")
    return cluster


def _find(name: str) -> Cluster | None:
    if not _NAME.fullmatch(name):
        raise Failure(f"name '{name}'; valid: up to 8 of a-z and 0-9, a letter first")
    try:
        record = json.loads((_RECORDS / name / "cluster.json").read_text())
    except FileNotFoundError:
        return None
    record["link"] = Link(**record["link"])
    record["nodes"] = [Node(**node) for node in record["nodes"]]
    return Cluster(**record)


def names() -> list[str]:
    """Of the clusters that are up."""
    return sorted(record.parent.name for record in _RECORDS.glob("*/cluster.json"))


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """One change at a time, of all clusters."""
    _RECORDS.mkdir(mode=0o755, exist_ok=True)
    with open(_RECORDS / ".lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


# ---- what is there now ---------------------------------------------------------------------------


def _namespace_now(name: str) -> int | None:
    try:
        return (_NAMESPACES / name).stat().st_ino
    except FileNotFoundError:
        return None


def _interface_now(name: str) -> int | None:
    try:
        return int((_INTERFACES / name / "ifindex").read_text())
    except FileNotFoundError:
        return None


def _is_own(now: Callable[[str], int | None], made: dict[str, int | None], name: str) -> bool:
    """It is there, and is what was made under that name. What a crash left unrecorded is: nothing
    had that name when its making began."""
    return now(name) is not None and made.get(name) in (None, now(name))


def _used_networks() -> list[IPv4Network]:
    routes = json.loads(_run(["ip", "-json", "-4", "route", "show", "table", "all"]) or "[]")
    return [IPv4Network(route["dst"], strict=False) for route in routes
            if route["dst"][0].isdigit()]  # fmt: skip


def _run(command: list[str]) -> str:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=_COMMAND_LIMIT_S, check=False)  # fmt: skip
    if done.returncode != 0:
        raise Failure(f"{shlex.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


# ---- up ------------------------------------------------------------------------------------------


def up(
    name: str = DEFAULT_NAME,
    nodes: int = 4,
    rate: str = "1gbit",
    latency_us: int = 0,
    limit_s: int = 600,
) -> Cluster:
    """Makes a cluster; returns when its nodes reach each other. Cost: about 0.1 s a node."""
    link = Link(cluster_network.parse_rate(rate), latency_us)
    if not 1 <= nodes <= _NODES_MAX:
        raise Failure(f"nodes '{nodes}'; valid: 1 to {_NODES_MAX}")
    _require_root_and_tools()
    with _alone():
        if _find(name) is not None:
            raise Failure(f"cluster '{name}' is up already; 'unisono cluster down' removes it")
        network = cluster_network.free_network(_used_networks())
        cluster = Cluster(name, str(network), link, limit_s, _name_nodes(name, nodes, network))
        cluster.namespaces = dict.fromkeys(node.namespace for node in cluster.nodes)
        cluster.interfaces = dict.fromkeys([*(node.port for node in cluster.nodes), cluster.bridge])
        _refuse_strangers(cluster)
        try:
            _make(cluster, network)
        except BaseException:
            _remove(cluster)
            raise
    return cluster


def require_root() -> None:
    if os.geteuid() != 0:
        raise Failure("a pocket cluster needs root: its nodes are network namespaces")


def _require_root_and_tools() -> None:
    require_root()
    for tool, package in _TOOLS.items():
        if shutil.which(tool) is None:
            raise Failure(f"{tool} is missing (Debian: {package})")


def _name_nodes(name: str, count: int, network: IPv4Network) -> list[Node]:
    return [
        Node(
            host=f"{name}{number}",
            namespace=f"unisono-{name}{number}",
            uts=str(_RECORDS / name / f"uts-{name}{number}"),
            port=f"uni-{name}-{number}",
            address=str(network[2 + number]),
        )
        for number in range(count)
    ]


def _refuse_strangers(cluster: Cluster) -> None:
    there = [f"interface {name}" for name in cluster.interfaces if _interface_now(name) is not None]
    there += [f"network namespace {name}" for name in cluster.namespaces
              if _namespace_now(name) is not None]  # fmt: skip
    if there:
        raise Failure(
            f"{', '.join(there)}: there already, and of no cluster that is known here; remove it"
            " by hand if it is yours, or choose another --name"
        )


def _make(cluster: Cluster, network: IPv4Network) -> None:
    cluster.folder.mkdir(exist_ok=True)
    _save(cluster)
    commands = cluster_network.bridge_commands(cluster.bridge, network)
    for node in cluster.nodes:
        Path(node.uts).touch()
        commands += cluster_network.node_commands(node, cluster.bridge, network, cluster.link)
    for command in commands:
        _run(command)
    _write_scripts(cluster)
    cluster.namespaces = {name: _namespace_now(name) for name in cluster.namespaces}
    cluster.interfaces = {name: _interface_now(name) for name in cluster.interfaces}
    _save(cluster)


def _write_scripts(cluster: Cluster) -> None:
    cluster.launchers.mkdir(exist_ok=True)
    equipment = [places.library(f"libunisono-{name}.so") for name in ("yield", "cluster")]
    _write_script(cluster.folder / "rsh",
                  _REMOTE_SHELL.format(folder=cluster.folder))  # fmt: skip
    _write_script(cluster.folder / "rank",
                  _RANK_WRAPPER.format(preload=":".join(map(str, equipment))))  # fmt: skip
    command = shlex.quote(str(places.PREFIX / "bin" / "unisono"))
    for launcher in _LAUNCHERS:
        if shutil.which(launcher, path=_path_without_clusters()):
            text = _LAUNCHER.format(unisono=command, name=cluster.name, launcher=launcher)
            _write_script(cluster.launchers / launcher, text)


def _write_script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


# ---- down ----------------------------------------------------------------------------------------


def down(name: str = DEFAULT_NAME) -> bool:
    """Removes a cluster, also what is left of one. Ends the processes on its nodes. False: there
    was nothing."""
    _require_root_and_tools()
    with _alone():
        cluster = _find(name)
        if cluster is None:
            return False
        strangers = _remove(cluster)
    if strangers:
        raise Failure(f"{', '.join(strangers)}: not what this cluster made; left alone")
    return True


def _remove(cluster: Cluster) -> list[str]:
    """What has a name of the cluster's and is somebody else's is left, and returned."""
    strangers = []
    own_nodes = [number for number, node in enumerate(cluster.nodes)
                 if _is_own(_namespace_now, cluster.namespaces, node.namespace)]  # fmt: skip
    _end_processes(cluster, own_nodes)
    for name in cluster.interfaces:  # a link's other end goes with it
        if _is_own(_interface_now, cluster.interfaces, name):
            _run(["ip", "link", "delete", name])
        elif _interface_now(name) is not None:
            strangers.append(f"interface {name}")
    for number, node in enumerate(cluster.nodes):
        if os.path.ismount(node.uts):
            _run(["umount", node.uts])
        if number in own_nodes:
            _run(["ip", "netns", "delete", node.namespace])
        elif _namespace_now(node.namespace) is not None:
            strangers.append(f"network namespace {node.namespace}")
    shutil.rmtree(cluster.folder)
    return strangers


def _end_processes(cluster: Cluster, nodes: list[int]) -> None:
    for request in (signal.SIGTERM, signal.SIGKILL):
        deadline_s = time.monotonic() + _PATIENCE_S
        for process in _all_processes(cluster, nodes):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, request)
        while _all_processes(cluster, nodes):
            if time.monotonic() > deadline_s:
                break
            time.sleep(0.02)
        else:
            return


def _all_processes(cluster: Cluster, nodes: list[int]) -> list[int]:
    return [process for node in nodes for process in cluster.processes(node)]
