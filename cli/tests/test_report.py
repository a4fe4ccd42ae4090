import io
import json

import pytest
from rich.console import Console

from unisono import report, schema
from unisono.places import Failure


def test_the_fields_of_a_report_are_explained():
    stream = io.StringIO()
    report.show_fields(Console(file=stream, width=250))
    for field in report.fields()["direction"]:
        key, meaning = f"write.{field['key']}".replace("/", "."), field["meaning"][:60]
        assert any(key in line and meaning in line for line in stream.getvalue().splitlines()), key


@pytest.mark.parametrize(("seconds", "text"), [
    (0, "0 s"), (5e-9, "5 ns"), (1.21e-5, "12.1 us"), (0.0125, "12.5 ms"), (0.25, "0.25 s"), (119, "119 s"),
    (179.9, "3 min 0 s"), (1250, "20 min 50 s"), (7500, "2 h 5 min"),
])  # fmt: skip
def test_times_never_need_an_exponent(seconds, text):
    """The library's own: src/support/text_test.cpp."""
    assert report.human_seconds(seconds) == text


def test_records_are_read_after_an_offset(tmp_path, sample_report):
    line = sample_report.read_text().strip()
    file = tmp_path / "report.json"
    file.write_text(f"{line}\n{line}\n\n")
    assert len(report.read_records(str(file))) == 2
    assert len(report.read_records(str(file), len(line) + 1)) == 1


@pytest.mark.parametrize("line", [
    "not json", "[]", '{"other": 1}',
    pytest.param('{"a":' * 50_000 + "1" + "}" * 50_000, id="nested"),
    pytest.param('{"a":' + 6000 * "9" + "}", id="digits"),
])  # fmt: skip
def test_a_file_that_is_no_report_is_named_with_its_line(tmp_path, line):
    file = tmp_path / "report.json"
    file.write_text(f"\n{line}\n")
    with pytest.raises(Failure, match="report.json line 2: "):
        report.read_records(str(file))


def test_one_line_that_was_cut_off_made_the_others_unreadable(tmp_path, sample_report, capsys):
    line = sample_report.read_text().strip()
    file = tmp_path / "report.json"
    file.write_text(f"{line}\n{line[:100]}\n{line}\n")
    assert len(report.read_records(str(file))) == 2
    assert capsys.readouterr().err == f"unisono: {file} line 2 is cut off: left out\n"


EVIL = "/scratch/\x1b]0;title\x07\x1b[31m\x9b2J\r\u202ename\ud800"


def test_names_in_a_report_told_the_terminal_what_to_do(tmp_path, sample_report, unisono):
    record = json.loads(sample_report.read_text())
    record |= {"file": EVIL, "layout": EVIL, "errors": [EVIL], "notes": [EVIL]}
    record["program"]["name"] = EVIL
    file = tmp_path / "report.json"
    file.write_text(json.dumps(record) + "\n")
    page = tmp_path / "page.html"
    for options in ([], ["--files"], ["--html", page]):
        shown = unisono("report", *options, file)
        assert (shown.returncode, shown.stderr) == (0, ""), options
        assert not set("\x1b\x07\x9b\r\u202e") & set(shown.stdout)
    assert "/scratch/?]0;title" in unisono("report", "--files", file).stdout


def test_what_is_wrong_with_a_report_told_the_terminal_what_to_do(tmp_path, sample_report, unisono):
    record = json.loads(sample_report.read_text())
    record["write"]["refusals"] = {EVIL: None}
    file = tmp_path / "report.json"
    file.write_text(json.dumps(record) + "\n")
    refused = unisono("report", file)
    assert (refused.returncode, "\x1b" in refused.stderr) == (2, False)
    assert "write.refusals./scratch/?]0;" in refused.stderr


@pytest.mark.parametrize(("keys", "value", "said"), [
    (["write", "bytes", "asked"], "x", "write.bytes.asked: no integer"),
    (["seconds", "sync", "mean"], float("nan"), "seconds.sync.mean: nan"),
    (["read", "seconds", "whole", "longest"], -1, "read.seconds.whole.longest: -1"),
    (["write", "piece_sizes"], [[1]], "write.piece_sizes[0]: too short"),
    (["program"], None, "program: no object"),
    (["ranks"], 0, "ranks: 0"),
    (["settings"], [True], "settings[0]: no string"),
    (["slower"], {"said": "x"}, "slower.runs: missing"),
    (["format"], {}, "not a report of Unisono"),
])  # fmt: skip
def test_a_damaged_report_was_a_traceback(tmp_path, sample_report, unisono, keys, value, said):
    record = json.loads(sample_report.read_text())
    place = record
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    (tmp_path / "io.json").write_text(sample_report.read_text() + json.dumps(record) + "\n")
    done = unisono("report", tmp_path / "io.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"unisono: {tmp_path}/io.json ") or "report 2" in done.stderr
    assert done.stderr.endswith(f"{said}\n") and len(done.stderr.splitlines()) == 1


def test_a_report_of_an_earlier_version_with_the_same_format_may_lack_keys(tmp_path, sample_report):
    record = json.loads(sample_report.read_text())
    for lost in ("slower", "gate", "notes"):
        del record[lost]
    del record["write"]["beside_seconds"], record["read"]["calls"]["failed_independent"]
    (tmp_path / "io.json").write_text(json.dumps(record) + "\n")
    read, = schema.read_records(str(tmp_path / "io.json"))
    assert (read["slower"], read["notes"], read["gate"]["waits"]) == (None, [], 0)
    assert read["write"]["beside_seconds"] == {"mean": 0, "longest": 0}
    assert read["read"]["calls"]["failed_independent"] == 0


def test_a_report_of_an_earlier_version_is_said_to_be_one(tmp_path):
    file = tmp_path / "report.json"
    file.write_text('{"file": "x", "write": {}, "opened_by": 1}\n')
    with pytest.raises(Failure, match="earlier version"):
        report.read_records(str(file))


@pytest.mark.parametrize(("size", "text"), [
    (0, "0 B"), (1, "1 B"), (64, "64-127 B"), (512, "512-1023 B"), (1024, "1-2 KiB"), (1 << 19, "512-1024 KiB"),
    (1 << 20, "1-2 MiB"), (1 << 63, "8-16 EiB"),
])  # fmt: skip
def test_classes_of_sizes_are_named_by_their_ends(size, text):
    assert report.size_range(size) == text
