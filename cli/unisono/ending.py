"""Why there is no report, or only a part of one, after a program has ended.

While a file is open, its rank 0 keeps what it has done so far in a folder (src/report/trace.hpp);
where Unisono takes no part, an empty file there has a name that says why.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from .report import Record, human_seconds
from .run import Ending

_MARKS = {
    "disabled": "UNISONO_DISABLE is set: the MPI library does all calls by itself",
    "other-mpi": "the library is for another MPI than the program's: Unisono takes no part",
    "no-engine": "the library could not load its engine: Unisono takes no part",
    "not-opened": "MPI_File_open failed",
}

RANKS = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")  # as in src/interpose/shim.c


def is_first_rank() -> bool:
    """Where a launcher has started this command once for each rank: that one gets the report."""
    return next((os.environ[name] for name in RANKS if name in os.environ), "0") == "0"


def describe(ending: Ending) -> str:
    """The end of a sentence about the program."""
    how = "was interrupted, " if ending.interrupted else ""
    try:
        as_after = f", as after {signal.Signals(ending.code - 128).name}"
    except ValueError:  # also of real-time signals, which have no names
        as_after = ""
    return f"{how}ended with exit code {ending.code}{as_after}"


def unclosed(traces: Path, ending: Ending) -> list[Record]:
    """What is known of the files that were open at the end."""
    records = []
    for path in sorted(traces.glob("*.json"), key=lambda path: path.stat().st_mtime):
        record = json.loads(path.read_text(errors="replace"))
        age_s = max(0.0, ending.at - path.stat().st_mtime)
        record["unfinished"] = (
            f"the program {describe(ending)} before; rank 0 had counted this"
            f" {human_seconds(age_s)} before its end"
        )
        records.append(record)
    return records


def marks(traces: Path) -> list[str]:
    """Where Unisono took no part, and why."""
    return [sentence for name, sentence in _MARKS.items() if (traces / name).exists()]


def why_nothing(ending: Ending, static: bool) -> str:
    """Of a program that has left neither a report nor a mark."""
    failed = ending.code != 0  # perhaps before the program began
    if static:
        why = "the program is statically linked: Unisono cannot be loaded into it"
        return f"{why}; it {describe(ending)}" if failed else why
    opened = f"{describe(ending)}, and had opened" if failed else "opened"
    return (
        f"the program {opened} no file through MPI-IO (or the first rank of one ran on another"
        " machine: then name a report file that all machines see in UNISONO_REPORT_FILE)"
    )
