"""Orchestrators of pocket file systems: start, end, state, timeline. Knows no terminal."""

from __future__ import annotations

import csv
import json
import os
import select
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import places, pocket
from .places import Failure

_PROGRAM = "unisono-orchestrator"
_PATIENCE_S = 5.0


def program() -> Path:
    path = places.PREFIX / "bin" / _PROGRAM
    if not path.exists():
        raise Failure(f"{path} is missing")
    return path


@dataclass(frozen=True)
class PolicyEntry:
    name: str
    summary: str
    source: str


def policies() -> list[PolicyEntry]:
    """The table that the daemon was built with, the default first."""
    listed = subprocess.run([program(), "list"], capture_output=True, text=True, check=True)
    return [PolicyEntry(*line.split("\t")) for line in listed.stdout.splitlines()]


def mount_for(mountpoint: str | None) -> pocket.Mount:
    """The pocket file system that is meant; without a name the only one there is."""
    if mountpoint is not None:
        return pocket.mount_at(mountpoint)
    mounts = pocket.mounts()
    if len(mounts) != 1:
        raise Failure(f"name the mountpoint: {len(mounts)} pocket file systems are mounted")
    return mounts[0]


def _state_file(mount: pocket.Mount) -> Path:
    return Path(mount.backing, "orchestra.json")


def state(mount: pocket.Mount) -> dict[str, Any] | None:
    """What the orchestrator decided last; None if there is none, or it is dead."""
    try:
        found = json.loads(_state_file(mount).read_text())
    except (OSError, ValueError):
        return None
    return found if _is_alive(found.get("pid"), mount) else None


def _is_alive(pid: Any, mount: pocket.Mount) -> bool:
    if not isinstance(pid, int):
        return False
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return os.path.basename(words[0]) == _PROGRAM.encode() and mount.mountpoint.encode() in words


def up(mount: pocket.Mount, options: list[str]) -> None:
    """Starts one; returns when the gate has its first schedule."""
    log = Path(mount.backing, "orchestra.log")
    command = [str(program()), mount.mountpoint, "--state", str(_state_file(mount)), *options]
    with log.open("w") as errors:
        daemon = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=errors, cwd="/", start_new_session=True, text=True)  # fmt: skip
    assert daemon.stdout is not None
    with daemon.stdout:
        readable, _, _ = select.select([daemon.stdout], [], [], _PATIENCE_S)
        if readable and daemon.stdout.readline() == "ready\n":
            return
    daemon.kill()
    daemon.wait()
    reason = log.read_text().strip().removeprefix(f"{_PROGRAM}: ")
    raise Failure(reason or f"{_PROGRAM} did not get ready")


def down(mount: pocket.Mount) -> bool:
    """Ends it; the gate is open then. False: there was none."""
    found = state(mount)
    if found is None:
        return False
    for request in (signal.SIGTERM, signal.SIGKILL):
        os.kill(found["pid"], request)
        deadline_s = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline_s:
            if state(mount) is None:
                return True
            time.sleep(0.01)
    raise Failure(f"process {found['pid']} does not end")


# ---- the timeline --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Turn:
    begin_us: float
    end_us: float
    object: str


def turns(mount: pocket.Mount) -> list[Turn]:
    with open(pocket.attribute(mount, "turns")) as lines:
        return [Turn(float(row["begin_us"]), float(row["end_us"]), row["object"])
                for row in csv.DictReader(lines)]  # fmt: skip


def programs_by_process(mount: pocket.Mount) -> dict[int, str]:
    with open(pocket.attribute(mount, "programs")) as lines:
        return {int(row["process"]): row["program"] for row in csv.DictReader(lines)}


def draw(mount: pocket.Mount, picture: Path, seconds: float) -> None:
    """The last seconds: LBAs over time by program, the turns as a background of the same colours."""
    try:
        import matplotlib
    except ImportError as missing:
        raise Failure("pictures need matplotlib (Debian: python3-matplotlib)") from missing
    matplotlib.use("Agg")
    from matplotlib import pyplot

    entries = [e for e in pocket.trace_entries(pocket.trace(mount)) if e.operation != "flush"]
    if not entries:
        raise Failure("the trace is empty: nothing was read or written yet")
    begin_us = max(e.time_us for e in entries) - seconds * 1e6
    entries = [e for e in entries if e.time_us >= begin_us]
    names = programs_by_process(mount)
    programs = sorted({names.get(e.process, "unknown") for e in entries})
    colours = {name: f"C{number % 10}" for number, name in enumerate(programs)}
    servers = sorted({e.server for e in entries})
    figure, panels = pyplot.subplots(len(servers), 1, sharex=True, squeeze=False,
                                     figsize=(10, 1 + 1.8 * len(servers)))  # fmt: skip
    shown = turns_within(turns(mount), begin_us)
    for panel, server in zip(panels[:, 0], servers):
        for turn in shown:
            panel.axvspan((turn.begin_us - begin_us) / 1e6, (turn.end_us - begin_us) / 1e6,
                          color=colours.get(turn.object, "grey"), alpha=0.15, linewidth=0)  # fmt: skip
        for name in programs:
            chosen = [e for e in entries
                      if e.server == server and names.get(e.process, "unknown") == name]  # fmt: skip
            panel.plot([(e.time_us - begin_us) / 1e6 for e in chosen], [e.lba for e in chosen],
                       ".", markersize=2, color=colours[name], label=name)  # fmt: skip
        panel.set_ylabel(f"server {server}\nLBA")
    panels[-1, 0].set_xlabel("seconds")
    panels[0, 0].set_title(f"{mount.profile} (emulated); background: whose turn it was")
    panels[0, 0].legend(loc="upper left", fontsize="small", markerscale=4)
    figure.tight_layout()
    figure.savefig(picture, dpi=120)
    pyplot.close(figure)


def turns_within(all_turns: list[Turn], begin_us: float) -> list[Turn]:
    """Those that reach into the time from then on, cut off at its beginning."""
    return [Turn(max(turn.begin_us, begin_us), turn.end_us, turn.object)
            for turn in all_turns if turn.end_us > begin_us]  # fmt: skip
