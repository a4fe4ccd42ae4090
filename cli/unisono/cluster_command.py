"""`unisono cluster ...`: pocket clusters."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from . import cluster as clusters
from . import groups, run, terminal
from .preload import Job
from .report import counted, human_bytes

_NAME = click.option("--name", metavar="NAME", default=clusters.DEFAULT_NAME, show_default=True,
                     help="Which one, where there are several.")  # fmt: skip
# The first word that is no option of ours begins the command.
_PASS_ON = {"allow_interspersed_args": False, "ignore_unknown_options": True}


@click.group("cluster", cls=groups.Group, short_help="Nodes on one machine, emulated, for MPI programs.")
def cluster() -> None:
    """Nodes on one machine, with host names and shaped links, for MPI programs. Needs root."""


@cluster.command("up")
@_NAME
@click.option("--nodes", metavar="N", type=int, default=4, show_default=True, help="How many there are.")
@click.option("--rate", metavar="RATE", default="1gbit", show_default=True,
              help="Of each node's link, in each direction.")  # fmt: skip
@click.option("--latency-us", metavar="US", type=click.IntRange(0), default=0, show_default=True,
              help="From node to node, on top of what this machine takes.")  # fmt: skip
@click.option("--limit", "limit_s", metavar="SECONDS", type=click.IntRange(1), default=600,
              show_default=True, help="No launch of an MPI program lives longer.")  # fmt: skip
def up_command(**wishes: Any) -> None:
    """Make a pocket cluster; returns when it can be used."""
    made = clusters.up(**wishes)
    which = "" if made.name == clusters.DEFAULT_NAME else f"--name {made.name} "
    click.echo(f"{counted(len(made.nodes), 'node')}, {made.nodes[0].host} to {made.nodes[-1].host};"
               f" 'unisono cluster run {which}-- mpiexec -n 8 ./app' runs on them")  # fmt: skip


@cluster.command("down")
@_NAME
def down_command(name: str) -> None:
    """Remove a pocket cluster, or what is left of it, and end what runs on its nodes."""
    if not clusters.down(name):
        click.echo(f"unisono: nothing to do: no cluster '{name}'", err=True)


@cluster.command("status")
@click.option("--json", "as_json", is_flag=True, help="As JSON, for programs.")
def status_command(as_json: bool) -> None:
    """List the clusters that are up, with each node's traffic."""
    clusters.require_root()  # others see neither all of a node nor its processes
    described = [_describe(clusters.find(name)) for name in clusters.names()]
    if as_json:
        click.echo(json.dumps(described, indent=2))
    elif not described:
        click.echo("no cluster is up")
    for one in [] if as_json else described:
        _print(one)


def _describe(one: clusters.Cluster) -> dict[str, Any]:
    nodes = []
    for number, (node, traffic) in enumerate(zip(one.nodes, one.traffic())):
        missing = one.missing(number)
        nodes.append({
            "host": node.host,
            "address": node.address,
            "namespace": node.namespace,
            "processes": 0 if missing else len(one.processes(number)),
            "sent_bytes": traffic.sent,
            "received_bytes": traffic.received,
            "missing": missing,
        })  # fmt: skip
    return {"name": one.name, "rate_bits": one.link.rate_bits, "latency_us": one.link.latency_us,
            "limit_s": one.limit_s, "bridge": one.bridge, "network": one.network,
            "launchers": str(one.launchers), "nodes": nodes}  # fmt: skip


def _print(one: dict[str, Any]) -> None:
    table = terminal.table("node", "address", "processes", "sent", "received", "state",
                           title=f"{one['name']} (emulated): {one['rate_bits'] / 1e9:g} Gbit/s,"
                                 f" {one['latency_us']} us; launchers in {one['launchers']}")  # fmt: skip
    for node in one["nodes"]:
        table.add_row(node["host"], node["address"], str(node["processes"]),
                      human_bytes(node["sent_bytes"]), human_bytes(node["received_bytes"]),
                      f"{node['missing']}; 'down' cleans up" if node["missing"] else "up")  # fmt: skip
    terminal.show(table)


@cluster.command("run", context_settings=_PASS_ON)
@_NAME
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run_command(name: str, command: tuple[str, ...]) -> None:
    """Run a command on this machine whose MPI launchers start their ranks on the nodes.

    \b
    unisono cluster run -- mpiexec -n 8 ./app
    unisono cluster run -- unisono run --report -- mpiexec -n 8 ./app
    """
    clusters.require_root()
    os.environ.update(clusters.find(name).environment())
    run.replace_this_process(Job(list(command), mpi=""))


@cluster.command("launch", context_settings=_PASS_ON, hidden=True)
@click.argument("name")
@click.argument("launcher")
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def launch_command(name: str, launcher: str, words: tuple[str, ...]) -> None:
    """What the cluster's launchers are."""
    command = clusters.find(name).launch_command(launcher, list(words))
    run.replace_this_process(Job(command, mpi=""))
