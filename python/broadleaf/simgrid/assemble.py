"""A platform from hosts and routes: what several hosts share, and one line for many equal pairs."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from broadleaf._core import Platform
from broadleaf.errors import PlatformError
from broadleaf.simgrid.network import Network, Pair, Route

Document = dict[str, Any]

# Pairs that are not alike are written one by one; of more hosts than this the file would be too large.
MOST_LINKS = 1_000_000


def platform_of(path: Path, network: Network) -> Platform:
    """One-port: each pair's rate is its slowest link's, and it uses the links that hosts share.

    A link that only one host sends over, or only one receives over, is that host's port and limits nothing
    more. SimGrid shares a link among transfers at the same time; here they take turns, which takes as long.
    """
    shared = shared_links(network)
    ids: dict[int, str] = {}
    for number in sorted(shared):
        # Zones of one type may use a name twice.
        name, again = network.links[number].name, 1
        while name in ids.values():
            again += 1
            name = f"{network.links[number].name}#{again}"
        ids[number] = name
    classes = {pair: class_of(network, route, ids) for pair, route in network.routes.items()}
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
        "port_model": "one-port",
        "provenance": {"source": f"SimGrid platform file {path.name}"},
        "nodes": [
            {"id": host, "cluster": zone} for host, zone in zip(network.hosts, network.zones, strict=True)
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


def shared_links(network: Network) -> set[int]:
    """The links that limit several hosts' transfers together: not a port that is one host's own."""
    senders: dict[int, set[int]] = defaultdict(set)
    receivers: dict[int, set[int]] = defaultdict(set)
    for (source, target), route in network.routes.items():
        for link in route.links:
            senders[link].add(source)
            receivers[link].add(target)
    return {
        link
        for link in senders
        if network.links[link].is_shared and len(senders[link]) > 1 and len(receivers[link]) > 1
    }


def class_of(network: Network, route: Route, ids: dict[int, str]) -> Document:
    """The platform format's fields of a link."""
    found: Document = {"latency_s": route.latency_s}
    if route.links:
        found["bandwidth_bytes_per_s"] = min(
            # A route that goes over a shared link twice gets half of it.
            network.links[link].bandwidth_bytes_per_s / (times if network.links[link].is_shared else 1)
            for link, times in Counter(route.links).items()
        )
    uses = list(dict.fromkeys(ids[link] for link in route.links if link in ids))
    return {**found, "uses": uses} if uses else found


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
