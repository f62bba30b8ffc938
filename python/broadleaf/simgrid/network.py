"""What a SimGrid file comes down to: hosts, links, and the route of each ordered pair of hosts."""

from __future__ import annotations

from dataclasses import dataclass, field

Pair = tuple[int, int]


@dataclass(frozen=True)
class Link:
    """A link as its transfers meet it: FATPIPE limits each of them alone, all else is shared between them."""

    name: str
    bandwidth_bytes_per_s: float
    is_shared: bool


@dataclass(frozen=True)
class Route:
    """The links from one host to another, in order, and the time that a byte needs for them."""

    latency_s: float
    links: tuple[int, ...]


@dataclass
class Network:
    """Hosts with the zone each is in; a pair without a route is absent from `routes`."""

    hosts: list[str] = field(default_factory=list)
    zones: list[str] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    routes: dict[Pair, Route] = field(default_factory=dict)
