"""The pictures of an HTML report, as shapes that its template draws: SVG paths, ticks and legends."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from .job import Job
from .report import Record, counted, human_bytes, human_seconds, short_bytes
from .summary import PHASE_LABELS
from .timeline import FILE_CALL, Busy, Heat, Span, busy, bytes_by_aggregator, bytes_by_server, heat

WIDTH = 720  # pixels, where the page is wide enough
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 24, 24, 40
PLOT_WIDTH = WIDTH - _LEFT - _RIGHT
_LABEL_HEIGHT = 14
_TICKS_AT_MOST = 8

_ROWS_AT_MOST = 48
_COLUMN_WIDTH = 2
_QUARTERS = 4

_HEAT_ROWS, _HEAT_ROW_HEIGHT, _HEAT_COLUMN_WIDTH = 48, 5, 4
HEAT_LEVELS = 5

_BARS_AT_MOST = 64
_BAR_SLOT_WIDEST = 48
_BARS_HEIGHT = 140

# In the order of the legend; the names are classes of the style sheet.
PHASE_CLASSES = {
    "file": "file",
    "exchange": "exchange",
    "copying": "copying",
    "arrival": "arrival",
    "waiting": "waiting",
    "native": "native",
    "other": "other",
    FILE_CALL: "filecall",
}
_PHASE_NAMES = PHASE_LABELS["direction"] | {FILE_CALL: "opening, syncing, closing, views"}

Tick = tuple[float, str]  # where, and what is there


@dataclass
class Figure:
    """A picture with axes; `about` says in words what is seen."""

    title: str
    about: str
    height: int
    x_name: str
    y_name: str
    left: int = _LEFT
    width: int = WIDTH
    top: int = _TOP
    plot_width: int = PLOT_WIDTH
    paths: list[tuple[str, str]] = field(default_factory=list)  # class, and the path
    x_ticks: list[Tick] = field(default_factory=list)
    y_ticks: list[Tick] = field(default_factory=list)
    legend: list[tuple[str, str]] = field(default_factory=list)  # class, and its meaning

    @property
    def plot_height(self) -> int:
        return self.height - _TOP - _BOTTOM


def _figure(plot_height: int, **words: str) -> Figure:
    return Figure(height=_TOP + plot_height + _BOTTOM, **words)


def _rectangle(x: float, y: float, width: float, height: float) -> str:
    return f"M{x:g} {y:g}h{width:g}v{height:g}h{-width:g}z"


def _steps(most: float, bases: tuple[float, ...], factor: float) -> list[float]:
    """Multiples of a round number up to `most`, a few of them."""
    if most <= 0:
        return [0.0]
    step = factor ** math.floor(math.log(most, factor))
    fitting = [part for part in sorted(step * base for base in bases) if most / part <= _TICKS_AT_MOST]
    step = fitting[0] if fitting else step
    return [number * step for number in range(int(most / step) + 1)]


def _time_ticks(time: Span) -> list[Tick]:
    """At round numbers, which an axis need not begin with."""
    length = time.end - time.begin
    steps = _steps(length, (0.1, 0.2, 0.5, 1), 10)
    if len(steps) < 2:
        return []
    step = steps[1]
    first = math.ceil(time.begin / step - 1e-9)
    return [(_LEFT + PLOT_WIDTH * (number * step - time.begin) / length, _time_label(number * step, step))
            for number in range(first, math.floor(time.end / step + 1e-9) + 1)]  # fmt: skip


def _time_label(value: float, step: float) -> str:
    """With as many digits as its neighbours need to differ."""
    if value >= 120 and step >= 1:
        return human_seconds(value)
    return f"{value:.{max(0, -math.floor(math.log10(step) + 1e-9))}f} s"


def _runs(row: dict[int, tuple[str, ...]]) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Neighbouring columns with the same in them: first, behind the last, what."""
    begin = end = -1
    what: tuple[str, ...] = ()
    for column in sorted(row):
        if column != end or row[column] != what:
            if end > begin:
                yield begin, end, what
            begin, what = column, row[column]
        end = column + 1
    if end > begin:
        yield begin, end, what


# ---- who did what when -------------------------------------------------------------------------------


def timeline(job: Job) -> Figure:
    """Rank by time: the colour is what most of a cell's time in calls was, the height how much of it was in
    calls."""
    found = busy(job, _ROWS_AT_MOST, PLOT_WIDTH // _COLUMN_WIDTH)
    row_height = min(20, max(8, 480 // found.rows))
    figure = _figure(found.rows * row_height, title="What the ranks did when", x_name="time of the program",
                     y_name="rank" if found.ranks_per_row == 1 else "ranks", about=_about_timeline(found))  # fmt: skip
    figure.paths = _phase_paths(found, row_height)
    figure.x_ticks = _time_ticks(found.time)
    figure.y_ticks = _rank_ticks(found, row_height)
    figure.legend = [(name, _PHASE_NAMES[phase]) for phase, name in PHASE_CLASSES.items()
                     if name in dict(figure.paths)]  # fmt: skip
    return figure


def _about_timeline(found: Busy) -> str:
    together = f" Each line is {found.ranks_per_row} ranks." if found.ranks_per_row > 1 else ""
    return (f"One column is {human_seconds(found.time.cell)}. Its colour is what most of the time in calls was spent"
            f" on, its height how much of the column's time was in calls, in quarters.{together}")  # fmt: skip


def _phase_paths(found: Busy, row_height: int) -> list[tuple[str, str]]:
    paths: dict[str, list[str]] = defaultdict(list)
    for number in range(found.rows):
        row = {column: _cell(found, number, column) for line, column in found.seconds if line == number}
        for begin, end, (name, quarters) in _runs(row):
            height = (row_height - 2) * int(quarters) / _QUARTERS
            bottom = _TOP + (number + 1) * row_height - 1
            paths[name].append(_rectangle(_LEFT + begin * _COLUMN_WIDTH, bottom - height,
                                          (end - begin) * _COLUMN_WIDTH, height))  # fmt: skip
    return [(name, "".join(parts)) for name, parts in paths.items()]


def _cell(found: Busy, row: int, column: int) -> tuple[str, ...]:
    spent = found.seconds[row, column]
    share = sum(spent.values()) / (found.time.cell * found.ranks_of(row))
    longest = max(spent, key=spent.__getitem__)  # a later version may have others
    return PHASE_CLASSES.get(longest, "other"), str(min(_QUARTERS, max(1, math.ceil(share * _QUARTERS - 1e-3))))


def _rank_ticks(found: Busy, row_height: int) -> list[Tick]:
    each = -(-_LABEL_HEIGHT // row_height)
    ticks = []
    for row in range(0, found.rows, each):
        first = row * found.ranks_per_row
        label = str(first) if found.ranks_per_row == 1 else f"{first}-{first + found.ranks_of(row) - 1}"
        ticks.append((_TOP + (row + 0.5) * row_height, label))
    return ticks


# ---- where in the file -------------------------------------------------------------------------------


def heat_map(record: Record, name: str, job: Job) -> Figure | None:
    found = heat(record, name, job, _HEAT_ROWS, PLOT_WIDTH // _HEAT_COLUMN_WIDTH)
    if found is None:
        return None
    verb = "written" if name == "write" else "read"
    most = max(found.bytes.values())
    figure = _figure(_HEAT_ROWS * _HEAT_ROW_HEIGHT, title=f"Where it was {verb} when", x_name="time of the program",
                     y_name="offset", about=f"One cell is {human_seconds(found.time.cell)} and"
                     f" {_about(found.offset.cell)} of the file; up to"
                     f" {_about(most)} were {verb} in one. Calls that the MPI library did are not in"
                     " it.")  # fmt: skip
    figure.paths = _heat_paths(found, most)
    figure.x_ticks = _time_ticks(found.time)
    figure.y_ticks = _byte_ticks(found.offset.end, figure.plot_height)
    figure.legend = [(f"heat{level}", f"up to {_about(most * level / HEAT_LEVELS)}")
                     for level in range(1, HEAT_LEVELS + 1)]  # fmt: skip
    return figure


def _about(count: float) -> str:
    """Of a part of a cell: three digits."""
    number, unit = human_bytes(count).split()
    return f"{float(number):.3g} {unit}"


def _heat_paths(found: Heat, most: float) -> list[tuple[str, str]]:
    paths: dict[str, list[str]] = defaultdict(list)
    rows: dict[int, dict[int, tuple[str, ...]]] = defaultdict(dict)
    for (row, column), count in found.bytes.items():
        rows[row][column] = (f"heat{max(1, math.ceil(count / most * HEAT_LEVELS - 1e-9))}",)
    for row, cells in rows.items():
        y = _TOP + (_HEAT_ROWS - 1 - row) * _HEAT_ROW_HEIGHT  # offset 0 is at the bottom
        for begin, end, (name,) in _runs(cells):
            paths[name].append(_rectangle(_LEFT + begin * _HEAT_COLUMN_WIDTH, y, (end - begin) * _HEAT_COLUMN_WIDTH,
                                          _HEAT_ROW_HEIGHT))  # fmt: skip
    return sorted((name, "".join(parts)) for name, parts in paths.items())


def _byte_ticks(most: float, plot_height: int) -> list[Tick]:
    """From the bottom."""
    steps = _steps(most, (0.125, 0.25, 0.5, 1), 2)
    return [(_TOP + plot_height * (1 - step / most), short_bytes(step)) for step in steps if most > 0]


# ---- who had how much --------------------------------------------------------------------------------


def aggregator_loads(job: Job) -> Figure | None:
    loads = bytes_by_aggregator(job)
    return _bars(list(loads), list(loads.values()), "Bytes by aggregator", "rank", "Each is a rank that accessed files")


def server_loads(record: Record) -> Figure | None:
    loads = bytes_by_server(record)
    return _bars(list(range(len(loads))), loads, "Bytes by data server", "server", "Servers are numbered as in the file")


def _bars(numbers: list[int], loads: list[int], title: str, noun: str, about: str) -> Figure | None:
    """One bar for each, or for the largest of some neighbours."""
    if not loads or max(loads) == 0:
        return None
    together = -(-len(loads) // _BARS_AT_MOST)
    groups = [max(loads[first : first + together]) for first in range(0, len(loads), together)]
    largest, mean = max(loads), sum(loads) / len(loads)
    even = f"the most is {short_bytes(largest)}, the mean {short_bytes(round(mean))} ({largest / mean:.2f} times)"
    joined = f" Each bar is the largest of {together} neighbours." if together > 1 else ""
    figure = _figure(_BARS_HEIGHT, title=title, x_name=noun, y_name="bytes",
                     about=f"{about}: {counted(len(loads), noun)}; {even}.{joined}")  # fmt: skip
    slot = min(_BAR_SLOT_WIDEST, PLOT_WIDTH / len(groups))
    parts = [_rectangle(round(_LEFT + (place + 0.1) * slot, 2), round(_TOP + _BARS_HEIGHT * (1 - load / largest), 2),
                        round(0.8 * slot, 2), round(_BARS_HEIGHT * load / largest, 2))
             for place, load in enumerate(groups)]  # fmt: skip
    figure.paths = [("load", "".join(parts))]
    figure.x_ticks = _bar_ticks(numbers, together, slot)
    figure.y_ticks = _byte_ticks(largest, _BARS_HEIGHT)
    return figure


def _bar_ticks(numbers: list[int], together: int, slot: float) -> list[Tick]:
    widest = 8 * len(str(numbers[-1])) + 8
    each = math.ceil(widest / slot)
    return [(_LEFT + (place + 0.5) * slot, str(numbers[place * together]))
            for place in range(0, -(-len(numbers) // together), each)]  # fmt: skip


def of_file(record: Record, job: Job) -> list[Figure]:
    """What there is to see of one file."""
    found = [heat_map(record, "write", job), heat_map(record, "read", job), server_loads(record)]
    return [figure for figure in found if figure is not None]
