"""Predicted time of every planner against message size, with the limit."""

from __future__ import annotations

from typing import Any

from broadleaf._core import Plan, Platform, compare, makespan_bound_s
from broadleaf.collectives import ROOTLESS

# The step between default sizes, and their number.
FACTOR = 8
COUNT = 5

Document = dict[str, Any]


def sizes_below(message_bytes: int) -> list[int]:
    """The message's size and some below it, each a FACTOR smaller.

    >>> sizes_below(64 << 20)
    [16384, 131072, 1048576, 8388608, 67108864]
    """
    sizes = {max(1, message_bytes // FACTOR**step) for step in range(COUNT)}
    return sorted(sizes)


def curves_of(platform: Platform, plan: Plan, sizes: list[int], time_limit_s: float) -> Document:
    """Each planner's predicted times and the bound for the plan's collective and root, at every size.

    A planner has no time where it was not tried: it does not support the collective, or `time_limit_s` had
    passed."""
    times: dict[str, list[float | None]] = {}
    bounds: list[float | None] = []
    passed_over: dict[str, str] = {}
    for at, size in enumerate(sizes):
        comparison = compare(platform, plan.root, size, collective=plan.collective, time_limit_s=time_limit_s)
        # The comparison's own bound is weak where its time was spent before.
        bounds.append(makespan_bound_s(platform, plan.root, size, plan.collective))
        passed_over.update(comparison.passed_over)
        for tried in comparison.tried:
            row = times.setdefault(tried.planner, [None] * len(sizes))
            row[at] = tried.makespan_s
    never = {name: reason for name, reason in passed_over.items() if name not in times}
    return {
        "root": None if plan.collective in ROOTLESS else plan.root,
        "collective": plan.collective,
        "sizes": sizes,
        "bounds": bounds,
        "planners": [[name, row] for name, row in sorted(times.items(), key=lambda item: rank(item[1]))],
        "passed_over": never,
        "time_limit_s": time_limit_s,
    }


def rank(row: list[float | None]) -> tuple[int, float]:
    """The sort key: planners with a time at the largest size first, the shortest time first."""
    last, time = max((at, time) for at, time in enumerate(row) if time is not None)
    return -last, time
