"""Throughput over time of the runs at one x, from the times of their calls."""

from __future__ import annotations

import bisect
import itertools

from .experiment import Figure, Line
from .results import Results, Sample

SLICE_S = 0.5


def speeds(sample: Sample, line: Line, x: str) -> tuple[list[float], list[float]]:
    """Middles of slices of the first program's time, in seconds, and MB/s within each. A call
    counts where it ended."""
    printed = next(printed for printed, job in zip(sample.programs, line.jobs[x])
                   if not job.background)
    seconds = printed["call_seconds"]
    ends = list(itertools.accumulate(seconds))
    call_mb = printed["bytes"] / len(seconds) / 1e6
    slices = max(int(ends[-1] / SLICE_S), 1)
    counts = [bisect.bisect_right(ends, (number + 1) * SLICE_S)
              - bisect.bisect_right(ends, number * SLICE_S) for number in range(slices)]
    return ([(number + 0.5) * SLICE_S for number in range(slices)],
            [count * call_mb / SLICE_S for count in counts])


def draw(panel, figure: Figure, results: Results) -> None:
    """One run of each line: that with the first seed."""
    x = figure.timeline
    for number, line in enumerate(figure.lines):
        samples = [sample for sample in results.samples
                   if (sample.profile, sample.line, sample.x)
                   == (figure.testbed.profile, line.name, x)]
        if samples:
            panel.plot(*speeds(min(samples, key=lambda one: one.seed), line, x),
                       color=f"C{number}", label=line.name)
    for job in next(line.jobs[x] for line in figure.lines if x in line.jobs):
        if job.begins_after_s:
            panel.axvline(job.begins_after_s, color="grey", linestyle=":")
    panel.set_xlabel("seconds")
    panel.set_ylim(bottom=0)
    panel.grid(axis="y", alpha=0.3)
