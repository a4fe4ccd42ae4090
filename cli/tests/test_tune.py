"""`unisono tune`, on files that the library writes."""

import json
import os
import shutil
import subprocess
import time

import pytest

from unisono import places, tune

BUILD = places.PREFIX
EXTRA = {"mpich": [], "openmpi": ["--allow-run-as-root", "--oversubscribe"]}
PROGRAM = BUILD / "programs" / "unisono-bench-patterns"
ENVIRONMENT = {
    k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("UNISONO_")
}
MPIS = [
    pytest.param(name, marks=pytest.mark.skipif(not ready, reason=f"needs {name} and its programs"))
    for name in ("mpich", "openmpi")
    for ready in [
        shutil.which(f"mpiexec.{name}") and PROGRAM.with_suffix(f".{name}").exists()
        and (BUILD / "lib" / f"libunisono-{name}.so").exists()
    ]
]  # fmt: skip


def record(**changes):
    score = {"calls": 4, "bytes_per_second": 2.0**30, "deviation": 0.05}
    return {
        "machine": "a processor, 4 cores", "software": "Unisono 0.1.0, MPICH 4.0.2",
        "storage": "ext4 /dev/sda1", "direction": "write", "ranks": 4, "nodes": 1,
        "bytes_class": 21, "pieces_class": 11, "gap_class": 0, "frozen": False,
        "updated": 1700000000,
        "candidates": {"independent": score | {"bytes_per_second": 2.0**29}, "two_phase": score},
    } | changes  # fmt: skip


@pytest.fixture
def store(tmp_path):
    """A tune file with two records."""
    path = tmp_path / "tune.json"
    records = [record(), record(direction="read", updated=1800000000)]
    path.write_text(json.dumps({"unisono_tune": 2, "frozen": False, "records": records}))
    return path


@pytest.fixture
def tuned(unisono, store):
    """Runs `unisono tune ...` on the file."""

    def call(*arguments, expect=0):
        done = unisono("tune", *arguments, env=ENVIRONMENT | {"UNISONO_TUNE": str(store)})
        assert done.returncode == expect, done.stderr
        return done.stdout + done.stderr

    return call


def ids(store):
    return [tune.id_of(one) for one in tune.read(store).records]


def test_list_names_calls_winner_and_place(tuned, store):
    lines = tuned("list").splitlines()
    first = next(line for line in lines if ids(store)[1] in line)
    assert "reads of 1.00 MiB or more in" in first
    text = " ".join(lines)
    assert text.index(ids(store)[1]) < text.index(ids(store)[0]), "the most recent first"
    for part in ("two_phase", "1.00 GiB/s", "ext4 /dev/sda1", "4 on 1"):
        assert part in text


def test_show_compares_the_candidates(tuned, store):
    text = tuned("show", ids(store)[0][:6])
    assert "Unisono 0.1.0, MPICH 4.0.2" in text
    row = next(line for line in text.splitlines() if "independent" in line)
    assert "512.00 MiB/s" in row
    assert "50%" in row
    assert ids(store)[1] not in text
    assert ids(store)[1] in tuned("show")


def test_forget_drops_one_or_all(tuned, store):
    one, other = ids(store)
    tuned("forget", one)
    assert ids(store) == [other]
    tuned("forget", "--all")
    assert not store.exists()
    assert "Nothing was learnt yet" in tuned("list")
    assert "name records, or give --all" in tuned("forget", expect=2)


def test_files_of_version_1_have_lessons_and_places(tuned, store):
    content = json.loads(store.read_text())
    for entry in content["records"]:
        entry["place"] = entry.pop("storage")
    content |= {"unisono_tune": 1, "lessons": content.pop("records")}
    expected = tuned("list")
    store.write_text(json.dumps(content))
    assert tuned("list") == expected


def test_export_and_import(tuned, store, tmp_path):
    copy = tmp_path / "folder" / "copy.json"
    tuned("export", copy, ids(store)[0])
    assert ids(copy) == ids(store)[:1]
    assert json.loads(tuned("export", "-"))["unisono_tune"] == 2
    newer = record(updated=1900000000)
    older = record(direction="read", updated=1)
    other = record(ranks=8)
    copy.write_text(
        json.dumps({"unisono_tune": 2, "frozen": True, "records": [newer, older, other]})
    )
    assert "2 of 3 records were new or more recent." in tuned("import", copy)
    assert [one["updated"] for one in tune.read(store).records] == [
        1900000000, 1800000000, 1700000000]  # fmt: skip
    assert not tune.read(store).frozen, "that is for the user to say"


def test_freeze_and_unfreeze(tuned, store):
    one = ids(store)[0]
    tuned("freeze", one)
    assert [entry["frozen"] for entry in tune.read(store).records] == [True, False]
    assert "frozen" in tuned("list")
    tuned("unfreeze", one)
    assert not any(entry["frozen"] for entry in tune.read(store).records)
    tuned("freeze")
    assert tune.read(store).frozen
    assert "Frozen: nothing is tried or learnt." in tuned("list")
    tuned("unfreeze")
    assert not tune.read(store).frozen


def test_mistakes_are_named(tuned, store, tmp_path):
    assert "'xyz' is no record" in tuned("show", "xyz", expect=2)
    assert "'' is ambiguous" in tuned("show", "", expect=2)
    assert "No such file" in tuned("import", tmp_path / "none", expect=2)
    for text, why in [
        ("{", "no tune file of Unisono"),
        ('{"unisono_tune": 9}', "of a newer version (9)"),
        ('{"unisono_tune": 2, "frozen": false, "records": [{}]}', "damaged"),
    ]:
        store.write_text(text)
        assert why in tuned("list", expect=2)
        assert store.read_text() == text, "is left alone"
    tuned("forget", "--all")
    assert not store.exists()


@pytest.mark.parametrize("changes", [
    {"updated": 99999999999999}, {"updated": -1}, {"bytes_class": 100000},
    {"candidates": {"x": {"calls": 2, "bytes_per_second": 1.0, "deviation": float("nan")}}},
])  # fmt: skip
def test_numbers_that_make_no_sense_were_a_traceback(tuned, store, changes):
    store.write_text(json.dumps({"unisono_tune": 2, "frozen": False, "records": [record(**changes)]}))
    for command in ("list", "show"):
        assert "makes no sense" in tuned(command, expect=2)


@pytest.mark.parametrize(("where", "value"), [("updated", 1e30), ("updated", float("nan")), ("seconds", 0),
                                              ("seconds", float("inf"))])  # fmt: skip
def test_a_history_that_makes_no_sense_is_none(tuned, store, where, value):
    run = {"run": "a", "bytes": 1, "seconds": 1, "storage_seconds": 1}
    history = {"program": "p", "files": "f", "storage": "s", "machine": "m", "ranks": 1, "nodes": 1, "updated": 1, "runs": [run]}
    (run if where == "seconds" else history)[where] = value
    store.write_text(json.dumps({"unisono_tune": 2, "frozen": False, "records": [], "histories": [history]}))
    assert "No run was noted yet" in tuned("history")


def test_off_means_that_there_is_no_file(unisono):
    done = unisono("tune", "list", env=ENVIRONMENT | {"UNISONO_TUNE": "off"})
    assert done.returncode == 2
    assert "nothing is kept" in done.stderr


def launcher(mpi, *settings, ranks=2):
    return [f"mpiexec.{mpi}", *EXTRA[mpi], "-n", str(ranks), "env", *settings]


class Job:
    """A program whose calls are measured, with records in a file."""

    def __init__(self, mpi, folder):
        self.mpi, self.folder, self.store = mpi, folder, folder / "tune.json"

    def command(self, *settings):
        preload = f"{BUILD}/lib/libunisono-{self.mpi}.so:{BUILD}/lib/libunisono-yield.so"
        return [
            *launcher(self.mpi, f"LD_PRELOAD={preload}", "UNISONO_SELECT=measured", *settings),
            *self.program(),
        ]  # fmt: skip

    def program(self):
        return [str(PROGRAM.with_suffix(f".{self.mpi}")), "--pattern", "strided-1k", "--mode", "fresh",
                "--bytes", "400000", "--repeats", "12", "--path", str(self.folder / "data")]  # fmt: skip

    def run(self, *settings, **variables):
        environment = ENVIRONMENT | {"UNISONO_TUNE": str(self.store)} | variables
        done = subprocess.run(self.command(*settings), env=environment, timeout=200, check=False,
                              capture_output=True, text=True)  # fmt: skip
        assert done.returncode == 0, done.stderr
        return [line for line in done.stderr.splitlines() if line.startswith("unisono:")]

    def reports(self):
        """Of writes, one for each file."""
        file = self.folder / "report.json"
        file.unlink(missing_ok=True)
        complaints = self.run(UNISONO_REPORT="json", UNISONO_REPORT_FILE=str(file))
        assert complaints == []
        return [json.loads(line)["write"] for line in file.read_text().splitlines()]

    def selection(self):
        """Of the whole run."""
        return self.reports()[-1]["selections"][0]


@pytest.fixture
def job(request, tmp_path):
    return Job(request.param, tmp_path)


on_each_mpi = pytest.mark.parametrize("job", MPIS, indirect=True)


@on_each_mpi
def test_the_next_run_begins_with_what_this_one_learnt(job):
    first = job.selection()
    assert first["calls_done"] == 11, "what the last of 12 took would ride in the next one"
    assert all(one["remembered"] == 0 for one in first["tried"])
    assert sum(one["calls"] for one in first["tried"]) == 11
    kept = tune.read(job.store).records
    assert len(kept) == 1
    # Whether others are tried as well depends on how long calls take. If not, there is no news after
    # eight calls.
    news = 11 if len(first["tried"]) > 1 else 8
    assert sum(score["calls"] for score in kept[0]["candidates"].values()) == news, (
        "also what was learnt after the last close but one that wrote")  # fmt: skip
    reasons = [use["why"] for use in job.reports()[0]["strategies"].values()]
    assert reasons == [["fastest in earlier runs"]]


@on_each_mpi
def test_what_was_learnt_last_was_lost_where_a_communicator_is_never_freed(job, monkeypatch):
    program = BUILD / "programs" / f"kept.{job.mpi}"
    monkeypatch.setattr(job, "program", lambda: [str(program), str(job.folder / "data")])
    learnt = sum(one["calls"] for one in job.selection()["tried"])
    (kept,) = tune.read(job.store).records
    assert sum(score["calls"] for score in kept["candidates"].values()) == learnt


@on_each_mpi
def test_nodes_that_are_pretended_teach_nothing_about_real_ones(job):
    job.run(UNISONO_TOPOLOGY="nodes=2")
    (kept,) = tune.read(job.store).records
    assert kept["nodes"] == 2
    assert kept["storage"].endswith("; pretended nodes")


@on_each_mpi
def test_what_is_frozen_is_used_and_nothing_is_tried(job):
    job.run()
    stored = tune.read(job.store)
    for score in stored.records[0]["candidates"].values():
        score["bytes_per_second"] = 1e6
    stored.records[0]["candidates"]["independent"] = {
        "calls": 9, "bytes_per_second": 2e6, "deviation": 0.0}  # fmt: skip
    stored.frozen = True
    tune.write(stored)
    before = job.store.read_text()
    selection = job.selection()
    calls = {one["candidate"]: one["calls"] for one in selection["tried"]}
    assert calls.pop("independent") == 11
    assert not any(calls.values())
    assert job.store.read_text() == before


@on_each_mpi
@pytest.mark.parametrize("damage", ["cut", "newer", "theirs", "folder", "unwritable"])
def test_a_bad_file_costs_one_line_and_nothing_else(job, damage):
    if damage == "theirs" and os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    job.run()
    text = job.store.read_text()
    if damage == "cut":
        job.store.write_text(text[: len(text) // 2])
    elif damage == "newer":
        job.store.write_text(text.replace('"unisono_tune": 2', '"unisono_tune": 3'))
    elif damage == "theirs":
        os.chown(job.store, 12345, 12345)
    elif damage == "folder":
        job.store.unlink()
        job.store.mkdir()
    else:
        job.store = job.folder / "data" / "tune.json"  # below a file
    lines = job.run()
    assert len(lines) == 1, lines
    assert str(job.store) in lines[0]


@on_each_mpi
def test_only_rank_0_reads_and_the_others_follow(job, starts_several_programs):
    """Rank 1 has another file, which would freeze another choice."""
    starts_several_programs(*job.command()[:job.command().index("-n")], "-n", "1")
    job.run()
    kept = tune.read(job.store)
    kept.records[0]["candidates"] = {
        "independent": {"calls": 9, "bytes_per_second": 1e9, "deviation": 0.0}}  # fmt: skip
    kept.frozen = True
    tune.write(kept)
    bad = job.folder / "bad.json"
    bad.write_text("{")
    command = job.command()
    at = command.index("-n")
    head, tail = command[:at], command[at + 2 :]
    one, other = ([*tail[:1], f"UNISONO_TUNE={path}", *tail[1:]] for path in (job.store, bad))
    done = subprocess.run([*head, "-n", "1", *one, ":", "-n", "1", *other], env=ENVIRONMENT,
                          timeout=200, check=False, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "unisono:" not in done.stderr


@on_each_mpi
def test_jobs_may_end_at_once(job):
    environment = ENVIRONMENT | {"UNISONO_TUNE": str(job.store)}
    jobs = []
    for number in range(3):
        command = job.command()
        command[-1] += str(number)
        jobs.append(subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.PIPE, text=True))  # fmt: skip
    deadline = time.monotonic() + 200
    for process in jobs:
        errors = process.communicate(timeout=max(1, deadline - time.monotonic()))[1]
        assert process.returncode == 0, errors
        assert "unisono:" not in errors
    assert len(tune.read(job.store).records) == 1
    assert sorted(file.name for file in job.folder.iterdir()) == ["tune.json"]
