"""Tests of the drivers of selection by measurement: their arithmetic, and one short run."""

import os
import pathlib

import pytest

from selection import live, record
from selection.cells import CELLS, TMPFS, Calls, Cell
from selection.runs import PLAIN, runner_at

BENCH = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("UNISONO_BUILD_DIR", BENCH.parent / "build")).resolve()
TINY = Cell(TMPFS, Calls("tiny", "strided", ("--block-bytes=1K", "--call-bytes=64K"), 64 << 10),
            "overwrite")


def test_cells_have_names_of_their_own_and_live_ones_are_there():
    names = [cell.name for cell in CELLS]
    assert len(set(names)) == len(names) >= 40
    assert set(live.NAMES) <= set(names)


def test_files_hold_what_the_calls_are_for():
    assert TINY.calls.words(10) == ["strided", "--block-bytes=1K", "--call-bytes=64K",
                                    "--file-bytes=655360"]
    assert Calls("all", "hpio", ("--region-count=1",)).words(10) == ["hpio", "--region-count=1"]


def test_calls_in_which_the_kernel_stopped_the_ranks_do_not_count():
    assert record.never_held_back([[0.001] * 5 + [0.052], [0.060]]) == [[0.001] * 5]
    slow_by_itself = [[0.001, 0.001, 0.200], [0.020, 0.001]]
    assert record.never_held_back(slow_by_itself) == slow_by_itself


def test_a_refused_candidate_did_not_take_part():
    assert record.took_part(["two_phase"], "two_phase+intra_node_aggregation")
    assert not record.took_part(["two_phase"], "lacio")
    assert not record.took_part(["lacio", "independent"], "lacio")


def runs(seconds: float) -> list[list[float]]:
    return [[seconds] * live.LONG] * 3


def test_the_table_compares_with_the_fastest_candidate_and_with_the_plain_library():
    cell = {"name": "cell", "fixed": ["two_phase", "lacio"],
            "runs": {"two_phase": runs(2.0), "lacio": runs(1.0), "rule": runs(2.0),
                     "measured": [[2.0] * 10 + [1.0] * 90] * 3, "paper": runs(1.25),
                     live.REMEMBERING: runs(1.0), PLAIN: runs(4.0)}}
    ratios = live.ratios(cell)
    assert ratios["best"] == "lacio"
    assert ratios["rule"] == pytest.approx(0.5)
    assert ratios["measured"] == pytest.approx(100 / 110)
    assert ratios[f"measured / {PLAIN}"] == pytest.approx(4 * 30 / 40), "of the first 30 calls"
    lines = live.table([cell])
    assert lines[2] == "| cell | `lacio` | 0.50 | 0.91 | 1.00 | 0.80 | 0.25 | 3.00 | 4.00 |"


def test_ways_that_failed_each_time_leave_a_gap_in_the_table():
    cell = {"name": "cell", "fixed": ["two_phase", "lacio"],
            "runs": {"two_phase": [], "lacio": runs(1.0), "rule": runs(2.0), "measured": [], PLAIN: runs(4.0)}}
    lines = live.table([cell])
    assert lines[2:4] == ["| cell | `lacio` | 0.50 | - | - | - | 0.25 | - | - |",
                          "| **median** | | 0.50 | - | - | - | 0.25 | - | - |"]
    assert live.table([cell | {"runs": {PLAIN: runs(4.0)}}])[2] == "| cell | `none` | - | - | - | - | - | - | - |"


def test_cells_that_there_are_not_are_named(capsys):
    for parse, words in ((live.parse_arguments, ["--results", "x", "--cells", "tmpfs holes read,nonsense"]),
                         (record.parse_arguments, ["--output", "x", "--cells", "nonsense"])):
        with pytest.raises(SystemExit):
            parse(words)
        assert "'nonsense'" in capsys.readouterr().err
    assert live.parse_arguments(["--results", "x"]).cells == live.NAMES


def test_what_it_costs_to_try_a_slow_candidate_counts():
    with_a_trial = [[0.004] * 50 + [0.044] + [0.004] * 49]
    assert live.throughput("measured", with_a_trial, live.LONG) == pytest.approx(100 / 0.44)
    assert live.throughput("two_phase", with_a_trial, live.LONG) == pytest.approx(99 / 0.396)


def test_a_cell_is_run_by_each_candidate():
    if not (BUILD / "libexec" / "unisono-bench.mpich").exists():
        pytest.skip("unisono-bench.mpich is not built")
    with runner_at(TMPFS, BUILD) as runner:
        candidates = record.candidates_of(runner, TINY)
        assert {"two_phase", "independent"} <= set(candidates)
        for way in (*candidates, PLAIN):
            run = runner.run(TINY, way, 3)
            assert len(run.seconds) == 3 and run.bytes == 64 << 10
            assert way == PLAIN or record.took_part(run.strategies, way)
