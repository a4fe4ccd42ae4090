"""The options that say how ranks run under Unisono, shared by commands, and the variables they become."""

from __future__ import annotations

import os
from collections.abc import Callable

import click

from . import completion, mpi, places

# The first word that is no option of ours begins the command.
PASS_ON = {"allow_interspersed_args": False}

STRATEGY = click.option("--strategy", metavar="NAME", shell_complete=completion.one_of(completion.strategies),
                        help="Use this one for every file: see 'unisono strategies'.")  # fmt: skip

_OPTIONS = [
    click.option(
        "--backend",
        metavar="NAME",
        shell_complete=completion.one_of(lambda: places.valid_values("UNISONO_BACKEND")),
        help="How files are accessed: auto, posix, threads, uring, mapped or mpiio.",
    ),
    click.option(
        "--hints",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, resolve_path=True),
        help="Hints by file name: lines 'glob:key=value:key=value'.",
    ),
    click.option(
        "--topology",
        metavar="nodes=N",
        help="Pretend that one machine's ranks run on N nodes.",
    ),
    click.option(
        "--mpi",
        type=click.Choice(mpi.ENGINES),
        help="The program's MPI, where it cannot be found out.",
    ),
    click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[--] COMMAND...", shell_complete=completion.files),
]


def options(function: Callable[..., None]) -> Callable[..., None]:
    """All but the strategy, and the command itself."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def variables(
    strategy: str | None, backend: str | None, hints: str | None, topology: str | None
) -> dict[str, str]:
    """All UNISONO_* variables for the ranks: those that are set now, and the options."""
    now = {k: v for k, v in os.environ.items() if k.startswith("UNISONO_")}
    choices = {
        "UNISONO_STRATEGY": strategy,
        "UNISONO_BACKEND": backend,
        "UNISONO_HINTS": hints,
        "UNISONO_TOPOLOGY": topology,
    }
    all_of_them = now | {k: v for k, v in choices.items() if v is not None}
    places.check_options(all_of_them)
    return all_of_them
