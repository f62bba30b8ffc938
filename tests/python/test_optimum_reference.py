"""`bl.optimum` against other programs for the same value, and its certificate by other code."""

from __future__ import annotations

import networkx as nx
import pytest

import broadleaf as bl
from throughput_programs import cut_program, printed_program, seconds_of

SEGMENT = 1 << 20


def random(nodes: int, density: float, seed: int) -> bl.Platform:
    return bl.generate.random(nodes, density, seed=seed)


def assert_equal(platform: bl.Platform, segments_per_s: float) -> None:
    optimum = bl.optimum(platform, platform.hosts[0], SEGMENT, gap=1e-7)
    assert optimum.throughput_bytes_per_s / SEGMENT == pytest.approx(segments_per_s, rel=1e-6)
    assert optimum.upper_bound_bytes_per_s / SEGMENT == pytest.approx(segments_per_s, rel=1e-6)


@pytest.mark.parametrize("seed", range(24))
def test_random_platforms_equal_the_printed_program(seed: int) -> None:
    platform = random(6 + seed, 0.08 + 0.02 * (seed % 5), seed)
    assert_equal(platform, printed_program(platform, platform.hosts[0], SEGMENT))


@pytest.mark.parametrize("seed", range(10))
def test_tiers_platforms_equal_the_printed_program(seed: int) -> None:
    platform = bl.generate.tiers(30, 0.05 + 0.01 * seed, seed=seed)
    assert_equal(platform, printed_program(platform, platform.hosts[0], SEGMENT))


@pytest.mark.parametrize("port_model", ["one-port", "one-port-unidirectional", "link-capacity"])
def test_larger_platforms_equal_the_cuts(port_model: str) -> None:
    for seed, nodes in enumerate((36, 44)):
        platform = bl.generate.random(nodes, 0.1, seed=seed, port_model=port_model)
        assert_equal(platform, cut_program(platform, platform.hosts[0], SEGMENT))


@pytest.mark.parametrize("seed", range(6))
def test_the_certificate_holds_by_other_code(seed: int) -> None:
    platform = random(12 + 3 * seed, 0.15, seed)
    root = platform.hosts[0]
    optimum = bl.optimum(platform, root, SEGMENT, gap=1e-6)
    seconds = seconds_of(platform, SEGMENT)
    # Below: the shares of spanning trees, no port busy for more than a second a second.
    rate = optimum.throughput_bytes_per_s / SEGMENT
    busy: dict[str, float] = {}
    for tree in optimum.trees:
        links = [(parent, child) for parent, children in tree["children"].items() for child in children]
        graph = nx.DiGraph(links)
        assert nx.is_arborescence(graph)
        assert set(graph) == set(platform.hosts)
        for source, target in links:
            for port in (f"out {source}", f"in {target}"):
                busy[port] = busy.get(port, 0.0) + tree["share"] * rate * seconds[source, target]
    assert sum(tree["share"] for tree in optimum.trees) == pytest.approx(1, abs=1e-9)
    assert max(busy.values()) == pytest.approx(1, abs=1e-9)
    # Above: the cheapest tree under the prices, by Edmonds' algorithm.
    assert sum(optimum.prices.values()) == pytest.approx(1, abs=1e-9)
    priced: nx.DiGraph[str] = nx.DiGraph()
    for (source, target), busy_s in seconds.items():
        price = optimum.prices.get(f"out {source}", 0.0) + optimum.prices.get(f"in {target}", 0.0)
        if target != root:
            priced.add_edge(source, target, weight=price * busy_s)
    cheapest = nx.minimum_spanning_arborescence(priced).size(weight="weight")
    assert SEGMENT / cheapest == pytest.approx(optimum.upper_bound_bytes_per_s, rel=1e-9)


def test_three_nodes_that_share_ports_cannot_reach_the_program() -> None:
    """Unit links, one port for both directions: the program says 0.75 segments a second. At any time at most
    one pair of the three nodes transfers, and each segment must be received twice, so 0.5 is the most."""
    document = {
        "format": "broadleaf-platform/1",
        "name": "triangle",
        "port_model": "one-port-unidirectional",
        "nodes": [{"id": node} for node in "abc"],
        "meshes": [{"nodes": ["a", "b", "c"], "link": {"bandwidth_bytes_per_s": 1000}}],
    }
    platform = bl.Platform.from_dict(document)
    assert printed_program(platform, "a", 1000) == pytest.approx(0.75, rel=1e-9)
    optimum = bl.optimum(platform, "a", 1000, gap=1e-7)
    assert optimum.upper_bound_bytes_per_s == pytest.approx(750, rel=1e-6)
    assert optimum.bound_only is not None
    best_s = min(
        bl.simulate(platform, bl.plan(platform, "a", 100_000, planner, segment_bytes=1000)).makespan_s
        for planner in ("flat", "chain", "optimal", "single-tree")
    )
    assert best_s == pytest.approx(200, rel=1e-9)
