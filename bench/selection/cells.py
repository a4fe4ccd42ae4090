"""What selection by measurement is judged on: calls of some kind, somewhere."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where files are, and how many ranks use them. `profile`: of a pocket file system with `servers`
    servers; empty: an ordinary folder. `nodes`: on so many Unisono is told that the ranks are;
    with `cluster` they are there, on a pocket cluster, and file data goes over their links."""

    name: str
    folder: str = "/dev/shm"
    mpi: str = "mpich"
    ranks: int = 4
    nodes: int = 1
    layout: str = ""
    profile: str = ""
    servers: int = 4
    cluster: bool = False

    @property
    def settings(self) -> dict[str, str]:
        """For Unisono."""
        pretended = self.nodes > 1 and not self.cluster
        given = {"UNISONO_LAYOUT": self.layout,
                 "UNISONO_TOPOLOGY": f"nodes={self.nodes}" if pretended else ""}
        return {name: text for name, text in given.items() if text}


@dataclass(frozen=True)
class Calls:
    """Equal collective calls of one program (bench/papers/programs). `grows`: so many bytes of the
    file belong to each call; 0: all calls are for the whole file."""

    name: str
    program: str
    options: tuple[str, ...]
    grows: int = 0

    def words(self, calls: int) -> list[str]:
        size = [f"--file-bytes={calls * self.grows}"] if self.grows else []
        return [self.program, *self.options, *size]


@dataclass(frozen=True)
class Cell:
    """`mode`: fresh (the file is not there before), overwrite or read (it is, and is cached)."""

    place: Place
    calls: Calls
    mode: str

    @property
    def name(self) -> str:
        return f"{self.place.name} {self.calls.name} {self.mode}"

    @property
    def direction(self) -> str:
        return "read" if self.mode == "read" else "write"


KIB, MIB = 1 << 10, 1 << 20
STRIPED = "stripe_bytes=64K,servers=4"

TMPFS = Place("tmpfs")
TMPFS_OPENMPI = Place("tmpfs-openmpi", mpi="openmpi")
DISK = Place("disk", folder=str(pathlib.Path.home()))
TWO_NODES = Place("two-nodes", nodes=2, layout=STRIPED)
INSTANT = Place("pocket-instant", nodes=2, profile="instant")
SSD = Place("pocket-ssd", nodes=4, profile="ssd")
SSD_OPENMPI = Place("pocket-ssd-openmpi", nodes=2, mpi="openmpi", profile="ssd")
DISKS = Place("pocket-disks", nodes=2, profile="wd5000aaks", servers=6)
CLUSTER = Place("cluster", ranks=8, nodes=4, profile="instant", cluster=True)

# With four ranks.
SPECKS = Calls("64-B-pieces", "noncontig", ("--elmtcount=16", "--call-bytes=1M"), MIB)
SMALL = Calls("small", "matrix", ("--block-bytes=1K", "--depth=64"), 256 * KIB)
STRIDED_4K = Calls("strided-4k", "strided", ("--block-bytes=4K", "--call-bytes=4M"), 4 * MIB)
STRIDED_64K = Calls("strided-64k", "strided", ("--block-bytes=64K", "--call-bytes=8M"), 8 * MIB)
CONTIGUOUS = Calls("contiguous", "mpi-io-test", ("--segment-bytes=1M",), 4 * MIB)
CONTIGUOUS_SMALL = Calls("contiguous-small", "mpi-io-test", ("--segment-bytes=64K",), 256 * KIB)
OWN_PARTS = Calls("own-parts", "ior-mpi-io", ("--transfer-bytes=256K",), MIB)
HOLES = Calls("holes", "hpio", ("--region-count=1024", "--region-bytes=1K",
                                "--region-spacing=1K"))
TILES = Calls("tiles", "mpi-tile-io", ("--width=512", "--height=384"))
LARGE_TILES = Calls("large-tiles", "mpi-tile-io", ("--width=1456", "--height=288"))
CUBE = Calls("cube", "coll-perf", ("--side=128",))

# With eight.
EIGHT_CONTIGUOUS = Calls("contiguous", "mpi-io-test", ("--segment-bytes=512K",), 4 * MIB)
EIGHT_CONTIGUOUS_SMALL = Calls("contiguous-small", "mpi-io-test", ("--segment-bytes=16K",), 128 * KIB)

CELLS = (
    *(Cell(TMPFS, calls, mode) for calls, mode in (
        (SPECKS, "overwrite"), (SPECKS, "read"), (SMALL, "overwrite"), (SMALL, "read"),
        (STRIDED_4K, "fresh"), (STRIDED_4K, "overwrite"), (STRIDED_4K, "read"),
        (STRIDED_64K, "fresh"), (STRIDED_64K, "read"), (CONTIGUOUS, "overwrite"),
        (CONTIGUOUS, "read"), (CONTIGUOUS_SMALL, "overwrite"), (OWN_PARTS, "overwrite"),
        (HOLES, "overwrite"), (HOLES, "read"), (TILES, "overwrite"), (CUBE, "read"))),
    *(Cell(TMPFS_OPENMPI, calls, mode) for calls, mode in (
        (STRIDED_4K, "read"), (CONTIGUOUS, "read"), (SPECKS, "overwrite"), (CUBE, "overwrite"))),
    *(Cell(DISK, calls, "fresh") for calls in (STRIDED_4K, CONTIGUOUS, SPECKS)),
    *(Cell(TWO_NODES, calls, mode) for calls, mode in (
        (SPECKS, "overwrite"), (STRIDED_4K, "overwrite"), (STRIDED_4K, "read"),
        (STRIDED_64K, "read"), (CONTIGUOUS, "read"), (CUBE, "overwrite"), (HOLES, "overwrite"))),
    *(Cell(INSTANT, calls, mode) for calls, mode in (
        (STRIDED_4K, "overwrite"), (STRIDED_4K, "read"), (STRIDED_64K, "overwrite"),
        (STRIDED_64K, "read"), (CONTIGUOUS, "overwrite"), (CONTIGUOUS, "read"),
        (SPECKS, "read"))),
    *(Cell(SSD, calls, mode) for calls, mode in (
        (STRIDED_4K, "overwrite"), (STRIDED_4K, "read"), (STRIDED_64K, "overwrite"),
        (STRIDED_64K, "read"), (CONTIGUOUS, "read"), (SPECKS, "overwrite"), (SMALL, "read"),
        (TILES, "overwrite"))),
    *(Cell(SSD_OPENMPI, calls, mode) for calls, mode in (
        (STRIDED_64K, "read"), (CONTIGUOUS, "read"), (STRIDED_4K, "overwrite"))),
    *(Cell(DISKS, calls, mode) for calls, mode in (
        (STRIDED_64K, "read"), (CONTIGUOUS, "overwrite"), (STRIDED_4K, "read"))),
    *(Cell(CLUSTER, calls, mode) for calls, mode in (
        (STRIDED_4K, "overwrite"), (STRIDED_4K, "read"), (STRIDED_64K, "overwrite"),
        (STRIDED_64K, "read"), (EIGHT_CONTIGUOUS, "read"), (EIGHT_CONTIGUOUS_SMALL, "overwrite"),
        (EIGHT_CONTIGUOUS_SMALL, "read"), (SPECKS, "read"), (CUBE, "overwrite"),
        (LARGE_TILES, "read"))),
)
