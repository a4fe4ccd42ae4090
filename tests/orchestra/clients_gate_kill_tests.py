"""kill -9 of orchestrator, node_daemon and a third program at any moment, again and again, under two MPI
programs that check their bytes."""

import contextlib
import os
import random
import signal
import threading
import time

from clients_gate_tests import gate, unisono, wait_until  # noqa: F401  (a fixture)

LEASE_S = 1.0
BUSY_S = 4.0  # more where the machine itself stood still
KILLS = 10
KINDS = ("unisono-orchestrator", "unisono-node-daemon")
SEED = 6
OPTIONS = ("--policy", "even", "--window-ms", 100, "--lease-ms", int(LEASE_S * 1000))


def daemons(gate):  # noqa: F811
    """Process numbers by kind, of those that are at work for its folder."""
    return {kind: process for kind in KINDS if (process := gate.daemon(kind))}


def make_whole(gate):  # noqa: F811
    """Starts what is not there."""
    there = daemons(gate)
    if "unisono-orchestrator" not in there:
        gate.up(*OPTIONS)
    elif "unisono-node-daemon" not in there:
        unisono("orchestra", "join", f"unix:{gate.runtime}/own/socket", gate.folder)


@contextlib.contextmanager
def lateness():
    """Of this machine, while it is watched: the most, in seconds, by which a thread that only sleeps was late."""
    late_s, end = [0.0], threading.Event()

    def watch():
        while not end.is_set():
            begin_s = time.monotonic()
            time.sleep(0.01)
            late_s[0] = max(late_s[0], time.monotonic() - begin_s - 0.01)

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield late_s
    finally:
        end.set()
        watching.join()


def kill_again_and_again(gate):  # noqa: F811
    dice = random.Random(SEED)
    for number in range(KILLS):
        make_whole(gate)
        third = gate.program(f"third-{number}")
        time.sleep(dice.choice([0, 0.1, 1]) * dice.random())
        there = daemons(gate)
        victims = dice.choice([[], ["unisono-orchestrator"], ["unisono-node-daemon"], list(there)])
        for victim in victims:
            os.kill(there[victim], signal.SIGKILL)
        third.kill()
        wait_until(lambda: not daemons(gate).keys() & set(victims), "they are dead")
        time.sleep(dice.choice([0, 0.1, 1.3]) * dice.random())
    make_whole(gate)


def test_kill_9_at_any_moment_stops_nobody_and_loses_nothing(gate):  # noqa: F811
    with lateness() as late_s:
        one, two = gate.program("one"), gate.program("two")
        kill_again_and_again(gate)
        wait_until(gate.both_take_turns, "both had turns again")
        reports = [one.end(), two.end()]
    longest_s = max(one.longest_s, two.longest_s)
    print("longest access", longest_s, "s; the machine was late by", late_s[0], "s")
    assert all(report["waits"] > 0 for report in reports)
    assert longest_s < LEASE_S + BUSY_S + 4 * late_s[0]
