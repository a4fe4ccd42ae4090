"""Groups of commands: a name that is not among them, and help on one that is."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import click


_WHOLE = 1000  # more than any sentence has


class Group(click.Group):
    """Names what was likely meant, and says of each command a whole sentence."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(_WHOLE)) for name, command in commands
                                if command is not None and not command.hidden])  # fmt: skip

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            for near in difflib.get_close_matches(args[0], self.list_commands(ctx), 1):
                error.message += f" Did you mean '{near}'?"
            raise


def context_of(words: Iterable[str], context: click.Context) -> click.Context:
    """Of the command that the words lead to from a group's context."""
    for word in words:
        group = context.command
        if not isinstance(group, click.Group):
            raise click.UsageError(f"'{context.command_path}' has no commands of its own.", context)
        name, command, _ = group.resolve_command(context, [word])
        assert command is not None, "or it has raised"
        context = click.Context(command, info_name=name, parent=context, **command.context_settings)
    return context
