"""A tiny figure for the tests: everything that a real one has, in seconds."""

import dataclasses

from ..experiment import Claim, Figure, Line, sweep
from .testbeds import RESONANT

XS = ("32K", "64K")
FILE = {"file-bytes": "8M"}

FIGURE = Figure(
    name="quick",
    title="a part of Resonant I/O's figure 2, tiny",
    source="Resonant I/O (IPDPS 2009), figure 2",
    testbed=dataclasses.replace(RESONANT, jitter_us=20),
    x_label="segment",
    differs="Only to see that everything works: 8 MiB, one seed.",
    lines=(
        Line("collective", "mpich-tuned", sweep("demo", 4, "segment-bytes", XS, FILE)),
        Line("independent", "mpich", sweep("demo", 4, "segment-bytes", XS, FILE, access="pieces")),
        Line("resonant", "unisono-mpich:resonant", sweep("demo", 4, "segment-bytes", XS, FILE)),
    ),
    claims=(
        Claim("independent is 4.2 times collective at 64K", 175 / 42, "section 1.2",
              "independent", "64K", "collective"),
        Claim("independent, 64K", 175, "section 1.2", "independent", "64K"),
    ),
    seeds=1,
)
