"""What reports say, against what strace, the program and the shell saw."""

import json
import os
import re
import shutil
import signal
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from harness import LAUNCHERS, Job

BUILD = Path(os.environ["UNISONO_BUILD_DIR"])
MPI = os.environ["UNISONO_TEST_MPI"]
PROGRAM = BUILD / "programs" / f"reported.{MPI}"
RANKS = 3
PIECES = 512 * 3 * RANKS  # of 8 bytes
LATE_S = 1.0  # more than a busy machine lets the others wait for it


@pytest.fixture
def job(tmp_path):
    """Runs the program under Unisono; returns the job and its only report."""

    def run(mode, *words, before=(), ranks=RANKS, **environment):
        made = Job(BUILD, MPI, ranks, [*before, PROGRAM, mode, tmp_path / "file", *words], tmp_path)
        made.environment = environment
        made.run([made.engine()])
        reports = made.reports()
        made.require(len(reports) == 1, f"{len(reports)} reports")
        return made, reports[0]

    return run


@pytest.fixture
def shown(tmp_path):
    """What `unisono run --report` shows of the program, in one line, and the exit code."""

    def run(mode, *, after=None, **environment):
        command = [BUILD / "bin" / "unisono", "run", "--report", "--", *LAUNCHERS[MPI], "-n",
                   str(RANKS), PROGRAM, mode, tmp_path / "file"]  # fmt: skip
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("UNISONO_", "LD_PRELOAD"))}  # fmt: skip
        process = subprocess.Popen(
            [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env={**kept, **environment}, start_new_session=True,
        )  # fmt: skip
        try:
            if after is not None:
                after(process)
            out, err = process.communicate(timeout=200)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
        return " ".join(err.split()), process.returncode, out

    return run


def calls_in(traces, name, path):
    """Results of the system calls of that name (a pattern) on the file."""
    pattern = re.compile(rf"\b{name}\(\d+<{re.escape(str(path))}>.*\) = (\d+)")
    return [int(match[1]) for trace in traces for match in pattern.finditer(trace.read_text())]


@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace")
@pytest.mark.parametrize("strategy", ["two_phase", "independent", "view_based"])
def test_a_report_says_what_strace_saw(job, tmp_path, strategy):
    strace = ["strace", "-ff", "-y", "-qq", "-e", "trace=pwritev,pwrite64,write,fsync,fdatasync",
              "-o", tmp_path / "trace"]  # fmt: skip
    _, report = job("close", before=strace, UNISONO_BACKEND="posix", UNISONO_STRATEGY=strategy)
    traces = list(tmp_path.glob("trace.*"))
    written = calls_in(traces, "pwrite(?:v|64)", tmp_path / "file")
    wrote = report["write"]
    assert wrote["strategies"][strategy]["calls"] == 3
    assert sum(written) == wrote["bytes"]["moved"] > 0
    assert len(written) == wrote["extents"]
    assert wrote["bytes"]["asked"] == PIECES * 8
    assert len(calls_in(traces, "f(?:data)?sync", tmp_path / "file")) == report["syncs"] > 0


@pytest.mark.parametrize("mode", ["close", "alone"])
def test_a_program_with_independent_calls_only_was_on_one_of_its_pretended_nodes(job, mode):
    _, report = job(mode, UNISONO_TOPOLOGY="nodes=3")
    assert report["nodes"] == 3


def test_small_pieces_are_counted_as_the_program_has_them(job):
    _, report = job("close", UNISONO_STRATEGY="two_phase")
    assert report["write"]["pieces"] == PIECES
    assert report["write"]["estimated_pieces"] == 0
    assert report["write"]["extents"] < PIECES / 10


@pytest.mark.parametrize("strategy", ["two_phase", "native"])
def test_times_are_the_programs_own_and_the_latest_rank_is_named(job, tmp_path, strategy):
    made, report = job("close", str(LATE_S), UNISONO_STRATEGY=strategy)
    measured = json.loads(made.output.splitlines()[-1])
    seconds = report["write"]["seconds"]
    assert seconds["whole"]["mean"] == pytest.approx(measured["data_s"], rel=0.2, abs=0.02)
    parts = sum(spent["mean"] for name, spent in seconds.items() if name != "whole")
    assert parts == pytest.approx(seconds["whole"]["mean"])
    others = report["seconds"]["whole"]["mean"]
    assert others == pytest.approx(measured["other_s"], rel=0.2, abs=0.05)
    # All but the last rank wait for it in each of three calls; in the first one Open MPI may still
    # hold some of them in set_view, because the last rank sleeps and drives no messages.
    assert seconds["arrival"]["mean"] >= 2 * LATE_S * (RANKS - 1) / RANKS * 0.9
    assert report["write"]["latest"]["rank"] == RANKS - 1
    assert (seconds["native"]["mean"] > 0) == (strategy == "native")
    assert report["write"]["bytes"]["native"] == (PIECES * 8 if strategy == "native" else 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a rank a file system of its own")
def test_a_report_says_that_nodes_have_different_files(job, tmp_path):
    _, report = job("close")
    assert report["notes"] == []
    (folder := tmp_path / "own").mkdir()
    apart = 'mount -t tmpfs tmpfs "$0" && touch "$0/file" && exec "$@"'
    made = Job(BUILD, MPI, RANKS, ["unshare", "-m", "sh", "-c", apart, folder, PROGRAM, "close", folder / "file"],
               tmp_path)  # fmt: skip
    made.run([made.engine()], seconds=60)
    [note] = made.reports()[-1]["notes"]
    assert note.startswith("its ranks have different files of this name"), made.transcript()


def test_a_report_says_what_program_it_is_where_it_ran_and_what_was_set(job):
    _, report = job("close", UNISONO_HINTS="*:cb_nodes=2:cb_buffer_size=16777216", UNISONO_SELECT="auto")
    program = report["program"]
    assert program["name"] == PROGRAM.name
    assert program["mpi"].startswith({"mpich": "MPICH ", "openmpi": "Open MPI "}[MPI])
    assert program["ranks"] == RANKS and program["id"]
    assert 0 < program["cores"] <= len(os.sched_getaffinity(0))
    assert 0 < program["core_wait_seconds"] < program["seconds"]
    in_calls = report["seconds"]["whole"]["mean"] + report["write"]["seconds"]["whole"]["mean"]
    assert program["seconds"] >= in_calls > 0
    assert report["settings"] == ["cb_buffer_size=16777216 (UNISONO_HINTS)", "cb_nodes=2 (UNISONO_HINTS)",
                                  "UNISONO_TUNE=off"]  # fmt: skip
    assert report["write"]["piece_sizes"] == [[8, PIECES]]
    assert report["write"]["bytes"]["most"] == PIECES * 8 / RANKS


def test_calls_of_single_ranks_and_their_errors_are_told_apart(job):
    _, report = job("independent")
    wrote, read = report["write"], report["read"]
    assert wrote["calls"]["independent"] == 1 and wrote["calls"]["collective"] == 3
    assert 0 < wrote["independent_seconds"]["mean"] < wrote["seconds"]["whole"]["mean"]
    assert wrote["bytes"]["most"] == 4 * 512 * 8, "rank 0 wrote once more"
    assert read["calls"]["failed_independent"] == 1 and read["calls"]["failed"] == 0
    assert len(report["errors"]) == 1
    assert "MPI_File_read_at" in report["errors"][0]
    assert "the file is open for writing only" in report["errors"][0]


@pytest.mark.skipif(MPI == "openmpi", reason="OMPIO's other ranks wait for the one that fails for ever")
@pytest.mark.parametrize("mode, settings", [("limited", {"UNISONO_STRATEGY": "native"}),
                                            ("limited-atomic", {"UNISONO_BACKEND": "mpiio"})])  # fmt: skip
def test_calls_that_the_mpi_library_fails_are_told_and_moved_nothing(job, mode, settings):
    _, report = job(mode, **settings)
    wrote = report["write"]
    assert wrote["calls"]["failed"] == 3
    assert "MPI_File_write_at_all on" in report["errors"][0]
    assert wrote["bytes"]["native"] < PIECES * 8


def test_a_failure_of_one_rank_in_calls_that_repeat_counts_once(job):
    at = 30 * RANKS * 1024 + 5
    _, report = job("repeated", UNISONO_FAULTS=f"write@{at}=ENOSPC")
    wrote = report["write"]
    assert wrote["calls"]["collective"] == 40
    assert wrote["calls"]["failed"] + wrote["calls"]["failed_independent"] == 1


def test_a_call_that_was_refused_was_said_to_be_by_a_strategy_without_a_name(job):
    _, report = job("refused")
    assert report["write"]["calls"]["failed"] == 1
    assert "" not in report["write"]["strategies"]


def test_hints_that_are_too_long_for_the_mpi_library_are_left_out(job):
    hosts = ",".join(f"node{number:04}.cluster:1" for number in range(200))
    made, report = job("close", UNISONO_HINTS=f"*:cb_config_list={hosts}")
    assert report["write"]["calls"]["collective"] == 3
    assert made.errors.count("the hint cb_config_list of 3799 characters is not given to the MPI library") == 1


@pytest.mark.parametrize(("overlap", "alone", "notes"), [("automatic", 3 * RANKS, 1), ("enable", 0, 0)])
def test_nonblocking_collectives_that_each_rank_did_by_itself_were_shown_as_its_own_calls(job, overlap, alone, notes):
    _, report = job("beside", UNISONO_TOPOLOGY="nodes=3", UNISONO_OVERLAP=overlap)
    assert report["write"]["calls"]["independent"] == alone
    assert len(report["notes"]) == sum("MPI_THREAD_MULTIPLE" in note for note in report["notes"]) == notes


def test_nonblocking_collectives_are_done_beside_the_program(job):
    _, report = job("nonblocking")
    wrote = report["write"]
    assert wrote["calls"]["native"] == {} and wrote["calls"]["collective"] == 4
    assert wrote["bytes"]["asked"] == PIECES * 8 / 3 * 4 and wrote["bytes"]["native"] == 0
    assert wrote["beside_seconds"]["longest"] > 0


def test_no_rank_came_last_where_none_waited(job):
    _, report = job("beside")
    wrote = report["write"]
    assert wrote["calls"]["collective"] == 3 and wrote["seconds"]["arrival"]["longest"] == 0
    assert wrote["latest"] is None


def test_nonblocking_collectives_are_calls_left_to_the_mpi_library_on_request(job):
    _, report = job("nonblocking", UNISONO_OVERLAP="disable")
    wrote = report["write"]
    assert wrote["calls"]["native"] == {"nonblocking collective call": 1}
    assert wrote["bytes"]["native"] == PIECES * 8 / 3
    assert wrote["bytes"]["asked"] == 4 * wrote["bytes"]["native"]
    assert wrote["seconds"]["native"]["longest"] > 0


def test_calls_left_to_the_mpi_library_for_atomic_mode_say_so(job):
    _, report = job("atomic", UNISONO_BACKEND="mpiio")  # which Unisono cannot lock
    assert report["write"]["calls"]["native"] == {"atomic mode": 3}


def test_calls_in_atomic_mode_were_said_to_be_as_somebody_had_asked(job):
    _, report = job("atomic")
    assert report["write"]["strategies"]["independent"]["why"] == ["atomic mode"]
    assert report["settings"][-1] == "atomic mode (MPI_File_set_atomicity)"


def entries_of(tracks):
    assert [track["rank"] for track in tracks] == list(range(RANKS))
    return [entry for track in tracks for entry in track["entries"]]


def total(entries, key):
    return sum(entry[key] for entry in entries)


@pytest.mark.parametrize("strategy", ["two_phase", "independent", "view_based", "native"])
def test_a_timeline_has_what_was_counted(job, strategy):
    _, report = job("close", UNISONO_REPORT_TIMELINE="true", UNISONO_STRATEGY=strategy,
                    UNISONO_LAYOUT="stripe_bytes=4K,servers=3")  # fmt: skip
    wrote, program = report["write"], report["program"]
    calls = entries_of(wrote["timeline"])
    assert total(calls, "calls") == wrote["calls"]["collective"] * RANKS
    assert total(calls, "bytes") == wrote["bytes"]["asked"]
    for phase, spent in wrote["seconds"].items():
        here = sum(seconds for one in calls for name, seconds in one["phases"] if phase in (name, "whole"))
        assert here == pytest.approx(spent["mean"] * RANKS, rel=1e-4, abs=1e-6)
    for one in [*calls, *entries_of(report["timeline"])]:
        assert sum(seconds for _, seconds in one["phases"]) == pytest.approx(one["seconds"], rel=1e-3, abs=1e-5)
        assert program["began"] - 0.1 <= one["at"] <= program["began"] + program["seconds"] + 0.1
    accesses = [entry for track in wrote["accesses"] for entry in track["entries"]]
    assert total(accesses, "lists") == wrote["lists"]
    assert total(accesses, "bytes") == wrote["bytes"]["moved"] == sum(wrote["server_bytes"])
    assert {name for one in entries_of(report["timeline"]) for name, _ in one["phases"]} >= {"open", "close"}


def test_ranks_of_a_timeline_are_the_programs_whatever_communicator_a_file_is_opened_on(job):
    _, report = job("reversed", str(LATE_S), UNISONO_REPORT_TIMELINE="true")
    waited = {track["rank"]: sum(seconds for one in track["entries"] for name, seconds in one["phases"]
                                 if name == "arrival") for track in report["write"]["timeline"]}  # fmt: skip
    assert min(waited, key=waited.get) == RANKS - 1, waited


def test_calls_of_one_rank_follow_each_other(job):
    _, report = job("independent", UNISONO_REPORT_TIMELINE="true")
    for rank in range(RANKS):
        tracks = [report["timeline"], report["write"]["timeline"], report["read"]["timeline"]]
        own = [entry for part in tracks for track in part if track["rank"] == rank for entry in track["entries"]]
        own.sort(key=lambda entry: entry["at"])
        for before, after in pairwise(own):
            assert before["at"] + before["seconds"] <= after["at"] + 1e-5


def test_what_threads_did_has_a_timeline_of_its_own(job):
    _, report = job("nonblocking", UNISONO_REPORT_TIMELINE="true")
    beside = entries_of(report["write"]["beside_timeline"])
    assert total(beside, "calls") == RANKS and total(beside, "bytes") == PIECES * 8 / 3
    calls = entries_of(report["write"]["timeline"])
    assert total(calls, "bytes") + total(beside, "bytes") == report["write"]["bytes"]["asked"]


def test_there_is_no_timeline_unless_it_is_asked_for(job):
    _, report = job("close")
    assert report["timeline"] == report["write"]["timeline"] == report["write"]["accesses"] == []
    assert report["write"]["server_bytes"] == []


def recorded_bytes(report):
    """By rank of the file, of collective calls."""
    assert all(rank["left_out"] == 0 for rank in report["recording"]["ranks"])
    return {rank["rank"]: sum(call[4] * call[5] for call in rank["calls"]) for rank in report["recording"]["ranks"]}


@pytest.mark.parametrize("mode", ["close", "reversed", "nonblocking"])
@pytest.mark.parametrize("strategy", ["auto", "view_based", "native"])
def test_a_recording_has_what_collective_calls_asked_for(job, mode, strategy):
    _, report = job(mode, UNISONO_REPORT_CALLS="true", UNISONO_STRATEGY=strategy)
    recorded = recorded_bytes(report)
    assert sorted(recorded) == list(range(RANKS))
    assert sum(recorded.values()) == report["write"]["bytes"]["asked"]
    assert report["recording"]["access"] == "w"
    for rank in report["recording"]["ranks"]:
        assert len(rank["calls"]) <= 3  # equal steps


def test_a_recording_has_no_independent_calls(job):
    _, report = job("independent", UNISONO_REPORT_CALLS="true")
    assert report["write"]["calls"]["independent"] > 0
    assert 0 < sum(recorded_bytes(report).values()) < report["write"]["bytes"]["asked"]


def test_there_is_no_recording_unless_it_is_asked_for(job):
    _, report = job("close")
    assert report["recording"] is None


def test_run_writes_a_page_a_trace_and_numbers(tmp_path):
    files = {name: tmp_path / name for name in ("html", "trace", "json")}
    options = [word for name, file in files.items() for word in (f"--{name}", file)]
    done = subprocess.run([BUILD / "bin" / "unisono", "run", *options, "--", *LAUNCHERS[MPI], "-n", str(RANKS),
                           PROGRAM, "close", tmp_path / "file"], capture_output=True, text=True, timeout=200,
                          check=True)  # fmt: skip
    assert "I/O took" not in done.stderr  # nobody asked for --report
    (program,) = json.loads(files["json"].read_text())["programs"]
    assert program["verdict"] in files["html"].read_text()
    events = json.loads(files["trace"].read_text())["traceEvents"]
    for rank in range(RANKS):
        calls, phases = ([(event["ts"], event["ts"] + event["dur"]) for event in events
                          if event["pid"] == rank + 1 and event.get("cat") == level]
                         for level in ("call", "phase"))  # fmt: skip
        assert len(phases) > 3 < len(calls)
        assert all(before[1] <= after[0] + 1e-3 for before, after in pairwise(calls))
        for begin, end in phases:
            assert any(call[0] - 1e-3 <= begin and end <= call[1] + 1e-3 for call in calls)


def test_a_file_that_is_not_closed_is_reported_at_finalize(job):
    _, report = job("finalize")
    assert report["unfinished"] == "MPI_Finalize was called before"
    assert report["ranks"] == report["opened_by"] == RANKS
    assert report["write"]["pieces"] == PIECES


def reported_to(report_file, tmp_path):
    made = Job(BUILD, MPI, RANKS, [PROGRAM, "close", tmp_path / "file"], tmp_path)
    made.environment = {"UNISONO_REPORT_FILE": str(report_file), "UNISONO_PROGRAM": "job/7"}
    made.run([made.engine()])
    return made


def test_an_unwritable_report_file_is_named_and_a_summary_comes_out(tmp_path):
    made = reported_to("/no/such/folder/report", tmp_path)
    lines = made.lines_from_unisono()
    assert len(lines) == 2, made.transcript()
    assert lines[0] == ("unisono: the report cannot be written to /no/such/folder/report: No such"
                        " file or directory (errno 2); summaries come here instead")  # fmt: skip
    assert str(tmp_path / "file") in lines[1] and not lines[1].startswith("{")


def test_a_folder_has_a_report_file_for_each_program(tmp_path):
    folder = tmp_path / "reports"
    folder.mkdir()
    made = reported_to(folder, tmp_path)
    assert made.lines_from_unisono() == [], made.transcript()
    [file] = folder.iterdir()
    assert file.name == f"{PROGRAM.name}.job_7.json"
    assert json.loads(file.read_text())["write"]["calls"]["collective"] == 3


def test_run_says_that_a_report_file_cannot_be_written(shown):
    text, code, _ = shown("close", UNISONO_REPORT_FILE="/no/such/folder/report")
    assert code == 0
    assert "UNISONO_REPORT_FILE=/no/such/folder/report: No such file or directory (errno 2)" in text
    assert f"{PIECES:,} pieces of 8 B" in text


def test_a_killed_rank_leaves_what_rank_0_had_done(shown):
    text, code, _ = shown("kill")
    assert code != 0
    assert f"Not closed (1 file): the program ended with exit code {code}" in text
    assert f"Of such files, what follows is of 1 of {RANKS} ranks." in text
    assert " collective calls" in text
    assert "comes late" not in text  # one rank cannot know who


def test_an_interrupted_program_is_said_to_be_interrupted(shown):
    def interrupt(process):
        assert process.stdout.readline() == "waiting\n"
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does

    text, code, _ = shown("wait", after=interrupt)  # some launchers end with 0 then
    assert f"Not closed (1 file): the program was interrupted, ended with exit code {code}" in text
    assert " collective calls" in text


def test_an_error_that_ends_the_program_is_in_the_report(shown):
    text, code, _ = shown("fatal")
    assert code != 0
    assert "rank 0 was to end the program by MPI_ERRORS_ARE_FATAL" in text
    assert "the file is open for writing only" in text
    assert f"{512 * 3:,}" in text  # rank 0's own pieces


@pytest.mark.parametrize("environment, sentence", [
    ({"UNISONO_DISABLE": "1"},
     "unisono: no report: UNISONO_DISABLE is set: the MPI library does all calls by itself"),
    ({"UNISONO_HINTS": "*:unisono_enable=false"},
     "The MPI library did all calls by itself: hint unisono_enable (UNISONO_HINTS): false."),
])  # fmt: skip
def test_a_file_that_is_left_alone_is_said_to_be(shown, environment, sentence):
    text, code, _ = shown("close", **environment)
    assert code == 0
    assert sentence in text
    assert "No data was read or written" not in text


def test_a_file_that_is_not_there_is_said_to_have_failed(shown):
    text, code, _ = shown("missing")
    assert code == 0
    assert "unisono: no report: MPI_File_open failed" in text


def test_a_program_without_mpi_files_is_said_to_have_none():
    done = subprocess.run([BUILD / "bin" / "unisono", "run", "--report", "--mpi", MPI, "--", "sh",
                           "-c", "exit 3"], capture_output=True, text=True, timeout=200,
                          check=False)  # fmt: skip
    assert done.returncode == 3
    assert "no report: the program ended with exit code 3, and had opened no file through MPI-IO" in done.stderr
