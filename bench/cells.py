"""A cell is one pattern in one mode, with so many ranks, in one directory, on all sides."""

import dataclasses

import ratios
from ratios import Alternations, Ratio
from sides import DEFAULT_ROMIO, POSIX, SIDES, Side, plain_name
from targets import CLEARLY_BELOW, wanted_of

NATIVE = tuple(side.name for side in SIDES if side.native)
UNISONO = tuple(side for side in SIDES if side.unisono)


@dataclasses.dataclass(eq=False)
class Cell:
    ranks: int
    cores: int
    directory: str
    pattern: str
    mode: str
    bytes: int = 0
    allowed: float | None = None  # MB/s that the links between nodes allow, where there are any
    samples: dict[str, Alternations] = dataclasses.field(default_factory=dict)
    errors: dict[str, str] = dataclasses.field(default_factory=dict)
    strategies: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    spoilt_hole_bytes: dict[str, int] = dataclasses.field(default_factory=dict)
    _ratios: dict[tuple[str, str], Ratio] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.pattern} {self.mode} ({self.ranks} ranks, {self.directory})"

    def add(self, side: str, line: dict) -> None:
        """Takes one line of the program's output: one alternation of this side."""
        self._ratios.clear()
        self.bytes = line["bytes"]
        self.samples.setdefault(side, []).append(line["seconds"])
        self.spoilt_hole_bytes[side] = max(self.spoilt_hole_bytes.get(side, 0),
                                           line["spoilt_hole_bytes"])
        if "strategies" in line:
            self.strategies[side] = line["strategies"]

    def add_error(self, side: str, message: str) -> None:
        """Keeps the alternations of all sides in step."""
        self._ratios.clear()
        self.samples.setdefault(side, []).append([])
        self.errors[side] = message

    def measured(self, side: str) -> bool:
        return side not in self.errors and any(self.samples.get(side, []))

    def mb_per_s(self, side: str) -> float:
        return self.bytes / ratios.median_seconds(self.samples[side]) / 1e6

    def spread(self, side: str) -> float:
        return ratios.spread(self.samples[side])

    def ratio(self, ours: str, theirs: str) -> Ratio | None:
        """None if the two were not measured next to each other. Bootstraps once per pair."""
        if not (self.measured(ours) and self.measured(theirs)):
            return None
        pair = ours, theirs
        if pair not in self._ratios and ratios.comparable(self.samples[ours], self.samples[theirs]):
            self._ratios[pair] = ratios.compare(self.samples[ours], self.samples[theirs],
                                                key=f"{self.name} {ours} {theirs}")
        return self._ratios.get(pair)

    def best_native(self) -> str:
        """The fastest native side; empty if none was measured."""
        return max(filter(self.measured, NATIVE), key=self.mb_per_s, default="")

    def unisono_sides(self) -> list[Side]:
        """Those that were tried, each under its name here (sides.with_strategies)."""
        return [dataclasses.replace(side, name=name) for name in self.samples for side in UNISONO
                if side.name == plain_name(name)]


def clearly_below_own_default(cell: Cell, side) -> Ratio | None:
    """The ratio, if its confidence interval lies below CLEARLY_BELOW."""
    ratio = cell.ratio(side.name, side.own_default)
    return ratio if ratio and ratio.high < CLEARLY_BELOW else None


@dataclasses.dataclass(frozen=True)
class Check:
    """One target of one cell."""

    cell: Cell
    side: str
    against: str
    target: float
    ratio: Ratio

    @property
    def missed(self) -> bool:
        return self.ratio.value < self.target


def target_checks(cells: list[Cell]) -> list[Check]:
    """Every target that the measured cells allow to be checked."""
    checks = []
    for cell in cells:
        wanted = wanted_of(cell.pattern, cell.ranks, cell.cores)
        if wanted is None or cell.allowed:  # they hold for one node
            continue
        opponents = ((wanted.default_romio, "default ROMIO", DEFAULT_ROMIO),
                     (wanted.best_native, "best native", cell.best_native()),
                     (wanted.posix, "posix", POSIX))
        for side in cell.unisono_sides():
            for least, against, opponent in opponents:
                ratio = cell.ratio(side.name, opponent)
                if ratio and cell.mode in least:
                    checks.append(Check(cell, side.name, against, least[cell.mode], ratio))
    return checks


@dataclasses.dataclass(frozen=True)
class Shrinking:
    """A ratio against the default ROMIO that falls clearly when there are more ranks."""

    few: Cell
    many: Cell
    side: str


def shrinking_with_ranks(cells: list[Cell]) -> list[Shrinking]:
    found = []
    fewest = min((cell.ranks for cell in cells), default=0)
    for few in cells:
        for many in cells:
            same = ((few.directory, few.pattern, few.mode)
                    == (many.directory, many.pattern, many.mode))
            if not same or few.ranks != fewest or many.ranks == few.ranks:
                continue
            for side in few.unisono_sides():
                before = few.ratio(side.name, DEFAULT_ROMIO)
                after = many.ratio(side.name, DEFAULT_ROMIO)
                if before and after and after.high < before.low:
                    found.append(Shrinking(few, many, side.name))
    return found
