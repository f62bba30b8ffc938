"""The trace file against the Trace Event Format as Perfetto reads it, and against the simulation."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import broadleaf as bl
from broadleaf.formats.perfetto import trace_text
from documents import write
from outcome import Command

Event = dict[str, Any]

# The required fields of each kind of event: the format's document, a section for each.
NEEDED = {
    "X": {"name", "pid", "tid", "ts", "dur"},
    "s": {"name", "cat", "id", "pid", "tid", "ts"},
    "f": {"name", "cat", "id", "pid", "tid", "ts", "bp"},
    "C": {"name", "pid", "ts", "args"},
    "M": {"name", "pid", "args"},
}


def valid(document: Any) -> list[Event]:
    """The events, after a check that a viewer drops none of them."""
    events: list[Event] = document["traceEvents"]
    rows: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    named = {(event["name"], event["pid"], event.get("tid")) for event in events if event["ph"] == "M"}
    for event in events:
        assert set(event) >= NEEDED[event["ph"]], event
        if event["ph"] == "X":
            assert event["ts"] >= 0
            assert event["dur"] >= 0
            rows[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        elif event["ph"] == "C":
            assert all(value >= 0 for value in event["args"].values()), event
        if event["ph"] != "M":
            assert ("process_name", event["pid"], None) in named
    for (process, thread), spans in rows.items():
        assert ("thread_name", process, thread) in named
        spans.sort()
        # Slices of one row must not overlap, or the viewer drops them.
        assert all(end <= begin + 1e-5 for (_, end), (begin, _) in itertools.pairwise(spans))
    flows: dict[int, dict[str, Event]] = defaultdict(dict)
    for event in events:
        if event["ph"] in "sf":
            assert event["ph"] not in flows[event["id"]]
            flows[event["id"]][event["ph"]] = event
            # A flow's end belongs to the slice that is there at its time.
            assert any(begin <= event["ts"] <= end + 1e-5 for begin, end in rows[event["pid"], event["tid"]])
    for pair in flows.values():
        assert set(pair) == {"s", "f"}
        assert pair["s"]["ts"] <= pair["f"]["ts"]
        assert pair["s"]["name"] == pair["f"]["name"]
    return events


def loads(events: list[Event]) -> dict[str, float]:
    """The bytes under each counter: its steps times how long they last."""
    steps: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for event in events:
        if event["ph"] == "C":
            steps[event["name"]].append((event["ts"], event["args"]["MB/s"]))
    moved = {}
    for name, points in steps.items():
        assert points == sorted(points)
        assert points[-1][1] == 0
        # Microseconds times megabytes a second are bytes.
        moved[name] = sum(load * (after - at) for (at, load), (after, _) in itertools.pairwise(points))
    return moved


def test_chain_by_hand(command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]) -> None:
    write("net.json", chain)
    write("plan.json", chain_plan)
    outcome = command("simulate", "net.json", "plan.json", "--trace", "trace.json", "--json")
    assert outcome.document["trace_merged"] is None
    events = valid(json.loads(Path("trace.json").read_text()))
    slices = [event for event in events if event["ph"] == "X"]
    assert len(slices) == 2 * 6
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert list(names.values()) == ["a", "b", "c", "load of links"]
    sent_by_b = sorted(
        event["ts"] for event in slices if names[event["pid"]] == "b" and event["args"].get("to") == "c"
    )
    assert sent_by_b == pytest.approx([2000.0, 3000.0, 4000.0])
    # Each of a's three segments: to b, from b's receive to b's send, to c.
    assert [event["name"] for event in events if event["ph"] == "s"].count("transfer") == 6
    forward = [event for event in events if event["name"] == "forward"]
    assert [(names[event["pid"]], event["ph"]) for event in forward] == [("b", "s"), ("b", "f")] * 3
    assert [event["ts"] for event in forward if event["ph"] == "f"] == pytest.approx([2e3, 3e3, 4e3])
    # 1000 bytes in each millisecond: 1 MB/s on either link.
    assert loads(events) == pytest.approx({"a → b": 3000, "b → c": 3000})
    assert {round(event["args"]["MB/s"], 9) for event in events if event["ph"] == "C"} == {0.0, 1.0}


@pytest.mark.parametrize("model", ["one-port", "multi-port", "one-port-unidirectional"])
@pytest.mark.parametrize("planner", ["chain", "flat", "van-de-geijn", "round-robin"])
def test_any_plan_gives_a_valid_trace(planner: str, model: str, two_sites: dict[str, Any]) -> None:
    two_sites["port_model"] = model
    platform = bl.Platform.from_dict(two_sites)
    trace = bl.simulate(platform, bl.plan(platform, "a0", 1 << 20, planner, segment_bytes=1 << 16))
    events = valid(json.loads(trace_text(platform, trace)[0]))
    moved: dict[str, float] = defaultdict(float)
    for transfer in trace.transfers:
        source, target = (trace.nodes[transfer[end]] for end in ("from", "to"))
        names = [f"{source} → {target}"]
        names += [f"pipe {pipe}" for pipe in (platform.link(source, target) or {}).get("uses", [])]
        for name in names:
            moved[name] += float(transfer["bytes"])
    assert loads(events) == pytest.approx(moved)


def test_a_long_trace_is_merged_and_says_so(two_sites: dict[str, Any]) -> None:
    platform = bl.Platform.from_dict(two_sites)
    trace = bl.simulate(platform, bl.plan(platform, "a0", 1 << 20, "chain", segment_bytes=1 << 11))
    text, merged = trace_text(platform, trace, most_slices=100)
    document = json.loads(text)
    events = valid(document)
    sends = [event for event in events if event["ph"] == "X" and "to" in event["args"]]
    assert len(sends) <= 100
    assert sum(event["args"]["transfers"] for event in sends) == len(trace.transfers) == 1024
    assert merged is not None
    assert "1,024 transfers are drawn as" in merged
    assert document["otherData"]["merged"] == merged
