"""Orchestrators, as users start them, and gates, as programs feel them. Run by run.py."""

import errno
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

BUILD = pathlib.Path(os.environ["UNISONO_BUILD_DIR"])
MEBIBYTE = 1 << 20
GATE = "user.pocketfs.gate"


def unisono(*words, check=True):
    done = subprocess.run([BUILD / "bin" / "unisono", *map(str, words)], text=True,
                          capture_output=True, timeout=90, check=False)  # fmt: skip
    assert not check or done.returncode == 0, done.stderr
    return done


# Reads a file in order with four threads until it is told to end, and then says how often.
READER = """
import itertools, os, sys, threading
fd = os.open(sys.argv[1], os.O_RDONLY)
units = os.fstat(fd).st_size // 65536
todo, counts, end = itertools.count(), [], threading.Event()
def read():
    count = 0
    while not end.is_set():
        assert len(os.pread(fd, 65536, next(todo) % units * 65536)) == 65536
        count += 1
    counts.append(count)
threads = [threading.Thread(target=read) for _ in range(4)]
for thread in threads: thread.start()
sys.stdin.read()
end.set()
for thread in threads: thread.join()
print(sum(counts))
"""


class Reader:
    """A program of its own, known by its session or by the name that it is given."""

    def __init__(self, file, name=None):
        environment = os.environ | ({"UNISONO_PROGRAM": name} if name else {})
        self.process = subprocess.Popen([sys.executable, "-c", READER, file], env=environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        start_new_session=True)  # fmt: skip

    def end(self):
        output, _ = self.process.communicate(timeout=90)
        assert self.process.returncode == 0
        return int(output)


class Pocket:
    def __init__(self, folder):
        self.mountpoint = folder / "mount"
        self.backing = folder / "backing"

    def up(self, profile="barracuda-7200.10", *options):
        unisono("pocket", "up", self.mountpoint, "--backing", self.backing, "--profile", profile,
                "--servers", 2, "--page-cache-bytes", "16M", *options)  # fmt: skip
        return self

    def file(self, name, address):
        """64 MiB that are there without having been written, at this place on each disk."""
        path = self.mountpoint / name
        path.touch()
        os.setxattr(path, "user.pocketfs.address", str(address).encode())
        fd = os.open(path, os.O_RDWR)
        os.posix_fallocate(fd, 0, 64 * MEBIBYTE)
        os.close(fd)
        return path

    def two_files(self):
        return self.file("near", 0), self.file("far", 20 << 30)

    def orchestra(self, command, *options, check=True):
        return unisono("orchestra", command, self.mountpoint, *options, check=check)

    def report(self):
        return json.loads(os.getxattr(self.mountpoint, GATE))

    def adopt(self, schedule):
        os.setxattr(self.mountpoint, GATE, json.dumps(schedule).encode())

    def turns(self):
        file = os.getxattr(self.mountpoint, "user.pocketfs.turns").decode()
        return [line.split(",") for line in pathlib.Path(file).read_text().splitlines()[1:]]

    def daemon(self):
        return json.loads(self.orchestra("status", "--json").stdout)["pid"]


@pytest.fixture
def pocket(tmp_path):
    made = Pocket(tmp_path)
    yield made
    if os.path.ismount(made.mountpoint):
        made.orchestra("down")
    unisono("pocket", "down", made.mountpoint)


def only(program, epoch, lease_ms):
    """A schedule in which one program has a turn without an end."""
    objects = [{"programs": [program], "slice_ms": 10_000, "patience_ms": 0},
               {"programs": [], "slice_ms": 1, "patience_ms": 0}]  # fmt: skip
    return {"epoch": epoch, "lease_ms": lease_ms, "work_conserving": False, "objects": objects}


def wait_until(condition, what, seconds=90.0):
    deadline_s = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline_s, f"not within {seconds} s: {what}"
        time.sleep(0.05)


# ---- turns ---------------------------------------------------------------------------------------


def test_two_programs_take_turns_and_a_picture_shows_it(pocket, tmp_path):
    pocket.up()
    near, far = pocket.two_files()
    pocket.orchestra("up", "--policy", "even", "--window-ms", 200)
    one, two = Reader(near, "one"), Reader(far)
    wait_until(lambda: len(pocket.turns()) >= 8, "eight turns")
    status = pocket.orchestra("status").stdout
    pocket.orchestra("timeline", "--picture", tmp_path / "turns.png")
    turns = pocket.turns()
    assert one.end() > 0 and two.end() > 0
    session = f"session:{two.process.pid}"
    of_one, of_two = ([float(begin) for begin, _end, object in turns if object == name]
                      for name in ("one", session))  # fmt: skip
    assert min(len(of_one), len(of_two)) >= 2
    assert any(of_one[0] < begin < of_one[-1] for begin in of_two), "in between"
    assert "Jain's index" in status and "one" in status and session in status
    assert (tmp_path / "turns.png").read_bytes().startswith(b"\x89PNG")


# Who gains from turns, and how much, is a matter of time: testbed/pocketfs tests it without a clock.
def test_the_default_says_what_it_thinks_of_each_program(pocket):
    pocket.up()
    near, far = pocket.two_files()
    pocket.orchestra("up", "--lease-ms", 500, "--seek-profile", "none")
    one, two = Reader(near, "one"), Reader(far, "two")

    def verdicts():
        programs = json.loads(pocket.orchestra("status", "--json").stdout)["programs"]
        return {entry["id"]: entry["why"] for entry in programs}

    wait_until(lambda: verdicts().keys() == {"one", "two"}, "both are known")
    assert all(verdicts().values())
    assert one.end() > 0 and two.end() > 0


def test_on_storage_without_seeks_nobody_ever_waits(pocket):
    pocket.up("ssd")
    near, far = pocket.two_files()
    pocket.orchestra("up")
    one, two = Reader(near, "one"), Reader(far, "two")
    wait_until(lambda: "seeks cost a request" in pocket.orchestra("status").stdout,
               "it is known what seeks cost")  # fmt: skip
    time.sleep(1)
    assert pocket.turns() == []
    assert one.end() > 0 and two.end() > 0


def test_a_lone_program_never_waits(pocket):
    pocket.up()
    near, _far = pocket.two_files()
    for policy in ("default", "paper", "paper-linux", "paper-kept", "even", "one-at-a-time", "sets"):
        pocket.orchestra("up", "--policy", policy, "--window-ms", 100)
        reader = Reader(near, "alone")
        time.sleep(0.7)
        assert reader.end() > 0
        assert pocket.turns() == [], policy
        pocket.orchestra("down")


# ---- whoever dies --------------------------------------------------------------------------------


def test_a_dead_orchestrator_stops_nobody_for_longer_than_its_lease(pocket):
    pocket.up("instant")
    near, far = pocket.two_files()
    two = Reader(far, "two")
    wait_until(lambda: any(p["id"] == "two" for p in pocket.report()["programs"]), "it reads")
    begin_s = time.monotonic()
    pocket.adopt(only("one", 1, 3000))  # by an orchestrator that is not heard of again
    wait_until(lambda: any(p["id"] == "two" and p["held"] for p in pocket.report()["programs"]),
               "the second program is held")  # fmt: skip
    wait_until(lambda: pocket.report()["open"], "the gate is open")
    assert time.monotonic() - begin_s >= 3, "it was the first program's turn until then"
    assert two.end() > 0


def test_kill_9_of_the_orchestrator_and_a_new_one(pocket):
    pocket.up()
    near, far = pocket.two_files()
    pocket.orchestra("up", "--policy", "even", "--window-ms", 400)
    one, two = Reader(near, "one"), Reader(far, "two")
    wait_until(lambda: len(pocket.turns()) >= 2, "two turns")
    os.kill(pocket.daemon(), signal.SIGKILL)
    wait_until(lambda: pocket.report()["open"], "the gate is open")
    assert "no orchestrator is at work" in pocket.orchestra("status", check=False).stderr
    assert "nothing to do" in pocket.orchestra("down").stderr
    before = len(pocket.turns())
    pocket.orchestra("up", "--policy", "even", "--window-ms", 200)
    wait_until(lambda: len(pocket.turns()) >= before + 2, "turns go on")
    assert one.end() > 0 and two.end() > 0


def test_a_killed_program_gives_its_turns_away(pocket):
    pocket.up()
    near, far = pocket.two_files()
    pocket.orchestra("up", "--policy", "even", "--window-ms", 400)
    one, two = Reader(near, "one"), Reader(far, "two")
    wait_until(lambda: len(pocket.turns()) >= 2, "two turns")
    one.process.kill()
    one.process.communicate()
    wait_until(lambda: pocket.report()["open"], "nobody else is left")
    assert two.end() > 0


def test_down_of_the_file_system_ends_the_orchestrator(pocket):
    pocket.up("instant")
    pocket.orchestra("up", "--window-ms", 100)
    daemon = pocket.daemon()
    unisono("pocket", "down", pocket.mountpoint)
    wait_until(lambda: not os.path.exists(f"/proc/{daemon}"), "the orchestrator has ended")


# ---- who may, and what is said -------------------------------------------------------------------


def error_of(function, *arguments):
    with pytest.raises(OSError) as failure:
        function(*arguments)
    return failure.value.errno


def test_broken_and_old_messages_are_refused(pocket):
    pocket.up("instant")
    for text in (b"", b"{", b"\xff\xfe", b"[1]", json.dumps(only("a", 1, 99_999)).encode()):
        assert error_of(os.setxattr, pocket.mountpoint, GATE, text) == errno.EINVAL
    pocket.adopt(only("a", 7, 200))
    assert error_of(pocket.adopt, only("b", 7, 200)) == errno.ESTALE


SETTER = """
import os, sys
os.setgid(65534)
os.setuid(65534)
try:
    os.setxattr(".", "user.pocketfs.gate", sys.argv[1].encode())
except OSError as error:
    print(error.errno)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_only_the_owner_of_the_servers_may_hold_others(pocket):
    pocket.up("instant")
    pocket.mountpoint.chmod(0o777)
    # The folders above are closed to others: it begins within.
    done = subprocess.run([sys.executable, "-c", SETTER, json.dumps(only("a", 1, 1000))],
                          cwd=pocket.mountpoint, text=True, capture_output=True, check=True)  # fmt: skip
    assert done.stdout.strip() == str(errno.EPERM)
    assert pocket.report()["open"]


@pytest.mark.parametrize(("options", "message"), [
    (["--policy", "best"], "unknown policy 'best'; valid: default paper paper-linux paper-kept even one-at-a-time sets"),
    (["--window-ms", "0"], "--window-ms: Value 0 not in range 1 to 5000"),
    (["--seek-profile", "/nowhere"], "valid is 7200rpm, none, or a file"),
])  # fmt: skip
def test_mistakes_are_named(pocket, options, message):
    pocket.up("instant")
    done = pocket.orchestra("up", *options, check=False)
    assert done.returncode == 2
    said = re.sub(r"\[(\d+) - (\d+)\]", r"\1 to \2", done.stderr)  # CLI11 2.4's words
    assert message in said


def test_there_is_one_orchestrator_per_file_system(pocket):
    pocket.up("instant")
    pocket.orchestra("up")
    assert "there is an orchestrator already" in pocket.orchestra("up", check=False).stderr
    assert "one-at-a-time" in unisono("orchestra", "policies").stdout


def test_without_emulation_there_is_no_gate(pocket):
    pocket.up("off")
    assert "no gate there" in pocket.orchestra("up", check=False).stderr
