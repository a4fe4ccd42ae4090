"""The papers' platforms. What a paper does not say is in docs/understand/papers-method.md with what was chosen."""

import dataclasses

from ..experiment import Servers

# Four servers. Section 1.2 says that a server usually serves requests in the order in which it gets
# them. Linux 2.6.21's own scheduler was CFQ: resonant-fig2-cfq has it, with a context for each
# request, as for a server with a thread for each.
RESONANT = Servers("sata-80gb", servers=4, scheduler="none")
RESONANT_CFQ = dataclasses.replace(RESONANT, scheduler="cfq", context="request")

# Six servers, CFQ by name.
IORCHESTRATOR = Servers("barracuda-7200.10", servers=6, scheduler="cfq", context="request")
PAPER = ("--policy", "paper")  # of `unisono orchestra`; docs/understand/orchestra.md says how they differ
OURS = ("--policy", "default")
EVEN = ("--policy", "even")
# ROMIO's driver for PVFS2 asks for the pieces; on a POSIX file system it would read whole ranges.
PIECES = "romio_ds_read=disable,romio_ds_write=disable"
ASKS_FOR_PIECES = "ROMIO without data sieving, because the papers' driver for PVFS2 asks for pieces."

# The paper has 32 servers and 64 processes on 32 nodes: a quarter of both here.
LACIO = Servers("sata-250gb", servers=8, scheduler="cfq", context="request")

# Six servers. Little memory, so that a file that is read again and again comes from the disks.
ORTHRUS = Servers("wd5000aaks", servers=6, scheduler="cfq", context="request", page_cache="8M")

# Eight servers; the paper does not say which disks, and has InfiniBand.
VIEW_BASED = Servers("barracuda-7200.10", servers=8, scheduler="cfq", context="request")
