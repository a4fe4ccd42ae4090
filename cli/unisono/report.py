"""Reads reports (one JSON object per line, written by src/report) and shows them to people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .places import Failure

Record = dict[str, Any]

_PHASES = ("waiting", "exchange", "copying", "file")
_SMALL_PIECE_BYTES = 4096
_SMALL_CALL_BYTES = 64 * 1024
_LARGE_SHARE = 0.4  # of the time of the calls: worth a sentence


def read_records(path: str, offset: int = 0) -> list[Record]:
    """The records after `offset` bytes of the file."""
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            lines = file.read().decode(errors="replace").splitlines()
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from error
    records = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise Failure(f"{path} line {number}: no JSON: {error}") from error
        if not isinstance(record, dict) or "file" not in record or "write" not in record:
            raise Failure(f"{path} line {number}: not a report of Unisono")
        records.append(record)
    return records


def human_bytes(count: float) -> str:
    units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
    unit = 0
    while count >= 1024 and unit + 1 < len(units):
        count /= 1024
        unit += 1
    return f"{count:.0f} B" if unit == 0 else f"{count:.2f} {units[unit]}"


def _seconds(value: float) -> str:
    return f"{value:.3g} s"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _calls(count: int) -> str:
    return _counted(count, "call")


def was_used(direction: Record) -> bool:
    calls = direction["calls"]
    return bool(calls["collective"] or calls["independent"] or calls["native"])


def _rate(direction: Record) -> str:
    seconds = direction["seconds"]["whole"]["longest"]
    return f"{human_bytes(direction['bytes']['asked'] / seconds)}/s" if seconds > 0 else ""


def _moved_per_asked(direction: Record) -> str:
    sizes = direction["bytes"]
    return f"{sizes['moved'] / sizes['asked']:.2f}" if sizes["asked"] else ""


def _uses(by_strategy: Record) -> str:
    lines = []
    for name, use in by_strategy.items():
        lines.append(f"{name}: {_calls(use['calls'])}")
        lines += [f"  {reason}" for reason in use["why"]]
    return "\n".join(lines)


def _passed_on(direction: Record) -> str:
    native = direction["calls"]["native"]
    return "\n".join(f"{calls} ({reason})" for reason, calls in native.items())


def _rows(direction: Record) -> Iterator[tuple[str, str]]:
    calls, sizes = direction["calls"], direction["bytes"]
    yield "collective calls", str(calls["collective"])
    yield "failed", str(calls["failed"] or "")
    yield "independent calls", str(calls["independent"] or "")
    yield "left to the MPI library", _passed_on(direction)
    yield "bytes asked for", human_bytes(sizes["asked"])
    yield "throughput", _rate(direction)
    yield "moved per byte asked", _moved_per_asked(direction)
    yield "pieces / holes in the file", f"{direction['pieces']} / {direction['holes']}"
    yield "strategies", _uses(direction["strategies"])
    yield "refused", _uses(direction.get("refusals", {}))  # earlier versions had none
    yield "rounds", str(direction["rounds"] or "")
    yield "meetings of all ranks", str(direction["meetings"] or "")
    yield "sent between nodes", human_bytes(sizes["sent"]) if sizes["sent"] else ""
    yield "time in calls", _seconds(direction["seconds"]["whole"]["longest"])
    for phase in _PHASES:
        spent = direction["seconds"][phase]
        text = f"{_seconds(spent['longest'])} (mean {_seconds(spent['mean'])})"
        yield f"  {phase}", text if spent["longest"] > 0 else ""


def _heading(record: Record) -> str:
    parts = [_counted(record["ranks"], "rank")]
    if record["nodes"] > 1:
        parts.append(_counted(record["nodes"], "node"))
    if record["aggregators"]:
        parts.append(_counted(record["aggregators"], "aggregator"))
    parts += [text for text in (record["backend"], record["layout"]) if text]
    return ", ".join(parts)


def _table(record: Record, used: list[str]) -> Table:
    table = Table("")
    for name in used:
        table.add_column(name)
    columns = [dict(_rows(record[name])) for name in used]
    for label in columns[0]:
        cells = [column[label] for column in columns]
        if any(cells):
            table.add_row(label, *(escape(cell) for cell in cells))
    return table


def _left_to_mpi(direction: Record) -> Iterator[str]:
    for reason, calls in direction["calls"]["native"].items():
        yield f"{_calls(calls)} left to the MPI library: {reason}."
    if direction["calls"]["failed"]:
        yield f"{_calls(direction['calls']['failed'])} failed; the program was told."


def _how_it_was_chosen(direction: Record) -> Iterator[str]:
    """Which candidates were measured, how often, and what that has cost."""
    # Reports of earlier versions have none.
    for selection in direction.get("selections", []):
        lost, whole = selection["examination_seconds"], selection["seconds"]
        share = lost / whole if whole > 0 else 0.0
        yield (
            f"{selection['calls']}: {selection['winner']} won, {selection['why']}; trying others"
            f" took {_seconds(lost)} ({share:.1%}) of {_calls(selection['calls_done'])}."
        )
        for tried in sorted(selection["tried"], key=lambda one: -one["bytes_per_second"]):
            remembered = f", {tried['remembered']} remembered" if tried["remembered"] else ""
            speed = human_bytes(tried["bytes_per_second"])
            yield f"  {tried['candidate']}: {_calls(tried['calls'])}{remembered}, {speed}/s"
        if untried := selection.get("untried"):
            yield f"  not tried: {', '.join(untried)}"
        for again in selection["reopened"]:
            yield f"  examined again after call {again['after_call']}: {again['why']}"


def _where_the_time_went(direction: Record) -> Iterator[str]:
    seconds = direction["seconds"]
    whole = seconds["whole"]["longest"]
    if whole <= 0:
        return
    advice = {
        "waiting": "ranks waited for each other: they come to the call at different times, or"
        " share cores",
        "exchange": "data travelled between nodes: try more aggregators (cb_nodes, cb_config_list)",
        "copying": "pieces were gathered in memory: larger pieces in the file or in memory help",
        "file": "the file system itself was busy",
    }
    for phase, sentence in advice.items():
        share = seconds[phase]["mean"] / whole
        if share >= _LARGE_SHARE:
            yield f"{share:.0%} of the time {sentence}."


def _shape_of_the_access(direction: Record, ranks: int) -> Iterator[str]:
    sizes, calls = direction["bytes"], direction["calls"]
    if direction["pieces"]:
        piece = sizes["asked"] / direction["pieces"]
        if piece < _SMALL_PIECE_BYTES and direction["holes"]:
            yield f"Pieces in the file are {human_bytes(piece)} on average, with holes between."
    if sizes["asked"] and sizes["moved"] / sizes["asked"] > 1.1:
        yield f"{_moved_per_asked(direction)} bytes were moved for each byte asked for."
    if calls["collective"] and not calls["independent"]:
        per_call = sizes["asked"] / calls["collective"] / ranks
        if per_call < _SMALL_CALL_BYTES:
            size = human_bytes(per_call)
            yield f"Calls are small ({size} per rank and call): fewer, larger ones help."
    if calls["independent"] > 10 * max(1, calls["collective"]) * ranks:
        yield f"{_calls(calls['independent'])} independent: collective ones could be combined."


def explain(record: Record) -> list[str]:
    """Why it was as slow as it was, in plain words; empty if nothing stands out."""
    sentences = []
    for name in ("write", "read"):
        direction = record[name]
        if was_used(direction):
            found = [
                *_left_to_mpi(direction),
                *_where_the_time_went(direction),
                *_shape_of_the_access(direction, record["ranks"]),
            ]
            sentences += [f"{name}: {sentence}" for sentence in found]
    return sentences + _turns(record) + [f"note: {note}" for note in record["notes"]]


def _turns(record: Record) -> list[str]:
    gate = record.get("gate", {})
    if not gate.get("waits"):
        return []
    return [f"gate: {gate['waits']} of {gate['passages']} accesses waited for the program's turn,"
            f" up to {gate['seconds']['longest']:.3g} s on one rank"]  # fmt: skip


def selection_lines(record: Record) -> list[str]:
    """How measuring chose, direction by direction; empty where it did not."""
    return [
        line
        for name in ("write", "read")
        if was_used(record[name])
        for line in _how_it_was_chosen(record[name])
    ]


def _show_one(record: Record, console: Console) -> None:
    console.print(escape(record["file"]), style="bold", highlight=False)
    console.print(escape(_heading(record)), highlight=False)
    used = [name for name in ("write", "read") if was_used(record[name])]
    if used:
        console.print(_table(record, used))
    else:
        console.print("No data was read or written.")
    if chosen := selection_lines(record):
        console.print("How was the strategy chosen?", style="bold", highlight=False)
        for line in chosen:
            console.print(f"  {escape(line)}", highlight=False, soft_wrap=True)
    sentences = explain(record)
    if sentences:
        console.print("Why was it slow?", style="bold", highlight=False)
    for sentence in sentences:
        console.print(f"  {escape(sentence)}", highlight=False, soft_wrap=True)
    console.print()


def show(records: list[Record], console: Console) -> None:
    for record in records:
        _show_one(record, console)
