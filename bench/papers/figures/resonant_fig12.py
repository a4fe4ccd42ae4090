"""Resonant I/O, figure 12: mpi-io-test with more and more processes."""

import dataclasses

from ..experiment import Claim, Figure, Job, Line
from .engine import with_two_phase
from .testbeds import RESONANT

RANKS = ("1", "2", "4", "8", "16")


def scaled() -> dict[str, tuple[Job, ...]]:
    return {ranks: (Job("mpi-io-test", int(ranks), {"segment-bytes": "1M", "file-bytes": "128M"}),)
            for ranks in RANKS}


FIGURE = Figure(
    name="resonant-fig12",
    title="mpi-io-test: more and more processes",
    source="Resonant I/O (IPDPS 2009), figure 12",
    testbed=dataclasses.replace(RESONANT, servers=8),
    x_label="processes",
    differs="1 to 16 processes on 8 servers instead of 1 to 64 on 16, on the disks of the paper's"
            " other cluster (of the Itanium cluster's it says nothing), nobody else on them; 128"
            " MiB instead of 10 GB.",
    lines=with_two_phase((
        Line("ROMIO", "mpich-tuned", scaled()),
        Line("resonant", "unisono-mpich:resonant", scaled()),
    )),
    claims=(
        Claim("resonant scales as ROMIO does up to the storage's limit", 1.0,
              "section 4.4", "resonant", "8", "ROMIO",
              in_words=True),
        Claim("beyond the storage's limit resonant is ahead", 1.1,
              "section 4.4", "resonant", "16", "ROMIO",
              in_words=True, why="[16 processes on 8 servers hardly pass the storage's limit]"),
    ),
)
