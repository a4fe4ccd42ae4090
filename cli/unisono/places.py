"""Where the other parts of Unisono are: in a build directory or an installation alike."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

# This file is PREFIX/lib/unisono/python/unisono/places.py.
PREFIX = Path(__file__).resolve().parents[4]


class Failure(Exception):
    """Something that the user can act on; `exit_code` is the command's."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True)
class StrategyEntry:
    name: str
    summary: str
    source: str


def library(name: str, prefix: Path = PREFIX) -> Path:
    """A shared library of Unisono's."""
    folders = [prefix / "lib", prefix / "lib64", *sorted((prefix / "lib").glob("*-linux-*"))]
    for folder in folders:
        if (folder / name).exists():
            return folder / name
    raise Failure(f"{name} is not in {prefix / 'lib'}: it was not built")


def preload_library(mpi: str, prefix: Path = PREFIX) -> Path:
    """The library to preload into programs of this MPI."""
    name = f"libunisono-{mpi}.so"
    try:
        return library(name, prefix)
    except Failure as missing:
        raise Failure(
            f"{name} is not in {prefix / 'lib'}: Unisono was built without {mpi}, or not built yet"
        ) from missing


def known_strategies(prefix: Path = PREFIX) -> list[StrategyEntry] | None:
    """The table that the libraries were built with; None where its helper is missing."""
    helpers = [prefix / "bin" / "unisono-strategies", prefix / "libexec" / "unisono-strategies"]
    helper = next((path for path in helpers if path.exists()), None)
    if helper is None:
        return None
    listed = subprocess.run([helper], capture_output=True, text=True, check=False, timeout=10)
    entries = []
    for line in listed.stdout.splitlines():
        name, summary, source = (line.split("\t") + ["", ""])[:3]
        if name:
            entries.append(StrategyEntry(name, summary, source))
    return entries or None


def check_strategy(name: str, prefix: Path = PREFIX) -> None:
    """Refuses a name that no strategy has, naming those that exist."""
    known = known_strategies(prefix)
    if known is None:
        return  # the library will say so itself
    names = ["auto", "orthrus", *(entry.name for entry in known)]
    if name not in names:
        raise Failure(f"unknown strategy '{name}'; valid: {', '.join(names)}")
