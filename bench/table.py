"""The benchmark's results as text."""

import itertools
from collections.abc import Sequence

from cells import (Cell, clearly_below_own_default, shrinking_with_ranks, target_checks)
from ratios import Ratio
from sides import BEHIND, DEFAULT_ROMIO, POSIX, SIDES, Side

MODE_LETTERS = {"fresh": "F", "overwrite": "O", "read": "R", "sync": "S"}


def render(cells: list[Cell], chosen: list[Side]) -> str:
    """Two tables, speeds and ratios, for each number of ranks and directory."""
    def group(cell: Cell):
        return cell.ranks, cell.cores, cell.directory

    side_names = [side.name for side in chosen]
    ours = [side for side in chosen if side.unisono]
    parts = []
    for (ranks, cores, directory), grouped in itertools.groupby(sorted(cells, key=group), key=group):
        members = list(grouped)
        where = f"{ranks} ranks on {cores} cores, {directory}"
        parts += [f"{where}: MB/s, median and spread", _aligned(_speeds(members, side_names)), ""]
        if ours:
            parts += [f"{where}: ratios", _aligned(_ratios(members, ours)), ""]
    return "\n".join(parts)


def _speeds(cells: list[Cell], side_names: list[str]) -> list[list[str]]:
    linked = any(cell.allowed for cell in cells)
    rows = [["pattern", "", *side_names, *(["links allow"] if linked else [])]]
    for cell in cells:
        rows.append([cell.pattern, MODE_LETTERS.get(cell.mode, cell.mode),
                     *(speed(cell, name) for name in side_names),
                     *([f"{cell.allowed:.0f}" if cell.allowed else "-"] if linked else [])])
    return rows


def _ratios(cells: list[Cell], ours) -> list[list[str]]:
    header = ["pattern", ""]
    for side in ours:
        header += [f"{side.name} / ROMIO", "/ best native", "/ posix"]
        if side.own_default != DEFAULT_ROMIO:
            header.append(f"/ {side.own_default}")
        header.append("")
    rows = [header]
    for cell in cells:
        row = [cell.pattern, MODE_LETTERS.get(cell.mode, cell.mode)]
        for side in ours:
            row += _ratio_columns(cell, side)
        rows.append(row)
    return rows


def _ratio_columns(cell: Cell, side) -> list[str]:
    opponents = [DEFAULT_ROMIO, cell.best_native(), POSIX]
    if side.own_default != DEFAULT_ROMIO:
        opponents.append(side.own_default)
    columns = [with_interval(cell.ratio(side.name, opponents[0]))]
    columns += [plain(cell.ratio(side.name, opponent)) for opponent in opponents[1:3]]
    columns += [with_interval(cell.ratio(side.name, opponent)) for opponent in opponents[3:]]
    return [*columns, marks(cell, side)]


def speed(cell: Cell, side: str) -> str:
    if side in cell.errors:
        return "failed"
    if not cell.measured(side):
        return "-"
    return f"{cell.mb_per_s(side):.0f} ±{100 * cell.spread(side):.0f}%"


def plain(ratio: Ratio | None) -> str:
    return f"{ratio.value:.2f}" if ratio else "-"


def with_interval(ratio: Ratio | None) -> str:
    return f"{ratio.value:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]" if ratio else "-"


def marks(cell: Cell, side) -> str:
    """`!` clearly below the own MPI's default, `t` a target missed."""
    missed = any(check.missed for check in target_checks([cell]) if check.side == side.name)
    return ("!" if clearly_below_own_default(cell, side) else "") + ("t" if missed else "")


def _aligned(rows: list[list[str]]) -> str:
    """First two columns to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for row in rows:
        fields = [text.ljust(width) if index < 2 else text.rjust(width)
                  for index, (text, width) in enumerate(zip(row, widths))]
        lines.append("  ".join(fields).rstrip())
    return "\n".join(lines)


def findings(cells: list[Cell], chosen: Sequence[Side] = ()) -> str:
    """What a reader must not overlook: failures, cells below the default, missed targets."""
    sections = (
        ("Failed", _failures(cells)),
        ("Done by other strategies than the one asked for", _other_strategies(cells, chosen)),
        ("Clearly below the default of their own MPI (!)", _below_default(cells)),
        (_targets_title(cells), _missed_targets(cells)),
        ("Gain over the default ROMIO shrinks with more ranks", _shrinking(cells)),
        ("Bytes in holes of fresh files that are not zero (allowed by MPI)", _spoilt_holes(cells)),
    )
    parts = []
    for title, lines in sections:
        if lines:
            parts += [f"{title}: {len(lines)}", *(f"  {line}" for line in lines)]
    return "\n".join(parts)


def _failures(cells: list[Cell]) -> list[str]:
    return [f"{cell.name}, {side}: {message}"
            for cell in cells for side, message in cell.errors.items()]


def _other_strategies(cells: list[Cell], chosen: Sequence[Side]) -> list[str]:
    asked = {side.name: side.strategy for side in chosen if side.strategy not in ("", "auto", "orthrus", BEHIND)}
    return [f"{cell.name}, {side}: {', '.join(others)}" for cell in cells for side, strategy in asked.items()
            if (others := sorted(cell.strategies.get(side, {}).keys() - {strategy}))]


def _below_default(cells: list[Cell]) -> list[str]:
    lines = []
    for cell in cells:
        for side in cell.unisono_sides():
            if ratio := clearly_below_own_default(cell, side):
                lines.append(f"{cell.name}: {side.name} / {side.own_default} "
                             f"{with_interval(ratio)}")
    return lines


def _targets_title(cells: list[Cell]) -> str:
    return f"Targets missed (t), of {len(target_checks(cells))} that were checked"


def _missed_targets(cells: list[Cell]) -> list[str]:
    return [f"{check.cell.name}: {check.side} / {check.against} {plain(check.ratio)}, "
            f"target {check.target:g}"
            for check in target_checks(cells) if check.missed]


def _shrinking(cells: list[Cell]) -> list[str]:
    lines = []
    for found in shrinking_with_ranks(cells):
        before = found.few.ratio(found.side, DEFAULT_ROMIO)
        after = found.many.ratio(found.side, DEFAULT_ROMIO)
        lines.append(f"{found.many.name}: {found.side} {plain(after)}, "
                     f"{plain(before)} with {found.few.ranks} ranks")
    return lines


def _spoilt_holes(cells: list[Cell]) -> list[str]:
    order = [side.name for side in SIDES]
    return [f"{cell.name}, {side}: {cell.spoilt_hole_bytes[side]}"
            for cell in cells for side in order if cell.spoilt_hole_bytes.get(side)]
