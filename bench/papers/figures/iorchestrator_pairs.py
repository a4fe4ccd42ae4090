"""IOrchestrator, figures 2, 5 and 6: two instances of one program, with barriers, with barriers and
collective calls, and with neither."""

import functools

from ..experiment import Claim, Figure, Job, Line
from .iorchestrator_fig8 import SELDOM
from .testbeds import (ASKS_FOR_PIECES, IORCHESTRATOR_LARGE, OURS, PAPER, PAPER_KEPT, PAPER_LINUX,
                       PIECES)

FILE_ON_DISK_BYTES = 1600 << 20  # a sixth of 10 GB
BARRIER = ("--barrier",)
SPREAD = ("--memory=noncontiguous",)

# 240 MiB in each file, 120 in that of mpi-tile-io: several windows of the orchestrator. Parts of
# ior-mpi-io's processes lie as far apart as in 10 GB. A call of noncontig is for 10 MiB: the paper's
# 8 MB are no whole number of rows.
PROGRAMS = {
    "mpi-io-test": {"segment-bytes": "64K", "file-bytes": "240M"},
    "ior-mpi-io": {"transfer-bytes": "64K", "file-bytes": "240M", "part-step-bytes": "2G"},
    "hpio": {"region-count": 768, "region-bytes": "64K", "region-spacing": 10},
    "noncontig": {"elmtcount": 8192, "call-bytes": "10M", "file-bytes": "240M"},
    "mpi-tile-io": {"tiles-x": 5, "width": 1024, "height": 3072, "overlap-x": 8,
                    "rows-per-call": 1},
}

# The first letter is memory's, the second the file's. Where the file is contiguous, a process asks
# for one piece of several MiB in a call.
CONTIGUOUS = {"hpio": {"region-count": 1, "region-bytes": "48M"},
              "noncontig": {"elmtcount": 524288, "call-bytes": "10M", "file-bytes": "240M"}}
SHAPES = {
    f"{program} ({memory}-{file})": (program, options[program], flags)
    for program in CONTIGUOUS
    for memory, flags in (("c", ()), ("nc", SPREAD))
    for file, options in (("c", CONTIGUOUS), ("nc", PROGRAMS))
}


ENOUGH = "two together write faster than one alone, but for hpio: turns have nothing to give"
MOST = ("mpi-io-test gains (with slices kept 1.4), ior-mpi-io and mpi-tile-io have less alone than two have together"
        " and lose by turns")
UNKNOWN = "not known"
NOTHING = "turns can give no more here than there is: what one has alone"
AT_MOST = "turns can give 1.6 at most: what one mpi-io-test has alone; the other programs less"
LATE = "a third of the writes came too late to count"
LITTLE = ("two programs together have 1.5 to 2 times what one has alone, but for mpi-io-test: turns can"
          " only lose")
FEW_WINDOWS = ("runs of some seven windows: where they last five times as long (2-longer) mpi-io-test, which has most to gain,"
               " has 1.2 by Linux's weights and 1.3 by our default, with a wide range")
CAUSES = {"read, orchestrated": SELDOM, "write, orchestrated": ENOUGH,
          "write, orchestrated, Linux's weights": ENOUGH, "write, our default": ENOUGH}


LINUX = ", orchestrated, Linux's weights"
ORCHESTRATED = ("orchestrated", LINUX.removeprefix(", "), "our default")


def two(program: str, options: dict, direction: str, access: str = "independent",
        flags: tuple[str, ...] = BARRIER) -> tuple[Job, Job]:
    """Files of their own, one behind the other on each disk as if they were of 10 GB."""
    first, second = (Job(program, 5, options, direction, access=access, flags=flags,
                         file=f"{program}-{number}", address_bytes=number * FILE_ON_DISK_BYTES)
                     for number in (1, 2))
    return first, second


def lines(pairs) -> tuple[Line, ...]:
    """`pairs`: what runs, by direction. One alone has the disks as turns give them to each."""
    both = tuple(Line(f"two, {direction}{how}", "mpich", pairs(direction), hints=PIECES,
                      orchestra=orchestra)
                 for direction in ("read", "write")
                 for how, orchestra in (("", None), (", orchestrated", PAPER),
                                        (LINUX, PAPER_LINUX), (", our default", OURS)))
    kept = Line("two, read, orchestrated, slices kept", "mpich", pairs("read"), hints=PIECES, orchestra=PAPER_KEPT)
    alone = tuple(Line(f"one alone, {direction}", "mpich",
                       {name: jobs[:1] for name, jobs in pairs(direction).items()}, hints=PIECES)
                  for direction in ("read", "write"))
    return (*both, kept, *alone)


def gain(direction: str, program: str, times: float, why: str = SELDOM) -> Claim:
    return Claim(f"orchestrated {program} {direction}s {times} times as fast", times,
                 "section IV.B", f"two, {direction}, orchestrated", program, f"two, {direction}",
                 why=why)


def mean_gains(times: float, why: dict[str, str], where: str = "section IV.B") -> tuple[Claim, ...]:
    """The paper's average is over reads and writes of all its cases. `why`: by direction, for
    policy `paper`, and for ours by "our default"."""
    return tuple(Claim(f"{direction}s, mean of the programs, {how}", times,
                       f"{where}; one mean of reads and writes", f"two, {direction}, {how}",
                       "mean", f"two, {direction}", own=how == "our default",
                       why=why.get(f"{direction}, {how}", ""))
                 for direction in ("read", "write") for how in ORCHESTRATED)


def mean_kept(times: float, where: str = "section IV.B", why: str = MOST) -> Claim:
    """Reads only: writes have nothing to gain."""
    return Claim("reads, mean of the programs, orchestrated, slices kept", times,
                 f"{where}; one mean of reads and writes", "two, read, orchestrated, slices kept", "mean",
                 "two, read", why=why)


def speed(direction: str, program: str, mb_per_s: float, why: str = UNKNOWN) -> Claim:
    return Claim(f"{program}, {direction}", mb_per_s, "section IV.B, without orchestrator",
                 f"two, {direction}", program, why=why)


def pairs_of(access: str, flags: tuple[str, ...]):
    def pairs(direction: str) -> dict[str, tuple[Job, ...]]:
        return {program: two(program, options, direction, access, flags)
                for program, options in PROGRAMS.items()}
    return pairs


two_instances = functools.partial(
    Figure,
    testbed=IORCHESTRATOR_LARGE,
    x_label="program",
    ceiling_seeds=0,  # where nothing seeks: iorchestrator-no-seeks
    run_seconds=4.5,
    differs="240 MiB of a file instead of 10 GB, which begin as far apart as those would (likewise the parts of"
            " ior-mpi-io's processes); 10 MiB in a collective call of noncontig instead of 8; writes include"
            " MPI_File_sync; " + ASKS_FOR_PIECES,
)

WITH_BARRIERS = two_instances(
    name="iorchestrator-fig2",
    title="two instances of one program, with barriers",
    source="IOrchestrator (SC 2010), figure 2",
    lines=lines(pairs_of("independent", BARRIER)),
    claims=(
        gain("read", "mpi-io-test", 1.57),
        gain("write", "mpi-io-test", 1.37, ENOUGH),
        gain("read", "mpi-tile-io", 1.11, NOTHING),
        gain("write", "mpi-tile-io", 1.15, ENOUGH),
        gain("read", "ior-mpi-io", 1.0, ""),
        *(Claim(f"orchestrated, reads gain up to 1.89 times{how}", 1.89,
                "section IV.B; of reads and writes of all cases", f"two, read, orchestrated{kept}", "best",
                "two, read", why=why)
          for how, kept, why in (("", "", SELDOM), (" with slices kept", ", slices kept", AT_MOST))),
        *mean_gains(1.43, {**CAUSES,
                           "read, orchestrated, Linux's weights": MOST, "read, our default": MOST}),
        mean_kept(1.43),
        speed("read", "mpi-io-test", 102),
        speed("write", "mpi-io-test", 115),
        speed("read", "hpio", 70, ""),
        speed("write", "hpio", 54),
    ),
)

WITH_COLLECTIVES = two_instances(
    name="iorchestrator-fig5",
    title="two instances of one program, with barriers and collective calls",
    source="IOrchestrator (SC 2010), figure 5",
    lines=lines(pairs_of("collective", BARRIER)),
    claims=(
        gain("read", "mpi-io-test", 1.63, "1.2 can be had at most: what one has alone"),
        gain("write", "mpi-io-test", 1.15, ENOUGH),
        *mean_gains(1.28, {f"{direction}, {how}": LITTLE
                           for direction in ("read", "write") for how in ORCHESTRATED}),
    ),
)

WITH_NEITHER = two_instances(
    name="iorchestrator-fig6",
    title="two instances of one program, without barriers or collective calls",
    source="IOrchestrator (SC 2010), figure 6",
    lines=lines(pairs_of("independent", ())),
    claims=(
        gain("read", "mpi-io-test", 1.72),
        gain("write", "mpi-io-test", 1.36, ENOUGH),
        *mean_gains(1.39, {**CAUSES, "read, orchestrated, Linux's weights": FEW_WINDOWS,
                           "read, our default": FEW_WINDOWS}, "abstract, of all figures"),
        speed("read", "mpi-io-test", 86),
        speed("write", "mpi-io-test", 108),
        speed("read", "hpio", 31),
        speed("write", "hpio", 28),
    ),
)


def shapes(direction: str) -> dict[str, tuple[Job, ...]]:
    return {name: two(program, options, direction, flags=(*BARRIER, *flags))
            for name, (program, options, flags) in SHAPES.items()}


WITH_SHAPES = two_instances(
    name="iorchestrator-fig2-shapes",
    title="hpio and noncontig, contiguous or not in memory and file",
    source="IOrchestrator (SC 2010), figure 2",
    x_label="program (memory-file)",
    lines=lines(shapes),
    claims=(
        Claim("memory's side does not matter: hpio (nc-nc) against (c-nc)", 1.0,
              "section IV.A", "two, read", "hpio (nc-nc)",
              "two, read", "hpio (c-nc)", in_words=True),
        Claim("memory's side does not matter: noncontig (nc-nc) against (c-nc)", 1.0,
              "section IV.A", "two, read", "noncontig (nc-nc)",
              "two, read", "noncontig (c-nc)", in_words=True),
        *mean_gains(1.43, {**CAUSES, "write, orchestrated": LATE, "write, our default": LATE}),
    ),
)


def longer_runs(direction: str) -> dict[str, tuple[Job, ...]]:
    options = {**PROGRAMS["mpi-io-test"], "file-bytes": "1280M"}
    return {how: two("mpi-io-test", options, direction, flags=flags)
            for how, flags in (("with barriers", BARRIER), ("without barriers", ()))}


LONGER = two_instances(
    name="iorchestrator-fig2-longer",
    title="two instances of mpi-io-test, longer runs",
    source="IOrchestrator (SC 2010), figure 2 and 6",
    x_label="barriers",
    run_seconds=14,
    differs="1.25 GiB of a file, not 240 MiB as in figures 2 and 6, instead of 10 GB: windows enough to learn in.",
    lines=tuple(line for line in lines(longer_runs) if ", read" in line.name),
    claims=tuple(Claim(f"{whose.removeprefix('orchestrated, ')}, {how}: {times} times as fast", times,
                       "section IV.B", f"two, read, {whose}", how, "two, read", own=whose == "our default")
                 for how, times in (("with barriers", 1.57), ("without barriers", 1.72))
                 for whose in (*ORCHESTRATED, "orchestrated, slices kept")),
)
