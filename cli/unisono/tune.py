"""Reads and writes tune files: what measuring has taught. src/select/tune_file.hpp has the format's
other half; docs/understand/selection.md explains it."""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .places import Failure
from .report import counted, human_bytes

VERSION = 2
TuningRecord = dict[str, Any]
History = dict[str, Any]  # of files of one kind: how long they took in earlier runs

# What makes two records about the same thing.
_CLASSES = ("bytes_class", "pieces_class", "gap_class")  # how many bits a number has
_KEY = ("machine", "software", "storage", "direction", "ranks", "nodes", *_CLASSES)
_LATEST = 1e11  # seconds since the epoch: dates have no more digits


@dataclass
class TuneFile:
    path: Path
    frozen: bool = False
    records: list[TuningRecord] = field(default_factory=list)
    histories: list[History] = field(default_factory=list)

    def chosen(self, ids: tuple[str, ...]) -> list[TuningRecord]:
        """The records with these ids, which may be shortened while they stay unambiguous."""
        return [self._one(prefix) for prefix in ids]

    def _one(self, prefix: str) -> TuningRecord:
        found = [record for record in self.records if id_of(record).startswith(prefix)]
        if len(found) == 1:
            return found[0]
        problem = "is ambiguous" if found else "is no record: see 'unisono tune list'"
        raise Failure(f"'{prefix}' {problem}")


def default_path() -> Path:
    """Where the library keeps records when nothing else is said."""
    setting = os.environ.get("UNISONO_TUNE", "")
    if setting == "off":
        raise Failure("UNISONO_TUNE=off: nothing is kept; name a file with --file")
    if setting:
        return Path(setting)
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "unisono" / "tune.json"


def id_of(record: TuningRecord) -> str:
    """Short, and the same for the same calls on the same machine."""
    key = json.dumps([record[name] for name in _KEY])
    return hashlib.sha256(key.encode()).hexdigest()[:8]


def winner_of(record: TuningRecord) -> str:
    candidates = record["candidates"]
    return max(candidates, key=lambda name: candidates[name]["bytes_per_second"], default="")


def calls_of(record: TuningRecord) -> str:
    """The class of calls in words; classes are powers of two."""

    def least(width: int) -> int:
        return 1 << (width - 1) if width > 0 else 0

    text = f"{record['direction']}s of {human_bytes(least(record['bytes_class']))} or more"
    text += f" in {counted(least(record['pieces_class']), 'piece')} or more"
    if gap := record["gap_class"]:
        text += f", {'gaps' if gap > 0 else 'overlaps'} of {human_bytes(least(abs(gap)))} or more"
    return text


def read(path: Path, must_exist: bool = False) -> TuneFile:
    """A file that is not there holds nothing."""
    try:
        text = path.read_text(errors="replace")
    except FileNotFoundError as error:
        if must_exist:
            raise Failure(f"{path}: {error.strerror}") from error
        return TuneFile(path)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from error
    return parse(path, text)


def parse(path: Path, text: str) -> TuneFile:
    try:
        content = json.loads(text)
        version = content["unisono_tune"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise Failure(f"{path}: no tune file of Unisono") from error
    if not isinstance(version, int) or version > VERSION:
        raise Failure(f"{path}: of a newer version ({version}); this command knows {VERSION}")
    try:
        if version == 1:
            content["records"] = [_renamed(record) for record in content["lessons"]]
        records = [_checked(record) for record in content["records"]]
        return TuneFile(path, bool(content["frozen"]), records, _histories(content))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise Failure(f"{path}: damaged: {error!r}") from error


def _histories(content: dict[str, Any]) -> list[History]:
    """Those that can be understood: nobody has to have one."""
    found = content.get("histories", [])
    return [one for one in found if isinstance(one, dict) and _is_history(one)] if isinstance(found, list) else []


def _is_history(history: History) -> bool:
    try:
        texts = [history[name] for name in ("program", "files", "storage", "machine")]
        numbers = [history[name] for name in ("ranks", "nodes", "updated")]
        for run in history["runs"]:
            texts.append(run["run"])
            numbers += [run["bytes"], run["seconds"], run["storage_seconds"]]
    except (KeyError, TypeError):
        return False
    return (bool(history["runs"]) and all(isinstance(text, str) for text in texts)
            and all(isinstance(number, (int, float)) and 0 <= number < math.inf for number in numbers)
            and all(run["seconds"] > 0 for run in history["runs"]) and history["updated"] <= _LATEST)  # fmt: skip


def _renamed(record: TuningRecord) -> TuningRecord:
    """A record of version 1, by today's names."""
    return {"storage" if name == "place" else name: value for name, value in record.items()}


def _checked(record: TuningRecord) -> TuningRecord:
    """Raises what parse() turns into a message."""
    for name in ("ranks", "nodes", *_CLASSES, "updated"):
        record[name] = int(record[name])
    for name in ("machine", "software", "storage", "direction"):
        record[name] = str(record[name])
    if not 0 <= record["updated"] <= _LATEST or any(abs(record[name]) > 64 for name in _CLASSES):
        raise ValueError("a time or a class makes no sense")
    record["frozen"] = bool(record["frozen"])
    for score in record["candidates"].values():
        score["calls"] = int(score["calls"])
        score["bytes_per_second"] = float(score["bytes_per_second"])
        score["deviation"] = float(score["deviation"])
        if score["calls"] < 1 or not 0 < score["bytes_per_second"] < math.inf or not 0 <= score["deviation"] < math.inf:
            raise ValueError("a speed or a count makes no sense")
    return record


def text_of(file: TuneFile) -> str:
    content = {"unisono_tune": VERSION, "frozen": file.frozen, "records": file.records, "histories": file.histories}
    return json.dumps(content, indent=1) + "\n"


def write(file: TuneFile) -> None:
    """Replaces it in one step, so that programs that start now see the old one or the new one."""
    path = file.path.resolve()
    try:
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", dir=path.parent, prefix=path.name, delete=False
        ) as new:
            new.write(text_of(file))
            new.flush()
            os.fsync(new.fileno())
        os.chmod(new.name, mode)
        os.replace(new.name, path)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from error


def take_in(file: TuneFile, others: list[TuningRecord]) -> int:
    """Adds records; of two about the same the more recent one stays. Returns how many were new or
    more recent."""
    known = {id_of(record): record for record in file.records}
    taken = 0
    for record in others:
        mine = known.get(id_of(record))
        if mine is not None and (mine["frozen"] or mine["updated"] >= record["updated"]):
            continue
        known[id_of(record)] = record
        taken += 1
    file.records = list(known.values())
    return taken
