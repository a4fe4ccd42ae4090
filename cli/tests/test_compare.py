"""`unisono compare`, with shell scripts for MPI programs, and with real ones."""

import json
import os
import shutil
import signal
import subprocess
import time

import pytest

from unisono import compare, fresh, places, preload, run
from unisono.places import Failure

BUILD = places.PREFIX
EXTRA = {"mpich": [], "openmpi": ["--allow-run-as-root", "--oversubscribe"]}
ENVIRONMENT = {
    k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("UNISONO_")
}
LIBRARIES = [name for name in EXTRA if (BUILD / "lib" / f"libunisono-{name}.so").exists()]
needs_library = pytest.mark.skipif(not LIBRARIES, reason="needs a library of Unisono")
NATIVE = {"mpich": "MPICH's own", "openmpi": "Open MPI's own"}.get(*LIBRARIES[:1], "")
READY = [name for name in LIBRARIES if shutil.which(f"mpiexec.{name}")
         and (BUILD / "programs" / f"demo_lattice.{name}").exists()]  # fmt: skip


@pytest.fixture
def place(tmp_path, sample_report):
    """Where a program runs that reports on the file `data`; its script is `$WRITE`."""
    folder = tmp_path / "place"
    folder.mkdir()
    report = json.loads(sample_report.read_text())
    report["file"] = "data"
    (tmp_path / "report").write_text(json.dumps(report) + "\n")
    return folder


@pytest.fixture
def compared(place, unisono):
    """Runs `unisono compare` on a script; `$SIDE` is empty in native runs, else the strategy or 'own'."""

    def call(script, *options, words=(), preexec_fn=None, **variables):
        script = (
            'case "$LD_PRELOAD" in *unisono-*) SIDE=${UNISONO_STRATEGY:-own};; *) SIDE=;; esac\n'
            f'if [ -n "$SIDE" ]; then cat {place.parent}/report >> "$UNISONO_REPORT_FILE"; fi\n'
            f'echo run >> {place.parent}/runs; N=$(wc -l < {place.parent}/runs)\n' + script
        )
        return unisono("compare", "--mpi", LIBRARIES[0], *options, "--", "sh", "-c", script, "sh", *words,
                       cwd=place, env=ENVIRONMENT | variables, preexec_fn=preexec_fn)  # fmt: skip

    return call


def left(place):
    return sorted(path.name for path in place.iterdir())


def runs(place):
    return len((place.parent / "runs").read_text().splitlines())


# ---- what is said -----------------------------------------------------------------------------------


def side(name, *seconds):
    return compare.Side(name, preload.Job([], ""), seconds=list(seconds))


def test_a_verdict_needs_ranges_that_do_not_meet():
    native = side("MPICH's own", 4, 5, 6)
    assert compare.verdict(side("Unisono", 2, 2.5, 2.4), native) == (
        "Unisono is 2.08 times as fast as MPICH's own (1.60 to 3.00 between single runs, 3 of each).")
    assert compare.verdict(side("Unisono", 10, 8, 12), native) == (
        "Unisono takes 2.00 times as long as MPICH's own (1.33 to 3.00 between single runs, 3 of each).")
    assert compare.verdict(side("Unisono", 2, 4.5, 3), native).startswith(
        "No difference beyond the spread: Unisono is 1.67 times as fast as MPICH's own, 0.89 to 3.00")
    assert compare.verdict(side("Unisono", 3.99, 3.98, 3.97), side("x", 4, 4, 4)).startswith("No difference"), (
        "what rounds to 1.00 is none")


def test_one_slow_run_in_five_hides_no_difference():
    assert compare.ratio(side("a", 1, 1, 1, 1, 5), side("b", 2, 2, 2, 2, 2)).clear is False
    assert compare.ratio(side("a", *[1] * 9, 5), side("b", *[2] * 10)).clear


def test_two_runs_of_each_are_no_verdict():
    said = compare.verdict(side("Unisono", 1, 1), side("MPICH's own", 2, 2))
    assert said == "Unisono took 1 s, MPICH's own 2 s; whether that is chance takes --repeats 3 or more to tell."


def test_turns_alternate():
    assert list(run.turns(["a", "b"], 3)) == [["a", "b"], ["b", "a"], ["a", "b"]]


# ---- runs -------------------------------------------------------------------------------------------


@needs_library
def test_each_run_begins_without_the_file_and_nothing_stays(compared, place):
    done = compared("[ ! -e data ] || exit 9; echo same > data")
    assert done.returncode == 0, done.stderr
    assert runs(place) == 7
    assert left(place) == []
    assert f"Contents: equal ({place}/data)." in done.stdout
    assert "Unisono" in done.stdout and "'s own" in done.stdout
    assert max(map(len, done.stdout.split("Contents")[0].splitlines()[:-1])) <= 80


@needs_library
def test_strategies_take_part_and_all_numbers_are_there_for_machines(compared, place):
    done = compared("echo $SIDE >> ../sides; echo same > data", "--strategies", "two_phase,independent",
                    "--repeats", 2, "--json")  # fmt: skip
    data = json.loads(done.stdout)
    assert (place.parent / "sides").read_text().split("\n")[:-1] == [
        "own", "", "own", "two_phase", "independent", "independent", "two_phase", "own", ""]  # fmt: skip
    assert [one["name"] for one in data["sides"]][1:] == ["Unisono", "two_phase", "independent"]
    assert [len(one["seconds"]) for one in data["sides"]] == [2, 2, 2, 2]
    assert data["sides"][0]["io_seconds"] is None, "nobody measures it there"
    # Of the sample report: 0.625 s in other calls, and the means of reading and writing.
    assert all(seconds > 0.625 for seconds in data["sides"][1]["io_seconds"])
    assert data["files"] == [str(place / "data")]
    assert data["contents"] == "equal"


@needs_library
def test_an_unknown_strategy_is_refused_before_anything_runs(compared, place):
    done = compared("echo same > data", "--strategies", "two_phase,frobnicate")
    assert done.returncode == 2 and "frobnicate" in done.stderr
    assert not (place.parent / "runs").exists()


@needs_library
def test_different_contents_are_an_error_that_names_file_and_offset(compared, place):
    done = compared('printf 0123456789 > data; [ -z "$SIDE" ] || printf 01234x6789 > data')
    assert done.returncode == 1
    assert f"{place}/data differs from byte 5 on. Both were kept: cmp -l " in done.stderr
    one, other = done.stderr.split("cmp -l ")[1].split()
    assert open(one).read() == "0123456789" and open(other).read() == "01234x6789"
    assert [name for name in left(place) if not name.startswith(".unisono-compare-")] == []


@needs_library
def test_a_file_that_one_side_does_not_write_is_an_error(compared, place):
    done = compared('[ -z "$SIDE" ] || echo same > data')
    assert done.returncode == 1
    assert f"{place}/data is there after runs by Unisono only" in done.stderr
    (place.parent / "runs").unlink()
    done = compared('[ -n "$SIDE" ] && [ $N -ne 1 ] || echo same > data')
    assert f"{place}/data is there after runs by {NATIVE} only" in done.stderr
    assert left(place) == []


@needs_library
@pytest.mark.parametrize("script", ["mkdir out || exit 9; mkdir out/a || exit 9", "rm -rf out; mkdir -p out/a"])
def test_folders_that_the_program_makes_are_made_fresh_as_well(compared, place, script):
    report = json.loads((place.parent / "report").read_text())
    (place.parent / "report").write_text(json.dumps(report | {"file": "out/a/data"}) + "\n")
    done = compared(f"{script}; echo same > out/a/data")
    assert done.returncode == 0, done.stderr
    assert f"Contents: equal ({place}/out/a/data)." in done.stdout
    assert left(place) == []


@needs_library
@pytest.mark.parametrize("then", ["mkdir out; echo same > out/data; cp out/data data", "echo same > data"])
def test_what_a_program_removes_with_its_folder_and_the_copies_is_put_back(compared, place, then):
    (place / "out").mkdir()
    (place / "out/data").write_text("before\n")
    (place / "out/data").chmod(0o640)
    done = compared(f"rm -rf out; {then}", "--file", "out/data", "--file", "data")
    assert done.returncode == 1 and runs(place) == 1
    assert f"the program has removed {place}/out, and in it the copy of what data was before" in done.stderr
    assert "PUT BACK" not in done.stderr
    assert left(place) == ["out"] and left(place / "out") == ["data"]
    assert (place / "out/data").read_text() == "before\n"
    assert (place / "out/data").stat().st_mode & 0o777 == 0o640


@needs_library
def test_what_cannot_be_put_back_is_said(compared, place):
    (place / "out").mkdir()
    for number in range(fresh._OPEN_MOST + 1):
        (place / f"out/data{number}").write_text("before\n")
    done = compared("rm -rf out; echo same > data", "--file", "out/data*", "--file", "data")
    assert done.returncode == 1 and runs(place) == 1
    assert done.stderr.count("CANNOT BE PUT BACK: the program has removed") == 1
    assert len(left(place / "out")) == fresh._OPEN_MOST


@needs_library
def test_a_program_that_never_writes_the_same_is_not_blamed_on_unisono(compared, place):
    done = compared("echo $N > data")
    assert done.returncode == 0, done.stderr
    assert "Contents: not comparable: two runs of the same kind differ as well" in done.stdout
    assert done.stdout.count(f"{place}/data") == 1, "named twice"
    assert runs(place) == 8, "one more, to find out"
    assert left(place) == []


@needs_library
def test_a_file_of_the_first_run_only_was_called_equal(compared, place):
    done = compared("[ $N != 1 ] || echo same > data")
    assert done.returncode == 0, done.stderr
    assert f"Contents: not comparable: {place}/data is not there after other runs" in done.stdout
    assert left(place) == []


@needs_library
def test_names_that_change_in_every_run_were_called_a_difference(compared, place):
    done = compared("echo same > data.$N", "--file", "data*")
    assert done.returncode == 0, done.stderr
    assert "Contents: not comparable: " in done.stdout and "is there after some runs only" in done.stdout
    assert left(place) == []


@needs_library
def test_time_in_files_of_single_ranks_counts_with_their_part(compared, place):
    report = json.loads((place.parent / "report").read_text())
    at_all = json.loads(compared("echo same > data", "--repeats", 1, "--json").stdout)
    alone = report | {"ranks": 1, "opened_by": 1}
    (place.parent / "report").write_text(json.dumps(alone) + "\n")
    own = json.loads(compared("echo same > data", "--repeats", 1, "--json").stdout)
    seconds, of_all = own["sides"][1]["io_seconds"][0], at_all["sides"][1]["io_seconds"][0]
    assert seconds == pytest.approx(of_all / report["program"]["ranks"])


@needs_library
def test_one_file_that_varies_hides_no_other(compared, place):
    done = compared("echo same > data; echo $N > data.log", "--file", "data*", "--repeats", 1)
    assert done.returncode == 0, done.stderr
    assert f"equal in 1 file; else two runs of the same kind differ as well ({place}/data.log" in done.stdout
    done = compared("echo $N > data.log; echo same$SIDE > data", "--file", "data*", "--repeats", 1)
    assert done.returncode == 1 and f"{place}/data differs from byte 4 on" in done.stderr


@needs_library
def test_a_program_may_have_dashes_of_its_own(compared):
    done = compared('[ "$2" = -- ] || exit 9; echo same > data', "--repeats", 1, words=["x", "--", "y"])
    assert done.returncode == 0, done.stderr


@needs_library
def test_a_program_that_leaves_no_file_is_still_timed(compared):
    done = compared("echo same > data; rm data")
    assert done.returncode == 0, done.stderr
    assert "not compared: the program leaves no file" in done.stdout


# ---- files that were there --------------------------------------------------------------------------


def what_it_was(path):
    state = path.stat()
    return path.read_text(), state.st_ino, state.st_mtime_ns, state.st_mode


@needs_library
@pytest.mark.parametrize("options, words", [(["--file", "data"], []), (["--file", "da*"], []), ([], ["data"]),
                                            ([], ["out=data"])])  # fmt: skip
def test_a_file_that_was_there_is_seen_by_each_run_and_put_back(compared, place, options, words):
    file = place / "data"
    file.write_text("precious\n")
    file.chmod(0o640)
    os.utime(file, (1e9, 1e9))
    before = what_it_was(file)
    done = compared("[ $(cat data) = precious ] || exit 9; echo more >> data", *options, words=words)
    assert done.returncode == 0, done.stderr
    assert "Contents: equal" in done.stdout
    assert what_it_was(file) == before
    assert left(place) == ["data"]


@needs_library
def test_a_file_that_was_there_and_is_not_named_stops_it_after_the_run_that_finds_out(compared, place):
    (place / "data").write_text("precious\n")
    done = compared("echo more >> data")
    assert done.returncode == 1
    assert f"Say --file '{place}/data'" in done.stderr
    assert runs(place) == 1
    assert (place / "data").read_text() == "precious\nmore\n", "as after any run of the program"


@needs_library
def test_a_file_of_which_nobody_knows_whether_it_was_there_is_not_removed(compared, place):
    hidden = place.parent / "elsewhere"
    hidden.mkdir()
    report = (place.parent / "report").read_text().replace('"data"', f'"{hidden}/data"')
    (place.parent / "report").write_text(report)
    done = compared(f'D={place.parent}/else; echo same > "$D"where/data')
    assert done.returncode == 1 and "or may have been" in done.stderr
    assert (hidden / "data").exists()


@needs_library
def test_a_file_that_is_only_read_is_left_alone(compared, place):
    file = place / "input"
    file.write_text("precious\n")
    before = file.stat()
    done = compared("cat input > data", words=["input"])
    assert done.returncode == 0, done.stderr
    assert f"keeping a copy of {file}" in done.stderr
    assert (file.stat().st_ctime_ns, file.stat().st_ino) == (before.st_ctime_ns, before.st_ino)
    assert left(place) == ["input"]


@needs_library
def test_other_files_that_a_pattern_names_are_made_fresh_as_well(compared, place):
    done = compared("[ ! -e data.log ] || exit 9; echo same > data; echo same > data.log", "--file", "data*")
    assert done.returncode == 0, done.stderr
    assert left(place) == []


@needs_library
@pytest.mark.parametrize("pattern", ["out-*/*/x", "**/x"])
def test_patterns_reach_into_folders_old_and_new(compared, place, pattern):
    (place / "out-1" / "old").mkdir(parents=True)
    (place / "out-1" / "old" / "x").write_text("precious\n")
    done = compared("mkdir -p out-1/new out-2/new; for f in out-*/*; do echo $f > $f/x; done", "--file", pattern)
    assert done.returncode == 0, done.stderr
    assert [str(path.relative_to(place)) for path in place.rglob("x")] == ["out-1/old/x"]
    assert (place / "out-1" / "old" / "x").read_text() == "precious\n"


@needs_library
def test_a_pattern_that_names_nothing_is_said(compared):
    done = compared("echo same > data", "--file", "dota")
    assert done.returncode == 1 and "--file dota: after the first run there is no such file" in done.stderr


@needs_library
def test_a_misspelt_file_does_not_keep_the_right_one_from_being_put_back(compared, place):
    (place / "data").write_text("precious\n")
    done = compared("echo same > data", "--file", "dota", words=["data"])
    assert done.returncode == 1 and "--file dota: after the first run there is no such file" in done.stderr
    assert left(place) == ["data"] and (place / "data").read_text() == "precious\n"


@needs_library
def test_a_file_that_is_made_and_one_that_is_only_read_are_told_apart(compared, place):
    (place / "input").write_text("precious\n")
    done = compared("cat input > data", "--file", "data", words=["input"])
    assert f"Contents: equal ({place}/data)." in done.stdout, done.stderr
    assert left(place) == ["input"]


@needs_library
def test_what_a_killed_comparison_has_left_is_not_overwritten(compared, place):
    (place / "data").write_text("changed\n")
    kept = place / ".unisono-compare-x" / "data.before"
    kept.parent.mkdir()
    kept.write_text("precious\n")
    done = compared("echo same > data", "--file", "data")
    assert done.returncode == 1 and str(kept) in done.stderr
    assert not (place.parent / "runs").exists()
    assert kept.read_text() == "precious\n"


# ---- what goes wrong --------------------------------------------------------------------------------


@needs_library
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_program_that_fails_ends_it_with_its_last_words_and_files_as_before(compared, place, at):
    (place / "data").write_text("precious\n")
    done = compared(f'echo same > data; echo new > data.log; [ $N -ne {at} ] || {{ echo out of luck >&2; exit 3; }}',
                    "--file", "data*")  # fmt: skip
    assert done.returncode == 1
    assert "ended with exit code 3:\n    out of luck" in done.stderr
    assert runs(place) == at
    assert left(place) == ["data"] and (place / "data").read_text() == "precious\n"


@needs_library
def test_a_program_that_does_not_end_is_ended(compared, place):
    (place / "data").write_text("precious\n")
    done = compared("echo same > data; echo on my way; [ $N -ne 2 ] || sleep 50", "--file", "data", "--timeout", 10)
    assert done.returncode == 1
    assert "did not end within 10 s and was ended:\n    on my way" in done.stderr
    assert left(place) == ["data"] and (place / "data").read_text() == "precious\n"


@pytest.mark.parametrize("seconds", ["nan", "inf", "1e300", "-1", "0"])
@pytest.mark.parametrize("words", [["compare", "--timeout"], ["replay", __file__, "--in", "/tmp", "--timeout"],
                                   ["orchestra", "timeline", "--picture", "turns.svg", "--seconds"]])
def test_seconds_that_are_none_are_refused(unisono, words, seconds):
    done = unisono(*words, seconds)
    assert done.returncode == 2 and f"Invalid value for '{words[-1]}'" in done.stderr
    assert "is not in the range 0<x<=1000000000.0." in done.stderr


@needs_library
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_puts_files_back(place, number):
    (place / "data").write_text("precious\n")
    process = subprocess.Popen(
        [BUILD / "bin" / "unisono", "compare", "--mpi", LIBRARIES[0], "--", "sh", "-c",
         "echo changed > data; exec sleep 50", "sh", "data"],
        cwd=place, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)  # fmt: skip
    deadline = time.monotonic() + 90
    while (place / "data").read_text() != "changed\n" and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(number)
    errors = process.communicate(timeout=90)[1]
    assert process.returncode == 128 + number
    assert "interrupted; files were put back" in errors and "Traceback" not in errors
    assert left(place) == ["data"] and (place / "data").read_text() == "precious\n"


@needs_library
def test_without_a_report_there_is_nothing_to_compare(unisono, tmp_path):
    done = unisono("compare", "--mpi", LIBRARIES[0], "--", "sh", "-c", "echo", cwd=tmp_path, env=ENVIRONMENT)
    assert done.returncode == 1
    assert "nothing to compare: the program opened no file through MPI-IO" in done.stderr


@needs_library
def test_a_command_that_holds_unisono_already_is_refused(unisono, tmp_path):
    done = unisono("compare", "--mpi", LIBRARIES[0], "--", "env", "LD_PRELOAD=/no/libunisono-mpich.so", "true", cwd=tmp_path,
                   env=ENVIRONMENT)  # fmt: skip
    assert done.returncode == 2 and "take it out" in done.stderr


@needs_library
def test_one_side_is_without_what_a_site_has_switched_on_for_everybody(compared, place):
    done = compared('echo "${SIDE:-native} ${UNISONO_DISABLE:-0}" >> ../sides; echo same > data',
                    LD_PRELOAD=str(places.preload_library(LIBRARIES[0])))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert set((place.parent / "sides").read_text().splitlines()) == {"native 1", "own 0"}


@needs_library
@pytest.mark.parametrize(("words", "said"), [("--version", "no program is in the command"),
                                             ("--new ./nope", "no program is left behind the option --new ./nope")])  # fmt: skip
def test_a_launcher_without_a_program_was_a_traceback(unisono, executable, words, said):
    done = unisono("compare", "--", executable("srun"), *words.split(), env=ENVIRONMENT)
    assert done.returncode == 2 and said in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_pattern_that_the_shell_has_expanded_is_told(unisono, tmp_path):
    done = unisono("compare", "--mpi", LIBRARIES[0], "--file", "a1", "a2", "--", "sh", cwd=tmp_path, env=ENVIRONMENT)
    assert done.returncode == 2 and "quote patterns" in done.stderr


@needs_library
def test_a_file_that_is_elsewhere_is_told(compared, place):
    done = compared("mkdir -p sub; echo same > sub/data")
    assert done.returncode == 0, done.stderr
    assert f"{place}/data is not there after a run" in done.stdout


@needs_library
def test_what_the_library_says_is_shown_once(compared):
    done = compared("echo same > data; echo 'unisono: UNISONO_FOO unknown' >&2", "--repeats", 2)
    assert done.stderr.count("unisono: UNISONO_FOO unknown\n") == 1, done.stderr


@needs_library
def test_what_is_ignored_stays_ignored(compared, place):
    """As under nohup."""
    place.joinpath("data").write_text("precious\n")
    done = compared("kill -HUP $(cut -d' ' -f4 /proc/$$/stat); echo same > data", "--file", "data",
                    preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))  # fmt: skip
    assert done.returncode == 0, done.stderr


@needs_library
def test_words_that_are_no_names_do_no_harm(compared):
    done = compared("echo same > data", words=["x" * 5000, "", "=", "a=" + "y" * 5000, "-n=/"])
    assert done.returncode == 0, done.stderr


def test_what_cannot_be_put_back_is_kept_and_told(tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("precious")
    second.write_text("precious")
    files = fresh.FreshFiles([str(first), str(second)], [], lambda _text: None)
    files.set_aside()
    first.write_text("changed")
    second.write_text("changed")
    copy = fresh._copy

    def fails_once(source, target):
        if target == first:
            raise Failure("the disk is full")
        copy(source, target)

    monkeypatch.setattr(fresh, "_copy", fails_once)
    with pytest.raises(Failure, match="first COULD NOT BE PUT BACK; .* the disk is full") as raised:
        files.end()
    kept = str(raised.value).split("before is ")[1].split(": ")[0]
    assert open(kept).read() == "precious"
    assert second.read_text() == "precious"


@needs_library
def test_a_link_that_the_program_puts_in_a_files_place_leads_nowhere(compared, place):
    (place / "data").write_text("precious\n")
    other = place.parent / "other"
    other.write_text("not to be touched\n")
    done = compared(f"[ $N -eq 1 ] || {{ rm data; ln -s {other} data; }}", "--file", "data")
    assert done.returncode == 1 and f"Say --file '{other}'" in done.stderr
    assert other.read_text() == "not to be touched\n"
    assert not (place / "data").is_symlink() and (place / "data").read_text() == "precious\n"


# ---- parts ------------------------------------------------------------------------------------------


def test_the_first_difference_is_found_in_any_block(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    zeros = bytes(3 << 20)
    one.write_bytes(zeros)
    for content, offset in [(zeros[:-1] + b"x", len(zeros) - 1), (zeros[: 1 << 20], 1 << 20), (zeros + b"x", len(zeros))]:
        other.write_bytes(content)
        assert fresh.first_difference(one, other) == offset


def test_what_is_in_a_new_folder_is_new(tmp_path):
    (tmp_path / "old").mkdir()
    before = fresh.Before([tmp_path])
    assert before.had(tmp_path / "new" / "deeper" / "file") is False
    assert before.had(tmp_path / "old" / "file") is None
    assert before.had(tmp_path / "old") is True


def test_a_folder_is_not_taken_for_a_file(tmp_path):
    with pytest.raises(Failure, match="is no file"):
        fresh.FreshFiles([str(tmp_path)], [], lambda _text: None)


@pytest.mark.parametrize("mpi", READY)
def test_a_program_that_is_linked_with_unisono_is_refused(unisono, tmp_path, mpi):
    program = BUILD / "programs" / f"client_linked.{mpi}"
    if not program.exists():
        pytest.skip("needs the programs of the tests")
    done = unisono("compare", "--", f"mpiexec.{mpi}", *EXTRA[mpi], "-n", 2, program, "x", cwd=tmp_path, env=ENVIRONMENT)
    assert done.returncode == 2 and "is linked with Unisono" in done.stderr


# ---- a real program ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mpi", READY)
def test_a_real_program(unisono, tmp_path, mpi):
    program = BUILD / "programs" / f"demo_lattice.{mpi}"
    done = unisono("compare", "--repeats", 1, "--json", "--", f"mpiexec.{mpi}", *EXTRA[mpi], "-n", 2, program,
                   "--both", "--path", "./lattice", "--size", 8, cwd=tmp_path, env=ENVIRONMENT)  # fmt: skip
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["contents"] == "equal"
    assert data["files"] == [str(tmp_path / "lattice")]
    assert 0 < data["sides"][1]["io_seconds"][0] < data["sides"][1]["seconds"][0]
    assert left(tmp_path) == []
