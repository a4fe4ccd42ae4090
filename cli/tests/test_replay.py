"""Calls that were recorded are the program's, and the same when they are done again."""

import json
import os
import shutil
import subprocess

import pytest

from unisono import places, report

BUILD = places.PREFIX

READY = [name for name in ("mpich", "openmpi")
         if shutil.which(f"mpiexec.{name}") and (BUILD / "libexec" / f"unisono-replay.{name}").exists()
         and (BUILD / "programs" / f"unisono-bench-patterns.{name}").exists()]  # fmt: skip
EXTRA = {"mpich": [], "openmpi": ["--oversubscribe"]}
ENVIRONMENT = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "UNISONO_TUNE": "off"}


@pytest.fixture
def command():
    """As a user calls it; several programs run meanwhile."""

    def call(*words, **variables):
        return subprocess.run([BUILD / "bin" / "unisono", *map(str, words)], capture_output=True, text=True, timeout=120,
                              check=False, env=ENVIRONMENT | variables)  # fmt: skip

    return call


def recording_of(command, folder, mpi, *words, program="programs/unisono-bench-patterns", ranks=3):
    recording = folder / "recording"
    done = command("run", "--record", recording, "--", f"mpiexec.{mpi}", *EXTRA[mpi], "-n", ranks,
                   BUILD / f"{program}.{mpi}", *words, "--path", folder / "data")  # fmt: skip
    assert done.returncode == 0, done.stderr
    return recording


def pieces_of(tile, at=0):
    """(offset, bytes) of a tile in its order."""
    at += tile.get("at", 0)
    if "count" in tile:
        for i in range(tile["count"]):
            yield from pieces_of(tile["of"], at + i * tile["stride"])
    elif "offsets" in tile:
        for i, offset in enumerate(tile["offsets"]):
            yield from pieces_of(tile["of"][i] if "of" in tile else {"bytes": tile["bytes"][i]}, at + offset)
    else:
        yield at, tile["bytes"]


def offsets_of(view, origin, first, size):
    """The offset of each byte, as plainly as can be."""
    tile = [offset + i for offset, length in pieces_of(view["tile"]) for i in range(length)]
    return [origin + view["extent"] * (byte // len(tile)) + tile[byte % len(tile)] for byte in range(first, first + size)]


def calls_of(rank):
    for kind, view, origin, first, size, count, origin_step, first_step in rank["calls"]:
        for i in range(count):
            if kind == "sync":
                yield kind, []
            else:
                place = origin + i * origin_step, first + i * first_step
                yield kind, offsets_of(rank["views"][view], *place, size)


def asked_for(records):
    return [[list(calls_of(rank)) for rank in record["recording"]["ranks"]] for record in records]


@pytest.mark.parametrize("mpi", READY)
def test_a_replay_asks_for_the_same_bytes_in_the_same_order(command, tmp_path, mpi):
    recording = recording_of(command, tmp_path, mpi, "--pattern", "strided-4k,irregular,calls-contiguous,block-3d",
                             "--mode", "fresh,read,sync", "--bytes", "60000", "--repeats", "1")  # fmt: skip
    recorded = report.read_records(str(recording))
    again = tmp_path / "again"
    done = command("replay", recording, "--in", tmp_path, "--mpi", mpi, "--repeats", 1, "--json",
                   "--launcher", " ".join([f"mpiexec.{mpi}", *EXTRA[mpi], "-n", "3"]),
                   UNISONO_REPORT_CALLS="true", UNISONO_REPORT_FILE=str(again))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["contents"] == "equal"
    wanted = asked_for(recorded)
    replayed = report.read_records(str(again))
    assert len(recorded) == 12 and {kind for calls in wanted for kind, _ in calls[0]} == {"write", "read", "sync"}
    assert asked_for(replayed[: len(recorded)]) == wanted
    assert asked_for(replayed[len(recorded) :]) == wanted  # the first run, and the one that counts


@pytest.mark.skipif("mpich" not in READY, reason="needs MPICH")
def test_sides_take_turns_and_nothing_stays(command, tmp_path):
    recording = recording_of(command, tmp_path, "mpich", "demo", "--segment-bytes", 3000, "--file-bytes", 72000,
                             program="libexec/unisono-bench")  # fmt: skip
    before = sorted(os.listdir(tmp_path))
    done = command("replay", recording, "--in", tmp_path, "--strategies", "independent,two_phase", "--repeats", 1,
                   "--calls", 2, "--json", UNISONO_TOPOLOGY="nodes=3")  # fmt: skip
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout)
    assert any("The program ran on 1 node, this on 3 nodes" in note for note in outcome["notes"])
    assert [side["name"] for side in outcome["sides"]] == ["MPICH's own", "Unisono", "independent", "two_phase"]
    assert all(0 < seconds < 60 for side in outcome["sides"] for seconds in side["seconds"])
    assert "2 collective calls of 3 ranks" in done.stderr
    assert sorted(os.listdir(tmp_path)) == before


@pytest.fixture
def trace(tmp_path):
    """A write and a read of 2 ranks, as the command gives them to the program."""

    def make(kind, access):
        ranks = [{"rank": rank, "views": [{"extent": 32, "tile": {"at": 16 * rank, "bytes": 16}}],
                  "calls": [[kind, 0, 0, 0, 160, 1, 0, 0]], "left_out": 0} for rank in range(2)]  # fmt: skip
        path = tmp_path / "trace.json"
        file = {"access": access, "hints": {}, "ranks": ranks, "path": str(tmp_path / "played")}
        path.write_text(json.dumps({"calls": None, "files": [file]}))
        return path

    return make


def play(trace, *words):
    return subprocess.run(["mpiexec.mpich", "-n", "3", BUILD / "libexec" / "unisono-replay.mpich", trace, *words],
                          capture_output=True, text=True, timeout=200, check=False)  # fmt: skip


@pytest.mark.skipif("mpich" not in READY, reason="needs MPICH")
@pytest.mark.parametrize(("kind", "access", "said"), [("read", "r", "read"), ("write", "w", "in the file")])
def test_a_wrong_byte_is_noticed_and_a_rank_too_many_waits(trace, kind, access, said):
    path = trace(kind, access)
    done = play(path)
    assert done.returncode == 0 and json.loads(done.stdout)["bytes"] == 320, done.stderr
    done = play(path, "--flip-byte", "177")
    assert done.returncode != 0 and f"wrong byte {said} at offset 177" in done.stderr


@pytest.mark.skipif("mpich" not in READY, reason="needs MPICH")
def test_a_trace_with_more_ranks_than_there_are_is_an_error(trace):
    path = trace("write", "w")
    content = json.loads(path.read_text())
    content["files"][0]["ranks"] *= 2
    path.write_text(json.dumps(content))
    assert "the trace has 4 ranks, and here are 3" in play(path).stderr


def a_record(**more):
    from unisono import replay

    directions = {name: {"calls": {"independent": 0, "native_independent": {}}} for name in ("write", "read")}
    ranks = [{"rank": rank, "views": [], "calls": [["write", 0, 0, 0, 1024, 4, 0, 1024]], "left_out": 0} for rank in range(2)]
    return replay, {"file": "/out", "recording": {"access": "w", "hints": {}, "ranks": ranks}, **directions, **more}


def test_what_is_not_played_is_said():
    replay, record = a_record()
    assert replay.description(record, None) == "/out: 4 collective calls of 2 ranks, 8 KiB written"
    assert replay.description(record, 1) == "/out: 1 collective call of 2 ranks, 2 KiB written"
    assert replay.not_played(record) == []
    record["recording"]["ranks"][1] |= {"calls": [["write", 0, 0, 0, 1024, 1, 0, 0]], "left_out": 3}
    record["read"]["calls"]["independent"] = 1000
    assert replay.description(record, None) == "/out: 1 collective call of 2 ranks, 2 KiB written"
    first, second = replay.not_played(record)
    assert first.startswith("/out: only the first 1 of its 4 collective calls")
    assert second == "/out: without its 1,000 independent calls."


def test_other_nodes_than_the_programs_are_said():
    replay, record = a_record(nodes=2)
    said, = replay.placed_otherwise([record], [{"nodes": 1}])
    assert said.startswith("The program ran on 2 nodes, this on 1 node,") and "UNISONO_TOPOLOGY=nodes=2" in said
    assert replay.placed_otherwise([record], [{"nodes": 2}]) == replay.placed_otherwise([record], []) == []


@pytest.mark.parametrize("text", ['{"traceEvents": []}\n', "no JSON\n", ""])
def test_what_is_no_recording_is_told_how_to_make_one(command, tmp_path, text):
    (tmp_path / "trace").write_text(text)
    done = command("replay", tmp_path / "trace", "--in", tmp_path)
    assert done.returncode == 2 and "unisono run --record" in done.stderr and "Traceback" not in done.stderr


def test_a_report_without_recorded_calls_is_no_recording(command, tmp_path, sample_report):
    done = command("replay", sample_report, "--in", tmp_path)
    assert done.returncode == 2 and "no collective calls are recorded" in done.stderr


def test_a_file_that_was_not_recorded_is_told_with_those_that_were(command, tmp_path, sample_report):
    record = json.loads(sample_report.read_text())
    record["recording"] = a_record()[1]["recording"]
    (tmp_path / "recording").write_text(json.dumps(record))
    done = command("replay", tmp_path / "recording", "--in", tmp_path, "--file", "/other")
    assert done.returncode == 2 and "there are: /scratch/chk_0001.h5" in done.stderr
