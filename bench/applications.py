"""Whole programs that run.py measures beside its patterns, and what their lines of JSON mean."""

import dataclasses
import pathlib
from collections.abc import Iterator

from sides import Side


@dataclasses.dataclass(frozen=True)
class Application:
    """Writes a fresh file and reads it, opened anew. `program`: in the build, without the MPI."""

    program: str
    words: tuple[str, ...] = ()

    def command(self, build: pathlib.Path, mpi: str, path: pathlib.Path) -> list[str]:
        return [str(self.program_of(build, mpi)), *self.words, "--path", str(path)]

    def program_of(self, build: pathlib.Path, mpi: str) -> pathlib.Path:
        return build / f"{self.program}.{mpi}"

    def runs_on(self, side: Side, build: pathlib.Path, ranks: int) -> bool:
        """Hints of ours are for those who open the file, and btio wants a square number of ranks."""
        square = round(ranks**0.5) ** 2 == ranks
        return (not side.posix and not side.hints and self.program_of(build, side.mpi).exists()
                and (square or "btio" not in self.words))


FLASH_IO = "libexec/unisono-bench-flash-io"
NETCDF = "programs/unisono-bench-netcdf"
PAPERS = "libexec/unisono-bench"

APPLICATIONS = {
    "hdf5-flash": Application(FLASH_IO),
    "hdf5-small": Application(FLASH_IO, ("--collective-metadata", "--variables", "1000", "--cells", "4", "--size", "1")),
    "pnetcdf-flash": Application(NETCDF, ("flash",)),
    "pnetcdf-e3sm": Application(NETCDF, ("e3sm",)),
    "coll-perf": Application(PAPERS, ("coll-perf", "--warm-up")),
    "btio": Application(PAPERS, ("btio",)),
}

# Without and with opening and closing the file; for the papers' programs, closing alone.
MODES = ("write calls", "write, close", "read calls", "read, close")


def cells_of(line: dict) -> Iterator[tuple[str, dict]]:
    """A mode and what a Cell takes, for each time in a line of a program."""
    if "direction" in line:
        calls_s, whole_s = line["seconds"], line["seconds"] + line["close_seconds"]
        times = {f"{line['direction']} calls": calls_s, f"{line['direction']}, close": whole_s}
    else:
        times = {direction + more: line[f"{direction}_{key}seconds"] for direction in ("write", "read")
                 for more, key in ((" calls", ""), (", close", "open_to_close_"))}
    for mode, seconds in times.items():
        yield mode, line | {"seconds": [seconds], "spoilt_hole_bytes": 0}
