"""The bound of broadcasts in equal segments, against all plans of tiny networks and some of larger ones."""

from __future__ import annotations

import math

import pytest

import broadleaf as bl
from equal_segments import equal_hosts_s, equal_segments_s, one_segment_s, range_bound_s


def with_links(platform: bl.Platform, latency_s: float, startup_s: float) -> bl.Platform:
    document = platform.to_dict()
    for link in document["links"]:
        link["latency_s"], link["startup_s"] = latency_s, startup_s
    return bl.Platform.from_dict(document)


def quickest_s(platform: bl.Platform, segments: int, segment_bytes: int) -> float:
    """The least makespan of all trees and orders, one transfer added after another."""
    hosts = list(platform.hosts)
    links = {(u, v): platform.link(u, v) for u in hosts for v in platform.successors(u)}
    times = {}
    for edge, link in links.items():
        assert link is not None
        one_s = link["startup_s"] + segment_bytes / link["bandwidth_bytes_per_s"]
        times[edge] = (link["latency_s"], one_s)
    best_s = math.inf

    def extend(
        there: dict[tuple[int, str], float],
        out: dict[str, float],
        into: dict[str, float],
        last: float,
        end_s: float,
    ) -> None:
        nonlocal best_s
        if len(there) == segments * len(hosts):
            best_s = min(best_s, end_s)
            return
        for (segment, source), at_s in list(there.items()):
            for (sender, target), (latency_s, one_s) in times.items():
                if sender != source or (segment, target) in there:
                    continue
                start_s = max(at_s, out.get(source, 0.0), into.get(target, 0.0) - latency_s)
                arrival_s = start_s + latency_s + one_s
                # Every schedule is met in the order of its starts.
                if start_s < last or arrival_s >= best_s:
                    continue
                extend(
                    there | {(segment, target): arrival_s},
                    out | {source: start_s + one_s},
                    into | {target: arrival_s},
                    start_s,
                    max(end_s, arrival_s),
                )

    extend({(segment, hosts[0]): 0.0 for segment in range(segments)}, {}, {}, 0.0, 0.0)
    return best_s


@pytest.mark.parametrize(("hosts", "segments"), [(2, 3), (3, 3), (4, 2)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_plan_of_a_tiny_network_is_faster(hosts: int, segments: int, seed: int) -> None:
    platform = with_links(bl.generate.random(hosts, 1.0, seed=seed), 5e-3, 1e-3)
    size = 1 << 20
    bound_s = range_bound_s(platform, segments * size, size, size)
    least_s = quickest_s(platform, segments, size)
    assert 0.6 * least_s < bound_s <= least_s * (1 + 1e-9)


def test_one_receiver_has_the_exact_bound() -> None:
    """Start-ups and bytes one after another, and the latency of the last."""
    platform = with_links(bl.generate.random(2, 1.0, seed=5), 5e-3, 1e-3)
    link = platform.link(*platform.hosts[:2])
    assert link is not None
    exact_s = 4 * 1e-3 + (4 << 20) / link["bandwidth_bytes_per_s"] + 5e-3
    assert range_bound_s(platform, 4 << 20, 1 << 20, 1 << 20) == pytest.approx(exact_s)


@pytest.mark.parametrize(("latency_s", "startup_s"), [(5e-3, 1e-3), (5e-3, 0.0), (0.0, 0.0)])
def test_no_simulated_plan_is_faster(latency_s: float, startup_s: float) -> None:
    message = 32 << 20
    for seed, density in enumerate((0.3, 0.8)):
        platform = with_links(bl.generate.random(8, density, seed=40 + seed), latency_s, startup_s)
        root = platform.hosts[0]
        of_any_number_s = equal_segments_s(platform, message) if startup_s else 0.0
        for segments in (4, 24):
            size = message // segments
            bound_s = range_bound_s(platform, message, size, size)
            assert of_any_number_s <= bound_s * (1 + 1e-6)
            for planner in ("optimal", "optimal-trees", "grow", "binomial", "chain", "two-tree"):
                plan = bl.plan(platform, root, message, planner, segment_bytes=size)
                assert bl.simulate(platform, plan).makespan_s >= bound_s * (1 - 1e-9), planner


def equal_hosts(hosts: int, latency_s: float, startup_s: float, rate: float) -> bl.Platform:
    names = [f"n{at}" for at in range(hosts)]
    link = {"latency_s": latency_s, "startup_s": startup_s, "bandwidth_bytes_per_s": rate}
    links = [{"from": one, "to": other, **link} for one in names for other in names if one != other]
    document = {"name": "equal", "port_model": "one-port", "nodes": [{"id": name} for name in names]}
    return bl.Platform.from_dict({"format": "broadleaf-platform/1", **document, "links": links})


@pytest.mark.parametrize(("hosts", "most"), [(2, 4), (3, 3), (4, 2)])
def test_no_plan_of_equal_hosts_is_faster(hosts: int, most: int) -> None:
    size, far = 12 << 20, (5e-3, 0.1, 1e8)
    platform = equal_hosts(hosts, *far)
    bound_s = equal_hosts_s(hosts, size, *far)
    # Start-ups of 0.1 s beside 0.13 s of bytes: more segments than these are no faster.
    least_s = min(quickest_s(platform, segments, size // segments) for segments in range(1, most + 1))
    assert 0.8 * least_s < bound_s <= least_s * (1 + 1e-9)


def test_one_segment_by_hand() -> None:
    """Sends and latency of 1 s: the root sends at 0 to 3, its first receiver at 2 and 3, the second at 3."""
    assert [one_segment_s(hosts, 1.0, 1.0) for hosts in (1, 2, 3, 4, 5, 6, 7, 8)] == [0, 2, 3, 4, 4, 5, 5, 5]


def test_equal_hosts_have_a_higher_bound_by_hand_and_slower_plans() -> None:
    size, far = 64 << 20, (5e-3, 1e-3, 1e8)
    platform = equal_hosts(7, *far)
    bound_s = equal_hosts_s(7, size, *far)
    assert equal_segments_s(platform, size) <= bound_s * (1 + 1e-6)
    assert bl.simulate(platform, bl.plan(platform, platform.hosts[0], size)).makespan_s >= bound_s
