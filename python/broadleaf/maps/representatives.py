"""A few hosts of each switch are measured, and the others of the switch get what these have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

from broadleaf._core import Platform
from broadleaf.maps.read import Map, MapError

# Enough for the probe to find a pipe that four pairs at once fill.
PER_SWITCH = 4


def representatives(map: Map, available: Collection[str], per_switch: int = PER_SWITCH) -> list[str]:
    """The first available hosts of each switch, at most `per_switch`, in the map's order, by their names in
    `available`.

    Raises MapError for a switch of several hosts of which fewer than two are available, and for an available
    host that is not in the map."""
    name_of = {}
    for name in available:
        host = map.host_of(name)
        if host is None:
            raise MapError(f"{map.name}: {name} is on no switch of the map; add it there, or leave it out")
        name_of[host] = name
    chosen: list[str] = []
    for switch, hosts in map.hosts.items():
        found = [name_of[host] for host in hosts if host in name_of][:per_switch]
        if len(found) < min(2, len(hosts)):
            raise MapError(
                f"{map.name}: {switch} has {len(hosts)} hosts, of which {len(found)} can be measured; "
                "have two of each switch in the job"
            )
        chosen += found
    return chosen


def expanded(measured: Platform, map: Map, per_switch: int = PER_SWITCH) -> Platform:
    """The measured platform with all hosts of the map.

    A host that was not measured joins the cluster and the meshes of its switch's representatives, so it has
    their links. Where these are in several clusters, it joins the one that most of them are in, the first
    of equals, and `provenance.map.uneven` names the switch.

    Raises MapError where no mesh joins a host to its switch."""
    document: dict[str, Any] = measured.to_dict()
    nodes = document["nodes"]
    on = map.switch_of()
    node_of = {map.host_of(node.get("host", node["id"])): node for node in nodes}
    added: dict[str, list[str]] = {}
    uneven: list[str] = []
    for switch, hosts in map.hosts.items():
        present = [node_of[host] for host in hosts if host in node_of]
        if not present:
            raise MapError(f"{map.name}: {switch} has no measured host; measure again")
        clusters = Counter(node.get("cluster") for node in present)
        cluster = clusters.most_common(1)[0][0]
        if len(clusters) > 1:
            uneven.append(switch)
        twin = next(node for node in present if node.get("cluster") == cluster)
        for host in hosts:
            if host not in node_of:
                nodes.append({**twin, "id": host, "host": host})
                added.setdefault(twin["id"], []).append(host)
    for mesh in document.get("meshes", []):
        mesh["nodes"] += [host for twin in list(mesh["nodes"]) for host in added.get(twin, [])]
    meshed = {node for mesh in document.get("meshes", []) for node in mesh["nodes"]}
    alone = next((host for hosts in added.values() for host in hosts if host not in meshed), None)
    if alone is not None:
        raise MapError(f"{map.name}: no two hosts of {on[alone]} are in one cluster; measure all of them")
    filled = {"name": map.name, "measured_hosts": len(node_of), "uneven": uneven}
    document["provenance"] = {**(document.get("provenance") or {}), "map": filled}
    return Platform.from_dict(document)


def map_of(platform: Platform) -> dict[str, Any] | None:
    """`provenance.map`, if `expanded` wrote it."""
    provenance = platform.to_dict().get("provenance")
    found = provenance.get("map") if isinstance(provenance, dict) else None
    return found if isinstance(found, dict) and isinstance(found.get("uneven"), list) else None
