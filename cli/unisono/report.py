"""Reads reports (one JSON object per line, written by src/report), and how their values are written
for people: job.py and causes.py make a whole of them, screen.py and file_report.py show it.

What a report can say, its labels and its meanings come from the library: report_fields.json is made
from src/report/fields.hpp.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from . import terminal
from .places import Failure

Record = dict[str, Any]

DIRECTIONS = ("write", "read")


@functools.cache
def fields() -> Record:
    """The table of what reports can say: `file`, `direction`, and the `phases` of both."""
    return json.loads(Path(__file__).with_name("report_fields.json").read_text())


def show_fields(console: Console) -> None:
    """Every key of a report and what it means."""
    table = terminal.table("key", "unit", "over ranks", "meaning")
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
    """The records after `offset` bytes of the file; says which lines are left out because they are cut off."""
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            lines = file.read().decode(errors="replace").split("\n")
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from error
    records = []
    cut_off: dict[int, Exception] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:  # the latter: somebody has nested it thousandfold
            cut_off[number] = error
            continue
        if isinstance(record, dict) and "programs" in record:
            raise Failure(f"{path}: what --json wrote, for programs; name the report file (UNISONO_REPORT=json)")
        if not isinstance(record, dict) or "file" not in record or "write" not in record:
            raise Failure(f"{path} line {number}: not a report of Unisono")
        version = record.get("format", 0)
        if not isinstance(version, int):
            raise Failure(f"{path} line {number}: not a report of Unisono")
        if version != fields()["format"]:
            than = "an earlier" if version < fields()["format"] else "a later"
            raise Failure(f"{path} line {number}: a report of {than} version of Unisono")
        records.append(record)
    for number, error in cut_off.items():
        if not records:
            raise Failure(f"{path} line {number}: not a report of Unisono: no JSON: {error}") from error
        click.echo(f"unisono: {path} line {number} is cut off: left out", err=True)
    return records


def human_bytes(count: float) -> str:
    units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
    unit = 0
    while count >= 1024 and unit + 1 < len(units):
        count /= 1024
        unit += 1
    return f"{count:.0f} B" if unit == 0 else f"{count:.2f} {units[unit]}"


def brief_bytes(count: float) -> str:
    """Of three digits, for narrow tables: "128 KiB", "1.5 MiB"."""
    value, unit = human_bytes(count).split()
    whole, _, _digits = value.partition(".")
    return f"{round(float(value), max(0, 3 - len(whole))):g} {unit}"


def short_bytes(count: float) -> str:
    """The same without zeros that say nothing: "1 KiB"."""
    return human_bytes(count).replace(".00 ", " ")


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


def calls_of(count: int) -> str:
    return counted(count, "call")


def was_used(direction: Record) -> bool:
    return any(direction["calls"].values())


def own_bytes(direction: Record) -> int:
    """What the program asked of Unisono itself."""
    return direction["bytes"]["asked"] - direction["bytes"]["native"]


def done_bytes(direction: Record) -> int:
    """What came to pass of what the program asked for: where no call failed, all of it, whatever was moved for it."""
    asked, calls = direction["bytes"]["asked"], direction["calls"]
    if not calls["failed"] + calls["failed_independent"]:
        return asked
    return min(asked, direction["bytes"]["moved"] + direction["bytes"]["native"])


def busy_s(direction: Record) -> float | None:
    """How long it took the slowest rank, in calls and beside the program; what goes on there is waited for where split
    calls end. None: not known, as of nonblocking calls that the MPI library does only the beginning is seen."""
    calls, native, beside = direction["calls"], direction["bytes"]["native"], direction["beside_seconds"]["longest"]
    reasons = [*calls["native"], *calls["native_independent"]]
    if any("nonblocking" in reason for reason in reasons) or (native and beside > 0):
        return None
    whole, waiting = (direction["seconds"][phase]["longest"] for phase in ("whole", "waiting"))
    return max(whole, whole - waiting + beside)


def phases(part: str) -> list[str]:
    return [phase["name"] for phase in fields()["phases"][part]]


def value_at(record: Record, key: str) -> Any:
    """Of a field's key: the way through the objects."""
    return functools.reduce(lambda place, name: place[name], key.split("/"), record)


def size_range(size: int) -> str:
    """A class of `piece_sizes`, which holds less than twice as much as its own size: "1-2 KiB"."""
    if size < 2:
        return f"{size} B"
    if size < 1024:
        return f"{size}-{2 * size - 1} B"
    exponent = (size.bit_length() - 1) // 10
    unit = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][exponent]
    return f"{size >> 10 * exponent}-{2 * size >> 10 * exponent} {unit}"
