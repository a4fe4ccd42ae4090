"""Where the other parts of Unisono are: in a build directory or an installation alike."""

from __future__ import annotations

import errno
import os
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# This file is PREFIX/lib/unisono/python/unisono/places.py.
PREFIX = Path(__file__).resolve().parents[4]


class Failure(Exception):
    """Something that the user can act on; `exit_code` is the command's."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class Unnameable(Failure):
    """Where Unisono lies, and no MPI can change that."""


def said_of(error: OSError) -> str:
    """For people; of what has no name only output can be full, and only the current folder missing."""
    nameless = dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO), "output")
    if error.strerror == os.strerror(errno.ENOENT):  # Python's own words name what is missing
        nameless[errno.ENOENT] = "the current folder"
    name = error.filename or nameless.get(error.errno, "")
    return f"{name}: {error.strerror}" if name else str(error.strerror)


@dataclass(frozen=True)
class Entry:
    """Of a table that a program was built with: a strategy, a policy, a benchmark."""

    name: str
    summary: str
    source: str


def entries(listed: str) -> list[Entry]:
    """As the program lists them. A plug-in says of itself what it likes."""
    return [Entry(*(line.split("\t") + ["", ""])[:3]) for line in listed.splitlines() if line]


def words_of_daemon(program: str, pid: Any) -> list[bytes]:
    """The command line of that process, if it runs that program; numbers are used again."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") if isinstance(pid, int) else [b""]
    except OSError:
        return []
    return words if os.path.basename(words[0]) == program.encode() else []


def library(name: str, prefix: Path = PREFIX) -> Path:
    """A shared library of Unisono's."""
    folders = [prefix / "lib", prefix / "lib64", *sorted((prefix / "lib").glob("*-linux-*"))]
    for folder in folders:
        if (folder / name).exists():
            return folder / name
    raise Failure(f"{name} is not in {prefix / 'lib'}: it was not built")


def engines(prefix: Path = PREFIX) -> list[str]:
    """The MPIs that there is an engine for."""
    found = [*prefix.glob("lib*/libunisono-*-engine.so"), *prefix.glob("lib/*-linux-*/libunisono-*-engine.so")]
    return sorted({path.name.removeprefix("libunisono-").removesuffix("-engine.so") for path in found})


def preload_library(mpi: str, prefix: Path = PREFIX) -> Path:
    """The library to preload into programs of this MPI."""
    name = f"libunisono-{mpi}.so"
    try:
        found = library(name, prefix)
    except Failure as missing:
        raise Failure(
            f"{name} is not in {prefix / 'lib'}: Unisono was built without {mpi}, or not built yet"
        ) from missing
    if re.search("[ :]", str(found)):
        raise Unnameable(f"'{found}' cannot be preloaded: names in LD_PRELOAD end at blanks and colons."
                         " Move Unisono to a folder without them")  # fmt: skip
    return found


def _helper(prefix: Path, *words: str, **variables: str) -> str | None:
    """What the program that knows the libraries' tables prints; None where it is missing. Of
    UNISONO_* it sees what is set now, or `variables` if there are any."""
    programs = [prefix / "bin" / "unisono-strategies", prefix / "libexec" / "unisono-strategies"]
    program = next((path for path in programs if path.exists()), None)
    if program is None:
        return None
    environment = dict(os.environ)
    if variables:
        own = {k: v for k, v in environment.items() if k.startswith("UNISONO_")}
        environment = {k: v for k, v in environment.items() if k not in own} | variables
    listed = subprocess.run([program, *words], capture_output=True, text=True, check=False,
                            timeout=10, env=environment)  # fmt: skip
    return listed.stdout


def known_strategies(prefix: Path = PREFIX) -> list[Entry] | None:
    """The table that the libraries were built with; None where its helper is missing."""
    listed = _helper(prefix)
    if listed is None:
        return None
    return entries(listed) or None


def complaints(path: str = "", variables: dict[str, str] | None = None, prefix: Path = PREFIX) -> list[str]:
    """What the library would say when it opens that file: unknown variables, values that are not
    valid, files that it cannot read. Of UNISONO_* it sees what is set now, or `variables`."""
    said = _helper(prefix, "--check", path, **(variables or {})) or ""
    return [line.removeprefix("unisono: ") for line in said.splitlines()]


def plugins_not_used(prefix: Path = PREFIX) -> list[str]:
    """What is wrong with which of UNISONO_PLUGINS."""
    return [line for line in complaints(prefix=prefix) if line.startswith("plug-in not used: ")]


def settings_for(path: str, prefix: Path = PREFIX, program: Iterable[str] = ()) -> dict[str, str]:
    """What is in force for that file and is not the default, the "site file" that is built in, and why the file, or all
    files of the program, are "left alone". `program`: its executable, and the words that it is run by."""
    said = _helper(prefix, "--settings", path, *program) or ""
    return dict(line.split("\t", 1) for line in said.splitlines())


_NOT_VALID = re.compile(r'UNISONO_(\w+): "(.*)" ignored; (valid: .*)')
_UNKNOWN_VARIABLE = "unknown variable "
_OPTIONS = {"STRATEGY", "BACKEND", "TOPOLOGY"}  # those of the command line as well
# What is wrong in hints that are there for other products as well.
_OF_OTHERS = re.compile(r"((unknown )?hint [^\"]*\()?(ROMIO_HINTS|/etc/romio-hints|MPICH_MPIIO_HINTS)\b")


def refusal(complaint: str) -> str:
    """What the library says of a value that it ignores, for a command that refuses it."""
    return re.sub(r";? ignored(?=; valid: |$)", "", complaint)


def valid_values(variable: str, prefix: Path = PREFIX) -> list[str]:
    """Those of a variable UNISONO_* that has names for values; empty where the helper is missing."""
    for line in complaints(variables={variable: "?"}, prefix=prefix):
        if match := _NOT_VALID.fullmatch(line):
            return match[3].removeprefix("valid: ").split(", ")
    return []


def check_options(variables: dict[str, str], prefix: Path = PREFIX) -> None:
    """Refuses values that the library would ignore, whether they come from the command line, from the
    environment, or from a file that is named there. A variable that nobody reads is left for the library
    to name: it may be another program's. So is what is wrong in the variables of other products, and in the
    site's own file, which only its administrator can mend. Where the helper is missing the library will
    say so itself."""
    lines = complaints(variables=variables, prefix=prefix)
    site = settings_for("", prefix).get("site file") if lines and not variables.get("UNISONO_SITE_FILE") else None
    for line in lines:
        if line.startswith("values of "):  # UNISONO_STRATEGY=help
            raise Failure("\n".join(lines), 0)
        if line.startswith(_UNKNOWN_VARIABLE) or _OF_OTHERS.match(line) or (site and site in line):
            continue
        if (match := _NOT_VALID.fullmatch(line)) and match[1] in _OPTIONS:
            line = f"unknown {match[1].lower()} '{match[2]}'; {match[3]}"
        raise Failure(refusal(line))
