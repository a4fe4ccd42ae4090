"""Tests of the benchmark's arithmetic, tables and command lines. Nothing is measured."""

import fcntl
import json
import os
import pathlib
import platform
import random
import shutil
import subprocess

import pytest

import environment
import nodes
import overlap
import ratios
import run
import sides
import table
from applications import APPLICATIONS, cells_of
from applications import MODES as APPLICATION_MODES
from cells import Cell, clearly_below_own_default, shrinking_with_ranks, target_checks
from cells import UNISONO as UNISONO_SIDES
from targets import TARGETS, wanted_of


BENCH = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("UNISONO_BUILD_DIR", BENCH.parent / "build")).resolve()


def line(seconds, bytes_=1_000_000, spoilt=0):
    return {"bytes": bytes_, "seconds": seconds, "spoilt_hole_bytes": spoilt}


def cell_with(pattern="strided-64", mode="fresh", ranks=4, **seconds_by_side):
    """One alternation for each value; side names with _ for -."""
    cell = Cell(ranks, 2, "/somewhere", pattern, mode)
    for side, seconds in seconds_by_side.items():
        for value in seconds:
            cell.add(side.replace("_", "-"), line([value]))
    return cell


def side_named(name: str) -> sides.Side:
    return next(side for side in sides.SIDES if side.name == name)


def sides_named(*names: str) -> list[sides.Side]:
    return list(map(side_named, names))


# ---- the program

def test_a_sync_that_syncs_nothing_is_noticed(tmp_path):
    """Natively, with a library before MPI whose MPI_File_sync does nothing."""
    program = BUILD / "programs" / "unisono-bench-patterns.mpich"
    compiler = shutil.which("cc")
    if not program.exists() or compiler is None:
        pytest.skip(f"{program} is not built, or there is no compiler")
    version = tuple(map(int, platform.release().split(".")[:2]))
    if version < (6, 5) or environment.file_system_of(BUILD) == "tmpfs":
        pytest.skip("the kernel, or the file system, cannot say what was not synced")
    idle = tmp_path / "idle.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-o", idle, "-"], check=True, text=True,
                   input="int MPI_File_sync(void *file) { (void)file; return 0; }")
    words = [program, "--pattern", "contiguous", "--mode", "sync", "--bytes", "1000000",
             "--repeats", "1", "--path", BUILD / f"not-synced-{os.getpid()}"]
    for preload, noticed in ("", False), (f"LD_PRELOAD={idle}", True):
        done = subprocess.run(["mpiexec.mpich", "-n", "2", "env", *filter(None, [preload]), *words],
                              capture_output=True, text=True, timeout=200, check=False)
        assert ("MPI_File_sync left" in done.stderr) == noticed, done.stderr
        assert (done.returncode != 0) == noticed
        words[-1].unlink(missing_ok=True)


# ---- ratios

def test_median_is_taken_over_all_alternations():
    assert ratios.median_seconds([[1.0, 9.0], [], [2.0]]) == 2.0


def test_spread_is_interquartile_range_over_median():
    # 1..5: quartiles 2, 3 and 4
    assert ratios.spread([[1.0, 2.0], [3.0, 4.0, 5.0]]) == pytest.approx((4 - 2) / 3)
    assert ratios.spread([[1.0]]) == 0.0


def test_ratio_above_one_means_ours_is_faster():
    ratio = ratios.compare(ours=[[1.0], [1.0]], theirs=[[4.0], [4.0]])
    assert (ratio.value, ratio.low, ratio.high) == (4.0, 4.0, 4.0)


def test_interval_encloses_the_ratio_and_is_reproducible():
    dice = random.Random(7)
    ours = [[dice.uniform(0.9, 1.1) for _ in range(3)] for _ in range(5)]
    theirs = [[dice.uniform(1.8, 2.2) for _ in range(3)] for _ in range(5)]
    ratio = ratios.compare(ours, theirs, key="a cell")
    assert ratio.low <= ratio.value <= ratio.high
    assert 1.6 < ratio.low < ratio.high < 2.5
    assert ratios.compare(ours, theirs, key="a cell") == ratio


def test_interval_covers_the_true_ratio_about_as_often_as_it_says():
    """Both sides drawn from one distribution: the true ratio is 1. With 6 alternations a bootstrap
    is a little too narrow, so 85 % are asked for where it says 95 %."""
    covered = 0
    for seed in range(60):
        dice = random.Random(seed)
        ours, theirs = ([[dice.gauss(1, 0.1) for _ in range(3)] for _ in range(6)]
                        for _ in range(2))
        ratio = ratios.compare(ours, theirs, key=str(seed))
        covered += ratio.low <= 1 <= ratio.high
    assert covered >= 0.85 * 60


def test_drift_that_hits_both_sides_does_not_widen_the_interval_as_much():
    """The machine gets ten times slower half-way; the sides' ratio stays 2."""
    ours = [[1.0], [1.0], [1.0], [10.0], [10.0], [10.0], [10.0]]
    theirs = [[2.0], [2.0], [2.0], [20.0], [20.0], [20.0], [20.0]]
    ratio = ratios.compare(ours, theirs)
    assert (ratio.low, ratio.value, ratio.high) == (2.0, 2.0, 2.0)


def test_alternations_without_a_partner_are_left_out():
    ratio = ratios.compare(ours=[[1.0], [100.0]], theirs=[[3.0], []])
    assert ratio.value == 3.0
    with pytest.raises(ValueError):
        ratios.compare(ours=[[1.0], []], theirs=[[], [1.0]])


def test_a_side_that_had_no_time_to_repeat_is_compared_with_first_repeats():
    """The first takes 2 s on both sides, the second, warm, 1 s: the faster side alone came to it."""
    ratio = ratios.compare(ours=[[2.0, 1.0]] * 3, theirs=[[2.0]] * 3)
    assert (ratio.value, ratio.low, ratio.high) == (1.0, 1.0, 1.0)


# ---- cells

def test_throughput_counts_useful_bytes():
    assert cell_with(mpich=[0.5, 0.5]).mb_per_s("mpich") == pytest.approx(2.0)


def test_best_native_is_the_fastest_that_did_not_fail():
    cell = cell_with(mpich=[3.0], mpich_tuned=[1.0], ompio=[2.0], unisono_mpich=[0.1], posix=[0.1])
    assert cell.best_native() == "mpich-tuned"
    cell.add_error("mpich-tuned", "wrong byte at offset 5")
    assert cell.best_native() == "ompio"
    assert Cell(4, 2, "/somewhere", "tile", "read").best_native() == ""


def test_error_in_one_alternation_disqualifies_the_side_and_keeps_step():
    cell = cell_with(mpich=[1.0])
    cell.add_error("mpich", "no end within 300 s")
    assert cell.samples["mpich"] == [[1.0], []]
    assert not cell.measured("mpich")
    assert cell.ratio("mpich", "mpich") is None


def test_clearly_below_means_the_whole_interval_is_under_the_limit():
    on_mpich = UNISONO_SIDES[0]
    slow = cell_with(mpich=[1.0] * 5, unisono_mpich=[2.0] * 5)
    assert clearly_below_own_default(slow, on_mpich).value == 0.5
    noisy = cell_with(mpich=[1.0] * 5, unisono_mpich=[2.0, 0.5, 2.0, 0.5, 2.0])
    assert clearly_below_own_default(noisy, on_mpich) is None
    assert clearly_below_own_default(cell_with(mpich=[1.0]), on_mpich) is None


def test_own_default_of_unisono_on_open_mpi_is_ompio():
    on_ompi = next(side for side in UNISONO_SIDES if side.mpi == "openmpi")
    cell = cell_with(mpich=[9.0] * 3, ompio=[1.0] * 3, unisono_ompi=[3.0] * 3)
    assert clearly_below_own_default(cell, on_ompi) is not None


# ---- targets

def test_every_pattern_has_exactly_one_target():
    for pattern in run.PATTERNS:
        assert sum(pattern in target.patterns for target in TARGETS) == 1, pattern
    assert wanted_of("no such pattern", 4, 2) is None


def test_targets_compare_with_romio_best_native_and_posix():
    cell = cell_with(mpich=[8.0], mpich_tuned=[2.0], unisono_mpich=[1.0], posix=[0.5])
    checks = {check.against: check for check in target_checks([cell])}
    assert {name: check.ratio.value for name, check in checks.items()} == {
        "default ROMIO": 8.0, "best native": 2.0, "posix": 0.5}
    assert not checks["default ROMIO"].missed       # 8 >= 7
    assert checks["best native"].missed             # 2 < 2.5
    assert checks["posix"].missed                   # 0.5 < 0.7


def test_with_a_rank_on_each_core_others_are_wanted_than_with_two():
    for pattern in run.PATTERNS:
        one, two, four = (wanted_of(pattern, ranks, 2) for ranks in (2, 4, 8))
        assert one and two and one != two and four is None
    cell = cell_with(ranks=2, mpich=[8.0], unisono_mpich=[1.0], posix=[0.7])
    assert {check.against: check.missed for check in target_checks([cell])} == {"best native": False, "posix": True}


def test_targets_hold_for_two_ranks_on_each_core_and_not_for_sync():
    sides_ = dict(mpich=[8.0], unisono_mpich=[1.0])
    assert target_checks([cell_with(ranks=8, **sides_)]) == []
    assert target_checks([cell_with(mode="sync", **sides_)]) == []
    assert len(target_checks([cell_with(**sides_)])) == 2  # ROMIO is the best native, too


def test_gain_that_shrinks_with_ranks_is_found():
    few = cell_with(ranks=4, mpich=[8.0] * 3, unisono_mpich=[1.0] * 3)
    less = cell_with(ranks=8, mpich=[6.0] * 3, unisono_mpich=[1.0] * 3)
    more = cell_with(ranks=16, mpich=[9.0] * 3, unisono_mpich=[1.0] * 3)
    assert [found.many for found in shrinking_with_ranks([few, less, more])] == [less]


# ---- tables

def test_tables_show_speeds_ratios_and_marks():
    cell = cell_with(mpich=[0.1] * 3, unisono_mpich=[0.2] * 3, posix=[0.1] * 3)
    lines = table.render([cell], sides_named("mpich", "unisono-mpich", "posix")).splitlines()
    assert lines[0] == "4 ranks on 2 cores, /somewhere: MB/s, median and spread"
    assert lines[1].split() == ["pattern", "mpich", "unisono-mpich", "posix"]
    assert lines[2].split() == ["strided-64", "F", "10", "±0%", "5", "±0%", "10", "±0%"]
    assert lines[4] == "4 ranks on 2 cores, /somewhere: ratios"
    assert lines[6].split() == ["strided-64", "F", "0.50", "[0.50,", "0.50]", "0.50", "0.50", "!t"]


def test_calls_that_another_strategy_did_are_named():
    cell = Cell(4, 2, "/somewhere", "tile", "fresh")
    done = {"unisono-mpich:lacio": {"two_phase": 3}, "unisono-mpich:view_based": {"view_based": 3, "independent": 1},
            "unisono-mpich:two_phase": {"two_phase": 3}, "unisono-mpich:auto": {"independent": 3}}
    for side, strategies in done.items():
        cell.add(side, line([1.0]) | {"strategies": strategies})
    chosen = sides.with_strategies((side_named("unisono-mpich"),), tuple(name.partition(":")[2] for name in done))
    assert table.findings([cell], chosen).splitlines() == [
        "Done by other strategies than the one asked for: 2",
        "  tile fresh (4 ranks, /somewhere), unisono-mpich:lacio: two_phase",
        "  tile fresh (4 ranks, /somewhere), unisono-mpich:view_based: independent"]


def test_no_table_of_ratios_without_unisono():
    assert "ratios" not in table.render([cell_with(mpich=[0.1])], sides_named("mpich"))


def test_table_lines_are_aligned():
    cells = [cell_with(pattern=name, mpich=[seconds]) for name, seconds in
             (("tile", 1e-3), ("calls-contiguous", 1.0))]
    rows = table.render(cells, sides_named("mpich")).splitlines()[1:4]
    assert len({len(row) for row in rows}) == 1


def test_what_the_links_allow_stands_beside_the_speeds():
    cluster = run.parse_arguments(["--cluster", "4", "--rate", "1gbit"])
    # Without the 66 of a full segment's 1514 bytes that are headers.
    assert nodes.allowed(cluster, "contiguous") == pytest.approx(478.2, abs=0.1)
    # A node sends a quarter of the file, and three quarters of a quarter to other nodes.
    assert nodes.allowed(cluster, "strided-1k") == pytest.approx(478.2 / 1.75, abs=0.1)
    assert nodes.allowed(cluster, "calls-contiguous") == pytest.approx(119.6, abs=0.1)
    assert nodes.allowed(run.parse_arguments([]), "strided-1k") is None
    cell = cell_with(mpich=[0.1])
    assert "links allow" not in table.render([cell], sides_named("mpich"))
    cell.allowed = 285.7
    assert table.render([cell], sides_named("mpich")).splitlines()[2].endswith("  286")
    program = cell_with(pattern="hdf5-flash", mode="write calls", mpich=[0.1])
    program.allowed = nodes.allowed(cluster, program.pattern)
    assert table.render([cell, program], sides_named("mpich")).splitlines()[3].endswith("  -")


def test_an_unknown_rate_is_named():
    with pytest.raises(ValueError, match="unknown rate '1 furlong'.*gbit"):
        nodes.payload_per_s("1 furlong")


def test_failed_and_missing_sides_are_named():
    cell = cell_with(mpich=[1.0])
    cell.add_error("unisono-mpich", "wrong byte at offset 5")
    row = table.render([cell], sides_named("mpich", "ompio", "unisono-mpich")).splitlines()[2]
    assert row.split()[2:6] == ["1", "±0%", "-", "failed"]
    assert "unisono-mpich: wrong byte at offset 5" in table.findings([cell])
    assert run.failed([cell])


def test_a_side_with_one_of_several_strategies_is_ours_as_well():
    cell = cell_with(mpich=[1.0] * 3)
    for seconds in (2.0, 2.0, 2.0):
        cell.add("unisono-mpich:auto", line([seconds]))
    assert list(run.ratios_as_json(cell)["ratios"]) == ["unisono-mpich:auto"]
    assert "unisono-mpich:auto / mpich 0.50" in table.findings([cell])
    assert not run.failed([cell])
    cell.add_error("unisono-mpich:auto", "wrong byte at offset 5")
    assert run.failed([cell])


def test_failure_of_a_native_side_is_told_but_is_not_ours():
    cell = cell_with(mpich=[1.0])
    cell.add_error("ompio", "no end within 300 s")
    assert "ompio: no end" in table.findings([cell])
    assert not run.failed([cell])


def test_findings_list_missed_targets_slow_cells_and_spoilt_holes():
    cell = cell_with(mpich=[1.0] * 3, unisono_mpich=[2.0] * 3)
    cell.add("mpich", line([1.0], spoilt=64))
    text = table.findings([cell])
    assert "unisono-mpich / default ROMIO 0.50, target 7" in text
    assert "unisono-mpich / mpich 0.50 [0.50, 0.50]" in text
    assert "mpich: 64" in text


# ---- command lines

def build_with(folder: pathlib.Path, *names: str) -> sides.Tools:
    for name in names:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    return sides.Tools(folder)


def test_ranks_that_have_a_core_each_are_bound_to_it(tmp_path):
    """Open MPI binds two by itself, MPICH does not."""
    tools = sides.Tools(tmp_path, binds=True)
    for side in sides.SIDES:
        alone, crowded = (sides.words_before(side, tools, ranks, tmp_path / "r") for ranks in (sides.CORES, sides.CORES + 1))
        assert "--bind-to core" in " ".join(alone) and "--bind-to" not in crowded
        assert str(tools.yield_shim) not in " ".join(alone) and str(tools.yield_shim) in " ".join(crowded)


def test_every_side_is_launched_with_the_yield_shim(tmp_path):
    tools = sides.Tools(tmp_path, {"UNISONO_TOPOLOGY": "nodes=2"})
    report = tmp_path / "report"
    native = sides.words_before(side_named("mpich-tuned"), tools, 8, report)
    ours = sides.words_before(side_named("unisono-mpich"), tools, 8, report)
    shim = str(tools.yield_shim)
    assert f"LD_PRELOAD={shim}" in native
    assert f"LD_PRELOAD={tools.library('mpich')}:{shim}" in ours
    assert "UNISONO_TOPOLOGY=nodes=2" in ours
    assert not any("UNISONO" in word for word in native)


def test_hints_are_told_to_the_program_that_has_the_patterns(tmp_path):
    words = sides.patterns_command(side_named("mpich-tuned"), sides.Tools(tmp_path), 8, ["--pattern", "tile"])
    assert words[-4:] == ["--pattern", "tile", "--hints", "cb_config_list=*:8"]


def test_several_strategies_make_a_side_each(tmp_path):
    chosen = (side_named("mpich"), side_named("unisono-mpich"))
    names = [side.name for side in sides.with_strategies(chosen, ("lacio", "two_phase"))]
    assert names == ["mpich", "unisono-mpich:lacio", "unisono-mpich:two_phase"]
    one = sides.with_strategies(chosen, ("lacio",))[1]
    assert one.name == "unisono-mpich"
    assert "UNISONO_STRATEGY=lacio" in sides.words_before(one, sides.Tools(tmp_path), 4, tmp_path / "r")
    assert sides.with_strategies(chosen, ()) == chosen


def test_sides_on_open_mpi_differ_only_in_what_they_are(tmp_path):
    def words(name):
        return sides.words_before(side_named(name), sides.Tools(tmp_path), 4, tmp_path / "r")
    assert [word for word in words("ompi-romio") if word not in words("ompio")] == [
        "--mca", "io", "romio321"]
    tools = sides.Tools(tmp_path)
    assert f"LD_PRELOAD={tools.library('openmpi')}:{tools.yield_shim}" in words("unisono-ompi")


def test_missing_library_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(sides.shutil, "which", lambda name: name)
    tools = build_with(tmp_path, "lib/libunisono-yield.so", "programs/unisono-bench-patterns.mpich")
    assert tools.missing_for(side_named("mpich")) == ""
    assert "libunisono-mpich.so" in tools.missing_for(side_named("unisono-mpich"))


def test_strategies_come_from_unisonos_own_report(tmp_path):
    report = tmp_path / "report"
    with pytest.raises(sides.LaunchError, match="took no part"):
        sides.strategies_in(report)
    opened = {"read": {"strategies": {}},
              "write": {"strategies": {"two_phase": {"calls": 3, "why": ["interleaved"]}}}}
    report.write_text(json.dumps(opened) + "\n" + json.dumps(opened) + "\n")
    assert sides.strategies_in(report) == {"two_phase": 6}


def test_hanging_launch_is_ended_and_told(tmp_path, monkeypatch):
    monkeypatch.setattr(sides, "words_before", lambda *_: ["sleep", "60"])
    tools = sides.Tools(tmp_path, timeout_s=0.2)
    with pytest.raises(sides.LaunchError, match="no end within"):
        sides.launch(side_named("mpich"), tools, 1, [], tmp_path / "report")


def test_failing_launch_tells_what_the_program_said(tmp_path, monkeypatch):
    script = "(echo -----; echo Primary job ended; echo wrong byte at offset 5) >&2; exit 1"
    monkeypatch.setattr(sides, "words_before", lambda *_: ["sh", "-c", script])
    with pytest.raises(sides.LaunchError, match="^wrong byte at offset 5$"):
        sides.launch(side_named("mpich"), sides.Tools(tmp_path), 1, [], tmp_path / "report")


@pytest.mark.parametrize("setting", ['UNISONO_STRATEGY: "fastest" ignored; valid: auto, orthrus',
                                     'UNISONO_LAYOUT: "x" ignored; valid: stripe_bytes=64K'])
def test_what_unisono_did_not_understand_is_not_measured_without_it(tmp_path, monkeypatch, setting):
    script = f"echo 'unisono: {setting}' >&2"
    monkeypatch.setattr(sides, "words_before", lambda *_: ["sh", "-c", script])
    with pytest.raises(sides.LaunchError, match=f"^unisono: {setting}$"):
        sides.launch(side_named("mpich"), sides.Tools(tmp_path), 1, [], tmp_path / "report")


def test_a_stack_of_mpichs_is_told_with_its_end(tmp_path, monkeypatch):
    script = "(echo 'Other MPI error, error stack:'; echo 'MPIR_Init(1): ...'; echo 'no memory') >&2; exit 1"
    monkeypatch.setattr(sides, "words_before", lambda *_: ["sh", "-c", script])
    with pytest.raises(sides.LaunchError, match="^Other MPI error, error stack: no memory$"):
        sides.launch(side_named("mpich"), sides.Tools(tmp_path), 1, [], tmp_path / "report")


def test_each_alternation_begins_with_another_side():
    first = [run.rotated(list(sides.SIDES), turn)[0] for turn in range(len(sides.SIDES))]
    assert first == list(sides.SIDES)
    assert run.rotated([1, 2], 3) == [2, 1]


@pytest.mark.parametrize("count", [3, 4, 7])
def test_no_side_always_follows_the_same_one(count):
    before = {side: set() for side in range(count)}
    for turn in range(run.parse_arguments([]).alternations):
        order = run.rotated(list(range(count)), turn)
        assert sorted(order) == list(range(count))
        for one, next_ in zip(order, order[1:]):
            before[next_].add(one)
    assert all(len(others) >= 2 for others in before.values()), before


def test_default_arguments_depend_on_full(monkeypatch):
    monkeypatch.setenv("UNISONO_TIMING_LOCK", "/somewhere/lock")
    assert run.parse_arguments([]).ranks == (sides.CORES, 2 * sides.CORES)  # nobody is starved in the first
    full = run.parse_arguments(["--full", "--directory", "/a", "--directory", "/b"])
    assert full.ranks == (sides.CORES, 2 * sides.CORES, 4 * sides.CORES)
    assert full.directories == [pathlib.Path("/a"), pathlib.Path("/b")]
    assert full.lock == pathlib.Path("/somewhere/lock")


@pytest.mark.parametrize("words, why", [
    (["--modes", "fresh,nonsense"], "unknown 'nonsense'"), (["--patterns", ","], "it names none"),
    (["--alternations", "0"], "1 or more"), (["--repeats", "-1"], "1 or more"), (["--bytes", "0"], "1 or more"),
    (["--profile", "floppy"], "invalid choice: 'floppy' (choose from 'barracuda-7200.10'"),
    (["--rate", "1furlong"], "unknown rate '1furlong'"), (["--rate", "fastgbit"], "unknown rate 'fastgbit'")])
def test_arguments_with_which_nothing_can_be_measured_are_refused(capsys, words, why):
    with pytest.raises(SystemExit):
        run.parse_arguments(words)
    assert why in capsys.readouterr().err


@pytest.mark.parametrize("words, why", [(["--steps", "0"], "1 or more"), (["--bytes", "65537"], "a multiple of 65536")])
def test_shares_of_the_ideal_are_not_measured_without_whole_steps(capsys, words, why):
    """No steps had 7.17 of the ideal."""
    with pytest.raises(SystemExit):
        overlap.parse_arguments(words)
    assert why in capsys.readouterr().err


def test_what_would_end_the_run_after_its_first_round_is_said_before(tmp_path, monkeypatch):
    def why_not(*words: str) -> str:
        return run.reason_not_to_begin(run.parse_arguments([
            "--directory", str(tmp_path), "--json", str(tmp_path / "bench.json"), *words]))
    assert why_not() == ""
    assert why_not("--directory", "/nowhere") == "/nowhere is not a folder"
    assert why_not("--json", "/nowhere/bench.json") == "/nowhere is not a folder"
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert why_not("--cluster", "2") == "a pocket cluster needs root"


def test_results_survive_as_json(tmp_path):
    cell = cell_with(mpich=[1.0] * 3, unisono_mpich=[2.0] * 3)
    cell.add_error("ompio", "exit code 1")
    path = tmp_path / "bench.json"
    run.save_json(path, {"cells": [run.as_json(cell) | run.ratios_as_json(cell)],
                         "missed_targets": run.missed_as_json([cell])})
    stored = json.loads(path.read_text())
    assert stored["cells"][0]["sides"]["mpich"]["seconds"] == [[1.0], [1.0], [1.0]]
    assert stored["cells"][0]["sides"]["ompio"] == {"seconds": [[]], "error": "exit code 1"}
    assert stored["cells"][0]["ratios"]["unisono-mpich"]["clearly_below_own_default"]
    assert {missed["against"] for missed in stored["missed_targets"]} == {"default ROMIO",
                                                                         "best native"}


class FakeMeasurement(run.Measurement):
    """Turns cost `turn_s` seconds of a clock that the test owns."""

    def __init__(self, monkeypatch, turn_s, *words):
        super().__init__(run.parse_arguments(list(words)), None, list(sides.SIDES[:2]))
        self.clock_s = 0.0
        self.turn_s = turn_s
        self.taken = []
        monkeypatch.setattr(run.time, "monotonic", lambda: self.clock_s)
        monkeypatch.setattr(run.Progress, "begin_turn", lambda *_: None)

    def _take_turn(self, group, side, cells):
        self.clock_s += self.turn_s
        self.taken.append((group.pattern, side.name))


def groups(*patterns):
    return [run.Group(4, pathlib.Path("/a"), pattern, ("fresh",)) for pattern in patterns]


def test_sides_alternate_within_a_group_and_groups_within_a_round(monkeypatch):
    fake = FakeMeasurement(monkeypatch, 1, "--alternations", "2")
    saved = []
    fake.measure(groups("tile", "lattice"), lambda: saved.append(len(fake.taken)))
    one, two = (side.name for side in sides.SIDES[:2])
    assert fake.taken == [("tile", one), ("tile", two), ("lattice", one), ("lattice", two),
                          ("tile", two), ("tile", one), ("lattice", two), ("lattice", one)]
    assert saved == [4, 8]


def test_run_ends_in_time_but_not_before_every_group_was_measured(monkeypatch):
    fake = FakeMeasurement(monkeypatch, 60, "--alternations", "9", "--minutes", "5")
    fake.measure(groups("tile", "lattice"), lambda: None)
    assert len(fake.taken) == 6  # the turns 5 and 6 began before five minutes were over
    slow = FakeMeasurement(monkeypatch, 600, "--alternations", "9", "--minutes", "5")
    slow.measure(groups("tile", "lattice"), lambda: None)
    assert len(slow.taken) == 4


@pytest.mark.parametrize("strategy, kept_s", [("behind", 0.5), ("two_phase,view_based", 0.5), ("two_phase", 0.0)])
def test_writes_that_may_stay_in_memory_are_measured_with_the_close(monkeypatch, tmp_path, strategy, kept_s):
    """On all sides, or the library alone would be charged with it."""
    monkeypatch.setattr(sides, "launch", lambda *_: [
        line([1.0, 2.0]) | {"mode": mode, "close_seconds": [0.5, 0.5]} for mode in ("fresh", "read")])
    measurement = run.Measurement(run.parse_arguments(["--strategy", strategy]), sides.Tools(tmp_path), [])
    for side in sides_named("mpich", "unisono-mpich"):
        lines = measurement._lines_of(groups("tile")[0], side, tmp_path / "file", tmp_path / "report")
        assert {mode: one["seconds"] for mode, one in lines} == {
            "fresh": [1.0 + kept_s, 2.0 + kept_s], "read": [1.0, 2.0]}


@pytest.mark.parametrize("minutes, interrupted_after, whole", [(28, None, True), (1, None, False), (28, 10, False)])
def test_results_of_a_part_are_not_taken_for_those_of_the_whole(monkeypatch, tmp_path, capsys, minutes, interrupted_after,
                                                                whole):
    fake = FakeMeasurement(monkeypatch, 20, "--patterns", "tile", "--ranks", "4", "--alternations", "9", "--minutes", str(minutes),
                           "--directory", str(tmp_path), "--json", str(tmp_path / "bench.json"))
    take = fake._take_turn

    def take_or_end(*words):
        if len(fake.taken) == interrupted_after:
            raise KeyboardInterrupt
        take(*words)

    monkeypatch.setattr(fake, "_take_turn", take_or_end)
    assert run.measure_and_save(fake.arguments, fake) == (interrupted_after is None)
    assert json.loads((tmp_path / "bench.json").read_text())["complete"] == whole
    assert ("4 of 18 turns" in capsys.readouterr().out) == (minutes == 1)


def test_side_that_failed_is_not_tried_again(monkeypatch):
    fake = FakeMeasurement(monkeypatch, 1, "--alternations", "3")
    cells = {"fresh": Cell(4, 2, "/a", "tile", "fresh")}
    cells["fresh"].add_error(sides.SIDES[0].name, "no end within 300 s")
    progress = run.Progress(2, 10.0)
    fake._measure_group(groups("tile")[0], 0, cells, progress)
    assert fake.taken == [("tile", sides.SIDES[1].name)]


def test_users_take_turns_by_a_lock_file_of_one_of_them(tmp_path, monkeypatch):
    lock = tmp_path / "lock"
    with run.timing_lock(lock):
        assert lock.exists()

    def open_as_somebody_else(path, mode="r"):
        if mode != "r":
            raise PermissionError(path)
        return open(path, mode)

    monkeypatch.setattr(run, "open", open_as_somebody_else, raising=False)
    with run.timing_lock(lock), open(lock) as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


# ---- applications

def test_a_cell_has_the_seconds_of_an_application_with_and_without_the_close():
    paper = {"direction": "write", "seconds": 2.0, "close_seconds": 0.5, "bytes": 7}
    assert {mode: cell["seconds"] for mode, cell in cells_of(paper)} == {"write calls": [2.0], "write, close": [2.5]}
    demo = {"write_seconds": 1.0, "write_open_to_close_seconds": 2.0, "read_seconds": 3.0,
            "read_open_to_close_seconds": 4.0, "bytes": 7}
    assert [cell["seconds"] for _, cell in cells_of(demo)] == [[1.0], [2.0], [3.0], [4.0]]
    assert tuple(mode for mode, _ in cells_of(demo)) == APPLICATION_MODES


def test_an_application_is_measured_only_where_it_runs(tmp_path):
    (tmp_path / "libexec").mkdir()
    (tmp_path / "libexec/unisono-bench.mpich").touch()
    btio = APPLICATIONS["btio"]
    assert btio.runs_on(side_named("mpich"), tmp_path, 4)
    assert not btio.runs_on(side_named("mpich"), tmp_path, 2)  # no square
    assert APPLICATIONS["coll-perf"].runs_on(side_named("mpich"), tmp_path, 2)
    for name in "ompio", "mpich-tuned", "posix":
        assert not btio.runs_on(side_named(name), tmp_path, 4)


def test_cell_compares_anew_when_measurements_come_in():
    cell = cell_with(mpich=[2.0], unisono_mpich=[1.0])
    assert cell.ratio("unisono-mpich", "mpich").value == 2.0
    cell.add("mpich", line([4.0]))
    cell.add("unisono-mpich", line([1.0]))
    assert cell.ratio("unisono-mpich", "mpich").value == 3.0


def test_a_measurement_names_what_was_built_not_what_is_checked_out_by_then(tmp_path):
    source, build = tmp_path / "source", tmp_path / "build"
    for folder in (source, build):
        folder.mkdir()
    assert environment.revision_of(build) == {"git_revision": "", "git_changed_files": 0}

    def git(*words: str) -> str:
        names = ["-c", "user.name=a", "-c", "user.email=a@b"]
        return subprocess.run(["git", "-C", source, *names, *words], check=True, capture_output=True, text=True).stdout.strip()

    def commit() -> str:
        git("commit", "--allow-empty", "-m", "x")
        return git("rev-parse", "HEAD")

    git("init")
    built = commit()
    (source / "changed").touch()
    subprocess.run(["cmake", f"-DSOURCE={source}", f"-DBUILD={build}", "-P", BENCH.parent / "cmake/revision.cmake"],
                   check=True)
    assert commit() != built
    described = environment.describe([tmp_path], build)
    assert (described["git_revision"], described["git_changed_files"]) == (built, 1)


def test_a_measurement_names_the_variables_that_programs_inherit(tmp_path, monkeypatch):
    """A strategy, or hints, of whoever measures hold for one side, and nobody would know."""
    monkeypatch.setattr(os, "environ", {"UNISONO_STRATEGY": "lacio", "HOME": "/", "ROMIO_HINTS": "file"})
    assert environment.describe([tmp_path], tmp_path)["variables"] == {
        "ROMIO_HINTS": "file", "UNISONO_STRATEGY": "lacio"}


def test_file_system_is_that_of_the_longest_mount_point():
    assert environment.file_system_of(pathlib.Path("/proc/self")) == "proc"


def test_patterns_are_those_of_the_program():
    source = pathlib.Path(run.__file__).with_name("pattern_table.cpp").read_text()
    table_text = source.split("constexpr std::array patterns{")[1].split("};")[0]
    names = [part.split('"')[1] for part in table_text.split("Pattern{")[1:]]
    assert tuple(names) == run.PATTERNS


def test_help_names_every_side():
    shown = subprocess.run([run.__file__, "--help"], capture_output=True, text=True, check=True)
    assert all(side.name in shown.stdout for side in sides.SIDES)
