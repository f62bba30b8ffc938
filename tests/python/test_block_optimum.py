"""`optimal`'s trees of scatters and all-gathers, and their bounds, against HiGHS's optima."""

from __future__ import annotations

from pathlib import Path

import pytest

import broadleaf as bl
from throughput_programs import allgather_program, scatter_program

ROOT = Path(__file__).parents[2]
BLOCK = 4 << 20
SEGMENT = 1 << 18


def assert_encloses(platform: bl.Platform, collective: str, blocks_per_s: float) -> None:
    """The trees' rate is below the program's value, the bound's above it, both near it."""
    root = platform.hosts[0]
    plan = bl.plan(
        platform,
        root=root,
        message_bytes=BLOCK,
        planner="optimal",
        collective=collective,
        segment_bytes=SEGMENT,
    )
    throughput = bl.throughput(platform, plan)
    value = blocks_per_s * SEGMENT
    assert value * 0.88 <= throughput <= value * (1 + 1e-6)
    bound_s = bl.makespan_bound_s(platform, root, BLOCK, collective)
    assert bound_s is not None
    # The program leaves out latencies, which are 0 here, and the time to fill the pipeline.
    assert BLOCK / value * 0.95 <= bound_s <= BLOCK / value * (1 + 1e-6)
    assert bound_s <= bl.simulate(platform, plan).makespan_s <= 1.25 * bound_s


@pytest.mark.parametrize("port_model", ["one-port", "one-port-unidirectional"])
@pytest.mark.parametrize("seed", range(4))
def test_random_platforms_equal_the_programs(seed: int, port_model: str) -> None:
    platform = bl.generate.random(6 + seed, 0.3 + 0.1 * seed, seed=seed, port_model=port_model)
    root = platform.hosts[0]
    # Under unidirectional one-port the programs are bounds that plans need not reach.
    if port_model == "one-port":
        assert_encloses(platform, "scatter", scatter_program(platform, root, SEGMENT))
        assert_encloses(platform, "allgather", allgather_program(platform, SEGMENT))
    else:
        bounds_s = {
            name: bl.makespan_bound_s(platform, root, BLOCK, name) for name in ("scatter", "allgather")
        }
        rates = {
            "scatter": scatter_program(platform, root, SEGMENT),
            "allgather": allgather_program(platform, SEGMENT),
        }
        for name, bound_s in bounds_s.items():
            least_s = BLOCK / SEGMENT / rates[name]
            assert bound_s is not None
            assert 0.9 * least_s <= bound_s <= least_s * (1 + 1e-6)


def test_all_gathers_of_known_value() -> None:
    """On a switched fabric, a ring and a hypercube the n - 1 receives of a host are all that limits."""
    rate = 1e8
    for hosts, links in {
        6: [(a, b) for a in range(6) for b in range(6) if a != b],
        5: [(a, (a + 1) % 5) for a in range(5)],
        8: [(a, a ^ bit) for a in range(8) for bit in (1, 2, 4)],
    }.items():
        platform = bl.Platform.from_dict(
            {
                "format": "broadleaf-platform/1",
                "name": "known",
                "port_model": "one-port",
                "nodes": [{"id": f"n{host}"} for host in range(hosts)],
                "links": [{"from": f"n{a}", "to": f"n{b}", "bandwidth_bytes_per_s": rate} for a, b in links],
            }
        )
        assert_encloses(platform, "allgather", rate / (hosts - 1) / SEGMENT)


@pytest.mark.parametrize(
    ("collective", "planner"), [("scatter", "best"), ("gather", "best"), ("allgather", "optimal")]
)
def test_a_grid_of_shared_pipes_is_within_a_quarter_of_the_bound(collective: str, planner: str) -> None:
    platform = bl.Platform.load(ROOT / "platforms" / "teragrid-64.json")
    plan = bl.plan(platform, root="c1-0", message_bytes=1 << 20, planner=planner, collective=collective)
    assert plan.predicted.makespan_s is not None
    assert plan.predicted.bound_s is not None
    assert plan.predicted.bound_s <= plan.predicted.makespan_s <= 1.25 * plan.predicted.bound_s
