"""The report of a job, on one screen: summary.py has what is said."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from .causes import Cause
from .job import Job
from .report import human_seconds, short_bytes
from .summary import FileRow, file_rows, judgement, lines, time_rows, total, trouble, worthwhile_causes

WIDEST = 80  # of a terminal; longer lines are hard to read
_INDENT = 9
_LINES = 40
_FILES_AT_MOST = 10  # and fewer where they would not fit on the screen, but not fewer than
_FILES_AT_LEAST = 4
_CAUSES_AT_MOST = 4
_ERRORS_AT_MOST = 3


def show(job: Job, console: Console) -> None:
    width = min(console.width, WIDEST)
    found = worthwhile_causes(job)
    before = [_verdict(job, found, width), _program(job, width), _times(job), _advice(found, width)]
    sections = [list(section) for section in [*before, _errors(job, width)]]
    room = _LINES - sum(len(section) + 1 for section in sections if section)
    sections.insert(len(before), list(_top_files(job, width, room)))
    for section in filter(None, sections):
        for line in section:
            console.print(line, highlight=False, markup=False, emoji=False, soft_wrap=True)
        console.print()


def _paragraph(label: str, text: str, width: int) -> list[str]:
    """With a label in the margin."""
    return textwrap.wrap(text, width, initial_indent=label.ljust(_INDENT), subsequent_indent=" " * _INDENT,
                         break_long_words=False, break_on_hyphens=False)  # fmt: skip


def _verdict(job: Job, found: list[Cause], width: int) -> Iterator[Text]:
    for line in textwrap.wrap(judgement(job, found), width):
        yield Text(line, style="bold")
    for sentence in trouble(job):
        for line in textwrap.wrap(sentence, width):
            yield Text(line, style="yellow")


def _program(job: Job, width: int) -> Iterator[str]:
    for label, text in lines(job):
        yield from _paragraph(label, text, width)


def _times(job: Job) -> Iterator[str]:
    rows = time_rows(job)
    if not rows:
        return
    used = job.used()
    heads = [*({"write": "writing", "read": "reading"}[name] for name in used), "in all"]
    yield f"{'Time of a rank, on average':36}" + "".join(f"{head:>11}" for head in heads)
    for row in rows:
        cells = [human_seconds(spent) if (spent := row.spent.get(name, 0.0)) > 0 else "" for name in used]
        cells.append(human_seconds(row.whole))
        yield f"  {row.label:34}" + "".join(f"{cell:>11}" for cell in cells) + f"{row.whole / job.io_s:>6.0%}"


def _advice(found: list[Cause], width: int) -> Iterator[str]:
    if not found:
        return
    yield "What cost most, and what to change"
    for cause in found[:_CAUSES_AT_MOST]:
        margin = f"{human_seconds(cause.seconds):>9}  "
        rest = " " * len(margin)
        yield from textwrap.wrap(cause.evidence, width, initial_indent=margin, subsequent_indent=rest,
                                 break_on_hyphens=False, break_long_words=False)  # fmt: skip
        if cause.change:
            yield from textwrap.wrap(f"-> {cause.change}", width, initial_indent=rest, subsequent_indent=f"{rest}   ",
                                     break_on_hyphens=False, break_long_words=False)  # fmt: skip


def _shortened(name: str, room: int) -> str:
    """The end of a name tells more than its beginning."""
    return name if len(name) <= room else f"...{name[3 - room :]}"


def _file_line(row: FileRow, name: str) -> str:
    cells = [short_bytes(count) if count else "" for count in (row.written, row.read)]
    mark = " (errors)" if row.failed else ""
    return f"{human_seconds(row.seconds):>11}{cells[0]:>12}{cells[1]:>12}  {name}{mark}"


def _common_folder(names: list[str]) -> str:
    """Empty where some are relative and others not."""
    one_kind = len({os.path.isabs(name) for name in names}) == 1
    return os.path.commonpath([os.path.dirname(name) for name in names]) if one_kind else ""


def _top_files(job: Job, width: int, room: int) -> Iterator[str]:
    """`room`: lines, as far as that is enough."""
    ordered = file_rows(job)
    if len(ordered) < 2:
        return
    folder = _common_folder([row.name for row in ordered])
    where = f" in {_shortened(folder, width - 46)}/" if len(folder) > 1 else ""
    yield f"{'time':>11}{'written':>12}{'read':>12}  file{where}"
    shown = min(_FILES_AT_MOST, max(_FILES_AT_LEAST, room - 3))  # and the head, the rest, a blank line
    for row in ordered[:shown]:
        name = os.path.relpath(row.name, folder) if len(folder) > 1 else row.name
        yield _file_line(row, _shortened(name, width - 37 - 9 * bool(row.failed)))
    if rest := ordered[shown:]:
        yield _file_line(total(rest), f"{len(rest):,} more (--files shows all)")


def _errors(job: Job, width: int) -> Iterator[Text]:
    errors = job.distinct("errors")
    if not errors:
        return
    yield Text("Errors", style="yellow")
    for error in errors[:_ERRORS_AT_MOST]:
        for line in textwrap.wrap(error, width, initial_indent="  ", subsequent_indent="    ", break_long_words=False):
            yield Text(line)
    if len(errors) > _ERRORS_AT_MOST:
        yield Text(f"  and {len(errors) - _ERRORS_AT_MOST:,} more (--files shows all)")
