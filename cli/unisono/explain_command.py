"""`unisono explain`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
from rich.markup import escape

from . import completion, explain, explain_picture, explain_screen, places, schema, terminal
from .places import Failure


def _only(_context: click.Context, _parameter: click.Parameter, value: str) -> list[str]:
    names = [name for name in value.split(",") if name]
    known = completion.single_strategies()
    for name in names:
        if known and name not in known:
            unused = "".join(f"; {line}" for line in places.plugins_not_used())
            raise Failure(f"unknown strategy '{name}'; valid: {', '.join(known)}{unused}")
    return names


@click.command("explain", short_help="Show what each strategy would do about a call.")
@click.option("--pattern", metavar="NAME", default="strided", show_default=True,
              shell_complete=completion.one_of(lambda: [entry.name for entry in explain.patterns()]),
              help="How ranks share out the file: --pattern help lists them.")  # fmt: skip
@click.option("--piece", metavar="SIZE", help="Of each contiguous piece; of tile, block-3d, lattice: of an element.")
@click.option("--bytes", "all_bytes", metavar="SIZE", help="Of all ranks together; a few pieces of each unless said.")
@click.option("--ranks", metavar="N", default=8, show_default=True, help="Of the program.")
@click.option("--nodes", metavar="N", default=1, show_default=True, help="They run on so many.")
@click.option("--read", is_flag=True, help="A read instead of a write.")
@click.option("--layout", metavar="TEXT", help="Which server has what: stripe_bytes=64K,servers=4.")
@click.option("--storage", type=click.Choice(["local", "parallel", "nfs"]),
              help="Default: local on one node without a layout, else parallel.")  # fmt: skip
@click.option("--hint", "hints", metavar="KEY=VALUE", multiple=True, help="As the program would set; again for more.")
@click.option("--report", "report_file", metavar="FILE", type=click.Path(exists=True, dir_okay=False),
              help="Instead: a call like those of a report (UNISONO_REPORT=json).")  # fmt: skip
@click.option("--strategies", "only", metavar="A,B", default="", callback=_only, help="Draw these only.",
              shell_complete=completion.list_of(completion.single_strategies))  # fmt: skip
@click.option("--part", nargs=2, metavar="BEGIN END", help="Draw these file bytes only, e.g. 0 64K.")
@click.option("--picture", "--svg", "picture", metavar="FILE", type=click.Path(dir_okay=False),
              help="Draw into a file, too (.svg, .png, .pdf).")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="All of it as JSON.")
def explain_command(
    pattern: str, piece: str | None, all_bytes: str | None, ranks: int, nodes: int, read: bool, layout: str | None,
    storage: str | None, hints: tuple[str, ...], report_file: str | None, only: list[str],
    part: tuple[str, str] | None, picture: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Show what each strategy would do about a collective call, and which one the rule chooses.

    The call is described, or taken from a report. Unisono's own code does it, with threads as ranks and no storage:
    rounds, messages, bytes and requests are counted. Times are not known.

    \b
    unisono explain --pattern strided --piece 4K --ranks 8 --nodes 2 --layout stripe_bytes=64K,servers=4
    """
    if pattern == "help":
        _list_patterns()
        return
    if report_file is not None:
        call = explain.from_report(schema.read_records(report_file))
    else:
        call = explain.described(pattern, piece, bytes=all_bytes, ranks=ranks, nodes=nodes, layout=layout,
                                 storage=storage)  # fmt: skip
        call.words += ["--read"] * read
    for hint in hints:
        call.words += ["--hint", hint]
    console = terminal.console(sys.stdout)
    answer = explain.explanation(call, max(console.width - explain_screen.LABEL_WIDTH - 2, 8), part)
    if picture is not None:
        explain_picture.draw(explain.explanation(call, explain.COLUMNS_MOST, part), only, Path(picture))
    if as_json:
        click.echo(json.dumps(answer | {"estimated": call.guesses}, indent=2))
    else:
        explain_screen.show(answer, call.guesses, only, console)


def _list_patterns() -> None:
    table = terminal.table("name", "what it is", "piece unless said")
    for entry in explain.patterns():
        table.add_row(entry.name, escape(entry.summary), entry.piece)
    terminal.console(sys.stdout).print(table)
