"""What came out, as the documentation keeps it: three CSV files with a median and a range for each
number. The raw runs (results.py) stay where they were made."""

from __future__ import annotations

import csv
import pathlib
from dataclasses import asdict, dataclass, field, fields

from . import judge
from .experiment import Claim, Figure, Job
from .results import Results, Spread, ceilings_of, definition_of, servers_of

FAIRNESS = "Jain's index"  # of speeds; of different programs, as shares of what each has alone

@dataclass(frozen=True)
class Runs:
    """Of one figure."""

    count: int
    seeds: int
    rejected: int  # the machine was too late
    load: str  # at the start
    cores: str
    revision: str
    date: str
    realtime: str  # Results.realtime
    servers: str = ""  # results.servers_of(); "": not known any more

    @classmethod
    def of(cls, results: Results) -> Runs:
        told = results.environment
        runs = results.void + results.samples
        return cls(len(runs), len({sample.seed for sample in runs}), len(results.rejected),
                   f"{told.get('load_at_start', 0.0):.1f}", str(told.get("cores", "?")),
                   " ".join(results.revisions), str(told.get("date", ""))[:10],
                   results.realtime, servers_of(results.definition))


@dataclass(frozen=True)
class Quantity:
    """What a claim is about. Its words may change, and what was measured stays."""

    line: str
    at: str
    against: str
    against_at: str
    on: str

    @classmethod
    def of(cls, claim: Claim) -> Quantity:
        return cls(claim.line, claim.at, claim.against, claim.against_at, claim.on)


@dataclass(frozen=True)
class Cell:
    servers: str  # the profile
    unit: str
    line: str
    x: str


@dataclass
class Measured:
    """Of one figure. None stands for what is void (results.is_void()); what was not measured is not
    here."""

    runs: Runs
    claims: dict[Quantity, Spread | None] = field(default_factory=dict)
    cells: dict[Cell, Spread | None] = field(default_factory=dict)

    @classmethod
    def of(cls, figure: Figure, results: Results) -> Measured:
        claims = {Quantity.of(verdict.claim): verdict.ours
                  for verdict in judge.verdicts(figure, results)
                  if verdict.word != judge.NOT_MEASURED}
        return cls(Runs.of(results), claims, {**_speeds(figure, results), **fairness(figure, results)})


def verdicts(figure: Figure, measured: Measured) -> list[judge.Verdict]:
    same = measured.runs.servers == servers_of(definition_of(figure))
    return [judge.Verdict(claim, _word(claim, measured, same), measured.claims.get(Quantity.of(claim)))
            for claim in figure.claims]


def _word(claim: Claim, measured: Measured, same_servers: bool) -> str:
    key = Quantity.of(claim)
    ours = measured.claims.get(key)
    if key in measured.claims and ours is None:
        return judge.VOID
    if ours and not same_servers:
        return judge.EARLIER
    return judge.word_for(claim, ours)


def fairness(figure: Figure, results: Results) -> dict[Cell, Spread]:
    """Where programs shared the servers, and two of one kind or each of them alone as well."""
    profile = figure.testbed.profile
    found = {}
    for line in figure.lines:
        for x in figure.xs:
            alone = _speeds_alone(figure, results, line.jobs.get(x, ()))
            if alone and (index := results.fairness(profile, line.name, x, alone)):
                found[Cell(profile, FAIRNESS, line.name, x)] = index
    return found


def _speeds(figure: Figure, results: Results) -> dict[Cell, Spread | None]:
    found: dict[Cell, Spread | None] = {}
    for profile in (figure.testbed.profile, *ceilings_of(figure)):
        for line in figure.lines:
            for x in line.jobs:
                spread = results.spread(profile, line.name, x)
                if spread or results.has_only_void(profile, line.name, x):
                    found[Cell(profile, figure.unit, line.name, x)] = spread
    return found


def _speeds_alone(figure: Figure, results: Results, jobs: tuple[Job, ...]) -> list[float] | None:
    """Of programs that run together; two of one kind have the same, whatever that is."""
    if len(jobs) < 2 or any(job.background for job in jobs):
        return None
    if len({job.program for job in jobs}) == 1:
        return [1.0] * len(jobs)
    found = [next((spread.median for line in figure.lines for x, others in line.jobs.items()
                   if others == (job,)
                   and (spread := results.spread(figure.testbed.profile, line.name, x))), None)
             for job in jobs]
    return None if None in found else found


# ---- the files

def save(known: dict[str, Measured], folder: pathlib.Path) -> None:
    """Writes runs.csv, claims.csv and cells.csv, the figures in the order of `known`."""
    folder.mkdir(exist_ok=True)
    _write(folder / "runs.csv", Runs, [(name, one.runs, []) for name, one in known.items()])
    for file, kind, part in (("claims.csv", Quantity, "claims"), ("cells.csv", Cell, "cells")):
        _write(folder / file, kind, [(name, key, _numbers(spread)) for name, one in known.items()
                                     for key, spread in getattr(one, part).items()],
               ("median", "low", "high", "seeds"))


def load(folder: pathlib.Path) -> dict[str, Measured]:
    """By figure's name."""
    known = {}
    for row in _rows(folder / "runs.csv"):
        name = row.pop("figure")
        numbers = {each: int(row.pop(each)) for each in ("count", "seeds", "rejected")}
        known[name] = Measured(Runs(**numbers, **row))
    for file, kind, part in (("claims.csv", Quantity, "claims"), ("cells.csv", Cell, "cells")):
        for row in _rows(folder / file):
            key = kind(**{each.name: row[each.name] for each in fields(kind)})
            getattr(known[row["figure"]], part)[key] = _spread(row)
    return known


def _write(file: pathlib.Path, kind: type, rows: list[tuple], more: tuple[str, ...] = ()) -> None:
    with file.open("w", newline="") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(["figure", *(each.name for each in fields(kind)), *more])
        for name, key, numbers in rows:
            writer.writerow([name, *asdict(key).values(), *numbers])


def _rows(file: pathlib.Path) -> list[dict[str, str]]:
    with file.open(newline="") as opened:
        return list(csv.DictReader(opened))


def _numbers(spread: Spread | None) -> list[str]:
    if spread is None:
        return [judge.VOID, "", "", ""]
    numbers = [f"{value:.3f}".rstrip("0").rstrip(".")
               for value in (spread.median, spread.low, spread.high)]
    return [*numbers, str(spread.seeds or "")]


def _spread(row: dict[str, str]) -> Spread | None:
    if row["median"] == judge.VOID:
        return None
    seeds = int(row["seeds"]) if row["seeds"] else None
    return Spread(*(float(row[each]) for each in ("median", "low", "high")), seeds)
