"""`bl.grid`: paper 2's problem on plain matrices, against plain Python, and refusals."""

from __future__ import annotations

import random
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

import broadleaf as bl

Matrix = list[list[float]]


def drawn(clusters: int, seed: int) -> tuple[Matrix, Matrix, list[float]]:
    """Gaps, latencies and local broadcasts in the paper's ranges, seconds."""
    draw = random.Random(seed)

    def matrix(low: float, high: float) -> Matrix:
        return [[draw.uniform(low, high) for _ in range(clusters)] for _ in range(clusters)]

    local = [draw.uniform(0.02, 3.0) for _ in range(clusters)]
    return matrix(0.1, 0.6), matrix(0.001, 0.015), local


def carried_out(
    sends: list[tuple[int, int]], gap: Matrix, latency: Matrix, local: list[float], on_arrival: bool
) -> float:
    """The makespan of a sequence of sends from cluster 0, from the text."""
    arrival, ready = {0: 0.0}, {0: 0.0}
    for sender, receiver in sends:
        arrival[receiver] = ready[receiver] = (
            ready[sender] + gap[sender][receiver] + latency[sender][receiver]
        )
        ready[sender] += gap[sender][receiver]
    start = arrival if on_arrival else ready
    return max(start[cluster] + local[cluster] for cluster in start)


@pytest.mark.parametrize("local_start", ["after-last-send", "on-arrival"])
def test_ecef_and_exact_on_small_grids(local_start: str) -> None:
    for seed in range(20):
        gap, latency, local = drawn(4, seed)
        on_arrival = local_start == "on-arrival"

        def schedule(
            strategy: str, given: tuple[Matrix, Matrix, list[float]] = (gap, latency, local)
        ) -> tuple[float, list[tuple[int, int]]]:
            return bl.grid.schedule(*given, 0, strategy, local_start=local_start)

        holders, ready, sends = [0], {0: 0.0}, []
        while len(holders) < 4:
            waiting = [j for j in range(4) if j not in holders]
            _, j, i = min((ready[i] + gap[i][j] + latency[i][j], j, i) for j in waiting for i in holders)
            ready[j] = ready[i] + gap[i][j] + latency[i][j]
            ready[i] += gap[i][j]
            holders.append(j)
            sends.append((i, j))
        makespan_s, found = schedule("ecef")
        assert found == sends
        assert makespan_s == pytest.approx(carried_out(sends, gap, latency, local, on_arrival), rel=1e-12)
        # All orders of receivers, all senders that hold the message by then.
        least_s = min(
            carried_out(list(zip(senders, order, strict=True)), gap, latency, local, on_arrival)
            for order in permutations((1, 2, 3))
            for senders in product((0,), (0, order[0]), (0, *order[:2]))
        )
        for strategy in ("exact", "makespan"):
            makespan_s, found = schedule(strategy)
            assert makespan_s == pytest.approx(least_s, rel=1e-9)
            assert makespan_s == pytest.approx(carried_out(found, gap, latency, local, on_arrival), rel=1e-12)


def test_bottom_up_as_printed_is_an_option() -> None:
    # Cluster 2 takes long inside and is far from everyone: as printed it counts for nothing that 0 is busy.
    gap, latency, local = drawn(8, 3)
    printed, ours = (
        bl.grid.schedule(gap, latency, local, 0, strategy)
        for strategy in ("bottom-up-as-printed", "bottom-up")
    )
    assert printed[1] != ours[1]


def test_the_experiment_is_that_of_the_generator() -> None:
    rows = bl.grid.makespans(7, 3, ["flat", "exact", "bound"], gaps="pair", seed=5)
    assert len(rows) == 3
    for flat, exact, bound in rows:
        assert bound <= exact <= flat
    assert rows == bl.grid.makespans(7, 3, ["flat", "exact", "bound"], gaps="pair", seed=5)
    assert rows != bl.grid.makespans(7, 3, ["flat", "exact", "bound"], gaps="min", seed=5)


GOOD: Matrix = [[0.0, 1.0], [1.0, 0.0]]


@pytest.mark.parametrize(
    ("gap", "latency", "local", "root", "says"),
    [
        ([[0, -1], [1, 0]], GOOD, [1, 1], 0, "the gap from cluster 0 to cluster 1 is -1"),
        (GOOD, [[0, 1], [float("nan"), 0]], [1, 1], 0, "the latency from cluster 1 to cluster 0 is NaN"),
        (GOOD, [[0, float("inf")], [1, 0]], [1, 1], 0, "the latency from cluster 0 to cluster 1 is inf"),
        ([[0, 1e308], [1, 0]], GOOD, [1, 1], 0, "the gap from cluster 0 to cluster 1 is 1"),
        (np.array([[0, 1j], [1, 0]]), GOOD, [1, 1], 0, "gap_s"),
        (GOOD, GOOD, [1, 1e200], 0, "the local broadcast of cluster 1 takes 1"),
        (GOOD, GOOD, [1, -2], 0, "the local broadcast of cluster 1 takes -2"),
        (GOOD, GOOD, [1, float("nan")], 0, "the local broadcast of cluster 1 takes NaN"),
        ([[0, 1]], GOOD, [1, 1], 0, "gap_s is 1 by 2 for 2 clusters"),
        (GOOD, np.zeros((3, 3)), [1, 1], 0, "latency_s is 3 by 3 for 2 clusters"),
        (GOOD, np.zeros((2, 3)), [1, 1], 0, "latency_s is 2 by 3 for 2 clusters"),
        (GOOD, [[0, 1], [1]], [1, 1], 0, "latency_s"),
        (GOOD, [0, 1], [1, 1], 0, "latency_s"),
        (GOOD, "fast", [1, 1], 0, "latency_s"),
        (GOOD, GOOD, "no times", 0, "local_broadcast_s is no list of numbers"),
        (GOOD, GOOD, [1, 1], 2, "the root is cluster 2 of 2"),
        (GOOD, GOOD, [1, 1], -1, "root is -1"),
        ([], [], [], 0, "a grid of 0 clusters"),
    ],
)
def test_wrong_grids_are_refused_in_one_line(
    gap: Any, latency: Any, local: Any, root: int, says: str
) -> None:
    for strategy in ("ecef", "makespan"):
        with pytest.raises((bl.PlatformError, ValueError)) as refusal:
            bl.grid.schedule(gap, latency, local, root, strategy)
        assert says in str(refusal.value)
        assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("arguments", "options", "says"),
    [
        ((0, 1, ["flat"]), {}, "0 clusters; give from 1 to 5000"),
        ((-1, 1, ["flat"]), {}, "-1 is not a count"),
        ((5, 1, ["fast"]), {}, 'unknown strategy "fast"'),
        ((5, 1, ["a\nb"]), {}, r'unknown strategy "a\nb"'),
        ((5, 1, ["flat"]), {"gaps": "median"}, 'unknown way "median" to draw gaps'),
        ((5, 1, ["flat"]), {"local_start": "never"}, "never"),
        ((5, 1, ["makespan"]), {"time_limit_s": -1.0}, "time_limit_s is -1"),
        ((5, 1, ["makespan"]), {"time_limit_s": float("nan")}, "time_limit_s is NaN"),
    ],
)
def test_wrong_experiments_are_refused_in_one_line(
    arguments: tuple[Any, ...], options: dict[str, Any], says: str
) -> None:
    with pytest.raises((bl.PlatformError, ValueError)) as refusal:
        bl.grid.makespans(*arguments, **options)
    assert says in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_an_unproved_exact_says_so() -> None:
    gap, latency, local = drawn(65, 1)
    with pytest.raises(bl.PlanError, match="no proof for 65 clusters; use makespan"):
        bl.grid.schedule(gap, latency, local, strategy="exact")


def test_a_time_limit_is_kept_and_used() -> None:
    grid = drawn(30, 2)
    with pytest.raises(ValueError, match="time_limit_s is -1"):
        bl.grid.schedule(*grid, strategy="makespan", time_limit_s=-1.0)
    # No time for anything but the heuristics: none of them is better, and no long proof comes out.
    hurried_s, sends = bl.grid.schedule(*grid, strategy="makespan", time_limit_s=0.0)
    assert hurried_s == pytest.approx(carried_out(sends, *grid, False), rel=1e-12)
    assert hurried_s <= min(bl.grid.schedule(*grid, strategy=line)[0] for line in ("ecef", "ecef-lat-max"))
    with pytest.raises(bl.PlanError, match="no proof for 60 clusters"):
        bl.grid.schedule(*drawn(60, 2), strategy="exact", time_limit_s=0.0)
    assert bl.grid.schedule(*grid, strategy="makespan", time_limit_s=0.2)[0] <= hurried_s
    # Longer than any clock runs.
    assert bl.grid.schedule(*drawn(2, 1), strategy="makespan", time_limit_s=1e19)[0] > 0


def cluster_platform(**fields: Any) -> dict[str, Any]:
    nodes = [{"id": "a", "cluster": "A"}, {"id": "b", "cluster": "B"}]
    link = {"latency_s": 1.0, "bandwidth_bytes_per_s": 1.0}
    bridge = {"from_cluster": "A", "to_cluster": "B", "both_ways": True, "link": link}
    document = {"format": "broadleaf-platform/1", "name": "two", "port_model": "one-port"}
    return {**document, "nodes": nodes, "bridges": [bridge], **fields}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"nodes": []}, "no"),
        ({"nodes": [{"id": "a", "cluster": "A"}]}, '"B"'),
        ({"nodes": [{"id": "a", "cluster": "A", "local_broadcast_s": -1}]}, "local_broadcast_s"),
    ],
)
def test_clusters_without_members_and_bad_times_are_refused(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(bl.PlatformError) as refusal:
        bl.plan(bl.Platform.from_dict(cluster_platform(**fields)), "a", 100, "ecef")
    assert says in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_root_outside_is_refused() -> None:
    platform = bl.Platform.from_dict(cluster_platform())
    with pytest.raises(bl.PlatformError, match='"c"'):
        bl.plan(platform, "c", 100, "ecef")
