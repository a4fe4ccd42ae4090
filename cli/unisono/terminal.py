"""How wide output may be, tables that keep to it, what terminals must not be told, and output that nobody can have."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment
from rich.table import Column, Table

from .places import Entry

_WIDTH_WITHOUT_TERMINAL = 100
# What a terminal would obey, or show in another order, and halves of characters, which nobody can write. Not the halves
# that stand for bytes which are no UTF-8.
_NOT_SHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udc7f\udd00-\udfff]")


def visible(text: str) -> str:
    """Names and reports may be somebody else's, who has put anything there."""
    return _NOT_SHOWN.sub("?", text)


class _Console(Console):
    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Rich since 13.8 ends the program here. Called while the error is handled."""
        raise  # noqa: PLE0704


def console(stream: Any, width_without_terminal: int = _WIDTH_WITHOUT_TERMINAL) -> Console:
    """As wide as the terminal, or as COLUMNS says; 0 there, or of a terminal, means that nobody knows."""
    columns = os.environ.get("COLUMNS", "")
    told = int(columns) if columns.isdecimal() else 0
    if not told and stream.isatty():
        told = os.get_terminal_size(stream.fileno()).columns
    return _Console(file=stream, width=told or width_without_terminal)


def table(*names: str, **more: Any) -> Table:
    """Words that are longer than their column go on in the next line: nothing is left out."""
    return Table(*(Column(name, overflow="fold") for name in names), **more)


def show(shown: Table) -> None:
    """On standard output; wide where nobody knows how wide that is."""
    console(sys.stdout, 120).print(shown)


def listing(entries: Iterable[Entry], origin: str = "source") -> Table:
    listed = table("name", "what it does", origin)
    for entry in entries:
        listed.add_row(escape(entry.name), escape(entry.summary), escape(entry.source))
    return listed


def replace_closed_streams() -> None:
    """Where the caller has closed some: else the next files that are opened would have their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = open(os.devnull, mode)  # noqa: SIM115: for good
            os.set_inheritable(nowhere.fileno(), True)
            setattr(sys, name, nowhere)


def let_names_pass() -> None:
    """Those of files that are no UTF-8 are written as they came."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="surrogateescape")


def give_up(stream: Any) -> None:
    """What it still holds cannot be written, and is to be no error at the end once more."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextlib.contextmanager
def read_or_not() -> Iterator[None]:
    """What is said on standard error meanwhile, and cannot be written, changes nothing."""
    try:
        yield
        sys.stderr.flush()
    except OSError:
        give_up(sys.stderr)
