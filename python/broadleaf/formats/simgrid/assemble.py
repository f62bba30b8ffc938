"""A platform from hosts and routes: finds shared links, and writes equal pairs as meshes and bridges."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from broadleaf._core import Platform
from broadleaf.errors import PlatformError
from broadleaf.formats.simgrid.network import Network, Pair, Route

Document = dict[str, Any]

# Pairs with different links are written one by one; with more of them the file would be too large.
MOST_LINKS = 1_000_000


# One-port: a host's transfers take turns. Multi-port: they share its links, as in SimGrid.
PORT_MODELS = ("one-port", "multi-port")
PORTS = ("out_bytes_per_s", "in_bytes_per_s")


def platform_of(path: Path, network: Network, port_model: str) -> Platform:
    """The platform of a network: a pair has its slowest link's rate, and uses the links that hosts share.

    A link over which only one host sends, or only one receives, is that host's port and limits no other
    host. SimGrid shares a link among simultaneous transfers; here they take turns, which takes as long. In
    multi-port form such a link may be one of several of its host, for other receivers each; it is shared if
    it is slower than all of them together. A link whose transfers yield to nearer ones holds the port all
    the time (`add_yielding`).
    """
    own: dict[int, dict[str, float]] = {}
    several: dict[int, dict[str, float]] = {}
    shared = shared_links(network)
    if port_model == "multi-port":
        own, several = own_ports(network), several_links(network)
        shared |= slower_than_ports(
            network, {at: {**several.get(at, {}), **own.get(at, {})} for at in range(len(network.hosts))}
        )
    ids: dict[int, str] = {}
    for number in sorted(shared):
        # Two zones may use the same name.
        name, again = network.links[number].name, 1
        while name in ids.values():
            again += 1
            name = f"{network.links[number].name}#{again}"
        ids[number] = name
    classes = {pair: class_of(network, route, ids) for pair, route in network.routes.items()}
    add_yielding(classes, own)
    groups: dict[str, list[int]] = defaultdict(list)
    for host, zone in enumerate(network.zones):
        groups[zone].append(host)
    meshes, bridges, links = folded(network, classes, groups)
    if len(links) > MOST_LINKS:
        raise PlatformError(
            f"{path}: {len(links)} pairs of hosts with routes of their own are more than {MOST_LINKS}; "
            "give it fewer hosts"
        )
    document: Document = {
        "format": "broadleaf-platform/1",
        "name": path.stem,
        "port_model": port_model,
        "provenance": {"source": f"SimGrid platform file {path.name}"},
        "nodes": [
            {"id": host, "cluster": zone, **several.get(at, {}), **own.get(at, {})}
            for at, (host, zone) in enumerate(zip(network.hosts, network.zones, strict=True))
        ],
        "shared": [
            {"id": name, "bandwidth_bytes_per_s": network.links[number].bandwidth_bytes_per_s}
            for number, name in ids.items()
        ],
        "links": links,
        "meshes": meshes,
        "bridges": bridges,
    }
    try:
        return Platform.from_dict({key: value for key, value in document.items() if value != []})
    except PlatformError as error:
        raise PlatformError(f"{path}: {error}") from None


def ends_of(network: Network) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
    """The hosts that send over each link, and those that receive over it."""
    senders: dict[int, set[int]] = defaultdict(set)
    receivers: dict[int, set[int]] = defaultdict(set)
    for (source, target), route in network.routes.items():
        for link in route.links:
            senders[link].add(source)
            receivers[link].add(target)
    return senders, receivers


def own_ports(network: Network) -> dict[int, dict[str, float]]:
    """The rates of the hosts' own links, bytes/s; of several in a row, the slowest.

    An own link is in all routes of the host, and in no other's, on that side.
    """
    rates: dict[int, dict[str, float]] = defaultdict(dict)
    for end, (name, hosts_of) in enumerate(zip(PORTS, ends_of(network), strict=True)):
        common: dict[int, set[int]] = {}
        for pair, route in network.routes.items():
            links = set(route.links)
            common[pair[end]] = common.get(pair[end], links) & links
        for host, links in common.items():
            own = [link for link in links if network.links[link].is_shared and len(hosts_of[link]) == 1]
            if own:
                rates[host][name] = min(network.links[link].bandwidth_bytes_per_s for link in own)
    return rates


def several_links(network: Network) -> dict[int, dict[str, float]]:
    """The total rates of the first and of the last links of each host's routes, bytes/s, where there are
    several: a host of a torus sends over all its cables at a time."""
    rates: dict[int, dict[str, float]] = defaultdict(dict)
    for end, (name, at) in enumerate(zip(PORTS, (0, -1), strict=True)):
        first: dict[int, set[int]] = defaultdict(set)
        for pair, route in network.routes.items():
            first[pair[end]] |= set(route.links[at:][:1])
        for host, links in first.items():
            if len(links) > 1 and all(network.links[link].is_shared for link in links):
                rates[host][name] = sum(network.links[link].bandwidth_bytes_per_s for link in links)
    return rates


def shared_links(network: Network) -> set[int]:
    """The links that limit several hosts' transfers together; the port of a single host is not one."""
    senders, receivers = ends_of(network)
    return {
        link
        for link in senders
        if network.links[link].is_shared and len(senders[link]) > 1 and len(receivers[link]) > 1
    }


def slower_than_ports(network: Network, ports: dict[int, dict[str, float]]) -> set[int]:
    """The links of several pairs with one sender, or one receiver, whose port does not limit them as much."""
    ends = ends_of(network)
    pairs = Counter(link for route in network.routes.values() for link in set(route.links))
    found = set()
    for number, count in pairs.items():
        link = network.links[number]
        # A port without a rate is held for as long as the link.
        rates = [
            ports[host][name]
            for name, hosts_of in zip(PORTS, ends, strict=True)
            if len(hosts_of[number]) == 1
            for host in hosts_of[number]
            if name in ports[host]
        ]
        if link.is_shared and count > 1 and rates and min(rates) > link.bandwidth_bytes_per_s:
            found.add(number)
    return found


def class_of(network: Network, route: Route, ids: dict[int, str]) -> Document:
    """The platform format's fields of a link."""
    found: Document = {"latency_s": route.latency_s}
    if route.links:
        found["bandwidth_bytes_per_s"] = min(
            # A route that crosses a shared link twice gets half of its rate.
            network.links[link].bandwidth_bytes_per_s / (times if network.links[link].is_shared else 1)
            for link, times in Counter(route.links).items()
        )
    # A link that a route crosses twice is listed twice.
    uses = [ids[link] for link in route.links if link in ids]
    return {**found, "uses": uses} if uses else found


def add_yielding(classes: dict[Pair, Document], ports: dict[int, dict[str, float]]) -> None:
    """Gives the send and receive parts of links that get less of a port than they need.

    Like TCP, SimGrid divides a port between transfers in inverse proportion to their latencies. Beside a
    transfer to the nearest host, one over a far and slow link stands still, and cannot catch up afterwards:
    the port is as good as held for the far link's whole time.
    """
    for end, (port, part) in enumerate(zip(PORTS, ("send_s_per_byte", "recv_s_per_byte"), strict=True)):
        nearest_s: dict[int, float] = {}
        for pair, link in classes.items():
            nearest_s[pair[end]] = min(nearest_s.get(pair[end], link["latency_s"]), link["latency_s"])
        for pair, link in classes.items():
            rate, near_s = link.get("bandwidth_bytes_per_s"), nearest_s[pair[end]]
            whole = ports.get(pair[end], {}).get(port)
            if rate is None or whole is None or link["latency_s"] <= near_s:
                continue
            if whole * near_s / (near_s + link["latency_s"]) < rate < whole:
                link[part] = 1.0 / rate


def folded(
    network: Network, classes: dict[Pair, Document], groups: dict[str, list[int]]
) -> tuple[list[Document], list[Document], list[Document]]:
    """Meshes for zones whose pairs are all alike, bridges for pairs of such zones, and all other links."""
    meshes, bridges, links = [], [], []
    for one, here in groups.items():
        for other, there in groups.items():
            pairs = [(source, target) for source in here for target in there if source != target]
            found = [classes.get(pair) for pair in pairs]
            alike = len(found) > 1 and found[0] is not None and all(each == found[0] for each in found)
            if alike and one == other:
                meshes.append({"nodes": [network.hosts[host] for host in here], "link": found[0]})
            elif alike:
                bridges.append({"from_cluster": one, "to_cluster": other, "link": found[0]})
            else:
                links += [
                    {"from": network.hosts[source], "to": network.hosts[target], **each}
                    for (source, target), each in zip(pairs, found, strict=True)
                    if each is not None
                ]
    return meshes, bridges, links
