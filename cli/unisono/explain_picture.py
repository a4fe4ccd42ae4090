"""An explanation as a picture file: a panel of who asks for what, and one for each strategy of who owns what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .explain import own_requests, was_done
from .report import Record, counted, short_bytes
from .trace_picture import plotter, save

Rows = list[tuple[str, list[int]]]


def draw(answer: Record, only: list[str], picture: Path) -> None:
    pyplot = plotter(picture)
    call = answer["call"]
    panels: list[tuple[str, Rows]] = [
        ("asked for", [(f"rank {rank}, node {call['node_of'][rank]}", columns)
                       for rank, columns in enumerate(answer["asked"])])]  # fmt: skip
    chosen = answer["strategies"][0]["done_by"]
    for strategy in answer["strategies"][1:]:
        if was_done(strategy) and (not only or strategy["asked"] in only):
            panels.append((_title(strategy, chosen), _rows(strategy, answer)))
    heights = [len(rows) + 1.5 for _, rows in panels]
    figure, axes = pyplot.subplots(len(panels), 1, sharex=True, squeeze=False, layout="constrained",
                                   height_ratios=heights, figsize=(10, 1 + 0.22 * sum(heights)))  # fmt: skip
    for panel, (title, rows) in zip(axes[:, 0], panels):
        _draw_rows(panel, rows, answer["columns"])
        panel.set_title(title, fontsize="small", loc="left")
    axes[-1, 0].set_xlabel("file offset, bytes")
    save(figure, picture)
    pyplot.close(figure)


def _title(strategy: Record, chosen: str) -> str:
    done = own_requests(strategy)
    rule = " (the rule's)" if strategy["asked"] == chosen else ""
    return (f"{strategy['asked']}{rule}: {counted(strategy['rounds'], 'round')}, {counted(strategy['messages'], 'message')}"
            f" ({short_bytes(strategy['message_bytes'])}), {counted(done['extents'], 'file request')}")  # fmt: skip


def _rows(strategy: Record, answer: Record) -> Rows:
    if strategy["way"] == "direct":
        return [(f"rank {rank}", columns) for rank, columns in enumerate(answer["asked"])]
    return [(f"a{number}, rank {owner['rank']}, node {owner['node']}", owner["columns"])
            for number, owner in enumerate(strategy["aggregators"])]  # fmt: skip


def _draw_rows(panel: Any, rows: Rows, columns: Record) -> None:
    size = columns["column_bytes"]
    for number, (_, cells) in enumerate(rows):
        bars = [(columns["begin"] + i * size, size) for i, count in enumerate(cells) if count]
        panel.broken_barh(bars, (number - 0.4, 0.8), color=f"C{number % 10}", linewidth=0)
    panel.set_yticks(range(len(rows)), [label for label, _ in rows], fontsize="x-small")
    panel.set_ylim(len(rows) - 0.4, -0.6)
    panel.margins(x=0)
