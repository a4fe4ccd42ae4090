"""Files that are made of reports, and the options that name them, shared by commands."""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from . import chrome_trace, summary
from .job import Job
from .places import Failure


def _check_writable(_context: Any, _parameter: Any, name: str | None) -> str | None:
    """Before the program runs, which may take hours."""
    if name is None or name == "-":
        return name
    folder = Path(name).absolute().parent
    if not folder.is_dir():
        raise click.BadParameter(f"there is no folder {folder}")
    try:
        if not Path(name).exists():
            tempfile.TemporaryFile(dir=folder).close()
        elif not os.access(name, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise click.BadParameter(f"{name} cannot be written: {error.strerror}") from error
    return name


def _check_page(context: Any, parameter: Any, name: str | None) -> str | None:
    if name is not None and importlib.util.find_spec("jinja2") is None:
        raise click.BadParameter("it needs the Python package jinja2 (Debian: python3-jinja2)")
    return _check_writable(context, parameter, name)


def _option(name: str, text: str, *more: str, check: Callable[..., Any] = _check_writable) -> Callable[..., Any]:
    return click.option(name, *more, metavar="FILE", type=click.Path(dir_okay=False, allow_dash=True),
                        callback=check, help=text)  # fmt: skip


_OPTIONS = [
    _option("--html", "Write the report as a page for a browser, with pictures.", check=_check_page),
    _option("--json", "Write it for programs, see 'unisono report --schema'.", "json_file"),
    _option("--trace", "Write what each rank did when, for ui.perfetto.dev."),
]


record_option = _option("--record", "Write which bytes collective calls ask for, for 'unisono replay'.", "recording")


def options(function: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@dataclass
class Outputs:
    """Names of files; "-" is standard output."""

    html: str | None = None
    json: str | None = None
    trace: str | None = None
    recording: str | None = None

    @property
    def any(self) -> bool:
        return any((self.html, self.json, self.trace, self.recording))

    def refuse_clashes(self, *others: str) -> None:
        """Of files that would be written over: two of these, or one that is read, or kept."""
        seen = {os.path.realpath(name) for name in others}
        for name in filter(None, (self.html, self.json, self.trace, self.recording)):
            if name == "-" or (os.path.exists(name) and not os.path.isfile(name)):
                continue  # a stream has room for several
            if os.path.realpath(name) in seen:
                raise Failure(f"{name} would be written over: give each file a name of its own")
            seen.add(os.path.realpath(name))

    @property
    def need_timeline(self) -> bool:
        return any((self.html, self.trace))

    def write(self, jobs: list[Job]) -> list[str]:
        """A line on each that cannot be written. Nothing where there is no report: somebody has said so."""
        makers = [(self.html, _page), (self.json, _json), (self.recording, _records), (self.trace, _trace)]
        return [line for name, make in makers if name and jobs for line in _write(name, make(jobs))]


def _page(jobs: list[Job]) -> str:
    from . import html_report  # and jinja2, which nothing else needs

    return html_report.render(jobs)


def _json(jobs: list[Job]) -> str:
    return json.dumps(summary.as_json(jobs)) + "\n"


def _records(jobs: list[Job]) -> str:
    return "".join(json.dumps(record) + "\n" for job in jobs for record in job.records)


def _trace(jobs: list[Job]) -> str:
    return json.dumps(chrome_trace.trace(jobs), separators=(",", ":")) + "\n"


def _write(name: str, text: str) -> Iterator[str]:
    """All of it or nothing; says why nothing."""
    begun = False
    try:
        with click.open_file(name, "w", encoding="utf-8", errors="replace") as file:
            begun = True
            file.write(text)
            file.flush()
    except OSError as error:
        if begun and name != "-" and os.path.isfile(name):
            with contextlib.suppress(OSError):
                os.unlink(os.path.realpath(name))
        yield f"{name}: {error.strerror}"
