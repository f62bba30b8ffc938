"""The planner `optimal`: the throughput of its period in strict one-port simulation."""

from __future__ import annotations

from statistics import fmean

import broadleaf as bl

SEGMENT = 1 << 20


def reached(platform: bl.Platform, segments: int) -> tuple[float, float]:
    """The part of the bound that a plan reaches in simulation, and the part that its trees carry."""
    root = platform.hosts[0]
    plan = bl.plan(platform, root, segments * SEGMENT, "optimal", segment_bytes=SEGMENT)
    bound = bl.optimum(platform, root, SEGMENT).upper_bound_bytes_per_s
    simulated = segments * SEGMENT / bl.simulate(platform, plan).makespan_s
    return simulated / bound, bl.throughput(platform, plan) / bound


def test_ten_thousand_segments_come_near_the_bound() -> None:
    # Sparse platforms have one narrow place; dense ones keep nearly every port busy nearly always.
    draws = [(n, d, 100 * n + k) for n in (20, 30, 50) for k, d in enumerate((0.08, 0.12, 0.2, 0.3))]
    parts = [reached(bl.generate.random(n, d, seed=seed), 10_000)[0] for n, d, seed in draws]
    assert all(part <= 1 + 1e-9 for part in parts)
    assert fmean(parts) >= 0.98
    assert min(parts) >= 0.96, parts


def test_trees_for_fifty_thousand_segments_carry_all_but_a_little() -> None:
    for nodes, density, seed in ((20, 0.2, 2003), (50, 0.08, 5001)):
        simulated, carried = reached(bl.generate.random(nodes, density, seed=seed), 50_000)
        assert carried >= 0.995
        assert simulated >= 0.97


def test_four_trees_carry_nearly_all_on_average() -> None:
    parts = []
    for nodes in (20, 30, 50):
        for seed in range(4):
            platform = bl.generate.random(nodes, 0.2, seed=seed)
            optimum = bl.optimum(platform, "n0", SEGMENT)
            by_trees = optimum.throughput_by_trees()
            few = max(rate for trees, rate in by_trees.items() if trees <= 4)
            parts.append(few / optimum.upper_bound_bytes_per_s)
    assert fmean(parts) >= 0.95, parts
