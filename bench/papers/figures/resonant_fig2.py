"""Resonant I/O, figures 2 and 5: independent calls that resonate with the stripes, collective calls
that do not, and the strategy that makes collective calls resonate."""

import dataclasses

from ..experiment import Claim, Figure, Line, sweep
from .engine import with_two_phase
from .testbeds import RESONANT, RESONANT_CFQ, modern

XS = ("32K", "64K", "128K", "256K", "512K", "1M")
FEW = ("64K", "128K")
FILE = {"file-bytes": "64M"}

# Shown by `simulate servers` with one segment of 65536 bytes in a copy of the profile.
READ_AHEAD = ("the drives' own memory serves what comes out of order: simulated with 64 KiB of it ROMIO has"
              " 40 MB/s with 4 processes and 59 with 2, independent calls 214 and 117, resonant 106 and 80")
COPIES = "the processes' own work: where it costs nothing (simulated) resonant gains 2.8 and 1.6 times"
# Agents warm the servers' memory for the others, who then read for themselves (section 3.3).
DIRECTLY = "unisono_resonant_read=direct"


def demo(ranks: int, xs: tuple[str, ...] = XS, access: str = "collective"):
    return sweep("demo", ranks, "segment-bytes", xs, FILE, access=access)


CLAIMS = (
    Claim("independent is 4.2 times collective at 64K with 4 processes", 175 / 42,
          "section 1.2, figure 2; 175 is printed badly, it may be 178",
          "independent, 4 ranks", "64K", "collective, 4 ranks (ROMIO)",
          why=READ_AHEAD),
    Claim("independent is 2.1 times collective at 128K with 2 processes", 149 / 72,
          "section 1.2, figure 2",
          "independent, 2 ranks", "128K", "collective, 2 ranks (ROMIO)",
          why=READ_AHEAD),
    Claim("with 2 processes independent at 64K has 0.84 of what it has at 128K", 125 / 149,
          "section 1.2", "independent, 2 ranks", "64K", "independent, 2 ranks", "128K"),
    Claim("resonant is 2.51 times collective at 64K with 4 processes", 2.51,
          "section 4.1, figure 5", "resonant, 4 ranks", "64K", "collective, 4 ranks (ROMIO)",
          why=COPIES),
    Claim("resonant is 1.75 times collective at 128K with 2 processes", 1.75,
          "section 4.1, figure 5", "resonant, 2 ranks", "128K", "collective, 2 ranks (ROMIO)",
          why=COPIES),
    Claim("resonant equals collective at 32K with 2 processes", 1.0, "section 4.1",
          "resonant, 2 ranks", "32K", "collective, 2 ranks (ROMIO)"),
    Claim("resonant stays below independent at 64K with 4 processes", 42 * 2.51 / 175,
          "section 4.1, derived from figures 2 and 5",
          "resonant, 4 ranks", "64K", "independent, 4 ranks",
          why="[below, but by less: what its meetings cost]"),
    Claim("resonant stays below independent at 64K (who is no agent reads for himself, as in the paper)",
          42 * 2.51 / 175, "sections 3.3 and 4.1, derived from figures 2 and 5",
          "resonant, 4 ranks, read directly", "64K", "independent, 4 ranks"),
    Claim("collective, 4 processes, 64K", 42, "section 1.2", "collective, 4 ranks (ROMIO)", "64K",
          why=READ_AHEAD),
    Claim("independent, 4 processes, 64K", 175, "section 1.2", "independent, 4 ranks", "64K"),
    Claim("collective, 2 processes, 128K", 72, "section 1.2", "collective, 2 ranks (ROMIO)",
          "128K", why=READ_AHEAD),
    Claim("independent, 2 processes, 128K", 149, "section 1.2", "independent, 2 ranks", "128K"),
)

FIGURE = Figure(
    name="resonant-fig2",
    title="resonance, and its collapse under collective I/O",
    source="Resonant I/O (IPDPS 2009), figures 2 and 5",
    testbed=RESONANT,
    x_label="segment",
    run_seconds=1.3,
    differs="The file has 64 MiB instead of 10 GB.",
    lines=(*with_two_phase((
        Line("collective, 4 ranks (ROMIO)", "mpich-tuned", demo(4)),
        Line("independent, 4 ranks", "mpich", demo(4, access="pieces")),
        Line("resonant, 4 ranks", "unisono-mpich:resonant", demo(4)),
        Line("collective, 2 ranks (ROMIO)", "mpich-tuned", demo(2)),
        Line("independent, 2 ranks", "mpich", demo(2, access="pieces")),
        Line("resonant, 2 ranks", "unisono-mpich:resonant", demo(2)),
        Line("collective, 4 ranks (OMPIO)", "ompio", demo(4, FEW)),
        Line("collective, 4 ranks (Open MPI's ROMIO)", "ompi-romio", demo(4, FEW)),
    )),
           Line("resonant, 4 ranks, read directly", "unisono-mpich:resonant", demo(4, FEW), hints=DIRECTLY)),
    claims=CLAIMS,
)

WITH_CFQ = dataclasses.replace(FIGURE, name="resonant-fig2-cfq", testbed=RESONANT_CFQ,
                               title="resonance, on servers with CFQ")
TODAY = modern(FIGURE)
