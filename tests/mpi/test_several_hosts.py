"""Several ranks on each of several hosts: messages between the hosts, shared memory inside.

One machine stands for all of them; `several_hosts.c` gives its ranks the names of different ones.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Bench

LINK = {"latency_s": 1e-5, "bandwidth_bytes_per_s": 1e9}


def write_platform(path: Path, hosts: int, nodes_each: int) -> Path:
    names = [f"h{host}n{node}" for host in range(hosts) for node in range(nodes_each)]
    nodes = [{"id": name, "host": f"host{at // nodes_each}"} for at, name in enumerate(names)]
    document = {
        "format": "broadleaf-platform/1",
        "name": "several",
        "port_model": "one-port",
        "nodes": nodes,
        "meshes": [{"nodes": names, "link": LINK}],
    }
    path.write_text(json.dumps(document))
    return path


LAYOUTS = [(4, 2), (7, 3), (7, 6)]


@pytest.mark.parametrize(("ranks", "each"), LAYOUTS)
def test_many_broadcasts_of_any_size_and_root(hosts_of: Bench, ranks: int, each: int) -> None:
    run = hosts_of.check(
        ranks, "many", "150", "900000", str(ranks), min_bytes="4KiB", test_ranks_per_host=str(each)
    )
    assert run.stats is not None
    assert run.reports == []
    planners = {row["planner"] for row in run.rows(communicator="MPI_COMM_WORLD") if row["planned"]}
    # The world is on several hosts, so plans between them are needed.
    assert planners
    assert None not in planners


@pytest.mark.parametrize("memory", ["0", "1"])
@pytest.mark.parametrize(
    "program",
    [("shapes",), ("errors",), ("communicators", "10"), ("threads", "5"), ("starved",)],
    ids=lambda p: p[0],
)
def test_what_holds_on_one_host_holds_on_several(
    hosts_of: Bench, program: tuple[str, ...], memory: str
) -> None:
    hosts_of.check(5, *program, test_ranks_per_host="2", shared_memory=memory)


@pytest.mark.parametrize("planner", ["chain", "van-de-geijn", "round-robin", "best"])
@pytest.mark.parametrize("nodes_each", [1, 3])
def test_platforms_with_one_or_several_nodes_a_host(
    hosts_of: Bench, tmp_path: Path, planner: str, nodes_each: int
) -> None:
    platform = write_platform(tmp_path / "net.json", 3, nodes_each)
    run = hosts_of.check(
        7,
        "many",
        "40",
        "400000",
        "3",
        min_bytes="4KiB",
        platform=platform,
        planner=planner,
        test_ranks_per_host="3",
    )
    assert run.stats is not None
    assert run.stats["planned"] > 5
    # Round-robin supports no communicator of two, which is reported.
    assert all(f"planner {planner} cannot" in line for line in run.reports), run.stderr


def test_all_are_told_when_there_is_no_plan(hosts_of: Bench, tmp_path: Path) -> None:
    (tmp_path / "torn.json").write_text("{")
    run = hosts_of.check(
        7, "many", "40", "300000", "4", plan_dir=tmp_path, min_bytes="4KiB", test_ranks_per_host="3"
    )
    assert run.stats is not None
    assert run.stats["planned"] == 0
    assert any("torn.json" in line for line in run.reports)
