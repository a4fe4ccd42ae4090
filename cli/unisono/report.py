"""Reads reports (one JSON object per line, written by src/report) and shows them to people.

What a report can say, its labels and its meanings come from the library: report_fields.json is made
from src/report/fields.hpp.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .places import Failure

Record = dict[str, Any]

_SMALL_PIECE_BYTES = 4096
_SMALL_CALL_BYTES = 64 * 1024
_LARGE_SHARE = 0.4  # of the time of the calls: worth a sentence


@functools.cache
def fields() -> Record:
    """The table of what reports can say: `file`, `direction`, and the `phases` of both."""
    return json.loads(Path(__file__).with_name("report_fields.json").read_text())


def show_fields(console: Console) -> None:
    """Every key of a report and what it means."""
    table = Table("key", "unit", "over ranks", "meaning")
    for part, prefix in (("file", ""), ("direction", "write.")):
        for field in fields()[part]:
            key = prefix + field["key"].replace("/", ".")
            cells = (key, field["unit"], field["merge"], field["meaning"])
            table.add_row(*(escape(cell) for cell in cells))
            if field["unit"] == "times":
                for phase in fields()["phases"][part]:
                    table.add_row(escape(f"  {phase['name']}"), "", "", escape(phase["meaning"]))
    console.print(table)
    console.print("read. has the same keys as write.", highlight=False)


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
        if "opened_by" not in record:
            raise Failure(f"{path} line {number}: a report of an earlier version of Unisono")
        records.append(record)
    return records


def human_bytes(count: float) -> str:
    units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
    unit = 0
    while count >= 1024 and unit + 1 < len(units):
        count /= 1024
        unit += 1
    return f"{count:.0f} B" if unit == 0 else f"{count:.2f} {units[unit]}"


def human_seconds(value: float) -> str:
    """The same as the library's own summaries have it (src/support/text.cpp)."""
    if 0 < value < 0.1:
        units, value = ["ms", "us", "ns"], value * 1e3
        while value < 0.1 and len(units) > 1:
            units, value = units[1:], value * 1e3
        return f"{value:.3g} {units[0]}"
    if value < 120:
        return f"{value:.3g} s"
    whole = round(value)
    if whole < 2 * 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = (whole + 30) // 60
    return f"{minutes // 60:,} h {minutes % 60} min"


def counted(count: int, noun: str, nouns: str = "") -> str:
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def _calls(count: int) -> str:
    return counted(count, "call")


def was_used(direction: Record) -> bool:
    return any(direction["calls"].values())


def _rate(direction: Record) -> str:
    seconds = direction["seconds"]["whole"]["longest"]
    return f"{human_bytes(direction['bytes']['asked'] / seconds)}/s" if seconds > 0 else ""


def _own_bytes(direction: Record) -> int:
    """What the program asked of Unisono itself."""
    return direction["bytes"]["asked"] - direction["bytes"]["native"]


def _moved_per_asked(direction: Record) -> str:
    own = _own_bytes(direction)
    return f"{direction['bytes']['moved'] / own:.2f}" if own else ""


def _piece_bytes(direction: Record) -> float:
    return _own_bytes(direction) / direction["pieces"] if direction["pieces"] else 0


def _piece_size(direction: Record) -> str:
    return human_bytes(_piece_bytes(direction)) if direction["pieces"] else ""


def _uses(by_strategy: Record) -> str:
    lines = []
    for name, use in by_strategy.items():
        lines.append(f"{name}: {_calls(use['calls'])}")
        lines += [f"  {reason}" for reason in use["why"]]
    return "\n".join(lines)


def _reasons(native: Record) -> str:
    return "\n".join(f"{calls:,} ({reason})" for reason, calls in native.items())


def _latest(latest: Record | None) -> str:
    return f"rank {latest['rank']}" if latest else ""


_SHOWN: dict[str, Callable[[Any], str]] = {
    "count": lambda count: f"{count:,}" if count else "",
    "bytes": lambda count: human_bytes(count) if count else "",
    "reasons": _reasons,
    "uses": _uses,
    "latest": _latest,
}

# Rows that are worked out of the fields, and after which one each is shown.
_DERIVED: dict[str, tuple[str, Callable[[Record], str]]] = {
    "bytes/native": ("throughput", _rate),
    "bytes/moved": ("moved per byte asked", _moved_per_asked),
    "pieces": ("their size on average", _piece_size),
}


def _value(direction: Record, key: str) -> Any:
    value: Any = direction
    for name in key.split("/"):
        value = value[name]
    return value


def _phases(part: str) -> list[str]:
    return [phase["name"] for phase in fields()["phases"][part]]


def _time_rows(label: str, seconds: Record) -> Iterator[tuple[str, str]]:
    """The means over the ranks, which add up, and their shares."""
    whole = seconds["whole"]["mean"]
    yield label, human_seconds(whole) if whole > 0 else ""
    for phase in _phases("direction"):
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
            yield label, _SHOWN[field["unit"]](_value(direction, key))
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
    table = Table("")
    for name in used:
        table.add_column(name)
    columns = [list(_rows(record[name])) for name in used]
    for rows in zip(*columns, strict=True):
        cells = [cell for _label, cell in rows]
        if any(cells):
            table.add_row(rows[0][0], *(escape(cell) for cell in cells))
    return table


def _other_calls(record: Record) -> str:
    """Opening, syncing and the like: how long a rank was in them, on average."""
    mean = {phase: record["seconds"][phase]["mean"] for phase in [*_phases("file"), "whole"]}
    if mean["whole"] <= 0:
        return ""
    parts = [f"{phase} {human_seconds(mean[phase])}" for phase in _phases("file") if mean[phase] > 0]
    if record["syncs"]:
        parts.append(f"{counted(record['syncs'], 'sync')} of the storage")
    return f"Time in other calls: {human_seconds(mean['whole'])}: {', '.join(parts)}"


def _left_to_mpi(direction: Record) -> Iterator[str]:
    calls = direction["calls"]
    for reasons in (calls["native"], calls["native_independent"]):
        for reason, count in reasons.items():
            yield f"{_calls(count)} left to the MPI library: {reason}."
    if calls["failed"]:
        yield f"{_calls(calls['failed'])} failed; the program was told."


def _how_it_was_chosen(direction: Record) -> Iterator[str]:
    """Which candidates were measured, how often, and what that has cost."""
    for selection in direction["selections"]:
        lost, whole = selection["examination_seconds"], selection["seconds"]
        share = lost / whole if whole > 0 else 0.0
        yield (
            f"{selection['calls']}: {selection['winner']} won, {selection['why']}; trying others"
            f" took {human_seconds(lost)} ({share:.1%}) of {_calls(selection['calls_done'])}."
        )
        for tried in sorted(selection["tried"], key=lambda one: -one["bytes_per_second"]):
            remembered = f", {tried['remembered']:,} remembered" if tried["remembered"] else ""
            speed = human_bytes(tried["bytes_per_second"])
            yield f"  {tried['candidate']}: {_calls(tried['calls'])}{remembered}, {speed}/s"
        if selection["untried"]:
            yield f"  not tried: {', '.join(selection['untried'])}"
        for again in selection["reopened"]:
            yield f"  examined again after call {again['after_call']:,}: {again['why']}"


_ADVICE = {
    "arrival": "ranks waited for the last one to come to the call{latest}",
    "waiting": "ranks waited for each other within calls: some do more, or they share cores",
    "exchange": "data travelled between nodes: try more aggregators (cb_nodes, cb_config_list)",
    "copying": "pieces were gathered in memory: larger pieces in the file or in memory help",
    "file": "the file system itself was busy",
    "native": "the MPI library was busy with calls that it did by itself",
}


def _where_the_time_went(direction: Record) -> Iterator[str]:
    seconds = direction["seconds"]
    whole = seconds["whole"]["mean"]
    if whole <= 0:
        return
    late = direction["latest"]
    latest = f", mostly rank {late['rank']}" if late else ""
    for phase, sentence in _ADVICE.items():
        share = seconds[phase]["mean"] / whole
        if share >= _LARGE_SHARE:
            yield f"{share:.0%} of the time {sentence.format(latest=latest)}."


def _outside_of_data_calls(record: Record) -> Iterator[str]:
    """Syncing or closing that took longer than all reads and writes."""
    data_s = sum(record[name]["seconds"]["whole"]["mean"] for name in ("read", "write"))
    for phase in ("open", "sync", "close"):
        spent_s = record["seconds"][phase]["mean"]
        if data_s > 0 and spent_s >= data_s:
            yield f"{phase} took {human_seconds(spent_s)}, reading and writing {human_seconds(data_s)}."


def _shape_of_the_access(direction: Record, ranks: int) -> Iterator[str]:
    sizes, calls = direction["bytes"], direction["calls"]
    if 0 < _piece_bytes(direction) < _SMALL_PIECE_BYTES:
        pieces, size = counted(direction["pieces"], "piece"), _piece_size(direction)
        yield f"The program's data are {pieces} of {size} on average."
    own = _own_bytes(direction)
    if own and sizes["moved"] / own > 1.1:
        yield f"{_moved_per_asked(direction)} bytes were moved for each byte asked for."
    if calls["collective"] and not calls["independent"]:
        per_call = sizes["asked"] / calls["collective"] / ranks
        if per_call < _SMALL_CALL_BYTES:
            size = human_bytes(per_call)
            yield f"Calls are small ({size} per rank and call): fewer, larger ones help."
    if calls["independent"] > 10 * max(1, calls["collective"]) * ranks:
        yield f"{counted(calls['independent'], 'independent call')}: collective ones could be combined."


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
    sentences += _outside_of_data_calls(record)
    return sentences + _turns(record) + [f"note: {note}" for note in record["notes"]]


def _turns(record: Record) -> list[str]:
    gate = record["gate"]
    if not gate["waits"]:
        return []
    return [f"gate: {gate['waits']:,} of {counted(gate['accesses'], 'access', 'accesses')} waited for the"
            f" program's turn, up to {human_seconds(gate['seconds']['longest'])} on one rank"]  # fmt: skip


def selection_lines(record: Record) -> list[str]:
    """How measuring chose, direction by direction; empty where it did not."""
    return [
        line
        for name in ("write", "read")
        if was_used(record[name])
        for line in _how_it_was_chosen(record[name])
    ]


def _fate(record: Record) -> Iterator[str]:
    """What became of the file, where that is not the usual."""
    if record["unfinished"]:
        yield f"Not closed: {record['unfinished']}."
        if record["ranks"] < record["opened_by"]:
            ranks = counted(record["opened_by"], "rank")
            yield f"What follows is of {record['ranks']:,} of {ranks}."
    if record["left_alone"]:
        yield f"The MPI library did all calls by itself: {record['left_alone']}."


def _show_one(record: Record, console: Console) -> None:
    console.print(escape(record["file"]), style="bold", highlight=False)
    console.print(escape(_heading(record)), highlight=False)
    for line in _fate(record):
        console.print(escape(line), style="yellow", highlight=False, soft_wrap=True)
    used = [name for name in ("write", "read") if was_used(record[name])]
    if used:
        console.print(_table(record, used))
    elif not record["left_alone"]:
        console.print("No data was read or written.")
    if others := _other_calls(record):
        console.print(others, highlight=False, soft_wrap=True)
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
