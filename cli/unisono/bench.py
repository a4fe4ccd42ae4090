"""The papers' benchmarks: which there are, and how one is started. Knows no terminal."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import places
from .places import Failure

MPIS = ("mpich", "openmpi")
_FLASH_IO = "flash-io"  # with HDF5, so it is a program of its own


@dataclass(frozen=True)
class Benchmark:
    name: str
    summary: str
    source: str


def _program(mpi: str, name: str = "") -> Path:
    """The program that has the benchmark `name`."""
    kind = "-flash-io" if name == _FLASH_IO else ""
    return places.PREFIX / "libexec" / f"unisono-bench{kind}.{mpi}"


def choose_mpi(wanted: str | None, name: str = "") -> str:
    """The MPI that was asked for, or the first one that the benchmark was built for."""
    built = [mpi for mpi in MPIS if _program(mpi, name).exists()]
    if wanted is None and built:
        return built[0]
    if wanted not in built:
        program = _program(wanted or MPIS[0], name)
        raise Failure(f"{program} is missing: it was not built for that MPI, or not yet")
    return wanted


def benchmarks() -> list[Benchmark]:
    """All of them, as the program itself lists them. Raises Failure if it was not built."""
    listed = subprocess.run([_program(choose_mpi(None)), "--list"], text=True, capture_output=True,
                            check=False, timeout=60)  # fmt: skip
    found = [Benchmark(*line.split("\t")) for line in listed.stdout.splitlines()]
    if any(_program(mpi, _FLASH_IO).exists() for mpi in MPIS):
        found.append(Benchmark(_FLASH_IO, "checkpoint of a block-structured code, with HDF5",
                               "Orthrus (ISC 2014), table 2"))  # fmt: skip
    return found


def names() -> list[str]:
    return [entry.name for entry in benchmarks()]


def words_for(mpi: str, name: str, options: list[str]) -> list[str]:
    """The program and its arguments, without a launcher."""
    program = str(_program(choose_mpi(mpi, name), name))
    return [program, *options] if name == _FLASH_IO else [program, name, *options]


def launcher_words(mpi: str, ranks: int, launcher: str | None) -> list[str]:
    """What starts the ranks: the user's own launcher with its options, or this MPI's."""
    if launcher is not None:
        return shlex.split(launcher)
    program = f"mpiexec.{mpi}" if shutil.which(f"mpiexec.{mpi}") else "mpiexec"
    return [program, *(["--oversubscribe"] if mpi == "openmpi" else []), "-n", str(ranks)]
