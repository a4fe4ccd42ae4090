"""What Unisono is to reach on one node, as ratios within one run: with a rank on each core, where
nobody is starved, and with twice as many ranks as cores."""

import dataclasses

# A cell whose confidence interval against the default of its own MPI lies below this is marked.
CLEARLY_BELOW = 0.9

Ratios = dict[str, float]  # least ones, by mode (fresh, overwrite, read); no target where one is missing


def _each(value: float) -> Ratios:
    return _by_mode(value, value, value)


def _by_mode(fresh: float, overwrite: float, read: float) -> Ratios:
    return {"fresh": fresh, "overwrite": overwrite, "read": read}


@dataclasses.dataclass(frozen=True)
class Wanted:
    posix: Ratios
    best_native: Ratios = dataclasses.field(default_factory=lambda: _each(1))
    default_romio: Ratios = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Target:
    title: str
    patterns: tuple[str, ...]
    a_rank_on_each_core: Wanted
    two_on_each: Wanted


TARGETS = (
    Target("strided pieces <= 256 B", ("strided-64",),
           Wanted(_by_mode(0.75, 0.65, 0.6)),
           Wanted(_by_mode(0.7, 0.7, 0.35), _each(2.5), _each(7))),
    Target("noncontiguous memory", ("memory-24",),
           Wanted(_by_mode(0.75, 0.65, 0.6)),
           Wanted(_by_mode(0.7, 0.7, 0.35), _each(2.5), _each(5.5))),
    Target("irregular 8-64 B", ("irregular",),
           Wanted(_by_mode(0.6, 0.5, 0.5)),
           Wanted(_by_mode(0.5, 0.5, 0.25), _by_mode(3, 3, 1.5), _each(10))),
    Target("64 B pieces with holes", ("hpio-64",),
           Wanted({}),
           Wanted({}, _each(1.5), _each(4))),
    Target("pieces of 1 KiB", ("strided-1k", "noncontig", "hpio-1k", "lattice"),
           Wanted(_by_mode(0.9, 0.8, 0.7)),
           Wanted(_by_mode(0.9, 0.9, 0.5), _each(1.2), _each(2.5))),
    Target("pieces of 4 KiB and more, tiles, blocks",
           ("strided-4k", "strided-64k", "strided-1m", "tile", "block-3d"),
           Wanted(_by_mode(0.9, 0.8, 0.7)),
           Wanted(_by_mode(0.9, 0.9, 0.8), _each(1.2), _each(2.5))),
    Target("contiguous", ("contiguous",),
           Wanted(_each(0.95), _each(0.97)),
           Wanted(_each(0.95), _each(0.97), _each(1))),
    Target("1000 small calls", ("calls-contiguous", "calls-strided", "ior-hard"),
           Wanted({}, _each(1.1)),
           Wanted({}, _each(0.8), _each(0.9))),
)


def wanted_of(pattern: str, ranks: int, cores: int) -> Wanted | None:
    target = next((target for target in TARGETS if pattern in target.patterns), None)
    if target is None or ranks not in (cores, 2 * cores):
        return None
    return target.a_rank_on_each_core if ranks == cores else target.two_on_each
