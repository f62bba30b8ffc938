"""A simulated trace for Perfetto and chrome://tracing.

One process a node, with a row for its sends and one for its receives; flows lead from each send to its
receive and on to the sends that forward it, so a segment can be followed along its tree; one more process
has a counter for each link and each shared pipe: the bytes a second in flight on it. The core writes the
file, as it does for the transfers of a running program.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from broadleaf._core import Platform, Trace, trace_events
from broadleaf.bars import SEVERAL, Bars, bars_of

SENDS, RECEIVES = 0, 1
LANES = ["sends", "receives"]
INSTANTS = ("begin", "release", "into", "arrive")
# Viewers load this many slices quickly; longer traces are merged into runs, which the file records.
MOST_SLICES = 60_000

Bar = dict[str, Any]
# Process, lane, name, begin and end in nanoseconds, fields as JSON.
Slice = tuple[int, int, str, int, int, str]


def trace_text(platform: Platform, trace: Trace, most_slices: int = MOST_SLICES) -> tuple[str, str | None]:
    """The file's text, and a sentence on merging; None where each transfer has its own slice.

    A transfer is a slice in the sender's row from start to release and one in the receiver's row that ends at
    its arrival. Slices that overlap in a row (multi-port, merged runs) go to further rows.
    """
    bars = bars_of(trace, most_slices)
    rows = table_of(bars)
    slices: list[Slice] = []
    # The numbers of each bar's slices, sent and received; a merged one may have no receiver.
    places: list[tuple[int, int | None]] = []
    for bar in rows:
        sent, received = len(slices), None
        slices.append(slice_of(bar, trace, SENDS))
        if bar["target"] != SEVERAL:
            received = len(slices)
            slices.append(slice_of(bar, trace, RECEIVES))
        places.append((sent, received))
    transfers = [(sent, received) for sent, received in places if received is not None]
    about = {"platform": platform.name, "makespan_s": trace.makespan_s, "transfers": bars.transfers}
    if (merged := bars.told()) is not None:
        about["merged"] = merged
    text = trace_events(
        trace.nodes, LANES, slices, transfers, forwards(rows, places), loads(rows, platform, trace),
        json.dumps(about, allow_nan=False),
    )  # fmt: skip
    return text, merged


def table_of(bars: Bars) -> list[Bar]:
    """Bars as rows, with instants in whole nanoseconds."""
    columns = (
        np.rint(column * 1e9).astype(np.int64) if name in INSTANTS else column
        for name, column in bars.columns.items()
    )
    values = zip(*(column.tolist() for column in columns), strict=True)
    return [dict(zip(bars.columns, row, strict=True)) for row in values]


def slice_of(bar: Bar, trace: Trace, lane: int) -> Slice:
    node, other, begin, end = (
        ("source", "target", "begin", "release") if lane == SENDS else ("target", "source", "into", "arrive")
    )
    fields = {
        "to" if lane == SENDS else "from": "several" if bar[other] == SEVERAL else trace.nodes[bar[other]],
        "tree": "several" if bar["tree"] == SEVERAL else bar["tree"],
        "segment": bar["first"],
        "transfers": bar["count"],
        "bytes": int(bar["bytes"]),
    }
    # An arrow to a slice without length would lead nowhere.
    until = max(bar[end], bar[begin] + 1)
    return bar[node], lane, label_of(bar), bar[begin], until, json.dumps(fields, ensure_ascii=False)


def label_of(bar: Bar) -> str:
    if bar["count"] > 1:
        return f"{bar['count']} transfers from segment {bar['first']}"
    return f"segment {bar['first']}" if bar["bytes"] else "ready"


def forwards(rows: list[Bar], places: list[tuple[int, int | None]]) -> list[tuple[int, int]]:
    """Pairs of a received slice and a send that forwards it.

    A run overlaps with the run for which it waits; the writer leaves out arrows back in time.
    """
    arrived: dict[tuple[int, int, int], int] = {}
    for bar, (_, received) in zip(rows, places, strict=True):
        if received is not None and bar["bytes"]:
            arrived.setdefault((bar["target"], bar["tree"], bar["first"]), received)
    return [
        (arrived[key], sent)
        for bar, (sent, received) in zip(rows, places, strict=True)
        if received is not None
        and bar["bytes"]
        and (key := (bar["source"], bar["tree"], bar["first"])) in arrived
    ]


def loads(rows: list[Bar], platform: Platform, trace: Trace) -> list[tuple[str, int, int, float]]:
    """Each transfer's contribution to the counters of its link and of its shared pipes."""
    found = []
    pipes: dict[tuple[int, int], list[str]] = {}
    for bar in rows:
        pair = bar["source"], bar["target"]
        if bar["target"] == SEVERAL:
            continue
        source, target = (trace.nodes[end] for end in pair)
        if pair not in pipes:
            pipes[pair] = (platform.link(source, target) or {}).get("uses", [])
        for name in (f"{source} → {target}", *(f"pipe {pipe}" for pipe in pipes[pair])):
            found.append((name, bar["begin"], bar["release"], float(bar["bytes"])))
    return found
