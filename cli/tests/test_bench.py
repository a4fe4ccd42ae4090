"""`unisono bench`: the papers' benchmarks, as users start them."""

import json
import shutil

import pytest

from unisono import bench, places
from unisono.places import Failure

BUILD = places.PREFIX
BUILT = [mpi for mpi in bench.MPIS if (BUILD / "libexec" / f"unisono-bench.{mpi}").exists()]
needs_programs = pytest.mark.skipif(
    not any(shutil.which(f"mpiexec.{mpi}") for mpi in BUILT), reason="the benchmarks are not built"
)


def test_words_for_launchers():
    assert bench.launcher_words("mpich", 3, "srun -n 64 --label") == [
        "srun", "-n", "64", "--label"]  # fmt: skip
    openmpi = bench.launcher_words("openmpi", 3, None)
    assert openmpi[0].startswith("mpiexec") and openmpi[1:] == ["--oversubscribe", "-n", "3"]


def test_quotes_that_do_not_end_are_named():
    with pytest.raises(Failure, match="--launcher srun 'x: no closing quotation"):
        bench.launcher_words("mpich", 3, "srun 'x")


def test_an_mpi_that_it_was_not_built_for_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(places, "PREFIX", tmp_path)
    with pytest.raises(Failure, match="unisono-bench.openmpi is missing"):
        bench.choose_mpi("openmpi")
    with pytest.raises(Failure, match="unisono-bench-flash-io.mpich is missing"):
        bench.choose_mpi(None, "flash-io")


@needs_programs
def test_list_and_help(unisono):
    listed = unisono("bench")
    assert listed.returncode == 0, listed.stderr
    for name in ("demo", "btio", "alltoall"):
        assert name in listed.stdout
    shown = unisono("bench", "demo", "--help").stdout
    assert "--segment-bytes" in shown and "Resonant I/O" in shown


@needs_programs
@pytest.mark.parametrize("native", [[], ["--native"]])
def test_runs_a_benchmark_with_and_without_unisono(unisono, tmp_path, native):
    done = unisono("bench", "-n", "2", "--mpi", BUILT[0], *native, "demo", "--", "--path",
                   tmp_path / "file", "--segment-bytes", "1K", "--file-bytes", "16K", "--verify",
                   env={"UNISONO_REPORT": "summary", "PATH": "/usr/bin:/bin"})  # fmt: skip
    assert done.returncode == 0, done.stderr
    written, read = map(json.loads, done.stdout.splitlines())
    assert (written["direction"], read["direction"]) == ("write", "read")
    assert written["ranks"] == 2 and read["bytes"] == 16384 and read["verified"]
    assert ("unisono" in done.stderr) == (not native)


@needs_programs
def test_unknown_names_are_refused(unisono):
    done = unisono("bench", "-n", "1", "--native", "frobnicate")
    assert done.returncode != 0 and "frobnicate" in done.stderr
