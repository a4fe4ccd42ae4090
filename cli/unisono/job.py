"""A job: all reports of one program, and what they come to together. Knows no terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from .report import DIRECTIONS, Record, busy_s, phases, value_at, was_used

# Time that is spent in a phase of one direction, or of calls that move no data (direction "").
Place = tuple[str, str]

_WORTH_SHARE = 0.05  # of the program's time: less is not worth tuning
_WORTH_S = 0.1
UNEVEN = 1.2  # times the mean: what one rank has more than that is said


class Job:
    """`wall_s`: how long the program ran, where somebody has measured it."""

    def __init__(self, records: list[Record], wall_s: float | None = None):
        self.records = records
        self._wall_s = wall_s
        self.program = max((record["program"] for record in records), key=lambda one: one["ranks"])
        self.version = records[-1]["unisono_version"]

    @cached_property
    def ranks(self) -> int:
        """Of the program; where it has no communicator of all, or has spawned more, of its largest file."""
        return max(self.program["ranks"], *(record["opened_by"] for record in self.records))

    @cached_property
    def _of_all_ranks(self) -> list[Record]:
        """Files that all ranks have opened, and whose reports have all ranks' parts."""
        return [record for record in self.records if record["ranks"] >= self.ranks]

    @cached_property
    def shared_files(self) -> set[str]:
        """Names: ranks may also have opened one of them each for itself, as PnetCDF does."""
        return {record["file"] for record in self.records if record["opened_by"] > 1}

    @cached_property
    def nodes(self) -> int:
        """0: not known, since no file was opened by all ranks."""
        return max((record["nodes"] for record in self._of_all_ranks), default=0)

    @cached_property
    def cores(self) -> int:
        """Of a node, that its ranks may use; 0: not known."""
        return max((record["program"]["cores"] for record in self._of_all_ranks), default=0)

    @property
    def ranks_per_node(self) -> int:
        """On the fullest one, at least."""
        return -(-self.ranks // self.nodes) if self.nodes else 0

    @property
    def crowded(self) -> bool:
        return 0 < self.cores < self.ranks_per_node

    @cached_property
    def core_wait_s(self) -> float:
        """That a rank was ready to run, and had no core."""
        return max(record["program"]["core_wait_seconds"] for record in self.records)

    @property
    def cores_are_others(self) -> bool:
        """Each rank could have a core, but for much of the time other processes or threads have them. Where the ranks
        are too many, that is among the causes."""
        return not self.crowded and self.is_much(self.core_wait_s)

    def is_much(self, spent_s: float) -> bool:
        """So much of the program's time that it is worth a word."""
        return spent_s >= _WORTH_S and spent_s >= _WORTH_SHARE * self.wall_s

    @cached_property
    def wall_s(self) -> float:
        """Of the program; from reports alone, until its last file was closed."""
        return self._wall_s or max(record["program"]["seconds"] for record in self.records)

    @cached_property
    def began(self) -> float:
        """Seconds since the epoch; 0: not known."""
        return min(record["program"]["began"] for record in self.records)

    def _share_of(self, record: Record) -> float:
        """Of the job's ranks, those that opened the file. A report of some ranks only stands for all of them."""
        return max(record["ranks"], record["opened_by"]) / self.ranks

    def mean_of(self, record: Record, spent: Record) -> float:
        """Seconds of a rank of the job on average: files are not always opened by all."""
        return spent["mean"] * self._share_of(record)

    @cached_property
    def beside_s(self) -> float:
        """What threads of Unisono's did for nonblocking and split calls, of a rank on average."""
        return sum(self.mean_of(record, record[name]["beside_seconds"]) for record in self.records for name in DIRECTIONS)

    def elapsed_s(self, longest: Iterable[tuple[Record, float]]) -> float:
        """From begin to end, by what the slowest rank of each file took: files of all ranks one after the other,
        those of few ranks side by side, as far as can be."""
        found = list(longest)
        side_by_side = sum(seconds * self._share_of(record) for record, seconds in found)
        return min(max([side_by_side, *(seconds for _, seconds in found)]), self.wall_s or float("inf"))

    def seconds_of(self, record: Record) -> dict[Place, float]:
        """Where a rank's time in one file's calls went, on average over the job's ranks."""
        spent = {("", phase): record["seconds"][phase] for phase in phases("file")}
        for name in DIRECTIONS:
            spent |= {(name, phase): record[name]["seconds"][phase] for phase in phases("direction")}
        return {place: self.mean_of(record, one) for place, one in spent.items()}

    @cached_property
    def seconds(self) -> Counter[Place]:
        total: Counter[Place] = Counter()
        for record in self.records:
            total.update(self.seconds_of(record))
        return total

    @property
    def io_s(self) -> float:
        return self.seconds.total()

    @cached_property
    def longest_io_s(self) -> float:
        """At most, of a single rank: files need not have the same slowest one."""
        return self.elapsed_s((record, sum(part["seconds"]["whole"]["longest"]
                                           for part in (record, *(record[name] for name in DIRECTIONS))))
                              for record in self.records)  # fmt: skip

    def direction_s(self, name: str) -> float:
        """From begin to end; 0: not known."""
        spent = [(record, busy_s(record[name])) for record in self.records]
        known = [(record, seconds) for record, seconds in spent if seconds is not None]
        return self.elapsed_s(known) if len(known) == len(spent) else 0.0

    def total(self, name: str, key: str) -> Any:
        """A counter of one direction, over all files."""
        return sum(value_at(record[name], key) for record in self.records)

    def shared_by_ranks(self, name: str) -> list[Record]:
        """Whose reports have all of several ranks' parts, and bytes of this direction."""
        return [record for record in self.records
                if record[name]["bytes"]["asked"] and 1 < record["ranks"] == record["opened_by"]]  # fmt: skip

    def busiest(self, name: str) -> float:
        """How many times the mean the rank has that reads or writes most; 1: nobody knows."""
        shared = self.shared_by_ranks(name)
        asked = sum(record[name]["bytes"]["asked"] / record["ranks"] for record in shared)
        return sum(record[name]["bytes"]["most"] for record in shared) / asked if asked else 1.0

    def tally(self, name: str, key: str) -> Counter[str]:
        """Counters by reason, over all files."""
        tally: Counter[str] = Counter()
        for record in self.records:
            tally.update(value_at(record[name], key))
        return tally

    def uses(self, name: str, key: str) -> dict[str, Record]:
        """By strategy, who did most first: calls, and the distinct reasons."""
        uses: dict[str, Record] = {}
        for record in self.records:
            for strategy, use in record[name][key].items():
                known = uses.setdefault(strategy, {"calls": 0, "why": {}})
                known["calls"] += use["calls"]
                known["why"] |= dict.fromkeys(use["why"])
        ordered = sorted(uses.items(), key=lambda item: -item[1]["calls"])
        return {strategy: use | {"why": list(use["why"])} for strategy, use in ordered}

    def selections(self, name: str) -> list[Record]:
        """How measuring chose, each class of calls once: the files of a communicator have one table, which grows."""
        return list({found["calls"]: found for record in self.records for found in record[name]["selections"]}.values())

    def piece_sizes(self, name: str) -> dict[int, int]:
        sizes: Counter[int] = Counter()
        for record in self.records:
            sizes.update({size: pieces for size, pieces in record[name]["piece_sizes"]})
        return dict(sorted(sizes.items()))

    def used(self) -> list[str]:
        return [name for name in DIRECTIONS if any(was_used(record[name]) for record in self.records)]

    def distinct(self, key: str) -> list[str]:
        """Texts of all files, each once."""
        values = [record[key] for record in self.records]
        texts = [text for value in values for text in (value if isinstance(value, list) else [value])]
        return list(dict.fromkeys(text for text in texts if text))


def jobs_of(records: list[Record], wall_s: float | None = None) -> list[Job]:
    """The programs whose reports stand in one file, in the order in which they came. `wall_s`: they are one
    program's, which ran that long, however its id looks from its nodes."""
    if wall_s is not None:
        return [Job(records, wall_s)] if records else []
    by_id: dict[str, list[Record]] = {}
    for record in records:
        by_id.setdefault(record["program"]["id"], []).append(record)
    return [Job(own) for own in by_id.values()]
