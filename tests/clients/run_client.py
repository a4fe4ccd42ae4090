#!/usr/bin/python3
"""Runs one client program and asserts who did its I/O.

Under Unisono the program runs without a report, and then with one: it must see the info key
unisono_strategy, and the report must name every expected file with calls that Unisono performed
itself. Natively there must be neither. So a test cannot pass because the preload library did nothing.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from harness import Job, JobFailed, own_calls

SKIPPED = 77  # what ctest takes for it


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--mpi", choices=["mpich", "openmpi"], required=True)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--native", action="store_true")
    parser.add_argument("--seconds", type=float, default=100)
    parser.add_argument("--files-min", type=int, default=1, help="reports expected at least")
    parser.add_argument("--own-calls-min", type=int, default=1,
                        help="collective calls that Unisono must have done itself, at least")
    parser.add_argument("--needs", type=Path, help="skip (status 77) if this file is not there")
    parser.add_argument("program",
                        help="below build/programs, without the MPI's name, or a .py script")
    parser.add_argument("arguments", nargs="*",
                        help="{file} is a scratch file, {mpi} the MPI's name")
    return parser.parse_args()


def command_of(arguments, file):
    words = [word.replace("{file}", str(file)).replace("{mpi}", arguments.mpi)
             for word in arguments.arguments]
    if arguments.program.endswith(".py"):
        return [sys.executable, arguments.program, *words]
    return [arguments.build / "programs" / f"{arguments.program}.{arguments.mpi}", *words]


def check_native(job):
    job.require(job.strategy() == "", "Unisono was in a native run")
    job.require(not job.reports(), "a native run left a report")


def check_unisono(job):
    job.require(job.strategy() != "", "the program did not find unisono_strategy")
    job.require(not job.lines_from_unisono(), "Unisono complained")


def check_report(job, arguments, file):
    reports = job.reports()
    job.require(len(reports) >= arguments.files_min, f"only {len(reports)} files were reported")
    job.require(any(Path(report["file"]).name == file.name for report in reports),
                f"no report on {file}: {reports[:3]}")
    job.require(own_calls(reports) >= arguments.own_calls_min,
                f"Unisono did {own_calls(reports)} calls itself: {reports[:3]}")


def run(arguments, file, report):
    job = Job(arguments.build, arguments.mpi, arguments.ranks, command_of(arguments, file),
              file.parent)
    job.environment["UNISONO_REPORT"] = report
    job.run([] if arguments.native else [job.engine()], arguments.seconds).require_success()
    return job


def run_unreported(arguments, directory):
    """Small calls go a shorter way where no report counts them, as in most users' programs."""
    job = run(arguments, directory / "unreported", "none")
    check_unisono(job)
    job.require(not job.reports(), "a report that nobody has asked for")


def main():
    arguments = parse_arguments()
    if arguments.needs and not arguments.needs.exists():
        print(f"skipped: no {arguments.needs}")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="unisono-clients-") as directory:
        if not arguments.native:
            run_unreported(arguments, Path(directory))
        file = Path(directory) / "client-file"
        job = run(arguments, file, "json")
        if arguments.native:
            check_native(job)
        else:
            check_unisono(job)
            check_report(job, arguments, file)
        print(f"{Path(arguments.program).name}, {arguments.mpi}: ok, {len(job.reports())} files, "
              f"{own_calls(job.reports())} collective calls done by Unisono")


if __name__ == "__main__":
    try:
        main()
    except JobFailed as failure:
        sys.exit(f"run_client: {failure}")
