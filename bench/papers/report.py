"""The report: Markdown, and the same as HTML with the pictures inside."""

from __future__ import annotations

import base64
import pathlib
from collections.abc import Callable

from . import draw, judge, page
from .experiment import AGREEMENT, Figure
from .measured import FAIRNESS, Measured
from .results import Results, Spread, ceilings_of

HEAD = """# The papers' experiments, emulated

**Every number here was measured on emulated servers, disks and links** (the pocket file system,
`docs/understand/testbed.md`), by real programs and real MPI libraries. The disk model was not adjusted to any
result. Sizes and process counts are smaller than the papers', messages between processes travel
through one machine's memory, and the baseline is today's ROMIO on a POSIX file system where every
process aggregates, as on the papers' clusters with a process per node.

Ours is the median over the seeds of the requests' jitter, with the lowest and the highest. A ratio
*agrees* if it is within a factor of {agreement} of the paper's and points the same way, or the paper's
points neither way; a speed if it is within that factor. In the pictures the bar is ours, with its range, and the tick the paper's,
dotted where the paper has words only and the number is ours. A cause in [brackets] was not shown by a
run. *void*: Unisono's `MPI_File_sync` once synced nothing under MPICH, so what was measured then
does not count.
"""

STYLE = """body { font-family: sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; margin: 1em 0; }
td, th { border: 1px solid #bbb; padding: 0.25em 0.6em; text-align: left; }
td:nth-child(3), td:nth-child(4) { white-space: nowrap; }
img { max-width: 100%; }
.good { color: #17692f; }
.weak { color: #8a5a00; }
.bad { color: #a3171e; }"""


def write(figures: list[tuple[Figure, Results]], folder: pathlib.Path) -> pathlib.Path:
    """Writes report.md, report.html and pictures; returns the HTML file."""
    known = [(figure, Measured.of(figure, results)) for figure, results in figures]
    pictures = {}
    for figure, results in figures:
        pictures[figure.name] = folder / f"{figure.name}.png"
        draw.draw(figure, results, pictures[figure.name])
    ticks = page.draw(known, folder)

    def as_markdown(place: Callable[[pathlib.Path], str]) -> str:
        return markdown(figures, {name: place(picture) for name, picture in pictures.items()},
                        {name: place(picture) for name, picture in ticks.items()})

    (folder / "report.md").write_text(as_markdown(lambda picture: picture.name))
    html = folder / "report.html"
    html.write_text(_page(as_markdown(_inside)))
    return html


def markdown(figures: list[tuple[Figure, Results]], pictures: dict[str, str],
             ticks: dict[str, str]) -> str:
    """`pictures`, `ticks`: where each figure's pictures are, by name. First what the papers say
    (page.py), then each figure in full."""
    known = [(figure, Measured.of(figure, results)) for figure, results in figures]
    made = page.blocks(known, ticks)
    parts = [HEAD.format(agreement=AGREEMENT).rstrip(), made["counts"]]
    for paper in page.papers(known):
        parts += [f"## {paper}", made[page.name_of(paper)]]
    if any(claim.own for figure, _results in figures for claim in figure.claims):
        parts += ["## This project's own expectations", made["own"]]
    for (figure, results), (_same, one) in zip(figures, known):
        parts.append(section(figure, results, one, pictures[figure.name]))
    return "\n\n".join(parts)


def section(figure: Figure, results: Results, one: Measured, picture: str) -> str:
    parts = [f"## {figure.name}: {figure.title}", f"{figure.source}. {figure.differs}",
             f"![{figure.title}]({picture})"]
    titles = {(figure.testbed.profile, figure.unit): f"{figure.unit}, emulated:",
              (figure.testbed.profile, FAIRNESS): f"{FAIRNESS}:"}
    titles |= {(profile, figure.unit): f"{figure.unit}, {draw.TITLES[profile]}:"
               for profile in ceilings_of(figure)}
    for (servers, unit), title in titles.items():
        if cells := {(cell.line, cell.x): spread for cell, spread in one.cells.items()
                     if (cell.servers, cell.unit) == (servers, unit)}:
            parts += [title, _cells(figure, cells, digits=2 if unit == FAIRNESS else 0)]
    return "\n\n".join([*parts, _footnotes(results), ""])


def _cells(figure: Figure, cells: dict[tuple[str, str], Spread | None], digits: int) -> str:
    def shown(key: tuple[str, str]) -> str:
        return _cell(cells[key], digits) if key in cells else "-"

    lines = dict.fromkeys(line for line, _x in cells)
    return page.table([["", *figure.xs],
                       *([line, *(shown((line, x)) for x in figure.xs)] for line in lines)])


def _cell(spread: Spread | None, digits: int) -> str:
    if spread is None:
        return judge.VOID
    median, low, high = (f"{value:.{digits}f}" for value in (spread.median, spread.low, spread.high))
    return f"{median} ({low}-{high})" if low != high else median


def _footnotes(results: Results) -> str:
    notes = [f"*{name} was not run: {why}*" for name, why in results.skipped.items()]
    notes += [f"*{name} failed: {why}*" for name, why in results.failed.items()]
    notes += [f"*{line} at {x}: calls were done by {', '.join(others)}*"
              for (line, x), others in results.other_strategies().items()]
    return "\n\n".join([*notes, f"*{_runs(results)}*"])


def _runs(results: Results) -> str:
    runs = results.samples + results.void
    seeds = len({sample.seed for sample in runs})
    load = results.environment.get("load_at_start", 0.0)
    rejected = (f"{len(results.rejected)} more were rejected because the machine was too late"
                if results.rejected else "none was rejected")
    return (f"{len(runs)} runs with {seeds} seed{'s' if seeds != 1 else ''}; {rejected};"
            f" load at the start {load:.1f} on {results.environment.get('cores', '?')} cores;"
            f" of {', '.join(filter(None, results.revisions)) or 'an unknown revision'}.")


def _inside(picture: pathlib.Path) -> str:
    kind = {".png": "png", ".svg": "svg+xml"}[picture.suffix]
    return f"data:image/{kind};base64," + base64.b64encode(picture.read_bytes()).decode()


def _page(text: str) -> str:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    # By default it lets images inside pass only up to a point that other packages may change.
    parser.validateLink = lambda url: True
    body = parser.render(text)
    for verdict, look in judge.LOOKS.items():
        word = page.BRIEFLY.get(verdict, verdict)
        body = body.replace(f"<strong>{word}</strong>", f'<strong class="{look}">{word}</strong>')
    return (f"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
            f"<title>The papers' experiments, emulated</title><style>{STYLE}</style></head>\n"
            f"<body>{body}</body></html>\n")
