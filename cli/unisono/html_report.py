"""The report of jobs as one HTML file that needs nothing else: no script, nothing to load."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from . import figures, summary
from .job import Job
from .report import DIRECTIONS, Record, human_seconds, short_bytes
from .timeline import has_timeline

_FILES_WITH_FIGURES = 4  # those that took longest
_FILES_AT_MOST = 100
_ERRORS_AT_MOST = 20

# For a light and a dark page. Each has a contrast of 3 or more to its page, which a test works out, and they were
# searched for such that people with any kind of colour blindness can tell them apart (Machado 2009, CIELAB).
PAGE = ("#ffffff", "#14171a")
COLOURS = {
    "file": ("#1093ef", "#7dbaff"),
    "exchange": ("#005b51", "#12ffe3"),
    "copying": ("#5f8844", "#e1ff93"),
    "arrival": ("#ca830f", "#ffa700"),
    "waiting": ("#a30d01", "#c91b04"),
    "native": ("#6000c0", "#c100fb"),
    "other": ("#a08ca1", "#5b6770"),
    "filecall": ("#391f13", "#b79870"),
    "load": ("#1093ef", "#7dbaff"),
}  # fmt: skip
# From little to much; what is little may be pale.
HEAT = {
    "heat1": ("#c6dbef", "#16344d"),
    "heat2": ("#8fbfe0", "#1c5680"),
    "heat3": ("#4f97cb", "#2a7fb8"),
    "heat4": ("#1f6cab", "#62b0e2"),
    "heat5": ("#08306b", "#c9e6fb"),
}


def render(jobs: list[Job]) -> str:
    """The whole page."""
    environment = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined,
                              trim_blocks=True, lstrip_blocks=True)  # fmt: skip
    environment.filters |= {"seconds": human_seconds, "bytes": short_bytes}
    template = environment.get_template("report.html.jinja")
    colours = COLOURS | HEAT
    schemes = [{name: pair[scheme] for name, pair in colours.items()} for scheme in (0, 1)]
    return template.render(jobs=[_job(job) for job in jobs], version=jobs[-1].version, page=PAGE,
                           light=schemes[0], dark=schemes[1])  # fmt: skip


def _job(job: Job) -> dict[str, Any]:
    """What the template shows of one job."""
    found = summary.worthwhile_causes(job)
    files = summary.file_rows(job)
    errors = job.distinct("errors")
    return {
        "name": job.program["name"] or "program",
        "began": _date(job.began),
        "verdict": summary.judgement(job, found),
        "trouble": list(summary.trouble(job)),
        "lines": list(summary.lines(job)),
        "times": summary.time_rows(job),
        "io_s": job.io_s,
        "used": job.used(),
        "causes": found,
        "files": files[:_FILES_AT_MOST],
        "more_files": files[_FILES_AT_MOST:] and summary.total(files[_FILES_AT_MOST:]),
        "errors": errors[:_ERRORS_AT_MOST],
        "more_errors": len(errors[_ERRORS_AT_MOST:]),
        "selections": list(_selections(job)),
        "has_timeline": has_timeline(job),
        "figures": _figures(job),
        "pictured": [(record["file"], figures.of_file(record, job)) for record in _pictured(job)],
    }


def _date(began: float) -> str:
    """As it was here; empty where it is not known."""
    if began <= 0:
        return ""
    return datetime.datetime.fromtimestamp(began).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def _figures(job: Job) -> list[figures.Figure]:
    if not has_timeline(job):
        return []
    loads = figures.aggregator_loads(job)
    return [figures.timeline(job), *([loads] if loads else [])]


def _pictured(job: Job) -> list[Record]:
    """The files of which most is to be seen."""
    with_accesses = [record for record in job.records if any(record[name]["accesses"] for name in DIRECTIONS)]
    return sorted(with_accesses, key=lambda record: -sum(job.seconds_of(record).values()))[:_FILES_WITH_FIGURES]


def _selections(job: Job) -> Iterator[Record]:
    for selection in [found for name in DIRECTIONS for found in job.selections(name)]:
        fastest = max((one["bytes_per_second"] for one in selection["tried"]), default=0) or 1
        tried = [one | {"share": one["bytes_per_second"] / fastest} for one in selection["tried"]]
        yield selection | {"tried": sorted(tried, key=lambda one: -one["bytes_per_second"])}
