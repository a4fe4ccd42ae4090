"""Which MPI a launcher or a program belongs to, found out without running the program."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

from . import launchers
from .launchers import Family

# The first pattern that a needed library's name matches decides. These names are the engines', too.
ENGINES = ("mpich", "openmpi", "abi")
_LIBRARIES = [
    ("abi", re.compile(r"^libmpi(fort)?_abi\.so\.1$")),  # the MPI-5 standard ABI: MPICH 5, Intel
    ("openmpi", re.compile(r"^libopen-(rte|pal)\.so")),
    ("mpich", re.compile(r"^(libmpich|libmpichfort|libmpi_cray\w*|libmpifort)\.so")),
    ("mpich", re.compile(r"^libmpi\.so\.12$")),  # the MPICH ABI initiative: MPICH, Intel, Cray
    ("openmpi", re.compile(r"^libmpi\.so(\.\d+)?$")),
]

# Not in the current folder, where a program's own modules are not looked for, either, and where somebody else may have
# put some.
_FIND_MPI4PY = """
import sys
sys.path[:] = filter(None, sys.path)
import importlib.util
spec = importlib.util.find_spec("mpi4py")
print(spec.submodule_search_locations[0] if spec else "")
"""


def output_of(command: list[str]) -> str:
    """Standard output and error together; empty if it cannot be run. Never preloads anything."""
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"} | {"LC_ALL": "C"}  # in English
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=environment, timeout=20, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace")


def launcher_family(word: str) -> Family | None:
    """The family of the launcher that `word` starts; None if it is none."""
    named = launchers.family_by_name(Path(word).name)
    if named is not launchers.OTHER:
        return named
    path = shutil.which(word)
    if path is None:
        return launchers.OTHER
    resolved = launchers.family_by_name(Path(path).resolve().name)
    if resolved not in (None, launchers.OTHER):
        return resolved
    return _family_by_version(output_of([path, "--version"]))


def _family_by_version(text: str) -> Family:
    if re.search(r"Open ?MPI|OpenRTE|PRRTE", text, re.IGNORECASE):
        return launchers.OPEN_MPI
    if re.search(r"HYDRA|MPICH|Intel\(R\) MPI", text, re.IGNORECASE):
        return launchers.HYDRA
    return launchers.OTHER


def mpi_of_libraries(names: list[str]) -> str | None:
    for mpi, pattern in _LIBRARIES:
        if any(pattern.match(name) for name in names):
            return mpi
    return None


@functools.cache
def _needed_libraries(file: str) -> list[str] | None:
    """Names of all shared libraries that a program will load; None if it is no dynamic program."""
    listing = output_of(["ldd", file])
    if re.search(r"not a dynamic executable|^\s*statically linked", listing):
        return None
    words = (line.split() for line in listing.splitlines())
    return [Path(word[0]).name for word in words if word]


def is_elf(file: str) -> bool:
    try:
        with open(file, "rb") as opened:
            return opened.read(4) == b"\x7fELF"
    except OSError:  # may be run, but not read
        return False


def is_static(file: str) -> bool:
    """No library can be preloaded into it."""
    return is_elf(file) and _needed_libraries(file) is None


def is_linked_with_unisono(file: str) -> bool:
    return is_elf(file) and any(name.startswith("libunisono-") for name in _needed_libraries(file) or [])


def mpi_of_program(words: list[str]) -> str | None:
    """The MPI of the program that `words` run: linked with it, or a Python that has mpi4py."""
    at = launchers.skip_wrappers(words, launchers.TRANSPARENT | launchers.OBSERVERS)
    file = shutil.which(words[at])
    if file is None:
        return None
    found = mpi_of_libraries(_needed_libraries(file) or []) if is_elf(file) else None
    if found is None and re.match(r"python[\d.]*$", Path(file).name):
        return _mpi_of_python(file)
    return found


def _mpi_of_python(interpreter: str) -> str | None:
    folder = output_of([interpreter, "-c", _FIND_MPI4PY]).strip()
    if not folder or not os.path.isdir(folder):
        return None
    found = {mpi_of_libraries(_needed_libraries(str(module)) or []) for module in Path(folder).glob("MPI*.so")}
    found.discard(None)
    return found.pop() if len(found) == 1 else None  # wheels have a module for each MPI: the launcher tells
