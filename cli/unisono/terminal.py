"""How wide output may be, and tables that keep to it."""

from __future__ import annotations

import os
from typing import Any

from rich.console import Console
from rich.table import Column, Table

_WIDTH_WITHOUT_TERMINAL = 100


def console(stream: Any, width_without_terminal: int = _WIDTH_WITHOUT_TERMINAL) -> Console:
    """As wide as the terminal, or as COLUMNS says."""
    told = stream.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return Console(file=stream, width=None if told else width_without_terminal)


def table(*names: str, **more: Any) -> Table:
    """Words that are longer than their column go on in the next line: nothing is left out."""
    return Table(*(Column(name, overflow="fold") for name in names), **more)
