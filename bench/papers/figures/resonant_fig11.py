"""Resonant I/O, figure 11: the demonstration program beside mpi-io-test, which pauses more or less
between its calls."""

from ..experiment import Claim, Figure, Job, Line
from .engine import with_two_phase
from .testbeds import RESONANT

PAUSES = {"alone": None, "1000 ms": 1.0, "100 ms": 0.1, "10 ms": 0.01, "0": 0.0}


def demo_beside(pause_s: float | None) -> tuple[Job, ...]:
    demo = Job("demo", 4, {"segment-bytes": "64K", "file-bytes": "64M"})
    if pause_s is None:
        return (demo,)
    other = Job("mpi-io-test", 4, {"segment-bytes": "64K", "file-bytes": "64M", "seconds": 4,
                                   "compute-seconds": pause_s}, file="other", background=True)
    return demo, other


BESIDE = {name: demo_beside(pause_s) for name, pause_s in PAUSES.items()}

FIGURE = Figure(
    name="resonant-fig11",
    title="the demonstration program under interference",
    source="Resonant I/O (IPDPS 2009), figure 11",
    testbed=RESONANT,
    x_label="pause between the calls of mpi-io-test",
    differs="Files of 64 MiB instead of 10 GB; the other program uses the same library as the first.",
    lines=with_two_phase((
        Line("ROMIO", "mpich-tuned", BESIDE),
        Line("resonant", "unisono-mpich:resonant", BESIDE),
    )),
    claims=(
        Claim("without pauses resonant is 2.2 times ROMIO", 48 / 22, "section 4.3", "resonant",
              "0", "ROMIO", why="not known"),
        Claim("without pauses resonant keeps 0.43 of its speed", 0.43, "section 4.3", "resonant",
              "0", "resonant", "alone",
              why="alone it has 211 MB/s, the paper's 112 (derived)"),
        Claim("without pauses ROMIO keeps 0.47", 0.47, "section 4.3", "ROMIO", "0", "ROMIO",
              "alone", why="alone it has 85 MB/s, the paper's 47 (derived)"),
        Claim("with pauses of a second resonant keeps 0.90", 0.90, "section 4.3", "resonant",
              "1000 ms", "resonant", "alone"),
        Claim("with pauses of a second ROMIO keeps 0.98", 0.98, "section 4.3", "ROMIO", "1000 ms",
              "ROMIO", "alone"),
        Claim("resonant without pauses", 48, "section 4.3", "resonant", "0"),
        Claim("ROMIO without pauses", 22, "section 4.3", "ROMIO", "0"),
    ),
)
