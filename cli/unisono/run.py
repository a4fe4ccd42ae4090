"""Runs commands: in the foreground, handing on signals and the exit code; or on trial, with a limit."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from .places import Failure
from .preload import Job

_HANDED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_PATIENCE_S = 5.0
_FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)  # the terminal sends them to the program as well


Side = TypeVar("Side")


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


def turns(sides: list[Side], repeats: int) -> Iterator[list[Side]]:
    """All sides in each turn; every other turn the other way round, so that drift of the machine does not
    favour one."""
    for turn in range(repeats):
        yield sides if turn % 2 == 0 else sides[::-1]


def run_with_limit(command: list[str], limit_s: float | None = None,
                   variables: dict[str, str] | None = None) -> tuple[int | None, str]:  # fmt: skip
    """Exit code (None: it was ended at the limit) and output, of a program that gets no input. Leaves
    nobody behind, also when an exception comes."""
    environment = os.environ | (variables or {})
    with tempfile.TemporaryFile() as output:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                              env=environment, start_new_session=True) as process:  # fmt: skip
            try:
                code = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                _end(process)
        output.seek(0)
        return code, output.read().decode(errors="replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """A launcher that is asked to ends its ranks, which may be in process groups of their own."""
    for request in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, request)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_PATIENCE_S)
