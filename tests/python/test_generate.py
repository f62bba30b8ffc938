"""Drawn platforms: as asked for, and the same again for the same seed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

import broadleaf as bl

DRAWS = {
    "random": partial(bl.generate.random, 20, 0.1),
    "tiers": partial(bl.generate.tiers, 30, 0.1),
    "grid": partial(bl.generate.grid, 6),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_seeds_repeat(draw: Callable[..., bl.Platform]) -> None:
    assert draw(seed=3) == draw(seed=3)
    assert draw(seed=3) != draw(seed=4)
    bl.plan(draw(seed=3), draw(seed=3).hosts[0], 1 << 20, planner="chain")


def test_what_is_asked_for() -> None:
    assert len(bl.generate.random(20, 0.1, port_model="multi-port").nodes) == 20
    assert bl.generate.random(20, 0.1, port_model="multi-port").port_model == "multi-port"
    full = bl.generate.random(5, 1.0)
    assert all(len(full.successors(node)) == 4 for node in full.nodes)
    grid = bl.generate.grid(4, gap_s=(0.2, 0.2), latency_s=(0.01, 0.01), local_broadcast_s=(1.0, 1.0))
    assert grid.transfer_s(grid.nodes[0], grid.nodes[1], 1000) == pytest.approx(0.2)
    assert {node["local_broadcast_s"] for node in grid.to_dict()["nodes"]} == {1.0}


def test_a_repaired_draw_says_so() -> None:
    sparse = bl.generate.random(30, 0.02, seed=1).to_dict()
    assert "parts that no link joined" in sparse["provenance"]["repaired"]
    assert "provenance" not in bl.generate.random(30, 0.5, seed=1).to_dict()


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (partial(bl.generate.random, -1, 0.1), "-1 is not a count"),
        (partial(bl.generate.random, 5, 2.0), "density"),
        (partial(bl.generate.random, 5, 0.5, port_model="two-port"), "two-port"),
        (partial(bl.generate.random, 5, 0.5, mean_bytes_per_s=0.0), "mean_bandwidth"),
        (partial(bl.generate.tiers, 3, 0.1), "nodes"),
        (partial(bl.generate.grid, 0), "clusters"),
        (partial(bl.generate.grid, 3, gap_s=(2.0, 1.0)), "gap_s"),
        (partial(bl.generate.grid, 3, gaps="widest"), "widest"),
        (partial(bl.generate.grid, 3, local_start="never"), "never"),
    ],
)
def test_refusals(draw: Callable[[], bl.Platform], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        draw()
    assert "\n" not in str(caught.value)
