"""`bl.optimum`: known values, the certificate's two sides, and refusals in one line."""

from __future__ import annotations

from typing import Any

import pytest

import broadleaf as bl


def complete(nodes: int, port_model: str = "one-port") -> bl.Platform:
    """All pairs linked at 100 bytes/s."""
    rates = [[100.0] * nodes for _ in range(nodes)]
    return bl.Platform.from_matrices([[0.0] * nodes for _ in range(nodes)], rates, port_model=port_model)


def test_value_trees_and_loads_belong_together() -> None:
    platform = bl.generate.random(12, 0.2, seed=4)
    root = platform.hosts[0]
    optimum = bl.optimum(platform, root, 1 << 20, gap=1e-6)
    assert optimum.throughput_bytes_per_s <= optimum.upper_bound_bytes_per_s * (1 + 1e-12)
    assert 0 <= optimum.gap <= 1e-6
    assert optimum.bound_only is None
    # The trees are a plan's, which reaches the value by the plan's own measure.
    plan = bl.plan(platform, root, 1 << 24, planner="chain", segment_bytes=1 << 20).to_dict()
    plan["trees"] = optimum.trees
    reached = bl.throughput(platform, bl.Plan.from_dict(plan))
    assert reached == pytest.approx(optimum.throughput_bytes_per_s, rel=1e-9)
    # Every host but the root receives every segment once.
    rate = optimum.throughput_bytes_per_s / (1 << 20)
    for host in platform.hosts[1:]:
        received = sum(load for (_, to), load in optimum.link_load.items() if to == host)
        assert received == pytest.approx(rate, rel=1e-9)


def test_few_equal_trees_carry_nearly_all() -> None:
    platform = bl.generate.random(20, 0.15, seed=2)
    root = platform.hosts[0]
    optimum = bl.optimum(platform, root, 1 << 20)
    document = bl.plan(platform, root, 1 << 24, planner="chain", segment_bytes=1 << 20).to_dict()
    for count in (1, 4):
        document["trees"] = optimum.equal_trees(count)
        assert sum(tree["share"] for tree in document["trees"]) == pytest.approx(1, abs=1e-9)
        reached = bl.throughput(platform, bl.Plan.from_dict(document))
        assert reached <= optimum.upper_bound_bytes_per_s * (1 + 1e-9)
    assert reached >= 0.9 * optimum.throughput_bytes_per_s
    with pytest.raises(ValueError, match="0 trees"):
        optimum.equal_trees(0)


def test_one_port_for_both_directions_is_only_a_bound() -> None:
    # Three nodes, unit links: the program gives 0.75 segments a second, the true value is 0.5.
    optimum = bl.optimum(complete(3, "one-port-unidirectional"), "n0", 100)
    assert optimum.upper_bound_bytes_per_s == pytest.approx(75, rel=1e-3)
    assert optimum.bound_only is not None
    assert optimum.bound_only.startswith("bound")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"gap": 0.0}, ValueError, "gap 0 is not positive"),
        ({"gap": -1.0}, ValueError, "gap -1 is not positive"),
        ({"segment_bytes": 0}, ValueError, "segment of 0 bytes"),
        ({"root": "nobody"}, bl.PlatformError, "nobody"),
    ],
)
def test_refusals(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        bl.optimum(**{"platform": complete(3), "root": "n0", "segment_bytes": 100, **arguments})


def test_an_unreachable_node_is_named() -> None:
    platform = bl.Platform.from_dict(
        {"format": "broadleaf-platform/1", "name": "two", "port_model": "one-port",
         "nodes": [{"id": "a"}, {"id": "b"}]}
    )  # fmt: skip
    with pytest.raises(bl.PlanError, match='"b" cannot be reached'):
        bl.optimum(platform, "a", 100)
