"""The parallel tests of HDF5 and PnetCDF, from Debian's sources, under Unisono (`make test-suites`).

What fails without Unisono as well is no fault of it, and named at the end.
"""

import os
import pathlib
import shutil
import sys

import pytest
from sources import hdf5_tests, pnetcdf_tests

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("UNISONO_BUILD_DIR", ROOT / "build"))
sys.path.insert(0, str(ROOT / "tests/clients"))
from harness import Job, JobFailed  # noqa: E402

SUITES = [("HDF5", "mpich", hdf5_tests), ("HDF5", "openmpi", hdf5_tests), ("PnetCDF", "openmpi", pnetcdf_tests)]
ON_NODES = {"UNISONO_TOPOLOGY": "nodes=2"}
WAYS = {
    "default": {},
    "nodes": ON_NODES,
    "write-behind": ON_NODES | {"UNISONO_WRITE_BEHIND": "enable", "UNISONO_READ_AHEAD": "enable"},
    "view_based": ON_NODES | {"UNISONO_STRATEGY": "view_based"},
}
SECONDS = 200


@pytest.fixture(scope="module", params=SUITES, ids=lambda suite: f"{suite[0]}-{suite[1]}")
def suite(request) -> tuple[str, list[pathlib.Path]]:
    """The MPI of a suite, and its programs."""
    _, mpi, tests = request.param
    return mpi, [*tests(mpi, BUILD / "suites")]


def fails(program: pathlib.Path, mpi: str, ranks: int, folder: pathlib.Path, way: dict | None) -> str:
    """What it said if it failed; `way`: settings of Unisono, none without it."""
    files = folder / "files"
    files.mkdir()
    job = Job(BUILD, mpi, ranks, [program, files / "file"], folder)
    job.environment = {"HDF5_PARAPREFIX": files} | (way or {})
    try:
        job.run([] if way is None else [job.engine()], SECONDS).require_success()
        return ""
    except JobFailed as failure:
        return str(failure)
    finally:
        shutil.rmtree(files)


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("way", WAYS)
def test_passes_under_unisono(suite, way, ranks, tmp_path, record_property):
    mpi, programs = suite
    failures = {program: fails(program, mpi, ranks, tmp_path, WAYS[way]) for program in programs}
    failed = [program for program, failure in failures.items() if failure]
    natively, ours = [], []
    for program in failed:
        (natively if fails(program, mpi, ranks, tmp_path, None) else ours).append(program)
    seen = f"{len(programs)} programs, {len(programs) - len(failed)} passed"
    if natively:
        seen += f"; without Unisono, too, fail: {', '.join(program.stem for program in natively)}"
    record_property("seen", seen)
    assert not ours, "\n".join(failures[program] for program in ours)
