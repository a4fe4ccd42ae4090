"""The JSON schema of what `unisono report --json` writes and of report files, made from the library's own
table of what reports can say."""

from __future__ import annotations

import functools
from typing import Any

from . import report
from .places import Failure
from .report import Record, fields, phases

_COUNT: Record = {"type": "integer", "minimum": 0, "maximum": (1 << 64) - 1}
_SECONDS: Record = {"type": "number", "minimum": 0, "maximum": 1e12}
_MOMENT: Record = {"type": "number", "minimum": 0, "maximum": 1e11}  # seconds since the epoch
_TEXT: Record = {"type": "string"}
_SPENT: Record = {"$ref": "#/$defs/spent"}


def _object(members: Record, **more: Any) -> Record:
    """All of these members; others may come in later versions."""
    return {"type": "object", "properties": members, "required": list(members), **more}


def _list(items: Record) -> Record:
    return {"type": "array", "items": items}


def _map(values: Record) -> Record:
    return {"type": "object", "additionalProperties": values}


def _pair(first: Record, second: Record) -> Record:
    return {"type": "array", "prefixItems": [first, second], "minItems": 2, "maxItems": 2}


def _tracks(entry: Record) -> Record:
    return _list(_object({"rank": _COUNT, "entries": _list(entry)}))


_SELECTION = _object({
    "calls": _TEXT, "calls_done": _COUNT, "winner": _TEXT, "why": _TEXT, "seconds": _SECONDS,
    "tried": _list(_object({"candidate": _TEXT, "calls": _COUNT, "remembered": _COUNT, "bytes_per_second": {"type": "number", "minimum": 0}})),
    "untried": _list(_TEXT), "examination_seconds": _SECONDS,
    "reopened": _list(_object({"after_call": _COUNT, "why": _TEXT})),
})  # fmt: skip

_CALLS = _object({"at": _SECONDS, "seconds": _SECONDS, "calls": _COUNT, "bytes": _COUNT,
                  "phases": _list(_pair(_TEXT, _SECONDS))})  # fmt: skip
_ACCESSES = _object({"at": _SECONDS, "seconds": _SECONDS, "lists": _COUNT, "bytes": _COUNT,
                     "begin": _COUNT, "end": _COUNT})  # fmt: skip

_CALL = {"type": "array", "prefixItems": [{"enum": ["write", "read", "sync"]}, *[{"type": "integer"}] * 7],
         "minItems": 8, "maxItems": 8}  # fmt: skip
_RECORDED_RANK = _object({"rank": _COUNT, "views": _list(_object({"extent": {"type": "integer"}, "tile": _object({})})),
                          "calls": _list(_CALL), "left_out": _COUNT})  # fmt: skip

# By the unit of a field.
_VALUES: dict[str, Record] = {
    "count": _COUNT,
    "bytes": _COUNT,
    "text": _TEXT,
    "notes": _list(_TEXT),
    "reasons": _map(_COUNT),
    "uses": _map(_object({"calls": _COUNT, "why": _list(_TEXT)})),
    "histogram": _list(_pair(_COUNT, _COUNT)),
    "spent": _SPENT,
    "latest": {"anyOf": [{"type": "null"}, _object({"rank": _COUNT, "seconds": _SECONDS})]},
    "selections": _list(_SELECTION),
    "gate": _object({"accesses": _COUNT, "waits": _COUNT, "seconds": _SPENT, "locality": _TEXT}),
    "program": _object({"id": _TEXT, "name": _TEXT, "mpi": _TEXT, "ranks": _COUNT, "cores": _COUNT,
                        "began": _MOMENT, "seconds": _SECONDS, "core_wait_seconds": _SECONDS}),
    "timeline": _tracks(_CALLS),
    "accesses": _tracks(_ACCESSES),
    "loads": _list(_COUNT),
    "slower": {"anyOf": [{"type": "null"}, _object({
        "said": _TEXT, "runs": _COUNT, "seconds": _SECONDS, "median_seconds": _SECONDS, "upper_seconds": _SECONDS,
        "storage_share": {"type": "number", "minimum": 0, "maximum": 1}})]},
    "recording": {"anyOf": [{"type": "null"}, _object({
        "access": {"enum": ["r", "w", "rw"]}, "hints": _map(_TEXT), "ranks": _list(_RECORDED_RANK)})]},
    "direction": {"$ref": "#/$defs/direction"},
}  # fmt: skip


def _value(part: str, unit: str) -> Record:
    if unit == "times":
        return _object({phase: _SPENT for phase in [*phases(part), "whole"]})
    return _VALUES[unit]


def _members(part: str) -> Record:
    """A "/" in a key leads into an object."""
    members: Record = {}
    for field in fields()[part]:
        described = _value(part, field["unit"]) | {"description": field["meaning"]}
        if (part, field["key"]) == ("file", "ranks"):
            described["minimum"] = 1
        above, _, name = field["key"].rpartition("/")
        if above:
            members.setdefault(above, _object({}))
            members[above]["properties"][name] = described
            members[above]["required"].append(name)
        else:
            members[name] = described
    return members


def _program() -> Record:
    cause = {"seconds": _SECONDS, "brief": _TEXT, "evidence": _TEXT, "change": _TEXT}
    time = {"label": _TEXT, "write": _SECONDS, "read": _SECONDS, "other": _SECONDS, "whole": _SECONDS}
    return _object({
        "name": _TEXT, "ranks": _COUNT, "nodes": _COUNT, "cores": _COUNT, "began": _SECONDS, "seconds": _SECONDS,
        "io_seconds": _SECONDS, "verdict": _TEXT, "trouble": _list(_TEXT),
        "said": _list(_pair(_TEXT, _TEXT)), "time": _list(_object(time)), "causes": _list(_object(cause)),
        "files": _list({"$ref": "#/$defs/file"}),
    })  # fmt: skip


def schema() -> Record:
    """Of the whole; `$defs/file` is that of a line of a report file."""
    version = {"format": {"const": fields()["format"]}, "unisono_version": _TEXT}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A report of Unisono",
        **_object(version | {"programs": _list(_program())}),
        "$defs": {
            "spent": _object({"mean": _SECONDS, "longest": _SECONDS}),
            "direction": _object(_members("direction")),
            "file": _object(version | _members("file")),
        },
    }


# ---- records that are read ---------------------------------------------------------------------------

_TYPES: dict[str, Any] = {"integer": int, "number": (int, float), "string": str, "array": list, "object": dict,
                          "null": type(None)}  # fmt: skip
_NOTHING: Record = {"integer": 0, "number": 0, "string": ""}


@functools.cache
def _definitions() -> Record:
    return schema()["$defs"]


def _meant(described: Record) -> Record:
    return _definitions()[described["$ref"].rpartition("/")[2]] if "$ref" in described else described


def wrong_in(value: Any, described: Record) -> str:
    """Where the first part is that is not as described, and how; empty: there is none. Knows what schema() uses."""
    described = _meant(described)
    if "anyOf" in described:
        wrongs = [wrong_in(value, choice) for choice in described["anyOf"]]
        return "" if "" in wrongs else wrongs[-1]
    if "const" in described or "enum" in described:
        return "" if value in described.get("enum", [described.get("const")]) else f": {value!r}"
    kind = described["type"]
    if not isinstance(value, _TYPES[kind]) or isinstance(value, bool):
        return f": no {kind}"
    if kind in ("integer", "number"):
        fits = described.get("minimum", value) <= value <= described.get("maximum", value)
        return "" if fits else f": {value}"
    if kind in ("string", "null"):
        return ""
    return _wrong_inside(value, described)


def _wrong_inside(value: Any, described: Record) -> str:
    if isinstance(value, dict):
        if missing := [name for name in described.get("required", []) if name not in value]:
            return f".{missing[0]}: missing"
        known, others = described.get("properties", {}), described.get("additionalProperties")
        parts = [(f".{name}", part, known.get(name, others)) for name, part in value.items()]
    else:
        if len(value) < described.get("minItems", 0):
            return ": too short"
        first, others = described.get("prefixItems", []), described.get("items")
        parts = [(f"[{at}]", part, first[at] if at < len(first) else others) for at, part in enumerate(value)]
    return next((name + wrong for name, part, one in parts if one and (wrong := wrong_in(part, one))), "")


def _nothing(described: Record) -> Any:
    """What an earlier version would have said of it."""
    described = _meant(described)
    if "anyOf" in described:
        return None
    if described["type"] == "object":
        return {name: _nothing(described["properties"][name]) for name in described.get("required", [])}
    return _NOTHING.get(described["type"], [])


def _complete(value: Record, described: Record) -> None:
    """Puts in what is not there yet in reports of earlier versions."""
    known = _meant(described).get("properties", {})
    for name, inner in known.items():
        if name not in value:
            value[name] = _nothing(inner)
        elif isinstance(value[name], dict):
            _complete(value[name], inner)


def read_records(path: str) -> list[Record]:
    """Those of a file that anybody may have made: complete, and as described."""
    records = report.read_records(path)
    for number, record in enumerate(records, 1):
        _complete(record, _definitions()["file"])
        if wrong := wrong_in(record, _definitions()["file"]):
            raise Failure(f"{path}: report {number:,} is none of Unisono's, or damaged: {wrong.removeprefix('.')}")
    return records
