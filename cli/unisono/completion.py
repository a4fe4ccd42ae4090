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
        return [CompletionItem(name) for name in _known(names) if name.startswith(incomplete)]

    return complete


def list_of(names: Callable[[], Iterable[str]]) -> Completer:
    """The same of the last name in a list with commas. None is offered twice."""

    def complete(_context: Any, _parameter: Any, incomplete: str) -> list[CompletionItem]:
        *before, last = incomplete.split(",")
        return [CompletionItem(",".join([*before, name])) for name in _known(names)
                if name.startswith(last) and name not in before]

    return complete


def _known(names: Callable[[], Iterable[str]]) -> Iterable[str]:
    try:
        return names()
    except places.Failure:
        return []


def files(_context: Any, _parameter: Any, incomplete: str) -> list[CompletionItem]:
    """The shell completes by itself: the words of another command."""
    return [CompletionItem(incomplete, type="file")]


def strategies() -> list[str]:
    return ["auto", *single_strategies()]


def single_strategies() -> list[str]:
    return [entry.name for entry in places.known_strategies() or []]
