"""The platform as the page draws it: sites, clusters, nodes, and what joins them, with a rate each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from broadleaf._core import Platform

# The most nodes drawn singly, alone or in a cluster; more are grouped in file order.
MOST_LOOSE = 300
GROUP = 64
# Up to this many, all nodes are drawn at once (map.js), and clusters stay whole.
EVERY_NODE = 700
# With more links the picture would be black; the page gives their number instead.
MOST_LINKS = 3000

Document = dict[str, Any]


@dataclass
class Grouping:
    """The cluster of each node, and each cluster's site, by place in the lists."""

    names: list[str]
    sites: list[str | None]
    of: list[int]
    told: str | None = None


def drawing_of(platform: Platform, segment_bytes: int) -> Document:
    """What the page needs of a platform; rates are those of a transfer of `segment_bytes`, bytes/s."""
    document = platform.to_dict()
    nodes = document["nodes"]
    place = {node["id"]: at for at, node in enumerate(nodes)}
    groups = grouping(nodes)
    pipes = {pipe["id"]: pipe["bandwidth_bytes_per_s"] for pipe in document.get("shared", [])}
    inside: dict[int, float | None] = {}
    ties: dict[tuple[int, int], Document] = {}
    links: list[list[Any]] = []
    for source, target, link in samples(document, groups, place):
        rate = rate_of(platform, nodes[source]["id"], nodes[target]["id"], link, pipes, segment_bytes)
        one, other = groups.of[source], groups.of[target]
        if link["is_mesh"] and one == other:
            inside[one] = rate
        elif one == other:
            links.append([source, target, rate, link["latency_s"], sorted(link["uses"])])
        else:
            key = (min(one, other), max(one, other))
            tie = ties.setdefault(key, {"rates": [None, None], "links": 0, "pipes": set(), **link})
            side = int(one > other)
            tie["rates"][side] = max(rate or 0.0, tie["rates"][side] or 0.0) or None
            tie["links"] += link["count"]
            tie["pipes"] |= set(link["uses"])
    return {
        "name": platform.name,
        "port_model": platform.port_model,
        "nodes": [node["id"] for node in nodes],
        "switches": [at for at, node in enumerate(nodes) if node.get("kind") == "switch"],
        "cluster_of": groups.of,
        "clusters": groups.names,
        "sites": groups.sites,
        "grouping": groups.told,
        "inside": [inside.get(at) for at in range(len(groups.names))],
        "ties": [
            [one, other, *tie["rates"], tie["latency_s"], tie["links"], sorted(tie["pipes"])]
            for (one, other), tie in ties.items()
        ],
        "links": links[:MOST_LINKS],
        "link_count": len(links),
        "pipes": pipes,
        "provenance": document.get("provenance"),
    }


def grouping(nodes: list[Document]) -> Grouping:
    """The platform's own clusters, large ones in groups; where it has none, all nodes together, or groups."""
    named = any("cluster" in node for node in nodes)
    members: dict[tuple[str | None, str | None], list[int]] = {}
    for at, node in enumerate(nodes):
        key = (node.get("cluster"), node.get("site")) if named else (None, None)
        members.setdefault(key, []).append(at)
    most = MOST_LOOSE if len(nodes) > EVERY_NODE or not named else len(nodes)
    names: list[str] = []
    sites: list[str | None] = []
    of = [0] * len(nodes)
    for (cluster, site), places in members.items():
        name = cluster or ("without a cluster" if named else "")
        length = len(places) if len(places) <= most else GROUP
        for start in range(0, len(places), length):
            part = places[start : start + length]
            for at in part:
                of[at] = len(names)
            ends = f"{nodes[part[0]]['id']} … {nodes[part[-1]]['id']}"
            names.append(name if length == len(places) else ends)
            # Groups are arranged around their cluster.
            sites.append(site if length == len(places) else (site or cluster))
    if len(names) == len(members):
        return Grouping(names, sites, of)
    what = f"Clusters of more than {most} nodes" if named else "The platform names no clusters: nodes"
    return Grouping(names, sites, of, f"{what} are grouped by {GROUP} in file order.")


def samples(
    document: Document, groups: Grouping, place: dict[str, int]
) -> Iterator[tuple[int, int, Document]]:
    """One (source, target, link) for each mesh, each direction of a bridge, and each explicit link."""
    members: dict[str, list[int]] = {}
    for at, node in enumerate(document["nodes"]):
        members.setdefault(node.get("cluster", ""), []).append(at)

    def described(link: Document, count: int, is_mesh: bool = False) -> Document:
        return {
            "latency_s": link.get("latency_s", 0.0),
            "uses": link.get("uses", []),
            "count": count,
            "is_mesh": is_mesh,
        }

    explicit: set[tuple[int, int]] = set()
    for link in document.get("links", []):
        ends = place[link["from"]], place[link["to"]]
        explicit |= {ends, ends[::-1]} if link.get("both_ways") else {ends}
    overridden = Counter((groups.of[source], groups.of[target]) for source, target in explicit)

    def between(
        here: list[int], there: list[int], link: Document, is_mesh: bool = False
    ) -> Iterator[tuple[int, int, Document]]:
        """A pair that has this link, and the number of such pairs; none where each pair has its own
        link."""
        pairs = ((one, other) for one in here for other in there if one != other)
        pair = next((pair for pair in pairs if pair not in explicit), None)
        if pair is not None:
            every = len(here) * len(there) - len(here) * (here is there)
            count = every - overridden[groups.of[pair[0]], groups.of[pair[1]]]
            yield *pair, described(link, max(1, count), is_mesh)

    def parts_of(places: list[int]) -> list[list[int]]:
        parts: dict[int, list[int]] = {}
        for at in places:
            parts.setdefault(groups.of[at], []).append(at)
        return list(parts.values())

    # Over several groups, a mesh or a bridge is one tie for each two of them.
    for mesh in document.get("meshes", []):
        parts = parts_of([place[name] for name in mesh["nodes"]])
        for here, there in product(parts, parts):
            yield from between(here, there, mesh["link"], here is there)
    for bridge in document.get("bridges", []):
        sources, targets = (parts_of(members[bridge[end]]) for end in ("from_cluster", "to_cluster"))
        for here, there in product(sources, targets):
            yield from between(here, there, bridge["link"])
            if bridge.get("both_ways"):
                yield from between(there, here, bridge["link"])
    for link in document.get("links", []):
        source, target = place[link["from"]], place[link["to"]]
        yield source, target, described(link, 1)
        if link.get("both_ways"):
            yield target, source, described(link, 1)


def rate_of(
    platform: Platform,
    source: str,
    target: str,
    link: Document,
    pipes: dict[str, float],
    segment_bytes: int,
) -> float | None:
    """Bytes/s of one transfer of a segment, the pipes it uses included; None where nothing limits it."""
    held_s = platform.transfer_s(source, target, segment_bytes)
    held_s = max([held_s, *(segment_bytes / pipes[pipe] for pipe in link["uses"])])
    return segment_bytes / held_s if held_s > 0 else None
