"""A plan's data on the page: facts, trees, busy resources, timeline."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from broadleaf import _core
from broadleaf._core import Plan, Platform, Trace, simulate, throughput
from broadleaf.bars import SEVERAL, bars_of
from broadleaf.collectives import ROOTLESS, goes_outward, moved
from broadleaf.errors import PlanError, naming
from broadleaf.given import File, name_of, plan_of

# The most trees with their own colour; the page gives the number of all.
MOST_TREES = 12
# The resources listed, the longest held first.
BUSIEST = 16

Document = dict[str, Any]


@dataclass(frozen=True)
class Broadcast:
    """A plan that was simulated on its platform."""

    label: str
    plan: Plan
    trace: Trace
    steady_bytes_per_s: float


def broadcast_of(platform: Platform, given: Plan | File) -> Broadcast:
    """Simulates a plan, or the plan of a file; raises PlanError where it was made for another platform."""
    plan = plan_of(given)
    if plan.platform_digest and plan.platform_digest != platform.digest:
        file = "" if isinstance(given, Plan) else f"{given}: "
        raise PlanError(
            f'{file}a plan for another platform, "{plan.platform}" as it was then; '
            f'plan again on "{platform.name}"'
        )
    with naming(given):
        trace = simulate(platform, plan)
    return Broadcast(name_of(given), plan, trace, throughput(platform, plan))


def described(broadcast: Broadcast, platform: Platform, most_bars: int) -> Document:
    """The page's data for a plan; its timeline has at most about `most_bars` bars."""
    plan, trace = broadcast.plan, broadcast.trace
    document = plan.to_dict()
    place = {name: at for at, name in enumerate(trace.nodes)}
    # Of an all-reduce, the way out.
    given = document["outward" if plan.collective == "allreduce" else "trees"]
    trees = sorted(enumerate(given), key=lambda item: -item[1]["share"])
    bars = bars_of(trace, most_bars)
    hops, outward = hops_of(trace), goes_outward(plan)
    finish = [seconds if isfinite(seconds) else None for seconds in trace.finish_s.tolist()]
    steady = broadcast.steady_bytes_per_s
    busy = sorted(trace.busy_s.items(), key=lambda item: -item[1])
    return {
        "label": broadcast.label,
        "planner": plan.planner,
        "collective": plan.collective,
        "moves": moved(plan, plan.root),
        "is_outward": outward,
        "root": None if plan.collective in ROOTLESS else place.get(plan.root),
        "message_bytes": plan.message_bytes,
        "segment_bytes": plan.segment_bytes,
        "makespan_s": trace.makespan_s,
        "bound_s": bound_of(platform, plan),
        "throughput_bytes_per_s": steady if isfinite(steady) else None,
        "trees": [
            {
                "number": number,
                "share": tree["share"],
                **edges_of(platform, tree, place, hops.get(number, []), outward),
            }
            for number, tree in trees[:MOST_TREES]
        ],
        "tree_count": len(trees),
        "finish_s": finish,
        "first_s": firsts_of(trace) if bool(np.any(bars.columns["target"] == SEVERAL)) else None,
        "busy": [[name, held] for name, held in busy[:BUSIEST]],
        "busy_count": len(busy),
        "bars": bars.packed(),
        "bar_count": len(bars),
        "transfers": bars.transfers,
        "told": bars.told(),
    }


def bound_of(platform: Platform, plan: Plan) -> float | None:
    """The plan's own bound, or if its file has none, the bound that planners compare with."""
    if plan.bound_s is not None or plan.collective != "bcast":
        return plan.bound_s
    try:
        return _core.plan(platform, plan.root, plan.message_bytes, planner="flat").bound_s
    except PlanError:
        return None


def edges_of(
    platform: Platform,
    tree: Document,
    place: dict[str, int],
    hops: list[tuple[int, int]],
    is_outward: bool,
) -> Document:
    """Each node's parent by place, -1 where none sends to it directly; and the hops over relays.

    Where data go inward too, all pairs that send are hops, in the direction of the data.
    """
    parents = [-1] * len(place)
    if not is_outward:
        return {"parents": parents, "hops": hops}
    relayed = False
    for parent, children in tree["children"].items():
        for child in children:
            if child in tree.get("via", {}) or platform.link(parent, child) is None:
                relayed = True
            else:
                parents[place[child]] = place[parent]
    # The trace has the path of a relayed transfer.
    others = [hop for hop in hops if parents[hop[1]] != hop[0]] if relayed else []
    return {"parents": parents, "hops": others}


def firsts_of(trace: Trace) -> list[float | None]:
    """When each node begins to receive: bars with several receivers do not record each one's share."""
    table = trace.transfers
    firsts = np.full(len(trace.nodes), np.inf)
    np.minimum.at(firsts, table["to"], table["arrival_s"] - (table["release_s"] - table["start_s"]))
    return [float(f"{max(0.0, first):.6g}") if isfinite(first) else None for first in firsts.tolist()]


def hops_of(trace: Trace) -> dict[int, list[tuple[int, int]]]:
    """The pairs between which each tree's transfers go, relays' hops among them."""
    found: dict[int, list[tuple[int, int]]] = {}
    table = trace.transfers
    count = len(trace.nodes)
    # One integer key for tree, sender and receiver: sorting millions of integers is faster than of triples.
    keys = (table["tree"].astype(np.int64) * count + table["from"]) * count + table["to"]
    for key in np.unique(keys).tolist():
        found.setdefault(key // count**2, []).append((key // count % count, key % count))
    return found
