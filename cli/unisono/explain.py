"""What each strategy would do about a collective call. The program unisono-explain knows: it has the libraries'
own strategies, rule and executor. Here a call is described to it, and its answer read. Knows no terminal."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from . import places
from .places import Failure, refusal
from .report import Record, counted, own_bytes, short_bytes

RANKS_MOST = 128  # as the program says, and what follows
COLUMNS_MOST = 400
_BYTES_MOST = 1 << 30
_LIMIT_S = 300
_BYTES_FROM_A_REPORT = 64 << 20  # of one call: more of the same shows nothing else


@dataclass(frozen=True)
class PatternEntry:
    name: str
    summary: str
    piece: str


@dataclass
class Call:
    """A call in the program's own words, and what of it is a guess."""

    words: list[str]
    guesses: list[str] = field(default_factory=list)


def _run(words: Iterable[str]) -> str:
    program = places.PREFIX / "libexec" / "unisono-explain"
    if not program.exists():
        raise Failure(f"{program} is missing: it was not built")
    try:
        done = subprocess.run([program, *words], capture_output=True, text=True, check=False, timeout=_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise Failure(f"not done within {_LIMIT_S} s: fewer --bytes or larger buffers (cb_buffer_size) take less", 1) from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"{program.name} failed"]
        if "bad_alloc" in done.stderr:
            said = ["there is not enough memory: fewer --bytes take less"]
        raise Failure(refusal(said[0].removeprefix("unisono: ")))
    sys.stderr.write(done.stderr)
    return done.stdout


def patterns() -> list[PatternEntry]:
    return [PatternEntry(*line.split("\t")) for line in _run(["--patterns"]).splitlines()]


def explanation(call: Call, columns: int, part: tuple[str, str] | None) -> Record:
    """The program's answer: src/explain/explain_json.hpp says what is in it."""
    words = [*call.words, "--columns", str(min(columns, COLUMNS_MOST))]
    if part is not None:
        words += ["--part", *part]
    return json.loads(_run(words))


def described(pattern: str, piece: str | None, **given: Any) -> Call:
    """`given`: what else the program takes; None: not said. "strided-4k" is strided with pieces of 4 KiB, as
    the benchmark calls it."""
    name, _, size = pattern.rpartition("-")
    if piece is None and re.fullmatch(r"\d+[kKmM]?", size):
        pattern, piece = name, size
    words = ["--pattern", pattern] + (["--piece", piece] if piece else [])
    for key, value in given.items():
        if value is not None:
            words += [f"--{key}", str(value)]
    return Call(words)


def from_report(records: list[Record]) -> Call:
    """A collective call like those that moved most bytes. A report says how many pieces there were, not where."""
    name, record = max(((name, record) for record in records for name in ("write", "read")),
                       key=lambda one: own_bytes(one[1][one[0]]))  # fmt: skip
    direction = record[name]
    calls, pieces = direction["calls"]["collective"], direction["pieces"]
    if calls == 0 or pieces == 0:
        raise Failure("no collective call by Unisono is in the report, so there is none to explain")
    piece = max(own_bytes(direction) // pieces, 1)
    ranks = max(record["opened_by"], record["ranks"])
    shown = min(ranks, RANKS_MOST)
    each = max(pieces // calls // ranks, 1)
    done = min(piece, _BYTES_MOST // shown)
    bytes_of_call = min(each * done * shown, max(_BYTES_FROM_A_REPORT, done * shown))
    pattern = "contiguous" if each == 1 else "strided"
    call = Call(["--pattern", pattern, "--piece", str(done), "--bytes", str(bytes_of_call), "--ranks", str(shown),
                 "--nodes", str(min(max(record["nodes"], 1), shown)), *(["--read"] if name == "read" else [])])  # fmt: skip
    call.guesses.append(
        f"a {name} of {record['file']}, as the mean of its {counted(calls, 'collective call')} and"
        f" {counted(pieces, 'piece')}: {counted(each, 'piece')} of {short_bytes(piece)} of each rank, taken to be"
        + (" in rank order" if each == 1 else " in turn: the report does not say where they lie")
    )
    if shown < ranks:
        call.guesses.append(f"{shown} of its {ranks:,} ranks")
    if done < piece:
        call.guesses.append(f"the first {short_bytes(done)} of each piece: more is not done here")
    call.words += [*_layout_words(record, call.guesses), *_storage_words(record, call.guesses)]
    return call


# What src/backends/choice.cpp says of them.
_STORAGES = {"one node's own file system": "local", "servers let a rank wait": "parallel",
             "not mapped: not one node's own file system": "parallel"}  # fmt: skip


def _storage_words(record: Record, guesses: list[str]) -> list[str]:
    """Of why it was accessed as it was."""
    storage = _STORAGES.get(record["backend_why"])
    if storage is None and record["nodes"] == 1 and not record["layout"]:
        guesses.append("taken to be on a node's own file system, of which the report says nothing")
    return ["--storage", storage] if storage else []


def _layout_words(record: Record, guesses: list[str]) -> list[str]:
    """Of what a report says of a layout, e.g. "64 KiB over 4 servers (hints)"."""
    match = re.match(r"(\d+) (?:([KMG])i)?B over (\d+) servers \(", record["layout"])
    if match:
        return ["--layout", f"stripe_bytes={match[1]}{match[2] or ''},servers={match[3]}"]
    if "over" in record["layout"]:
        guesses.append(f"its layout is left out: {record['layout']}")
    return []


def own_requests(strategy: Record) -> dict[str, int]:
    """What its ranks ask of the storage, in sum."""
    return {key: sum(one[key] for one in strategy["accesses"]) for key in ("lists", "extents", "bytes")}


def was_done(strategy: Record) -> bool:
    return strategy["way"] != "native" and not strategy["refusal"]
