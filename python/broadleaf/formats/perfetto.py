"""A trace for Perfetto and chrome://tracing (the Trace Event Format).

One process a node, with a row for its sends and one for its receives; flows lead from each send to its
receive and on to the sends that forward it, so a segment can be followed along its tree; one more process
has a counter for each link and each shared pipe: the bytes a second under way on it.
"""

from __future__ import annotations

import heapq
import json
from collections import defaultdict
from typing import Any

import numpy as np

from broadleaf._core import Platform, Trace
from broadleaf.bars import SEVERAL, Bars, bars_of

SENDS, RECEIVES = 1, 2
INSTANTS = ("begin", "release", "into", "arrive")
NS_PER_US = 1000
# More slices than this no viewer loads in a moment; longer traces are merged in runs, which the file says.
MOST_SLICES = 60_000

Event = dict[str, Any]


def trace_events(platform: Platform, trace: Trace, most_slices: int = MOST_SLICES) -> dict[str, Any]:
    """The document; times in it are microseconds, as the format wants, in steps of the viewers' nanosecond.

    A transfer is a slice in the sender's row from start to release and one in the receiver's row that ends at
    its arrival. What overlaps in a row (multi-port, merged runs) lies in further rows.
    """
    bars = bars_of(trace, most_slices)
    rows = [dict(zip(bars.columns, values, strict=True)) for values in table_of(bars)]
    sends = slices(rows, trace, SENDS)
    receives = slices(rows, trace, RECEIVES)
    events = [*process_names(trace), *thread_names([*sends.values(), *receives.values()])]
    for number in range(len(rows)):
        events += [side[number] for side in (sends, receives) if number in side]
    events += flows(rows, sends, receives, trace)
    events += loads(rows, platform, trace)
    about = {"platform": platform.name, "makespan_s": trace.makespan_s, "transfers": bars.transfers}
    if (told := bars.told()) is not None:
        about["merged"] = told
    # chrome://tracing compares slices in thousandths of the unit: in "ms" short ones lie inside those before.
    return {"displayTimeUnit": "ns", "otherData": about, "traceEvents": events}


def as_text(events: dict[str, Any]) -> str:
    r"""The document as Perfetto reads JSON.

    In a counter's name it shows `\u2192` as these six characters, and to it no string ends with `\\`.
    """
    text = json.dumps(events, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace(r"\\", r"\u005c") + "\n"


def table_of(bars: Bars) -> list[tuple[Any, ...]]:
    """Bars as rows, with instants in whole nanoseconds: what ends when the next begins still does as text."""
    columns = (
        np.rint(column * 1e9).astype(np.int64) if name in INSTANTS else column
        for name, column in bars.columns.items()
    )
    return list(zip(*(column.tolist() for column in columns), strict=True))


def process_names(trace: Trace) -> list[Event]:
    names = [*trace.nodes, "load of links"]
    return [
        event
        for place, name in enumerate(names)
        for event in (
            {"ph": "M", "name": "process_name", "pid": place, "args": {"name": name}},
            {"ph": "M", "name": "process_sort_index", "pid": place, "args": {"sort_index": place}},
        )
    ]


def slices(rows: list[Event], trace: Trace, port: int) -> dict[int, Event]:
    """The slice of each bar at one of its ends, by the bar's number; a merged one may have no receiver."""
    node, other, begin, end = (
        ("source", "target", "begin", "release") if port == SENDS else ("target", "source", "into", "arrive")
    )
    # Of each node's rows, when the last slice ends: the row that is free first is taken.
    free: dict[int, list[tuple[int, int]]] = defaultdict(list)
    found = {}
    for number, bar in sorted(enumerate(rows), key=lambda item: (item[1][begin], item[0])):
        if bar[node] == SEVERAL:
            continue
        ends = free[bar[node]]
        # An arrow to a slice without length would lead nowhere.
        until = max(bar[end], bar[begin] + 1)
        is_free = bool(ends) and ends[0][0] <= bar[begin]
        row = heapq.heappop(ends)[1] if is_free else len(ends)
        heapq.heappush(ends, (until, row))
        found[number] = {
            "ph": "X",
            "name": label_of(bar),
            "cat": "transfer",
            "pid": bar[node],
            "tid": port + 2 * row,
            "ts": bar[begin] / NS_PER_US,
            "dur": (until - bar[begin]) / NS_PER_US,
            "args": {
                "to" if port == SENDS else "from": "several"
                if bar[other] == SEVERAL
                else trace.nodes[bar[other]],
                "tree": "several" if bar["tree"] == SEVERAL else bar["tree"],
                "segment": bar["first"],
                "transfers": bar["count"],
                "bytes": int(bar["bytes"]),
            },
        }
    return found


def label_of(bar: Event) -> str:
    if bar["count"] > 1:
        return f"{bar['count']} transfers from segment {bar['first']}"
    return f"segment {bar['first']}" if bar["bytes"] else "ready"


def thread_names(found: list[Event]) -> list[Event]:
    """A name for each row that has a slice."""
    names = []
    for node, thread in sorted({(event["pid"], event["tid"]) for event in found}):
        row = (thread - SENDS) // 2
        kind = "sends" if thread % 2 == SENDS else "receives"
        label = kind + (f" {row + 1}" if row else "")
        names.append({"ph": "M", "name": "thread_name", "pid": node, "tid": thread, "args": {"name": label}})
    return names


def flows(
    rows: list[Event], sends: dict[int, Event], receives: dict[int, Event], trace: Trace
) -> list[Event]:
    """Arrows from each send to its receive, and from there to the sends that hand on what came in."""
    events = []
    arrived: dict[tuple[int, int, int], Event] = {}
    number = 0

    def arrow(name: str, start: Event, finish: Event) -> None:
        nonlocal number
        for event, phase in ((start, "s"), (finish, "f")):
            at = {key: event[key] for key in ("pid", "tid", "ts")}
            events.append({"ph": phase, "name": name, "cat": name, "id": number, "bp": "e", **at})
        number += 1

    # By arrival: what a node hands on has come in before it goes out.
    for bar_number, bar in enumerate(rows):
        if bar_number in receives and bar["bytes"]:
            arrived.setdefault((bar["target"], bar["tree"], bar["first"]), receives[bar_number])
    for bar_number, bar in enumerate(rows):
        if bar_number not in receives:
            continue
        arrow("transfer", sends[bar_number], receives[bar_number])
        source = arrived.get((bar["source"], bar["tree"], bar["first"]))
        # Runs overlap with what they wait for: an arrow back in time would only confuse.
        if bar["bytes"] and source is not None and source["ts"] <= sends[bar_number]["ts"]:
            arrow("forward", source, sends[bar_number])
    return events


def loads(rows: list[Event], platform: Platform, trace: Trace) -> list[Event]:
    """A counter for each link and each shared pipe, MB/s: a transfer's bytes over the time it is sent."""
    changes: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    pipes: dict[tuple[int, int], list[str]] = {}
    for bar in rows:
        pair = bar["source"], bar["target"]
        if bar["target"] == SEVERAL or bar["release"] <= bar["begin"]:
            continue
        source, target = (trace.nodes[end] for end in pair)
        if pair not in pipes:
            pipes[pair] = (platform.link(source, target) or {}).get("uses", [])
        # Bytes a nanosecond are thousands of megabytes a second.
        rate = bar["bytes"] / (bar["release"] - bar["begin"]) * 1e3
        for name in (f"{source} → {target}", *(f"pipe {pipe}" for pipe in pipes[pair])):
            changes[name][bar["begin"]] += rate
            changes[name][bar["release"]] -= rate
    events = []
    for name, steps in changes.items():
        load, largest = 0.0, max(abs(step) for step in steps.values())
        for instant, step in sorted(steps.items()):
            load += step
            # What is left of equal rates added and taken off again is rounding.
            load = 0.0 if abs(load) < 1e-9 * largest else load
            at = {"pid": len(trace.nodes), "ts": instant / NS_PER_US}
            events.append({"ph": "C", "name": name, "cat": "load", **at, "args": {"MB/s": load}})
    return events
