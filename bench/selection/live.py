#!/usr/bin/python3
"""Runs programs of 100 calls whose strategies are chosen by measuring, and compares them with every
fixed candidate: cold, with the memory of the run before, and against the MPI library on 30 calls.

Takes record.py's arguments; --repeats is of the fixed candidates. Prints a line for each cell and,
with --output, adds them to a JSON file.
"""

import json
import pathlib
import statistics
import sys
import tempfile

import record
from record import Recorder, Timing

LONG, SHORT = 100, 30
MEASURED = {"UNISONO_SELECT": "measured"}


def per_call(timing: Timing, calls: int | None = None) -> float:
    """Seconds: the mean, so that slow calls count as they do for the program."""
    return statistics.mean(timing.seconds[:calls])


def fixed(recorder: Recorder, pattern: str, mode: str) -> dict[str, float]:
    """Seconds per call of every candidate that can do it."""
    found = {}
    for candidate in recorder.candidates():
        timing = recorder.measure(pattern, (mode,), candidate, recorder.arguments.repeats)[mode]
        if all(list(report["strategies"]) == [candidate.partition("+")[0]]
               for report in timing.reports):
            found[candidate] = per_call(timing)
    return found


def cell(recorder: Recorder, pattern: str, mode: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        settings = MEASURED | {"UNISONO_TUNE": str(pathlib.Path(folder, "tune.json"))}
        before = fixed(recorder, pattern, mode)
        cold, warm = (recorder.measure(pattern, (mode,), "auto", LONG, settings)[mode]
                      for _ in range(2))
        rule = recorder.measure(pattern, (mode,), "auto", recorder.arguments.repeats)[mode]
        after = fixed(recorder, pattern, mode)
    # Before and after, so that a machine that drifts does so for both.
    seconds = {name: (before[name] + after[name]) / 2 for name in before}
    chosen = [name for name in seconds if name != "native" or pattern in record.IN_RANK_ORDER]
    best = min(chosen, key=seconds.__getitem__)
    return {
        "name": f"{recorder.place.name} {pattern} {mode}", "best": best,
        "rule": seconds[best] / per_call(rule),
        "cold": seconds[best] / per_call(cold), "memory": seconds[best] / per_call(warm),
        "cold_native": seconds["native"] / per_call(cold, SHORT),
        "memory_native": seconds["native"] / per_call(warm, SHORT),
        "winner": warm.reports[-1]["selections"][0]["winner"],
        "seconds": {name: float(f"{value:.4g}") for name, value in seconds.items()},
    }


def main() -> None:
    arguments = record.parse_arguments()
    recorder = Recorder(arguments, record.place_of(arguments))
    file = arguments.output
    found = json.loads(file.read_text()) if file.exists() else []
    with record.benchmark.timing_lock(arguments.lock):
        for pattern in arguments.patterns:
            for mode in arguments.modes:
                found.append(cell(recorder, pattern, mode))
                print(" ".join(f"{key} {value:.3f}" if isinstance(value, float) else str(value)
                               for key, value in found[-1].items() if key != "seconds"), flush=True)
    file.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
