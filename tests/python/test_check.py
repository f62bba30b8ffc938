"""`broadleaf check`: exit 1 and one line a fault; exit 2 for an unreadable file."""

from __future__ import annotations

from typing import Any

import pytest

import broadleaf as bl
from documents import write
from outcome import Command, refused


def test_valid(command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]) -> None:
    write("net.json", chain)
    write("plan.json", chain_plan)
    outcome = command("check", "net.json", "plan.json")
    assert (outcome.code, outcome.err) == (0, "")
    assert command("check", "net.json", "plan.json", "--json").document == {"valid": True, "faults": []}


def test_faults_are_a_line_each(command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]) -> None:
    chain_plan["trees"] = [
        {"share": 0.5, "children": {"a": ["b"]}},
        {"share": 0.25, "children": {"a": ["b"], "b": ["c"]}},
    ]
    write("net.json", chain)
    write("plan.json", chain_plan)
    outcome = command("check", "net.json", "plan.json")
    assert outcome.code == 1
    assert outcome.out == ""
    lines = outcome.err.splitlines()
    assert len(lines) >= 2
    assert all(line.startswith("broadleaf: plan.json: ") for line in lines)
    assert any('"c"' in line for line in lines)
    assert any("0.75" in line for line in lines)
    document = command("check", "net.json", "plan.json", "--json")
    assert document.code == 1
    assert document.document["valid"] is False
    assert len(document.document["faults"]) == len(lines)


def test_plan_for_another_platform(
    command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]
) -> None:
    chain["links"][0]["latency_s"] = 2e-3
    write("net.json", chain)
    write("plan.json", chain_plan)
    outcome = command("check", "net.json", "plan.json")
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1
    assert "sha256:" in outcome.err


def test_python_lists_the_faults(chain: dict[str, Any], chain_plan: dict[str, Any]) -> None:
    del chain_plan["trees"][0]["children"]["b"]
    with pytest.raises(bl.InvalidPlan) as caught:
        bl.check(bl.Platform.from_dict(chain), bl.Plan.from_dict(chain_plan))
    assert len(caught.value.faults) == 1
    assert caught.value.faults[0] in str(caught.value)
    assert isinstance(caught.value, bl.PlanError)
    assert isinstance(caught.value, ValueError)


PLAN_REFUSALS: dict[str, tuple[dict[str, Any], str, str]] = {
    "version": ({"format": "broadleaf-plan/9"}, "$.format", "unknown version 9"),
    "a platform": ({"format": "broadleaf-platform/1"}, "$.format", "broadleaf-platform/1"),
    "segment of 0": ({"segment_bytes": 0}, "$.segment_bytes", "0"),
    "negative message": ({"message_bytes": -1}, "$.message_bytes", "-1"),
    "message a string": ({"message_bytes": "1MB"}, "$.message_bytes", "a string"),
    "root a number": ({"root": 3}, "$.root", "a number"),
    "unknown collective": ({"collective": "alltoall"}, "$.collective", "alltoall"),
    "no share": ({"trees": [{"share": 0, "children": {}}]}, "$.trees[0].share", "0"),
    "children a list": ({"trees": [{"share": 1, "children": []}]}, "$.trees[0].children", "a list"),
    "slot too short": ({"period": {"segments": 1, "slots": [[0, "a"]]}}, "$.period.slots[0]", "2 values"),
    "slot beyond": ({"period": {"segments": 1, "slots": [[1, "a", "b", 0]]}}, "$.period.slots[0][0]", "1"),
    "protocol": ({"protocol": "telepathy"}, "$.protocol", "telepathy"),
}


@pytest.mark.parametrize("case", PLAN_REFUSALS)
def test_plan_refusals(
    case: str, command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]
) -> None:
    change, place, fact = PLAN_REFUSALS[case]
    write("net.json", chain)
    write("plan.json", {**chain_plan, **change})
    refused(command("check", "net.json", "plan.json"), "plan.json", place, fact, ";")
    with pytest.raises(bl.PlanError) as caught:
        bl.Plan.from_dict({**chain_plan, **change})
    assert place in str(caught.value)
    assert fact in str(caught.value)


@pytest.mark.parametrize("field", ["format", "root", "message_bytes", "segment_bytes", "trees"])
def test_missing_plan_field(
    field: str, command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]
) -> None:
    del chain_plan[field]
    write("net.json", chain)
    write("plan.json", chain_plan)
    refused(command("check", "net.json", "plan.json"), "plan.json", f'"{field}" is missing')


def test_plan_round_trip(chain_plan: dict[str, Any], tmp_path: Any) -> None:
    plan = bl.Plan.from_dict(chain_plan)
    plan.save(tmp_path / "plan.json")
    assert bl.Plan.load(tmp_path / "plan.json") == plan
    assert plan.to_dict() == chain_plan
