"""A figure as a picture: the emulated disks, and beside them the two ceilings."""

from __future__ import annotations

import pathlib

from .experiment import Figure
from .results import CEILINGS, Results

TITLES = {"instant": "instant disks and servers", "off": "nothing emulated"}


def draw(figure: Figure, results: Results, picture: pathlib.Path) -> None:
    """Writes `picture`; its suffix decides about the format. Medians, and ranges over the seeds."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    drawing = pyplot.figure(figsize=(11, 6), layout="constrained")
    grid = drawing.add_gridspec(2, 3)
    main = drawing.add_subplot(grid[:, :2])
    _draw_panel(main, figure, results, figure.testbed.profile)
    _draw_paper(main, figure)
    main.set_title(f"{figure.title}\n{figure.testbed.profile}, emulated", fontsize="medium")
    main.set_ylabel(f"{figure.unit}: median and range")
    main.legend(fontsize="small", ncol=2, loc="upper left", bbox_to_anchor=(0, -0.11))
    for row, profile in enumerate(CEILINGS):
        panel = drawing.add_subplot(grid[row, 2])
        _draw_panel(panel, figure, results, profile)
        panel.set_title(TITLES[profile], fontsize="small")
        panel.tick_params(labelsize="small")
    drawing.savefig(picture, dpi=110)
    pyplot.close(drawing)


def _draw_panel(panel, figure: Figure, results: Results, profile: str) -> None:
    place = {x: number for number, x in enumerate(figure.xs)}
    width = 0.3 / max(len(figure.lines), 1)  # the lines' marks stand side by side
    for number, line in enumerate(figure.lines):
        cells = [(place[x], results.spread(profile, line.name, x)) for x in line.jobs]
        known = [(at + (number - len(figure.lines) / 2) * width, cell)
                 for at, cell in cells if cell]
        if not known:
            continue
        medians = [cell.median for _at, cell in known]
        below = [cell.median - cell.low for _at, cell in known]
        above = [cell.high - cell.median for _at, cell in known]
        panel.errorbar([at for at, _cell in known], medians, yerr=[below, above], fmt="o-",
                       markersize=4, capsize=2, linewidth=1.2, color=f"C{number}",
                       label=line.name)
    panel.set_xticks(list(place.values()), list(place))
    panel.set_xlabel(figure.x_label)
    panel.set_ylim(bottom=0)
    panel.grid(axis="y", alpha=0.3)


def _draw_paper(panel, figure: Figure) -> None:
    """Speeds that the paper's text gives, as stars in the colour of their lines."""
    place = {x: number for number, x in enumerate(figure.xs)}
    colour = {line.name: f"C{number}" for number, line in enumerate(figure.lines)}
    speeds = [claim for claim in figure.claims if not claim.against]
    for number, claim in enumerate(speeds):
        panel.plot(place[claim.at], claim.paper, "*", markersize=13, color=colour[claim.line],
                   markeredgecolor="black", label="the paper's value" if number == 0 else None)
