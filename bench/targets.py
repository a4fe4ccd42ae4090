"""What Unisono is to reach, at TARGET_RANKS ranks, as ratios within one run."""

import dataclasses

TARGET_RANKS = 4

# A cell whose confidence interval against the default of its own MPI lies below this is marked.
CLEARLY_BELOW = 0.9


@dataclasses.dataclass(frozen=True)
class Target:
    """Least ratios by mode (fresh, overwrite, read). A mode that is missing has no target."""

    title: str
    patterns: tuple[str, ...]
    default_romio: dict[str, float]
    best_native: dict[str, float]
    posix: dict[str, float]


def _each(value: float) -> dict[str, float]:
    return {"fresh": value, "overwrite": value, "read": value}


def _writes_and_read(write: float, read: float) -> dict[str, float]:
    return {"fresh": write, "overwrite": write, "read": read}


TARGETS = (
    Target("strided pieces <= 256 B", ("strided-64",),
           _each(7), _each(2.5), _writes_and_read(0.7, 0.35)),
    Target("noncontiguous memory", ("memory-24",),
           _each(5.5), _each(2.5), _writes_and_read(0.7, 0.35)),
    Target("irregular 8-64 B", ("irregular",),
           _each(10), _writes_and_read(3, 1.5), _writes_and_read(0.5, 0.25)),
    Target("64 B pieces with holes", ("hpio-64",),
           _each(4), _each(1.5), {}),
    Target("pieces of 1 KiB", ("strided-1k", "noncontig", "hpio-1k", "lattice"),
           _each(2.5), _each(1.2), _writes_and_read(0.9, 0.5)),
    Target("pieces of 4 KiB and more, tiles, blocks",
           ("strided-4k", "strided-64k", "strided-1m", "tile", "block-3d"),
           _each(2.5), _each(1.2), _writes_and_read(0.9, 0.8)),
    Target("contiguous", ("contiguous",),
           _each(1), _each(0.97), _each(0.95)),
    Target("1000 small calls", ("calls-contiguous", "calls-strided", "ior-hard"),
           _each(0.9), _each(0.8), {}),
)


def target_of(pattern: str) -> Target | None:
    return next((target for target in TARGETS if pattern in target.patterns), None)
