"""A platform whose hosts are regrouped by latency."""

from __future__ import annotations

from typing import Any

from broadleaf._core import Platform, clusters


def clustered(platform: Platform, tolerance: float) -> Platform:
    """The same network with Lowekamp's clusters, c0, c1 ... in the order of their first hosts.

    Bridges, which lead from one old cluster to another, become links. Raises ValueError as `bl.clusters`.
    """
    document: dict[str, Any] = platform.to_dict()
    cluster_of = {
        host: f"c{at}" for at, members in enumerate(clusters(platform, tolerance)) for host in members
    }
    bridges = document.pop("bridges", [])
    old: dict[str | None, list[str]] = {}
    for node in document["nodes"]:
        old.setdefault(node.pop("cluster", None), []).append(node["id"])
        if node["id"] in cluster_of:
            node["cluster"] = cluster_of[node["id"]]
    links = list(document.get("links", []))
    known = {(link["from"], link["to"]) for link in links}
    known |= {(link["to"], link["from"]) for link in links if link.get("both_ways")}
    for bridge in bridges:
        ends = [(bridge["from_cluster"], bridge["to_cluster"])]
        if bridge.get("both_ways"):
            ends.append((bridge["to_cluster"], bridge["from_cluster"]))
        for source_cluster, target_cluster in ends:
            for source in old.get(source_cluster, []):
                for target in old.get(target_cluster, []):
                    link = platform.link(source, target)
                    if (source, target) not in known and link is not None:
                        known.add((source, target))
                        links.append({**link, "from": source, "to": target})
    if links:
        document["links"] = links
    return Platform.from_dict(document)
