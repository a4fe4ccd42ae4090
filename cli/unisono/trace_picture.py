"""Pictures of a pocket file system's trace: where on each server's disk which program read and wrote, and when."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .places import Failure
from .pocket import TraceEntry

Colours = dict[str, str]

_PROGRAMS_IN_LEGEND = 10  # as many as there are colours
# Writes are full (no line round them, or they look twice as large); reads are hollow, and paler, as many
# beside each other make a line.
_MARKERS = {"write": {"marker": "s", "markeredgewidth": 0.0},
            "read": {"marker": "o", "markerfacecolor": "none", "markeredgewidth": 0.8}}  # fmt: skip
_WHITE_IN = {"write": 0.0, "read": 0.5}


def plotter(picture: Path) -> Any:
    """matplotlib's pyplot, able to write this kind of picture."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # homes may be read-only
    try:
        import matplotlib
    except ImportError as missing:
        raise Failure("pictures need matplotlib (Debian: python3-matplotlib)") from missing
    matplotlib.use("Agg")
    from matplotlib import pyplot

    endings = sorted(pyplot.figure().canvas.get_supported_filetypes())
    pyplot.close()
    if picture.suffix.lstrip(".").lower() not in endings:
        valid = ", ".join(f".{ending}" for ending in endings)
        raise Failure(f"{picture}: no picture is made with this ending; valid: {valid}")
    return pyplot


def accesses_of(entries: list[TraceEntry]) -> list[TraceEntry]:
    """Those that can be drawn: flushes have no place on a disk."""
    accesses = [entry for entry in entries if entry.operation in _MARKERS]
    if not accesses:
        raise Failure("the trace is empty: nothing was read or written since the mount or 'unisono pocket stats --reset'")
    return accesses


def draw(
    accesses: list[TraceEntry],
    picture: Path,
    title: str,
    program_of: Callable[[TraceEntry], str],
    behind: Callable[[Any, Colours], None] = lambda _panel, _colours: None,
) -> None:
    """LBA over time since the first access, one panel per server, one colour per program. `behind` draws
    the background of a panel."""
    pyplot = plotter(picture)
    begin_us = min(entry.time_us for entry in accesses)
    servers = sorted({entry.server for entry in accesses})
    colours = {name: f"C{number % 10}" for number, name in enumerate(sorted(set(map(program_of, accesses))))}
    figure, panels = pyplot.subplots(len(servers), 1, sharex=True, squeeze=False,
                                     figsize=(10, 1.4 + 1.8 * len(servers)), layout="constrained")  # fmt: skip
    for panel, server in zip(panels[:, 0], servers):
        behind(panel, colours)
        _draw_server(panel, [e for e in accesses if e.server == server], begin_us, program_of, colours)
        panel.set_ylabel(f"server {server}\nLBA")
    panels[-1, 0].set_xlabel("seconds")
    panels[0, 0].set_title(title)
    panels[-1, 0].legend(handles=_legend(colours, {entry.operation for entry in accesses}), loc="upper center",
                         bbox_to_anchor=(0.5, -0.3), ncols=6, fontsize="small")  # fmt: skip
    save(figure, picture)
    pyplot.close(figure)


def _draw_server(
    panel: Any, accesses: list[TraceEntry], begin_us: float, program_of: Callable[[TraceEntry], str], colours: Colours
) -> None:
    size = 5 if len(accesses) < 500 else 3.5
    for name, colour in colours.items():
        for operation, look in _MARKERS.items():
            chosen = [e for e in accesses if e.operation == operation and program_of(e) == name]
            panel.plot([(e.time_us - begin_us) / 1e6 for e in chosen], [e.lba for e in chosen], linestyle="",
                       color=_paler(colour, _WHITE_IN[operation]), markersize=size, **look)  # fmt: skip


def _paler(colour: str, white: float) -> tuple[float, ...]:
    from matplotlib.colors import to_rgb

    return tuple(part + white * (1 - part) for part in to_rgb(colour))


def _legend(colours: Colours, operations: set[str]) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    kinds = [Line2D([], [], linestyle="", color=_paler("black", _WHITE_IN[operation]), markersize=6,
                    label=f"{operation}s", **look)
             for operation, look in _MARKERS.items() if operation in operations]  # fmt: skip
    if len(colours) > _PROGRAMS_IN_LEGEND:
        return kinds
    return kinds + [Patch(color=colour, label=name) for name, colour in colours.items()]


def save(figure: Any, picture: Path) -> None:
    try:
        figure.savefig(picture, dpi=120)
    except OSError as error:
        raise Failure(f"{picture}: {error.strerror}") from error
