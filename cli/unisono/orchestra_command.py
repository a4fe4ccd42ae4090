"""`unisono orchestra ...`: programs take turns at data servers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from . import groups, keys, ranges, terminal
from . import orchestra as orchestrators
from .places import Failure

_PLACE = click.argument("place", required=False)


@click.group("orchestra", cls=groups.Group, short_help="Let programs take turns at shared data servers.")
def orchestra() -> None:
    """Let programs that share data servers take turns when that pays.

    PLACE is the mountpoint of a pocket file system, which may be left out if there is only one; or,
    with the gate in the clients, anything on the file system that is meant.
    """


def _name_or_file(_context: Any, _option: Any, value: str | None) -> str | None:
    """Daemons leave the folder that a file's name may start from."""
    return str(Path(value).resolve()) if value and Path(value).is_file() else value


def _whole(_context: Any, _option: Any, file: str | None) -> str | None:
    """Daemons may work elsewhere. A link stays one: they refuse it."""
    return os.path.abspath(file) if file else file


@orchestra.command("up")
@_PLACE
@click.option("--policy", metavar="NAME", default="default", help="See 'unisono orchestra policies'.")
@click.option("--gate", "where", type=click.Choice(["servers", "clients"]), default="servers",
              help="Where requests are held: by the pocket file system's servers, or by Unisono in"
                   " the programs, on any file system.")  # fmt: skip
@click.option("--listen", metavar="ADDRESS",
              help="Where node daemons of other nodes find it: tcp:HOST:PORT (--gate clients).")  # fmt: skip
@click.option("--key-file", metavar="FILE", callback=_whole,
              help="Shared with them; --listen tcp:... needs one.")  # fmt: skip
@click.option("--window-ms", metavar="W", help="Length of a scheduling window.")
@click.option("--lease-ms", metavar="L",
              help="So long after the orchestrator's death everyone is served again (1000).")  # fmt: skip
@click.option("--seek-profile", metavar="NAME", callback=_name_or_file,
              help="What a seek takes, for policies that ask: 7200rpm, none or a file (7200rpm).")  # fmt: skip
def up_command(place: str | None, policy: str, where: str, **given: str | None) -> None:
    """Start an orchestrator; returns when it has decided for the first time."""
    if where == "servers" and (given["listen"] or given["key_file"]):
        raise Failure("--listen and --key-file are for --gate clients")
    if where == "clients" and place is None:
        raise Failure("--gate clients needs a place on the file system")
    options = ["--policy", policy]
    for name, value in given.items():
        if value is not None:
            options += [f"--{name.replace('_', '-')}", value]
    orchestrators.up(
        orchestrators.gate_in_clients(place) if where == "clients" and place is not None
        else orchestrators.gate_in_servers(orchestrators.mount_for(place)), options)  # fmt: skip


@orchestra.command("join")
@click.argument("address")
@click.argument("place")
@click.option("--key-file", metavar="FILE", callback=_whole,
              help="Shared with the orchestrator; tcp:... needs one.")  # fmt: skip
def join_command(address: str, place: str, key_file: str | None) -> None:
    """Start a node daemon on another node, for an orchestrator that listens at ADDRESS (tcp:HOST:PORT)."""
    options = ["--key-file", key_file] if key_file else []
    orchestrators.join(orchestrators.gate_in_clients(place), address, options)


@orchestra.command("down")
@_PLACE
def down_command(place: str | None) -> None:
    """End an orchestrator and its node daemons; everyone is served again at once."""
    gate = orchestrators.gate_at(place)
    if not orchestrators.down(gate):
        click.echo(f"unisono: nothing to do: no orchestrator at {gate.path}", err=True)


@orchestra.command("policies")
def policies_command() -> None:
    """List the policies."""
    terminal.show(terminal.listing(orchestrators.policies()))


@orchestra.command("key")
@click.argument("file", type=click.Path(path_type=Path))
def key_command(file: Path) -> None:
    """Make a key for daemons on several nodes.

    Copy it to each node; it must stay readable for its owner only.
    """
    keys.make(file)


@orchestra.command("status")
@_PLACE
@click.option("--json", "as_json", is_flag=True, help="As JSON, for programs.")
def status_command(place: str | None, as_json: bool) -> None:
    """Show programs, who is eligible and why not, slices, efficiency and fairness."""
    gate = orchestrators.gate_at(place)
    state = orchestrators.state(gate)
    if state is None:
        raise Failure(f"no orchestrator is at work at {gate.path}")
    if as_json:
        click.echo(json.dumps(state, indent=2))
    else:
        _show(state)


def _show(state: dict[str, Any]) -> None:
    table = terminal.table("program", "turns", "slice ms", "MB/s", "slowdown", "held", "why")
    slices = {name: entry["slice_ms"] for entry in state["objects"] for name in entry["programs"]}
    pool = next((e["slice_ms"] for e in state["objects"] if not e["programs"]), None)
    for row in state["programs"]:
        slice_ms = slices.get(row["id"], pool)
        turns = "everyone's" if slice_ms is None else "own" if row["id"] in slices else "the pool's"
        table.add_row(escape(row["id"]), turns, f"{slice_ms:.0f}" if slice_ms else "",
                      f"{row['mb_s']:.1f}", f"{row['slowdown']:.2f}" if row["slowdown"] else "?",
                      f"{row['held']:.0f}", escape(row["why"]))  # fmt: skip
    if table.row_count:
        terminal.show(table)
    else:
        click.echo("no program wants anything")
    shares = ", ".join(f"{share:.0%}" if share else "?" for share in state["efficiency"]) or "?"
    click.echo(f"policy {state['policy']}, window {state['window_ms']:.0f} ms,"
               f" lease {state['lease_ms']:.0f} ms; gate in the {_where(state)}\n"
               f"together {state['mb_s']:.1f} MB/s; efficiency of the servers: {shares}\n"
               f"Jain's index of the {state['fairness_of']}: {state['fairness']:.3f}")  # fmt: skip


def _where(state: dict[str, Any]) -> str:
    if state["gate"] == "servers":
        return "servers"
    known = {"": "places not known", "fiemap": "places on the disk are known",
             "layout": "places from the layout", "offsets": "places from file offsets"}
    locality = known.get(state["locality"], f"places from {state['locality']}")
    return f"clients on {', '.join(state['nodes']) or 'no node'} ({locality})"


@orchestra.command("timeline")
@_PLACE
@click.option("--picture", metavar="FILE", type=click.Path(dir_okay=False), required=True,
              help="Where to draw it (.png, .svg, .pdf).")  # fmt: skip
@click.option("--seconds", type=ranges.SECONDS, default=3, show_default=True,
              help="How much of the end of the trace.")  # fmt: skip
def timeline_command(place: str | None, picture: str, seconds: float) -> None:
    """Draw whose turn it was, over what was accessed on each server's disk."""
    if orchestrators.gate_at(place).where == "clients":
        raise Failure("there is a timeline for gates in the servers only; 'status --json' has the last turns")
    orchestrators.draw(orchestrators.mount_for(place), Path(picture), seconds)
