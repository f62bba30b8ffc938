"""Random networks that no planner was made for."""

from __future__ import annotations

import random

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


def times_by_name(network: bl.Platform, root: str, size: int) -> dict[str, float]:
    """What each planner's plan takes, s; without those that do not support such a network."""
    found = {}
    for card in bl.planners():
        try:
            plan = bl.plan(network, root, size, card.name)
        except bl.PlanError:
            continue
        found[card.name] = bl.simulate(network, plan).makespan_s
    return found
