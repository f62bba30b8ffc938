"""`best` from small to huge messages on sparse networks: at no size is any planner clearly ahead of it."""

from __future__ import annotations

import pytest

import broadleaf as bl
from sparse_networks import sparse, times_by_name

KIB = 1 << 10
SIZES = (KIB, 16 * KIB, 256 * KIB, 4096 * KIB, 65536 * KIB)
# Planners that take their time are left out where the quick ones come within 5 % of the bound.
AHEAD = 1.05


@pytest.mark.parametrize(("seed", "hosts"), [(0, 12), (1, 6), (2, 9), (3, 9)])
def test_no_planner_is_ahead_of_best_at_any_size(seed: int, hosts: int) -> None:
    network = sparse(seed, hosts, 4 * hosts // 3)
    root = network.hosts[0]
    for size in SIZES:
        best_s = bl.simulate(network, bl.plan(network, root, size)).makespan_s
        for name, other_s in times_by_name(network, root, size).items():
            assert best_s <= AHEAD * other_s, f"{name}, {size} bytes: {best_s}, not {other_s}"
