"""IOrchestrator, figure 2: two instances of a program, with barriers and without collective calls."""

from ..experiment import Claim, Figure, Job, Line
from .testbeds import IORCHESTRATOR, OURS, PAPER

GIB = 1 << 30
BARRIER = ("--barrier",)


def two(program: str, options: dict, direction: str) -> tuple[Job, Job]:
    """Files of their own, one behind the other on each disk."""
    first, second = (Job(program, 5, options, direction, access="independent", flags=BARRIER,
                         file=f"{program}-{number}", address_bytes=number * GIB)
                     for number in (1, 2))
    return first, second


def pairs(direction: str) -> dict[str, tuple[Job, ...]]:
    return {
        "mpi-io-test": two("mpi-io-test", {"segment-bytes": "64K", "file-bytes": "80M"}, direction),
        "ior-mpi-io": two("ior-mpi-io", {"transfer-bytes": "64K", "file-bytes": "80M"}, direction),
        "hpio": two("hpio", {"region-count": 256, "region-bytes": "64K", "region-spacing": 10},
                    direction),
    }


FIGURE = Figure(
    name="iorchestrator-fig2",
    title="two instances of one program, with barriers",
    source="IOrchestrator (SC 2010), figure 2",
    testbed=IORCHESTRATOR,
    x_label="program",
    differs="Files of 80 MiB instead of 10 GB; writes include MPI_File_sync; without noncontig and"
            " mpi-tile-io.",
    lines=(
        Line("two, read", "mpich", pairs("read")),
        Line("two, read, orchestrated", "mpich", pairs("read"), orchestra=PAPER),
        Line("two, read, our default", "mpich", pairs("read"), orchestra=OURS),
        Line("two, write", "mpich", pairs("write")),
        Line("two, write, orchestrated", "mpich", pairs("write"), orchestra=PAPER),
        Line("two, write, our default", "mpich", pairs("write"), orchestra=OURS),
    ),
    claims=(
        Claim("orchestrated mpi-io-test reads 1.57 times as fast", 1.57, "section IV.B",
              "two, read, orchestrated", "mpi-io-test", "two, read",
              why="the head stays with one program for most of a window"),
        Claim("orchestrated mpi-io-test writes 1.37 times as fast", 1.37, "section IV.B",
              "two, write, orchestrated", "mpi-io-test", "two, write",
              why="less than reads: servers sort dirty pages of both programs anyway"),
        Claim("ior-mpi-io is not eligible", 1.0, "section IV.B", "two, read, orchestrated",
              "ior-mpi-io", "two, read",
              why="its requests jump between five parts of the file"),
        Claim("mpi-io-test, read", 102, "section IV.C", "two, read", "mpi-io-test",
              why="absolute speeds depend on disk, place on it, and memory"),
        Claim("mpi-io-test, write", 115, "section IV.C", "two, write", "mpi-io-test"),
        Claim("hpio, read", 70, "section IV.C", "two, read", "hpio"),
        Claim("hpio, write", 54, "section IV.C", "two, write", "hpio"),
    ),
)
