"""Finds the link that made a broadcast slow.

Every receiver reports the times of the two halves of its data from each sender. A simulation of the same
plan on the measured platform predicts them, and where broadcasts were rehearsed, what a link took beyond that
at first belongs to its usual time. A link that took longer may have waited for its sender, which
received slowly itself; such a link shows nothing. The remaining slow links are the cause."""

from __future__ import annotations

import heapq
import math
import statistics
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from broadleaf._core import Plan, Platform, simulate
from broadleaf.measured import measured_of

Link = tuple[int, int]
Halves = tuple[tuple[int, float], tuple[int, float]]

# A link is a cause where its delay exceeds that of its sender's inputs by this factor.
NOTICEABLE = 1.15
# The usual time of a link is the median of its first samples: the most samples, and the most seconds. A link
# whose times stay is rarely reported, so few samples are no reason to learn from later ones.
FIRST = 5
FIRST_S = 5.0
# Simulations cached.
MOST_EXPECTED = 64


@dataclass(frozen=True)
class Finding:
    """A transfer, with its measured and its expected time."""

    source: int
    target: int
    message_bytes: int
    seconds: float
    expected_s: float
    # How slow the slowest other link of its sender is, in or out, 1 or more: the transfer may have waited.
    others: float = 1.0


@dataclass(frozen=True)
class Expectation:
    """The times of one broadcast's halves, and by how much they vary."""

    # By (sender, receiver), seconds from the first to the middle and to the last arrival.
    halves: Mapping[Link, tuple[float, float]]
    # The least and the greatest time of rehearsed broadcasts over the prediction.
    ratios: tuple[float, float] = (1.0, 1.0)

    @property
    def spread(self) -> float:
        """Times that differ from the usual one by less than this factor are no change."""
        low, high = self.ratios
        return math.sqrt(high / low)


class Usual:
    """How many times as long as predicted each link takes while nothing changes: the median of its first
    samples, at most the ratio of the slowest rehearsed broadcast, and 1 where none was rehearsed. Most links
    are faster than a broadcast's slowest."""

    def __init__(self) -> None:
        # Since when, and the ratios.
        self._first: dict[Link, tuple[float, list[float]]] = {}

    def times(self, seen: Mapping[Link, Halves], predicted: Expectation, now_s: float) -> Expectation:
        """The usual times, learned from `seen` too."""
        if predicted.spread == 1.0:
            return predicted
        found = dict(predicted.halves)
        for link in seen.keys() & found.keys():
            should_s, took_s = sum(found[link]), sum(seconds for _, seconds in seen[link])
            if should_s <= 0:
                continue
            since_s, first = self._first.setdefault(link, (now_s, []))
            if len(first) < FIRST and now_s < since_s + FIRST_S:
                first.append(took_s / should_s)
            usual = min(statistics.median(first), predicted.ratios[1])
            found[link] = (usual * found[link][0], usual * found[link][1])
        return Expectation(found, predicted.ratios)


class Expected:
    """The times of the halves of every link's transfers on the measured platform."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._is_rehearsed = bool((measured_of(platform) or {}).get("rehearsed"))
        # Holds the plan too, so that its id is not reused.
        self._known: OrderedDict[tuple[int, int], tuple[Plan, Expectation]] = OrderedDict()

    def of(self, plan: Plan, message_bytes: int) -> Expectation:
        """For a plan's broadcast of another size."""
        key = (id(plan), message_bytes)
        if key not in self._known:
            if len(self._known) >= MOST_EXPECTED:
                self._known.popitem(last=False)
            self._known[key] = (plan, self._simulated(plan, message_bytes))
        return self._known[key][1]

    def _simulated(self, plan: Plan, message_bytes: int) -> Expectation:
        transfers = simulate(self._platform, resized(plan, message_bytes)).transfers
        found: dict[Link, tuple[float, float]] = {}
        links = np.stack([transfers["from"], transfers["to"]], axis=1)
        for source, target in np.unique(links, axis=0):
            ends = np.sort(transfers["arrival_s"][(links == (source, target)).all(axis=1)])
            middle = ends[max(len(ends) // 2 - 1, 0)]
            found[int(source), int(target)] = (float(middle - ends[0]), float(ends[-1] - middle))
        return Expectation(found, self._ratios(plan, message_bytes))

    def _ratios(self, plan: Plan, message_bytes: int) -> tuple[float, float]:
        """The interval of a broadcast's time over its prediction; beyond the rehearsed sizes that of the
        nearest half, quarter ... that has one."""
        while self._is_rehearsed and message_bytes:
            trace = simulate(self._platform, resized(plan, message_bytes))
            if trace.makespan_interval_s and trace.makespan_s:
                low_s, high_s = trace.makespan_interval_s
                return low_s / trace.makespan_s, high_s / trace.makespan_s
            message_bytes //= 2
        return 1.0, 1.0


def resized(plan: Plan, message_bytes: int) -> Plan:
    document = {**plan.to_dict(), "message_bytes": message_bytes}
    document.pop("predicted", None)
    return Plan.from_dict(document)


def findings(
    seen: Mapping[Link, Halves], expectation: Expectation, known: dict[Link, float] | None = None
) -> Iterator[Finding]:
    """The findings of one broadcast, both halves of each link. `seen` may lack links that have not changed
    since an earlier broadcast: `known` keeps how slow they were."""
    expected, spread = expectation.halves, expectation.spread

    def slowness(link: Link) -> list[float]:
        wanted = expected.get(link, (0.0, 0.0))
        return [
            seconds / should if should > 0 else 0.0
            for (_, seconds), should in zip(seen[link], wanted, strict=True)
        ]

    known = {} if known is None else known
    known.update({link: max(slowness(link)) for link in seen})
    feeding: dict[int, float] = {}
    sending: dict[int, list[tuple[float, Link]]] = {}
    for link in known.keys() & expected.keys():
        feeding[link[1]] = max(feeding.get(link[1], 1.0), known[link])
        sending[link[0]] = heapq.nlargest(2, [*sending.get(link[0], []), (known[link], link)])
    for link in seen:
        wanted = expected.get(link, (0.0, 0.0))
        fed = feeding.get(link[0], 1.0)
        others = max([fed, *(slow for slow, other in sending.get(link[0], []) if other != link)])
        for (message_bytes, _), should, slow in zip(seen[link], wanted, slowness(link), strict=True):
            if slow == 0.0 or (slow > NOTICEABLE and slow < NOTICEABLE * fed):
                continue
            # Messages that waited in buffers arrive together: a short time shows no faster link.
            is_usual = spread > 1.0 and slow <= spread
            yield Finding(*link, message_bytes, should if is_usual else slow * should, should, others)
