"""`unisono compare`: the same command with and without Unisono."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from . import compare as comparing
from . import completion, ranges, settings, terminal
from .compare import Outcome, Side
from .fresh import FreshFiles
from .places import Failure, said_of
from .run import Interrupted

_WIDTH_WITHOUT_TERMINAL = 80


@click.command("compare", context_settings=settings.PASS_ON, short_help="Time a program without and with Unisono.")
@click.option("--file", "patterns", metavar="PATH", multiple=True,
              help="A file that the program writes, or a quoted pattern; repeatable. Default: found by the first run.")  # fmt: skip
@click.option("--repeats", metavar="N", type=click.IntRange(min=1), default=3, show_default=True,
              help="Runs of each kind.")  # fmt: skip
@click.option("--strategies", metavar="A,B", default="", shell_complete=completion.list_of(completion.strategies),
              help="Run it by these as well; see 'unisono strategies'.")  # fmt: skip
@click.option("--timeout", metavar="SECONDS", type=ranges.SECONDS,
              help="End a run that takes longer, and the comparison.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="All numbers on standard output, as JSON.")
@settings.options
def compare(command: tuple[str, ...], patterns: tuple[str, ...], repeats: int, strategies: str,
            timeout: float | None, as_json: bool, mpi: str | None, **choices: str | None) -> None:  # fmt: skip
    """Run a program without and with Unisono in turns: is it faster, and does it write the same?

    \b
    unisono compare -- mpiexec -n 4 ./app
    unisono compare --file 'out/chk_*' --repeats 5 -- srun -n 64 ./app

    A first run, under Unisono, is not counted: it finds out which files the program writes, and warms caches.
    Then each run begins with fresh files, and what it wrote is compared with what the first native run wrote.

    Your files are safe: those that are there already and that --file names (without it, or where one names nothing
    that is there yet, also the command line) are copied before the program first runs, into a hidden folder beside
    them; each run finds them as they were, and so do you at the end. Other files that the program writes are
    removed, with folders made for them, if they were certainly not there before. If one may have been, the comparison
    stops after the first run and asks you to name it.

    Times are of the whole program, from start to end; "in MPI-IO" is what a rank spent in the calls, on average, as
    Unisono reports it (of native runs nobody knows it). Caches of the system are not dropped.
    """
    names = strategy_names(strategies)
    variables = settings.variables(None, **choices)
    words = list(command)
    comparison = comparing.Comparison(FreshFiles(patterns, words, tell), timeout, tell)
    say(words, run(comparison, words, variables, mpi, names, repeats), as_json)


def strategy_names(text: str) -> list[str]:
    """Of a list as users give it; Failure if one is unknown."""
    names = [name for name in text.split(",") if name]
    for name in names:
        settings.variables(name, None, None, None)
    return names


def run(comparison: comparing.Comparison, words: list[str], variables: dict[str, str], mpi: str | None,
        strategies: list[str], repeats: int) -> Outcome:  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="unisono-") as folder:
        first, sides = comparing.sides_of(words, variables, mpi, strategies, Path(folder))
        for warning in first.job.warnings:
            tell(f"warning: {warning}")
        try:
            return comparison.run(first, sides, repeats)
        except Interrupted as interrupted:
            raise Failure("interrupted; files were put back", 128 + interrupted.number) from None
        except OSError as error:
            raise Failure(said_of(error), 1) from error


def say(words: list[str], outcome: Outcome, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(_as_data(words, outcome), indent=1))
    else:
        _show(outcome)


def tell(text: str) -> None:
    click.echo(f"unisono: {text}", err=True)


def _verdicts(outcome: Outcome) -> list[str]:
    """On Unisono, and on what was faster still."""
    native, unisono, *others = outcome.sides
    said = [comparing.verdict(unisono, native)]
    fastest = min(others, key=lambda side: statistics.median(side.seconds), default=None)
    if fastest and (found := comparing.ratio(fastest, unisono)).clear and found.value > 1:
        said.append(comparing.verdict(fastest, unisono))
    return said


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value < 10 else f"{value:,.1f}"


def _row(side: Side, native: Side) -> list[str]:
    found = comparing.ratio(side, native)
    several = len(side.seconds) > 1
    faster = comparing.times(found.value)
    if several:
        faster += f" ({comparing.times(found.least)} to {comparing.times(found.most)})"
    return [
        escape(side.name),
        _seconds(statistics.median(side.seconds)),
        f"{_seconds(min(side.seconds))} to {_seconds(max(side.seconds))}" if several else "",
        "" if side is native else faster,
        _seconds(statistics.median(side.io_seconds)) if side.io_seconds else "unknown",
    ]


def _show(outcome: Outcome) -> None:
    console = terminal.console(sys.stdout, _WIDTH_WITHOUT_TERMINAL)
    table = terminal.table("", "seconds", "range", "times as fast", "in MPI-IO")
    for side in outcome.sides:
        table.add_row(*_row(side, outcome.sides[0]))
    console.print(table)
    lines = [f"Contents: {outcome.contents}{_of_files(outcome)}.", *outcome.notes]
    for style, line in [("bold", line) for line in _verdicts(outcome)] + [("", line) for line in lines]:
        # Where there is no terminal, whoever reads it may want whole lines.
        console.print(escape(line), style=style, highlight=False, soft_wrap=not console.is_terminal)


def _of_files(outcome: Outcome) -> str:
    files = outcome.files
    if not files or str(files[0]) in outcome.contents:
        return ""
    more = f" and {len(files) - 1:,} more" if len(files) > 1 else ""
    return f" ({files[0]}{more})"


def _as_data(words: list[str], outcome: Outcome) -> dict[str, Any]:
    return {
        "command": words,
        "sides": [_side_as_data(side, outcome.sides[0]) for side in outcome.sides],
        "verdict": _verdicts(outcome),
        "contents": outcome.contents,
        "files": [str(path) for path in outcome.files],
        "notes": outcome.notes,
    }


def _side_as_data(side: Side, native: Side) -> dict[str, Any]:
    found = comparing.ratio(side, native)
    return {
        "name": side.name,
        "seconds": side.seconds,
        "median_seconds": statistics.median(side.seconds),
        "io_seconds": side.io_seconds or None,
        "times_as_fast": {"median": found.value, "least": found.least, "most": found.most, "clear": found.clear},
    }
