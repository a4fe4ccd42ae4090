"""Which MPI libraries Unisono was tried on, by what they say of themselves. Also the table of docs/use/mpis.md.

The table refuses nothing by itself: the preload library does, by what it finds in the process (shim.c).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

TESTED, BELIEVED, REFUSED = "tested", "believed", "refused"


@dataclass(frozen=True)
class Version:
    """Libraries whose name and version begin like this."""

    begins: str
    state: str
    remark: str


# The first that fits counts.
TABLE = [
    Version("MPICH 4.0.2", TESTED, "all tests, in every run of them"),
    Version("MPICH 4.2.1", TESTED, "all tests but those of `unisono cluster`, on Debian 13"),
    Version("MPICH 5.0.2", TESTED, "`make test-mpis`, both ABIs"),
    Version("MPICH 4.", BELIEVED, "same ABI"),
    Version("MPICH 5.", BELIEVED, "same ABIs"),
    Version("MPICH 3.", REFUSED, "has no large counts (MPI-4)"),
    Version("Intel MPI 2021.19", TESTED,
            "`make test-mpis`, both ABIs; its standard ABI has some numbers of its own"),
    Version("Intel MPI 2021.", BELIEVED, "the same; refused where it has no large counts yet"),
    Version("Intel MPI ", REFUSED, "has no large counts (MPI-4)"),
    Version("Cray MPICH ", BELIEVED, "MPICH's ABI; refused where it has no large counts yet"),
    Version("Open MPI 4.1.4", TESTED, "all tests, in every run of them"),
    Version("Open MPI 5.0.7", TESTED, "all tests but those of `unisono cluster`, on Debian 13"),
    Version("Open MPI 5.0.11", TESTED, "`make test-mpis`"),
    Version("Open MPI 3.", BELIEVED, "same ABI"),
    Version("Open MPI 4.", BELIEVED, "same ABI"),
    Version("Open MPI 5.", BELIEVED, "same ABI"),
    Version("Open MPI ", REFUSED, "older: another ABI; newer: large counts, which Open MPI 4's header lacks"),
]  # fmt: skip

_NAMES = [
    ("Open MPI", re.compile(r"Open MPI v([\w.]+)")),
    ("Intel MPI", re.compile(r"Intel\(R\) MPI Library ([\w.]+)")),
    ("Cray MPICH", re.compile(r"CRAY MPICH version ([\w.]+)")),
    ("MPICH", re.compile(r"^MPICH Version:\s*([\w.]+)")),
]


def name_of(said: str) -> str:
    """A library's name and version, from the text of MPI_Get_library_version; empty if it is unknown."""
    found = ((name, pattern.search(said)) for name, pattern in _NAMES)
    return next((f"{name} {match[1]}" for name, match in found if match), "")


def known(said: str) -> Version | None:
    name = name_of(said)
    return next((row for row in TABLE if name.startswith(row.begins)), None) if name else None
