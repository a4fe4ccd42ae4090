"""Files that are made of reports: for programs, for trace viewers, for browsers."""

import copy
import html
import io
import json
import os
import re
import resource
import shutil
import subprocess
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from rich.console import Console

from unisono import chrome_trace, figures, places, screen, timeline
from unisono.job import Job, jobs_of
from unisono.schema import schema

jsonschema = pytest.importorskip("jsonschema")
html_report = pytest.importorskip("unisono.html_report", reason="no jinja2")

BEGAN = 1_764_000_000.0
RANKS = 4


def call(at, seconds, phases=(), **more):
    return {"at": BEGAN + at, "seconds": seconds, "calls": 1, "bytes": 4096, "phases": list(phases)} | more


def access(at, begin, **more):
    return {"at": BEGAN + at, "seconds": 0, "lists": 1, "bytes": 4096, "begin": begin, "end": begin + 4096} | more


def tracks(entries_of):
    return [{"rank": rank, "entries": entries_of(rank)} for rank in range(RANKS)]


@pytest.fixture
def record(sample_report):
    """Four ranks, each with an open and ten writes of three phases in 20 s."""
    record = json.loads(sample_report.read_text())
    record |= {"ranks": RANKS, "opened_by": RANKS}
    record["program"] |= {"ranks": RANKS, "began": BEGAN, "seconds": 20.0}
    record["timeline"] = tracks(lambda rank: [call(1, 0.5, [["open", 0.5]], bytes=0)])
    phases = [["arrival", 0.1], ["file", 0.3], ["arrival", 0.1]]
    write = record["write"]
    write["timeline"] = tracks(lambda rank: [call(2 + step + 0.01 * rank, 0.5, phases) for step in range(10)])
    write["accesses"] = tracks(lambda rank: [access(2.1 + step, (step * RANKS + rank) * 4096) for step in range(10)])
    write["server_bytes"] = [80_000, 83_840]
    return record


def many_calls(record, ranks, kept):
    """49 calls an entry, all over the file, in 20 s."""
    def offset(rank, step):
        return (step * 7919 + rank * 104729) % 9999 * 4096

    phases = [["arrival", 4 / kept], ["file", 14 / kept]]
    entries = [call(20 * step / kept, 19 / kept, phases, calls=49) for step in range(kept)]
    record["write"]["timeline"] = [{"rank": rank, "entries": entries} for rank in range(ranks)]
    record["write"]["accesses"] = [
        {"rank": rank, "entries": [access(20 * step / kept, offset(rank, step)) for step in range(kept)]}
        for rank in range(ranks)
    ]  # fmt: skip
    record["program"]["ranks"] = record["ranks"] = record["opened_by"] = ranks
    return record


# ---- JSON --------------------------------------------------------------------------------------------


def of_a_line():
    return jsonschema.Draft202012Validator({"$ref": "#/$defs/file", "$defs": schema()["$defs"]})


def test_a_line_of_a_report_file_and_the_whole_fit_their_schema(sample_report, unisono):
    line = json.loads(sample_report.read_text())
    of_a_line().validate(line)
    done = unisono("report", "--json", "-", sample_report)
    written = json.loads(done.stdout)
    jsonschema.Draft202012Validator(schema()).validate(written)
    assert written["programs"][0]["files"] == [line]
    assert "I/O took" in written["programs"][0]["verdict"]


def test_the_schema_notices_what_is_missing_or_of_another_kind(sample_report):
    line = json.loads(sample_report.read_text())
    for change in ({"file": 7}, {"format": 0}, {"write": {}}, {"timeline": [{"rank": 0}]}):
        assert not of_a_line().is_valid(line | change), change
    del line["write"]["bytes"]["moved"]
    assert not of_a_line().is_valid(line)


def required_keys(part, defs, prefix=""):
    """All that are sure to be there, as paths."""
    if "$ref" in part:
        part = defs[part["$ref"].rpartition("/")[2]]
    for name in part.get("required", ()):
        yield f"{prefix}{name}"
        yield from required_keys(part["properties"][name], defs, f"{prefix}{name}.")
    if "items" in part:
        yield from required_keys(part["items"], defs, f"{prefix}[].")


def test_what_programs_may_rely_on_stays():
    """Where a key must go or change, report_format (src/report/report.hpp) grows, and this list is another."""
    whole = schema()
    kept = Path(__file__).with_name(f"report_format_{whole['properties']['format']['const']}.txt")
    missing = set(kept.read_text().split()) - set(required_keys(whole, whole["$defs"]))
    assert not missing


def test_the_schema_is_printed(unisono):
    printed = json.loads(unisono("report", "--schema").stdout)
    jsonschema.Draft202012Validator.check_schema(printed)
    assert printed == schema()


# ---- options -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--html", "--json", "--trace"])
def test_a_file_that_cannot_be_written_is_said_before_the_program_runs(unisono, tmp_path, option):
    done = unisono("run", option, tmp_path / "no" / "file", "--", "touch", tmp_path / "ran")
    assert done.returncode == 2 and f"there is no folder {tmp_path}/no" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_a_folder_that_takes_no_files_is_noticed_before_the_program_runs(unisono, tmp_path):
    done = unisono("run", "--json", "/proc/x.json", "--", "touch", tmp_path / "ran")
    assert done.returncode == 2 and "/proc/x.json cannot be written" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_a_file_that_cannot_be_written_takes_no_other_with_it(unisono, sample_report, tmp_path):
    """The three after it were lost, and the exit code was 0."""
    script = f'cat {sample_report} >> "$UNISONO_REPORT_FILE"'
    done = unisono("run", "--html", "/dev/full", "--json", "json", "--trace", "/dev/full", "--record", "record",
                   "--mpi", "mpich", "--", "sh", "-c", script, cwd=tmp_path)  # fmt: skip
    assert done.stderr == "unisono: /dev/full: No space left on device\n" * 2
    assert done.returncode == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["json", "record"]


def test_a_reader_of_the_screen_that_has_gone_takes_no_file_with_it(sample_report, tmp_path):
    ours, theirs = os.pipe()
    os.close(ours)
    script = f'cat {sample_report} >> "$UNISONO_REPORT_FILE"'
    subprocess.run([places.PREFIX / "bin" / "unisono", "run", "--report", "--json", tmp_path / "json", "--mpi", "mpich",
                    "--", "sh", "-c", script], stderr=theirs, timeout=200, check=False)  # fmt: skip
    os.close(theirs)
    assert (tmp_path / "json").exists()


def test_nothing_half_written_stays(unisono, sample_report, tmp_path):
    def up_to_the_size_of_the_report():
        size = sample_report.stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    done = unisono("report", "--html", "page", "--json", "json", "--trace", "trace", sample_report, cwd=tmp_path,
                   preexec_fn=up_to_the_size_of_the_report)  # fmt: skip
    assert done.stderr == "unisono: page: File too large\nunisono: json: File too large\n"
    assert done.returncode == 1
    assert [path.name for path in tmp_path.iterdir()] == ["trace"]


def test_several_files_become_one_page_and_the_screen_stays_empty(unisono, record, tmp_path):
    for name in ("one", "two"):
        record["program"]["id"] = name
        (tmp_path / name).write_text(json.dumps(record | {"file": f"/data/{name}.h5"}))
    done = unisono("report", "--html", tmp_path / "page", tmp_path / "one", tmp_path / "two")
    assert done.stdout == "" and done.returncode == 0, done.stderr
    page = (tmp_path / "page").read_text()
    assert page.count("<article>") == 2 and "/data/one.h5" in page and "/data/two.h5" in page


def test_a_trace_of_reports_without_a_timeline_was_an_empty_one(unisono, record, tmp_path):
    (tmp_path / "with").write_text(json.dumps(record))
    record["timeline"] = record["write"]["timeline"] = []
    (tmp_path / "without").write_text(json.dumps(record))
    done = unisono("report", "--trace", tmp_path / "trace", "--json", tmp_path / "json", tmp_path / "without")
    assert done.returncode == 1 and "UNISONO_REPORT_TIMELINE=true" in done.stderr
    assert not (tmp_path / "trace").exists() and (tmp_path / "json").exists()
    done = unisono("report", "--trace", tmp_path / "trace", tmp_path / "with", tmp_path / "without")
    assert done.returncode == 0 and (tmp_path / "trace").exists(), done.stderr


def test_the_exit_code_is_the_programs_though_a_page_could_not_be_written(unisono, sample_report, tmp_path):
    page = tmp_path / "page"
    script = f'cat {sample_report} >> "$UNISONO_REPORT_FILE"; mkdir {page}; exit 7'
    done = unisono("run", "--html", page, "--mpi", "mpich", "--", "sh", "-c", script)
    assert done.returncode == 7 and f"unisono: {page}: Is a directory" in done.stderr


@pytest.mark.parametrize(("format_number", "than"), [(0, "an earlier"), (99, "a later")])
def test_a_report_of_another_format_is_refused(unisono, record, tmp_path, format_number, than):
    (tmp_path / "file").write_text(json.dumps(record | {"format": format_number}))
    assert f"a report of {than} version" in unisono("report", tmp_path / "file").stderr


# ---- in cells ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("begin", "end", "cells"), [
    (0.0, 10.0, {0: 0.2, 1: 0.2, 2: 0.2, 3: 0.2, 4: 0.2}), (1.0, 3.0, {0: 0.5, 1: 0.5}), (3.0, 3.0, {1: 1.0}),
    (9.0, 11.0, {4: 1.0}), (-1.0, 1.0, {0: 1.0}),
])  # fmt: skip
def test_what_lies_in_several_cells_is_shared_out_and_nothing_is_lost(begin, end, cells):
    assert dict(timeline.Span(0.0, 10.0, 5).shares(begin, end)) == pytest.approx(cells)


def test_pictures_of_time_lose_no_second(record):
    found = timeline.busy(Job([record]), 48, 100)
    assert sum(sum(cell.values()) for cell in found.seconds.values()) == pytest.approx(RANKS * (0.5 + 10 * 0.5))


def test_many_ranks_share_lines(record):
    many_calls(record, ranks=48, kept=50)
    record["timeline"] = []
    found = timeline.busy(Job([record]), 20, 10)
    assert (found.ranks_per_row, found.rows) == (3, 16)
    for cell in found.seconds.values():
        assert sum(cell.values()) <= found.time.cell * 3 * 1.001
    assert timeline.busy(Job([record]), 5, 10).ranks_of(4) == 48 - 4 * 10


def test_times_on_an_axis_differ_in_what_is_written(record):
    """They all were "4.56 s"."""
    for step, track in enumerate(record["write"]["accesses"]):
        track["entries"] = [access(4.56 + 0.001 * step, 0)]
    labels = [label for _, label in figures.heat_map(record, "write", Job([record])).x_ticks]
    assert len(labels) > 2 and len(set(labels)) == len(labels)


def test_bytes_of_servers_of_both_directions_add_up(record):
    record["read"]["server_bytes"] = [1, 2, 3]
    assert timeline.bytes_by_server(record) == [80_001, 83_842, 3]


# ---- traces ------------------------------------------------------------------------------------------


def slices(trace):
    """By rank and track, in order."""
    found = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            track = event["tid"] != event["pid"]
            found.setdefault((event["pid"] - 1, int(track)), []).append(event)
    return found


def check_trace(trace):
    """What viewers need: slices of one level follow each other, and phases lie in their call."""
    json.dumps(trace, allow_nan=False)
    for events in slices(trace).values():
        calls = [event for event in events if event["cat"] == "call"]
        for before, after in pairwise(calls):
            assert before["ts"] + before["dur"] <= after["ts"] + 1e-3
        end = inside = 0.0
        for event in events:
            assert event["ts"] >= 0 and event["dur"] >= 0
            if event["cat"] == "call":
                end, inside = event["ts"], event["ts"] + event["dur"]
                continue
            assert end <= event["ts"] + 1e-3 and event["ts"] + event["dur"] <= inside + 1e-3
            end = event["ts"] + event["dur"]


def test_a_trace_has_all_ranks_with_their_calls_and_phases_in_order(record):
    trace = chrome_trace.trace([Job([record])])
    check_trace(trace)
    assert set(slices(trace)) == {(rank, 0) for rank in range(RANKS)}
    events = slices(trace)[2, 0]
    assert [event["name"] for event in events][:5] == ["open", "write 4 KiB", "arrival", "file", "arrival"]
    assert events[1]["ts"] == pytest.approx(2.02e6) and events[1]["dur"] == pytest.approx(0.5e6)
    assert len({event["tid"] for event in trace["traceEvents"]}) == RANKS, "viewers mix up what has one number"
    names = {event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "process_name"}
    assert names == {f"app rank {rank}" for rank in range(RANKS)}


def test_what_threads_did_beside_the_program_has_a_track_of_its_own(record):
    record["write"]["beside_timeline"] = [{"rank": 1, "entries": [call(2.1, 5, [["file", 5]])]}]
    trace = chrome_trace.trace([Job([record])])
    check_trace(trace)
    assert [event["name"] for event in slices(trace)[1, 1]] == ["write 4 KiB", "file"]


def test_calls_that_are_one_entry_get_no_phases_but_numbers(record):
    entry = call(2, 9, [["arrival", 1], ["file", 3]], calls=100)
    record["write"]["timeline"] = [{"rank": 0, "entries": [entry]}]
    (_, joined) = slices(chrome_trace.trace([Job([record])]))[0, 0]
    assert joined["name"] == "100 calls: write"
    assert joined["args"] | {"calls": 100, "arrival_s": 1, "file_s": 3} == joined["args"]


def test_programs_in_one_trace_have_ranks_of_their_own(record):
    other = copy.deepcopy(record)
    other["program"]["id"] = "launch:8@node1"
    assert len(slices(chrome_trace.trace(jobs_of([record, other])))) == 2 * RANKS


def test_a_trace_is_bounded_and_loses_no_call(record, monkeypatch):
    monkeypatch.setattr(chrome_trace, "EVENTS_AT_MOST", 1000)
    many_calls(record, ranks=8, kept=2048)
    trace = chrome_trace.trace([Job([record])])
    check_trace(trace)
    counted = [event["args"].get("calls", 1) for events in slices(trace).values() for event in events]
    assert len(counted) <= 1000
    assert sum(counted) == 8 * 2048 * 49 + RANKS  # and the opens


def test_slices_do_not_overlap_where_clocks_were_rounded(record):
    record["write"]["timeline"] = [{"rank": 0, "entries": [call(2, 0.5), call(2.4999998, 0.5)]}]
    check_trace(chrome_trace.trace([Job([record])]))


# ---- HTML --------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """The words, tags and attributes of a page."""

    def __init__(self, text):
        super().__init__()
        self.words, self.tags, self.attributes = [], set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.words += data.split()


def shown(job):
    stream = io.StringIO()
    screen.show(job, Console(file=stream, width=80))
    return stream.getvalue()


def test_a_page_says_all_that_the_screen_says(record):
    job = Job([record])
    words = set(Page(html_report.render([job])).words)
    missing = {word for word in shown(job).split() if word not in words and word != "->"}
    assert not missing


def test_a_page_needs_nothing_else(record):
    text = html_report.render([Job([record])])
    page = Page(text)
    assert not page.tags & {"script", "link", "img", "iframe", "object", "base", "form"}
    assert not page.attributes & {"src", "href", "onload", "onclick", "action"}
    assert "url(" not in text and "@import" not in text and "://" not in text


def test_names_are_not_taken_for_markup(record):
    record["file"] = "/data/<script>alert('x')</script>&amp;.h5"
    record["errors"] = ["<b>no</b>"]
    text = html_report.render([Job([record, record | {"file": "<i>"}])])
    assert Page(text).tags.isdisjoint({"script", "b", "i"})
    assert html.escape(record["file"]).replace("&#x27;", "&#39;") in text


def test_pictures_of_many_calls_stay_small(record):
    """48 ranks with 14,700 calls each, which do now this and now that in each cell of each picture."""
    many_calls(record, ranks=48, kept=300)
    for number, track in enumerate(record["write"]["timeline"]):
        track["entries"] = [one | {"phases": [[("file", "arrival", "other")[(number + step) % 3], 0.01 + step % 4 / 100]]}
                            for step, one in enumerate(track["entries"])]  # fmt: skip
    record["read"]["accesses"] = record["write"]["accesses"]
    text = html_report.render([Job([record | {"file": name} for name in "abcde"])])
    assert text.count("<figure>") > 8
    assert 400_000 < len(text.encode()) < 2_000_000


@pytest.mark.parametrize("title", ["What the ranks did when", "Bytes by aggregator", "Where it was written when",
                                   "Bytes by data server"])  # fmt: skip
def test_there_is_a_picture_of_each_kind_with_words_for_who_cannot_see_it(record, title):
    text = html_report.render([Job([record])])
    assert re.search(rf'<svg [^>]*role="img" aria-label="{title}\. [^"]+"', text)


def test_candidates_are_listed_with_their_speeds(record):
    text = html_report.render([Job([record])])
    assert re.search(r"<td>two_phase</td>.*1 GiB/s", text) and re.search(r"<td>native</td>.*not tried", text)


def test_a_phase_of_a_later_version_is_drawn_as_others(record):
    record["write"]["timeline"] = tracks(lambda rank: [call(2, 0.5, [["waiting for the moon", 0.5]])])
    assert 'class="other"' in html_report.render([Job([record])])


def test_without_a_timeline_a_page_says_how_to_get_one(record):
    for part in (record, record["write"]):
        part["timeline"] = []
    record["write"] |= {"accesses": [], "server_bytes": []}
    text = html_report.render([Job([record])])
    assert "UNISONO_REPORT_TIMELINE" in text and "<figure>" not in text


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("name", html_report.COLOURS)
@pytest.mark.parametrize("scheme", [0, 1])
def test_colours_stand_out_from_the_page(name, scheme):
    """WCAG 2.2, 1.4.11: a contrast of 3."""
    dark, light = sorted(map(luminance, (html_report.COLOURS[name][scheme], html_report.PAGE[scheme])))
    assert (light + 0.05) / (dark + 0.05) >= 3


CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
# What is asked of the page; the answer is read from the document as the browser ends with it.
PROBE = """<script>
addEventListener("error", event => document.body.dataset.error = event.message);
addEventListener("load", () => {
  const wide = [...document.querySelectorAll("h1, h2, p, dt, dd, td, th, figcaption, svg text")].filter(one => {
    const box = one.getBoundingClientRect();
    return one.textContent.trim() && (box.width < 1 || box.height < 6 || box.left < 0 || box.right > innerWidth + 1);
  });
  document.body.dataset.answer = JSON.stringify({
    width: innerWidth, scroll: document.documentElement.scrollWidth, loaded: performance.getEntriesByType("resource").length,
    wide: wide.map(one => one.textContent), texts: document.querySelectorAll("svg text").length,
    background: getComputedStyle(document.body).backgroundColor});
});
</script></body>"""


def ask_browser(page, folder, *options):
    """The page's answer, and what the browser complained of."""
    asked = re.sub(r"<meta http-equiv.*\n", "", page).replace("</body>", PROBE)
    (folder / "page.html").write_text(asked)
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr",
         f"--user-data-dir={folder / 'profile'}", "--window-size=800,1200", *options, "--dump-dom",
         f"file://{folder / 'page.html'}"],
        capture_output=True, text=True, timeout=200, check=True,
    )  # fmt: skip
    body = re.search(r"<body[^>]*>", done.stdout)[0]
    assert "data-error" not in body
    return json.loads(html.unescape(re.search(r'data-answer="([^"]*)"', body)[1])), done.stderr


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium")
@pytest.mark.parametrize(("options", "background"), [
    ([], html_report.PAGE[0]), (["--blink-settings=preferredColorScheme=0"], html_report.PAGE[1]),
])  # fmt: skip
def test_a_browser_shows_all_text_at_800_pixels_and_loads_nothing(record, tmp_path, options, background):
    record["file"] = "/scratch/" + "a_long_name_" * 20 + ".h5"
    page = html_report.render([Job([record, record | {"file": "other.h5"}])])
    answer, complaints = ask_browser(page, tmp_path, *options)
    assert answer["width"] == 800 and answer["scroll"] <= 800
    assert answer["loaded"] == 0
    assert answer["wide"] == []
    assert answer["texts"] > 20
    assert answer["background"] == f"rgb({', '.join(str(int(background[at : at + 2], 16)) for at in (1, 3, 5))})"
    assert "CONSOLE" not in complaints


@pytest.mark.parametrize("words", [["--json", "io.json"], ["--html", "./io.json"], ["--json", "x", "--trace", "x"]])
def test_a_report_file_was_written_over_by_what_was_made_of_it(unisono, sample_report, tmp_path, words):
    (tmp_path / "io.json").write_bytes(sample_report.read_bytes())
    done = unisono("report", *words, "io.json", cwd=tmp_path)
    assert done.returncode == 2 and "would be written over: give each file a name of its own" in done.stderr
    assert (tmp_path / "io.json").read_bytes() == sample_report.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["io.json"]
