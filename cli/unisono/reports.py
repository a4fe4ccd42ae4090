"""Collects what the ranks of a program report about their files."""

from __future__ import annotations

import os
import tempfile
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
        return report.read_records(str(self.file), before)


def collect_in(folder: Path, variables: dict[str, str], timeline: bool = False,
               calls: bool = False) -> Collected:  # fmt: skip
    """In a folder of the caller's; a report file that the user has named is kept, and may hold reports
    of earlier runs."""
    traces = folder / "traces"
    traces.mkdir()
    file = _writable(variables.get("UNISONO_REPORT_FILE")) or folder / "report.json"
    return Collected(file, traces, file.stat().st_size if file.exists() else 0, timeline, calls)


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
                tempfile.TemporaryFile(dir=path).close()
                return path / f"run.{os.uname().nodename}:{os.getpid()}.json"
            with open(path, "a+b"):
                return path
        except OSError as error:
            why = f"{error.strerror} (errno {error.errno})"
    click.echo(f"unisono: warning: UNISONO_REPORT_FILE={named}: {why}: the report is shown, but not kept", err=True)
    return None
