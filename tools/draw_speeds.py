#!/usr/bin/python3
"""Renews docs/lab/between-nodes.svg, the picture on the front page, from the table in docs/lab/performance.md.

With --check nothing is written: the exit status says whether the picture is current.
"""

import argparse
import pathlib
import re
import sys
from typing import NamedTuple

LAB = pathlib.Path(__file__).resolve().parent.parent / "docs" / "lab"
TABLE, PICTURE = LAB / "performance.md", LAB / "between-nodes.svg"
SECTION = "## Between nodes (emulated)"

SAID = {"strided-64": "64 B in turn", "strided-1k": "1 KiB in turn", "strided-4k": "4 KiB in turn",
        "strided-64k": "64 KiB in turn", "strided-1m": "1 MiB in turn", "irregular": "irregular, 8-64 B",
        "block-3d": "3-D blocks", "lattice": "4-D lattice", "tile": "2-D tiles", "noncontig": "noncontig",
        "memory-24": "24 B in memory", "hpio-64": "64 B, holes", "hpio-1k": "1 KiB, holes",
        "contiguous": "contiguous", "calls-contiguous": "512 small calls", "calls-strided": "512 strided",
        "ior-hard": "ior-hard"}
PANELS = {"O": "written, MB/s", "R": "read, MB/s"}

WIDTH, NAMES, TOP, ROW, BAR, FOOT = 760, 120, 54, 38, 13, 34
PANEL = (WIDTH - NAMES) // 2 - 20
FULL_MB_S = 500  # a panel's width


class Row(NamedTuple):
    pattern: str
    mode: str
    native: int  # the fastest of MPICH's sides
    unisono: int


def rows(page: str) -> list[Row]:
    table = page.split(SECTION)[1].split("```text\n")[1].split("```")[0]
    found = []
    for line in table.splitlines()[1:]:
        pattern, mode, *_speeds = line.split()
        mpich, tuned, unisono, *_others = map(int, re.findall(r"(\d+) ±", line))
        found.append(Row(pattern, mode, max(mpich, tuned), unisono))
    return found


def _text(x: float, y: float, words: str, look: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}"{look}>{words}</text>'


def _bar(x: float, y: float, speed: int, look: str) -> list[str]:
    width = PANEL * speed / FULL_MB_S
    return [f'<rect x="{x:g}" y="{y:g}" width="{width:.1f}" height="{BAR}" fill="{look}"/>',
            _text(round(x + width + 4), y + BAR - 2, str(speed), ' font-size="11"')]


NATIVE, UNISONO = "#9aa3ad", "#2f6fb0"


def _panel(left: float, measured: list[Row]) -> list[str]:
    parts = []
    for place, row in enumerate(measured):
        top = TOP + place * ROW
        parts += _bar(left, top, row.native, NATIVE) + _bar(left, top + BAR, row.unisono, UNISONO)
    return parts


def picture(page: str) -> str:
    measured = rows(page)
    patterns = list(dict.fromkeys(row.pattern for row in measured))
    bottom = TOP + len(patterns) * ROW
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + FOOT}" '
             f'width="{WIDTH}" height="{bottom + FOOT}" font-family="sans-serif" font-size="13" fill="#222">',
             f'<rect width="{WIDTH}" height="{bottom + FOOT}" fill="white"/>',
             f'<rect x="{NAMES}" y="12" width="{BAR}" height="{BAR}" fill="{NATIVE}"/>',
             _text(NAMES + 20, 23, "MPICH, the faster of default and tuned"),
             f'<rect x="{NAMES + 290}" y="12" width="{BAR}" height="{BAR}" fill="{UNISONO}"/>',
             _text(NAMES + 310, 23, "the same program under Unisono")]
    parts += [_text(NAMES - 8, TOP + place * ROW + BAR + 4, SAID[pattern], ' text-anchor="end"')
              for place, pattern in enumerate(patterns)]
    for place, (mode, title) in enumerate(PANELS.items()):
        left = NAMES + place * (PANEL + 40)
        parts.append(_text(left, 46, title, ' font-weight="bold"'))
        parts += _panel(left, [row for row in measured if row.mode == mode])
    parts.append(_text(NAMES, bottom + 14, "8 ranks on 4 emulated nodes at 1 Gbit/s; medians",
                       ' font-size="11" fill="#666"'))
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()

    drawn = picture(TABLE.read_text())
    if not options.check:
        PICTURE.write_text(drawn)
    elif not PICTURE.exists() or PICTURE.read_text() != drawn:
        print(f"{PICTURE}: not what the table says; run {pathlib.Path(__file__).name}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
