"""The limit of all broadcasts: the message through the slowest cut, plus the latency to the farthest
host."""

from __future__ import annotations

import heapq

from broadleaf._core import Platform, optimum


def limit_s(platform: Platform, root: str, message_bytes: int) -> float:
    """Message / slowest cut, plus the least latency to the farthest host, seconds."""
    rate = optimum(platform, root, message_bytes).upper_bound_bytes_per_s
    return message_bytes / rate + farthest_s(platform, root)


def farthest_s(platform: Platform, root: str) -> float:
    """Latency from the root to the host that is farthest from it."""
    reached: dict[str, float] = {}
    open_nodes = [(0.0, root)]
    while open_nodes:
        seconds, node = heapq.heappop(open_nodes)
        if node in reached:
            continue
        reached[node] = seconds
        for other in platform.successors(node):
            link = platform.link(node, other)
            if other not in reached and link is not None:
                heapq.heappush(open_nodes, (seconds + link.get("latency_s", 0.0), other))
    return max(reached[host] for host in platform.hosts)
