"""All numbers of each file, as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from . import terminal
from .report import (
    DIRECTIONS,
    Record,
    busy_s,
    calls_of,
    counted,
    done_bytes,
    fields,
    human_bytes,
    human_seconds,
    own_bytes,
    phases,
    size_range,
    value_at,
    was_used,
)


def _rate(direction: Record) -> str:
    seconds = busy_s(direction)
    return f"{human_bytes(done_bytes(direction) / seconds)}/s" if seconds else ""


def _moved_per_asked(direction: Record) -> str:
    own = own_bytes(direction)
    return f"{direction['bytes']['moved'] / own:.2f}" if own else ""


def _piece_bytes(direction: Record) -> float:
    return own_bytes(direction) / direction["pieces"] if direction["pieces"] else 0


def _piece_size(direction: Record) -> str:
    return human_bytes(_piece_bytes(direction)) if direction["pieces"] else ""


def _uses(by_strategy: Record) -> str:
    lines = []
    for name, use in by_strategy.items():
        lines.append(f"{name}: {calls_of(use['calls'])}")
        lines += [f"  {reason}" for reason in use["why"]]
    return "\n".join(lines)


def _reasons(native: Record) -> str:
    return "\n".join(f"{calls:,} ({reason})" for reason, calls in native.items())


def _latest(latest: Record | None) -> str:
    return f"rank {latest['rank']}" if latest else ""


def _sizes(sizes: list[list[int]]) -> str:
    return "\n".join(f"{size_range(size)}: {pieces:,}" for size, pieces in sizes)


def _spent(spent: Record) -> str:
    return human_seconds(spent["mean"]) if spent["mean"] > 0 else ""


_SHOWN: dict[str, Callable[[Any], str]] = {
    "count": lambda count: f"{count:,}" if count else "",
    "bytes": lambda count: human_bytes(count) if count else "",
    "reasons": _reasons,
    "uses": _uses,
    "latest": _latest,
    "histogram": _sizes,
    "spent": _spent,
}

# Rows that are worked out of the fields, and after which one each is shown.
_DERIVED: dict[str, tuple[str, Callable[[Record], str]]] = {
    "bytes/native": ("throughput", _rate),
    "bytes/moved": ("moved per byte asked", _moved_per_asked),
    "pieces": ("their size on average", _piece_size),
}


def _time_rows(label: str, seconds: Record) -> Iterator[tuple[str, str]]:
    """The means over the ranks, which add up, and their shares."""
    whole = seconds["whole"]["mean"]
    yield label, human_seconds(whole) if whole > 0 else ""
    for phase in phases("direction"):
        spent = seconds[phase]
        longest = f", longest {human_seconds(spent['longest'])}"
        text = f"{human_seconds(spent['mean'])} ({spent['mean'] / whole:.0%}{longest})" if whole else ""
        yield f"  {phase}", text if spent["longest"] > 0 else ""


def _rows(direction: Record) -> Iterator[tuple[str, str]]:
    for field in fields()["direction"]:
        key, label = field["key"], field["label"]
        if field["unit"] == "times":
            yield from _time_rows(label, direction[key])
        elif field["unit"] in _SHOWN:
            yield label, _SHOWN[field["unit"]](value_at(direction, key))
        if key in _DERIVED:
            name, work_out = _DERIVED[key]
            yield name, work_out(direction)


def _heading(record: Record) -> str:
    parts = [counted(record["ranks"], "rank")]
    if record["nodes"] > 1:
        parts.append(counted(record["nodes"], "node"))
    if record["aggregators"]:
        parts.append(counted(record["aggregators"], "aggregator"))
    parts += [text for text in (record["backend"], record["layout"]) if text]
    return ", ".join(parts)


def _table(record: Record, used: list[str]) -> Table:
    table = terminal.table("", *used)
    columns = [list(_rows(record[name])) for name in used]
    for rows in zip(*columns, strict=True):
        cells = [cell for _label, cell in rows]
        if any(cells):
            table.add_row(rows[0][0], *(escape(cell) for cell in cells))
    return table


def used(record: Record) -> list[str]:
    return [name for name in DIRECTIONS if was_used(record[name])]


def _other_calls(record: Record) -> str:
    """Opening, syncing and the like: how long a rank was in them, on average."""
    mean = {phase: record["seconds"][phase]["mean"] for phase in [*phases("file"), "whole"]}
    if mean["whole"] <= 0:
        return ""
    parts = [f"{phase} {human_seconds(mean[phase])}" for phase in phases("file") if mean[phase] > 0]
    if record["syncs"]:
        parts.append(f"{counted(record['syncs'], 'sync')} of the storage")
    return f"Time in other calls: {human_seconds(mean['whole'])}: {', '.join(parts)}"


def _how_it_was_chosen(direction: Record) -> Iterator[str]:
    """Which candidates were measured, how often, and what that has cost."""
    for selection in direction["selections"]:
        if len(selection["tried"]) < 2:
            continue  # nobody was compared
        lost, whole = selection["examination_seconds"], selection["seconds"]
        share = lost / whole if whole > 0 else 0.0
        yield (
            f"{selection['calls']}: {selection['winner']} won, {selection['why']}; trying others"
            f" took {human_seconds(lost)} ({share:.1%}) of {calls_of(selection['calls_done'])}."
        )
        for tried in sorted(selection["tried"], key=lambda one: -one["bytes_per_second"]):
            remembered = f", {tried['remembered']:,} remembered" if tried["remembered"] else ""
            speed = human_bytes(tried["bytes_per_second"])
            yield f"  {tried['candidate']}: {calls_of(tried['calls'])}{remembered}, {speed}/s"
        if selection["untried"]:
            yield f"  not tried: {', '.join(selection['untried'])}"
        for again in selection["reopened"]:
            yield f"  examined again after call {again['after_call']:,}: {again['why']}"


def selection_lines(record: Record) -> list[str]:
    """How measuring chose, direction by direction; empty where it did not."""
    return [line for name in used(record) for line in _how_it_was_chosen(record[name])]


def _fate(record: Record) -> Iterator[str]:
    """What became of the file, where that is not the usual."""
    if record["unfinished"]:
        yield f"Not closed: {record['unfinished']}."
        if record["ranks"] < record["opened_by"]:
            ranks = counted(record["opened_by"], "rank")
            yield f"What follows is of {record['ranks']:,} of {ranks}."
    if record["left_alone"]:
        yield f"The MPI library did all calls by itself: {record['left_alone']}."


def _remarks(record: Record) -> Iterator[str]:
    gate = record["gate"]
    if gate["waits"]:
        accesses = counted(gate["accesses"], "access", "accesses")
        longest = human_seconds(gate["seconds"]["longest"])
        yield (f"Gate: {gate['waits']:,} of {accesses} waited for the program's turn, up to {longest} on one"
               " rank")  # fmt: skip
    if record["settings"]:
        yield f"Set: {', '.join(record['settings'])}"
    yield from (f"Note: {note}" for note in record["notes"])
    yield from (f"Error: {error}" for error in record["errors"])


def _show_one(record: Record, console: Console) -> None:
    console.print(escape(record["file"]), style="bold", highlight=False)
    console.print(escape(_heading(record)), highlight=False)
    for line in _fate(record):
        console.print(escape(line), style="yellow", highlight=False, soft_wrap=not console.is_terminal)
    if directions := used(record):
        console.print(_table(record, directions))
    elif not record["left_alone"]:
        console.print("No data was read or written.")
    if others := _other_calls(record):
        console.print(others, highlight=False, soft_wrap=not console.is_terminal)
    for line in _remarks(record):
        console.print(escape(line), highlight=False, soft_wrap=not console.is_terminal)
    if chosen := selection_lines(record):
        console.print("How was the strategy chosen?", style="bold", highlight=False)
        for line in chosen:
            console.print(f"  {escape(line)}", highlight=False, soft_wrap=not console.is_terminal)
    console.print()


def show(records: list[Record], console: Console) -> None:
    for record in records:
        _show_one(record, console)
