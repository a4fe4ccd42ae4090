"""`unisono explain`: the program's own counts are tested beside it (src/explain); here what is made of them."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from unisono import explain, places, report
from unisono.places import Failure

BUILD = places.PREFIX


def explained(unisono, *words):
    done = unisono("explain", "--json", *words)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    return answer, {strategy["asked"]: strategy for strategy in answer["strategies"]}


def test_the_picture_shows_who_asks_and_who_owns(unisono):
    done = unisono("explain", "--ranks", "2", "--bytes", "32K", "--piece", "4K", "--strategies", "two_phase",
                   "--hint", "cb_nodes=2", "--hint", "cb_buffer_size=16K", env=None)  # fmt: skip
    assert "One collective write by 2 ranks on 1 node: 32 KiB in 8 pieces" in done.stdout
    rows = dict(re.findall(r"^(\S+ \d+|a\d rank \d) node \d +\|(.*)\|$", done.stdout, re.MULTILINE))
    assert rows["rank 0"].replace(rows["rank 0"][0], "#").split() == ["#" * len(run) for run in rows["rank 0"].split()]
    assert len(rows["rank 0"].split()) == len(rows["rank 1"].split()) == 4
    assert rows["a0 rank 0"].rstrip() + rows["a1 rank 1"].lstrip() == rows["a0 rank 0"][0] * len(rows["rank 0"])
    assert "The rule chooses two_phase: small or interleaved pieces." in done.stdout


def test_a_pattern_is_named_as_in_the_benchmark(unisono):
    short, _ = explained(unisono, "--pattern", "strided-64k")
    words, _ = explained(unisono, "--pattern", "strided", "--piece", "64K")
    assert short == words
    assert short["call"]["bytes"] // short["call"]["pieces"] == 65536


def test_nodes_layout_and_direction_reach_the_strategies(unisono):
    answer, by_name = explained(unisono, "--nodes", "2", "--layout", "stripe_bytes=16K,servers=4", "--read")
    assert answer["call"]["direction"] == "read"
    assert answer["servers"][:8] == [0, 0, 0, 0, 1, 1, 1, 1] or len(set(answer["servers"])) > 1
    assert [one["servers"] for one in by_name["disk_first"]["accesses"]] == [[0], [1], [2], [3]]
    assert by_name["core_first"]["between_nodes_bytes"] == 0 < by_name["two_phase"]["between_nodes_bytes"]


@pytest.mark.parametrize("strategy", ["independent", "two_phase", "core_first", "transpose"])
def test_a_real_program_is_counted_alike(unisono, strategy, tmp_path):
    """One call of 4 ranks on 2 pretended nodes, by a benchmark under Unisono, and its report."""
    if not (BUILD / "libexec" / "unisono-bench.mpich").exists():
        pytest.skip("the benchmarks were not built for MPICH")
    file = tmp_path / "report.json"
    variables = {"UNISONO_TOPOLOGY": "nodes=2", "UNISONO_REPORT": "json", "UNISONO_REPORT_FILE": str(file),
                 "UNISONO_LAYOUT": "stripe_bytes=16K,servers=3", "UNISONO_TUNE": "off"}  # fmt: skip
    unisono("bench", "--mpi", "mpich", "-n", 4, "--strategy", strategy, "hpio", "--", "--path", tmp_path / "file",
            "--region-bytes", "4K", "--region-count", "8", "--write", env=os.environ | variables)  # fmt: skip
    seen = report.read_records(str(file))[0]["write"]
    _, by_name = explained(unisono, "--ranks", "4", "--nodes", "2", "--piece", "4K", "--storage", "local",
                           "--layout", "stripe_bytes=16K,servers=3")  # fmt: skip
    said = by_name[strategy]
    assert list(seen["strategies"]) == [strategy]
    assert [said["rounds"], said["messages"], said["message_bytes"]] == \
        [seen["rounds"], seen["messages"], seen["bytes"]["sent"]]
    assert explain.own_requests(said) == {"lists": seen["lists"], "extents": seen["extents"],
                                          "bytes": seen["bytes"]["moved"]}  # fmt: skip
    assert [said["meetings"], said["barriers"]] == [seen["meetings"], seen["barriers"]]


def test_what_does_not_fit_says_why(unisono):
    _, by_name = explained(unisono)
    assert by_name["disk_first"]["refusal"] == "it is not known which server has which byte"
    assert "it is not known which server has which byte" in unisono("explain").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--pattern", "zigzag"], "zigzag"),
        (["--ranks", "4", "--nodes", "5"], "more nodes than ranks"),
        (["--ranks", "1000"], "128"),
        (["--layout", "servers=4"], "layout 'servers=4'"),
        (["--hint", "cb_nodes"], "valid: key=value"),
        (["--hint", "cb_nodes=many"], "hint cb_nodes (MPI_Info): \"many\"; valid: "),
        (["--strategies", "fastest"], "unknown strategy 'fastest'; valid: native, "),
        (["--bytes", "1T"], "1099511627776"),
        (["--picture", "x.gif"], "valid: "),
    ],
)
def test_mistakes_are_named(unisono, words, message):
    done = unisono("explain", *words)
    assert done.returncode == 2
    assert message in done.stderr and "Traceback" not in done.stderr


def test_what_a_plug_in_throws_is_said_not_that_it_threw(unisono):
    plugin = BUILD / "lib/libbad_plans.so"
    if not plugin.exists():
        pytest.skip("needs the tests' plug-ins")
    done = unisono("explain", env=os.environ | {"UNISONO_PLUGINS": str(plugin), "UNISONO_BAD_PLAN": "throws"})
    assert (done.returncode, done.stderr) == (2, "unisono: strategy bad_plans: no plan today\n")


def test_patterns_are_listed(unisono):
    assert {"contiguous", "strided", "tile", "lattice"} <= set(unisono("explain", "--pattern", "help").stdout.split())


def test_a_picture_is_drawn(unisono, tmp_path):
    pytest.importorskip("matplotlib")
    assert unisono("explain", "--svg", tmp_path / "x.svg").returncode == 0
    text = (tmp_path / "x.svg").read_text()
    assert "<svg" in text and text.count('id="axes_') > 3


def test_a_call_like_those_of_a_report_says_what_is_guessed(unisono, sample_report):
    done = unisono("explain", "--report", sample_report)
    assert "One collective write by 2 ranks on 1 node: 64 MiB in 1,048,576 pieces" in done.stdout
    said = " ".join(done.stdout.split())
    assert "Estimated from a report: a write of /scratch/chk_0001.h5, as the mean of its 24 collective calls" in said
    assert "the report does not say where they lie" in said


def test_a_part_shows_pieces_that_the_whole_does_not(unisono):
    wide = ["--piece", "1K", "--bytes", "4M"]
    assert "--part BEGIN END" in unisono("explain", *wide).stdout
    text = unisono("explain", *wide, "--part", "0", "64K").stdout
    assert "--part BEGIN END" not in text and "A column is 1 KiB; file bytes 0 to 65,536." in text


def test_a_report_without_collective_calls_is_refused(sample_report):
    records = report.read_records(str(sample_report))
    records[0]["write"]["calls"]["collective"] = 0
    with pytest.raises(Failure, match="no collective call"):
        explain.from_report(records)


def test_a_layout_of_a_report_is_taken_over(sample_report):
    records = report.read_records(str(sample_report))
    records[0]["layout"] = "64 KiB over 4 servers (hints)"
    assert "--layout stripe_bytes=64K,servers=4" in " ".join(explain.from_report(records).words)


@pytest.mark.parametrize(("why", "nodes", "words"), [
    ("one node's own file system", 2, "--storage local"),
    ("servers let a rank wait", 1, "--storage parallel"),
    ("not mapped: not one node's own file system", 1, "--storage parallel"),
    ("asked for", 1, ""),
])  # fmt: skip
def test_the_storage_of_a_report_was_a_nodes_own_on_one_node(sample_report, why, nodes, words):
    record, = report.read_records(str(sample_report))
    call = explain.from_report([record | {"backend_why": why, "nodes": nodes, "layout": ""}])
    assert words in " ".join(call.words)
    assert bool(words) != any("taken to be on a node's own" in guess for guess in call.guesses)


def test_reasons_for_a_backend_are_those_that_the_library_gives():
    choice = (Path(__file__).parents[2] / "src/backends/choice.cpp").read_text()
    assert all(f'"{why}"' in choice for why in explain._STORAGES)


@pytest.mark.parametrize(("ranks", "piece"), [(4, 4 << 30), (128, 16 << 20), (4096, 1 << 50)])
def test_a_report_of_large_pieces_was_refused_for_an_option_that_nobody_gave(sample_report, ranks, piece):
    record, = report.read_records(str(sample_report))
    write = record["write"] | {"pieces": ranks, "bytes": record["write"]["bytes"] | {"asked": ranks * piece, "native": 0}}
    write["calls"] = write["calls"] | {"collective": 1}
    call = explain.from_report([record | {"ranks": ranks, "opened_by": ranks, "write": write}])
    answer = explain.explanation(call, 1000, None)  # nor is a wide terminal an error
    assert answer["call"]["bytes"] == 1 << 30
    assert any(" of each piece: more is not done here" in guess for guess in call.guesses)


def test_memory_that_is_missing_is_said(monkeypatch):
    monkeypatch.setattr(explain.subprocess, "run", lambda *_words, **_more: subprocess.CompletedProcess(
        [], -6, "", "terminate called after throwing an instance of 'std::bad_alloc'\n"))  # fmt: skip
    with pytest.raises(Failure, match="not enough memory: fewer --bytes"):
        explain.patterns()


def test_a_call_that_takes_too_long_is_no_traceback(monkeypatch):
    monkeypatch.setattr(explain, "_LIMIT_S", 0.01)
    with pytest.raises(Failure, match="not done within 0.01 s: fewer --bytes"):
        explain.explanation(explain.described("strided", "1", bytes="64M"), 64, None)
