"""Raw results of one figure: every run with its seed, kept as JSON, and what can be asked of them."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import statistics
from dataclasses import dataclass, field

from .experiment import Figure

CEILINGS = ("instant", "off")  # disks and servers that take no time; no emulation at all


def ceilings_of(figure: Figure) -> tuple[str, ...]:
    return tuple(profile for profile in CEILINGS if profile != figure.testbed.profile)


@dataclass(frozen=True)
class Sample:
    """One run that counts. `mb_per_s` is its value, in the figure's unit if that is another.
    `programs` are the lines of the jobs, as they were printed."""

    profile: str
    seed: int
    line: str
    x: str
    mb_per_s: float
    programs: list[dict]
    servers: dict
    revision: str = ""  # of git; not in runs of before 0.2, for which the environment's stands
    realtime: bool | None = None  # None: as the environment says


@dataclass(frozen=True)
class Spread:
    median: float
    low: float
    high: float
    seeds: int | None = None  # None: not on record

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values), len(values))


def definition_of(figure: Figure) -> dict:
    """What decides about the runs, as JSON has it: other claims do not make old runs worthless, and
    what was not thought of when they were made is left out unless it is used."""
    described = dataclasses.asdict(figure)
    kept = {name: described[name] for name in ("name", "testbed", "nodes")}
    kept |= {"cluster": described["cluster"]} if figure.cluster else {}
    lines = {line["name"]: _definition_of_line(line) for line in described["lines"]}
    return json.loads(json.dumps({**kept, "lines": lines}))


def servers_of(definition: dict) -> str:
    """What a figure was measured on, in a line: runs on other servers are another experiment."""
    words = [str(value) for value in definition["testbed"].values() if value != ""]
    cluster = definition.get("cluster") or {}
    return " ".join([*words, f"nodes={definition['nodes']}",
                     *(f"cluster.{name}={value}" for name, value in cluster.items())])


def _definition_of_line(line: dict) -> dict:
    keys = ["side", "jobs", "hints", "settings", "with_close", "orchestra"]
    keys += [key for key in ("testbed", "lists_of", "calls_of", "segments", "calls_only") if line[key]]
    return {key: line[key] for key in keys}


def is_void(figure: Figure, sample: Sample) -> bool:
    """Before 0.2 Unisono's MPI_File_sync synced nothing under MPICH, and the runner did not look."""
    line = next(line for line in figure.lines if line.name == sample.line)
    return (not sample.revision and line.side.partition(":")[0] == "unisono-mpich"
            and any(job.synced for job in line.jobs[sample.x]))


def jain(values: list[float]) -> float:
    """Jain's index of fairness: 1 if all are equal, 1 / count if one has everything."""
    return sum(values) ** 2 / (len(values) * sum(value ** 2 for value in values))


@dataclass
class Results:
    """Everything that is known of a figure. `void`: runs that do not count, to be made again
    (is_void()); `rejected`: runs whose machine was too late; `failed`: lines that could not run, with
    the reason; `skipped`: sides that are not there."""

    definition: dict
    environment: dict = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)
    void: list[Sample] = field(default_factory=list)
    rejected: list[dict] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    spent_s: float = 0.0  # on all runs that are here, also the rejected ones; not on waiting

    @classmethod
    def load(cls, path: pathlib.Path) -> Results:
        content = json.loads(path.read_text())
        for kind in ("samples", "void"):
            content[kind] = [Sample(**sample) for sample in content.get(kind, ())]
        return cls(**content)

    def save(self, path: pathlib.Path) -> None:
        """Replaces the file in one step."""
        unfinished = path.with_name(path.name + ".part")
        unfinished.write_text(json.dumps(dataclasses.asdict(self), indent=1) + "\n")
        unfinished.replace(path)

    def has_any(self, profile: str) -> bool:
        return any(sample.profile == profile for sample in self.samples)

    def has(self, profile: str, seed: int, line: str, x: str) -> bool:
        return any((sample.profile, sample.seed, sample.line, sample.x) == (profile, seed, line, x)
                   for sample in self.samples)

    def has_only_void(self, profile: str, line: str, x: str) -> bool:
        return not self.by_seed(profile, line, x) and any(
            (sample.profile, sample.line, sample.x) == (profile, line, x) for sample in self.void)

    @property
    def revisions(self) -> list[str]:
        """Of the runs that are here, short."""
        told = str(self.environment.get("git_revision", ""))
        return list(dict.fromkeys((sample.revision or told)[:7] for sample in self.void + self.samples))

    @property
    def realtime(self) -> str:
        """Whether the emulator, and then the programs, went before everything else: "yes", "no", or "some"
        of the runs."""
        told = bool(self.environment.get("realtime"))
        ways = {told if sample.realtime is None else sample.realtime for sample in self.void + self.samples}
        return "some" if len(ways) == 2 else "yes" if True in ways else "no"

    def other_strategies(self) -> dict[tuple[str, str], list[str]]:
        """By line and x: who did calls, where the line asks for another strategy."""
        found: dict[tuple[str, str], set[str]] = {}
        for sample in self.samples:
            asked = self.definition["lines"][sample.line]["side"].partition(":")[2]
            done = {name for program in sample.programs for name in program.get("strategies", ())}
            if asked and done - {asked}:
                found.setdefault((sample.line, sample.x), set()).update(done - {asked})
        return {cell: sorted(others) for cell, others in found.items()}

    @property
    def tries(self) -> int:
        return len(self.samples) + len(self.void) + len(self.rejected)

    def minutes(self, figure: Figure) -> float:
        """What all of the figure takes, judged by what its runs took so far."""
        run_s = self.spent_s / self.tries if self.spent_s else figure.run_seconds
        return figure.runs * run_s / 60

    def by_seed(self, profile: str, line: str, x: str) -> dict[int, float]:
        """MB/s of one cell."""
        return {sample.seed: sample.mb_per_s for sample in self.samples
                if (sample.profile, sample.line, sample.x) == (profile, line, x)}

    def fairness(self, profile: str, line: str, x: str, alone: list[float]) -> Spread | None:
        """Jain's index of the programs' own speeds, where several ran at the same time, each as a
        share of `alone`."""
        indices = [jain([program["bytes"] / program["seconds"] / one
                         for program, one in zip(sample.programs, alone, strict=True)])
                   for sample in self.samples
                   if (sample.profile, sample.line, sample.x) == (profile, line, x)]
        return Spread.of(indices) if indices else None

    def spread(self, profile: str, line: str, x: str) -> Spread | None:
        values = list(self.by_seed(profile, line, x).values())
        return Spread.of(values) if values else None


def _cell(line: dict, x: str) -> dict:
    """What decides about the runs at one x. What is off in a job may not have been thought of when
    it was run."""
    jobs = [{name: value for name, value in job.items() if value} for job in line["jobs"].get(x, ())]
    return {**line, "jobs": jobs}


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def loaded_or_new(figure: Figure, path: pathlib.Path) -> Results:
    """With what was measured before of cells that are still the same, on the same servers."""
    results = Results(definition_of(figure))
    if not path.exists():
        return results
    before = Results.load(path)
    old, new = dict(before.definition), dict(results.definition)
    old_lines, new_lines = old.pop("lines"), new.pop("lines")
    if old != new:
        return results
    same = {(name, x) for name, line in new_lines.items() for x in line["jobs"]
            if name in old_lines and _cell(line, x) == _cell(old_lines[name], x)}
    for sample in before.samples + before.void:
        if (sample.line, sample.x) in same:
            (results.void if is_void(figure, sample) else results.samples).append(sample)
    results.void = [sample for sample in results.void
                    if not results.has(sample.profile, sample.seed, sample.line, sample.x)]
    if results.samples or results.void:
        results.environment = before.environment
    results.rejected = [run for run in before.rejected if (run["line"], run["x"]) in same]
    results.spent_s = before.spent_s * _share(results.tries, before.tries)
    return results
