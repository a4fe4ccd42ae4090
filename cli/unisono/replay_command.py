"""`unisono replay`: recorded calls without their program."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import click

from . import bench, compare, compare_command, completion, ranges, replay, settings
from .fresh import FreshFiles


def _check_folder(_context: click.Context, _parameter: click.Parameter, value: str) -> Path:
    folder = Path(value).resolve()
    if not os.access(folder, os.W_OK | os.X_OK):
        raise click.BadParameter(f"{folder} cannot be written")
    return folder


@click.command("replay", short_help="Do recorded calls again, natively and by strategies.")
@click.argument("recording", metavar="RECORDING", type=click.Path(exists=True, dir_okay=False))
@click.option("--in", "folder", metavar="FOLDER", required=True, callback=_check_folder,
              type=click.Path(exists=True, file_okay=False),
              help="Where files are made, and removed again: on the storage that is to be tried.")  # fmt: skip
@click.option("--file", "names", metavar="NAME", multiple=True,
              help="Only this file of the program's, as the recording calls it; repeatable.")  # fmt: skip
@click.option("--calls", metavar="N", type=click.IntRange(min=1), help="Only the first N calls on each file.")
@click.option("--repeats", metavar="N", type=click.IntRange(min=1), default=3, show_default=True,
              help="Runs of each kind.")  # fmt: skip
@click.option("--strategies", metavar="A,B", default="", shell_complete=completion.list_of(completion.strategies),
              help="Also by these; see 'unisono strategies'.")  # fmt: skip
@click.option("--launcher", metavar="WORDS", help="Instead of 'mpiexec -n N', e.g. 'srun -n 64'.")
@click.option("--mpi", type=click.Choice(bench.MPIS), help="Default: the program's, if it is there.")
@click.option("--timeout", metavar="SECONDS", type=ranges.SECONDS,
              help="End a run that takes longer, and the comparison.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="All numbers on standard output, as JSON.")
def replay_command(
    recording: str, folder: Path, names: tuple[str, ...], calls: int | None, repeats: int, strategies: str,
    launcher: str | None, mpi: str | None, timeout: float | None, as_json: bool,
) -> None:  # fmt: skip
    """Do the collective calls of a program again, here, without the program: by the MPI library itself, by Unisono,
    and by strategies of your choice, in turns. Which is fastest?

    \b
    unisono run --record app.rec -- mpiexec -n 4 ./app
    unisono replay app.rec --in /scratch/me --strategies two_phase,independent

    Each rank asks for the same bytes in the same order, through the same views and hints, with as many ranks as the
    program had. What is in them is made up, and looked at after each run; files must be equal whoever wrote them.

    Not replayed are: what the program did between calls (ranks come to each call together), independent calls, files
    that were open at the same time (they follow each other), how data lay in memory, and on which nodes ranks ran
    (they run where you start them). Nonblocking and split calls
    are done as blocking ones. A recording that was full, or met a call that Unisono does not do, ends there.

    Times are of the calls, syncs and closing, without opening. Files that are read are written first; caches are not
    dropped.
    """
    chosen = compare_command.strategy_names(strategies)
    records = replay.recorded(recording, names)
    mpi = replay.mpi_of(records, mpi)
    for record in records:
        compare_command.tell(replay.description(record, calls))
    with tempfile.TemporaryDirectory(prefix="unisono-replay-", dir=folder) as work:
        trace = replay.write_trace(records, calls, Path(work))
        words = [*bench.launcher_words(mpi, replay.ranks_of(records), launcher),
                 *bench.words_for(mpi, bench.REPLAY, [str(trace)])]  # fmt: skip
        comparison = compare.Comparison(FreshFiles([], [work], compare_command.tell), timeout, compare_command.tell,
                                        replay.seconds_of)  # fmt: skip
        variables = settings.variables(None, None, None, None)
        outcome = compare_command.run(comparison, words, variables, mpi, chosen, repeats)
    outcome.files = []  # they are gone
    outcome.notes += [said for record in records for said in replay.not_played(record)]
    outcome.notes += replay.placed_otherwise(records, [record for side in outcome.sides for record in side.records])
    compare_command.say(words, outcome, as_json)
