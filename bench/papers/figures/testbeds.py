"""The papers' platforms. What a paper does not say is in docs/papers.md with what was chosen."""

from ..experiment import Servers

# Four servers; requests are served by a thread each, so CFQ sees a new context every time.
RESONANT = Servers("sata-80gb", servers=4, scheduler="cfq", context="request")

# Six servers, CFQ by name.
IORCHESTRATOR = Servers("barracuda-7200.10", servers=6, scheduler="cfq", context="request")

# The paper has 32 servers and 64 processes on 32 nodes: a quarter of both here.
LACIO = Servers("sata-250gb", servers=8, scheduler="cfq", context="request")

# Six servers. Little memory, so that a file that is read again and again comes from the disks.
ORTHRUS = Servers("wd5000aaks", servers=6, scheduler="cfq", context="request", page_cache="8M")

# Eight servers; the paper does not say which disks, and has InfiniBand.
VIEW_BASED = Servers("barracuda-7200.10", servers=8, scheduler="cfq", context="request")
