"""Holds what the papers say against what was measured."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from .experiment import Claim, Figure
from .results import Results, Spread

NOTICEABLE = 1.05  # a ratio between 1 / this and this counts as no effect

AGREES = "agrees"
WEAKER = "same direction, weaker"
STRONGER = "same direction, stronger"
LOSES_LESS = "loses less"
LOSES_MORE = "loses more"
NO_LOSS = "no loss here"
NOT_SEEN = "effect not seen"
DISAGREES = "disagrees"
OTHER_VALUE = "another value"
NOT_MEASURED = "not measured"
VOID = "void"
EARLIER = "on earlier servers"  # the figure has other servers now: a number, and no verdict

LOOKS = {AGREES: "good", WEAKER: "weak", STRONGER: "weak", LOSES_LESS: "weak", LOSES_MORE: "bad",
         NO_LOSS: "weak", NOT_SEEN: "bad", DISAGREES: "bad", OTHER_VALUE: "weak", VOID: "bad",
         EARLIER: "weak"}


@dataclass(frozen=True)
class Verdict:
    claim: Claim
    word: str
    ours: Spread | None  # over the seeds


def verdicts(figure: Figure, results: Results) -> list[Verdict]:
    found = []
    for claim in figure.claims:
        ours = measured(claim, figure, results)
        void = ours is None and rests_on_void(claim, figure, results)
        found.append(Verdict(claim, VOID if void else word_for(claim, ours), ours))
    return found


def rests_on_void(claim: Claim, figure: Figure, results: Results) -> bool:
    """A cell that it needs was measured, but does not count."""
    profile = claim.on or figure.testbed.profile
    xs = _common_xs(claim, figure) if claim.at in ("best", "mean") else [claim.at]
    needed = [(line, other) for x in xs
              for line, other in ((claim.line, x), (claim.against, claim.against_at or x))]
    return any(results.has_only_void(profile, line, x) for line, x in needed)


def measured(claim: Claim, figure: Figure, results: Results) -> Spread | None:
    """Our number for the claim, seed by seed; None if a cell is missing: the best is that of the x at which
    both lines were measured. Ratios are taken within a seed, because its runs stand next to each other."""
    profile = claim.on or figure.testbed.profile
    if claim.at not in ("best", "mean"):
        values = _cells(claim, claim.at, profile, results)
        return Spread.of(list(values.values())) if values else None
    columns = [_cells(claim, x, profile, results) for x in _common_xs(claim, figure)]
    if claim.at == "best":
        columns = [column for column in columns if column]
    seeds = set.intersection(*map(set, columns)) if columns else set()
    if not seeds:
        return None
    choose = max if claim.at == "best" else statistics.mean
    return Spread.of([choose(column[seed] for column in columns) for seed in sorted(seeds)])


def _cells(claim: Claim, x: str, profile: str, results: Results) -> dict[int, float]:
    """By seed: the ratio at x, or the speed."""
    ours = results.by_seed(profile, claim.line, x)
    if not claim.against:
        return ours
    theirs = results.by_seed(profile, claim.against, claim.against_at or x)
    return {seed: ours[seed] / theirs[seed] for seed in ours if seed in theirs}


def _common_xs(claim: Claim, figure: Figure) -> list[str]:
    jobs = {line.name: line.jobs for line in figure.lines}
    return [x for x in jobs[claim.line] if x in jobs[claim.against]]


def word_for(claim: Claim, ours: Spread | None) -> str:
    if ours is None:
        return NOT_MEASURED
    near = 1 / claim.within <= ours.median / claim.paper <= claim.within
    if not claim.against:
        return AGREES if near else OTHER_VALUE
    theirs, mine = _direction(claim.paper), _direction(ours.median)
    if theirs * mine < 0 or (theirs == 0 and not near):
        return DISAGREES
    if theirs != 0 and mine == 0:
        return NOT_SEEN if theirs > 0 else NO_LOSS
    if near:
        return AGREES
    more = ours.median > claim.paper
    if theirs > 0:
        return STRONGER if more else WEAKER
    return LOSES_LESS if more else LOSES_MORE


def _direction(ratio: float) -> int:
    """1: faster, -1: slower, 0: no noticeable difference."""
    if ratio > NOTICEABLE:
        return 1
    return -1 if ratio < 1 / NOTICEABLE else 0
