"""A trace for Perfetto and chrome://tracing (the Trace Event Format): one process a node, one row a port."""

from __future__ import annotations

from typing import Any

from broadleaf._core import Platform, Trace

SENDS, RECEIVES = 1, 2


def trace_events(platform: Platform, trace: Trace) -> dict[str, Any]:
    """The document; times in it are microseconds, as the format wants.

    A transfer is a slice in the sender's row from start to release, one in the receiver's row that ends at
    its arrival, and an arrow between the two. Slices of a receiver that cannot be told apart in time
    (multi-port) lie in further rows.
    """
    events: list[dict[str, Any]] = []
    for place, name in enumerate(trace.nodes):
        events.append({"ph": "M", "name": "process_name", "pid": place, "args": {"name": name}})
        events.append({"ph": "M", "name": "process_sort_index", "pid": place, "args": {"sort_index": place}})
    rows: dict[tuple[int, int], list[float]] = {}
    for number, transfer in enumerate(trace.transfers.tolist()):
        source, target, tree, segment, segments, bytes_, start_s, release_s, arrival_s = transfer
        what = {"tree": tree, "segment": segment, "segments": segments, "bytes": bytes_}
        label = f"segment {segment}" if segments else "ready"
        # The receiver is busy for as long as the sender was, ending at the arrival.
        received_from = max(start_s, arrival_s - (release_s - start_s))
        for node, port, other, begin, end, phase in (
            (source, SENDS, target, start_s, release_s, "s"),
            (target, RECEIVES, source, received_from, arrival_s, "f"),
        ):
            row = free_row(rows.setdefault((node, port), []), begin, end)
            at = {"pid": node, "tid": port + 2 * row, "ts": begin * 1e6}
            direction = "to" if port == SENDS else "from"
            arguments = {direction: trace.nodes[other], **what}
            events.append({"ph": "X", "name": label, "dur": (end - begin) * 1e6, "args": arguments, **at})
            arrow = {"ph": phase, "name": "transfer", "cat": "transfer", "id": number, **at}
            events.append(arrow if phase == "s" else {**arrow, "bp": "e"})
    for (node, port), ends in rows.items():
        for row in range(len(ends)):
            label = ("sends" if port == SENDS else "receives") + (f" {row + 1}" if row else "")
            thread = {"pid": node, "tid": port + 2 * row}
            events.append({"ph": "M", "name": "thread_name", **thread, "args": {"name": label}})
    return {
        "displayTimeUnit": "ms",
        "otherData": {"platform": platform.name, "makespan_s": trace.makespan_s},
        "traceEvents": events,
    }


def free_row(ends: list[float], begin: float, end: float) -> int:
    """The first row whose last slice has ended by `begin`; slices of one row must not overlap."""
    for row, last in enumerate(ends):
        # Back-to-back slices differ by rounding in the last bit of a time.
        if last <= begin + 1e-12:
            ends[row] = end
            return row
    ends.append(end)
    return len(ends) - 1
