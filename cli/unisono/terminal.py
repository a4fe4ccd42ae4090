"""How wide output may be."""

from __future__ import annotations

from typing import Any

from rich.console import Console

_WIDTH_WITHOUT_TERMINAL = 100


def console(stream: Any, width_without_terminal: int = _WIDTH_WITHOUT_TERMINAL) -> Console:
    return Console(file=stream, width=None if stream.isatty() else width_without_terminal)
