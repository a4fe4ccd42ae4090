import io
import json

import pytest
from rich.console import Console

from unisono import file_report, report


@pytest.fixture
def record(sample_report):
    return json.loads(sample_report.read_text())


def shown(*records):
    stream = io.StringIO()
    file_report.show(list(records), Console(file=stream, width=100))
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


def test_waiting_for_turns_settings_notes_and_errors_are_said(record):
    text = shown(record)
    for line in (
        "Gate: 4 of 30 accesses waited for the program's turn, up to 0.25 s on one rank",
        "Set: cb_nodes=4 (MPI_Info)",
        "Note: striped over 1 of 12 servers",
        "Error: MPI_File_read on /scratch/chk_0001.h5: the file is open for writing only",
    ):
        assert line in text
    record["gate"] |= {"waits": 1, "accesses": 1}
    assert "1 of 1 access waited" in shown(record)


def test_one_of_everything_is_in_the_singular(record):
    record |= {"ranks": 1, "opened_by": 1, "nodes": 1, "aggregators": 1}
    assert "1 rank, 1 aggregator, posix" in shown(record)


def test_pieces_are_listed_by_size(record):
    record["write"]["piece_sizes"] = [[64, 1000], [1024, 12]]
    text = shown(record)
    assert "64-127 B: 1,000" in text and "1-2 KiB: 12" in text
