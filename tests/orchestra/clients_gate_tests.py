"""A gate in the clients: orchestrator, node daemon and MPI programs, as users start them."""

import collections
import contextlib
import itertools
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import pytest

BUILD = pathlib.Path(os.environ["UNISONO_BUILD_DIR"])
MPI = os.environ["UNISONO_TEST_MPI"]
LAUNCHERS = {
    "mpich": ["mpiexec.mpich"],
    "openmpi": ["mpiexec.openmpi", "--oversubscribe", "--allow-run-as-root"],
}
LIMIT_S = 90.0


def unisono(*words, check=True, cwd=None):
    done = subprocess.run([BUILD / "bin" / "unisono", *map(str, words)], text=True, cwd=cwd,
                          capture_output=True, timeout=LIMIT_S, check=False)  # fmt: skip
    assert not check or done.returncode == 0, done.stderr
    return done


def wait_until(condition, what, seconds=LIMIT_S):
    deadline_s = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline_s, f"not within {seconds} s: {what}"
        time.sleep(0.05)


class Program:
    """turns.cpp on two ranks, until it is told to end; then it has checked its bytes."""

    def __init__(self, folder, name, *, extra=()):
        self.folder, self.name = folder, name
        self.report_file = folder / f"{name}.report"
        preload = f"{BUILD}/lib/libunisono-{MPI}.so:{BUILD}/lib/libunisono-yield.so"
        command = [*LAUNCHERS[MPI], "-n", "2", "env", f"LD_PRELOAD={preload}",
                   # Beside ranks that yield all the time, Linux 6.18 lets others wait for minutes.
                   "YIELD_SHIM_SLEEP_US=50", "UNISONO_TUNE=off",
                   f"UNISONO_PROGRAM={name}", "UNISONO_REPORT=json",
                   f"UNISONO_REPORT_FILE={self.report_file}", *extra,
                   str(BUILD / "programs" / f"turns.{MPI}"), str(folder), name]  # fmt: skip
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, start_new_session=True)  # fmt: skip

    def end(self):
        (self.folder / f"{self.name}.stop").touch()
        output, errors = self.process.communicate(timeout=LIMIT_S)
        assert self.process.returncode == 0, errors
        assert "rounds" in output
        self.longest_s = float(output.split()[-2])  # access
        return json.loads(self.report_file.read_text())["gate"]

    def send(self, number):
        """To all ranks, which MPI libraries put into sessions of their own."""
        for environment in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if f"UNISONO_REPORT_FILE={self.report_file}" in environment.read_text():
                    os.kill(int(environment.parent.name), number)
            except (OSError, UnicodeDecodeError):
                continue  # somebody else's, or just ended

    def kill(self):
        self.send(signal.SIGKILL)
        self.process.kill()
        self.process.communicate()


class Gate:
    """A gate on the file system of a folder in memory."""

    def __init__(self, folder, runtime):
        self.folder = folder
        name = f"{os.geteuid()}-{os.stat(folder).st_dev:x}"
        self.runtime = runtime / f"unisono-gate-{name}"
        self.slots = runtime / f"unisono-slots-{name}"
        self.programs = []

    def up(self, *options, cwd=None):
        unisono("orchestra", "up", self.folder, "--gate", "clients", *options, cwd=cwd)

    def down(self, check=True):
        return unisono("orchestra", "down", self.folder, check=check)

    def status(self):
        done = unisono("orchestra", "status", self.folder, "--json", check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def program(self, name, **given):
        self.programs.append(Program(self.folder, name, **given))
        return self.programs[-1]

    def turns(self):
        return [turn["object"] for turn in (self.status() or {"turns": []})["turns"]]

    def both_take_turns(self):
        """Twice: who has its first turn at once has not waited."""
        turns = self.turns()[-6:]
        return all(turns.count(name) >= 2 for name in ("one", "two"))

    def node_daemon(self):
        return self.daemon("unisono-node-daemon")

    def daemon(self, name):
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[0].endswith(f"/{name}".encode()) and os.fsencode(self.folder) in words:
                return int(process.name)
        return None


@pytest.fixture
def gate(tmp_path, monkeypatch):
    # Other programs on the machine have nothing to do with this.
    monkeypatch.setenv("UNISONO_RUNTIME", str(tmp_path))
    with tempfile.TemporaryDirectory(prefix="unisono-turns-", dir="/dev/shm") as folder:
        made = Gate(pathlib.Path(folder), tmp_path)
        yield made
        for program in made.programs:
            if program.process.poll() is None:
                program.kill()
        made.down(check=False)
        if node_daemon := made.node_daemon():
            with contextlib.suppress(ProcessLookupError):  # as it ends with its orchestrator
                os.kill(node_daemon, signal.SIGTERM)
            wait_until(lambda: made.node_daemon() is None, "the node daemon has ended")


def interrupt_up(gate):
    """Which daemons are there afterwards."""
    words = ["orchestra", "up", str(gate.folder), "--gate", "clients"]
    with subprocess.Popen([BUILD / "bin" / "unisono", *words], start_new_session=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as starting:  # fmt: skip
        while not (daemon := gate.daemon("unisono-orchestrator")):
            assert starting.poll() in (None, 0)  # 0: since this last look
        os.kill(daemon, signal.SIGSTOP)  # "up" waits for it
        if starting.returncode is None:
            os.killpg(starting.pid, signal.SIGINT)  # as Ctrl-C does
        time.sleep(0.2)
        with contextlib.suppress(ProcessLookupError):  # where "up" has ended it
            os.kill(daemon, signal.SIGCONT)
    return [name for name in ("unisono-orchestrator", "unisono-node-daemon") if gate.daemon(name)]


def test_an_interrupted_up_leaves_no_daemon(gate):
    for _ in range(10):
        left = interrupt_up(gate)
        if not left:
            return
        assert len(left) == 2, "neither up nor down"
        gate.down()  # it was up before the interrupt
    pytest.fail("it was never caught while it started")


def test_an_node_daemon_may_open_a_file_for_each_of_4096_processes(gate):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        gate.up()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert resource.prlimit(gate.node_daemon(), resource.RLIMIT_NOFILE)[0] >= min(4096, hard)


def test_two_programs_take_turns_and_lose_no_byte(gate):
    gate.up("--policy", "even", "--window-ms", 100)
    one, two = gate.program("one"), gate.program("two")
    wait_until(gate.both_take_turns, "both had turns")
    status = gate.status()
    assert status["gate"] == "clients" and status["nodes"] and status["locality"] == "offsets"
    assert {row["id"] for row in status["programs"]} == {"one", "two"}
    assert "gate in the clients" in unisono("orchestra", "status", gate.folder).stdout
    reports = [one.end(), two.end()]
    assert all(report["waits"] > 0 and report["seconds"]["longest"] > 0 for report in reports)
    assert all(report["accesses"] > report["waits"] for report in reports)
    gate.down()
    assert not gate.runtime.exists() and not gate.slots.exists(), "nothing is left"


def test_programs_join_an_orchestrator_that_comes_later_and_go_on_without_it(gate):
    one, two = gate.program("one"), gate.program("two")
    time.sleep(0.5)
    gate.up("--policy", "even", "--window-ms", 100)
    wait_until(gate.both_take_turns, "both had turns")
    gate.down()
    time.sleep(0.5)
    gate.up("--policy", "even", "--window-ms", 100)
    wait_until(gate.both_take_turns, "both had turns again")
    assert one.end()["waits"] > 0 and two.end()["waits"] > 0


def test_a_lone_program_never_waits(gate):
    gate.up("--policy", "even", "--window-ms", 100)
    alone = gate.program("alone")
    time.sleep(1.5)
    report = alone.end()
    assert report["accesses"] > 0
    assert report["waits"] == 0


@pytest.mark.parametrize("backend", ["posix", "uring", "mapped", "mpiio"])
def test_every_backend_waits_for_turns(gate, backend):
    gate.up("--policy", "even", "--window-ms", 100)
    one = gate.program("one", extra=[f"UNISONO_BACKEND={backend}"])
    two = gate.program("two", extra=[f"UNISONO_BACKEND={backend}"])
    wait_until(gate.both_take_turns, "both had turns")
    assert one.end()["waits"] > 0 and two.end()["waits"] > 0


@pytest.mark.parametrize("strategy", ["native", "independent", "view_based"])
def test_calls_that_are_done_in_any_way_wait_for_turns(gate, strategy):
    gate.up("--policy", "even", "--window-ms", 100)
    one = gate.program("one", extra=[f"UNISONO_STRATEGY={strategy}"])
    two = gate.program("two", extra=[f"UNISONO_STRATEGY={strategy}"])
    wait_until(gate.both_take_turns, "both had turns")
    wait_until(lambda: all(row["mb_s"] > 0 for row in gate.status()["programs"]), "bytes are told")
    wait_until(lambda: len(gate.turns()) > 20, "what is written behind comes in the other's turns, too")
    assert one.end()["waits"] > 0 and two.end()["waits"] > 0


@pytest.mark.parametrize("policy", ["default", "paper", "one-at-a-time", "sets"])
def test_every_policy_decides_for_a_gate_in_the_clients(gate, policy):
    gate.up("--policy", policy)
    one, two = gate.program("one"), gate.program("two")
    wait_until(lambda: len(gate.status()["programs"]) == 2, "both are known")
    wait_until(lambda: all(row["why"] for row in gate.status()["programs"]), "it says why")
    assert one.end()["accesses"] > 0 and two.end()["accesses"] > 0


# ---- whoever dies --------------------------------------------------------------------------------


def test_kill_9_of_the_orchestrator_stops_nobody_and_a_new_one_resumes(gate):
    gate.up("--policy", "even", "--window-ms", 100)
    one, two = gate.program("one"), gate.program("two")
    wait_until(gate.both_take_turns, "both had turns")
    os.kill(gate.status()["pid"], signal.SIGKILL)
    wait_until(lambda: gate.status() is None, "it is dead")
    time.sleep(1.2)  # and so is its lease
    gate.up("--policy", "even", "--window-ms", 100)
    wait_until(gate.both_take_turns, "both had turns again")
    one.end(), two.end()


def test_kill_9_of_the_node_daemon_stops_nobody_and_a_new_one_resumes(gate):
    gate.up("--policy", "even", "--window-ms", 100)
    one, two = gate.program("one"), gate.program("two")
    wait_until(gate.both_take_turns, "both had turns")
    os.kill(gate.node_daemon(), signal.SIGKILL)
    wait_until(lambda: gate.status()["nodes"] == [], "it is dead")
    wait_until(lambda: not gate.status()["programs"], "nobody is known any more")
    unisono("orchestra", "join", f"unix:{gate.runtime}/own/socket", gate.folder)
    wait_until(lambda: len(gate.status()["programs"]) == 2, "they are known again")
    wait_until(gate.both_take_turns, "both had turns again")
    one.end(), two.end()


def test_down_leaves_the_folders_to_a_node_daemon_that_looks_for_its_orchestrator(gate, key):
    gate.up()
    os.kill(gate.status()["pid"], signal.SIGKILL)
    wait_until(lambda: gate.status() is None, "it is dead")
    node_daemon = gate.node_daemon()
    again = unisono("orchestra", "up", gate.folder, "--gate", "clients", "--key-file", key,
                    "--listen", f"tcp:127.0.0.1:{free_port()}", check=False)  # fmt: skip
    assert "there is a node daemon already" in again.stderr
    assert gate.status() is None, "up has taken its orchestrator down again"
    assert gate.node_daemon() == node_daemon and (gate.runtime / "page").exists()


# systemd takes a user's folders in /dev/shm away when he logs out. Orchestrators stayed for ever, out of reach.
def test_daemons_whose_folders_are_gone_end(gate):
    gate.up()
    shutil.rmtree(gate.runtime)
    for name in ("unisono-node-daemon", "unisono-orchestrator"):
        # Without an orchestrator the node daemon ends, too, after 30 s.
        wait_until(lambda name=name: gate.daemon(name) is None, f"{name} has ended", seconds=25)


@pytest.mark.skipif(MPI != "mpich", reason="it takes half a minute, and no MPI")
def test_a_node_daemon_that_finds_no_orchestrator_ends_and_says_so(gate):
    gate.up()
    os.kill(gate.status()["pid"], signal.SIGKILL)
    wait_until(lambda: gate.node_daemon() is None, "it has ended")
    log = (gate.runtime / "own" / "node_daemon.log").read_text()
    assert "no orchestrator for 30 s" in log and "Connection refused" in log


def test_programs_join_again_when_a_node_daemon_was_killed_and_then_down_and_up(gate):
    gate.up("--policy", "even", "--window-ms", 100)
    one, two = gate.program("one"), gate.program("two")
    wait_until(gate.both_take_turns, "both had turns")
    os.kill(gate.node_daemon(), signal.SIGKILL)
    wait_until(lambda: gate.node_daemon() is None, "it is dead")
    gate.down()
    assert not gate.runtime.exists() and not gate.slots.exists(), "nothing is left"
    gate.up("--policy", "even", "--window-ms", 100)
    wait_until(gate.both_take_turns, "both had turns again")
    one.end(), two.end()


def test_a_killed_program_gives_its_turns_away(gate):
    gate.up("--policy", "even", "--window-ms", 400)
    one, two = gate.program("one"), gate.program("two")
    wait_until(gate.both_take_turns, "both had turns")
    one.kill()
    wait_until(lambda: gate.status()["objects"] == [], "there is nobody to take turns with")
    two.end()


# As a batch system suspends it. Of one that waits for its turn then it was not known for ever.
def test_a_suspended_program_gives_its_turns_away_until_it_goes_on(gate):
    gate.up("--policy", "even", "--window-ms", 100)
    one, two = gate.program("one"), gate.program("two")
    for _ in range(3):
        wait_until(gate.both_take_turns, "both have turns")
        one.send(signal.SIGSTOP)
        wait_until(lambda: gate.status()["objects"] == [], "there is nobody to take turns with")
        one.send(signal.SIGCONT)
    wait_until(gate.both_take_turns, "both have turns again")
    one.end(), two.end()


# ---- who may, and what is said -------------------------------------------------------------------


def frame(body):
    return len(body).to_bytes(4, "big") + body


# It said whose slices were how long, while everyone was served.
def test_with_more_programs_than_can_take_turns_status_says_that_everyone_is_served(gate):
    gate.up("--policy", "even", "--window-ms", 100)
    programs, tokens = range(257), itertools.count()
    with socket.socket(socket.AF_UNIX) as node:
        node.connect(str(gate.runtime / "own" / "socket"))
        node.sendall(frame(b"unisono-node-daemon-2 crowded"))
        node.sendall(frame("".join(f"t {each} p{each}\n" for each in programs).encode()))

        def status():
            token = next(tokens)
            node.sendall(frame("".join(f"e {each} {token} 0 0 0 0 1 {each}\n" for each in programs).encode()))
            return gate.status()

        wait_until(lambda: len(status()["programs"]) == len(programs), "all are known")
        assert status()["objects"] == []


# It said that it was ready, and tried again once a second, for ever.
def test_a_node_daemon_that_is_not_understood_is_not_ready(gate, tmp_path):
    with socket.socket(socket.AF_UNIX) as door:
        door.settimeout(LIMIT_S)
        door.bind(str(tmp_path / "door"))
        door.listen()

        def refuse():
            guest, _ = door.accept()
            with guest:
                guest.sendall(frame(b"welcome"))
                guest.recv(4096)

        other_version = threading.Thread(target=refuse)
        other_version.start()
        join = unisono("orchestra", "join", f"unix:{tmp_path}/door", gate.folder, check=False)
        other_version.join()
    assert join.returncode == 2 and "is it of another version?" in join.stderr
    assert gate.node_daemon() is None


def test_what_makes_no_sense_is_not_listened_to(gate):
    gate.up("--policy", "even", "--window-ms", 100)
    address = str(gate.runtime / "own" / "socket")
    for body in (b"", b"unisono-node-daemon-9 x", b"e 1 2 3", b"\xff" * 1000):
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.settimeout(LIMIT_S)
            stranger.connect(address)
            stranger.sendall(frame(body))
            while stranger.recv(4096):  # a welcome, and then nothing more
                pass
    one, two = gate.program("one"), gate.program("two")
    wait_until(gate.both_take_turns, "turns go on")
    assert gate.status()["nodes"] == [gate.status()["nodes"][0]]
    one.end(), two.end()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_the_page_of_another_user_is_not_believed(gate):
    gate.up("--policy", "even", "--window-ms", 100)
    os.chown(gate.runtime / "page", 12345, 12345)
    one, two = gate.program("one"), gate.program("two")
    time.sleep(1.5)
    assert one.end()["accesses"] == 0 and two.end()["accesses"] == 0


def test_a_fifo_in_place_of_the_page_hangs_no_program(gate):
    gate.runtime.mkdir(mode=0o755)
    os.mkfifo(gate.runtime / "page")
    one = gate.program("one")
    time.sleep(0.5)
    assert one.end()["accesses"] == 0


def test_a_fifo_among_the_slots_stops_no_node_daemon(gate):
    gate.up("--policy", "even", "--window-ms", 100)
    os.mkfifo(gate.slots / "pipe")
    os.rename(gate.slots / "pipe", gate.slots / "slot-pipe")
    wait_until(lambda: not (gate.slots / "slot-pipe").exists(), "it is taken away")
    one, two = gate.program("one"), gate.program("two")
    wait_until(gate.both_take_turns, "both had turns")
    one.end(), two.end()


def test_there_is_one_orchestrator_per_file_system_and_its_mistakes_are_named(gate):
    gate.up()
    again = unisono("orchestra", "up", gate.folder, "--gate", "clients", check=False)
    assert "there is an orchestrator already" in again.stderr
    picture = unisono("orchestra", "timeline", gate.folder, "--picture", "x.png", check=False)
    assert "gates in the servers only" in picture.stderr
    alien = unisono("orchestra", "join", "unix:/nowhere", "/proc", check=False)
    assert alien.returncode == 2 and "/nowhere" in alien.stderr


@pytest.fixture
def key(tmp_path):
    unisono("orchestra", "key", tmp_path / "key")
    return tmp_path / "key"


def free_port():
    """None of those that the kernel gives to whoever asks for any: such a one may be gone a moment later."""
    first_given = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.randrange(first_given // 2, first_given)
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port


def test_node_daemons_of_other_nodes_come_by_tcp_with_a_key(gate, key):
    gate.up("--policy", "even", "--window-ms", 100, "--listen", f"tcp:127.0.0.1:{free_port()}",
            "--key-file", key.name, cwd=key.parent)  # fmt: skip
    one, two = gate.program("one"), gate.program("two")
    wait_until(gate.both_take_turns, "both had turns")
    assert one.end()["waits"] > 0 and two.end()["waits"] > 0


def test_status_names_a_node_before_the_window_is_over(gate):
    gate.up("--policy", "even", "--window-ms", 5000)
    assert len(gate.status()["nodes"]) == 1
    os.kill(gate.node_daemon(), signal.SIGTERM)
    wait_until(lambda: not gate.status()["nodes"], "the node has left", seconds=3)


def join_from_another_node(gate, address, key, runtime):
    """The first line that a node daemon writes: ready, or why not. It ends at once."""
    runtime.mkdir()
    with subprocess.Popen([BUILD / "bin" / "unisono-node-daemon", gate.folder, "--connect", address,
                           "--key-file", key],
                          env={**os.environ, "UNISONO_RUNTIME": str(runtime)}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as node_daemon:  # fmt: skip
        line = node_daemon.stdout.readline()
        node_daemon.terminate()
    return line


def test_without_the_key_nobody_joins_and_both_sides_say_why(gate, key, tmp_path):
    address = f"tcp:127.0.0.1:{free_port()}"
    keyless = unisono("orchestra", "up", gate.folder, "--gate", "clients", "--listen", address,
                      check=False)  # fmt: skip
    assert "TCP needs a key file" in keyless.stderr
    gate.up("--listen", address, "--key-file", key)
    unisono("orchestra", "key", tmp_path / "other")
    answer = join_from_another_node(gate, address, tmp_path / "other", tmp_path / "node")
    assert "it has another key" in answer
    log = (gate.runtime / "own" / "orchestra.log").read_text()
    assert "refused 127.0.0.1:" in log and "it has another key" in log


# Whoever was to join knew no port: not even this node's own daemon.
def test_a_port_that_nobody_knows_is_refused(gate, key):
    done = unisono("orchestra", "up", gate.folder, "--gate", "clients", "--listen", "tcp:127.0.0.1:0",
                   "--key-file", key, check=False)  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "unisono: tcp:127.0.0.1:0: choose a port: node daemons must know it\n")
    assert gate.status() is None


# Its state could not be written, and it ended.
def test_the_place_may_be_named_by_any_bytes(gate):
    gate.folder = gate.folder / os.fsdecode(b"of H\xe4nsel")
    gate.folder.mkdir()
    gate.up()
    assert gate.status()["nodes"]
    assert "gate in the clients" in unisono("orchestra", "status", gate.folder).stdout
    gate.down()
    assert gate.status() is None and not gate.runtime.exists()
    assert "no orchestrator at" in unisono("orchestra", "down", gate.folder).stderr


# What it had said before was gone.
@pytest.mark.parametrize("words", [["up", "--gate", "clients"], ["join", "unix:/nowhere"]])
def test_a_second_daemon_leaves_the_log_of_the_first_alone(gate, words):
    gate.up()
    log = gate.runtime / "own" / ("orchestra.log" if words[0] == "up" else "node_daemon.log")
    with log.open("a") as said:
        said.write("said before\n")
    again = unisono("orchestra", *words, gate.folder, check=False)
    assert again.returncode == 2 and "said before" not in again.stderr
    assert "already" in again.stderr
    assert log.read_text().startswith("said before\n")


def keep_connecting(port, enough):
    """As another host would, silently: some 2000 times a second, at most 4000 times."""
    held = collections.deque(maxlen=200)
    for _ in range(4000):
        if enough.is_set():
            return
        one = socket.socket()
        one.setblocking(False)
        one.bind(("127.0.0.2", 0))
        one.connect_ex(("127.0.0.1", port))
        held.append(one)
        time.sleep(0.0004)


def test_one_client_that_keeps_connecting_keeps_nobody_out(gate, key, tmp_path):
    port = free_port()
    gate.up("--listen", f"tcp:127.0.0.1:{port}", "--key-file", key)
    enough = threading.Event()
    crowd = threading.Thread(target=keep_connecting, args=(port, enough))
    crowd.start()
    answers = [join_from_another_node(gate, f"tcp:127.0.0.1:{port}", key, tmp_path / f"node{number}")
               for number in range(5)]  # fmt: skip
    enough.set()
    crowd.join()
    assert answers == ["ready\n"] * 5
    assert gate.status()["nodes"], "who was in before has stayed"
