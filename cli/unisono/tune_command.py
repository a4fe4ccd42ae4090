"""`unisono tune ...`: what measuring has taught, and what becomes of it."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

from . import groups, terminal
from . import tune as records
from .places import Failure
from .report import counted, human_bytes

_WIDTH_WITHOUT_TERMINAL = 140


def _console() -> Console:
    return terminal.console(sys.stdout, _WIDTH_WITHOUT_TERMINAL)


@click.group("tune", cls=groups.Group, short_help="Look at what was learnt in earlier runs, or forget it.")
def tune() -> None:
    """What earlier runs have taught: which strategy is fastest (UNISONO_SELECT=measured), and what files took."""


_IDS = click.argument("ids", nargs=-1, metavar="[ID]...")


def _command(name: str) -> Callable[[Callable[..., None]], click.Command]:
    def decorate(function: Callable[..., None]) -> click.Command:
        option = click.option("--file", "path", metavar="FILE", type=click.Path(path_type=Path),
                              help="Instead of UNISONO_TUNE or the user's own.")  # fmt: skip
        return tune.command(name)(option(function))

    return decorate


def _read(path: Path | None) -> records.TuneFile:
    return records.read(path or records.default_path())


def _day(seconds: int) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def _note_frozen(file: records.TuneFile) -> None:
    if file.frozen:
        click.echo("Frozen: nothing is tried or learnt.")


@_command("list")
def list_command(path: Path | None) -> None:
    """List the records, the most recent first."""
    file = _read(path)
    _note_frozen(file)
    if not file.records:
        click.echo(f"Nothing was learnt yet: {file.path}")
        return
    table = terminal.table("id", "calls", "ranks", "storage", "fastest", "speed", "updated", "")
    for record in sorted(file.records, key=lambda one: -one["updated"]):
        winner = records.winner_of(record)
        speed = record["candidates"][winner]["bytes_per_second"] if winner else 0
        table.add_row(
            records.id_of(record), records.calls_of(record),
            f"{record['ranks']} on {record['nodes']}", escape(record["storage"]), escape(winner),
            f"{human_bytes(speed)}/s", _day(record["updated"]),
            "frozen" if record["frozen"] else "",
        )  # fmt: skip
    _console().print(table)


@_command("history")
def history_command(path: Path | None) -> None:
    """List how fast files were in earlier runs, the most recent first.

    Reports say so where a file is clearly slower than those. Runs are known whose reports were asked for."""
    file = _read(path)
    if not file.histories:
        click.echo(f"No run was noted yet: {file.path}")
        return
    table = terminal.table("files", "program", "ranks", "storage", "runs", "speed", "of the last", "updated")
    for history in sorted(file.histories, key=lambda one: -one["updated"]):
        speeds = [run["bytes"] / run["seconds"] for run in history["runs"] if run["seconds"] > 0]
        table.add_row(
            escape(history["files"]), escape(history["program"]), f"{history['ranks']} on {history['nodes']}",
            escape(history["storage"]), str(len(speeds)), f"{human_bytes(statistics.median(speeds))}/s",
            f"{human_bytes(speeds[-1])}/s", _day(history["updated"]),
        )  # fmt: skip
    _console().print(table)


def _show(record: records.TuningRecord, console: Console) -> None:
    frozen = ", frozen" if record["frozen"] else ""
    console.print(f"{records.id_of(record)}{frozen}", style="bold", highlight=False)
    for text in (
        f"{records.calls_of(record)}, {counted(record['ranks'], 'rank')} on"
        f" {counted(record['nodes'], 'node')}",
        record["storage"], record["machine"], record["software"],
    ):  # fmt: skip
        console.print(f"  {escape(text)}", highlight=False, soft_wrap=not console.is_terminal)
    table = terminal.table("candidate", "calls", "speed", "deviation", "of the fastest")
    scores = sorted(record["candidates"].items(), key=lambda item: -item[1]["bytes_per_second"])
    for name, score in scores:
        share = score["bytes_per_second"] / scores[0][1]["bytes_per_second"]
        table.add_row(
            escape(name), str(score["calls"]), f"{human_bytes(score['bytes_per_second'])}/s",
            f"{score['deviation']:.0%}" if score["calls"] > 1 else "", f"{share:.0%}",
        )  # fmt: skip
    console.print(table)


@_command("show")
@_IDS
def show_command(ids: tuple[str, ...], path: Path | None) -> None:
    """Show candidates and speeds of some records, or of all."""
    file = _read(path)
    _note_frozen(file)
    for record in file.chosen(ids) if ids else file.records:
        _show(record, _console())


@_command("forget")
@_IDS
@click.option("--all", "everything", is_flag=True, help="Everything; also a damaged file.")
def forget_command(ids: tuple[str, ...], path: Path | None, everything: bool) -> None:
    """Forget some records, or all."""
    if bool(ids) == everything:
        raise Failure("name records, or give --all")
    if everything:
        file = path or records.default_path()
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            raise Failure(f"{file}: {error.strerror}") from error
        return
    kept = _read(path)
    gone = [records.id_of(record) for record in kept.chosen(ids)]
    kept.records = [record for record in kept.records if records.id_of(record) not in gone]
    records.write(kept)


@_command("export")
@click.argument("target", metavar="TARGET", type=click.Path(path_type=Path))
@_IDS
def export_command(target: Path, ids: tuple[str, ...], path: Path | None) -> None:
    """Write some records, or all, to another file; - is standard output."""
    file = _read(path)
    chosen = records.TuneFile(target, False, file.chosen(ids) if ids else file.records)
    if str(target) == "-":
        click.echo(records.text_of(chosen), nl=False)
    else:
        records.write(chosen)


@_command("import")
@click.argument("source", metavar="SOURCE", type=click.Path(path_type=Path, dir_okay=False))
def import_command(source: Path, path: Path | None) -> None:
    """Add another file's records; of two about the same the more recent one stays."""
    file = _read(path)
    others = records.read(source, must_exist=True).records
    taken = records.take_in(file, others)
    records.write(file)
    click.echo(f"{taken:,} of {counted(len(others), 'record')} {'was' if taken == 1 else 'were'} new or more recent.")


def _set_frozen(ids: tuple[str, ...], path: Path | None, frozen: bool) -> None:
    file = _read(path)
    if not ids:
        file.frozen = frozen
    for record in file.chosen(ids):
        record["frozen"] = frozen
    records.write(file)


@_command("freeze")
@_IDS
def freeze_command(ids: tuple[str, ...], path: Path | None) -> None:
    """Use what is known and try nothing, for some records or for all calls."""
    _set_frozen(ids, path, True)


@_command("unfreeze")
@_IDS
def unfreeze_command(ids: tuple[str, ...], path: Path | None) -> None:
    """Take 'freeze' back."""
    _set_frozen(ids, path, False)
