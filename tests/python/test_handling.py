"""A host's time for each message, beside predictions and in the choice of segments."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

import broadleaf as bl
from documents import write
from outcome import Command

PLATFORMS = Path(__file__).resolve().parents[2] / "platforms"
ASSUMED_S = 5e-6


def with_handling(document: dict[str, Any], handling_s: float) -> bl.Platform:
    """By hand: every link given by its rate starts that much later."""
    document = copy.deepcopy(document)
    bundles = [bundle["link"] for kind in ("meshes", "bridges") for bundle in document.get(kind, [])]
    for link in [*bundles, *document.get("links", [])]:
        if "gap" not in link:
            link["startup_s"] = link.get("startup_s", 0.0) + handling_s
    return bl.Platform.from_dict(document)


def simulated_s(platform: bl.Platform, plan: bl.Plan, segment_bytes: int) -> float:
    document = {**plan.to_dict(), "segment_bytes": segment_bytes}
    return bl.simulate(platform, bl.Plan.from_dict(without(document, "platform_digest"))).makespan_s


def without(document: dict[str, Any], *fields: str) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in fields}


@pytest.mark.parametrize("name", ["teragrid-64", "grid5000-88", "cluster-50", "smp-16"])
@pytest.mark.parametrize("planner", ["best", "chain"])
@pytest.mark.parametrize("message_bytes", [1 << 10, 1 << 16, 1 << 20])
def test_no_plan_has_segments_that_hosts_would_be_slower_with(
    name: str, planner: str, message_bytes: int
) -> None:
    document = json.loads((PLATFORMS / f"{name}.json").read_text())
    given, handled = bl.Platform.from_dict(document), with_handling(document, ASSUMED_S)
    plan = bl.plan(given, given.hosts[0], message_bytes, planner)
    predicted = plan.predicted
    assert predicted.makespan_s == pytest.approx(simulated_s(given, plan, plan.segment_bytes), rel=1e-9)
    assert predicted.handled_s == pytest.approx(simulated_s(handled, plan, plan.segment_bytes), rel=1e-9)
    assert predicted.bound_s == bl.makespan_bound_s(given, given.hosts[0], message_bytes)
    assert predicted.handled_s is not None
    for times in (2, 4, 8, 16):
        longer = min(times * plan.segment_bytes, message_bytes)
        # A timetable holds for one segment size.
        is_timed = plan.to_dict().keys() & {"period", "pattern"}
        other = bl.plan(given, given.hosts[0], message_bytes, plan.planner, segment_bytes=longer)
        longer_s = simulated_s(handled, other if is_timed else plan, longer)
        assert predicted.handled_s < 1.01 * longer_s, times


def test_a_time_that_the_platform_gives_counts_before_the_assumed_one(two_sites: dict[str, Any]) -> None:
    given = bl.Platform.from_dict({**two_sites, "handling_s": 1e-3})
    plan = bl.plan(given, "a0", 1 << 20, "chain", segment_bytes=1 << 16)
    by_hand = with_handling(two_sites, 1e-3)
    assert plan.predicted.handled_s == pytest.approx(simulated_s(by_hand, plan, 1 << 16), rel=1e-9)
    none = bl.Platform.from_dict({**two_sites, "handling_s": 0})
    assert bl.plan(none, "a0", 1 << 20).predicted.handled_s is None
    assert "handled_s" not in bl.plan(none, "a0", 1 << 20).to_dict()["predicted"]
    assert (given.handling_s, given.given_handling_s) == (1e-3, 1e-3)
    silent = bl.Platform.from_dict(two_sites)
    assert (silent.handling_s, silent.given_handling_s) == (ASSUMED_S, None)


def test_measured_gaps_contain_the_handling() -> None:
    link = {"gap": [[1, 1e-5], [1 << 20, 1e-2]]}
    nodes = [{"id": "a"}, {"id": "b"}]
    document = {
        "format": "broadleaf-platform/1", "name": "two", "port_model": "one-port",
        "nodes": nodes, "meshes": [{"nodes": ["a", "b"], "link": link}],
    }  # fmt: skip
    platform = bl.Platform.from_dict(document)
    assert bl.plan(platform, "a", 1 << 20).predicted.handled_s is None


@pytest.mark.parametrize(
    ("handling", "line"),
    [
        ({}, "5 us of a host's time for each message, assumed; handling_s in the platform sets it"),
        ({"handling_s": 2e-5}, "20 us of a host's time for each message, as the platform gives it"),
    ],
)
def test_where_the_handling_comes_from_stands_beside_the_prediction(
    command: Command, two_sites: dict[str, Any], handling: dict[str, float], line: str
) -> None:
    write("net.json", {**two_sites, **handling})
    ask = ("plan", "net.json", "--root", "a0", "--size", "1MiB")
    shown = command(*ask)
    assert "with handling" in shown.out
    assert line in shown.out
    tried = command(*ask, "--json").document["tried"]
    assert tried == sorted(tried, key=lambda row: row["handled_s"])


@pytest.mark.parametrize(("port_model", "is_turned"), [("multi-port", True), ("one-port", False)])
def test_a_reduce_scatter_compared_by_its_mirror_is_shown_as_such(
    command: Command, two_sites: dict[str, Any], port_model: str, is_turned: bool
) -> None:
    write("net.json", {**two_sites, "port_model": port_model})
    ask = ("plan", "net.json", "--root", "a0", "--size", "1KiB", "--collective", "reduce-scatter")
    shown = " ".join(command(*ask).out.split())
    assert ("the time of the trees turned round" in shown) == is_turned
