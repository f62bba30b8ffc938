"""`best` from small to huge messages on sparse networks: at no size is any planner clearly ahead of it."""

from __future__ import annotations

import random

import pytest

import broadleaf as bl

KIB = 1 << 10
SIZES = (KIB, 16 * KIB, 256 * KIB, 4096 * KIB, 65536 * KIB)
# Planners that take their time are left out where the quick ones come within 5 % of the bound.
AHEAD = 1.05


def sparse(seed: int) -> bl.Platform:
    """A random tree and a few links more; latencies, rates and start-ups over orders of magnitude."""
    draw = random.Random(seed)
    ids = [f"n{at}" for at in range(draw.choice((6, 9, 12)))]
    pairs = {(draw.randrange(at), at) for at in range(1, len(ids))}
    pairs |= {tuple(sorted(draw.sample(range(len(ids)), 2))) for _ in range(len(ids) // 2)}  # type: ignore[misc]
    links = [
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
    return bl.Platform.from_dict({**document, "nodes": [{"id": node} for node in ids], "links": links})


@pytest.mark.parametrize("seed", range(4))
def test_no_planner_is_ahead_of_best_at_any_size(seed: int) -> None:
    network = sparse(seed)
    root = network.hosts[0]
    for size in SIZES:
        best_s = bl.simulate(network, bl.plan(network, root, size)).makespan_s
        for card in bl.planners():
            try:
                plan = bl.plan(network, root, size, card.name)
            except bl.PlanError:
                # It does not support such a network.
                continue
            other_s = bl.simulate(network, plan).makespan_s
            assert best_s <= AHEAD * other_s, f"{card.name}, {size} bytes: {best_s}, not {other_s}"
