"""Random networks that no planner was made for."""

from __future__ import annotations

import random
from itertools import permutations

import broadleaf as bl


def sparse(seed: int, hosts: int, links: int) -> bl.Platform:
    """A random tree and more links; latencies, rates and start-ups over orders of magnitude."""
    draw = random.Random(seed)
    ids = [f"n{at}" for at in range(hosts)]
    pairs = {(draw.randrange(at), at) for at in range(1, hosts)}
    while len(pairs) < links:
        one, other = sorted(draw.sample(range(hosts), 2))
        pairs.add((one, other))
    joined = [
        {
            "from": ids[one],
            "to": ids[other],
            "both_ways": True,
            "latency_s": 10 ** draw.uniform(-5, -2),
            "bandwidth_bytes_per_s": 10 ** draw.uniform(6.5, 8.5),
            "startup_s": draw.choice((0.0, 10 ** draw.uniform(-6, -3.5))),
        }
        for one, other in sorted(pairs)
    ]
    document = {"format": "broadleaf-platform/1", "name": f"sparse-{seed}", "port_model": "one-port"}
    return bl.Platform.from_dict({**document, "nodes": [{"id": node} for node in ids], "links": joined})


def drawn_grid(seed: int) -> bl.Platform:
    """Four to six clusters of 6 to 12 hosts at 1 Gb/s, and a pipe of 0.1 to 1 Gb/s from each to each."""
    draw = random.Random(seed)
    clusters = [
        [f"c{cluster}-{at}" for at in range(draw.randint(6, 12))] for cluster in range(draw.randint(4, 6))
    ]
    rate = 125e6
    meshes = [
        {"nodes": members, "link": {"latency_s": 5e-5, "bandwidth_bytes_per_s": rate}} for members in clusters
    ]
    pipes, bridges = [], []
    for one, other in permutations(range(len(clusters)), 2):
        name = f"{one}-to-{other}"
        pipes.append({"id": name, "bandwidth_bytes_per_s": draw.uniform(rate / 10, rate)})
        link = {"latency_s": draw.uniform(5e-4, 1.5e-2), "bandwidth_bytes_per_s": rate, "uses": [name]}
        bridges.append({"from_cluster": f"C{one}", "to_cluster": f"C{other}", "link": link})
    nodes = [
        {"id": host, "cluster": f"C{cluster}"} for cluster, members in enumerate(clusters) for host in members
    ]
    document = {"format": "broadleaf-platform/1", "name": f"drawn-grid-{seed}", "port_model": "one-port"}
    parts = {"nodes": nodes, "meshes": meshes, "shared": pipes, "bridges": bridges}
    return bl.Platform.from_dict({**document, **parts})


def times_by_name(network: bl.Platform, root: str, size: int) -> dict[str, float]:
    """The makespan of each planner's plan, s; without planners that do not support such a network."""
    found = {}
    for card in bl.planners():
        try:
            plan = bl.plan(network, root, size, card.name)
        except bl.PlanError:
            continue
        found[card.name] = bl.simulate(network, plan).makespan_s
    return found
