"""The papers' benchmarks: which there are, and how one is started. Knows no terminal."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

from . import places
from .places import Entry, Failure

MPIS = ("mpich", "openmpi")
_FLASH_IO = "flash-io"
REPLAY = "replay"  # of recorded calls: not listed
_PROGRAMS_OF_THEIR_OWN = {_FLASH_IO: "unisono-bench-flash-io", REPLAY: "unisono-replay"}


def program(mpi: str, name: str = "") -> Path:
    """The program that has the benchmark `name`."""
    return places.PREFIX / "libexec" / f"{_PROGRAMS_OF_THEIR_OWN.get(name, 'unisono-bench')}.{mpi}"


def choose_mpi(wanted: str | None, name: str = "") -> str:
    """The MPI that was asked for, or the first one that the benchmark was built for."""
    built = [mpi for mpi in MPIS if program(mpi, name).exists()]
    if wanted is None and built:
        return built[0]
    if wanted not in built:
        missing = program(wanted or MPIS[0], name)
        raise Failure(f"{missing} is missing: it was not built for that MPI, or is in a package of its own (Debian: unisono-bench;"
                      " not in the wheel)")
    return wanted


def benchmarks() -> list[Entry]:
    """All of them, as the program itself lists them. Raises Failure if it was not built."""
    listed = subprocess.run([program(choose_mpi(None)), "--list"], text=True, capture_output=True,
                            check=False, timeout=60)  # fmt: skip
    found = places.entries(listed.stdout)
    if any(program(mpi, _FLASH_IO).exists() for mpi in MPIS):
        found.append(Entry(_FLASH_IO, "checkpoint of a block-structured code, with HDF5",
                           "Orthrus (ISC 2014), table 2"))  # fmt: skip
    return found


def names() -> list[str]:
    return [entry.name for entry in benchmarks()]


def words_for(mpi: str, name: str, options: list[str]) -> list[str]:
    """The program and its arguments, without a launcher."""
    words = [str(program(choose_mpi(mpi, name), name))]
    return [*words, *([] if name in _PROGRAMS_OF_THEIR_OWN else [name]), *options]


def launcher_words(mpi: str, ranks: int, launcher: str | None) -> list[str]:
    """What starts the ranks: the user's own launcher with its options, or this MPI's."""
    if launcher is not None:
        try:
            return shlex.split(launcher)
        except ValueError as error:
            raise Failure(f"--launcher {launcher}: {str(error).lower()}") from error
    launch = f"mpiexec.{mpi}" if shutil.which(f"mpiexec.{mpi}") else "mpiexec"
    return [launch, *(["--oversubscribe"] if mpi == "openmpi" else []), "-n", str(ranks)]
