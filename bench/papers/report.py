"""The report: Markdown, and the same as HTML with the pictures inside."""

from __future__ import annotations

import base64
import pathlib
from collections import Counter

from . import draw, judge
from .experiment import AGREEMENT, Claim, Figure, Job
from .judge import Verdict
from .results import Results, Spread, ceilings_of

HEAD = """# The papers' experiments, emulated

**Every number here was measured on emulated servers, disks and links** (the pocket file system,
`docs/testbed.md`), by real programs and real MPI libraries. The disk model was not adjusted to any
result. Sizes and process counts are smaller than the papers', messages between processes travel
through one machine's memory, and the baseline is today's ROMIO on a POSIX file system where every
process aggregates, as on the papers' clusters with a process per node.

Ours is the median over the seeds of the requests' jitter, with the lowest and the highest. A ratio
*agrees* if it is within a factor of {agreement} of the paper's and points the same way; a speed if
it is within that factor.
"""

SUMMARY_HEAD = """# The papers' experiments: what came out

Written by `python3 -m papers --summary` from the raw results; [papers](papers.md) says how it is
measured, what *agrees* means, and what to make of it. **All of it is emulated.** Medians of the seeds,
with the lowest and the highest; what is missing was not measured yet.
"""

VOID = """**void**: before 0.2 Unisono's `MPI_File_sync` synced nothing under MPICH: the call reached ROMIO, which
had written nothing. What stood there was the speed of writing into the servers' memory, held against
ROMIO's of writing to their disks. It is to be measured again.
"""

STYLE = """body { font-family: sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; margin: 1em 0; }
td, th { border: 1px solid #bbb; padding: 0.25em 0.6em; text-align: left; }
td:nth-child(2), td:nth-child(3) { white-space: nowrap; }
img { max-width: 100%; }
.good { color: #17692f; }
.weak { color: #8a5a00; }
.bad { color: #a3171e; }"""

LOOKS = {judge.AGREES: "good", judge.WEAKER: "weak", judge.STRONGER: "weak", judge.NOT_SEEN: "bad",
         judge.DISAGREES: "bad", judge.OTHER_VALUE: "weak", judge.VOID: "bad"}


def write(figures: list[tuple[Figure, Results]], folder: pathlib.Path) -> pathlib.Path:
    """Writes report.md, report.html and a picture for each figure; returns the HTML file."""
    pictures = {}
    for figure, results in figures:
        pictures[figure.name] = folder / f"{figure.name}.png"
        draw.draw(figure, results, pictures[figure.name])
    linked = {name: picture.name for name, picture in pictures.items()}
    (folder / "report.md").write_text(markdown(figures, linked))
    html = folder / "report.html"
    html.write_text(_page(markdown(figures, {name: _inside(picture)
                                             for name, picture in pictures.items()})))
    return html


def markdown(figures: list[tuple[Figure, Results]], pictures: dict[str, str]) -> str:
    """`pictures`: where each figure's picture is, by name."""
    parts = [HEAD.format(agreement=AGREEMENT).rstrip(), *_void_note(figures), _overview(figures)]
    for figure, results in figures:
        parts.append(section(figure, results, pictures[figure.name]))
    return "\n\n".join(parts)


def summary(figures: list[tuple[Figure, Results]]) -> str:
    """For the documentation: without pictures, and each table as short as it can be."""
    parts = [SUMMARY_HEAD.rstrip(), *_void_note(figures), _overview(figures)]
    for figure, results in figures:
        parts += [f"## {figure.name}: {figure.title}",
                  f"{figure.source}. {figure.differs} *{_runs(results)} {_machine(results)}*",
                  _claims(figure, results, with_where=False),
                  f"{figure.unit} on emulated `{figure.testbed.profile}`:",
                  _speeds(figure, results, figure.testbed.profile), *_fairness(figure, results)]
        for profile in filter(results.has_any, ceilings_of(figure)):
            parts += [f"{figure.unit}, {draw.TITLES[profile]}:", _speeds(figure, results, profile)]
    return "\n\n".join(parts)


def _void_note(figures: list[tuple[Figure, Results]]) -> list[str]:
    return [VOID.rstrip()] if any(results.void for _figure, results in figures) else []


def _overview(figures: list[tuple[Figure, Results]]) -> str:
    rows = [["figure", "of", "what the claims came to"]]
    for figure, results in figures:
        counted = Counter(verdict.word for verdict in judge.verdicts(figure, results))
        said = "; ".join(f"{number} {word}" for word, number in counted.most_common())
        rows.append([figure.name, figure.source, said])
    return _table(rows)


def section(figure: Figure, results: Results, picture: str) -> str:
    parts = [f"## {figure.name}: {figure.title}", f"{figure.source}. {figure.differs}",
             f"![{figure.title}]({picture})", _claims(figure, results),
             f"{figure.unit}, emulated:", _speeds(figure, results, figure.testbed.profile)]
    parts += _fairness(figure, results)
    for profile in ceilings_of(figure):
        if results.has_any(profile):
            parts += [f"{figure.unit}, {draw.TITLES[profile]}:", _speeds(figure, results, profile)]
    return "\n\n".join([*parts, _footnotes(results), ""])


def _claims(figure: Figure, results: Results, with_where: bool = True) -> str:
    rows = [["the paper says", "paper", "ours", "", "why"]]
    for verdict in judge.verdicts(figure, results):
        claim = verdict.claim
        unit = "" if claim.against else f" {figure.unit}"
        where = f" ({claim.where})" if with_where else ""
        rows.append([f"{claim.says}{where}", f"{_number(claim, claim.paper)}{unit}",
                     _ours(verdict), f"**{verdict.word}**", claim.why])
    return _table(rows)


def _ours(verdict: Verdict) -> str:
    if verdict.ours is None:
        return "-"
    low, median, high = (_number(verdict.claim, value) for value in
                         (verdict.ours.low, verdict.ours.median, verdict.ours.high))
    return f"{median} ({low} to {high})" if low != high else median


def _number(claim: Claim, value: float) -> str:
    return f"{value:.2f}" if claim.against else f"{value:.0f}"


def _speeds(figure: Figure, results: Results, profile: str) -> str:
    rows = [["", *figure.xs]]
    for line in figure.lines:
        rows.append([line.name, *(_speed(results, profile, line.name, x) for x in figure.xs)])
    return _table(rows)


def _speed(results: Results, profile: str, line: str, x: str) -> str:
    if results.has_only_void(profile, line, x):
        return judge.VOID
    return _cell(results.spread(profile, line, x))


def _fairness(figure: Figure, results: Results) -> list[str]:
    """Where programs shared the servers, and two of one kind or each of them alone as well."""
    profile = figure.testbed.profile
    rows = [["", *figure.xs]]
    for line in figure.lines:
        cells = []
        for x in figure.xs:
            alone = _speeds_alone(figure, results, line.jobs.get(x, ()))
            cells.append(results.fairness(profile, line.name, x, alone) if alone else None)
        if any(cells):
            rows.append([line.name, *(_cell(cell, digits=2) for cell in cells)])
    title = "Jain's index of speeds; of different programs, as shares of what each has alone:"
    return [title, _table(rows)] if len(rows) > 1 else []


def _speeds_alone(figure: Figure, results: Results, jobs: tuple[Job, ...]) -> list[float] | None:
    """Of programs that run together; two of one kind have the same, whatever that is."""
    if len(jobs) < 2 or any(job.background for job in jobs):
        return None
    if len({job.program for job in jobs}) == 1:
        return [1.0] * len(jobs)
    found = [next((spread.median for line in figure.lines for x, others in line.jobs.items()
                   if others == (job,)
                   and (spread := results.spread(figure.testbed.profile, line.name, x))), None)
             for job in jobs]
    return None if None in found else found


def _cell(spread: Spread | None, digits: int = 0) -> str:
    if spread is None:
        return "-"
    median, low, high = (f"{value:.{digits}f}" for value in (spread.median, spread.low, spread.high))
    return f"{median} ({low}-{high})" if low != high else median


def _footnotes(results: Results) -> str:
    notes = [f"*{name} was not run: {why}*" for name, why in results.skipped.items()]
    notes += [f"*{name} failed: {why}*" for name, why in results.failed.items()]
    return "\n\n".join([*notes, f"*{_runs(results)}*"])


def _runs(results: Results) -> str:
    runs = results.samples + results.void
    seeds = len({sample.seed for sample in runs})
    load = results.environment.get("load_at_start", 0.0)
    rejected = (f"{len(results.rejected)} more were rejected because the machine was too late"
                if results.rejected else "none was rejected")
    return (f"{len(runs)} runs with {seeds} seed{'s' if seeds != 1 else ''}; {rejected};"
            f" load at the start {load:.1f} on {results.environment.get('cores', '?')} cores.")


def _machine(results: Results) -> str:
    told = results.environment
    priority = ", the emulator before everything else (`--realtime`)" if told.get("realtime") else ""
    of_old = str(told.get("git_revision", ""))
    revisions = dict.fromkeys((sample.revision or of_old)[:7]
                              for sample in results.void + results.samples)
    return f"Revision {', '.join(revisions)}, {str(told.get('date', ''))[:10]}{priority}."


def _table(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def _inside(picture: pathlib.Path) -> str:
    return "data:image/png;base64," + base64.b64encode(picture.read_bytes()).decode()


def _page(text: str) -> str:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    # By default it lets images inside pass only up to a point that other packages may change.
    parser.validateLink = lambda url: True
    body = parser.render(text)
    for word, look in LOOKS.items():
        body = body.replace(f"<strong>{word}</strong>", f'<strong class="{look}">{word}</strong>')
    return (f"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
            f"<title>The papers' experiments, emulated</title><style>{STYLE}</style></head>\n"
            f"<body>{body}</body></html>\n")
