"""`best` from small to huge messages on sparse networks: at no size is any planner clearly ahead of it."""

from __future__ import annotations

import pytest

import broadleaf as bl
from sparse_networks import drawn_grid, sparse, times_by_name

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


@pytest.mark.parametrize("seed", [1, 2])
def test_no_segment_size_is_ahead_of_the_one_chosen(seed: int) -> None:
    # Trees for few segments branch, those for many go one way through all: the search sees both.
    network = drawn_grid(seed)
    root = network.hosts[0]
    for size in (4096 * KIB, 65536 * KIB):
        chosen = bl.plan(network, root, size, "optimal")
        chosen_s = bl.simulate(network, chosen).makespan_s
        for segment in (16 * KIB, 64 * KIB, 256 * KIB, 1024 * KIB):
            plan = bl.plan(network, root, size, "optimal", segment_bytes=segment)
            other_s = bl.simulate(network, plan).makespan_s
            assert chosen_s <= 1.02 * other_s, (
                f"{segment}, {size} bytes: {chosen_s} with {chosen.segment_bytes}"
            )
