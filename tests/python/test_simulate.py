"""Simulation through Python and the command line, against times worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import broadleaf as bl
from documents import write
from outcome import Command, refused


def test_chain_by_hand(chain: dict[str, Any], chain_plan: dict[str, Any]) -> None:
    # Segments of 1000 bytes at 1 MB/s hold a port for 1 ms and arrive 1 ms after that:
    # b has segment i at 2 + i ms, sends it on at once, and c has it 2 ms later.
    trace = bl.simulate(bl.Platform.from_dict(chain), bl.Plan.from_dict(chain_plan))
    assert trace.nodes == ["a", "b", "c"]
    np.testing.assert_allclose(trace.finish_s, [0.0, 4e-3, 6e-3], rtol=1e-12)
    assert trace.makespan_s == pytest.approx(6e-3, rel=1e-12)
    into_c = trace.transfers[trace.transfers["to"] == 2]
    np.testing.assert_allclose(into_c.start_s, [2e-3, 3e-3, 4e-3], rtol=1e-12)
    np.testing.assert_allclose(into_c.release_s, [3e-3, 4e-3, 5e-3], rtol=1e-12)
    np.testing.assert_allclose(into_c.arrival_s, [4e-3, 5e-3, 6e-3], rtol=1e-12)
    assert into_c.segment.tolist() == [0, 1, 2]
    assert set(trace.transfers.bytes.tolist()) == {1000}
    assert trace.busy_s == pytest.approx({"out a": 3e-3, "in b": 3e-3, "out b": 3e-3, "in c": 3e-3})
    # b's busiest port takes 1 ms a segment.
    assert bl.throughput(bl.Platform.from_dict(chain), bl.Plan.from_dict(chain_plan)) == pytest.approx(1e6)


def test_rehearsed_broadcasts_make_an_interval(command: Command, chain: dict[str, Any]) -> None:
    """6 ms are predicted; rehearsed ones took 1.5 to 2 times their prediction at this size,
    and conditions change by 15 %."""
    row = {"bytes": 3000, "calls": 19, "predicted_s": 1e-3, "least_s": 1.5e-3, "greatest_s": 2e-3}
    measured = {**chain, "provenance": {"measured": {"rehearsed": [row]}}}
    platform = bl.Platform.from_dict(measured)
    plan = bl.plan(platform, "a", 3000, planner="chain", segment_bytes=1000)
    trace = bl.simulate(platform, plan)
    assert trace.makespan_s == pytest.approx(6e-3)
    assert trace.makespan_interval_s == pytest.approx((9e-3 / 1.15, 12e-3 * 1.15))
    assert plan.makespan_interval_s == pytest.approx((9e-3 / 1.15, 12e-3 * 1.15))
    predicted = plan.to_dict()["predicted"]
    assert (predicted["makespan_low_s"], predicted["makespan_high_s"]) == plan.makespan_interval_s
    assert bl.Plan.from_dict(plan.to_dict()).makespan_interval_s == plan.makespan_interval_s
    plan.save("plan.json")
    write("net.json", measured)
    document = command("simulate", "net.json", "plan.json", "--json").document
    assert document["makespan_low_s"] == pytest.approx(9e-3 / 1.15)
    assert "7.826 ... 13.8 ms in nine of ten runs" in command("simulate", "net.json", "plan.json").out
    ask = ("--root", "a", "--size", "3000", "--segment", "1000")
    shown = command("plan", "net.json", *ask).out
    assert "likely" in shown
    assert "7.826 ... 13.8 ms" in shown
    tried = command("plan", "net.json", *ask, "--json").document["tried"]
    assert all(
        (row["makespan_low_s"], row["makespan_high_s"])
        == pytest.approx((1.5 / 1.15 * row["makespan_s"], 2 * 1.15 * row["makespan_s"]))
        for row in tried
    )


def test_without_a_rehearsal_there_is_no_interval(
    command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]
) -> None:
    platform = bl.Platform.from_dict(chain)
    assert bl.simulate(platform, bl.Plan.from_dict(chain_plan)).makespan_interval_s is None
    assert bl.compare(platform, "a", 3000).tried[0].makespan_interval_s is None
    rehearsed = {"measured": {"rehearsed": [{"bytes": 1, "predicted_s": 1, "least_s": 1, "greatest_s": 2}]}}
    reduce = bl.plan(
        bl.Platform.from_dict({**chain, "provenance": rehearsed}), "a", 3000, collective="reduce"
    )
    assert reduce.makespan_interval_s is None
    write("net.json", chain)
    assert "likely" not in command("plan", "net.json", "--root", "a", "--size", "3000").out


def test_arrays_are_the_callers_own(chain: dict[str, Any], chain_plan: dict[str, Any]) -> None:
    trace = bl.simulate(bl.Platform.from_dict(chain), bl.Plan.from_dict(chain_plan))
    trace.finish_s[:] = -1.0
    assert trace.finish_s[1] > 0.0


def test_command(command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]) -> None:
    write("net.json", chain)
    write("plan.json", chain_plan)
    document = command("simulate", "net.json", "plan.json", "--trace", "trace.json", "--json").document
    assert document["makespan_s"] == pytest.approx(6e-3)
    assert document["finish_s"] == pytest.approx({"a": 0.0, "b": 4e-3, "c": 6e-3})
    assert document["utilisation"]["out b"] == pytest.approx(0.5)
    shown = command("simulate", "net.json", "plan.json")
    assert "6 ms" in shown.out
    assert shown.err == ""


def test_trace_folder_missing(command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]) -> None:
    write("net.json", chain)
    write("plan.json", chain_plan)
    refused(command("simulate", "net.json", "plan.json", "--trace", "absent/t.json"), "absent/t.json")


def test_invalid_plan_is_not_timed(
    command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]
) -> None:
    del chain_plan["trees"][0]["children"]["b"]
    write("net.json", chain)
    write("plan.json", chain_plan)
    refused(command("simulate", "net.json", "plan.json"), '"c"')
    with pytest.raises(bl.InvalidPlan):
        bl.throughput(bl.Platform.from_dict(chain), bl.Plan.from_dict(chain_plan))
