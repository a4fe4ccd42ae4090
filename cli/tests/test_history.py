"""What earlier runs took, and whether a report says so: with a real program on slow storage."""

import json
import os
import re
import shutil
import subprocess

import pytest

from unisono import places, tune

BUILD = places.PREFIX

PROGRAM = BUILD / "libexec" / "unisono-bench.mpich"
needs_mpich = pytest.mark.skipif(not (shutil.which("mpiexec.mpich") and PROGRAM.exists()), reason="needs MPICH")


@pytest.fixture
def report_of(tmp_path):
    """The report of a run that writes 2 MiB; each access to the file takes so many milliseconds."""

    def call(delay_ms, said="json", name="out.17", **variables):
        variables = {"UNISONO_REPORT": said, "UNISONO_FAULTS": f"write=delay:{delay_ms * 1000}", "UNISONO_STRATEGY":
                     "independent", "UNISONO_BACKEND": "posix", "UNISONO_TUNE": str(tmp_path / "tune.json")} | variables  # fmt: skip
        kept = {name: value for name, value in os.environ.items() if not name.startswith("UNISONO_")}
        done = subprocess.run(
            ["mpiexec.mpich", "-n", "2", "env", f"LD_PRELOAD={BUILD}/lib/libunisono-mpich.so", PROGRAM, "mpi-io-test", "--write",
             "--segment-bytes", "512K", "--file-bytes", "2M", "--path", tmp_path / name],
            env=kept | variables, capture_output=True, text=True, timeout=200, check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr
        lines = [line for line in done.stderr.splitlines() if line.startswith(("{", "unisono:"))]
        assert len(lines) == 1, done.stderr
        return json.loads(lines[0]) if said == "json" else lines[0]

    return call


@needs_mpich
def test_a_run_that_storage_makes_slow_is_told_from_the_earlier_ones(report_of, unisono, tmp_path):
    assert [report_of(60)["slower"] for _ in range(5)] == [None] * 5
    slower = report_of(900)["slower"]
    assert slower["runs"] == 5 and slower["storage_share"] > 0.75
    assert slower["seconds"] > 1.5 * slower["median_seconds"] > 0
    said = r"[\d.]+ times as slow as in the last \d runs \(.* s; usually .*, up to .*\): the file system, not the program"
    assert re.fullmatch(said, slower["said"])
    assert re.search(rf"; SLOWER: {said}$", report_of(900, said="summary"))
    (history,) = tune.read(tmp_path / "tune.json").histories
    assert (history["files"], history["ranks"], len(history["runs"])) == ("out.#", 2, 7)
    listed = unisono("tune", "history", "--file", tmp_path / "tune.json").stdout
    assert "out.#" in listed and "unisono-bench.mpich" in listed


@needs_mpich
def test_runs_whose_file_has_a_name_that_is_no_utf8_are_of_one_kind(report_of, tmp_path):
    for _ in range(2):
        report_of(60, name=os.fsdecode(b"gr\xfcn.17"))
    (history,) = tune.read(tmp_path / "tune.json").histories
    assert (history["files"], len(history["runs"])) == ("gr\ufffdn.#", 2)


@needs_mpich
def test_nothing_is_kept_where_nothing_is_to_be_remembered(report_of, tmp_path):
    assert report_of(60, UNISONO_TUNE="off", HOME=str(tmp_path), XDG_CACHE_HOME="")["slower"] is None
    assert not (tmp_path / ".cache").exists()
    report_of(60, UNISONO_TUNE="", HOME=str(tmp_path), XDG_CACHE_HOME="")
    assert (tmp_path / ".cache" / "unisono" / "tune.json").exists()


@needs_mpich
@pytest.mark.parametrize("text", ["", "no JSON", '{"unisono_tune": 99}', '{"unisono_tune": 2, "frozen": false, "records": []}',
                                  '{"unisono_tune": 2, "frozen": false, "records": [], "histories": [7, {"files": 1}]}'])  # fmt: skip
def test_a_damaged_store_costs_a_run_nothing(report_of, tmp_path, text):
    (tmp_path / "tune.json").write_text(text)
    assert report_of(60)["slower"] is None


@needs_mpich
def test_a_home_that_is_none_costs_a_run_nothing(report_of, tmp_path):
    (tmp_path / "home").write_text("a file")
    assert report_of(60, UNISONO_TUNE="", HOME=str(tmp_path / "home"), XDG_CACHE_HOME="")["slower"] is None


def a_history(**more):
    runs = [{"run": "a", "bytes": 1 << 30, "seconds": 2.0, "storage_seconds": 1.0}]
    return {"program": "app", "files": "chk_#.h5", "storage": "nfs server:/home", "machine": "a processor", "ranks": 4, "nodes": 2,
            "written_class": 31, "read_class": 0, "updated": 1764000000, "runs": runs} | more  # fmt: skip


def write(path, *histories):
    path.write_text(json.dumps({"unisono_tune": 2, "frozen": False, "records": [], "histories": histories}))
    return path


def test_histories_are_listed_and_survive_other_commands(unisono, tmp_path):
    path = write(tmp_path / "tune.json", a_history())
    assert unisono("tune", "freeze", "--file", path).returncode == 0
    done = unisono("tune", "history", "--file", path)
    assert done.returncode == 0 and "chk_#.h5" in done.stdout and "512.00 MiB/s" in done.stdout
    assert json.loads(path.read_text())["histories"] == [a_history()]


@pytest.mark.parametrize("damaged", [7, {}, a_history(runs=[]), a_history(runs=[{"run": "a"}]), a_history(ranks="many")])
def test_a_damaged_history_hides_no_other(unisono, tmp_path, damaged):
    done = unisono("tune", "history", "--file", write(tmp_path / "tune.json", damaged, a_history(files="other")))
    assert done.returncode == 0 and "other" in done.stdout and "Traceback" not in done.stderr


def test_without_histories_that_is_said(unisono, tmp_path):
    assert "No run was noted yet" in unisono("tune", "history", "--file", tmp_path / "none").stdout


def test_the_screen_says_it_once_for_many_files(unisono, tmp_path, sample_report):
    record = json.loads(sample_report.read_text())
    told = {"said": "3.0 times as slow", "runs": 6, "seconds": 3.0, "median_seconds": 1.0, "upper_seconds": 1.1, "storage_share": 1.0}
    records = [record | {"file": f"chk_{i}", "slower": told | {"seconds": 3.0 + i}} for i in range(40)]
    (tmp_path / "report").write_text("\n".join(map(json.dumps, records)))
    shown = unisono("report", tmp_path / "report").stdout
    assert shown.count("times as slow") == 1
    assert "chk_39 (and 39 more files): 3.0 times as slow." in " ".join(shown.split())
