"""Files that are made of reports, and the options that name them, shared by commands."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable
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
    if not os.access(name if Path(name).exists() else folder, os.W_OK):
        raise click.BadParameter(f"{name} cannot be written")
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

    @property
    def need_timeline(self) -> bool:
        return any((self.html, self.trace))

    def write(self, jobs: list[Job]) -> None:
        """Nothing where there is no report: somebody has said so."""
        if not jobs:
            return
        if self.html:
            _write(self.html, _page(jobs))
        if self.json:
            _write(self.json, json.dumps(summary.as_json(jobs)) + "\n")
        if self.recording:
            _write(self.recording, "".join(json.dumps(record) + "\n" for job in jobs for record in job.records))
        if self.trace:
            _write(self.trace, json.dumps(chrome_trace.trace(jobs), separators=(",", ":")) + "\n")


def _page(jobs: list[Job]) -> str:
    from . import html_report  # and jinja2, which nothing else needs

    return html_report.render(jobs)


def _write(name: str, text: str) -> None:
    try:
        with click.open_file(name, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise Failure(f"{name}: {error.strerror}") from error
