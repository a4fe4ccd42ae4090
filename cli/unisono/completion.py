"""What shells may complete: values of options that only the libraries and programs know."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from click.shell_completion import CompletionItem

from . import places

Completer = Callable[[Any, Any, str], list[CompletionItem]]


def one_of(names: Callable[[], Iterable[str]]) -> Completer:
    """Completes to one of the names, which are asked for when somebody presses the key. Where they cannot
    be had nothing is offered: a message would end up in the user's command line."""

    def complete(_context: Any, _parameter: Any, incomplete: str) -> list[CompletionItem]:
        try:
            return [CompletionItem(name) for name in names() if name.startswith(incomplete)]
        except places.Failure:
            return []

    return complete


def files(_context: Any, _parameter: Any, incomplete: str) -> list[CompletionItem]:
    """The shell completes by itself: the words of another command."""
    return [CompletionItem(incomplete, type="file")]


def strategies() -> list[str]:
    return ["auto", *(entry.name for entry in places.known_strategies() or [])]
