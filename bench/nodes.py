"""Where a benchmark between nodes runs: a pocket cluster, and storage behind its links.

Everything on the machine that takes part has one real-time priority: programs, the emulated servers
and the launchers. Then runs repeat within a few per cent although all nodes share the machine's cores.
"""

import contextlib
import os
import pathlib
import re
import shutil
import tempfile
from collections.abc import Iterator

from applications import APPLICATIONS
from papers.experiment import Cluster, Servers
from papers.testbed import Pocket, cluster_for, commands_of

PRIORITY = 10
# Of a full TCP segment's 1514 bytes on the link: what is not headers.
PAYLOAD = 1448 / 1514
UNITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}

# Ranks get whole pieces of at least a storage server's stripe: nobody has to exchange anything.
WITHOUT_EXCHANGE = ("contiguous", "strided-64k", "strided-1m", "calls-contiguous")
# Calls of 64 KiB of all ranks, one after the other: each goes to one server, over its link.
ONE_SERVER_A_CALL = ("calls-contiguous", "calls-strided")


@contextlib.contextmanager
def place(arguments) -> Iterator[list[pathlib.Path]]:
    """The directories to measure in. With a cluster, MPI launchers start on its nodes meanwhile."""
    if not arguments.cluster:
        yield arguments.directories
        return
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(PRIORITY))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="unisono-bench-"))
    try:
        with cluster_for(Cluster(arguments.cluster, arguments.rate), arguments.build) as cluster:
            os.environ["PATH"] = cluster.environment()["PATH"]
            pocket = Pocket(commands_of(arguments.build), folder, arguments.build / "bin/unisono",
                            cluster=cluster)
            with pocket.mounted(Servers(arguments.profile, jitter_us=0), arguments.profile, seed=0):
                yield [pocket.mountpoint]
    finally:
        shutil.rmtree(folder)


def allowed(arguments, pattern: str) -> float | None:
    """MB/s at which the busiest link carries, in one direction, what it must: its node's equal share
    of the file, and of the exchange what the other nodes ask for of that share or have for it.

    Tiles and blocks are taken for pieces that are mixed evenly among the nodes. Where a node's ranks
    have neighbours in the file they need less exchange, and may be faster than this.
    """
    if not arguments.cluster or pattern in APPLICATIONS:  # in which each call is another case
        return None
    if pattern in ONE_SERVER_A_CALL:
        return payload_per_s(arguments.rate) / 1e6
    share = 1 / arguments.cluster
    exchanged = 0.0 if pattern in WITHOUT_EXCHANGE else share * (1 - share)
    return payload_per_s(arguments.rate) / (share + exchanged) / 1e6


def payload_per_s(rate: str) -> float:
    """Bytes of messages and files that a link carries."""
    found = re.fullmatch(rf"([0-9.]+)({'|'.join(UNITS)})", rate)
    if found is None:
        raise ValueError(f"unknown rate {rate!r}: a number and one of {', '.join(UNITS)}")
    return float(found[1]) * UNITS[found[2]] / 8 * PAYLOAD
