"""Paper 3's program and the loads that change its network while it runs."""

from __future__ import annotations

import random
from dataclasses import dataclass

import broadleaf as bl
from broadleaf.papers.beds import CHECKOUT

PLATFORM = CHECKOUT / "platforms" / "teragrid-64.json"
LOADED = "C3"
# A node of C2, as in the paper.
ROOT = "c2-0"

CALLS = 60
FIRST_BYTES = 1_000_000
FIRST_INTERVAL_S = 90.0
# The paper says "exponentially", not how fast; so the program runs for 42 minutes, under three or four loads.
INTERVAL_FACTOR = 0.97

# Which of the links at C3 a load is on; the paper says "different links to/from C3".
SOME, INTO, OUT, BOTH = "some links", "all into C3", "all out of C3", "all at C3"
KINDS = (SOME, INTO, OUT, BOTH)

Steps = list[tuple[float, float]]


@dataclass(frozen=True)
class Load:
    """What other traffic takes of some links, from when to when."""

    begin_s: float
    end_s: float
    # Of their bandwidth, 0.5 to 0.9.
    taken: float
    # (from, to) by cluster.
    links: tuple[tuple[str, str], ...]


def calls() -> list[tuple[float, int]]:
    """When the program broadcasts, and how much: sizes fall linearly, intervals exponentially."""
    at_s, interval_s, made = 0.0, FIRST_INTERVAL_S, []
    for call in range(CALLS):
        made.append((at_s, round(FIRST_BYTES * (1 - call / CALLS))))
        at_s += interval_s
        interval_s *= INTERVAL_FACTOR
    return made


def platform() -> bl.Platform:
    """teragrid-64 with a pipe for each link at C3, as wide as what limits it already.

    What a load leaves of a link is left to all its hosts together.
    """
    document = bl.Platform.load(str(PLATFORM)).to_dict()
    rates = {shared["id"]: shared["bandwidth_bytes_per_s"] for shared in document["shared"]}
    for bridge in document["bridges"]:
        ends = bridge["from_cluster"], bridge["to_cluster"]
        if LOADED in ends:
            uses = bridge["link"]["uses"]
            pipe = pipe_of(ends)
            document["shared"].append({"id": pipe, "bandwidth_bytes_per_s": min(rates[use] for use in uses)})
            uses.append(pipe)
    document["name"] = "teragrid-64, C3's links apart"
    return bl.Platform.from_dict(document)


def pipe_of(link: tuple[str, str]) -> str:
    return f"link-{link[0]}-{link[1]}"


def links_at_loaded(network: bl.Platform) -> list[tuple[str, str]]:
    clusters = dict.fromkeys(node["cluster"] for node in network.to_dict()["nodes"])
    others = [name for name in clusters if name != LOADED]
    return [(other, LOADED) for other in others] + [(LOADED, other) for other in others]


def drawn_loads(seed: int, kind: str, links: list[tuple[str, str]], until_s: float) -> list[Load]:
    """6 to 8 minutes each, 4 to 7 minutes apart, taking 50 to 90 %, all uniform."""
    draw = random.Random(seed)
    loads = []
    now_s = 60 * draw.uniform(4, 7)
    while now_s < until_s:
        end_s = now_s + 60 * draw.uniform(6, 8)
        taken = draw.uniform(0.5, 0.9)
        loads.append(Load(now_s, end_s, taken, tuple(chosen(draw, kind, links))))
        now_s = end_s + 60 * draw.uniform(4, 7)
    return loads


def chosen(draw: random.Random, kind: str, links: list[tuple[str, str]]) -> list[tuple[str, str]]:
    if kind == SOME:
        # Any number of them is as likely as any other.
        return sorted(draw.sample(links, draw.randint(1, len(links))))
    return [
        link for link in links
        if kind == BOTH or (kind == INTO and link[1] == LOADED) or (kind == OUT and link[0] == LOADED)
    ]  # fmt: skip


def courses(loads: list[Load]) -> tuple[list[tuple[str, str, Steps]], list[tuple[str, Steps]]]:
    """The rates over time of the links and of their pipes."""
    steps: dict[tuple[str, str], Steps] = {}
    for load in loads:
        for link in load.links:
            steps.setdefault(link, []).extend([(load.begin_s, 1 - load.taken), (load.end_s, 1.0)])
    links = [(*link, course) for link, course in steps.items()]
    pipes = [(pipe_of(link), course) for link, course in steps.items()]
    return links, pipes


def load_at(loads: list[Load], time_s: float) -> Load | None:
    return next((load for load in loads if load.begin_s <= time_s < load.end_s), None)
