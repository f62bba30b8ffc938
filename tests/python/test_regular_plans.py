"""Regular plans from the command line and Python: collectives, files of large plans, messages too small."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import broadleaf as bl
from outcome import Command, refused


def cluster(nodes: int) -> dict[str, Any]:
    names = [f"n{at}" for at in range(nodes)]
    link = {"latency_s": 5e-5, "bandwidth_bytes_per_s": 1.25e8}
    document = {"format": "broadleaf-platform/1", "name": "same", "port_model": "one-port"}
    return {**document, "nodes": [{"id": name} for name in names], "meshes": [{"nodes": names, "link": link}]}


@pytest.fixture
def eight(tmp_path: Path) -> str:
    path = tmp_path / "eight.json"
    path.write_text(json.dumps(cluster(8)))
    return str(path)


@pytest.mark.parametrize("planner", ["round-robin", "ring", "recursive-doubling", "best"])
def test_an_allgather_from_plan_to_simulation(
    planner: str, eight: str, command: Command, tmp_path: Path
) -> None:
    file = str(tmp_path / "plan.json")
    asked = ("plan", eight, "--root", "n0", "--size", "8MiB", "--collective", "allgather")
    made = command(*asked, "--planner", planner, "-o", file, "--json").document
    assert made["collective"] == "allgather"
    assert {tree["root"] for tree in made["trees"]} == {f"n{at}" for at in range(8)}
    command("check", eight, file)
    simulated = command("simulate", eight, file, "--json").document
    # (n - 1) / n of the time of all contributions together.
    limit_s = 7 * (8 << 20) / 1.25e8
    assert limit_s <= simulated["makespan_s"] <= 1.05 * limit_s
    # No plan ends before one node has received all that it lacks.
    assert limit_s * (1 - 1e-6) <= made["predicted"]["bound_s"] <= simulated["makespan_s"]


def test_an_allgather_in_python() -> None:
    platform = bl.Platform.from_dict(cluster(5))
    plan = bl.plan(platform, "n0", 1 << 20, planner="ring", collective="allgather")
    bl.check(platform, plan)
    assert plan.collective == "allgather"
    assert bl.Plan.from_dict(plan.to_dict()) == plan


@pytest.mark.parametrize("planner", ["round-robin", "circulant", "two-tree"])
def test_a_thousand_nodes_fit_in_a_small_file(planner: str, tmp_path: Path) -> None:
    platform = bl.Platform.from_dict({**cluster(1000), "handling_s": 0})
    plan = bl.plan(platform, "n0", 64 << 20, planner=planner)
    assert plan.makespan_s is not None
    assert plan.makespan_s <= 1.1 * (64 << 20) / 1.25e8
    file = tmp_path / "plan.json"
    plan.save(file)
    assert file.stat().st_size < 10 << 20
    assert bl.Plan.load(file).segment_bytes == plan.segment_bytes


@pytest.mark.parametrize("nodes", [5, 7, 9])
def test_best_has_the_last_round_that_a_planner_by_name_saves(nodes: int) -> None:
    """A few segments with start-ups: one round of circulant's is a tenth of the time."""
    document = cluster(nodes)
    document["meshes"][0]["link"]["startup_s"] = 1e-4
    platform = bl.Platform.from_dict(document)
    for size in (1 << 16, 1 << 18):
        best, named = (bl.plan(platform, "n0", size, planner) for planner in ("best", "circulant"))
        assert best.makespan_s is not None
        assert named.makespan_s is not None
        assert best.makespan_s <= named.makespan_s * (1 + 1e-9)


def test_a_message_smaller_than_one_byte_a_node_is_refused(eight: str, command: Command) -> None:
    asked = ("plan", eight, "--root", "n0", "--planner", "round-robin", "--size")
    refused(command(*asked, "6"), "6 bytes cannot give each of 7 nodes a message")
    assert command(*asked, "7", "--json").document["segment_bytes"] == 1


def test_more_nodes_than_messages(eight: str, command: Command) -> None:
    """Seven destinations and messages of half the whole: they are made smaller."""
    asked = ("plan", eight, "--root", "n0", "--planner", "round-robin", "--size", "7000", "--segment", "3500")
    assert command(*asked, "--json").document["segment_bytes"] == 1000


@pytest.mark.parametrize("planner", ["round-robin", "circulant", "two-tree", "van-de-geijn"])
@pytest.mark.parametrize("nodes", [1, 2])
def test_one_node_and_two(nodes: int, planner: str) -> None:
    platform = bl.Platform.from_dict(cluster(nodes))
    plan = bl.plan(platform, "n0", 1_250_000, planner=planner, segment_bytes=1_250_000)
    bl.check(platform, plan)
    # Nothing to do, or one transfer; van de Geijn scatters half and then sends the other.
    limit_s = (nodes - 1) * (0.01 + 5e-5)
    assert bl.simulate(platform, plan).makespan_s == pytest.approx(limit_s, abs=1e-4)
