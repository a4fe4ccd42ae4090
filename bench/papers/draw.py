"""A figure as a picture: the emulated disks, and beside them the two ceilings, or throughput over
time."""

from __future__ import annotations

import pathlib
import re

from . import timeline
from .experiment import Figure
from .results import Results, ceilings_of

TITLES = {"instant": "instant disks and servers", "off": "nothing emulated"}


def draw(figure: Figure, results: Results, picture: pathlib.Path) -> None:
    """Writes `picture`; its suffix decides about the format. Medians, and ranges over the seeds."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    drawing = pyplot.figure(figsize=(11, 6), layout="constrained")
    grid = drawing.add_gridspec(2, 3)
    ceilings = [profile for profile in ceilings_of(figure) if results.has_any(profile)]
    beside = ceilings or figure.timeline
    main = drawing.add_subplot(grid[:, :2] if beside else grid[:, :])
    _draw_panel(main, figure, results, figure.testbed.profile)
    _draw_paper(main, figure)
    main.set_title(f"{figure.title}\n{figure.testbed.profile}, emulated", fontsize="medium")
    main.set_ylabel(f"{figure.unit}: median and range")
    main.legend(fontsize="small", ncol=2, loc="upper left",
                bbox_to_anchor=(0, -0.22 if _is_crowded(figure) else -0.12))
    if figure.timeline:
        panel = drawing.add_subplot(grid[:, 2])
        timeline.draw(panel, figure, results)
        panel.set_title(f"{figure.timeline}: MB/s over time", fontsize="small")
    for row, profile in enumerate(ceilings if not figure.timeline else ()):
        panel = drawing.add_subplot(grid[row, 2])
        _draw_panel(panel, figure, results, profile)
        panel.set_title(TITLES[profile], fontsize="small")
        panel.tick_params(labelsize="small")
    drawing.savefig(picture, dpi=110)
    pyplot.close(drawing)


def _is_sweep(figure: Figure) -> bool:
    """Its x are numbers, so that a curve goes through them; else they are names, and get bars."""
    return len(figure.xs) > 2 and all(re.match(r"\d", x) for x in figure.xs)


def _is_crowded(figure: Figure) -> bool:
    """The names at the axis need more room than there is."""
    return len("".join(figure.xs)) > 60


def _draw_panel(panel, figure: Figure, results: Results, profile: str) -> None:
    place = {x: number for number, x in enumerate(figure.xs)}
    sweep = _is_sweep(figure)
    width = (0.3 if sweep else 0.85) / max(len(figure.lines), 1)  # they stand side by side
    for number, line in enumerate(figure.lines):
        cells = [(place[x], results.spread(profile, line.name, x)) for x in line.jobs]
        known = [(at + (number - (len(figure.lines) - 1) / 2) * width, cell)
                 for at, cell in cells if cell]
        if not known:
            continue
        at = [at for at, _cell in known]
        medians = [cell.median for _at, cell in known]
        ranges = [[cell.median - cell.low for _at, cell in known],
                  [cell.high - cell.median for _at, cell in known]]
        look = {"yerr": ranges, "capsize": 2, "color": f"C{number}", "label": line.name}
        if sweep:
            panel.errorbar(at, medians, fmt="o-", markersize=4, linewidth=1.2, **look)
        else:
            panel.bar(at, medians, width, error_kw={"linewidth": 0.8}, **look)
    panel.set_xticks(list(place.values()), list(place), rotation=20 if _is_crowded(figure) else 0)
    panel.set_xlim(-0.5, len(place) - 0.5)
    panel.set_xlabel(figure.x_label)
    panel.set_ylim(bottom=0)
    panel.grid(axis="y", alpha=0.3)


def _draw_paper(panel, figure: Figure) -> None:
    """Speeds that the paper's text gives, as stars in the colour of their lines."""
    place = {x: number for number, x in enumerate(figure.xs)}
    colour = {line.name: f"C{number}" for number, line in enumerate(figure.lines)}
    speeds = [claim for claim in figure.claims if not claim.against]
    for claim in speeds:
        panel.plot(place[claim.at], claim.paper, "*", markersize=13, color=colour[claim.line],
                   markeredgecolor="black")
    if speeds:
        panel.plot([], [], "*", markersize=11, color="white", markeredgecolor="black",
                   label="the paper's value, in its line's colour")
