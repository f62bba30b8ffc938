"""`optimal`'s trees of scatters and all-gathers, and their bounds, against HiGHS's optima."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

import broadleaf as bl
from throughput_programs import allgather_program, scatter_program, seconds_of

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


@pytest.mark.parametrize("seed", range(4))
def test_optima_equal_the_programs(seed: int) -> None:
    platform = bl.generate.random(6 + seed, 0.3 + 0.1 * seed, seed=seed)
    root = platform.hosts[0]
    for collective, blocks_per_s in {
        "scatter": scatter_program(platform, root, SEGMENT),
        "allgather": allgather_program(platform, SEGMENT),
    }.items():
        optimum = bl.optimum(platform, root, SEGMENT, gap=1e-6, collective=collective)
        assert optimum.throughput_bytes_per_s / SEGMENT == pytest.approx(blocks_per_s, rel=3e-6)
        assert optimum.upper_bound_bytes_per_s / SEGMENT == pytest.approx(blocks_per_s, rel=3e-6)


def priced(platform: bl.Platform, prices: dict[str, float], is_inward: bool) -> nx.DiGraph[str]:
    """The network with each link's cost under the prices; reversed if data go to the root."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for (source, target), busy_s in seconds_of(platform, SEGMENT).items():
        cost = (prices.get(f"out {source}", 0.0) + prices.get(f"in {target}", 0.0)) * busy_s
        graph.add_edge(*((target, source) if is_inward else (source, target)), weight=cost)
    return graph


def cheapest_tree(graph: nx.DiGraph[str], root: str) -> float:
    rooted = graph.copy()
    rooted.remove_edges_from([*rooted.in_edges(root)])
    cost: float = nx.minimum_spanning_arborescence(rooted).size(weight="weight")
    return cost


@pytest.mark.parametrize("collective", ["scatter", "gather", "allgather", "reduce-scatter"])
@pytest.mark.parametrize("seed", range(3))
def test_the_certificate_holds_by_other_code(collective: str, seed: int) -> None:
    platform = bl.generate.random(7 + 4 * seed, 0.3, seed=seed)
    hosts = platform.hosts
    weights = None if seed == 0 else {host: float(1 + at % 3) for at, host in enumerate(hosts)}
    optimum = bl.optimum(platform, hosts[0], SEGMENT, 1e-5, collective, weights)
    assert optimum.weights == weights
    weight = weights or dict.fromkeys(hosts, 1.0)
    is_inward = collective in ("gather", "reduce-scatter")
    is_personalised = collective in ("scatter", "gather")
    # Above: the cheapest ways of all blocks under the prices, by networkx.
    assert sum(optimum.prices.values()) == pytest.approx(1, abs=1e-9)
    graph = priced(platform, optimum.prices, is_inward)
    if is_personalised:
        cost = nx.single_source_dijkstra_path_length(graph, hosts[0])
    else:
        cost = {host: cheapest_tree(graph, host) for host in hosts}
    least = sum(weight[host] * cost[host] for host in hosts)
    assert SEGMENT / least == pytest.approx(optimum.upper_bound_bytes_per_s, rel=1e-9)
    # Below: spanning trees, the shares of each root, no port busy for more than a second a second.
    rate = optimum.throughput_bytes_per_s / SEGMENT
    seconds = seconds_of(platform, SEGMENT)
    busy: dict[str, float] = {}
    shares: dict[str, float] = {}
    for tree in optimum.trees:
        root = tree.get("root", hosts[0])
        edges = [(parent, child) for parent, children in tree["children"].items() for child in children]
        spanning: nx.DiGraph[str] = nx.DiGraph(edges)
        assert nx.is_arborescence(spanning)
        assert set(spanning) == set(hosts)
        shares[root] = shares.get(root, 0.0) + tree["share"]
        for parent, child in edges:
            below = {child, *nx.descendants(spanning, child)}
            segments = sum(weight[host] for host in below) if is_personalised else weight[root]
            source, target = (child, parent) if is_inward else (parent, child)
            held = tree["share"] * rate * segments * seconds[source, target]
            for port in (f"out {source}", f"in {target}"):
                busy[port] = busy.get(port, 0.0) + held
    assert set(shares) == ({hosts[0]} if is_personalised else set(hosts))
    assert list(shares.values()) == pytest.approx([1.0] * len(shares), abs=1e-9)
    assert max(busy.values()) == pytest.approx(1, abs=1e-9)
    assert optimum.throughput_bytes_per_s >= (1 - 1e-5) * optimum.upper_bound_bytes_per_s
