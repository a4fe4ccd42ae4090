"""Collective calls that a report has recorded, done again without the program: by unisono-replay, which is given
a trace. Knows no terminal."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from . import bench, report, schema
from .places import Failure
from .report import Record, counted

_MPI_NAMES = {"MPICH": "mpich", "Open MPI": "openmpi"}


def recorded(path: str, names: Iterable[str]) -> list[Record]:
    """The reports of files whose calls were recorded; of these only, if some are named."""
    found = [record for record in _records(path) if record.get("recording") and _kept_calls(record)]
    if not found:
        raise Failure(f"{path}: no collective calls are recorded in it; unisono run --record FILE does that")
    known = list(dict.fromkeys(record["file"] for record in found))
    for name in names:
        if name not in known:
            raise Failure(f"no file '{name}' is in {path}; there are: {', '.join(known)}")
    return [record for record in found if not names or record["file"] in names]


def _records(path: str) -> list[Record]:
    try:
        return schema.read_records(path)
    except Failure as failure:
        raise Failure(f"{failure}; unisono run --record FILE writes what can be replayed") from None


def _kept_calls(record: Record) -> int:
    """Of the rank that has kept fewest."""
    return min(sum(entry[5] for entry in rank["calls"]) for rank in record["recording"]["ranks"])


def ranks_of(records: list[Record]) -> int:
    return max(len(record["recording"]["ranks"]) for record in records)


def mpi_of(records: list[Record], wanted: str | None) -> str:
    """The one that was asked for, else the program's own, else one that there is."""
    used = records[0]["program"]["mpi"]
    own = next((mpi for name, mpi in _MPI_NAMES.items() if used.startswith(name)), None)
    built = [mpi for mpi in bench.MPIS if bench.program(mpi, bench.REPLAY).exists()]
    return bench.choose_mpi(wanted or (own if own in built else None), bench.REPLAY)


def _bytes(record: Record, calls_at_most: int | None) -> Counter[str]:
    """By kind of call."""
    asked: Counter[str] = Counter()
    for rank in record["recording"]["ranks"]:
        left = _kept_calls(record) if calls_at_most is None else calls_at_most
        for kind, _view, _origin, _first, size, count, *_steps in rank["calls"]:
            asked[kind] += size * min(count, left)
            left -= min(count, left)
    return asked


def description(record: Record, calls_at_most: int | None) -> str:
    """What is played of one file."""
    kept, asked = _kept_calls(record), _bytes(record, calls_at_most)
    played = kept if calls_at_most is None else min(kept, calls_at_most)
    moved = " and ".join(f"{report.short_bytes(asked[kind])} {done}"
                         for kind, done in (("write", "written"), ("read", "read")) if asked[kind])  # fmt: skip
    ranks = counted(len(record["recording"]["ranks"]), "rank")
    return f"{record['file']}: {counted(played, 'collective call')} of {ranks}, {moved or 'no bytes'}"


def not_played(record: Record) -> list[str]:
    """What the program did beyond it."""
    said = []
    kept = _kept_calls(record)
    whole = max(sum(entry[5] for entry in rank["calls"]) + rank["left_out"] for rank in record["recording"]["ranks"])
    if kept < whole:
        said.append(f"only the first {kept:,} of its {counted(whole, 'collective call')}: what follows had no room in"
                    " the recording, or cannot be described")  # fmt: skip
    alone = sum(record[name]["calls"]["independent"] + sum(record[name]["calls"]["native_independent"].values())
                for name in report.DIRECTIONS)  # fmt: skip
    if alone:
        said.append(f"without its {counted(alone, 'independent call')}")
    return [f"{record['file']}: {text}." for text in said]


def placed_otherwise(program: list[Record], replayed: list[Record]) -> list[str]:
    """A recording has the ranks, not where they run: which strategies gain, and what messages cost, may differ."""
    then, now = (max((record["nodes"] for record in records), default=0) for records in (program, replayed))
    if not now or then == now:
        return []
    return [f"The program ran on {counted(then, 'node')}, this on {counted(now, 'node')}, so exchange between nodes is"
            f" not the same: --launcher starts ranks where you say, UNISONO_TOPOLOGY=nodes={then} pretends nodes."]


def write_trace(records: list[Record], calls_at_most: int | None, folder: Path) -> Path:
    """For unisono-replay: which files it plays, and where."""
    files = [record["recording"] | {"path": str(folder / f"file-{number}")} for number, record in enumerate(records)]
    trace = folder / "trace.json"
    trace.write_text(json.dumps({"calls": calls_at_most, "files": files}))
    return trace


def seconds_of(output: str, _took_s: float) -> float:
    """Of what unisono-replay says."""
    for line in output.splitlines():
        if line.startswith('{"seconds"'):
            return float(json.loads(line)["seconds"])
    raise Failure(f"unisono-replay did not say how long it took: {output.strip()[:200]}", 1)
