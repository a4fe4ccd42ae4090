"""Where it was said how much may be lost, small writes that repeat are written behind if servers have the
file and nobody reads it; what a killed program loses is bounded. Run by run.py."""

import os
import sys

import pytest
from mounts import BUILD

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "clients"))
import harness  # noqa: E402

RANKS, RECORD, CALLS = 2, 1000, 2000
BYTES_MOST = 1 << 20
BOUND = f"*:unisono_write_behind_bytes={BYTES_MOST}"
MPIS = [mpi for mpi in harness.LAUNCHERS if (BUILD / f"programs/deposits.{mpi}").exists()]


def record_bytes():
    """What all records come to; see tests/clients/deposits.c."""
    return b"".join(bytes([1 + number % 251]) * RECORD for number in range(CALLS * RANKS))


def run(file, mpi, directory, *steps, **environment):
    command = [BUILD / f"programs/deposits.{mpi}", file, RECORD, CALLS, 1, 0, *steps]
    job = harness.Job(BUILD, mpi, RANKS, command, directory)
    job.environment = {"UNISONO_TEST_WRITE_ONLY": "1", "UNISONO_HINTS": BOUND, **environment}
    return job.run([BUILD / f"lib/libunisono-{mpi}.so"])


def strategies(job):
    return job.reports()[-1]["write"]["strategies"]


@pytest.fixture
def file(pocket):
    return pocket.up("instant", "--servers", 2) / "records"


@pytest.mark.parametrize("mpi", MPIS)
def test_only_the_bound_need_be_given(file, mpi, tmp_path):
    job = run(file, mpi, tmp_path)
    job.require_success()
    assert file.read_bytes() == record_bytes()
    calls = strategies(job)
    assert calls["view_based"]["calls"] > CALLS - 10, calls
    assert "in memory until sync or close" in str(calls["view_based"]), calls


@pytest.mark.parametrize("environment", [{"UNISONO_TEST_WRITE_ONLY": ""},
                                         {"UNISONO_WRITE_BEHIND": "disable"},
                                         {"UNISONO_HINTS": ""}],
                         ids=["others may read", "switched off", "nothing may be lost"])  # fmt: skip
@pytest.mark.parametrize("mpi", MPIS)
def test_not_where_it_could_surprise(file, mpi, tmp_path, environment):
    job = run(file, mpi, tmp_path, **environment)
    job.require_success()
    assert file.read_bytes() == record_bytes()
    assert "view_based" not in strategies(job)


@pytest.mark.parametrize("killed", [1200, 1999])
@pytest.mark.parametrize("mpi", MPIS)
def test_a_kill_loses_no_more_than_was_allowed(file, mpi, tmp_path, killed):
    job = run(file, mpi, tmp_path, 100, "sync", killed, "kill")
    assert job.returncode != 0
    found, whole = file.read_bytes(), record_bytes()
    assert all(byte in (0, right) for byte, right in zip(found, whole)), "wrong bytes"
    lost_from = next((at for at, byte in enumerate(found) if byte == 0), len(found))
    written = killed * RANKS * RECORD
    assert lost_from >= max(100 * RANKS * RECORD, written - BYTES_MOST), (lost_from, written)
