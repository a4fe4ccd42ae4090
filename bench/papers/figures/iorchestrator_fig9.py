"""IOrchestrator, figure 9: two programs, and how long a scheduling window is."""

import dataclasses

from ..experiment import Claim, Figure, Job, Line
from .iorchestrator_fig8 import SELDOM
from .testbeds import IORCHESTRATOR_LARGE, OURS, PAPER, PAPER_KEPT, PAPER_LINUX

GIB = 1 << 30
PAPERS_GAIN = {125: 1.402, 250: 1.485, 500: 1.586, 1000: 1.596}
FEW_WINDOWS = {500: "runs of eight windows: 1.25 where they last four times as long (9-longer)",
               1000: "runs of four windows: 1.20 where they last four times as long (9-longer)"}
FEW_KEPT = {1000: "runs of four windows: 1.36 where they last four times as long (9-longer)"}


def pair(file_bytes: str) -> dict[str, tuple[Job, ...]]:
    return {"two programs": tuple(
        Job("mpi-io-test", 5, {"segment-bytes": "64K", "file-bytes": file_bytes}, access="independent",
            flags=("--barrier",), file=f"file-{number}", address_bytes=number * GIB) for number in (1, 2))}


PAIR = pair("320M")


def line(whose: str, policy: tuple[str, ...], window_ms: int) -> Line:
    return Line(f"{whose}, {window_ms} ms", "mpich", PAIR,
                orchestra=(*policy, "--window-ms", str(window_ms)))


def claim(window_ms: int, gain: float, whose: str = "paper", how: str = "", why: str = SELDOM) -> Claim:
    return Claim(f"with windows of {window_ms} ms{how} it is {gain} times as fast", gain,
                 "section IV.E", f"{whose}, {window_ms} ms", "two programs", "without", why=why)


FIGURE = Figure(
    name="iorchestrator-fig9",
    title="two programs, length of a window",
    source="IOrchestrator (SC 2010), figure 9",
    testbed=IORCHESTRATOR_LARGE,
    x_label="what runs",
    ceiling_seeds=0,  # where nothing seeks: iorchestrator-no-seeks
    run_seconds=6,
    differs="Files of 320 MiB instead of 10 GB, which begin 1 GiB apart on each disk; with barriers; our default"
            " beside the paper's policy.",
    lines=(
        Line("without", "mpich", PAIR),
        *(line("paper", PAPER, window_ms) for window_ms in PAPERS_GAIN),
        *(line("Linux's weights", PAPER_LINUX, window_ms) for window_ms in PAPERS_GAIN),
        *(line("slices kept", PAPER_KEPT, window_ms) for window_ms in PAPERS_GAIN),
        *(line("our default", OURS, window_ms) for window_ms in PAPERS_GAIN),
    ),
    claims=(*(claim(window_ms, gain) for window_ms, gain in PAPERS_GAIN.items()),
            *(claim(window_ms, gain, whose, f" and {whose}", why.get(window_ms, ""))
              for whose, why in (("Linux's weights", FEW_WINDOWS), ("slices kept", FEW_KEPT))
              for window_ms, gain in PAPERS_GAIN.items())),
)

LONG_WINDOWS = ("without", *(f"{whose}, {window_ms} ms" for whose in ("Linux's weights", "slices kept")
                             for window_ms in (500, 1000)))

LONGER = dataclasses.replace(
    FIGURE,
    name="iorchestrator-fig9-longer",
    title="two programs, longer windows and runs",
    run_seconds=18,
    differs=FIGURE.differs.replace("320 MiB", "1.25 GiB"),
    lines=tuple(dataclasses.replace(each, jobs=pair("1280M")) for each in FIGURE.lines if each.name in LONG_WINDOWS),
    claims=tuple(dataclasses.replace(each, why="read literally, slices end themselves; kept they give 1.46 and 1.36"
                                     if "Linux" in each.line else "")
                 for each in FIGURE.claims if each.line in LONG_WINDOWS),
)
