"""`best` beside planners by name, in cases of `benches/best_of_all.py` in which it was slower."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import broadleaf as bl

BENCHES = Path(__file__).resolve().parents[2] / "benches"
WITHIN = 1.001


@pytest.mark.parametrize(
    ("kind", "seed", "model", "collective", "message_bytes", "planner"),
    [
        # The trees are bruck's for one segment, and more segments are faster: `best` took 1.36 times as long.
        ("mesh", 1, "one-port-same-partner", "allgather", 64 << 10, "circulant"),
        # The planner's last step, which needs the number of segments, saves a third of the time.
        ("mesh", 1, "one-port", "reduce", 1 << 10, "circulant"),
        # Trees made for short segments are slow for long ones.
        ("measured", 1, "multi-port", "reduce", 64 << 10, "fef-gap"),
    ],
)
def test_no_planner_by_name_is_faster(
    kind: str,
    seed: int,
    model: str,
    collective: str,
    message_bytes: int,
    planner: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(BENCHES)
    drawn = importlib.import_module("best_of_all").cases(kind, seed)
    (case,) = (
        case
        for case in drawn
        if (case.platform.port_model, case.collective, case.message_bytes)
        == (model, collective, message_bytes)
    )
    best_s, named_s = case.planned("best")[1], case.planned(planner)[1]
    assert best_s <= WITHIN * named_s


def test_trees_that_compete_for_ports_are_simulated_to_the_end() -> None:
    """Of 64 trees, each with 8 segments, the estimate of `gateway-trees` is 6 % too high (reduce: 15 %)."""
    sizes = {"a": 8, "b": 7, "c": 4}
    members = {cluster: [f"{cluster}{at}" for at in range(size)] for cluster, size in sizes.items()}
    meshes = [
        {"nodes": hosts, "link": {"latency_s": latency_s, "startup_s": 5e-6, "bandwidth_bytes_per_s": 1.25e8}}
        for hosts, latency_s in zip(members.values(), (25e-6, 27e-6, 58e-6), strict=True)
    ]
    shared: list[dict[str, object]] = []
    bridges = []
    for one, other, latency_s, rate in (
        ("a", "b", 0.7e-3, 74e6),
        ("a", "c", 2.8e-3, 62e6),
        ("b", "c", 3.1e-3, 27e6),
    ):
        for ways in ((one, other), (other, one)):
            shared.append({"id": "".join(ways), "bandwidth_bytes_per_s": rate})
            link = {"latency_s": latency_s, "startup_s": 5e-6, "bandwidth_bytes_per_s": 1.25e8}
            bridges.append(
                {"from_cluster": ways[0], "to_cluster": ways[1], "link": {**link, "uses": ["".join(ways)]}}
            )
    platform = bl.Platform.from_dict(
        {
            "format": "broadleaf-platform/1",
            "name": "three clusters",
            "port_model": "one-port",
            "handling_s": 0.0,
            "nodes": [
                {"id": host, "cluster": cluster} for cluster, hosts in members.items() for host in hosts
            ],
            "shared": shared,
            "meshes": meshes,
            "bridges": bridges,
        }
    )
    for collective in ("bcast", "reduce"):
        best_s, named_s = (
            bl.simulate(platform, bl.plan(platform, "c1", 1 << 20, planner, collective)).makespan_s
            for planner in ("best", "gateway-trees")
        )
        assert best_s <= WITHIN * named_s, (collective, best_s, named_s)


def test_a_thousand_segments_are_simulated_to_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """16 MiB on the random grid of benches/smpi_sweep.py: the estimate of `gateway-trees` in 1,024 segments
    is a fifth too high."""
    monkeypatch.syspath_prepend(BENCHES)
    beds = importlib.import_module("smpi_beds")
    drawn = bl.Platform.load(beds.NETWORKS["random-grid"](tmp_path).platform)
    platform = bl.Platform.from_dict(drawn.to_dict() | {"handling_s": 1e-6})
    best_s, named_s = (
        bl.simulate(platform, bl.plan(platform, platform.hosts[0], 16 << 20, planner)).makespan_s
        for planner in ("best", "gateway-trees")
    )
    assert best_s <= WITHIN * named_s
