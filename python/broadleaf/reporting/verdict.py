"""A plan in sentences: its distance from the bound, the resource that limits it, the gain of other trees.

Every sentence is computed, from the simulation, the bound and the throughput optimum at the segment size.
"""

from __future__ import annotations

import math

import numpy as np

from broadleaf import _core
from broadleaf._core import Platform, Trace
from broadleaf.errors import PlanError
from broadleaf.reporting.broadcasts import Broadcast
from broadleaf.units import rate, seconds

# A plan within this share of the bound counts as near it: no other plan could gain more.
NEAR = 0.1
# Simulated times carry rounding errors of about this share.
EXACT = 1e-6
# A resource that is busy for this share of the time is the limit.
LIMITS = 0.9
# If draining the pipeline takes at least this share of the time, the verdict names it.
DRAINS = 0.2
# Two rates, or two times, that differ by less than this share are the same to a reader.
SAME = 0.005
# The optimum for this many hosts takes one or two seconds.
MOST_HOSTS = 200


def verdict_of(platform: Platform, broadcast: Broadcast, bound_s: float | None) -> list[str]:
    """One sentence on each: the bound, what limits the plan, and whether other trees would carry more."""
    sentences = [of_bound(broadcast, bound_s), of_limit(platform, broadcast.trace)]
    if broadcast.plan.collective == "bcast" and math.isfinite(broadcast.steady_bytes_per_s):
        sentences.append(of_trees(platform, broadcast, bound_s))
    return [sentence for sentence in sentences if sentence]


def of_bound(broadcast: Broadcast, bound_s: float | None) -> str:
    """How near the bound the plan is; a percentage is rounded up, so that "within" is true."""
    plan, makespan_s = broadcast.plan, broadcast.trace.makespan_s
    if not makespan_s:
        return "It takes no time: the platform has one host."
    if not bound_s:
        return f"It takes {seconds(makespan_s)}. No bound is known for this {plan.collective}."
    excess = makespan_s / bound_s - 1
    if excess <= EXACT:
        return f"At the bound: {seconds(makespan_s)}, and no plan takes less."
    near = f"Within {above(excess)} of" if excess <= NEAR else f"{1 + excess:.3g} times"
    return f"{near} the bound: {seconds(makespan_s)}, and no plan takes less than {seconds(bound_s)}."


def above(share: float) -> str:
    """A share in per cent, two digits, rounded up.

    >>> above(0.0241), above(0.1), above(0.00031)
    ('2.5 %', '10 %', '0.031 %')
    """
    percent = 100 * share
    digit = 10.0 ** (math.floor(math.log10(percent)) - 1)
    return f"{math.ceil(percent / digit * (1 - 1e-9)) * digit:.2g} %"


def of_limit(platform: Platform, trace: Trace) -> str:
    """The resource that is busy longest; if none is nearly always busy, the cause of the remaining time."""
    if not trace.makespan_s or not trace.busy_s:
        return ""
    longest_s = max(trace.busy_s.values())
    alike = [name for name, held_s in trace.busy_s.items() if held_s >= longest_s * (1 - SAME)]
    part = longest_s / trace.makespan_s
    shown = "all the time" if part >= 1 - EXACT else f"{100 * part:.3g} % of the time"
    if part > 1 + EXACT:
        why = "since a transfer arrives before its pipe is free"
        shown = f"for {seconds(longest_s)}, longer than the broadcast, {why}"
    if part >= LIMITS:
        first = named(platform, alike[0])
        first = first[0].upper() + first[1:]
        if len(alike) == 1:
            return f"{first} is the limit: it is busy {shown}."
        return f"{first} and {len(alike) - 1} more are the limit: they are busy {shown}."
    sentence = f"No port, link or pipe is busy more than {shown}"
    drain_s = draining(trace)
    if drain_s is not None and drain_s >= DRAINS * trace.makespan_s:
        return f"{sentence}: the last host has everything {seconds(drain_s)} after the root's last send."
    return f"{sentence}: the rest is latency, and waiting for segments or for a busy port."


def named(platform: Platform, resource: str) -> str:
    """A resource of a trace, in words: "out a" is the sending port of a."""
    kind, _, rest = resource.partition(" ")
    if kind == "link":
        # Names may contain spaces: split where both parts are nodes.
        nodes = {node["id"] for node in platform.to_dict()["nodes"]} if rest.count(" ") > 1 else None
        spaces = [at for at, letter in enumerate(rest) if letter == " "]
        at = next(at for at in spaces if nodes is None or {rest[:at], rest[at + 1 :]} <= nodes)
        return f"the link {rest[:at]} to {rest[at + 1 :]}"
    words = {"out": "the sending port of", "in": "the receiving port of", "port": "the port of"}
    return f"{words.get(kind, 'the shared pipe')} {rest}"


def draining(trace: Trace) -> float | None:
    """From the end of the root's last send to the end; None where not one root sends."""
    if trace.plan.collective not in ("bcast", "scatter"):
        return None
    table = trace.transfers
    mine = table[table["from"] == trace.nodes.index(trace.plan.root)]
    return max(0.0, trace.makespan_s - float(np.max(mine["release_s"]))) if len(mine) else None


def of_trees(platform: Platform, broadcast: Broadcast, bound_s: float | None) -> str:
    """Whether other trees, or one tree, would reach a higher steady-state throughput."""
    count, steady = len(broadcast.plan.trees), broadcast.steady_bytes_per_s
    makespan_s = broadcast.trace.makespan_s
    these = "this one" if count == 1 else f"these {count}"
    most = most_of(platform, broadcast)
    if most is None:
        return ""
    reached, upper = most
    if upper <= steady * (1 + SAME):
        another = "A second tree" if count == 1 else "Another tree"
        sentence = f"{another} would not help: {these} can carry {rate(steady)}, and no trees more"
    elif bound_s and makespan_s <= (1 + NEAR) * bound_s:
        return f"Other trees could save at most {above(1 - bound_s / makespan_s)}."
    else:
        others = "Several trees" if count == 1 else "Other trees"
        sentence = f"{others} would help: {these} can carry {rate(steady)}, the best found {rate(reached)}"
    if count > 1 and (single := single_tree(platform, broadcast)):
        sentence += f"; the best single tree found carries {rate(single)}"
    return f"{sentence}."


def most_of(platform: Platform, broadcast: Broadcast) -> tuple[float, float] | None:
    """The throughput of the best packing found and its upper bound; None on more than MOST_HOSTS hosts."""
    if len(platform.hosts) > MOST_HOSTS:
        return None
    try:
        best = _core.optimum(platform, broadcast.plan.root, broadcast.plan.segment_bytes, gap=SAME / 5)
    except (PlanError, ValueError):
        return None
    return best.throughput_bytes_per_s, best.upper_bound_bytes_per_s


def single_tree(platform: Platform, broadcast: Broadcast) -> float | None:
    """The throughput of the planner `single-tree` at the plan's segment size."""
    plan = broadcast.plan
    try:
        tree = _core.plan(
            platform, plan.root, plan.message_bytes, planner="single-tree", segment_bytes=plan.segment_bytes
        )
    except PlanError:
        return None
    return _core.throughput(platform, tree)
