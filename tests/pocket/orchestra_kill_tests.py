"""kill -9 of orchestrators at any moment, again and again, while programs check their bytes.

Run by run.py.
"""

import json
import random
import signal
import subprocess
import sys
import time

from orchestra_tests import BUILD, MEBIBYTE, Pocket, pocket, wait_until  # noqa: F401  (a fixture)

LEASE_S = 1.0
SECONDS, SECONDS_MAX = 25, 150  # more on a busy machine, until there was enough
SEED = 6

# Writes a pattern into its file, then reads it in order with four threads and checks it; now and
# then each thread writes a part of its own anew. Meanwhile a thread that only sleeps says how late
# this machine is. Told to end, it says how much was checked, how long the longest access took, and
# how late it was, in seconds.
CHECKER = """
import itertools, json, os, sys, threading, time
path, letter = sys.argv[1], sys.argv[2].encode()
unit, units, threads = 65536, 256, 4
fd = os.open(path, os.O_RDWR)
def pattern(number, generation):
    return (letter + b"%07d%08d" % (number, generation)) * (unit // 16)
todo, end, lock = itertools.count(), threading.Event(), threading.Lock()
generations = [0] * units
checked, longest_s, late_s, wrong = 0, 0.0, 0.0, []
def timed(access, *arguments):
    global longest_s
    begin_s = time.monotonic()
    result = access(*arguments)
    with lock:
        longest_s = max(longest_s, time.monotonic() - begin_s)
    return result
def check(mine):
    global checked
    while not end.is_set() and not wrong:
        number = next(todo) % units // threads * threads + mine
        found = timed(os.pread, fd, unit, number * unit)
        if found != pattern(number, generations[number]):
            wrong.append(number)
        checked += 1
        if checked % 16 == 0:
            generations[number] += 1
            timed(os.pwrite, fd, pattern(number, generations[number]), number * unit)
def watch():
    global late_s
    while not end.is_set():
        begin_s = time.monotonic()
        time.sleep(0.01)
        late_s = max(late_s, time.monotonic() - begin_s - 0.01)
for number in range(units):
    os.pwrite(fd, pattern(number, 0), number * unit)
workers = [threading.Thread(target=check, args=(mine,)) for mine in range(threads)]
workers.append(threading.Thread(target=watch))
for worker in workers: worker.start()
print("ready", flush=True)
sys.stdin.read()
end.set()
for worker in workers: worker.join()
os.fsync(fd)
wrong += [n for n in range(units) if os.pread(fd, unit, n * unit) != pattern(n, generations[n])]
print(json.dumps({"checked": checked, "wrong": wrong, "longest_s": longest_s, "late_s": late_s}))
"""


class Checker:
    def __init__(self, file, letter):
        self.process = subprocess.Popen([sys.executable, "-c", CHECKER, file, letter],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        start_new_session=True)  # fmt: skip
        assert self.process.stdout.readline() == "ready\n"

    def end(self):
        output, _ = self.process.communicate(timeout=90)
        assert self.process.returncode == 0
        return json.loads(output)


def start_daemon(pocket):  # noqa: F811
    return subprocess.Popen([BUILD / "bin" / "unisono-orchestrator", pocket.mountpoint,
                             "--state", pocket.backing / "orchestra.json", "--policy", "even",
                             "--window-ms", "200", "--lease-ms", str(int(LEASE_S * 1000))],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)  # fmt: skip


def test_kill_9_at_any_moment_stops_nobody_and_loses_nothing(pocket):  # noqa: F811
    pocket.up()
    near, far = pocket.two_files()
    one, two = Checker(near, "a"), Checker(far, "b")
    dice = random.Random(SEED)
    begin_s = time.monotonic()
    kills = turns = 0
    while time.monotonic() < begin_s + (SECONDS if kills > 10 and turns > 10 else SECONDS_MAX):
        daemon = start_daemon(pocket)
        # Also before it has said anything, and long enough for some turns now and then.
        time.sleep(dice.choice([0, 0.02, 0.1, 0.4, 1.5]) * dice.random())
        daemon.send_signal(signal.SIGKILL)
        _, complaint = daemon.communicate(timeout=90)
        assert complaint == "", "a dead one's lock or state is in nobody's way"
        assert daemon.returncode == -signal.SIGKILL
        kills += 1
        turns = len(pocket.turns())
        # Now and then until after the lease.
        time.sleep(dice.choice([0, 0, 0.1, 1.3]) * dice.random())
    wait_until(lambda: pocket.report()["open"], "the gate is open")
    pocket.orchestra("up", "--policy", "even", "--window-ms", 200)
    wait_until(lambda: len(pocket.turns()) >= turns + 2, "turns are taken again")
    results = [one.end(), two.end()]
    print(f"{kills} kills, {turns} turns, {results}")
    assert kills > 10 and turns > 10
    for result in results:
        assert result["checked"] > 0
        assert result["wrong"] == []
        # A turn besides, and what the disks take; more where the machine itself stood still.
        assert result["longest_s"] < LEASE_S + 3 + 4 * result["late_s"]
