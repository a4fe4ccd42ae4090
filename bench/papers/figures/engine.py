"""Our engine without the paper's idea: what a strategy gains over `two_phase` is the idea's, what
`two_phase` gains over ROMIO is the engine's (files are accessed while ranks exchange)."""

import dataclasses
from collections.abc import Callable, Mapping

from ..experiment import Job, Line

TWO_PHASE = "two_phase"


def with_two_phase(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """Beside each line of a strategy one of `two_phase`, with all else the same."""
    found = {line.name: line for line in lines}
    for line in lines:
        side, _, strategy = line.side.partition(":")
        if strategy and not line.settings:
            name = line.name.replace(strategy, TWO_PHASE, 1)
            if name == line.name and strategy != TWO_PHASE:
                raise ValueError(f"{line.name} does not name its strategy, {strategy}")
            found.setdefault(name, dataclasses.replace(line, name=name, side=f"{side}:{TWO_PHASE}"))
    return tuple(found.values())


def romio_and_resonant(runs: Callable[[str], Mapping[str, tuple[Job, ...]]]) -> tuple[Line, ...]:
    """Both, reading and writing. `runs`: by direction."""
    return with_two_phase(tuple(Line(f"{name}, {direction}", side, runs(direction))
                                for direction in ("read", "write")
                                for name, side in (("ROMIO", "mpich-tuned"),
                                                   ("resonant", "unisono-mpich:resonant"))))
