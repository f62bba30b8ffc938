"""The advisor's data on one platform: its programs' calls and plans, its links, and the plans to give."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from broadleaf._core import Advisor, Plan, Platform
from broadleaf.advise.samples import Expected, Halves, Link, Usual, findings

# The samples of one call come from several processes, each of which writes every tenth of a second, on busy
# cores later.
SETTLED_S = 0.3
# Calls and communicators remembered.
MOST_CALLS = 256
MOST_COMMUNICATORS = 64
# A stream that was silent for this long has ended.
IDLE_AFTER_S = 600.0
# With a monitor, planning waits this long for probes of links in doubt.
PATIENCE_S = 5.0
# Notes are written ten times a second and read more often, so a greater age is an error.
MOST_AGE_S = 60.0
# MPI counts in signed integers of 64 bits.
MOST_BYTES = 1 << 63
# The communicator of prepared plans, which belong to no program.
NOBODY = 0


@dataclass
class Communicator:
    """The plans that one communicator of a program runs."""

    # The platform's node of every rank.
    nodes: list[int]
    # By root, size class and version.
    plans: dict[tuple[int, int, int], Plan] = field(default_factory=dict)


@dataclass
class Timed:
    """A call whose samples are still arriving."""

    communicator: int
    # A rank.
    root: int
    message_bytes: int
    version: int
    first_heard_s: float
    halves: dict[tuple[int, int], Halves] = field(default_factory=dict)


@dataclass(frozen=True)
class Observed:
    """A transfer that gave an estimate; by default a probe's."""

    # The part of the usual time in which the measured link would be busy.
    busy: float = 1.0
    # How slow the slowest other link of its sender was.
    others: float = 1.0


class Network:
    """One platform. Notes come from files: malformed ones raise ValueError, KeyError or TypeError."""

    def __init__(
        self, platform: Platform, *, has_monitor: bool, resume_after: int, planner: str | None = None
    ) -> None:
        self.platform = platform
        self.advisor = Advisor(platform, PATIENCE_S if has_monitor else 0.0, IDLE_AFTER_S, [0], planner)
        self.advisor.resume_after(resume_after)
        self.index = {name: at for at, name in enumerate(platform.nodes)}
        self._expected = Expected(platform)
        self._usual = Usual()
        self._slowness: dict[Link, float] = {}
        # The greatest factor by which times vary while nothing changes.
        self._spread = 1.0
        self._groups = [node.get("cluster") or node["id"] for node in platform.to_dict()["nodes"]]
        # Of the last transfer of a link, or between two clusters.
        self._observed: dict[Any, Observed] = {}
        self._communicators: OrderedDict[int, Communicator] = OrderedDict()
        self._calls: OrderedDict[tuple[int, int], Timed] = OrderedDict()

    def knows(self, communicator: int) -> bool:
        """Whether a program here has such a communicator."""
        return communicator in self._communicators

    def believed(self) -> list[dict[str, Any]]:
        """The links that differ from the measured platform: their share of the rate with its interval, their
        added latency."""
        return [
            {
                "from": self.platform.nodes[source],
                "to": self.platform.nodes[target],
                "rate": rate,
                "rate_interval": self._interval((source, target), rate),
                "added_latency_s": added_s,
            }
            for source, target, rate, added_s in self.advisor.drifts()
        ]

    def _interval(self, link: Link, rate: float) -> list[float]:
        """Wider than the rate by as much as its samples may differ without a change, and by as much as
        rehearsed broadcasts varied. A link that was idle for a part of the usual time may have become slower
        by as much more; one that may only have waited for others of its sender may be as fast as measured."""
        width = (1 + self.advisor.tolerance) * self._spread
        observed = self._observed.get(self._pair(link), Observed())
        return [
            observed.busy * rate / width,
            max(rate * width, min(1.0, rate * width * observed.others)),
        ]

    def _pair(self, link: Link) -> Any:
        """What has one estimate: a link inside a cluster, and all links from one cluster to another."""
        one, other = (self._groups[end] for end in link)
        return link if one == other else (one, other)

    def called(self, call: dict[str, Any], now_s: float) -> None:
        """Takes a root's note of its call."""
        communicator, root, size = int(call["communicator"], 16), int(call["root"]), int(call["bytes"])
        if size < 1:
            raise ValueError(f"a broadcast of {size} bytes")
        self.advisor.called(now_s - age_of(call), communicator, root, size)
        brought = call.get("brought")
        if brought is not None:
            self._put_into_use(communicator, root, size, brought)

    def timed(self, sample: dict[str, Any], now_s: float) -> None:
        """Takes a receiver's note of one sender's transfers."""
        first, second = zip(sample["bytes"], sample["seconds"], strict=True)
        halves = ((int(first[0]), float(first[1])), (int(second[0]), float(second[1])))
        sizes = [int(sample["message_bytes"]), *(size for size, _ in halves)]
        if not all(1 <= size < MOST_BYTES for size in sizes):
            return
        if not all(0 < seconds < float("inf") for _, seconds in halves):
            return
        key = (int(sample["communicator"], 16), int(sample["call"]))
        if key not in self._calls:
            if len(self._calls) >= MOST_CALLS:
                self._calls.popitem(last=False)
            root, size, version = (int(sample[name]) for name in ("root", "message_bytes", "version"))
            self._calls[key] = Timed(key[0], root, size, version, now_s)
        self._calls[key].halves[int(sample["from"]), int(sample["to"])] = halves

    def probed(self, source: int, target: int, size: int, seconds: float, now_s: float) -> None:
        """Takes one transfer of the monitor's, which waited for no other."""
        self.advisor.sampled(source, target, size, seconds, None, now_s, is_active=True)
        self._observed.pop(self._pair((source, target)), None)

    def settle(self, now_s: float) -> None:
        """Evaluates calls whose samples are complete."""
        ripe = [
            key
            for key, call in self._calls.items()
            if call.halves and now_s >= call.first_heard_s + SETTLED_S
        ]
        for key in ripe:
            self._conclude(self._calls.pop(key), now_s)

    def _put_into_use(self, communicator: int, root: int, size: int, brought: dict[str, Any]) -> None:
        nodes = [int(node) for node in brought["nodes"]]
        if not all(0 <= node < len(self.index) for node in nodes):
            raise ValueError("a rank sits on a node that the platform does not have")
        plan = Plan.from_dict(brought["plan"])
        self.advisor.in_use(communicator, root, size, plan)
        if communicator not in self._communicators and len(self._communicators) >= MOST_COMMUNICATORS:
            self._communicators.popitem(last=False)
        known = self._communicators.setdefault(communicator, Communicator(nodes))
        size_class = size.bit_length() - 1
        # Only the versions that a call under way may still run.
        version = int(brought["version"])
        for stale in [key for key in known.plans if key[:2] == (root, size_class) and key[2] < version - 1]:
            del known.plans[stale]
        known.plans[root, size_class, version] = plan

    def _conclude(self, call: Timed, now_s: float) -> None:
        known = self._communicators.get(call.communicator)
        if known is None or not 0 <= call.root < len(known.nodes):
            return
        plan = known.plans.get((known.nodes[call.root], call.message_bytes.bit_length() - 1, call.version))
        if plan is None:
            return
        seen: dict[Link, Halves] = {}
        for (source, target), halves in call.halves.items():
            if min(source, target) >= 0 and max(source, target) < len(known.nodes):
                link = (known.nodes[source], known.nodes[target])
                if link[0] != link[1]:
                    seen[link] = halves
        expected = self._expected.of(plan, call.message_bytes)
        self._spread = max(self._spread, expected.spread)
        for found in findings(seen, self._usual.times(seen, expected, now_s), self._slowness):
            self.advisor.sampled(
                found.source,
                found.target,
                found.message_bytes,
                found.seconds,
                found.expected_s,
                now_s,
                is_active=False,
            )
            ends = (self.platform.nodes[found.source], self.platform.nodes[found.target])
            busy = self.platform.transfer_s(*ends, found.message_bytes) / found.expected_s
            observed = Observed(min(1.0, busy), found.others)
            self._observed[self._pair((found.source, found.target))] = observed
        # Of the second halves, when all links are busy.
        self.advisor.carried([(*link, size / seconds) for link, (_, (size, seconds)) in seen.items()])


def age_of(note: dict[str, Any]) -> float:
    """The age of a note's event when it was written, seconds."""
    age_s = float(note["age_s"])
    return age_s if 0 <= age_s <= MOST_AGE_S else 0.0
