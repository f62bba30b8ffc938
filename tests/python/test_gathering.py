"""Paper 5's global data exchange: simulated all-gathers by hand, and a report of any that cannot run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import broadleaf as bl
from broadleaf.benchmarks import BenchError, Row
from broadleaf.papers.round_robin.gathering import BANDWIDTH_BYTES_PER_S, LATENCY_S, cluster, gathering_sheets


@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 7, 8])
def test_a_ring_of_whole_blocks_pays_its_latencies(nodes: int, tmp_path: Path) -> None:
    platform = bl.Platform.load(cluster(tmp_path, nodes, BANDWIDTH_BYTES_PER_S))
    size = 1 << 16
    step_s = size / BANDWIDTH_BYTES_PER_S

    def taken_s(planner: str, segment_bytes: int | None = None) -> float:
        plan = bl.plan(platform, platform.hosts[0], size, planner, "allgather", segment_bytes=segment_bytes)
        return float(bl.simulate(platform, plan).makespan_s)

    # By hand: n - 1 contributions come in, one after the other.
    limit_s = (nodes - 1) * step_s + LATENCY_S
    assert taken_s("round-robin") == pytest.approx(limit_s)
    # In segments a host passes one on while the next one comes.
    assert taken_s("ring") == pytest.approx(limit_s)
    assert taken_s("ring", segment_bytes=size) == pytest.approx((nodes - 1) * (step_s + LATENCY_S))


def test_rows_are_of_each_algorithm_and_what_cannot_run_is_a_remark(monkeypatch: pytest.MonkeyPatch) -> None:
    def bench(bed: str, sizes: list[int], **asked: Any) -> list[Row]:
        assert asked["collective"] == "allgather"
        if bed != "smpi":
            raise BenchError(f"{bed} is not at hand")
        ranks = len(bl.Platform.load(asked["platform"]).hosts)
        return [Row("ring", ranks, 1024, 0.5, [0.75]), Row("2dmesh", ranks, 1024, 0.5)]

    monkeypatch.setattr(bl, "bench", bench)
    told: list[None] = []
    steps, run = gathering_sheets(quick=False)
    (sheet,), remarks = run(lambda: told.append(None), lambda work, *_: work())
    assert len(told) == steps
    assert sheet.rows[:2] == [
        ("SMPI", 4, 1024, "ring", 0.75, 1.5),
        ("SMPI", 4, 1024, "2dmesh", None, None),
    ]
    assert {row[0] for row in sheet.rows} == {"SMPI"}
    assert [line for line in remarks if "not all" in line] == [
        "All-gather, not all: namespaces is not at hand.",
        "All-gather, not all: local is not at hand.",
    ]
