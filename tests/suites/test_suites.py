"""The tests of MPI-IO in MPICH, HDF5 and PnetCDF, from Debian's sources, under Unisono (`make test-suites`).

What fails without Unisono as well is no fault of it, and named at the end.
"""

import pathlib
import shutil
import sys

import pytest
from sources import Program, hdf5_tests, mpich_tests, mpich_tests_in_other_languages, pnetcdf_tests

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "install"), str(TESTS / "clients")]
from harness import Job, JobFailed  # noqa: E402
from installed import BUILD  # noqa: E402

SUITES = [
    ("MPICH", "mpich", mpich_tests),
    ("MPICH", "openmpi", mpich_tests),
    ("MPICH, C++ and Fortran", "mpich", mpich_tests_in_other_languages),
    ("MPICH, C++ and Fortran", "openmpi", mpich_tests_in_other_languages),
    ("HDF5", "mpich", hdf5_tests),
    ("HDF5", "openmpi", hdf5_tests),
    ("PnetCDF", "openmpi", pnetcdf_tests),
]
ON_NODES = {"UNISONO_TOPOLOGY": "nodes=2"}
# Elsewhere small calls go a shorter way (interpose/plain_call.hpp), as in most users' programs.
REPORTED = {"UNISONO_REPORT": "json"}
WAYS = {
    "default": {},
    "nodes": ON_NODES,
    "write-behind": ON_NODES | REPORTED | {"UNISONO_WRITE_BEHIND": "enable", "UNISONO_READ_AHEAD": "enable"},
    "view_based": ON_NODES | REPORTED | {"UNISONO_STRATEGY": "view_based"},
}
# They read what others have written without the sync that MPI asks for, where that is in memory still.
NOT_SYNCED = {"view_based": ["i_rdwrord"]}
SECONDS = 200  # of one program


@pytest.fixture(scope="module", params=SUITES, ids=lambda suite: f"{suite[0]}-{suite[1]}")
def suite(request) -> tuple[str, list[Program]]:
    """The MPI of a suite, and its programs."""
    _, mpi, tests = request.param
    return mpi, [*tests(mpi, BUILD / "suites")]


def failure(program: Program, mpi: str, ranks: int, folder: pathlib.Path, way: dict | None) -> str:
    """What it said if it failed. `way`: settings of Unisono; None: without it."""
    files = folder / "files"
    files.mkdir()
    job = Job(BUILD, mpi, ranks, [program.path, *program.words], folder)
    job.folder = files
    job.environment = {"HDF5_PARAPREFIX": files, "UNISONO_REPORT": "none"} | (way or {})
    try:
        job.run([] if way is None else [job.engine()], SECONDS).require_success()
        job.require(program.says in job.output, f"did not say {program.says}")
        return ""
    except JobFailed as failed:
        return str(failed)
    finally:
        shutil.rmtree(files)


@pytest.mark.parametrize("way", WAYS)
def test_passes_under_unisono(suite, way, tmp_path, record_property):
    mpi, programs = suite
    left_out = [program.path.stem for program in programs if program.path.stem in NOT_SYNCED.get(way, [])]
    runs = [(program, ranks) for program in programs for ranks in program.ranks if program.path.stem not in left_out]
    failed = {}
    for program, ranks in runs:
        if said := failure(program, mpi, ranks, tmp_path, WAYS[way]):
            name = f"{program.path.relative_to(BUILD / 'suites/programs')} ({ranks} ranks)"
            failed[name] = said, failure(program, mpi, ranks, tmp_path, None)
    ours = [name for name, (_, native) in failed.items() if not native]
    natively = [name for name, (_, native) in failed.items() if native]
    seen = [f"{len(runs)} runs, {len(runs) - len(failed)} passed"]
    for what, names in (("FAILED", ours), ("natively, too, fail", natively), ("left out", left_out)):
        if names:
            seen.append(f"{what}: {', '.join(names)}")
    record_property("seen", "; ".join(seen))
    assert not ours, "\n".join(failed[name][0] for name in ours)
