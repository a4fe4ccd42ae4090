"""What an experiment is made of. One figure or table of a paper is a value of these classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


AGREEMENT = 1.25


@dataclass(frozen=True)
class Servers:
    """The emulated servers, as `unisono pocket up` takes them."""

    profile: str
    servers: int = 4
    stripe: str = "64K"
    scheduler: str = "none"
    context: str = "process"
    jitter_us: int = 50
    page_cache: str = ""  # of each server; "": the profile's

    def options(self, seed: int) -> list[str]:
        words = ["--servers", str(self.servers), "--stripe-bytes", self.stripe,
                 "--scheduler", self.scheduler, "--context", self.context,
                 "--jitter-us", str(self.jitter_us), "--seed", str(seed)]
        return words + (["--page-cache-bytes", self.page_cache] if self.page_cache else [])


@dataclass(frozen=True)
class Cluster:
    """Compute nodes whose messages and file data share real, shaped links: `unisono cluster up`."""

    nodes: int
    rate: str = "1gbit"


@dataclass(frozen=True)
class Job:
    """One MPI program of a run. `options` are the program's own, without the dashes."""

    program: str
    ranks: int
    options: Mapping[str, str | int] = field(default_factory=dict)
    direction: str = "read"  # or "write": over a file that is there; or "both": written, then read
    sync: bool = True  # the time of writing contains MPI_File_sync
    access: str = "collective"
    flags: tuple[str, ...] = ()
    file: str = "file"
    address_bytes: int | None = None  # where the file begins on each disk
    background: bool = False  # its bytes do not count
    begins_after_s: float = 0.0  # later than the others

    @property
    def synced(self) -> bool:
        """Its time contains MPI_File_sync; alltoall has no file, flash-io leaves that to HDF5."""
        without = ("alltoall", "flash-io")
        return self.direction == "write" and self.sync and self.program not in without


@dataclass(frozen=True)
class Line:
    """One curve: what runs at each x, and on which side (bench/sides.py), `side:strategy` for
    Unisono with a strategy."""

    name: str
    side: str
    jobs: Mapping[str, tuple[Job, ...]]
    hints: str = ""  # instead of the side's own
    settings: Mapping[str, str] = field(default_factory=dict)  # variables, for Unisono
    with_close: bool = False  # the time of the close counts, too
    calls_only: bool = False  # the time between the calls (--compute-seconds) does not count
    orchestra: tuple[str, ...] | None = None  # options of `unisono orchestra up`; None: without
    testbed: Servers | None = None  # None: the figure's; the profile must be the figure's
    # What the value is instead of MB/s; one of them at most:
    lists_of: int = 0  # KiB of lists and views that all processes send, times this
    calls_of: str = ""  # how often they call MPI for I/O: "point-to-point" (sends) or "collective"
    segments: bool = False  # TCP segments that a node of the cluster sends, on average

    @property
    def gated_in_clients(self) -> bool:
        return "clients" in (self.orchestra or ())

    @property
    def counts_messages(self) -> bool:
        return bool(self.lists_of or self.calls_of)


@dataclass(frozen=True)
class Claim:
    """A number that the paper gives: a ratio of two cells, or the value of one (`against` is empty).

    `at` is an x, or "best" or "mean": of the ratios at all x that both lines have.
    """

    says: str
    paper: float
    where: str
    line: str
    at: str
    against: str = ""
    against_at: str = ""  # another x than `at`
    why: str = ""  # why ours differs, as far as it is known
    on: str = ""  # a ceiling, if not the figure's own profile
    within: float = AGREEMENT  # ours agrees if it differs from the paper's by at most this factor
    in_words: bool = False  # the paper has it in words only, and the number is ours
    own: bool = False  # this project's claim and not the paper's; `paper` is what we expect


@dataclass(frozen=True)
class Figure:
    """One experiment. `nodes`: on so many nodes Unisono is told that the ranks are; 0: each rank on
    its own, as in most papers."""

    name: str
    title: str
    source: str
    testbed: Servers
    x_label: str
    lines: tuple[Line, ...]
    claims: tuple[Claim, ...]
    differs: str  # from the paper, besides what docs/understand/papers-method.md says of all
    nodes: int = 0
    seeds: int = 5
    ceiling_seeds: int = 1
    cluster: Cluster | None = None  # instead of `nodes`: the ranks run on a pocket cluster
    unit: str = "MB/s"
    timeline: str = ""  # an x whose runs are drawn as throughput over time
    run_seconds: float = 3.0  # of one run with what stands around it, before any was measured

    @property
    def runs(self) -> int:
        """How many there are if none is rejected."""
        def each(line: Line) -> int:
            ceilings = 2 if line.orchestra is None or line.gated_in_clients else 1
            return len(line.jobs) * (self.seeds + ceilings * self.ceiling_seeds)

        return sum(map(each, self.lines))

    @property
    def xs(self) -> list[str]:
        """All x in the order in which the lines have them."""
        return list(dict.fromkeys(x for line in self.lines for x in line.jobs))


def sweep(program: str, ranks: int, over: str, xs: tuple[str, ...], options: Mapping[str, str | int],
          **job) -> dict[str, tuple[Job, ...]]:
    """One job at each x, which is the value of the option `over`."""
    return {x: (Job(program, ranks, {over: x, **options}, **job),) for x in xs}
