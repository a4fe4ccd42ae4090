"""IOrchestrator, figure 8: two programs whose files lie further and further apart on the disks."""

from ..experiment import Claim, Figure, Job, Line
from .testbeds import IORCHESTRATOR, OURS, PAPER, PAPER_KEPT, PAPER_LINUX, modern

GIB = 1 << 30
DISTANCES = {"0": 0, "10G": 10 * GIB, "20G": 20 * GIB, "30G": 30 * GIB}
FIRST_BYTE = GIB
SHARE_BYTES = 64 << 20  # of a file of 320 MiB on one disk, as the disks' space is given out
LARGE_SHARE_BYTES = 192 << 20  # of one of 1 GB


def program(file: str, address_bytes: int, file_bytes: str = "320M") -> Job:
    """As in the paper's other experiments with barriers and without collective calls."""
    return Job("mpi-io-test", 5, {"segment-bytes": "64K", "file-bytes": file_bytes},
               access="independent", flags=("--barrier",), file=file, address_bytes=address_bytes)


def pair(distance: str) -> tuple[Job, Job]:
    second = FIRST_BYTE + LARGE_SHARE_BYTES + DISTANCES[distance]
    return program("first", FIRST_BYTE, "1000M"), program(f"second-{distance}", second, "1000M")


TOGETHER = {distance: pair(distance) for distance in DISTANCES}
NEAR_AND_FAR = {distance: TOGETHER[distance] for distance in ("0", "30G")}
ALONE = {"30G": pair("30G")[1:]}


# As docs/understand/orchestra.md found: SL_i is nearly the newest gap, so servers differ by more than 20 %.
SELDOM = ("both are seldom eligible: the mean is nearly the newest gap, and servers differ by more than"
          " 20 %; and slices end themselves")
SLICES_END = "read literally, slices end themselves: while they last SL_i is one program's; with slices kept 2 times"
LESS_LOST = "two programs lose less by distance here (0.70 left; 0.52), so there is less to win back"


def claims_for(line: str, how: str, why: str, own: bool = False,
               lost: str = "turns were taken now and then") -> tuple[Claim, ...]:
    return (
        Claim(f"orchestrated {how}: 2.5 times at 30 GB", 2.5, "section IV.D", line, "30G",
              "two programs", why=why, own=own),
        Claim(f"orchestrated {how}: 1.37 times without distance", 0.52 * 2.5 / 0.95,
              "derived from section IV.D", line, "0", "two programs",
              why="" if own else why, own=own),
        Claim(f"orchestrated {how}: 5 % are lost from 0 to 30 GB", 0.95, "section IV.D", line,
              "30G", line, "0", why="" if own else lost, own=own),
    )


FIGURE = Figure(
    name="iorchestrator-fig8",
    title="two programs, distance between their files",
    source="IOrchestrator (SC 2010), figure 8",
    testbed=IORCHESTRATOR,
    x_label="distance on each disk",
    ceiling_seeds=0,  # where nothing seeks: iorchestrator-no-seeks
    run_seconds=12,
    differs="The processes read one by one and meet after each call. The files have 1 GB, as the paper's: with"
            " less, the window or two in which nothing is known yet is a part of each run.",
    lines=(
        Line("two programs", "mpich", TOGETHER),
        Line("two programs, orchestrated", "mpich", NEAR_AND_FAR, orchestra=PAPER),
        Line("two programs, orchestrated, Linux's weights", "mpich", NEAR_AND_FAR, orchestra=PAPER_LINUX),
        Line("two programs, orchestrated, slices kept", "mpich", TOGETHER, orchestra=PAPER_KEPT),
        Line("two programs, our default", "mpich", NEAR_AND_FAR, orchestra=OURS),
        Line("one program alone", "mpich", ALONE),
    ),
    claims=(
        Claim("two programs lose 48 % when their files are 30 GB apart", 0.52, "section IV.D",
              "two programs", "30G", "two programs", "0",
              why="[our drives read on behind what they were asked for, and the head moves less]"),
        *claims_for("two programs, orchestrated", "as the paper has it", SELDOM),
        *claims_for("two programs, orchestrated, Linux's weights", "with Linux's weights", SLICES_END),
        *claims_for("two programs, orchestrated, slices kept", "with slices kept", LESS_LOST, lost=""),
        *claims_for("two programs, our default", "by our default", "", own=True),
    ),
)

TODAY = modern(FIGURE)
