"""Runs commands: in the foreground, handing on signals and the exit code; or on trial, with a limit."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from .places import Failure
from .preload import Job

_HANDED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_PATIENCE_S = 5.0
_GRACE_S = 2.0
_INTERRUPTS = (signal.SIGINT, signal.SIGQUIT)


Side = TypeVar("Side")


@dataclass(frozen=True)
class Ending:
    """How a program ended."""

    code: int  # as a shell gives it: 128 + the number of a signal that ended the program
    interrupted: bool = False
    at: float = 0.0  # seconds since the epoch


def replace_this_process(job: Job) -> None:
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores, and so would the program
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(job.command[0], job.command)
    except OSError as error:
        raise Failure(f"{job.command[0]}: {error.strerror}", 126) from error


def run_and_wait(job: Job) -> int:
    """The exit code, as a shell gives it."""
    return run_to_the_end(job).code


def run_to_the_end(job: Job) -> Ending:
    interrupted = False
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, it would not come
    heard = {signal.SIGCHLD, *_INTERRUPTS, *_HANDED_ON}
    # From before there is a program that could be interrupted, and for good: nor is what follows to be.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, heard)
    as_before = partial(signal.pthread_sigmask, signal.SIG_SETMASK, before)
    try:
        # With all that is open: of a launcher, to speak to it, or of a shell, for <(...).
        with subprocess.Popen(job.command, preexec_fn=as_before, close_fds=False) as process:
            while process.poll() is None:
                interrupted |= _hand_on(signal.sigwaitinfo(heard), process)
            code = process.returncode
    except OSError as error:
        raise Failure(f"{job.command[0]}: {error.strerror}", 126) from error
    finally:
        job.remove_temporary()
    return Ending(128 - code if code < 0 else code, interrupted, time.time())


def _hand_on(received: signal.struct_siginfo, process: subprocess.Popen[bytes]) -> bool:
    """Whether it is an interrupt. The terminal sends those to the program as well. So may a process, as `timeout -s
    INT` does: then the program ends by itself, and a second one would make launchers abort it."""
    number, from_a_process = received.si_signo, received.si_code <= 0
    if number in _INTERRUPTS and from_a_process:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)
        process.send_signal(number)  # nothing, where it has ended
    elif number in _HANDED_ON:
        process.send_signal(number)
    return number in _INTERRUPTS


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


# ---- signals ---------------------------------------------------------------------------------------

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def _interrupt(number: int, _frame: Any) -> None:
    raise Interrupted(number)


@contextlib.contextmanager
def _handled(handler: Any) -> Iterator[None]:
    # What is ignored, for instance because of nohup, stays so.
    heard = [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in heard}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


def interruptible() -> contextlib.AbstractContextManager[None]:
    """A signal that would end this process becomes an exception first."""
    return _handled(_interrupt)


def undisturbed() -> contextlib.AbstractContextManager[None]:
    return _handled(signal.SIG_IGN)


@contextlib.contextmanager
def removed_at_the_end(folder: Path) -> Iterator[None]:
    """Also where a signal comes."""
    with interruptible():
        try:
            yield
        finally:
            with undisturbed():
                shutil.rmtree(folder, ignore_errors=True)
