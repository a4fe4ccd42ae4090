"""Runs a rewritten command in the foreground and hands on signals and the exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass

from .places import Failure
from .preload import Job

_HANDED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)  # the terminal sends them to the program as well


@dataclass(frozen=True)
class Ending:
    """How a program ended."""

    code: int  # as a shell gives it: 128 + the number of a signal that ended the program
    interrupted: bool = False  # from the terminal
    at: float = 0.0  # seconds since the epoch


def replace_this_process(job: Job) -> None:
    try:
        os.execvp(job.command[0], job.command)
    except OSError as error:
        raise Failure(f"{job.command[0]}: {error.strerror}", 126) from error


def run_and_wait(job: Job) -> int:
    """The exit code, as a shell gives it."""
    return run_to_the_end(job).code


def run_to_the_end(job: Job) -> Ending:
    interrupts: list[int] = []
    try:
        with subprocess.Popen(job.command) as process:
            for number in _FROM_TERMINAL:
                signal.signal(number, lambda received, _frame: interrupts.append(received))
            for number in _HANDED_ON:
                signal.signal(number, lambda received, _frame: process.send_signal(received))
            code = process.wait()
    except OSError as error:
        raise Failure(f"{job.command[0]}: {error.strerror}", 126) from error
    finally:
        for path in job.temporary:
            path.unlink(missing_ok=True)
    return Ending(128 - code if code < 0 else code, bool(interrupts), time.time())
