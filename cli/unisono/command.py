"""The command line."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from . import (
    bench, completion, doctor, ending, file_report, groups, job, outputs, places, preload, report, reports, run, schema,
    screen, settings, terminal, timeline,
)  # fmt: skip
from .cluster_command import cluster
from .compare_command import compare
from .explain_command import explain_command
from .orchestra_command import orchestra
from .places import Failure
from .pocket_command import pocket
from .replay_command import replay_command
from .tune_command import tune
from .version import VERSION


# As a newcomer needs them; others follow by name.
_ORDER = ("run", "report", "doctor", "compare", "replay", "explain", "strategies", "env", "tune", "bench")


class _Group(groups.Group):
    """Turns what the user can act on into one line and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        others = [name for name in super().list_commands(ctx) if name not in _ORDER]
        return [*_ORDER, *others]

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except Failure as failure:
            click.echo(terminal.visible(f"unisono: {failure}"), err=True)
            sys.exit(failure.exit_code)
        except run.Interrupted as interrupted:
            click.echo("unisono: interrupted", err=True)
            sys.exit(128 + interrupted.number)
        except subprocess.TimeoutExpired as late:
            click.echo(f"unisono: {late.cmd[0]} did not end within {late.timeout:g} s", err=True)
            sys.exit(1)

    def main(self, *arguments: Any, **more: Any) -> Any:
        terminal.replace_closed_streams()
        terminal.let_names_pass()
        try:
            return super().main(*arguments, **more)
        except OSError as error:
            with terminal.read_or_not():
                click.echo(f"unisono: {places.said_of(error)}", err=True)
            terminal.give_up(sys.stdout)
            sys.exit(1)


def _tell_version(context: click.Context, _parameter: click.Parameter, asked: bool) -> None:
    if not asked or context.resilient_parsing:
        return
    click.echo(f"unisono {VERSION}\nin {places.PREFIX}\nfor {', '.join(places.engines()) or 'no MPI: none was built'}")
    context.exit()


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-V", "--version", is_flag=True, expose_value=False, is_eager=True, callback=_tell_version,
              help="Show the version, where it is and for which MPIs.")  # fmt: skip
def main() -> None:
    """Collective I/O for MPI programs, without changing them.

    \b
    unisono doctor -- mpiexec -n 2 ./app         what is in the way here?
    unisono run --report -- mpiexec -n 4 ./app   what does its I/O take, and why?
    unisono compare -- mpiexec -n 4 ./app        is it faster, and the same?
    """


main.add_command(cluster)
main.add_command(compare)
main.add_command(explain_command)
main.add_command(pocket)
main.add_command(orchestra)
main.add_command(replay_command)
main.add_command(tune)


@main.command("help", options_metavar="")
@click.argument("words", metavar="[COMMAND]...", nargs=-1, shell_complete=completion.one_of(lambda: main.commands))
@click.pass_context
def help_command(context: click.Context, words: tuple[str, ...]) -> None:
    """Show what a command does, as its --help.

    \b
    unisono help tune list
    """
    assert context.parent is not None, "it is a command of unisono's"
    click.echo(groups.context_of(words, context.parent).get_help())


@main.command("run", context_settings=settings.PASS_ON)
@click.option("--report", "show_report", is_flag=True, help="Say at the end what was done and why.")
@click.option("--files", is_flag=True, help="With --report, also all numbers of each file.")
@outputs.options
@outputs.record_option
@settings.STRATEGY
@settings.options
def run_command(
    command: tuple[str, ...], show_report: bool, files: bool, html: str | None, json_file: str | None,
    trace: str | None, recording: str | None, mpi: str | None, **choices: str | None,
) -> None:  # fmt: skip
    """Run an MPI program under Unisono.

    \b
    unisono run -- mpiexec -n 4 ./app

    The exit code is the program's; where that is 0, 1 if a file of --html, --json, --trace or --record could not be
    written.
    """
    variables = settings.variables(**choices)
    wanted = outputs.Outputs(html, json_file, trace, recording)
    wanted.refuse_clashes(*filter(None, [variables.get("UNISONO_REPORT_FILE")]))
    if show_report or files or wanted.any:
        shown = _Shown(show_report or files, files, wanted)
        sys.exit(_run_with_report(list(command), variables, mpi, shown))
    prepared = _prepare(list(command), variables, mpi)
    if prepared.temporary:
        sys.exit(run.run_and_wait(prepared))
    run.replace_this_process(prepared)


def _prepare(command: list[str], variables: dict[str, str], mpi: str | None) -> preload.Job:
    prepared = preload.rewrite(command, variables, places.preload_library, mpi)
    for warning in prepared.warnings:
        click.echo(f"unisono: warning: {warning}", err=True)
    return prepared


@dataclass
class _Shown:
    """What is made of reports, on the screen and beside it."""

    screen: bool
    files: bool
    outputs: outputs.Outputs

    def on_screen(self, jobs: list[job.Job], console: Console) -> None:
        for number, one in enumerate(jobs, 1) if self.screen else ():
            if len(jobs) > 1:
                console.print(f"---- program {number:,} of {len(jobs):,} ".ljust(screen.WIDEST, "-"), highlight=False)
            screen.show(one, console)
            if self.files:
                file_report.show(one.records, console)


def _run_with_report(command: list[str], variables: dict[str, str], mpi: str | None, shown: _Shown) -> int:
    report.fields()  # now, as Unisono may be removed or replaced while the program runs
    with tempfile.TemporaryDirectory(prefix="unisono-") as folder:
        collected = reports.collect_in(Path(folder), variables, shown.outputs.need_timeline,
                                       bool(shown.outputs.recording))  # fmt: skip
        prepared = _prepare(command, variables | collected.variables(), mpi)
        begin_s = time.monotonic()
        ended = run.run_to_the_end(prepared)
        wall_s = time.monotonic() - begin_s
        records, remarks = ending.unclosed(collected.traces, ended), ending.marks(collected.traces)
        try:
            records = collected.records() + records
        except Failure as failure:  # somebody else has written there
            remarks.append(str(failure))
    if not records:
        whys = remarks or [ending.why_nothing(ended, prepared.static)]
        remarks = [f"no report: {why}" for why in whys] if ending.is_first_rank() else []
    jobs = job.jobs_of(records, wall_s)
    lost = shown.outputs.write(jobs)  # first, as nobody may be there to read the screen
    with terminal.read_or_not():
        shown.on_screen(jobs, terminal.console(sys.stderr))
        for remark in [*remarks, *lost]:
            click.echo(terminal.visible(f"unisono: {remark}"), err=True)
    return ended.code or int(bool(lost))


@main.command("report", short_help="Show report files: what I/O took, why, and what to change.")
@click.option("--help-fields", is_flag=True, help="Say what the fields of a report mean.")
@click.option("--schema", "show_schema", is_flag=True, help="Print the JSON schema of what --json writes.")
@click.option("--files", is_flag=True, help="Also all numbers of each file.")
@outputs.options
@click.argument("names", metavar="FILE...", nargs=-1, type=click.Path(exists=True))
def report_command(
    names: tuple[str, ...], help_fields: bool, show_schema: bool, files: bool, html: str | None,
    json_file: str | None, trace: str | None,
) -> None:  # fmt: skip
    """Show report files (UNISONO_REPORT_FILE): what each program's I/O took, why, and what to change; exit code 1
    where a file could not be written."""
    if help_fields:
        report.show_fields(terminal.console(sys.stdout))
    elif show_schema:
        click.echo(json.dumps(schema.schema(), indent=1))
    elif not names:
        raise click.UsageError("name a report file, or --help-fields, or --schema")
    reported = [file for name in names for file in _files_at(name)]
    wanted = outputs.Outputs(html, json_file, trace)
    wanted.refuse_clashes(*reported)
    shown = _Shown(not wanted.any or files, files, wanted)
    by_file = [job.jobs_of(_records_of(file)) for file in reported]
    for jobs in by_file:
        shown.on_screen(jobs, terminal.console(sys.stdout))
    everything = [one for jobs in by_file for one in jobs]
    lost: list[str] = []
    if wanted.trace and not any(map(timeline.calls, everything)):
        lost = [f"{wanted.trace}: not written: there is no timeline in these reports; unisono run --trace has one, and"
                " UNISONO_REPORT_TIMELINE=true"]  # fmt: skip
        wanted.trace = None
    if lost := lost + wanted.write(everything):
        raise Failure("\nunisono: ".join(lost), 1)


def _files_at(name: str) -> list[str]:
    """Of a folder, as UNISONO_REPORT_FILE may be one, all reports in it."""
    if not Path(name).is_dir():
        return [name]
    if not (found := sorted(map(str, Path(name).glob("*.json")))):
        raise Failure(f"{name} has no report: no file there ends with .json", 1)
    return found


def _records_of(file: str) -> list[report.Record]:
    if not (records := schema.read_records(file)):
        raise Failure(
            f"{file} is empty: a program under Unisono writes into it when it closes a file that it has"
            f" opened through MPI-IO, with UNISONO_REPORT_FILE={file}", 1,
        )  # fmt: skip
    return records


@main.command("env", context_settings=settings.PASS_ON, short_help="Print the variables that run gives to ranks.")
@settings.STRATEGY
@settings.options
def env_command(command: tuple[str, ...], mpi: str | None, **choices: str | None) -> None:
    """Print the variables for a command's ranks on a line, quoted for a shell.

    \b
    eval "mpiexec -n 4 env $(unisono env -- mpiexec) ./app"
    """
    variables = settings.variables(**choices)
    if mpi is None:
        mpi = preload.mpi_of(list(command), places.preload_library)
    if not mpi:
        raise Failure("name a program, or --mpi mpich, --mpi openmpi or --mpi abi")
    ranks = {"LD_PRELOAD": str(places.preload_library(mpi))} | dict(sorted(variables.items()))
    click.echo(" ".join(f"{name}={shlex.quote(value)}" for name, value in ranks.items()))


@main.command("strategies")
def strategies_command() -> None:
    """List the strategies: ways to do a collective call."""
    known = places.known_strategies()
    if known is None:
        raise Failure("the list is not there: bin/unisono-strategies is missing")
    terminal.console(sys.stdout).print(terminal.listing(known))
    for line in places.plugins_not_used():
        click.echo(f"unisono: {line}", err=True)


class _WithCommand(click.Command):
    """What stands after the first `--` is a command to look at: ctx.obj."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.obj = args[at + 1 :]
        return super().parse_args(ctx, args[:at])


@main.command("doctor", cls=_WithCommand, options_metavar="",
              short_help="Look for what keeps Unisono from working here.")  # fmt: skip
@click.argument("path", required=False, metavar="[PATH] [-- COMMAND...]")
@click.pass_context
def doctor_command(ctx: click.Context, path: str | None) -> None:
    """Look for what keeps Unisono from working here, and in the folder PATH; exit code 1 where something does, 2 where
    PATH is not there.

    \b
    unisono doctor /scratch/me -- mpiexec -n 64 ./app
    """
    findings = doctor.examine(path, ctx.obj)
    table = terminal.table("what", "", "finding", "what to change")
    for finding in findings:
        cells = (finding.subject, finding.state, finding.said, finding.change)
        table.add_row(*(escape(cell) for cell in cells))
    terminal.console(sys.stdout).print(table)
    sys.exit(any(finding.state == doctor.WRONG for finding in findings))


@main.command("bench", context_settings=settings.PASS_ON, short_help="Run the papers' benchmarks.",
              options_metavar="[OPTION]...")  # fmt: skip
@click.option("-n", "--ranks", type=click.IntRange(min=1), default=4, show_default=True, help="Ranks.")
@click.option("--launcher", metavar="WORDS", help="Instead of 'mpiexec -n N', e.g. 'srun -n 64'.")
@click.option("--mpi", type=click.Choice(bench.MPIS), help="Default: the first that there is.")
@settings.STRATEGY
@click.option("--native", is_flag=True, help="Without Unisono, to compare.")
@click.argument("name", required=False, shell_complete=completion.one_of(bench.names))
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[-- OPTION...]")
def bench_command(
    name: str | None,
    options: tuple[str, ...],
    ranks: int,
    launcher: str | None,
    mpi: str | None,
    strategy: str | None,
    native: bool,
) -> None:
    """Run one of the papers' benchmarks; without a name, list them.

    \b
    unisono bench demo --help
    unisono bench -n 4 demo -- --path /scratch/file --segment-bytes 64K
    """
    if name is None:
        terminal.console(sys.stdout).print(terminal.listing(bench.benchmarks(), "written after"))
        return
    if name not in (known := bench.names()):
        raise Failure(f"unknown benchmark '{name}'; valid: {', '.join(known)}")
    mpi = bench.choose_mpi(mpi, name)
    words = bench.words_for(mpi, name, [word for word in options if word != "--"])
    if "--help" in options:
        sys.exit(run.run_and_wait(preload.Job(words, mpi)))
    words = [*bench.launcher_words(mpi, ranks, launcher), *words]
    if native:
        sys.exit(run.run_and_wait(preload.Job(words, mpi)))
    variables = settings.variables(strategy=strategy, backend=None, hints=None, topology=None)
    sys.exit(run.run_and_wait(_prepare(words, variables, mpi)))
