import copy
import io
import json

import pytest
from rich.console import Console

from unisono import report
from unisono.places import Failure


@pytest.fixture
def record(sample_report):
    return json.loads(sample_report.read_text())


def shown(*records):
    stream = io.StringIO()
    report.show(list(records), Console(file=stream, width=100))
    return stream.getvalue()


def test_a_strategy_that_was_refused_is_in_the_table(record):
    record["write"]["refusals"] = {"lacio": {"calls": 3, "why": ["it is not known where bytes are"]}}
    text = shown(record)
    assert any("refused" in line and "lacio: 3 calls" in line for line in text.splitlines())
    assert "it is not known where bytes are" in text


def test_the_table_says_what_the_library_counted(record):
    text = shown(record)
    assert "/scratch/chk_0001.h5" in text
    assert "2 ranks, 4 aggregators, posix, 12 servers, 1 MiB stripes (hints)" in text
    for label, cell in [
        ("collective calls", "24"),
        ("left to the MPI library", "1 (atomic mode)"),
        ("bytes asked for", "2.00 GiB"),
        ("throughput", "1.00 GiB/s"),  # 2 GiB in 2 s
        ("moved per byte asked", "1.00"),
        ("strategies", "independent: 4 calls"),
        ("pieces of the program", "33,554,432"),
        ("their size on average", "64 B"),
        ("came last", "rank 0"),
        ("time in calls", "2 s"),
        ("arrival", "0.156 s (8%, longest 0.25 s)"),
        ("file", "1.5 s (75%, longest 1.5 s)"),
    ]:
        assert any(label in line and cell in line for line in text.splitlines()), (label, text)
    assert "interleaved pieces of 64 B" in text
    assert "Time in other calls: 0.625 s: open 0.125 s, close 0.5 s" in text


def test_every_counter_of_the_library_is_in_the_table(record):
    for number, field in enumerate(report.fields()["direction"]):
        if field["unit"] in ("count", "bytes"):
            *path, last = field["key"].split("/")
            place = record["write"]
            for name in path:
                place = place[name]
            place[last] = 700 + number
    text = shown(record)
    for number, field in enumerate(report.fields()["direction"]):
        if field["unit"] in ("count", "bytes"):
            assert any(field["label"] in line and f"{700 + number}" in line
                       for line in text.splitlines()), (field, text)  # fmt: skip


def test_the_fields_of_a_report_are_explained():
    stream = io.StringIO()
    report.show_fields(Console(file=stream, width=250))
    for field in report.fields()["direction"]:
        key, meaning = f"write.{field['key']}".replace("/", "."), field["meaning"][:60]
        assert any(key in line and meaning in line for line in stream.getvalue().splitlines()), key


def test_a_file_that_was_not_closed_is_said_so(record):
    record |= {"unfinished": "the program ended", "ranks": 1, "opened_by": 4}
    text = shown(record)
    assert "Not closed: the program ended." in text
    assert "What follows is of 1 of 4 ranks." in text


def test_a_file_that_was_left_alone_is_said_so(record):
    record["left_alone"] = "unisono_enable (UNISONO_HINTS)=false"
    for name in ("read", "write"):
        record[name]["calls"] = dict.fromkeys(record[name]["calls"], 0)
    text = shown(record)
    assert "The MPI library did all calls by itself: unisono_enable (UNISONO_HINTS)=false." in text
    assert "No data was read or written" not in text


def test_bytes_of_the_mpi_library_are_not_taken_for_unisonos(record):
    record["write"]["bytes"]["native"] = record["write"]["bytes"]["asked"] // 2
    text = shown(record)
    assert any("moved per byte asked" in line and "2.00" in line for line in text.splitlines())


def test_closing_that_takes_longer_than_the_calls_is_said(record):
    record["seconds"]["close"]["mean"] = 7.0
    assert "close took 7 s, reading and writing 2 s." in report.explain(record)


def test_a_file_that_was_only_opened_is_shown_too(record):
    for name in ("read", "write"):
        record[name]["calls"] = dict.fromkeys(record[name]["calls"], 0)
    assert "/scratch/chk_0001.h5" in shown(record)


def test_names_are_not_taken_for_markup(record):
    record["file"] = "/data/[red]x[/nothing].h5"
    assert record["file"] in shown(record)


def test_the_choice_by_measurement_is_explained(record):
    text = shown(record)
    for line in (
        "two_phase won, 2.00 times as fast as independent; trying others took 0.125 s (6.2%) of 24"
        " calls.",
        "independent: 4 calls, 3 remembered, 512.00 MiB/s",
        "not tried: native",
        "examined again after call 9: slower for good",
    ):
        assert line in " ".join(text.split()), text


def test_time_is_explained_by_its_largest_part(record):
    assert any("75% of the time the file system" in line for line in report.explain(record))
    slow = copy.deepcopy(record)
    slow["write"]["seconds"]["file"]["mean"] = 0.1
    slow["write"]["seconds"]["arrival"]["mean"] = 1.6
    sentence = "80% of the time ranks waited for the last one to come to the call, mostly rank 0."
    assert f"write: {sentence}" in report.explain(slow)


def test_calls_left_to_mpi_failures_and_notes_are_explained(record):
    record["write"]["calls"]["failed"] = 2
    lines = report.explain(record)
    assert "write: 1 call left to the MPI library: atomic mode." in lines
    assert any("2 calls failed" in line for line in lines)
    assert "note: striped over 1 of 12 servers" in lines


def test_small_calls_small_pieces_and_extra_bytes_are_explained(record):
    write = record["write"]
    write["bytes"] |= {"asked": 24 * 2 * 1000, "moved": 24 * 2 * 2000}
    write["pieces"] = 24 * 2 * 10
    lines = " ".join(report.explain(record))
    assert "Calls are small (1000 B per rank and call)" in lines
    assert "The program's data are 480 pieces of 100 B on average." in lines
    assert "2.00 bytes were moved for each byte asked for" in lines


def test_nothing_is_said_where_nothing_stands_out(record):
    quiet = copy.deepcopy(record)
    quiet["notes"] = []
    quiet["gate"]["waits"] = 0
    quiet["write"]["calls"]["native"] = {}
    quiet["write"]["seconds"]["file"]["mean"] = 0.5
    quiet["write"]["pieces"] = 24
    quiet["read"]["calls"]["independent"] = 0
    assert report.explain(quiet) == []


def test_waiting_for_turns_is_explained(record):
    assert ("gate: 4 of 30 accesses waited for the program's turn, up to 0.25 s on one rank"
            in report.explain(record))  # fmt: skip
    record["gate"]["waits"] = 0
    assert not [line for line in report.explain(record) if line.startswith("gate")]


@pytest.mark.parametrize(("seconds", "text"), [
    (0, "0 s"), (5e-9, "5 ns"), (1.21e-5, "12.1 us"), (0.0125, "12.5 ms"), (0.25, "0.25 s"), (119, "119 s"),
    (179.9, "3 min 0 s"), (1250, "20 min 50 s"), (7500, "2 h 5 min"),
])  # fmt: skip
def test_times_never_need_an_exponent(seconds, text):
    """The library's own: src/support/text_test.cpp."""
    assert report.human_seconds(seconds) == text


def test_independent_calls_are_counted_in_words(record):
    record["read"]["calls"]["independent"] = 20000
    lines = " ".join(report.explain(record))
    assert "20,000 independent calls: collective ones could be combined" in lines


def test_a_report_of_one_of_everything_is_in_the_singular(record):
    record["gate"] |= {"waits": 1, "accesses": 1}
    record |= {"ranks": 1, "opened_by": 1, "nodes": 1, "aggregators": 1}
    assert "1 of 1 access waited" in " ".join(report.explain(record))
    assert "1 rank, 1 aggregator, posix" in shown(record)


def test_records_are_read_after_an_offset(tmp_path, sample_report):
    line = sample_report.read_text().strip()
    file = tmp_path / "report.json"
    file.write_text(f"{line}\n{line}\n\n")
    assert len(report.read_records(str(file))) == 2
    assert len(report.read_records(str(file), len(line) + 1)) == 1


@pytest.mark.parametrize("line", ["not json", "[]", '{"other": 1}'])
def test_a_file_that_is_no_report_is_named_with_its_line(tmp_path, line):
    file = tmp_path / "report.json"
    file.write_text(f"\n{line}\n")
    with pytest.raises(Failure, match="report.json line 2: "):
        report.read_records(str(file))
