"""The papers' platforms. What a paper does not say is in docs/understand/papers-method.md with what was chosen."""

import dataclasses

from ..experiment import Figure, Servers

# Memory: where the paper's files are larger than its servers' memory, ours are, too.

# Four servers. Section 1.2 says that a server usually serves requests in the order in which it gets
# them. Linux 2.6.21's own scheduler was CFQ: resonant-fig2-cfq has it, with a context for each file,
# because glibc has one thread at a time for each descriptor.
RESONANT = Servers("resonant-2009", servers=4, scheduler="none", page_cache="8M")
RESONANT_CFQ = dataclasses.replace(RESONANT, scheduler="cfq", context="file")

# Six servers, CFQ by name.
IORCHESTRATOR = Servers("iorchestrator-2010", servers=6, scheduler="cfq", context="request")
IORCHESTRATOR_LARGE = dataclasses.replace(IORCHESTRATOR, page_cache="16M")  # files of 10 GB
PAPER = ("--policy", "paper")  # of `unisono orchestra`; docs/understand/orchestra.md says how they differ
PAPER_LINUX = ("--policy", "paper-linux")  # the other reading of its means
PAPER_KEPT = ("--policy", "paper-kept")  # a third: SL_i is what it was without slices
OURS = ("--policy", "default")
EVEN = ("--policy", "even")
# ROMIO's driver for PVFS2 asks for the pieces; on a POSIX file system it would read whole ranges.
PIECES = "romio_ds_read=disable,romio_ds_write=disable"
ASKS_FOR_PIECES = "ROMIO without data sieving, because the papers' driver for PVFS2 asks for pieces."

# The paper has 32 servers and 64 processes on 32 nodes: a quarter of both here.
LACIO = Servers("lacio-2011", servers=8, scheduler="cfq", context="request")

# Six servers. Little memory, so that a file that is read again and again comes from the disks.
ORTHRUS = Servers("orthrus-2014", servers=6, scheduler="cfq", context="request", page_cache="8M")

# Eight servers; the paper does not say which disks, and has InfiniBand.
VIEW_BASED = Servers("view-based-2008", servers=8, scheduler="cfq", context="request")


def modern(figure: Figure) -> Figure:
    """The same on disks and kernels of today. What the paper says is held against it as this
    project's question: does it hold today?"""
    today = dataclasses.replace(figure.testbed, profile="nearline", scheduler="deadline",
                                context="request")
    lines = tuple(dataclasses.replace(line, testbed=None) for line in figure.lines)
    return dataclasses.replace(
        figure, name=f"{figure.name}-today", title=f"{figure.title}, on servers of today",
        testbed=today, lines=lines, seeds=3,
        claims=tuple(dataclasses.replace(claim, own=True, why="") for claim in figure.claims
                     if claim.against),
        differs=f"{figure.differs} Disks and kernel are those of today (profile nearline,"
                " mq-deadline).")
