"""A platform for SimGrid: the XML file and the host list of `smpirun`.

Every host gets one link out and one link in at its NIC's rate, and every shared resource becomes a shared
link. Latencies are on the hosts' links inside a cluster, else on links between two hosts or clusters. A
transfer then takes latency + (bytes + 16) / slowest rate, 16 bytes being SMPI's header, and simultaneous
transfers share their common links: the bounded multi-port model. It equals the one-port platform for a
program that sends to one rank at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from broadleaf._core import Platform
from broadleaf.errors import PlatformError

Document = dict[str, Any]

# More routes make files of hundreds of megabytes; clusters joined by bridges need only a few.
MOST_HOSTS_IN_PAIRS = 500

# Fields of a link that SimGrid's links do not have.
NO_PLACE = ("gap", "startup_s", "send_startup_s", "send_s_per_byte", "recv_startup_s", "recv_s_per_byte")

# A rate that does not limit transfers, bytes/s.
UNLIMITED = 1e15


def write_simgrid(
    platform: Platform, folder: Path, profiles: Mapping[str, str] | None = None
) -> tuple[Path, Path]:
    """Writes `platform.xml` and `platform.hosts` into the folder and returns their paths.

    `profiles` are XML attributes of shared resources whose rates change over time, by id (`profiles.py`).

    Raises PlatformError for features that SimGrid lacks: gap tables, start-up times, local broadcasts,
    switches, and hosts without a link between them.
    """
    document = platform.to_dict()
    refuse_what_has_no_place(document)
    clusters = clusters_of(document)
    parts, routes = between_clusters(clusters) if clusters else between_pairs(platform, document)
    pipes = {pipe["id"]: pipe["bandwidth_bytes_per_s"] for pipe in document.get("shared", [])}
    lines = [
        '<?xml version="1.0"?>',
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
        '<platform version="4.1">',
        '<zone id="world" routing="Full">',
        *parts,
        *(
            link_line(f"pipe {pipe}", rate, more=(profiles or {}).get(pipe, ""))
            for pipe, rate in pipes.items()
        ),
        *routes,
        "</zone>",
        "</platform>",
    ]
    xml, hosts = folder / "platform.xml", folder / "platform.hosts"
    xml.write_text("\n".join(lines) + "\n", encoding="utf-8")
    hosts.write_text("".join(f"{host}\n" for host in platform.hosts), encoding="utf-8")
    return xml, hosts


def refuse_what_has_no_place(document: Document) -> None:
    name = document["name"]
    for node in document["nodes"]:
        if node.get("kind") == "switch":
            raise PlatformError(f'{name}: switch "{node["id"]}" cannot be simulated; give its links by pairs')
        if "local_broadcast_s" in node:
            raise PlatformError(f'{name}: "{node["id"]}" stands for a whole cluster; name its nodes instead')
    classes = [*document.get("links", [])]
    classes += [entry["link"] for kind in ("meshes", "bridges") for entry in document.get(kind, [])]
    for field in NO_PLACE:
        if any(link.get(field) for link in classes):
            raise PlatformError(
                f"{name}: SimGrid has no {field}; give latency_s and bandwidth_bytes_per_s on every link"
            )


@dataclass(frozen=True)
class Nic:
    """A host's limits of sending and receiving, bytes/s."""

    out: float
    into: float


def nic_of(node: Document, leaving: list[Document | None], entering: list[Document | None]) -> Nic:
    """The node's own rates, else those of its fastest links, since in one-port the links have the T."""

    def quickest(links: list[Document | None]) -> float:
        rates = (link.get("bandwidth_bytes_per_s", UNLIMITED) for link in links if link is not None)
        return float(max(rates, default=UNLIMITED))

    return Nic(
        node.get("out_bytes_per_s") or quickest(leaving), node.get("in_bytes_per_s") or quickest(entering)
    )


def link_line(name: str, rate: float, latency_s: float = 0.0, shared: bool = True, more: str = "") -> str:
    policy = "SHARED" if shared else "FATPIPE"
    return (
        f"<link id={quoteattr(name)} bandwidth={quoteattr(f'{rate!r}Bps')} "
        f'latency="{latency_s!r}s" sharing_policy="{policy}" {more}/>'
    )


def host_lines(host: str, nic: Nic, latency_s: float) -> list[str]:
    """A host and its two links, each of which carries `latency_s`."""
    return [
        f'<host id={quoteattr(host)} speed="1Gf"/>',
        link_line(f"out {host}", nic.out, latency_s),
        link_line(f"in {host}", nic.into, latency_s),
    ]


def links_of(names: list[str]) -> str:
    return "".join(f"<link_ctn id={quoteattr(name)}/>" for name in names)


def pipes_of(link: Document) -> list[str]:
    return [f"pipe {pipe}" for pipe in link.get("uses", [])]


@dataclass
class Clusters:
    """A platform of clusters only, each of them one mesh, with bridges between all of them."""

    members: dict[str, list[Document]]
    inside: dict[str, Document]
    bridges: dict[tuple[str, str], Document]

    def nic(self, cluster: str, node: Document) -> Nic:
        leaving = [link for (one, _), link in self.bridges.items() if one == cluster]
        entering = [link for (_, other), link in self.bridges.items() if other == cluster]
        inside = self.inside.get(cluster)
        return nic_of(node, [*leaving, inside], [*entering, inside])

    def half_s(self, cluster: str) -> float:
        """The part of a cluster's latency that each host's link carries."""
        return float(self.inside.get(cluster, {}).get("latency_s", 0.0)) / 2

    def left_s(self, one: str, other: str) -> float:
        """A bridge's latency without the halves of its two ends."""
        latency_s = float(self.bridges[one, other].get("latency_s", 0.0))
        return latency_s - self.half_s(one) - self.half_s(other)


def clusters_of(document: Document) -> Clusters | None:
    """The platform's clusters; None where it has another form.

    None also for a link that a route between clusters cannot express: one slower than the NICs at its ends,
    or with a latency below the sum of the two clusters' halves.
    """
    members: dict[str, list[Document]] = {}
    for node in document["nodes"]:
        members.setdefault(node.get("cluster", ""), []).append(node)
    if document.get("links") or "" in members:
        return None
    inside: dict[str, Document] = {}
    names = {frozenset(node["id"] for node in nodes): name for name, nodes in members.items()}
    for mesh in document.get("meshes", []):
        name = names.get(frozenset(mesh["nodes"]))
        if name is None or name in inside or mesh["link"].get("uses"):
            return None
        inside[name] = mesh["link"]
    bridges: dict[tuple[str, str], Document] = {}
    for bridge in document.get("bridges", []):
        one, other = bridge["from_cluster"], bridge["to_cluster"]
        bridges[one, other] = bridge["link"]
        if bridge.get("both_ways"):
            bridges[other, one] = bridge["link"]
    whole = all(name in inside for name, nodes in members.items() if len(nodes) > 1)
    if not whole or set(bridges) != set(permutations(members, 2)):
        return None
    clusters = Clusters(members, inside, bridges)
    nics = {name: [clusters.nic(name, node) for node in nodes] for name, nodes in members.items()}
    for (one, other), link in [*bridges.items(), *(((name, name), link) for name, link in inside.items())]:
        ends = min(max(nic.out for nic in nics[one]), max(nic.into for nic in nics[other]))
        if link.get("bandwidth_bytes_per_s", UNLIMITED) < ends:
            return None
    return clusters if all(clusters.left_s(*pair) >= 0.0 for pair in bridges) else None


def between_clusters(clusters: Clusters) -> tuple[list[str], list[str]]:
    """One zone a cluster, then the links between the clusters; and one route a bridge."""
    zones, ways, routes = [], [], []
    for name, nodes in clusters.members.items():
        zones.append(f'<zone id={quoteattr(f"zone {name}")} routing="Cluster">')
        for node in nodes:
            host = node["id"]
            zones += host_lines(host, clusters.nic(name, node), clusters.half_s(name))
            ends = f"up={quoteattr(f'out {host}')} down={quoteattr(f'in {host}')}"
            zones.append(f"<host_link id={quoteattr(host)} {ends}/>")
        zones += [f"<router id={quoteattr(f'router {name}')}/>", "</zone>"]
    for (one, other), link in clusters.bridges.items():
        way = f"way {one} {other}"
        ways.append(link_line(way, UNLIMITED, clusters.left_s(one, other), shared=False))
        ends = f"src={quoteattr(f'zone {one}')} dst={quoteattr(f'zone {other}')}"
        gates = f"gw_src={quoteattr(f'router {one}')} gw_dst={quoteattr(f'router {other}')}"
        route = links_of([*pipes_of(link), way])
        routes.append(f'<zoneRoute {ends} {gates} symmetrical="NO">{route}</zoneRoute>')
    return zones + ways, routes


def between_pairs(platform: Platform, document: Document) -> tuple[list[str], list[str]]:
    """Hosts and a link for each ordered pair, limiting only pairs slower than their NICs; and the routes."""
    hosts = platform.hosts
    if len(hosts) > MOST_HOSTS_IN_PAIRS:
        raise PlatformError(
            f"{platform.name}: {len(hosts)} hosts by pairs are more than {MOST_HOSTS_IN_PAIRS}; "
            "describe them as clusters, each with one mesh, and bridges between all of them"
        )
    links = {pair: platform.link(*pair) for pair in permutations(hosts, 2)}
    leaving: dict[str, list[Document | None]] = {host: [] for host in hosts}
    entering: dict[str, list[Document | None]] = {host: [] for host in hosts}
    for (one, other), link in links.items():
        leaving[one].append(link)
        entering[other].append(link)
    nics = {
        host: nic_of(node, leaving[host], entering[host])
        for host, node in zip(hosts, document["nodes"], strict=True)
    }
    lines = [line for host in hosts for line in host_lines(host, nics[host], 0.0)]
    routes = []
    for (one, other), link in links.items():
        if link is None:
            raise PlatformError(
                f'{platform.name}: no link leads from "{one}" to "{other}"; MPI needs one for any two hosts'
            )
        rate, way = link.get("bandwidth_bytes_per_s", UNLIMITED), f"way {one} {other}"
        own = rate < min(nics[one].out, nics[other].into)
        lines.append(link_line(way, rate if own else UNLIMITED, link.get("latency_s", 0.0), shared=own))
        route = links_of([f"out {one}", *pipes_of(link), way, f"in {other}"])
        routes.append(f'<route src={quoteattr(one)} dst={quoteattr(other)} symmetrical="NO">{route}</route>')
    return lines, routes
