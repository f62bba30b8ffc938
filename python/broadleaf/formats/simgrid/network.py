"""The content of a SimGrid file: hosts, links, and the route of each ordered pair of hosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

Pair = tuple[int, int]


@dataclass(frozen=True)
class Link:
    """A link; FATPIPE limits each transfer separately, other links are shared between transfers."""

    name: str
    bandwidth_bytes_per_s: float
    is_shared: bool


@dataclass(frozen=True)
class Route:
    """The links from one host to another, in order, and their latency."""

    latency_s: float
    links: tuple[int, ...]


@dataclass
class Network:
    """Hosts and the zone of each; a pair without a route is absent from `routes`."""

    hosts: list[str] = field(default_factory=list)
    zones: list[str] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    routes: dict[Pair, Route] = field(default_factory=dict)


def only(network: Network, names: Sequence[str]) -> Network:
    """The network between some of its hosts, in that order."""
    place = {network.hosts.index(name): at for at, name in enumerate(names)}
    return Network(
        list(names),
        [network.zones[old] for old in place],
        network.links,
        {
            (place[one], place[other]): route
            for (one, other), route in network.routes.items()
            if one in place and other in place
        },
    )
