"""`unisono pocket ...`: pocket parallel file systems."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from . import pocket as file_systems
from . import completion, groups, terminal, trace_picture
from .places import Failure
from .ranges import Within
from .report import counted, human_bytes


@click.group("pocket", cls=groups.Group, short_help="Parallel file systems on one machine, emulated.")
def pocket() -> None:
    """Parallel file systems in a folder, with emulated servers, disks and links."""


# Handed on to unisono-pocketfs, which checks them.
_HANDED_ON = {
    "servers": ("N", "Data servers (4)."),
    "stripe-bytes": ("SIZE", "Stripe unit of new files (64K)."),
    "stripe-servers": ("N", "Servers of a new file (all)."),
    "chunk-bytes": ("SIZE", "A file's place on a disk grows by so much (64M)."),
    "distance-bytes": ("SIZE", "On each disk, from one new file's beginning to the next."),
    "page-cache-bytes": ("SIZE", "Memory of each server, instead of the profile's."),
    "scheduler": ("NAME", "none, deadline, cfq or bfq (none)."),
    "context": ("NAME", "What cfq and bfq take for a process: request, process, file or client (process)."),
    "node": ("NAME", "Who shares a client's link: process (nobody), namespace or cluster (process)."),
    "jitter-us": ("US", "Requests arrive late by up to so much (0)."),
    "seed": ("N", "Of the jitter (0)."),
}


def _handed_on_options(function: Any) -> Any:
    for name, (metavar, text) in reversed(_HANDED_ON.items()):
        function = click.option(f"--{name}", metavar=metavar, help=text)(function)
    return function


@pocket.command("up")
@click.argument("mountpoint")
@click.option("--backing", metavar="DIR", required=True, help="Where the bytes are.")
@click.option("--profile", metavar="NAME", required=True,
              shell_complete=completion.one_of(file_systems.profile_names),
              help="What to emulate: see 'unisono pocket profiles'; off: nothing.")  # fmt: skip
@click.option("--power-cuts", is_flag=True,
              help="Keep what files held when they were last synced, for 'power-cut'.")  # fmt: skip
@_handed_on_options
def up_command(
    mountpoint: str, backing: str, profile: str, power_cuts: bool, **given: str | None
) -> None:
    """Mount a pocket file system; returns when it can be used."""
    options = ["--power-cuts"] if power_cuts else []
    for name, value in given.items():
        if value is not None:
            options += [f"--{name.replace('_', '-')}", value]
    file_systems.up(mountpoint, backing, profile, options)


@pocket.command("down")
@click.argument("mountpoint")
def down_command(mountpoint: str) -> None:
    """Unmount a pocket file system and end its daemon, whatever state they are in."""
    if not file_systems.down(mountpoint):
        click.echo(f"unisono: nothing to do: no pocket file system at {mountpoint}", err=True)


@pocket.command("status")
def status_command() -> None:
    """List the pocket file systems that are mounted."""
    table = terminal.table("mountpoint", "backing", "profile", "servers", "stripe", "daemon", "state")
    for mount in file_systems.mounts():
        record = mount.record
        stripe = human_bytes(record["stripe_bytes"]) if "stripe_bytes" in record else ""
        cells = [mount.mountpoint, mount.backing, mount.profile, str(record.get("servers", "")),
                 stripe, str(mount.pid or ""), file_systems.state(mount)]  # fmt: skip
        table.add_row(*(escape(cell) for cell in cells))
    if table.row_count:
        terminal.show(table)
    else:
        click.echo("no pocket file system is mounted")


_ROWS = {
    "reads": "reads",
    "writes": "writes",
    "flushes": "flushes",
    "read_bytes": "bytes read",
    "written_bytes": "bytes written",
    "ascending_share": "in ascending order",
    "queue_depth_mean": "queue depth, mean",
    "queue_depth_max": "queue depth, most",
    "cache_hits": "from the server's memory",
    "block_requests": "block requests",
    "drive_cache_hits": "from the drive's cache",
    "media_accesses": "accesses to the medium",
    "seeks": "seeks",
    "positioning_ms": "seeking and turning, ms",
}


def _cell(name: str, value: float) -> str:
    if name.endswith("_bytes"):
        return human_bytes(value)
    if name.endswith("_share"):
        return f"{value:.0%}"
    return f"{value:.1f}" if isinstance(value, float) else str(value)


@pocket.command("stats")
@click.argument("mountpoint")
@click.option("--json", "as_json", is_flag=True, help="As JSON, for programs.")
@click.option("--reset", is_flag=True, help="Begin anew after showing.")
def stats_command(mountpoint: str, as_json: bool, reset: bool) -> None:
    """Show what each server did, and how late the emulation was."""
    mount = file_systems.mount_at(mountpoint)
    values = file_systems.statistics(mount)
    if as_json:
        click.echo(json.dumps(values, indent=2))
    elif values["emulated"]:
        servers = values["servers"]
        table = terminal.table("(emulated)", *(f"server {number}" for number in range(len(servers))))
        for name, label in _ROWS.items():
            table.add_row(label, *(_cell(name, server[name]) for server in servers))
        terminal.show(table)
        late = values["lateness_us"]
        click.echo(f"lateness of {counted(late['requests'], 'request')}: median {late['median']} us,"
                   f" 99 % {late['p99']} us, longest {late['longest']} us")  # fmt: skip
    else:
        click.echo("nothing is emulated here")
    if reset:
        file_systems.reset(mount)


@pocket.command("trace")
@click.argument("mountpoint")
@click.option("--output", metavar="FILE", type=click.Path(dir_okay=False),
              help="Write the whole trace as CSV instead of its end to the terminal.")  # fmt: skip
@click.option("--picture", metavar="FILE", type=click.Path(dir_okay=False),
              help="Draw LBA over time for each server (.png, .svg, .pdf).")  # fmt: skip
def trace_command(mountpoint: str, output: str | None, picture: str | None) -> None:
    """Show the requests as they came to the servers: time, server, LBA, length, program."""
    mount = file_systems.mount_at(mountpoint)
    file = file_systems.trace(mount)
    if output is not None:
        try:
            shutil.copyfile(file, output)
        except OSError as error:
            raise Failure(f"{output}: {error.strerror}") from error
    if picture is not None:
        accesses = trace_picture.accesses_of(list(file_systems.trace_entries(file)))
        trace_picture.draw(accesses, Path(picture), f"{mount.profile} (emulated)",
                           program_of=lambda entry: f"{entry.program} {entry.process}")  # fmt: skip
    if output is None and picture is None:
        _print_end(list(file_systems.trace_entries(file)))


def _print_end(entries: list[file_systems.TraceEntry], count: int = 40) -> None:
    table = terminal.table("ms", "server", "LBA", "bytes", "", "program")
    for entry in entries[-count:]:
        table.add_row(f"{(entry.time_us - entries[0].time_us) / 1e3:.3f}", str(entry.server),
                      str(entry.lba), str(entry.bytes), entry.operation,
                      escape(f"{entry.program} {entry.process}"))  # fmt: skip
    terminal.show(table)
    if len(entries) > count:
        click.echo(f"the last {count} of {len(entries):,} requests; --output has all")


_COUNT = click.IntRange(0, 2**63 - 1)


@pocket.command("fault")
@click.argument("mountpoint")
@click.option("--eio", nargs=3, type=(str, _COUNT, _COUNT), metavar="PATH BEGIN END",
              help="Accesses to these bytes of a file fail. PATH is full, or one below the mountpoint.")  # fmt: skip
@click.option("--enospc", type=_COUNT, metavar="BYTES", help="No file grows beyond so many bytes.")
@click.option("--slow", nargs=2, type=(_COUNT, Within(1, 1e6)), metavar="SERVER FACTOR",
              help="Its requests take so many times as long.")  # fmt: skip
@click.option("--hang", nargs=2, type=(_COUNT, Within(0, 1e9)), metavar="SERVER SECONDS",
              help="It answers nothing for so long.")  # fmt: skip
@click.option("--down", type=_COUNT, metavar="SERVER", help="Its requests fail.")
@click.option("--clear", is_flag=True, help="Everything works again.")
def fault_command(
    mountpoint: str,
    eio: tuple[str, int, int] | None,
    enospc: int | None,
    slow: tuple[int, float] | None,
    hang: tuple[int, float] | None,
    down: int | None,
    clear: bool,
) -> None:
    """Let something go wrong from now on."""
    mount = file_systems.mount_at(mountpoint)
    faults: list[dict[str, Any]] = []
    if clear:
        faults.append({"kind": "clear"})
    if eio is not None:
        path, begin, end = eio
        if begin >= end:
            raise Failure(f"--eio: BEGIN {begin} is not below END {end}")
        faults.append({"kind": "eio", "path": file_systems.path_within(mount, path),
                       "begin": begin, "end": end})  # fmt: skip
    if enospc is not None:
        faults.append({"kind": "enospc", "bytes": enospc})
    if slow is not None:
        faults.append({"kind": "slow", "server": slow[0], "factor": slow[1]})
    if hang is not None:
        faults.append({"kind": "hang", "server": hang[0], "seconds": hang[1]})
    if down is not None:
        faults.append({"kind": "down", "server": down})
    if not faults:
        raise Failure("say what is to go wrong; see 'unisono pocket fault --help'")
    for fault in faults:
        file_systems.fault(mount, fault)


@pocket.command("power-cut")
@click.argument("mountpoint")
def power_cut_command(mountpoint: str) -> None:
    """Let all that was not synced be gone. It must be mounted with --power-cuts."""
    file_systems.power_cut(file_systems.mount_at(mountpoint))


@pocket.command("drop-caches")
@click.argument("mountpoint")
def drop_caches_command(mountpoint: str) -> None:
    """Let servers and drives forget what they have read, as before each run of the papers."""
    file_systems.drop_caches(file_systems.mount_at(mountpoint))


@pocket.command("profiles")
@click.argument("name", required=False, shell_complete=completion.one_of(file_systems.profile_names))
def profiles_command(name: str | None) -> None:
    """List the profiles, or the figures of one with their sources."""
    if name is None:
        table = terminal.table("name", "what it is")
        table.add_row("off", "nothing is emulated")
        for known in file_systems.profile_names():
            table.add_row(known, escape(_read_profile(known)["summary"]))
        terminal.show(table)
        return
    if name == "off":
        click.echo("nothing is emulated")
        return
    table = terminal.table("figure", "value", "source")
    for section, figures in _read_profile(name).items():
        if isinstance(figures, dict):
            for key, figure in figures.items():
                if isinstance(figure, dict):
                    value = figure["value"]
                    table.add_row(f"{section}.{key}", value if isinstance(value, str) else f"{value:,}",
                                  escape(figure["source"]))  # fmt: skip
    terminal.show(table)


def _read_profile(name: str) -> dict[str, Any]:
    file = file_systems.profile_file(name)
    assert file is not None
    try:
        profile = json.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise Failure(f"{file}: {error}") from error
    sections = profile.values() if isinstance(profile, dict) else []
    figures = [figure for section in sections if isinstance(section, dict)
               for figure in section.values() if isinstance(figure, dict)]  # fmt: skip
    if not figures or not all({"value", "source"} <= figure.keys() for figure in figures):
        raise Failure(f"{file}: is no profile: figures have a value and a source")
    return profile
