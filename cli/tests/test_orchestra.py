"""What `unisono orchestra` makes of files and processes; tests/pocket runs it for real."""

import json
import os
import re
import stat

import pytest

from unisono import keys, orchestra, orchestra_command, pocket
from unisono.places import Failure


@pytest.fixture
def mount(tmp_path):
    return pocket.Mount(str(tmp_path / "mount"), str(tmp_path))


def test_the_state_of_a_dead_orchestrator_is_no_state(mount, tmp_path):
    gate = orchestra.gate_in_servers(mount)
    assert orchestra.state(gate) is None
    file = tmp_path / "orchestra.json"
    file.write_text("{")
    assert orchestra.state(gate) is None
    # This process lives, but is no orchestrator.
    for pid in (os.getpid(), 2**22 + 1, "x"):
        file.write_text(json.dumps({"pid": pid}))
        assert orchestra.state(gate) is None
    assert not orchestra.down(gate)


# A traceback: it had ended by itself, as its file system was taken down.
def test_an_orchestrator_that_ends_just_before_it_is_asked_to_is_down(mount, monkeypatch):
    states = iter([{"pid": 2**22 + 1}])  # no process has that number
    monkeypatch.setattr(orchestra, "state", lambda gate: next(states, None))
    assert orchestra.down(orchestra.gate_in_servers(mount))


def test_a_link_in_the_place_of_a_log_is_not_followed(mount, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "orchestra.log").symlink_to(victim)
    with pytest.raises(OSError):
        orchestra._start("unisono-orchestrator", [mount.mountpoint], tmp_path / "orchestra.log")
    assert victim.read_text() == "precious"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_what_others_have_put_there_is_not_believed(mount, tmp_path, monkeypatch):
    gate = orchestra.gate_in_servers(mount)
    monkeypatch.setattr(orchestra.places, "words_of_daemon", lambda program, pid: [os.fsencode(gate.state_file)])
    gate.state_file.write_text('{"pid": 1}')
    assert orchestra.state(gate) == {"pid": 1}
    os.chown(gate.folder, 65534, 65534)
    assert orchestra.state(gate) is None
    with pytest.raises(Failure, match="somebody else's"):
        orchestra._start("unisono-orchestrator", [mount.mountpoint], gate.folder / "orchestra.log")


def test_the_mountpoint_may_be_left_out_if_there_is_one_only(monkeypatch, mount):
    monkeypatch.setattr(pocket, "mounts", lambda: [mount])
    assert orchestra.mount_for(None) is mount
    monkeypatch.setattr(pocket, "mounts", lambda: [mount, mount])
    with pytest.raises(Failure, match="2 pocket file systems"):
        orchestra.mount_for(None)
    monkeypatch.setattr(pocket, "mounts", list)
    with pytest.raises(Failure, match="name the folder or mountpoint: no pocket file systems"):
        orchestra.mount_for(None)


def test_programs_whose_places_are_not_known_have_accessed_something():
    """Collective calls through a mapping have none: it said that nothing was accessed yet."""
    state = {"gate": "clients", "nodes": ["n1"], "locality": ""}
    assert orchestra_command._where(state) == "clients on n1 (places not known)"


def test_any_folder_has_a_gate_in_the_clients(tmp_path):
    (tmp_path / "below").mkdir()
    gate = orchestra.gate_at(str(tmp_path))
    assert gate.where == "clients"
    assert gate.folder == orchestra.gate_in_clients(str(tmp_path / "below")).folder
    assert orchestra.gate_in_clients("/proc").folder != gate.folder
    with pytest.raises(Failure, match="No such file"):
        orchestra.gate_in_clients(str(tmp_path / "nothing"))


def test_a_runtime_that_is_another_folder_for_each_process_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("UNISONO_RUNTIME", "here")
    with pytest.raises(Failure, match="has to begin with /"):
        orchestra.gate_in_clients(str(tmp_path))


# It was up, and no program ever came.
def test_beside_roots_gate_no_other_one_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("UNISONO_RUNTIME", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    gate = orchestra.gate_in_clients(str(tmp_path))
    page = tmp_path / f"unisono-gate-0-{tmp_path.stat().st_dev:x}" / "page"
    page.parent.mkdir()
    page.touch()
    with pytest.raises(Failure, match="root's gate"):
        orchestra.join(gate, "unix:/nowhere", [])
    assert not gate.folder.parent.exists()


@pytest.mark.parametrize(("words", "message"), [
    (["up", "--gate", "clients"], "needs a place"),
    (["up", "--listen", "tcp:localhost:0"], "are for --gate clients"),
    (["up", "/nowhere/at/all", "--gate", "clients"], "No such file"),
])  # fmt: skip
def test_what_does_not_fit_the_gate_is_refused(unisono, words, message):
    done = unisono("orchestra", *words)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.parametrize("words", [
    ["up", "--gate", "clients", "--policy", "nonsense"],
    ["up", "--gate", "clients", "--window-ms", "-5"],
    ["up", "--gate", "clients", "--listen", "tcp:localhost:0", "--key-file", "/nowhere"],
    ["join", "tcp:localhost:1", "--key-file", "/nowhere"],
])  # fmt: skip
def test_what_was_refused_left_its_folders(unisono, tmp_path, words):
    done = unisono("orchestra", *words, tmp_path, env=os.environ | {"UNISONO_RUNTIME": str(tmp_path)})
    assert done.returncode == 2, done.stderr
    assert not list(tmp_path.iterdir())


def test_the_folders_of_one_that_is_at_work_stay(unisono, tmp_path):
    runtime = {"env": os.environ | {"UNISONO_RUNTIME": str(tmp_path)}}
    assert unisono("orchestra", "up", "--gate", "clients", tmp_path, **runtime).returncode == 0
    try:
        there = sorted(tmp_path.rglob("*"))
        again = unisono("orchestra", "up", "--gate", "clients", tmp_path, **runtime)
        assert again.returncode == 2 and "already" in again.stderr
        assert sorted(tmp_path.rglob("*")) == there
    finally:
        assert unisono("orchestra", "down", tmp_path, **runtime).returncode == 0
    assert not list(tmp_path.iterdir())


def test_turns_are_cut_off_where_the_picture_begins():
    turn = orchestra.Turn
    turns = [turn(0, 10, "a"), turn(10, 20, "b"), turn(20, 30, "a")]
    assert orchestra.turns_within(turns, 15) == [turn(15, 20, "b"), turn(20, 30, "a")]


def test_policies_are_those_of_the_daemon(unisono):
    shown = unisono("orchestra", "policies").stdout
    assert [entry.name for entry in orchestra.policies()][0] == "default"
    assert all(entry.name in shown for entry in orchestra.policies())


def test_a_link_to_a_key_was_taken_for_the_key(tmp_path, monkeypatch):
    """Links are refused by the daemons, which have to see them."""
    seen = []
    monkeypatch.setattr(orchestra, "up", lambda _gate, options: seen.append(options))
    monkeypatch.setattr(orchestra, "gate_in_clients", lambda place: place)
    (tmp_path / "link").symlink_to("key")
    monkeypatch.chdir(tmp_path)
    words = ["up", "here", "--gate", "clients", "--listen", "tcp:node1:7000", "--key-file", "link"]
    orchestra_command.orchestra.main(words, standalone_mode=False)
    assert seen[0][-1] == str(tmp_path / "link")


def test_a_key_is_its_owners_alone_and_never_overwritten(unisono, tmp_path):
    file = tmp_path / "key"
    before = os.umask(0)
    try:
        unisono("orchestra", "key", file)
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    key = file.read_text()
    assert re.fullmatch(r"[0-9a-f]{64}\n", key)
    with pytest.raises(Failure, match="File exists"):
        keys.make(file)
    assert file.read_text() == key
    keys.make(tmp_path / "other")
    assert (tmp_path / "other").read_text() != key
