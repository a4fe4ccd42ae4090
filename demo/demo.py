#!/usr/bin/python3
"""The main job of `make demo`: three MPI programs, natively and under Unisono.

Each program writes a fresh file and reads it back, a few times, native and Unisono taking turns.
The two files are compared byte for byte, and the medians go into a table. The exit status is 0
only if every run verified, every pair of files is equal, and Unisono really did the I/O.
"""

import argparse
import dataclasses
import filecmp
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

try:  # Debian's python3-rich makes the table prettier; the demonstration does not need it
    import rich.console
    import rich.table
except ImportError:
    rich = None

LAUNCHER_OPTIONS = {
    "mpich": [],
    "openmpi": ["--oversubscribe", "--allow-run-as-root"],
}
RUN_SECONDS_MAX = 120
ROOM_BYTES = 2 << 30  # wanted in /dev/shm: two files of 200 MB, the ranks' buffers, and some air


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    title: str
    size_quick: int  # in the program's own unit, see its usage line


PROGRAMS = [
    Program("demo_checkpoint_hdf5", "HDF5 checkpoint, 24 variables", size_quick=4),
    Program("demo_lattice", "4-D lattice, subarray view", size_quick=8),
    Program("demo_irregular", "irregular, runs of 8-64 B", size_quick=2000),
]


class DemoError(Exception):
    """Something that the user should read, without a traceback."""


def at_least_one(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: a number from 1 on")
    return int(text)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=Path("build"), help="build directory")
    parser.add_argument("--directory", type=Path,
                        help="where the files go (default: /dev/shm if it has room, else TMPDIR)")
    parser.add_argument("--ranks", type=at_least_one, default=4)
    parser.add_argument("--repeats", type=at_least_one, default=3, help="runs of each kind")
    parser.add_argument("--seconds", type=float, default=150,
                        help="begin no further repeat after this time (default %(default)s)")
    parser.add_argument("--through", choices=["preload", "command"], default="preload",
                        help="start Unisono by LD_PRELOAD or by `unisono run`")
    parser.add_argument("--quick", action="store_true", help="small files, one run of each kind")
    parser.add_argument("--json", type=Path, help="also write every run's numbers here")
    arguments = parser.parse_args()
    folders = [arguments.directory] if arguments.directory else []
    for folder in [*folders, *([arguments.json.absolute().parent] if arguments.json else [])]:
        if not os.access(folder, os.W_OK | os.X_OK):
            parser.error(f"nothing can be written into {folder}")
    arguments.build = arguments.build.resolve()
    if arguments.quick:
        arguments.repeats = 1
    return arguments


def default_directory():
    shared_memory = Path("/dev/shm")
    try:
        room_bytes = shutil.disk_usage(shared_memory).free
    except OSError:
        room_bytes = 0
    writable = os.access(shared_memory, os.W_OK)
    return shared_memory if writable and room_bytes >= ROOM_BYTES else Path(tempfile.gettempdir())


def engine(arguments, mpi):
    return arguments.build / "lib" / f"libunisono-{mpi}.so"


def unisono_run():
    """How the command `unisono` runs programs; main() says where its package is."""
    from unisono import run
    return run


def find_jobs(arguments):
    """All (mpi, program) pairs that were built and can be launched."""
    launched = [mpi for mpi in LAUNCHER_OPTIONS if shutil.which(f"mpiexec.{mpi}")]
    if not launched:
        raise DemoError(f"none of {', '.join(f'mpiexec.{mpi}' for mpi in LAUNCHER_OPTIONS)} is in PATH")
    jobs = [(mpi, program)
            for mpi in launched
            for program in PROGRAMS
            if (arguments.build / "programs" / f"{program.name}.{mpi}").exists()]
    if not jobs:
        raise DemoError(f"no demonstration programs in {arguments.build}/programs: "
                        "run `make demo`")
    for mpi in {mpi for mpi, _ in jobs}:
        if not engine(arguments, mpi).exists():
            raise DemoError(f"{engine(arguments, mpi)} is missing: run `make demo`")
    return jobs


def command_line(arguments, mpi, program, side, path):
    """The command and variables for it.

    The yield shim is preloaded on both sides: without it MPICH's ranks never give up a core, and
    with more ranks than cores that would measure the scheduler instead of the I/O.
    """
    shim = str(arguments.build / "lib" / "libunisono-yield.so")
    launch = [f"mpiexec.{mpi}", *LAUNCHER_OPTIONS[mpi], "-n", str(arguments.ranks)]
    work = [str(arguments.build / "programs" / f"{program.name}.{mpi}"),
            "--both", "--path", str(path)]
    if arguments.quick:
        work += ["--size", str(program.size_quick)]
    if side == "unisono" and arguments.through == "command":
        unisono = arguments.build / "bin" / "unisono"
        return [str(unisono), "run", "--", *launch, *work], {"LD_PRELOAD": shim}
    preload = f"{engine(arguments, mpi)}:{shim}" if side == "unisono" else shim
    return [*launch, "env", f"LD_PRELOAD={preload}", *work], {"LD_PRELOAD": ""}


def run_limited(command, variables):
    """Runs one MPI job, with a time limit and so that nothing is left behind."""
    code, output = unisono_run().run_with_limit(command, RUN_SECONDS_MAX, variables)
    if code is None:
        raise DemoError(f"no end after {RUN_SECONDS_MAX} s: {' '.join(command)}")
    lines = [line for line in output.splitlines() if line.startswith("{")]
    if code != 0 or not lines:
        raise DemoError(f"exit status {code}: {' '.join(command)}\n{output}")
    return json.loads(lines[-1])


def run_once(arguments, mpi, program, side, path):
    path.unlink(missing_ok=True)
    result = run_limited(*command_line(arguments, mpi, program, side, path))
    if not result["verified"]:
        raise DemoError(f"{program.name}.{mpi}, {side}: {result['wrong_values']} values are wrong")
    if (side == "unisono") != bool(result["unisono_strategy"]):
        raise DemoError(f"{program.name}.{mpi}, {side}: Unisono was "
                        f"{'not ' if side == 'unisono' else ''}in the program")
    return result


def megabytes_per_second(result, what):
    return result["bytes"] / 1e6 / result[f"{what}_seconds"]


class Progress:
    """One line per finished run, so that it also reads well in a log."""

    def __init__(self, runs):
        self.runs = runs
        self.finished = 0
        self.began = time.monotonic()

    def seconds(self):
        return time.monotonic() - self.began

    def report(self, mpi, program, side, result):
        self.finished += 1
        print(f"[{self.finished:2}/{self.runs}, {self.seconds():3.0f} s] {mpi:7} "
              f"{program.title:30} {side:7}  "
              f"write {megabytes_per_second(result, 'write'):6.0f} MB/s  "
              f"read {megabytes_per_second(result, 'read'):6.0f} MB/s", flush=True)


def run_job(arguments, directory, progress, mpi, program):
    """Native and Unisono in turns. Returns {side: [result, ...]}; raises if contents differ."""
    paths = {side: directory / f"{program.name}.{mpi}.{side}" for side in ("native", "unisono")}
    results = {side: [] for side in paths}
    for repeat, turn in enumerate(unisono_run().turns(list(paths), arguments.repeats)):
        if repeat > 0 and progress.seconds() > arguments.seconds:
            progress.finished += 2 * (arguments.repeats - repeat)
            break
        for side in turn:
            result = run_once(arguments, mpi, program, side, paths[side])
            results[side].append(result)
            progress.report(mpi, program, side, result)
        filecmp.clear_cache()
        if not filecmp.cmp(paths["native"], paths["unisono"], shallow=False):
            raise DemoError(f"{program.name}.{mpi}: the native file and Unisono's differ")
    for path in paths.values():
        path.unlink()
    return results


def median_rates(results, what):
    """Native and Unisono MB/s (medians) and their ratio."""
    native, unisono = (statistics.median(megabytes_per_second(result, what)
                                         for result in results[side])
                       for side in ("native", "unisono"))
    return native, unisono, unisono / native


COLUMNS = ["MPI", "program", "MB", "write: native", "Unisono", "ratio",
           "read: native", "Unisono", "ratio", "open to close: write", "read", "files"]


def table_rows(all_results):
    for (mpi, program), results in all_results.items():
        row = [mpi, program.title, f"{results['native'][0]['bytes'] / 1e6:.0f}"]
        for what in ("write", "read"):
            native, unisono, ratio = median_rates(results, what)
            row += [f"{native:.0f}", f"{unisono:.0f}", f"{ratio:.2f}x"]
        for what in ("write_open_to_close", "read_open_to_close"):
            row.append(f"{median_rates(results, what)[2]:.2f}x")
        yield [*row, "equal"]


def print_plain_table(rows):
    rows = [COLUMNS, *rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    for row in rows:
        print("  ".join(cell.ljust(width) if column < 2 else cell.rjust(width)
                        for column, (cell, width) in enumerate(zip(row, widths))).rstrip())


def print_table(rows):
    if rich is None or not sys.stdout.isatty():
        print_plain_table(rows)
        return
    table = rich.table.Table()
    for column, name in enumerate(COLUMNS):
        table.add_column(name, justify="left" if column < 2 else "right")
    for row in rows:
        table.add_row(*row)
    rich.console.Console().print(table)


def print_summary(arguments, directory, all_results):
    print(f"\nMB/s, medians of up to {arguments.repeats} runs, {arguments.ranks} ranks on "
          f"{len(os.sched_getaffinity(0))} cores, fresh files in {directory}; reads from the page "
          "cache.\nA yield shim is preloaded on both sides (MPICH's ranks never yield by "
          "themselves).\nThe rates time the view and data calls; the ratios \"open to close\" "
          "time everything.\n")
    print_table(list(table_rows(all_results)))


def in_short(all_results):
    """What the table means, in a sentence."""
    ratios = {what: {job: median_rates(results, what)[2] for job, results in all_results.items()}
              for what in ("write", "read")}
    said = " and ".join(f"{what} {min(found.values()):.1f} to {max(found.values()):.1f} times as fast"
                        for what, found in ratios.items())
    slower = [f"{program.title} on {mpi} ({what} {ratio:.2f})" for what, found in ratios.items()
              for (mpi, program), ratio in found.items() if ratio < 0.95]
    but = f"; slower: {', '.join(slower)}" if slower else ""
    return f"In short: with Unisono these programs {said} as with the MPI library alone, and their files are equal{but}."


def others_running(samples=7, pause_s=0.15):
    """How many threads of others want a core, usually. Not the load: that still has the build of a moment ago."""
    found = []
    for _ in range(samples):
        time.sleep(pause_s)
        running = Path("/proc/loadavg").read_text().split()[3].partition("/")[0]
        found.append(int(running) - 1)  # this one
    return statistics.median_low(found)


def busy(running):
    """A warning, or nothing."""
    return running and (f"Other programs were running before this began ({running} at a time), so these numbers"
                        " mean little: run it again when nothing else runs.")


def write_json(path, all_results):
    record = [{"mpi": mpi, "program": program.name, **results}
              for (mpi, program), results in all_results.items()]
    path.write_text(json.dumps(record, indent=1) + "\n")


def main():
    arguments = parse_arguments()
    jobs = find_jobs(arguments)
    warning = busy(others_running())
    if warning:
        print(warning, flush=True)
    sys.path.insert(0, str(arguments.build / "lib" / "unisono" / "python"))
    parent = arguments.directory or default_directory()
    directory = Path(tempfile.mkdtemp(prefix="unisono-demo-", dir=parent))
    with unisono_run().removed_at_the_end(directory):
        progress = Progress(runs=len(jobs) * 2 * arguments.repeats)
        all_results = {job: run_job(arguments, directory, progress, *job) for job in jobs}
    print_summary(arguments, parent, all_results)
    print(f"\n{in_short(all_results)}")
    if warning:
        print(warning)
    if arguments.json:
        write_json(arguments.json, all_results)


if __name__ == "__main__":
    try:
        main()
    except (DemoError, OSError) as error:
        sys.exit(f"demo: {error}")
    except KeyboardInterrupt:
        sys.exit("demo: interrupted")
