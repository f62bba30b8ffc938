"""Differences between two measurements of a network beyond their noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from broadleaf._core import Platform
from broadleaf.units import rate, seconds, size

# Two measurements of a quiet network agree within 5 %, of a busy one within this.
LIKELY_NOISE = 0.2
# The noise of one measurement, in interquartile ranges.
SPREADS = 2.0
# Latencies below this are of one host's memory, and vary with the cores of the ranks.
NOTICEABLE_S = 1e-6
SIZES = (1 << 10, 1 << 20)


@dataclass(frozen=True)
class Change:
    """A change in the pairs `where`, as medians where there are several."""

    where: str
    what: str
    before: str
    after: str
    # after / before; None where that is not a number.
    ratio: float | None

    def __str__(self) -> str:
        times = f" ({self.ratio:.3g} times)" if self.ratio is not None else ""
        return f"{self.where}: {self.what} {self.before} before, {self.after} now{times}"


@dataclass(frozen=True)
class Link:
    """A pair's numbers."""

    latency_s: float
    # By size.
    seconds: dict[int, float]
    spread: float


def changes(before: Platform, after: Platform) -> list[Change]:
    """What has changed, nodes first."""
    parts = (of_nodes, of_links, of_pipes, of_ports)
    return [change for part in parts for change in part(before, after)]


def of_nodes(before: Platform, after: Platform) -> Iterator[Change]:
    old, new = set(before.nodes), set(after.nodes)
    for names, what in ((old - new, "gone"), (new - old, "new")):
        if names:
            shown = ", ".join(sorted(names)[:4]) + (" ..." if len(names) > 4 else "")
            was, is_ = ("there", "gone") if what == "gone" else ("not there", "there")
            yield Change(f"nodes {shown}", "were", was, is_, None)
    parted, joined = partition(before, old & new), partition(after, old & new)
    if parted != joined:
        yield Change("clusters", "in number", str(len(parted)), str(len(joined)), None)


def partition(platform: Platform, among: set[str]) -> set[frozenset[str]]:
    """The nodes grouped by cluster, without the clusters' names."""
    members: dict[Any, set[str]] = {}
    for node in platform.to_dict()["nodes"]:
        if node["id"] in among:
            members.setdefault(node.get("cluster"), set()).add(node["id"])
    return {frozenset(each) for each in members.values()}


def of_links(before: Platform, after: Platform) -> Iterator[Change]:
    """A change for each two old clusters and each quantity in which some of their pairs differ."""
    cluster = {node["id"]: node.get("cluster", "") for node in before.to_dict()["nodes"]}
    here = [node for node in before.hosts if node in set(after.hosts)]
    pairs: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for one in here:
        for other in here:
            if one != other:
                pairs.setdefault((cluster[one], cluster[other]), []).append((one, other))
    quantities: list[tuple[str, float, Callable[[Link], float]]] = [
        ("latency", NOTICEABLE_S, lambda link: link.latency_s),
        *((f"{size(each)} takes", 0.0, lambda link, each=each: link.seconds[each]) for each in SIZES),
    ]
    for (source, target), own in pairs.items():
        links = [(pair, link_of(before, pair), link_of(after, pair)) for pair in own]
        for what, least_s, value in quantities:
            differ = [
                (pair, value(old), value(new))
                for pair, old, new in links
                if old is not None and new is not None
                and is_other(value(old), value(new), least_s, max(old.spread, new.spread))
            ]  # fmt: skip
            if not differ:
                continue
            old_s, new_s = median(old for _, old, _ in differ), median(new for _, _, new in differ)
            if len(differ) == 1 or len(own) == 1:
                where = " to ".join(differ[0][0])
            else:
                where = f"{source} to {target}, {len(differ)} of {len(own)} pairs"
            ratio = new_s / old_s if old_s else None
            yield Change(where, what, seconds(old_s), seconds(new_s), ratio)


def link_of(platform: Platform, pair: tuple[str, str]) -> Link | None:
    link = platform.link(*pair)
    if link is None:
        return None
    spreads = [share for bytes_, share in link.get("spread") or [] if bytes_ >= SIZES[0]]
    times = {bytes_: platform.transfer_s(*pair, bytes_) for bytes_ in SIZES}
    return Link(link["latency_s"], times, median(spreads) if spreads else 0.0)


def is_other(old: float, new: float, least: float, spread: float) -> bool:
    """Whether two values differ by more than the measurements' noise and these two's spread."""
    small, large = sorted((old, new))
    return large - small > max(least, small * max(LIKELY_NOISE, SPREADS * spread))


def of_pipes(before: Platform, after: Platform) -> Iterator[Change]:
    old, new = pipes_of(before), pipes_of(after)
    for name in sorted(old.keys() | new.keys()):
        was, is_ = old.get(name), new.get(name)
        if was is None or is_ is None or is_other(was, is_, 0.0, 0.0):
            said = [rate(each) if each else "none" for each in (was, is_)]
            yield Change(f"pipe {name}", "of", said[0], said[1], is_ / was if was and is_ else None)


def of_ports(before: Platform, after: Platform) -> Iterator[Change]:
    if before.port_model != after.port_model:
        yield Change("ports", "were", before.port_model, after.port_model, None)
        return
    old, new = ports_of(before), ports_of(after)
    differ = [name for name in old if name in new and is_other(old[name], new[name], 0.0, 0.0)]
    if differ:
        was, is_ = (median(rates[name] for name in differ) for rates in (old, new))
        where = f"port of {differ[0]}" if len(differ) == 1 else f"ports of {len(differ)} nodes"
        yield Change(where, "send", rate(was), rate(is_), is_ / was)


def ports_of(platform: Platform) -> dict[str, float]:
    nodes = platform.to_dict()["nodes"]
    return {node["id"]: node["out_bytes_per_s"] for node in nodes if "out_bytes_per_s" in node}


def pipes_of(platform: Platform) -> dict[str, float]:
    return {pipe["id"]: pipe["bandwidth_bytes_per_s"] for pipe in platform.to_dict().get("shared", [])}
