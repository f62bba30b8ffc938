"""Finds the link that made a broadcast slow.

Every receiver reports the times of the two halves of its data from each sender. A simulation of the same
plan on the measured platform predicts them. A link that took longer may have waited for its sender, which
received slowly itself; such a link shows nothing. The remaining slow links are the cause."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from broadleaf._core import Plan, Platform, simulate

Link = tuple[int, int]
Halves = tuple[tuple[int, float], tuple[int, float]]

# A link is a cause where its delay exceeds that of its sender's inputs by this factor.
NOTICEABLE = 1.15
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


class Expected:
    """The times of the halves of every link's transfers on the measured platform."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        # Holds the plan too, so that its id is not reused.
        self._known: OrderedDict[tuple[int, int], tuple[Plan, dict[Link, tuple[float, float]]]] = (
            OrderedDict()
        )

    def of(self, plan: Plan, message_bytes: int) -> Mapping[Link, tuple[float, float]]:
        """By (sender, receiver), seconds from the first to the middle and to the last arrival."""
        key = (id(plan), message_bytes)
        if key not in self._known:
            if len(self._known) >= MOST_EXPECTED:
                self._known.popitem(last=False)
            self._known[key] = (plan, self._simulated(plan, message_bytes))
        return self._known[key][1]

    def _simulated(self, plan: Plan, message_bytes: int) -> dict[Link, tuple[float, float]]:
        document = {**plan.to_dict(), "message_bytes": message_bytes}
        document.pop("predicted", None)
        resized = Plan.from_dict(document)
        transfers = simulate(self._platform, resized).transfers
        found: dict[Link, tuple[float, float]] = {}
        links = np.stack([transfers["from"], transfers["to"]], axis=1)
        for source, target in np.unique(links, axis=0):
            ends = np.sort(transfers["arrival_s"][(links == (source, target)).all(axis=1)])
            middle = ends[max(len(ends) // 2 - 1, 0)]
            found[int(source), int(target)] = (float(middle - ends[0]), float(ends[-1] - middle))
        return found


def findings(seen: Mapping[Link, Halves], expected: Mapping[Link, tuple[float, float]]) -> Iterator[Finding]:
    """The findings of one broadcast, both halves of each link; `seen` may lack links without a change."""

    def slowness(link: Link) -> list[float]:
        wanted = expected.get(link, (0.0, 0.0))
        return [
            seconds / should if should > 0 else 0.0
            for (_, seconds), should in zip(seen[link], wanted, strict=True)
        ]

    feeding: dict[int, float] = {}
    for link in seen:
        feeding[link[1]] = max(feeding.get(link[1], 1.0), *slowness(link))
    for link in seen:
        wanted = expected.get(link, (0.0, 0.0))
        fed = feeding.get(link[0], 1.0)
        for (message_bytes, seconds), should, slow in zip(seen[link], wanted, slowness(link), strict=True):
            if slow == 0.0 or (slow > NOTICEABLE and slow < NOTICEABLE * fed):
                continue
            yield Finding(*link, message_bytes, seconds, should)
