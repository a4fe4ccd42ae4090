"""Statistics of the benchmark: medians, spreads, and ratios with confidence intervals.

A side's measurements of one cell are a list of alternations, each a list of seconds. Sides are
compared alternation by alternation, because those ran next to each other, and by as many repeats of
each: who has no time for the second one has only the first, in which nothing is warm.
"""

import dataclasses
import random
import statistics
import zlib

Alternations = list[list[float]]

RESAMPLES = 1000


@dataclasses.dataclass(frozen=True)
class Ratio:
    """How many times faster one side is than another, with its 95 % confidence interval."""

    value: float
    low: float
    high: float


def pooled(alternations: Alternations) -> list[float]:
    return [seconds for repeats in alternations for seconds in repeats]


def median_seconds(alternations: Alternations) -> float:
    return statistics.median(pooled(alternations))


def spread(alternations: Alternations) -> float:
    """Interquartile range as a fraction of the median; 0 for a single measurement."""
    seconds = pooled(alternations)
    if len(seconds) < 2:
        return 0.0
    quartiles = statistics.quantiles(seconds, n=4, method="inclusive")
    return (quartiles[2] - quartiles[0]) / quartiles[1]


def _pairs(ours: Alternations, theirs: Alternations) -> list[tuple[list[float], list[float]]]:
    both = [(ours_, theirs_, min(len(ours_), len(theirs_))) for ours_, theirs_ in zip(ours, theirs)]
    return [(ours_[:repeats], theirs_[:repeats]) for ours_, theirs_, repeats in both if repeats]


def comparable(ours: Alternations, theirs: Alternations) -> bool:
    """There is an alternation in which both sides were measured."""
    return bool(_pairs(ours, theirs))


def compare(ours: Alternations, theirs: Alternations, key: str = "") -> Ratio:
    """Ratio of the median times, theirs / ours: above 1, ours is faster.

    The interval is a bootstrap in two levels: alternations are drawn for both sides together,
    then repeats within them for each side. `key` seeds it, so that a table can be recomputed.
    """
    pairs = _pairs(ours, theirs)
    if not pairs:
        raise ValueError("no alternation in which both sides were measured")
    dice = random.Random(zlib.crc32(key.encode()))
    drawn = sorted(_resampled_ratio(pairs, dice) for _ in range(RESAMPLES))
    value = (median_seconds([theirs_ for _, theirs_ in pairs])
             / median_seconds([ours_ for ours_, _ in pairs]))
    return Ratio(value, drawn[int(0.025 * RESAMPLES)], drawn[int(0.975 * RESAMPLES) - 1])


def _resampled_ratio(pairs, dice: random.Random) -> float:
    our_seconds: list[float] = []
    their_seconds: list[float] = []
    for ours, theirs in dice.choices(pairs, k=len(pairs)):
        our_seconds += dice.choices(ours, k=len(ours))
        their_seconds += dice.choices(theirs, k=len(theirs))
    return statistics.median(their_seconds) / statistics.median(our_seconds)
