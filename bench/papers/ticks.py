"""What the papers say beside what came out, a picture for each figure: a bar with its range over the
seeds for ours, a tick for the paper's."""

from __future__ import annotations

import pathlib
import textwrap

from . import judge
from .judge import Verdict

COLOURS = {"good": "#4c9a63", "weak": "#d9a441", "bad": "#c05656"}
ROW_INCHES = 0.3


def shown(verdicts: list[Verdict]) -> list[Verdict]:
    """Ratios that were measured; speeds are in the tables."""
    return [verdict for verdict in verdicts if verdict.ours and verdict.claim.against]


def draw(title: str, verdicts: list[Verdict], picture: pathlib.Path) -> None:
    """Writes an SVG, the same each time from the same numbers. Nothing if there is nothing to show."""
    rows = shown(verdicts)
    if not rows:
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    looks = {"svg.fonttype": "none", "svg.hashsalt": picture.stem, "font.size": 8}
    with matplotlib.rc_context(looks):
        drawing, panel = pyplot.subplots(figsize=(7.5, 0.75 + ROW_INCHES * len(rows)),
                                         layout="constrained")
        for place, verdict in enumerate(rows):
            _draw_row(panel, place, verdict)
        panel.set_title(title, loc="left", fontsize="medium")
        panel.axvline(1, color="black", linewidth=0.6)
        panel.set_yticks(range(len(rows)), [_name(verdict) for verdict in rows])
        panel.invert_yaxis()
        panel.set_xlim(left=0)
        panel.grid(axis="x", alpha=0.3)
        for side in ("top", "right", "left"):
            panel.spines[side].set_visible(False)
        drawing.savefig(picture, metadata={"Date": None})
        pyplot.close(drawing)


def _draw_row(panel, place: int, verdict: Verdict) -> None:
    ours = verdict.ours
    panel.barh(place, ours.median, 0.6, color=COLOURS[judge.LOOKS[verdict.word]])
    if ours.low != ours.high:
        panel.plot([ours.low, ours.high], [place, place], color="black", linewidth=0.8)
    style = ":" if verdict.claim.in_words else "-"
    panel.plot([verdict.claim.paper] * 2, [place - 0.42, place + 0.42], style, color="black",
               linewidth=2.2)


def _name(verdict: Verdict) -> str:
    return textwrap.shorten(verdict.claim.says, 62, placeholder=" ...")
