"""`unisono orchestra ...`: programs take turns at data servers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from . import keys
from . import orchestra as orchestrators
from .places import Failure

_WIDTH_WITHOUT_TERMINAL = 120
_MOUNTPOINT = click.argument("mountpoint", required=False)


def _print(table: Table) -> None:
    width = None if sys.stdout.isatty() else _WIDTH_WITHOUT_TERMINAL
    Console(width=width).print(table)


@click.group("orchestra")
def orchestra() -> None:
    """Let programs that share data servers take turns when that pays.

    MOUNTPOINT is that of a pocket file system; it may be left out if there is only one.
    """


@orchestra.command("up")
@_MOUNTPOINT
@click.option("--policy", metavar="NAME", default="default", help="See 'unisono orchestra policies'.")
@click.option("--gate", type=click.Choice(["servers"]), default="servers",
              help="Where requests are held.")  # fmt: skip
@click.option("--window-ms", metavar="W", help="Length of a scheduling window.")
@click.option("--lease-ms", metavar="L",
              help="So long after the orchestrator's death everyone is served again (1000).")  # fmt: skip
@click.option("--seek-profile", metavar="NAME",
              help="What a seek takes, for policies that ask: 7200rpm, none or a file (7200rpm).")  # fmt: skip
def up_command(mountpoint: str | None, policy: str, gate: str, **given: str | None) -> None:
    """Start an orchestrator; returns when it has decided for the first time."""
    del gate  # there is one kind so far
    options = ["--policy", policy]
    for name, value in given.items():
        if value is not None:
            options += [f"--{name.replace('_', '-')}", value]
    orchestrators.up(orchestrators.mount_for(mountpoint), options)


@orchestra.command("down")
@_MOUNTPOINT
def down_command(mountpoint: str | None) -> None:
    """End it; everyone is served again at once."""
    mount = orchestrators.mount_for(mountpoint)
    if not orchestrators.down(mount):
        click.echo(f"unisono: nothing to do: no orchestrator at {mount.mountpoint}", err=True)


@orchestra.command("policies")
def policies_command() -> None:
    """List the policies."""
    table = Table("name", "what it does", "source")
    for entry in orchestrators.policies():
        table.add_row(escape(entry.name), escape(entry.summary), escape(entry.source))
    _print(table)


@orchestra.command("key")
@click.argument("file", type=click.Path(path_type=Path))
def key_command(file: Path) -> None:
    """Make a key for daemons on several nodes, where MUNGE is not installed.

    Copy it to each node; it must stay readable for its owner only.
    """
    keys.make(file)


@orchestra.command("status")
@_MOUNTPOINT
@click.option("--json", "as_json", is_flag=True, help="As JSON, for programs.")
def status_command(mountpoint: str | None, as_json: bool) -> None:
    """Show programs, who is eligible and why not, slices, efficiency and fairness."""
    mount = orchestrators.mount_for(mountpoint)
    state = orchestrators.state(mount)
    if state is None:
        raise Failure(f"no orchestrator is at work at {mount.mountpoint}")
    if as_json:
        click.echo(json.dumps(state, indent=2))
    else:
        _show(state)


def _show(state: dict[str, Any]) -> None:
    table = Table("program", "turns", "slice ms", "MB/s", "slowdown", "held", "why")
    slices = {name: entry["slice_ms"] for entry in state["objects"] for name in entry["programs"]}
    pool = next((e["slice_ms"] for e in state["objects"] if not e["programs"]), None)
    for row in state["programs"]:
        slice_ms = slices.get(row["id"], pool)
        turns = "everyone's" if slice_ms is None else "own" if row["id"] in slices else "the pool's"
        table.add_row(escape(row["id"]), turns, f"{slice_ms:.0f}" if slice_ms else "",
                      f"{row['mb_s']:.1f}", f"{row['slowdown']:.2f}" if row["slowdown"] else "?",
                      f"{row['held']:.0f}", escape(row["why"]))  # fmt: skip
    if table.row_count:
        _print(table)
    else:
        click.echo("no program wants anything")
    shares = ", ".join(f"{share:.0%}" if share else "?" for share in state["efficiency"])
    click.echo(f"policy {state['policy']}, window {state['window_ms']:.0f} ms,"
               f" lease {state['lease_ms']:.0f} ms\n"
               f"together {state['mb_s']:.1f} MB/s; efficiency of the servers: {shares}\n"
               f"Jain's index of the {state['fairness_of']}: {state['fairness']:.3f}")  # fmt: skip


@orchestra.command("timeline")
@_MOUNTPOINT
@click.option("--picture", metavar="FILE", type=click.Path(dir_okay=False), required=True,
              help="Where to draw it (.png, .svg, .pdf).")  # fmt: skip
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), default=3, show_default=True,
              help="How much of the end of the trace.")  # fmt: skip
def timeline_command(mountpoint: str | None, picture: str, seconds: float) -> None:
    """Draw whose turn it was, over what was accessed on each server's disk."""
    orchestrators.draw(orchestrators.mount_for(mountpoint), Path(picture), seconds)
