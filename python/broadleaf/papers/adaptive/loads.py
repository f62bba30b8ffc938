"""Paper 3's program and the loads that change its network while it runs."""

from __future__ import annotations

import random
from dataclasses import dataclass

import broadleaf as bl
from broadleaf.checkout import CHECKOUT

PLATFORM = CHECKOUT / "platforms" / "teragrid-64.json"
LOADED = "C3"
# A cluster of another site, loaded in the variations.
ALSO_LOADED = "C6"
# A node of C2, as in the paper.
ROOT = "c2-0"

CALLS = 60
FIRST_BYTES = 1_000_000
FIRST_INTERVAL_S = 90.0
# The paper has "exponentially" without a rate; with this one the program runs for 42 minutes.
INTERVAL_FACTOR = 0.97

# Which of the links at C3 a load is on; the paper has "different links to/from C3".
SOME, INTO, OUT, BOTH = "some links", "all into C3", "all out of C3", "all at C3"
# Beyond the paper: another cluster, two at once, loads that grow and fade, and longer routes at the same
# rate, where a latency L becomes L / (1 - taken).
ELSEWHERE, TWO = "some links at C6", "some links at C3 and C6"
RAMP, LONGER = "some links, growing", "some links, longer"
PAPERS_KINDS = (SOME, INTO, OUT, BOTH)
KINDS = (*PAPERS_KINDS, ELSEWHERE, TWO, RAMP, LONGER)
# A growing load's ramps: their steps, and the part of its time that each ramp takes.
RAMP_STEPS, RAMP_PART = 4, 0.25

Steps = list[tuple[float, float]]


@dataclass(frozen=True)
class Load:
    """Other traffic on some links: its share of their bandwidth, its begin and end."""

    begin_s: float
    end_s: float
    # Of their bandwidth, 0.5 to 0.9.
    taken: float
    # (from, to) by cluster.
    links: tuple[tuple[str, str], ...]
    is_ramp: bool = False
    # It leaves the bandwidth unchanged and makes latencies longer.
    is_longer: bool = False

    def taken_at(self, time_s: float) -> float:
        """The share that it takes at a time during the load."""
        return [part for step_s, part in self.steps() if step_s <= time_s][-1]

    def steps(self) -> list[tuple[float, float]]:
        """(time in s, share taken) of each step."""
        if not self.is_ramp:
            return [(self.begin_s, self.taken)]
        step_s = RAMP_PART * (self.end_s - self.begin_s) / RAMP_STEPS
        parts = [self.taken * (step + 1) / RAMP_STEPS for step in range(RAMP_STEPS)]
        growing = [(self.begin_s + step * step_s, part) for step, part in enumerate(parts)]
        fading = [(self.end_s - (step + 1) * step_s, part) for step, part in enumerate(parts[:-1])]
        return growing + fading[::-1]


def calls() -> list[tuple[float, int]]:
    """The times and sizes of the broadcasts: sizes fall linearly, intervals exponentially."""
    at_s, interval_s, made = 0.0, FIRST_INTERVAL_S, []
    for call in range(CALLS):
        made.append((at_s, round(FIRST_BYTES * (1 - call / CALLS))))
        at_s += interval_s
        interval_s *= INTERVAL_FACTOR
    return made


def platform() -> bl.Platform:
    """teragrid-64 with a pipe for each link that may be loaded, with the link's own limit as its rate.

    All hosts of a link share what a load leaves of it.
    """
    document = bl.Platform.load(str(PLATFORM)).to_dict()
    rates = {shared["id"]: shared["bandwidth_bytes_per_s"] for shared in document["shared"]}
    for bridge in document["bridges"]:
        ends = bridge["from_cluster"], bridge["to_cluster"]
        if {LOADED, ALSO_LOADED} & set(ends):
            uses = bridge["link"]["uses"]
            pipe = pipe_of(ends)
            document["shared"].append({"id": pipe, "bandwidth_bytes_per_s": min(rates[use] for use in uses)})
            uses.append(pipe)
    document["name"] = "teragrid-64, links of C3 and C6 apart"
    return bl.Platform.from_dict(document)


def unshared(network: bl.Platform) -> bl.Platform:
    """The network where every pair of hosts has the rate of its narrowest shared link to itself."""
    document = network.to_dict()
    rates = {shared["id"]: shared["bandwidth_bytes_per_s"] for shared in document.pop("shared")}
    for bridge in document["bridges"]:
        link = bridge["link"]
        link["bandwidth_bytes_per_s"] = min(
            link["bandwidth_bytes_per_s"], *(rates[use] for use in link.pop("uses"))
        )
    return bl.Platform.from_dict(document | {"name": "teragrid-64, nothing shared"})


def pipe_of(link: tuple[str, str]) -> str:
    return f"link-{link[0]}-{link[1]}"


def links_at(network: bl.Platform, loaded: str) -> list[tuple[str, str]]:
    """All links into and out of a cluster."""
    clusters = dict.fromkeys(node["cluster"] for node in network.to_dict()["nodes"])
    others = [name for name in clusters if name != loaded]
    return [(other, loaded) for other in others] + [(loaded, other) for other in others]


def drawn_loads(seed: int, kind: str, network: bl.Platform, until_s: float) -> list[Load]:
    """6 to 8 minutes each, 4 to 7 minutes apart, taking 50 to 90 %, all uniform."""
    draw = random.Random(seed)
    at_loaded = links_at(network, ALSO_LOADED if kind == ELSEWHERE else LOADED)
    loads = []
    now_s = 60 * draw.uniform(4, 7)
    while now_s < until_s:
        end_s = now_s + 60 * draw.uniform(6, 8)
        taken = draw.uniform(0.5, 0.9)
        links = chosen(draw, kind, at_loaded)
        if kind == TWO:
            links += chosen(
                draw, kind, [link for link in links_at(network, ALSO_LOADED) if LOADED not in link]
            )
        loads.append(Load(now_s, end_s, taken, tuple(links), is_ramp=kind == RAMP, is_longer=kind == LONGER))
        now_s = end_s + 60 * draw.uniform(4, 7)
    return loads


def chosen(draw: random.Random, kind: str, links: list[tuple[str, str]]) -> list[tuple[str, str]]:
    if kind in (SOME, ELSEWHERE, TWO, RAMP, LONGER):
        # All numbers of links are equally likely.
        return sorted(draw.sample(links, draw.randint(1, len(links))))
    return [
        link for link in links
        if kind == BOTH or (kind == INTO and link[1] == LOADED) or (kind == OUT and link[0] == LOADED)
    ]  # fmt: skip


@dataclass(frozen=True)
class Courses:
    """The network's changes over time, in the form of `replay`: factors of rates and latencies."""

    links: list[tuple[str, str, Steps]]
    pipes: list[tuple[str, Steps]]
    latencies: list[tuple[str, str, Steps]]


def courses(loads: list[Load]) -> Courses:
    """The factors of the links' rates, of their pipes' rates, and of the links' latencies."""
    left, longer = (by_link(loads, is_longer=is_longer) for is_longer in (False, True))
    pipes = [(pipe_of(link), course) for link, course in left.items()]
    latencies = [(*link, [(step_s, 1 / part) for step_s, part in course]) for link, course in longer.items()]
    return Courses([(*link, course) for link, course in left.items()], pipes, latencies)


def by_link(loads: list[Load], *, is_longer: bool) -> dict[tuple[str, str], Steps]:
    """(time in s, remaining share) by link, under loads of one kind."""
    steps: dict[tuple[str, str], Steps] = {}
    for load in loads:
        for link in load.links if load.is_longer == is_longer else ():
            left = [(step_s, 1 - part) for step_s, part in load.steps()]
            steps.setdefault(link, []).extend([*left, (load.end_s, 1.0)])
    return steps


def load_at(loads: list[Load], time_s: float) -> Load | None:
    return next((load for load in loads if load.begin_s <= time_s < load.end_s), None)
