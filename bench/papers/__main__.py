"""`make papers`: measures figures of the papers on the pocket file system and writes the report."""

from __future__ import annotations

import argparse
import os
import pathlib
import signal
import sys

from run import count, default_lock

from . import measured, page, report, simulated, testbed
from .experiment import Figure
from .figures import ALL, QUICK, TELLING
from .results import Results, loaded_or_new
from .runner import Settings, run_figure

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def parse_arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="papers", description=__doc__)
    add = parser.add_argument
    add("--build", type=pathlib.Path, default=ROOT / "build", help="where everything was built")
    add("--figure", action="append", default=[], choices=[figure.name for figure in ALL],
        metavar="NAME", help="only this one; repeatable; --list names them")
    add("--all", action="store_true", help="every figure, not only the telling ones: hours")
    add("--quick", action="store_true", help="one tiny figure, to see that everything works")
    add("--seeds", type=count, default=sys.maxsize, metavar="N",
        help="of each figure the first N seeds only; a later run adds the others")
    add("--fresh", action="store_true", help="measure anew what was measured before")
    add("--only-report", action="store_true", help="measure nothing")
    add("--document", action="store_true",
        help="measure nothing; put what was measured into docs/understand/papers, and renew docs/understand/papers.md")
    add("--simulate", action="store_true",
        help="measure nothing; simulate what can be, into docs/understand/papers: minutes")
    add("--results", type=pathlib.Path, help="folder (default: BUILD/papers)")
    add("--scratch", type=pathlib.Path, default=pathlib.Path("/dev/shm"),
        help="where the emulated servers have their bytes (default: /dev/shm)")
    add("--lock", type=pathlib.Path, default=default_lock(),
        help="lock file that keeps others from measuring meanwhile (UNISONO_TIMING_LOCK)")
    add("--realtime", action="store_true",
        help="the emulator goes before everything else on this machine, then the programs (root; for busy machines)")
    add("--list", action="store_true", help="name the figures, and how many minutes each takes")
    arguments = parser.parse_args(words)
    arguments.build = arguments.build.resolve()
    arguments.results = (arguments.results or arguments.build / "papers").resolve()
    return arguments


def chosen(arguments: argparse.Namespace) -> list[Figure]:
    if arguments.quick:
        return [QUICK]
    if arguments.figure:
        return [figure for figure in ALL if figure.name in arguments.figure]
    return list(ALL if arguments.all else TELLING)


def print_list(folder: pathlib.Path) -> None:
    """With the minutes that each takes: by what was measured in `folder`, else declared ones."""
    minutes = {figure.name: loaded_or_new(figure, path_of(figure, folder)).minutes(figure)
               for figure in ALL}
    for figure in ALL:
        mark = "*" if figure in TELLING else " "
        print(f"{mark} {figure.name:<26} {minutes[figure.name]:4.0f} min  {figure.title}"
              f" ({figure.source})")
    telling = sum(minutes[figure.name] for figure in TELLING)
    print(f"\n* in `make papers`: {telling:.0f} minutes; all: {sum(minutes.values()):.0f}")


def path_of(figure: Figure, folder: pathlib.Path) -> pathlib.Path:
    return folder / f"{figure.name}.json"


def measure(figures: list[Figure], arguments: argparse.Namespace) -> bool:
    """False if something failed."""
    settings = Settings(arguments.build, arguments.results, arguments.scratch, arguments.lock,
                        arguments.realtime, say=lambda text: print(text, flush=True),
                        seeds_max=arguments.seeds)
    failed = False
    for figure in figures:
        results = run_figure(figure, settings, arguments.fresh)
        failed = failed or bool(results.failed)
        for name, why in {**results.skipped, **results.failed}.items():
            print(f"{figure.name}: {name}: {why}")
    return not failed


def measured_in(folder: pathlib.Path, figures: tuple[Figure, ...]) -> list[tuple[Figure, Results]]:
    """Says which figures are here in part only."""
    known = [(figure, loaded_or_new(figure, path_of(figure, folder))) for figure in figures]
    known = [(figure, results) for figure, results in known if results.samples or results.void]
    for figure, results in known:
        if len(results.samples) < figure.runs:
            print(f"{figure.name}: {len(results.samples)} of {figure.runs} runs")
    return known


def write_report(folder: pathlib.Path, figures: tuple[Figure, ...]) -> None:
    """Of everything that was measured so far."""
    print(f"report: {report.write(measured_in(folder, figures), folder)}")


def document(folder: pathlib.Path) -> None:
    """What `folder` has takes the place of what the documentation had of these figures."""
    docs = ROOT / "docs" / "understand"
    known = measured.load(docs / "papers")
    known |= {figure.name: measured.Measured.of(figure, results)
              for figure, results in measured_in(folder, ALL)}
    known = {figure.name: known[figure.name] for figure in ALL if figure.name in known}
    measured.save(known, docs / "papers")
    known = measured.load(docs / "papers")  # rounded, as whoever makes the page anew will have it
    figures = [(figure, known[figure.name]) for figure in ALL if figure.name in known]
    page.draw(figures, docs / "papers")
    file = docs / "papers.md"
    runs = simulated.load(docs / "papers" / "simulated.csv")
    on_a_virtual_clock = simulated.measured_of(runs)
    page.save_verdicts(figures, on_a_virtual_clock, docs / "papers" / "verdicts.csv")
    made = {"simulated": simulated.draw(on_a_virtual_clock, docs / "papers")}
    file.write_text(page.renewed(file.read_text(), figures, "papers", made))


def simulate(build: pathlib.Path) -> None:
    """Into the documentation: it is the same on every machine."""
    known = {}
    for figure in simulated.FIGURES:
        known[figure.name] = simulated.simulate(figure, build, ROOT / "testbed" / "profiles")
        print(f"{figure.name}: {len(known[figure.name])} runs", flush=True)
    simulated.save(known, ROOT / "docs" / "understand" / "papers" / "simulated.csv")


def main() -> int:
    arguments = parse_arguments()
    if arguments.list:
        print_list(arguments.results)
        return 0
    if arguments.simulate:
        simulate(arguments.build)
    if arguments.simulate or arguments.document:
        document(arguments.results)
        return 0
    passed = True
    if not arguments.only_report:
        if why := testbed.reason_to_skip(arguments.build):
            print(f"skipped: {why}")
            return 77
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # mounts must not outlive us
        os.environ.update(testbed.ENVIRONMENT)  # every program that is started inherits it
        try:
            passed = measure(chosen(arguments), arguments)
        except KeyboardInterrupt:
            print("interrupted: the same command goes on from here")
            return 130
    write_report(arguments.results, (QUICK,) if arguments.quick else ALL)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
