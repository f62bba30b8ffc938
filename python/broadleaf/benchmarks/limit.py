"""The limit of a collective: the certified bound of every plan."""

from __future__ import annotations

import math

from broadleaf._core import Platform, makespan_bound_s
from broadleaf.benchmarks import BenchError


def limit_s(platform: Platform, root: str, message_bytes: int, collective: str = "bcast") -> float:
    """The bound of all plans on a platform, in the model and where bytes wait for pipes, seconds. Raises
    BenchError where there is none."""
    networks = (platform, *through_pipes(platform))
    found_s = max(makespan_bound_s(network, root, message_bytes, collective) for network in networks)
    if not 0 < found_s < math.inf:
        raise BenchError(f"{platform.name}: nothing bounds a collective there; give its links a rate")
    return found_s


def through_pipes(platform: Platform) -> list[Platform]:
    """The platform on which bytes arrive no sooner than all pipes of their link have carried them, if it
    differs.

    In the model a transfer arrives at its link's rate, however slow its pipes are, which no network can do.
    Here it holds ports as long as there, and its link until the narrowest pipe has carried the bytes.
    """
    network = platform.to_dict()
    if network["port_model"] != "one-port":
        return []
    pipes = {pipe["id"]: 1 / pipe["bandwidth_bytes_per_s"] for pipe in network.get("shared", [])}
    joins = [*network.get("meshes", []), *network.get("bridges", [])]
    is_slower = False
    for link in [*network.get("links", []), *(join["link"] for join in joins)]:
        if "bandwidth_bytes_per_s" not in link:
            return []
        uses = link.get("uses", [])
        s_per_byte = 1 / link["bandwidth_bytes_per_s"]
        slowest = max([s_per_byte, *(pipes[pipe] * uses.count(pipe) for pipe in uses)])
        is_slower |= slowest > s_per_byte
        link.update(dict.fromkeys(("send_startup_s", "recv_startup_s"), link.get("startup_s", 0.0)))
        link.update(dict.fromkeys(("send_s_per_byte", "recv_s_per_byte"), s_per_byte))
        link["bandwidth_bytes_per_s"] = 1 / slowest
    network["port_model"] = "multi-port"
    return [Platform.from_dict(network)] if is_slower else []
