"""Tests of the papers' experiments: their arithmetic, and one tiny figure from mount to report."""

import collections
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import types

import pytest

from sides import LaunchError

from papers import __main__ as main
from papers import headlines, judge, measured as kept, page, report, runner, simulated, testbed, timeline
from papers.experiment import Claim, Cluster, Figure, Job, Line, Servers
from papers.figures import ALL, QUICK, TELLING, lacio_fig6, lacio_ior, resonant_fig2
from papers.figures.engine import with_two_phase
from papers.media import Media, why_unsynced
from papers.results import Results, Sample, Spread, definition_of, loaded_or_new

BENCH = pathlib.Path(__file__).resolve().parent
DOCS = BENCH.parent / "docs" / "understand"
BUILD = pathlib.Path(os.environ.get("UNISONO_BUILD_DIR", BENCH.parent / "build")).resolve()
PROGRAM = BUILD / "libexec" / "unisono-bench.mpich"
JOB = (Job("demo", 4, {"segment-bytes": "64K"}),)


def figure(*claims: Claim, xs=("1", "2")) -> Figure:
    lines = tuple(Line(name, "mpich", {x: JOB for x in xs}) for name in ("ours", "theirs"))
    return Figure("test", "a title", "a source", Servers("sata-80gb"), "x", lines, claims, "")


def results(figure_: Figure, **speeds: dict[str, list[float]]) -> Results:
    """Speeds by line and x; one seed for each value."""
    samples = [Sample(figure_.testbed.profile, seed, line, x, value, [], {})
               for line, by_x in speeds.items() for x, values in by_x.items()
               for seed, value in enumerate(values, start=1)]
    return Results(definition_of(figure_), samples=samples)


def report_of(which: Figure, measured: Results) -> str:
    return report.markdown([(which, measured)], {which.name: "test.png"}, {which.name: "test.svg"})


def ratio(paper: float, at: str = "1", **more) -> Claim:
    return Claim("a claim", paper, "section 1", "ours", at, "theirs", **more)


# ---- the figures themselves

@pytest.mark.parametrize("which", [*ALL, QUICK], ids=lambda which: which.name)
def test_claims_name_cells_that_are_there(which):
    jobs = {line.name: line.jobs for line in which.lines}
    assert len(jobs) == len(which.lines), "two lines of one name"
    for claim in which.claims:
        assert claim.paper > 0
        for name in filter(None, (claim.line, claim.against)):
            assert name in jobs
        if claim.at not in ("best", "mean"):
            assert claim.at in jobs[claim.line]
            assert not claim.against or (claim.against_at or claim.at) in jobs[claim.against]


@pytest.mark.parametrize("which", [*ALL, QUICK], ids=lambda which: which.name)
def test_sides_and_profiles_exist(which):
    profiles = BENCH.parent / "testbed" / "profiles"
    assert (profiles / f"{which.testbed.profile}.json").exists()
    for line in which.lines:
        assert runner.side_of(line).name == line.side.partition(":")[0]
        assert line.testbed is None or line.testbed.profile == which.testbed.profile
        assert not line.gated_in_clients or line.side.startswith("unisono")
        assert not line.segments or which.cluster, "only a cluster's nodes count what they send"
        assert [bool(line.lists_of), bool(line.calls_of), line.segments].count(True) <= 1


@pytest.mark.parametrize("which", ALL, ids=lambda which: which.name)
def test_our_own_two_phase_stands_beside_every_strategy(which):
    """So that the engine's part can be told from the idea's."""
    strategies = [line for line in which.lines if ":" in line.side and not line.counts_messages]
    assert not strategies or any(line.side.endswith(":two_phase") for line in strategies)


def test_a_line_of_two_phase_differs_in_its_strategy_only():
    ours = Line("lacio, read", "unisono-mpich:lacio", {"1": JOB}, hints="a=b")
    romio = Line("ROMIO, read", "mpich", {"1": JOB})
    lines = with_two_phase((romio, ours))
    assert [line.name for line in lines] == ["ROMIO, read", "lacio, read", "two_phase, read"]
    assert lines[2] == dataclasses.replace(ours, name="two_phase, read",
                                           side="unisono-mpich:two_phase")
    with pytest.raises(ValueError, match="does not name its strategy"):
        with_two_phase((dataclasses.replace(ours, name="ours"),))


def test_eight_figures_tell_most_and_names_are_unique():
    assert len(TELLING) == 8
    assert len({which.name for which in (*ALL, QUICK)}) == len(ALL) + 1


# ---- judging

@pytest.mark.parametrize("paper, ours, theirs, word", [
    (2.5, 250, 100, judge.AGREES),
    (2.5, 210, 100, judge.AGREES),  # within 1.25
    (2.5, 160, 100, judge.WEAKER),
    (1.6, 300, 100, judge.STRONGER),
    (0.5, 20, 100, judge.LOSES_MORE),
    (0.5, 80, 100, judge.LOSES_LESS),
    (0.5, 100, 100, judge.NO_LOSS),
    (1.2, 102, 100, judge.NOT_SEEN),  # 2 % are nothing
    (1.2, 90, 100, judge.DISAGREES),
    (1.0, 120, 100, judge.AGREES),
    (1.0, 200, 100, judge.DISAGREES),
])
def test_word_for_a_ratio(paper, ours, theirs, word):
    which = figure(ratio(paper))
    verdict, = judge.verdicts(which, results(which, ours={"1": [ours]}, theirs={"1": [theirs]}))
    assert verdict.word == word


def test_ratios_are_taken_within_a_seed():
    """2 / 1 and 40 / 10: 2 and 4, with the median between them; not 21 / 5.5."""
    which = figure(ratio(3.0))
    verdict, = judge.verdicts(which, results(which, ours={"1": [2, 40]}, theirs={"1": [1, 10]}))
    assert verdict.ours == Spread(median=3.0, low=2.0, high=4.0, seeds=2)


def test_a_claim_can_ask_for_more_than_the_usual_agreement():
    which = figure(ratio(1.0), ratio(1.0, within=1.04))
    loose, strict = judge.verdicts(which, results(which, ours={"1": [105]}, theirs={"1": [100]}))
    assert (loose.word, strict.word) == (judge.AGREES, judge.DISAGREES)


def test_a_claim_can_be_about_a_ceiling():
    which = figure(ratio(1.0, on="off"))
    measured = results(which, ours={"1": [200.0]}, theirs={"1": [100.0]})
    assert judge.verdicts(which, measured)[0].word == judge.NOT_MEASURED
    measured.samples += [Sample("off", 1, line, "1", 50.0, [], {}) for line in ("ours", "theirs")]
    assert judge.verdicts(which, measured)[0].ours.median == 1.0


def test_best_and_mean_are_over_all_x():
    which = figure(ratio(4.0, "best"), ratio(3.0, "mean"))
    measured = results(which, ours={"1": [2], "2": [8]}, theirs={"1": [1], "2": [2]})
    best, mean = judge.verdicts(which, measured)
    assert (best.ours.median, mean.ours.median) == (4.0, 3.0)


def test_the_best_is_of_what_was_measured_and_a_mean_is_of_everything():
    """At 2 all runs came too late."""
    which = figure(ratio(2.0, "best"), ratio(2.0, "mean"))
    best, mean = judge.verdicts(which, results(which, ours={"1": [2]}, theirs={"1": [1], "2": [1]}))
    assert best.ours.median == 2.0 and mean.word == judge.NOT_MEASURED


def test_speeds_are_held_against_the_papers_and_missing_cells_are_said():
    which = figure(dataclasses.replace(ratio(100), against=""), ratio(2.0, "2"))
    speed, missing = judge.verdicts(which, results(which, ours={"1": [160]}))
    assert (speed.word, missing.word, missing.ours) == (judge.OTHER_VALUE, judge.NOT_MEASURED, None)


# ---- running

def test_throughput_of_two_programs_is_from_the_first_beginning_to_the_last_end():
    """20 MB from 10.0 s to 12.0 s, and 30 MB from 11.0 s to 15.0 s: 50 MB in 5 s."""
    printed = [{"bytes": 20e6, "began_at": 9.5, "open_seconds": 0.5, "seconds": 2.0,
                "close_seconds": 9.0},
               {"bytes": 30e6, "began_at": 11.0, "open_seconds": 0.0, "seconds": 4.0,
                "close_seconds": 0.0}]
    jobs = (Job("demo", 4), Job("mpi-io-test", 4))
    line = Line("two", "mpich", {"1": jobs})
    assert runner.throughput(line, printed, jobs) == pytest.approx(10.0)
    alone = (jobs[0], dataclasses.replace(jobs[1], background=True))
    assert runner.throughput(line, printed, alone) == pytest.approx(10.0)
    with_close = dataclasses.replace(line, with_close=True)
    assert runner.throughput(with_close, printed, alone) == pytest.approx(20 / 11)


def test_computing_between_calls_counts_only_where_a_line_says_so():
    """20 MB in 5 s, of which 4 s were computed: 4 MB/s, or 20 MB/s; with a close of 1 s 10."""
    printed = [{"bytes": 20e6, "began_at": 0.0, "open_seconds": 0.0, "seconds": 5.0,
                "compute_seconds": 4.0, "close_seconds": 1.0}]
    line = Line("one", "mpich", {"1": JOB})
    for more, mb_per_s in (({}, 4), ({"calls_only": True}, 20),
                           ({"calls_only": True, "with_close": True}, 10)):
        counted = dataclasses.replace(line, **more)
        assert runner.throughput(counted, printed, JOB) == pytest.approx(mb_per_s)


@pytest.mark.parametrize("median, p99, late", [(50, 900, False), (250, 900, True), (50, 5000, True)])
def test_late_runs_are_recognised(median, p99, late):
    servers = [{"read_bytes": 4096, "written_bytes": 0}]
    lateness = {"requests": 10, "median": median, "p99": p99}
    assert testbed.too_late({"lateness_us": lateness, "servers": servers}) is late
    assert not testbed.too_late({"emulated": False})


def test_programs_that_go_first_are_the_same_programs(capfd):
    """Also where niceness cannot be had, and with what they say of errors."""
    command = testbed.going_first(["env", "LD_PRELOAD=", "sh", "-c", "echo $0 $1; echo wrong >&2", "a b", "c"])
    assert command[:2] == ["env", "LD_PRELOAD="] and command[-5:] == ["sh", "-c", "echo $0 $1; echo wrong >&2", "a b", "c"]
    subprocess.run(command, check=True)
    said = capfd.readouterr()
    assert (said.out, said.err.splitlines()[-1]) == ("a b c\n", "wrong")


@pytest.mark.parametrize("wrong", [{}, {"no-such-option": 1}])
def test_programs_of_a_run_begin_together_or_end_without_one_that_fails(tmp_path, wrong):
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")
    first = Job("strided", 2, {"file-bytes": "256K", "call-bytes": "128K"}, "write", sync=False, file="first",
                begins_after_s=0.3)
    other = Job("strided", 1, {"file-bytes": "128K", "call-bytes": "64K", **wrong}, "write", sync=False, file="other")
    asked = runner.Settings(BUILD, tmp_path, tmp_path, tmp_path / "lock")
    work = runner.FigureRun(figure(), asked, Results(definition_of(figure())))
    pocket = types.SimpleNamespace(mountpoint=tmp_path, environment=None)
    line = Line("plain", "mpich", {"1": (first, other)})
    if wrong:
        with pytest.raises(LaunchError, match="no-such-option"):
            work._run_jobs(pocket, line, line.jobs["1"])
        return
    printed = work._run_jobs(pocket, line, line.jobs["1"])
    assert printed[0]["began_at"] >= printed[1]["began_at"] and printed[0]["bytes"] == 2 * printed[1]["bytes"]


def test_waiting_for_another_large_answer_is_no_lateness():
    """0.2 ms and 0.2 ms for 1 MB."""
    servers = [{"read_bytes": 3e6, "written_bytes": 1e6}, {"read_bytes": 0, "written_bytes": 0}]
    for median, late in ((390, False), (410, True)):
        lateness = {"requests": 4, "median": median, "p99": 900}
        assert testbed.too_late({"lateness_us": lateness, "servers": servers}) is late


def test_orchestrator_is_there_for_lines_that_ask_and_goes_with_them(tmp_path):
    order = tmp_path / "order"
    unisono = tmp_path / "unisono"
    unisono.write_text(f'#!/bin/sh\necho "$*" >> {order}\n[ "$4" != --bad ] || exit 1\n')
    unisono.chmod(0o755)
    pocket = testbed.Pocket(None, tmp_path, unisono)
    with pocket.orchestrated(None):
        assert not order.exists()
    with pocket.orchestrated(("--policy", "paper")):
        pass
    mount = tmp_path / "mount"
    assert order.read_text().splitlines() == [f"orchestra up {mount} --policy paper",
                                              f"orchestra down {mount}"]
    with pytest.raises(LaunchError), pocket.orchestrated(("--bad",)):
        pass


def run_of(which: Figure, tmp_path, **settings) -> runner.FigureRun:
    asked = runner.Settings(tmp_path, tmp_path, tmp_path, tmp_path / "lock", **settings)
    return runner.FigureRun(which, asked, Results(definition_of(which)))


def test_lines_on_other_servers_have_mounts_of_their_own(tmp_path):
    deadline = Servers("sata-80gb", scheduler="deadline")
    lines = (Line("a", "mpich", {"1": JOB}), Line("b", "mpich", {"1": JOB}, testbed=deadline),
             Line("c", "mpich", {"1": JOB}))
    which = dataclasses.replace(figure(), lines=lines)
    mounts = run_of(which, tmp_path)._by_servers([(line, "1") for line in lines])
    assert [(servers.scheduler, [line.name for line, _x in cells]) for servers, cells in mounts] \
        == [("none", ["a", "c"]), ("deadline", ["b"])]


def test_lines_of_another_kind_of_orchestrator_are_skipped_where_it_is_not(tmp_path):
    (tmp_path / "bin").mkdir()
    unisono = tmp_path / "bin" / "unisono"
    unisono.write_text("#!/bin/sh\necho '--gate [servers]'\n")
    unisono.chmod(0o755)
    assert testbed.reason_without_orchestra(tmp_path, ("--policy", "paper")) == ""
    in_clients = ("--gate", "clients")
    assert "--gate clients" in testbed.reason_without_orchestra(tmp_path, in_clients)
    unisono.write_text("#!/bin/sh\necho '--gate [servers|clients]'\n")
    assert testbed.reason_without_orchestra(tmp_path, in_clients) == ""
    unisono.write_text("#!/bin/sh\nexit 2\n")
    assert "not there" in testbed.reason_without_orchestra(tmp_path, ("--policy", "paper"))


def test_nodes_are_told_unless_there_is_a_cluster_that_shows_them(tmp_path):
    which = figure()
    line, job = which.lines[0], JOB[0]
    assert run_of(which, tmp_path)._settings_of(line, job)["UNISONO_TOPOLOGY"] == "nodes=4"
    on_cluster = dataclasses.replace(which, cluster=Cluster(nodes=2))
    assert "UNISONO_TOPOLOGY" not in run_of(on_cluster, tmp_path)._settings_of(line, job)


def test_a_line_may_count_what_is_sent_to_say_what_is_wanted(tmp_path):
    which = dataclasses.replace(figure(), unit="KiB")
    line = dataclasses.replace(which.lines[0], lists_of=80)
    work = run_of(which, tmp_path)
    command = ["mpiexec", "env", "LD_PRELOAD=a.so", "X=1", "program"]
    side = runner.side_of(dataclasses.replace(line, side="unisono-mpich:view_based"))
    told = runner.counting(command, side, work.tools, work._counts)
    assert told[2].startswith("LD_PRELOAD=") and told[2].endswith(":a.so") and told[-2:] == ["X=1", "program"]
    assert f"MESSAGE_COUNTER_FILE={tmp_path / 'message-counts'}" in told
    assert any(word.startswith("MESSAGE_COUNTER_LIST_TAG=") for word in told)
    counts = "1024 7 2 11\n512 9 1 13\n"  # of two processes: bytes of lists, of all else, sends, collective calls
    work._counts.write_text(counts)
    assert work._value(line, [], JOB) == pytest.approx(1.5 * 80)
    assert not work._counts.exists()
    work._counts.write_text("0 9 1 1\n")  # something else was taken for lists
    with pytest.raises(runner.LaunchError, match="none of the messages"):
        work._value(line, [], JOB)
    for kind, number in (("point-to-point", 3), ("collective", 24)):
        work._counts.write_text(counts)
        assert work._value(dataclasses.replace(line, lists_of=0, calls_of=kind), [], JOB) == number


def test_a_program_that_writes_and_reads_takes_from_its_first_open_to_its_last_close():
    """But for what it sleeps between reads. 7 s after it began it opened the file again."""
    written = {"began_at": 100.0, "open_seconds": 1.0, "seconds": 4.0, "compute_seconds": 2.0,
               "close_seconds": 1.5, "bytes": 60_000_000}
    read = {"began_at": 107.0, "open_seconds": 0.5, "seconds": 5.0, "compute_seconds": 3.0,
            "close_seconds": 0.5, "bytes": 60_000_000}
    job, = JOB
    both = dataclasses.replace(job, direction="both", sync=False)
    assert "--read" not in (words := runner.words_of(both, pathlib.Path("/mnt"))) and "--write" not in words
    line = Line("ours", "mpich", {"1": (both,)})
    assert runner.throughput(line, [runner.in_both_directions(written, read)], (both,)) == pytest.approx(120 / 10)


def test_segments_that_nodes_send_are_read_from_each_node():
    class Two:
        nodes = ["a", "b"]

        def command_on(self, node: int, command: list[str]) -> list[str]:
            assert command == ["cat", "/proc/net/snmp"]
            return ["printf", f"Ip: Forwarding\nIp: 1\nTcp: InSegs OutSegs\nTcp: 5 {10 + 20 * node}\n"]

    assert testbed.segments_sent(Two()) == 20


def test_a_figure_that_needs_a_cluster_is_skipped_without_root(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    which = dataclasses.replace(figure(), cluster=Cluster(nodes=2))
    work = run_of(which, tmp_path)
    work.run()
    assert work.results.samples == []
    assert work.results.skipped == dict.fromkeys(("ours", "theirs"), "a pocket cluster needs root")


def test_an_interrupted_run_keeps_what_it_has_measured(tmp_path, monkeypatch):
    work = run_of(figure(), tmp_path)

    def measure_one(_lines):
        work.results.samples.append(Sample("sata-80gb", 1, "ours", "1", 100.0, [], {}))
        raise KeyboardInterrupt

    monkeypatch.setattr(work, "lines", lambda: list(work.figure.lines))
    monkeypatch.setattr(work, "_measure_all", measure_one)
    with pytest.raises(KeyboardInterrupt):
        work.run()
    assert [sample.mb_per_s for sample in loaded_or_new(work.figure, work.path).samples] == [100.0]


def test_runs_of_earlier_revisions_and_without_priority_are_told_from_new_ones(tmp_path, monkeypatch):
    which = figure()
    before = results(which, ours={"1": [1.0]})
    before.environment = {"git_revision": "abcdefabcdef"}
    before.save(tmp_path / "test.json")
    said = []
    work = run_of(which, tmp_path, realtime=True, say=said.append)
    work.results = loaded_or_new(which, work.path)
    monkeypatch.setattr(runner.environment, "describe", lambda *_: {"git_revision": "0123456789"})
    monkeypatch.setattr(work, "lines", list)
    work.run()
    assert said == ["test: runs of abcdefa stay, and this is 0123456; --fresh makes them anew"]
    monkeypatch.setattr(work, "_run_jobs", lambda *_: [{"bytes": 1, "seconds": 1.0}])
    monkeypatch.setattr(work, "_value", lambda *_: 2.0)
    assert kept.Runs.of(work.results).realtime == "no"
    pocket = types.SimpleNamespace(begin_run=lambda: None, orchestrated=lambda _options: contextlib.nullcontext(),
                                   statistics=lambda: {"emulated": False})
    work._measure_cell(pocket, "off", 1, which.lines[0], "1")
    work.results.save(work.path)
    known = loaded_or_new(which, work.path)
    assert (kept.Runs.of(known).realtime, known.revisions) == ("some", ["abcdefa", "0123456"])
    assert "of abcdefa, 0123456.*" in report_of(which, known)
    known.samples = known.samples[1:]
    assert kept.Runs.of(known).realtime == "yes"


def test_a_run_that_came_too_late_each_time_is_missed_and_said(tmp_path, monkeypatch):
    said = []
    work = run_of(figure(), tmp_path, say=said.append)
    monkeypatch.setattr(work, "_run_jobs", lambda *_: [{"bytes": 1}])
    monkeypatch.setattr(work, "_value", lambda *_: 2.0)
    late = {"lateness_us": {"requests": 1, "median": 9000, "p99": 9000},
            "servers": [{"read_bytes": 0, "written_bytes": 0}]}
    pocket = types.SimpleNamespace(begin_run=lambda: None, orchestrated=lambda _options: contextlib.nullcontext(),
                                   statistics=lambda: late)
    work._measure_cell(pocket, "sata-80gb", 7, work.figure.lines[0], "1")
    assert work.results.samples == [] and len(work.results.rejected) == runner.TRIES
    assert said == ["test: ours at 1, sata-80gb, seed 7: the machine was too late 3 times; the same command tries it again"]


def test_minutes_come_from_what_was_measured_else_from_what_is_declared():
    """Two lines, two x: 4 cells, each with 5 seeds and two ceilings: 28 runs."""
    which = dataclasses.replace(figure(), run_seconds=6)
    assert which.runs == 28
    assert Results(definition_of(which)).minutes(which) == pytest.approx(2.8)
    measured = results(which, ours={"1": [1.0, 2.0]})
    measured.rejected = [{}, {}]
    measured.spent_s = 40.0  # 10 s a run
    assert measured.minutes(which) == pytest.approx(28 * 10 / 60)
    orchestrated = tuple(dataclasses.replace(line, orchestra=()) for line in which.lines)
    assert dataclasses.replace(which, lines=orchestrated).runs == 24  # not without emulation


def test_results_are_kept_only_while_the_experiment_is_the_same(tmp_path):
    which = figure(ratio(2.0))
    before = results(which, ours={"1": [1.0]}, theirs={"1": [1.0]})
    before.environment = {"git_revision": "abc"}
    before.save(tmp_path / "test.json")
    assert len(loaded_or_new(which, tmp_path / "test.json").samples) == 2
    other_claims = dataclasses.replace(which, claims=())
    assert len(loaded_or_new(other_claims, tmp_path / "test.json").samples) == 2
    lines = (which.lines[0], dataclasses.replace(which.lines[1], with_close=True))
    other_line = dataclasses.replace(which, lines=lines)
    assert len(loaded_or_new(other_line, tmp_path / "test.json").samples) == 1  # of "ours"
    for other in ({"testbed": Servers("sata-80gb", servers=5)}, {"cluster": Cluster(nodes=2)}):
        changed = dataclasses.replace(which, **other)
        new = loaded_or_new(changed, tmp_path / "test.json")
        assert new.samples == []
        assert new.environment == {}  # what is measured then has its own revision
    one_more_x = dataclasses.replace(which, lines=tuple(
        dataclasses.replace(line, jobs={**line.jobs, "3": JOB}) for line in which.lines))
    assert len(loaded_or_new(one_more_x, tmp_path / "test.json").samples) == 2


def test_results_outlive_a_new_setting_of_jobs_that_is_off(tmp_path):
    which = figure(ratio(2.0))
    file = tmp_path / "test.json"
    results(which, ours={"1": [1.0]}, theirs={"1": [1.0]}).save(file)
    file.write_text(file.read_text().replace('"background": false', '"of_old": false'))
    assert "of_old" in file.read_text()
    assert len(loaded_or_new(which, file).samples) == 2


# ---- synced writes

PROFILES = BENCH.parent / "testbed" / "profiles"
MEDIA = Media.of(PROFILES / "sata-80gb.json", servers=4)  # 4 * 55 MB/s, 4 * 2 MiB in the drives
SYNCED = Job("coll-perf", 4, {"side": 256}, direction="write")
MIB = 1 << 20


def refused(tmp_path, written_bytes: int, mb_per_s: float, file_bytes: int = 0, flushes: int = 1):
    """Why a synced write at this speed is refused, of a file that is as long unless said."""
    file = tmp_path / "file"
    file.touch()
    os.truncate(file, file_bytes or written_bytes)
    printed = {"bytes": written_bytes, "seconds": written_bytes / mb_per_s / 1e6}
    return why_unsynced(printed, file, MEDIA, {"servers": [{"flushes": flushes}]})


def test_a_synced_write_faster_than_the_media_is_refused(tmp_path):
    """67.1 MB less 8.4 in the drives, at 220 MB/s: not faster than 252. Figure 6 of Resonant I/O had
    408."""
    assert refused(tmp_path, 64 * MIB, 408) == (
        "synced write of 67.1 MB in 0.164 s is 408 MB/s, but the media take at most 220 MB/s:"
        " nothing was synced")
    assert refused(tmp_path, 64 * MIB, 253) and not refused(tmp_path, 64 * MIB, 251)


def test_a_synced_write_without_a_flush_of_any_server_is_refused_at_any_speed(tmp_path):
    assert "no server was asked to flush" in refused(tmp_path, 64 * MIB, 10, flushes=0)


def test_what_the_drives_can_hold_is_not_refused(tmp_path):
    assert not refused(tmp_path, 8 * MIB, 5000)


def test_bytes_that_are_written_again_before_the_sync_count_once(tmp_path):
    """Matrix goes on for some seconds: five times 16 MiB, of which 7.6 MB are not in the drives."""
    assert not refused(tmp_path, 80 * MIB, 1000, file_bytes=16 * MIB)


@pytest.mark.parametrize("profile, mb_per_s", [
    ("sata-80gb", 55), ("ssd", 500), ("hgst-7k8", 117.7), ("instant", 117.7)])
def test_media_are_outermost_zones_or_flash_behind_the_servers_links(profile, mb_per_s):
    assert Media.of(PROFILES / f"{profile}.json", servers=6).mb_per_s == pytest.approx(6 * mb_per_s)


class FastPocket:
    """A pocket file system on which a program has written 64 MiB in 0.16 s."""

    def __init__(self, folder: pathlib.Path):
        self.mountpoint = folder
        self.commands = types.SimpleNamespace(
            profile_file=lambda name: PROFILES / f"{name}.json")
        (folder / "file").touch()
        os.truncate(folder / "file", 64 * MIB)

    def begin_run(self) -> None:
        pass

    def orchestrated(self, _options):
        return contextlib.nullcontext()

    def statistics(self) -> dict:
        return {"emulated": True, "servers": [{"flushes": 1}]}


def test_a_run_that_synced_nothing_is_an_error_and_not_a_result(tmp_path, monkeypatch):
    line = Line("ours", "unisono-mpich", {"1": (SYNCED,)})
    work = run_of(dataclasses.replace(figure(), lines=(line,)), tmp_path)
    printed = {"bytes": 64 * MIB, "seconds": 0.16}
    monkeypatch.setattr(work, "_run_jobs", lambda *_: [printed])
    work._measure_cell(FastPocket(tmp_path), "sata-80gb", 1, line, "1")
    assert work.results.samples == []
    assert "at 1, sata-80gb: synced write of 67.1 MB" in work.results.failed["ours"]


def of_before(tmp_path) -> tuple[Figure, pathlib.Path]:
    """A figure with results of before 0.2: synced writes of ROMIO and of Unisono, and reads."""
    reads = (dataclasses.replace(SYNCED, direction="read"),)
    lines = (Line("theirs", "mpich", {"1": (SYNCED,)}),
             Line("ours", "unisono-mpich:resonant", {"1": (SYNCED,), "read": reads}),
             Line("ours on Open MPI", "unisono-ompi", {"1": (SYNCED,)}))
    which = dataclasses.replace(figure(ratio(2.0), ratio(2.0, "best")), lines=lines)
    before = results(which, theirs={"1": [133.0]}, ours={"1": [408.0], "read": [210.0]},
                     **{"ours on Open MPI": {"1": [130.0]}})
    before.environment = {"git_revision": "853cd9c"}
    before.save(tmp_path / "test.json")
    return which, tmp_path / "test.json"


def test_synced_writes_under_mpich_of_before_the_sync_was_one_are_void(tmp_path):
    which, file = of_before(tmp_path)
    known = loaded_or_new(which, file)
    assert [(sample.line, sample.x) for sample in known.void] == [("ours", "1")]
    assert {verdict.word for verdict in judge.verdicts(which, known)} == {judge.VOID}
    text = report_of(which, known)
    assert "| theirs | 133 | - |" in text and "| ours | void | 210 |" in text
    assert "| ours on Open MPI | 130 | - |" in text and "408" not in text
    assert "4 runs with 1 seed" in text and "| **void** |" in text
    known.save(file)
    assert loaded_or_new(which, file) == known


def test_what_was_void_is_measured_again_and_counts_with_its_own_revision(tmp_path):
    which, file = of_before(tmp_path)
    known = loaded_or_new(which, file)
    profile = which.testbed.profile
    assert not known.has(profile, 1, "ours", "1")
    known.samples.append(Sample(profile, 1, "ours", "1", 140.0, [], {}, "0123456789"))
    known.save(file)
    again = loaded_or_new(which, file)
    assert again.void == []
    text = report_of(which, again)
    assert "| ours | 140 | 210 |" in text and "**void**" not in text
    assert kept.Runs.of(again).revision == "853cd9c 0123456"


# ---- the report

def test_a_figure_that_is_here_in_part_is_not_documented_without_a_word(tmp_path, capsys):
    which = figure(xs=("1",))  # two lines, five seeds and two ceilings
    half = results(which, ours={"1": [1.0] * 5})
    half.save(tmp_path / "test.json")
    assert main.measured_in(tmp_path, (which,)) == [(which, half)]
    assert capsys.readouterr().out == "test: 5 of 14 runs\n"
    profiles = [which.testbed.profile] * 5 + ["instant", "off"]
    half.samples = [Sample(profile, seed, line.name, "1", 1.0, [], {}) for line in which.lines
                    for seed, profile in enumerate(profiles)]
    half.save(tmp_path / "test.json")
    main.measured_in(tmp_path, (which,))
    assert capsys.readouterr().out == ""


def test_report_shows_disagreement_and_holds_its_pictures(tmp_path):
    which = figure(ratio(2.0, why="because"), xs=("1",))
    measured = results(which, ours={"1": [90.0]}, theirs={"1": [100.0]})
    measured.skipped["a side"] = "not built"
    html = report.write([(which, measured)], tmp_path).read_text()
    assert '<strong class="bad">disagrees</strong>' in html and "emulated" in html
    assert 'src="data:image/png;base64,' in html and "a side was not run: not built" in html
    text = (tmp_path / "report.md").read_text()
    assert "| test, 1 seed | a claim | 2.00 | 0.90 | **disagrees** | because |" in text
    for picture in ("![a title](test.png)", "![test: a title](test.svg)"):
        assert picture in text and (tmp_path / picture.partition("(")[2][:-1]).exists()
    assert html.count("data:image/svg+xml") == 1


def test_report_says_where_another_strategy_did_calls():
    which = dataclasses.replace(figure(), lines=(Line("ours", "unisono-mpich:lacio", {"1": JOB, "2": JOB}),
                                                 Line("rule", "unisono-mpich", {"1": JOB})))

    def sample(line: str, x: str, *strategies: str) -> Sample:
        return Sample("sata-80gb", 1, line, x, 9.0, [{"strategies": dict.fromkeys(strategies, 4)}], {})

    measured = Results(definition_of(which), samples=[
        sample("ours", "1", "lacio"), sample("ours", "2", "lacio", "two_phase"), sample("rule", "1", "two_phase")])
    text = report_of(which, measured)
    assert "*ours at 2: calls were done by two_phase*" in text and text.count("were done by") == 1


def test_report_says_how_fair_two_instances_were_to_each_other():
    """100 and 50 MB/s: (150)^2 / (2 * (100^2 + 50^2)) = 0.9."""
    pair = {"1": (Job("demo", 4), Job("demo", 4, file="other"))}
    which = dataclasses.replace(figure(), lines=(Line("ours", "mpich", pair),))
    programs = [{"bytes": 100, "seconds": 1.0}, {"bytes": 50, "seconds": 1.0}]
    measured = Results(definition_of(which), samples=[
        Sample("sata-80gb", 1, "ours", "1", 150.0, programs, {})])
    assert "index:\n\n|  | 1 |\n|---|---|\n| ours | 0.90 |" in report_of(which, measured)


def test_report_says_how_fair_different_programs_were_to_each_other():
    """100 of 200 and 50 of 100 MB/s: each has half of what it has alone."""
    two = (Job("demo", 4), Job("hpio", 4))
    together = Line("ours", "mpich", {"1": two})
    which = dataclasses.replace(figure(), lines=(together,))
    programs = [{"bytes": 100, "seconds": 1.0}, {"bytes": 50, "seconds": 1.0}]
    samples = [Sample("sata-80gb", 1, "ours", "1", 150.0, programs, {})]
    assert "Jain" not in report_of(which, Results(definition_of(which), samples=samples))
    alone = Line("alone", "mpich", {"a": two[:1], "b": two[1:]})
    which = dataclasses.replace(which, lines=(together, alone))
    samples += [Sample("sata-80gb", 1, "alone", "a", 200.0, programs[:1], {}),
                Sample("sata-80gb", 1, "alone", "b", 100.0, programs[1:], {})]
    measured = Results(definition_of(which), samples=samples)
    assert "index:\n\n|  | 1 | a | b |\n|---|---|---|---|\n| ours | 1.00 | - | - |" in (
        report_of(which, measured))


def test_report_tells_the_papers_claims_from_numbers_for_words_and_from_our_own():
    which = figure(ratio(2.0), dataclasses.replace(ratio(1.5), says="a little", in_words=True),
                   dataclasses.replace(ratio(1.0), says="our hope", own=True), xs=("1",))
    text = report_of(which, results(which, ours={"1": [96.0, 100.0]}, theirs={"1": [100.0, 100.0]}))
    assert "| a claim | 2.00 | 0.98 (0.96-1.00) | **not seen** |" in text
    assert "| a little | 1.50 (ours) | 0.98" in text
    paper, own = text.split("## This project's own expectations")
    assert "our hope" in own and "our hope" not in paper and "a claim" not in own
    assert "| a source | 0 | 0 | 1 | 0 | 0 | 0 | 0 of 1 |" in paper


def test_numbers_of_earlier_servers_are_shown_without_a_verdict():
    which = figure(ratio(2.0), xs=("1",))
    known = kept.Measured.of(which, results(which, ours={"1": [200.0]}, theirs={"1": [100.0]}))
    assert [verdict.word for verdict in kept.verdicts(which, known)] == [judge.AGREES]
    later = dataclasses.replace(which, testbed=Servers("resonant-2009"))
    verdict, = kept.verdicts(later, known)
    assert (verdict.word, verdict.ours.median) == (judge.EARLIER, 2.0)


def test_what_the_documentation_keeps_is_what_was_measured(tmp_path):
    which = figure(ratio(2.0), ratio(3.0, "2"), xs=("1", "2"))
    before = {which.name: kept.Measured.of(which, results(
        which, ours={"1": [96.0, 100.0]}, theirs={"1": [100.0, 100.0]}))}
    kept.save(before, tmp_path)
    assert kept.load(tmp_path) == before
    words = [verdict.word for verdict in kept.verdicts(which, before[which.name])]
    assert words == [judge.NOT_SEEN, judge.NOT_MEASURED]


def test_what_is_void_stays_void_in_the_documentation(tmp_path):
    which, file = of_before(tmp_path)
    kept.save({which.name: kept.Measured.of(which, loaded_or_new(which, file))}, tmp_path)
    again = kept.load(tmp_path)[which.name]
    assert {verdict.word for verdict in kept.verdicts(which, again)} == {judge.VOID}
    assert None in again.cells.values()


def test_the_page_of_the_papers_is_what_its_data_say(tmp_path):
    """Else: cd bench && python3 -m papers --document"""
    known = kept.load(DOCS / "papers")
    figures = [(which, known[which.name]) for which in ALL if which.name in known]
    text = (DOCS / "papers.md").read_text()
    runs = simulated.measured_of(simulated.load(DOCS / "papers" / "simulated.csv"))
    made = {"simulated": simulated.draw(runs, tmp_path)}
    assert page.renewed(text, figures, "papers", made) == text
    page.save_verdicts(figures, runs, tmp_path / "verdicts.csv")
    assert (tmp_path / "verdicts.csv").read_text() == (DOCS / "papers" / "verdicts.csv").read_text()
    named = set(re.findall(r"\(papers/([\w-]+\.svg)\)", text))
    assert named == {picture.name for picture in (DOCS / "papers").glob("*.svg")}
    blocks = {name for _start, name, _end in page.BLOCK.findall(text)}
    assert blocks == {*page.brief_blocks(figures, collections.defaultdict(str)), *made}


def test_headlines_are_claims_of_the_papers():
    figures = {which.name: which for which in ALL}
    for headline in headlines.HEADLINES:
        claims = [claim for claim in figures[headline.figure].claims
                  if (claim.line, claim.at) == (headline.line, headline.at)]
        assert claims and not claims[0].own and claims[0].against, headline
    known = kept.load(DOCS / "papers")
    measured = [(which, known[which.name]) for which in ALL if which.name in known]
    found = headlines.found(measured)
    assert len(found) == len(headlines.HEADLINES) == 13
    assert f"{headlines.agreeing(found)} of 13 agree" in (DOCS / "papers.md").read_text()


def test_simulated_runs_ask_for_what_the_programs_do():
    """strided: 16 MiB of a call are 64 blocks of 16 KiB for each of 16 ranks; two ranks on a node."""
    cells = {(line.name, x): words
             for line, x, words in simulated.cells_of(lacio_fig6.FIGURE, PROFILES)}
    words = cells["lacio", "64M"]
    told = dict(zip(words[1::2], words[2::2]))
    assert told["--piece-bytes"] == "16384" and told["--pieces"] == "64"
    assert told["--ranks-per-node"] == "2" and told["--cb-nodes"] == "8"
    assert told["--strategy"] == "lacio" and told["--file-bytes"] == str(64 * MIB)
    assert ("OMPIO", "64M") not in cells
    dealt = simulated.cells_of(lacio_ior.RANDOM, PROFILES)
    assert dealt and all("--dealt" in words and "write" not in line.name for line, _x, words in dealt)


def test_a_simulated_run_replays_exactly():
    simulate = BUILD / "tests" / "simulate"
    if not simulate.exists():
        pytest.skip("simulate is not built: SimGrid is missing")
    _line, _x, words = simulated.cells_of(resonant_fig2.FIGURE, PROFILES)[0]
    first, again = (subprocess.run([simulate, *words, "--seed", "3"], check=True, capture_output=True,
                                   text=True).stdout for _run in range(2))
    assert first == again and json.loads(first)["mb_per_s"] > 0


# ---- everything together

def needs_pocket() -> None:
    if why := testbed.reason_to_skip(BUILD):
        pytest.skip(why)
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")


def papers(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "papers", "--build", str(BUILD), *words],
                          cwd=BENCH, capture_output=True, text=True, timeout=200, check=False)


def test_quick_figure_from_mount_to_report(tmp_path):
    needs_pocket()
    words = ("--quick", "--results", str(tmp_path), "--lock", str(tmp_path / "lock"))
    in_memory = pathlib.Path("/dev/shm")
    before = set(in_memory.glob("unisono-quick-*"))  # as somebody who was killed has left
    done = papers(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    measured = Results.load(tmp_path / "quick.json")
    assert measured.failed == {} and measured.environment["cores"] >= 1
    cells = {(profile, line.name, x) for profile in (QUICK.testbed.profile, "instant", "off")
             for line in QUICK.lines for x in line.jobs}
    found = {(sample.profile, sample.line, sample.x) for sample in measured.samples}
    gave_up = [late for late in cells - found
               if sum((late == (run["profile"], run["line"], run["x"]))
                      for run in measured.rejected) == runner.TRIES]
    assert found | set(gave_up) == cells
    for sample in measured.samples:
        assert sample.mb_per_s > 0
        # All bytes passed the emulated servers, whichever way the program asked for them.
        assert sample.profile == "off" or sample.servers["reads"] > 0
        if sample.line == "resonant":
            assert sample.programs[0]["strategies"] == {"resonant": 8 if sample.x == "64K" else 16}
    assert "emulated" in (tmp_path / "report.html").read_text()
    assert set(in_memory.glob("unisono-quick-*")) <= before

    count = len(measured.samples)
    again = papers(*words)
    assert again.returncode == 0, again.stderr
    if not gave_up:
        assert len(Results.load(tmp_path / "quick.json").samples) == count
        assert "seed" not in again.stdout, "it was measured again"


def bench_program(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run(["mpiexec.mpich", "-n", "2", PROGRAM, *words], capture_output=True,
                          text=True, timeout=200, check=False)


def sent_by_btio(tmp_path: pathlib.Path, *preloaded: pathlib.Path, **variables: str) -> tuple[int, ...]:
    """By btio with 16^3 points and 4 processes: bytes that say what is wanted, and all others; how many messages,
    and collective calls."""
    counter = BUILD / "lib" / "libunisono-message-counter.so"
    if not PROGRAM.exists() or not counter.exists():
        pytest.skip(f"{PROGRAM} or {counter} is not built")
    libraries = ":".join(map(str, (counter, *preloaded, BUILD / "lib" / "libunisono-yield.so")))
    done = subprocess.run(
        ["mpiexec.mpich", "-n", "4", "env", f"LD_PRELOAD={libraries}",
         f"MESSAGE_COUNTER_FILE={tmp_path / 'counts'}", *map("=".join, variables.items()), PROGRAM, "btio",
         "--path", tmp_path / "file", "--side", "16", "--steps", "1", "--write", "--hints", "cb_config_list=*:4"],
        capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    rows = [list(map(int, row.split())) for row in (tmp_path / "counts").read_text().splitlines()]
    return tuple(map(sum, zip(*rows)))


def test_romio_sends_sixteen_bytes_for_each_piece(tmp_path):
    """16 * 16 rows, each cut in two, 512 pieces."""
    lists, other, sends, collective = sent_by_btio(tmp_path)
    assert lists == 512 * 16 and other > 0
    assert sends > 0 and collective >= 4  # at least an Alltoall of each process


def test_views_are_told_from_all_else_that_is_sent(tmp_path):
    """Once each, to the aggregators of three other nodes: fewer bytes than lists, more than none."""
    lists, other, _sends, _collective = sent_by_btio(
        tmp_path, BUILD / "lib" / "libunisono-preload.so", UNISONO_STRATEGY="view_based",
        UNISONO_TOPOLOGY="nodes=4", MESSAGE_COUNTER_LIST_TAG=str(runner.VIEW_TAG))
    assert 0 < lists < 512 * 16 / 2 and other > 0


@pytest.mark.parametrize("sleep_us", ["0", "50"])
def test_ranks_that_yield_for_long_sleep_if_told_to(sleep_us):
    """Otherwise Linux 6.18 may let others wait for minutes (docs/lab/performance.md)."""
    shim = BUILD / "lib" / "libunisono-yield.so"
    if not shim.exists():
        pytest.skip(f"{shim} is not built")
    yields = ("import os, resource\nfor _ in range(2000): os.sched_yield()\n"
              "print(resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw)")  # fmt: skip
    done = subprocess.run([sys.executable, "-c", yields], capture_output=True, text=True,
                          timeout=200, check=True, env={**os.environ, "LD_PRELOAD": str(shim),
                                                       "YIELD_SHIM_SLEEP_US": sleep_us})
    slept = int(done.stdout)
    assert slept > 1000 if sleep_us != "0" else slept < 1000


def test_program_notices_a_wrong_byte_at_its_place(tmp_path):
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")
    words = ("demo", "--path", str(tmp_path / "file"), "--segment-bytes", "1K",
             "--file-bytes", "64K", "--verify", "--read")
    right = bench_program(*words)
    assert right.returncode == 0, right.stderr
    line = json.loads(right.stdout)
    assert (line["bytes"], line["verified"], line["parameters"]["segments"]) == (65536, True, 4)
    with open(tmp_path / "file", "r+b") as file:
        file.seek(12345)
        byte = file.read(1)
        file.seek(12345)
        file.write(bytes([byte[0] ^ 1]))
    wrong = bench_program(*words)
    assert wrong.returncode != 0 and "demo: wrong byte at offset 12345" in wrong.stderr


def test_program_says_what_is_wrong_with_its_options(tmp_path):
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")
    odd = bench_program("demo", "--path", str(tmp_path / "file"), "--file-bytes", "100000")
    assert odd.returncode == 2
    assert "demo: --file-bytes must be a multiple of 524288 here" in odd.stderr
    unknown = bench_program("demo", "--path", str(tmp_path / "file"), "--frobnicate", "1")
    assert unknown.returncode == 2 and "frobnicate" in unknown.stderr


@pytest.mark.parametrize("program, words, why", [
    ("hpio", "--region-count 0 --region-spacing 10 --read", "Value 0 not in range 1"),  # a file without an end
    ("btio", "--steps 0", "Value 0 not in range 1"), ("mpi-tile-io", "--element-bytes 0", "Value 0 not in range 1"),
    ("btio", "--side 4294967360", "4294967360 not in range"),  # it was 64
    ("mpi-tile-io", "--tiles-x 4294967296", "4294967296 not in range"),
    ("mpi-tile-io", "--tiles-x 2 --width 2147483000", "too wide or high"), ("noncontig", "--elmtcount 1073741824 --call-bytes 8G "
                                                                "--file-bytes 8G", "than MPI can count"),
    ("demo", "--seconds -1", "must not be negative"), ("demo", "--calls -1", "must not be negative")])
def test_program_refuses_numbers_that_make_no_sense(tmp_path, program, words, why):
    """Divisions by zero, endless files, and others than were asked for."""
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")
    done = bench_program(program, "--path", str(tmp_path / "file"), *words.split())
    said = re.sub(r"\[(\d+) - (\d+)\]", r"\1 to \2", done.stderr)  # CLI11 2.4's words
    assert done.returncode == 2 and why in said and not done.stdout


def test_program_makes_so_many_calls_from_the_beginning_again(tmp_path):
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")
    done = bench_program("hpio", "--path", str(tmp_path / "file"), "--region-count", "4",
                         "--region-bytes", "1K", "--write", "--calls", "5", "--call-seconds")
    line = json.loads(done.stdout)
    assert (len(line["call_seconds"]), line["bytes"]) == (5, 5 * 2 * 4 * 1024)


# ---- throughput over time

def test_timeline_counts_calls_where_they_end():
    line = Line("ours", "mpich", {"both": (Job("alltoall", 2, background=True), *JOB)})
    # Four calls of 1 MB: two in the first half second, one in each of the others.
    printed = {"bytes": 4e6, "call_seconds": [0.2, 0.2, 0.5, 0.4]}
    sample = Sample("sata-80gb", 1, "ours", "both", 1.0, [{"rounds": 7}, printed], {})
    middles, speeds = timeline.speeds(sample, line, "both")
    assert middles == [0.25, 0.75] and speeds == pytest.approx([4.0, 2.0])


def test_a_job_may_begin_later_than_the_others():
    fig6 = next(figure for figure in ALL if figure.name == "orthrus-fig6")
    jobs = fig6.lines[0].jobs[fig6.timeline]
    assert [job.begins_after_s > 0 for job in jobs] == [False, True]
