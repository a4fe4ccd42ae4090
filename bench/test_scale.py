"""Tests of the table of simulated ranks, and of one small run."""

import os
import pathlib
import subprocess

import pytest

import scale

BUILD = pathlib.Path(os.environ.get("UNISONO_BUILD_DIR", scale.ROOT / "build")).resolve()


def line(**changed) -> dict:
    return {"ranks": 64, "chosen": "two_phase", "write_s": 1e-3, "read_s": 2e-3, "rounds": 4,
            "bytes": 64 * 65536, "messages": 512, "fan_in": 7, "memory_bytes_per_rank": 3 * 2**20,
            "reduced_bytes_per_rank": 2048} | changed


def test_a_row_says_how_many_times_as_long_romio_takes():
    ours, romio = scale.Point("strided-4k", "auto", 64), scale.Point("strided-4k", scale.ROMIO, 64)
    lines = {ours: line(), romio: line(chosen="", write_s=3e-3, read_s=1e-3, rounds=0)}
    first, second = scale.table(lines).splitlines()[1:]
    assert first.split() == ["strided-4k", "two_phase", "64", "16", "100", "64", "1.00", "2.00", "3.00", "0.50",
                             "2.00", "7", "3.00", "2.0"]
    assert second.split() == ["strided-4k", "romio", "64", "16", "100", "64", "3.00", "1.00", "7", "2.0"]


def test_a_row_has_the_bytes_that_were_moved():
    """Records of 47,008 bytes: one, where 64 KiB were asked for."""
    hard = scale.Point("ior-hard", "auto", 64)
    assert scale.table({hard: line(bytes=64 * 47_008)}).splitlines()[1].split()[5] == "46"


def test_a_plan_has_a_row():
    point = scale.Point("strided-4k", "auto", 131072)
    planned = {"strategy": "two_phase", "aggregators": 8192, "rounds": 1, "nodes_send": True, "most_from_one": 16,
               "fan_in": 17, "reduced_bytes_per_rank": 65536, "planning_s": 0.001, "plan_bytes_per_rank": 950480}
    assert scale.table_of_plans({point: planned}).splitlines()[1].split() == [
        "strided-4k", "two_phase", "131072", "16", "8192", "1", "nodes", "16", "17", "64.0", "1.00", "928"]


def test_bytes_are_compared_as_far_as_there_is_memory_for_them():
    few, many = (scale.Point("strided-4k", "auto", ranks).command(BUILD) for ranks in (1024, 4096))
    assert "--sizes-only" not in few and "--sizes-only" in many


def test_every_point_of_a_picture_has_its_romio_beside_it():
    chosen = scale.points(full=True)
    for point in chosen:
        if point.strategy == "auto":
            assert point._replace(strategy=scale.ROMIO) in chosen


@pytest.mark.skipif(not (BUILD / "tests/simulate").exists(), reason="no simulated teams were built")
@pytest.mark.parametrize("words, why", [
    ("scale --strategy fastest", "fastest not in"), ("scale --ranks 0", "must be more than 0"),
    ("scale --plan-only --strategy romio", "simulate: romio has no plan"),
    ("servers --profile-file FILE --servers 0", "must be more than 0"),
    ("servers --profile-file FILE --ranks 3", "simulate: the file is no whole number"),
    ("servers --profile-file FILE --scheduler x", "simulate: unknown scheduler 'x'")])
def test_what_cannot_be_simulated_is_refused(words, why):
    """A strategy that there is not was `auto`, under its name; the others ended the program."""
    words = words.replace("FILE", str(scale.ROOT / "testbed/profiles/resonant-2009.json")).split()
    done = subprocess.run([BUILD / "tests/simulate", *words], capture_output=True, text=True, check=False)
    assert done.returncode > 0 and why in done.stderr and not done.stdout


@pytest.mark.skipif(not (BUILD / "tests/simulate").exists(), reason="no simulated teams were built")
def test_a_small_run_is_right_and_can_be_drawn(tmp_path):
    chosen = [scale.Point("block-3d", strategy, 32, 8, 4) for strategy in ("auto", scale.ROMIO)]
    lines = scale.measure(chosen, BUILD)
    assert all(line["wrong"] == "" and line["bytes"] == 32 * 20**3 * 8 for line in lines.values())
    planned = scale.table_of_plans(scale.measure(chosen[:1], BUILD, "--plan-only"))
    assert planned.splitlines()[1].split()[:3] == ["block-3d", "two_phase", "32"]
    scale.draw(lines, tmp_path / "scale.svg")
    assert "Memory of a rank" in (tmp_path / "scale.svg").read_text()
