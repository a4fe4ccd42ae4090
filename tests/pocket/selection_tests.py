"""Selection by measurement, as it is by default, on servers. Run by run.py."""

import os
import sys

import pytest
from mounts import BUILD

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "clients"))
import harness  # noqa: E402

CALLS = 3  # see tests/clients/reported.cpp
MPIS = [mpi for mpi in harness.LAUNCHERS if (BUILD / f"programs/reported.{mpi}").exists()]


# What was slow with an aggregator was not tried any more with all of them.
@pytest.mark.parametrize("mpi", MPIS)
def test_calls_with_other_hints_are_not_compared_with_those_before(pocket, tmp_path, mpi):
    pocket.up("instant", "--servers", 2)
    command = [BUILD / f"programs/reported.{mpi}", "hinted", pocket / "file"]
    job = harness.Job(BUILD, mpi, 3, command, tmp_path).run([BUILD / f"lib/libunisono-{mpi}.so"])
    job.require_success()
    selections = job.reports()[-1]["write"]["selections"]
    # What a call took is told with the next one.
    assert [selection["calls_done"] for selection in selections] == [CALLS, CALLS - 1]
    assert len({selection["calls"] for selection in selections}) == 1
