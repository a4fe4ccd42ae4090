"""Collects what the ranks of a program report about their files."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

import click

from . import report


@dataclass
class Collected:
    """Where the ranks append their reports, and where they keep what they know of open files."""

    file: Path
    traces: Path
    offset: int  # what the file had before
    new: bool  # the file was not there
    timeline: bool = False  # also what happened when
    calls: bool = False  # also what collective calls asked for

    def variables(self) -> dict[str, str]:
        variables = {"UNISONO_REPORT": "json", "UNISONO_REPORT_FILE": str(self.file),
                     "UNISONO_REPORT_TRACES": str(self.traces)}  # fmt: skip
        wanted = {"UNISONO_REPORT_TIMELINE": self.timeline, "UNISONO_REPORT_CALLS": self.calls}
        return variables | {name: "true" for name, is_wanted in wanted.items() if is_wanted}

    def records(self) -> list[report.Record]:
        """What has come since this was asked last."""
        if not self.file.exists():
            return []
        before, self.offset = self.offset, self.file.stat().st_size
        records = report.read_records(str(self.file), before)
        if self.new and self.offset == 0:
            self.file.unlink()
        return records


def collect_in(folder: Path, variables: dict[str, str], timeline: bool = False,
               calls: bool = False) -> Collected:  # fmt: skip
    """In a folder of the caller's; a report file that the user has named is kept, and may hold reports
    of earlier runs."""
    traces = folder / "traces"
    traces.mkdir()
    named = variables.get("UNISONO_REPORT_FILE")
    new = not named or not os.path.isfile(named)
    file = _writable(named) or folder / "report.json"
    return Collected(file, traces, file.stat().st_size if file.exists() else 0, new, timeline, calls)


def _writable(named: str | None) -> Path | None:
    """In a folder, a file of this run's own."""
    if not named:
        return None
    path = Path(named).absolute()
    if path.exists() and not path.is_file() and not path.is_dir():
        why = "no regular file, so what comes there cannot be read again"
    else:
        try:
            if path.is_dir():
                path /= f"run.{os.uname().nodename}:{os.getpid()}.{time.time_ns()}.json"
                with open(path, "xb"):  # where others may write, they must not have put a link there
                    return path
            with open(path, "a+b"):
                return path
        except OSError as error:
            why = f"{error.strerror} (errno {error.errno})"
    click.echo(f"unisono: warning: UNISONO_REPORT_FILE={named}: {why}: the report is shown, but not kept", err=True)
    return None
