"""The commands that make a pocket cluster's nodes and links, as values. Pure: runs nothing.

All links hang on one bridge. A node's own end of its link is named as the bridge is, because MPI
libraries look interfaces up in /sys, which is this machine's on every node.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network

from .places import Failure

Command = list[str]

# Kept free for tests of networks (RFC 2544).
_NETWORKS = IPv4Network("198.18.0.0/15")
_RATE = re.compile(r"(\d+(?:\.\d+)?)([kmg]?)bit")
_PREFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_RATE_BITS_MIN = 10**6

# A timer that is so late loses no bandwidth.
_TIMER_S = 0.0005
_BURST_BYTES_MIN = 16 * 1024
# What a port of the switch may have waiting before it drops: a few segments, a few milliseconds.
_QUEUE_S = 0.004
_QUEUE_BYTES_MIN = 256 * 1024
# Linux's own default, whatever this machine uses for the world outside: BBR, where every connection
# first has to learn the rate of a link, makes runs differ by half (docs/lab/tried.md).
_TCP = ["congctl", "cubic"]


@dataclass(frozen=True)
class Link:
    """Of one node, in each direction. `latency_us` is one way from node to node."""

    rate_bits: int  # per second
    latency_us: int = 0


@dataclass(frozen=True)
class Node:
    host: str  # its host name
    namespace: str  # of the network, as `ip netns` names it
    uts: str  # the file that holds its host name's namespace
    port: str  # the bridge's end of its link
    address: str


def parse_rate(text: str) -> int:
    """Bits per second."""
    match = _RATE.fullmatch(text.lower())
    bits = int(float(match[1]) * _PREFIXES[match[2]]) if match else 0
    if bits < _RATE_BITS_MIN:
        raise Failure(f"rate '{text}'; valid: 1mbit and more, such as 100mbit or 1gbit")
    return bits


def free_network(used: Iterable[IPv4Network]) -> IPv4Network:
    """The first /24 for tests that overlaps none of `used`."""
    taken = list(used)
    for network in _NETWORKS.subnets(new_prefix=24):
        if not any(network.overlaps(other) for other in taken):
            return network
    raise Failure(f"no network is left in {_NETWORKS}")


def gateway_of(network: IPv4Network) -> str:
    """The bridge's own address: this machine's, as the nodes see it."""
    return str(network[1])


def bridge_commands(bridge: str, network: IPv4Network) -> list[Command]:
    gateway = f"{gateway_of(network)}/{network.prefixlen}"
    return [
        ["ip", "link", "add", bridge, "type", "bridge"],
        ["ip", "link", "set", bridge, "addrgenmode", "none"],
        ["ip", "address", "add", gateway, "dev", bridge],
        ["ip", "link", "set", bridge, "up"],
        _route(["ip"], bridge, network, gateway_of(network)),
    ]


def _route(ip: Command, device: str, network: IPv4Network, source: str) -> Command:
    """The one that came with the address, with the congestion control that connections are to have."""
    return [*ip, "route", "change", str(network), "dev", device, "scope", "link", "src", source, *_TCP]


def node_commands(node: Node, bridge: str, network: IPv4Network, link: Link) -> list[Command]:
    """Nothing but the node's own traffic is to be on its link: no IPv6 addresses, which talk."""
    inside = ["ip", "-n", node.namespace]
    return [
        ["unshare", f"--uts={node.uts}", "hostname", node.host],
        ["ip", "netns", "add", node.namespace],
        ["ip", "link", "add", node.port, "type", "veth", "peer", "name", bridge,
         "netns", node.namespace],
        ["ip", "link", "set", node.port, "addrgenmode", "none", "master", bridge],
        [*inside, "link", "set", bridge, "addrgenmode", "none"],
        *shaping_commands(["tc"], node.port, link.rate_bits, _port_queue(link)),
        *shaping_commands(["tc", "-n", node.namespace], bridge, link.rate_bits, _host_queue(link)),
        ["ip", "link", "set", node.port, "up"],
        [*inside, "address", "add", f"{node.address}/{network.prefixlen}", "dev", bridge],
        [*inside, "link", "set", "lo", "up"],
        [*inside, "link", "set", bridge, "up"],
        _route(inside, bridge, network, node.address),
        [*inside, "route", "add", "default", "via", gateway_of(network)],
    ]  # fmt: skip


def _port_queue(link: Link) -> Command:
    return ["bfifo", "limit", str(max(int(link.rate_bits / 8 * _QUEUE_S), _QUEUE_BYTES_MIN))]


def _host_queue(link: Link) -> Command:
    """Long: TCP keeps it short itself, and where it drops, TCP waits 200 ms to try again."""
    if link.latency_us:
        return ["netem", "delay", f"{link.latency_us}us", "limit", "100000"]
    return ["pfifo", "limit", "10000"]


def shaping_commands(tc: Command, device: str, rate_bits: int, queue: Command) -> list[Command]:
    """What `device` sends leaves at the rate, out of a queue."""
    burst = str(max(int(rate_bits / 8 * _TIMER_S), _BURST_BYTES_MIN))
    return [
        [*tc, "qdisc", "add", "dev", device, "root", "handle", "1:", "htb", "default", "1"],
        [*tc, "class", "add", "dev", device, "parent", "1:", "classid", "1:1", "htb",
         "rate", f"{rate_bits}bit", "burst", burst, "cburst", burst, "quantum", "65536"],
        [*tc, "qdisc", "add", "dev", device, "parent", "1:1", "handle", "10:", *queue],
    ]  # fmt: skip
