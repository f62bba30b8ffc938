"""How early any broadcast in equal segments can end, by linear programs: for `benches/optimum.py startup`.

Among equal hosts there is a better bound by hand (`equal_hosts_s`): some segment leaves the root only after
all others, and then it has to reach every host.

One program holds for all plans whose segments have between `least` and `most` bytes. Every byte crosses every
cut between the root and a host, so the bytes on the links make the ports busy for at least a fractional
packing of trees, start-ups counted as in segments of `most` bytes. A port of a host is idle before the first
segment: its in-port until that begins to arrive, its out-port until it is there. The last segment from an
out-port still needs its latency. When each host gets its first segment is in the program, too: one host at a
time from each port, from hosts that have one, in segments of `least` bytes. Its steps of time are rounded so
that sends begin and arrive earlier than they can, and hold their ports for a shorter time.
"""

from __future__ import annotations

import heapq
import math
from itertools import count

import networkx as nx

import broadleaf as bl
from throughput_programs import INFINITE, Edge, Program

# Steps of time in the shortest transfer, and of all first segments at most: more make the bound tighter and
# the program larger.
STEPS = 3
MOST_STEPS = 200
# Ranges of segment sizes are halved until the least bound's sizes differ by no more than this factor.
FINE = 1.01


class Links:
    """Latency, start-up and rate of each link."""

    def __init__(self, platform: bl.Platform) -> None:
        self.hosts = list(platform.hosts)
        self.latency_s: dict[Edge, float] = {}
        self.startup_s: dict[Edge, float] = {}
        self.s_per_byte: dict[Edge, float] = {}
        for source in self.hosts:
            for target in platform.successors(source):
                link = platform.link(source, target)
                assert link is not None
                edge = (source, target)
                self.latency_s[edge] = link.get("latency_s", 0.0)
                self.startup_s[edge] = link.get("startup_s", 0.0)
                self.s_per_byte[edge] = 1 / link["bandwidth_bytes_per_s"]

    def transfer_s(self, edge: Edge, segment_bytes: float) -> float:
        return self.startup_s[edge] + segment_bytes * self.s_per_byte[edge]

    def arrives_s(self, edge: Edge, segment_bytes: float) -> float:
        return self.latency_s[edge] + self.transfer_s(edge, segment_bytes)


class FirstSegments:
    """The rows about each host's first segment: `begins[host]` is when it begins to arrive, `there[host]`
    when it is there, seconds."""

    def __init__(self, program: Program, links: Links, root: str, least: float) -> None:
        self.links, self.root, self.least = links, root, least
        self.begins = {host: program.variable() for host in links.hosts}
        self.there = {host: program.variable() for host in links.hosts}
        ways: nx.DiGraph[str] = nx.DiGraph()
        for edge in links.latency_s:
            ways.add_edge(*edge, weight=links.arrives_s(edge, least))
        self.distance_s = nx.single_source_dijkstra_path_length(ways, root)
        hop_s = max(links.arrives_s(edge, least) for edge in links.latency_s)
        # Of a host to which nobody sends by then, the program only knows that it is later.
        end_s = max(self.distance_s.values()) + 3 * hop_s
        shortest_s = min(links.transfer_s(edge, least) for edge in links.latency_s)
        self.step_s = max(shortest_s / STEPS, end_s / MOST_STEPS)
        self.steps = math.ceil(end_s / self.step_s)
        # By link and step, whether the first send to the link's target begins in that step.
        self.first: dict[Edge, list[tuple[int, int]]] = {}
        for edge in links.latency_s:
            if edge[1] != root:
                earliest = max(0, math.floor(self.distance_s[edge[0]] / self.step_s - 1e-9))
                self.first[edge] = [(step, program.variable()) for step in range(earliest, self.steps)]
        program.row(0.0, 0.0, [(self.there[root], 1.0)])
        for host in links.hosts:
            if host != root:
                self.reached(program, host)
            self.sends(program, host)

    def reached(self, program: Program, host: str) -> None:
        into = [edge for edge in self.first if edge[1] == host]
        later = program.variable()
        end_s = self.steps * self.step_s
        program.row(1.0, 1.0, [(later, 1.0), *((at, 1.0) for edge in into for _, at in self.first[edge])])
        begins = [(self.begins[host], 1.0), (later, -end_s)]
        there = [(self.there[host], 1.0), (later, -end_s)]
        for edge in into:
            for step, at in self.first[edge]:
                start_s = step * self.step_s
                begins.append((at, -start_s - self.links.latency_s[edge]))
                there.append((at, -start_s - self.links.arrives_s(edge, self.least)))
        program.row(0.0, INFINITE, begins)
        program.row(0.0, INFINITE, there)

    def sends(self, program: Program, host: str) -> None:
        """At the end of each step, a host is in no more than one of these sends, and only if it has a
        segment."""
        in_hand: dict[int, list[tuple[int, float]]] = {}
        for edge, sends in self.first.items():
            if edge[0] != host:
                continue
            held = math.floor(self.links.transfer_s(edge, self.least) / self.step_s)
            for step, at in sends:
                for end in range(step + 1, min(step + held, self.steps) + 1):
                    in_hand.setdefault(end, []).append((at, 1.0))
        arrivals = [
            (step * self.step_s + self.links.arrives_s(edge, self.least), at)
            for edge, sends in self.first.items()
            if edge[1] == host
            for step, at in sends
        ]
        for end, terms in in_hand.items():
            if host == self.root:
                program.at_most_one(terms)
            else:
                has = [(at, -1.0) for at_s, at in arrivals if at_s <= end * self.step_s + 1e-12]
                program.row(-INFINITE, 0.0, [*terms, *has])


def range_bound_s(
    platform: bl.Platform, message_bytes: int, least: float, most: float, cuts: list[set[str]] | None = None
) -> float:
    """No broadcast in segments of `least` to `most` bytes, each sent by itself, is faster. `cuts` is extended
    by the cuts that mattered, for the next call."""
    root = platform.hosts[0]
    links = Links(platform)
    program = Program()
    # The program maximises its first variable, the negative makespan.
    program.free(program.rate)
    carried = {edge: program.variable() for edge in links.latency_s}
    busy_s = {edge: message_bytes / most * links.transfer_s(edge, most) for edge in links.latency_s}
    first = FirstSegments(program, links, root, least)
    for host in links.hosts:
        out = [edge for edge in carried if edge[0] == host]
        if out:
            idle_s = min(links.latency_s[edge] for edge in out)
            terms = [(carried[edge], busy_s[edge]) for edge in out]
            program.row(-INFINITE, -idle_s, [*terms, (first.there[host], 1.0), (program.rate, 1.0)])
        if host != root:
            terms = [(carried[edge], busy_s[edge]) for edge in carried if edge[1] == host]
            program.row(-INFINITE, 0.0, [*terms, (first.begins[host], 1.0), (program.rate, 1.0)])
    known = [] if cuts is None else cuts
    new = known or [{host} for host in links.hosts if host != root]
    if not known:
        known.extend(new)
    while new:
        for behind in new:
            crossing = [(carried[e], 1.0) for e in carried if e[0] not in behind and e[1] in behind]
            program.row(1.0, INFINITE, crossing)
        values = program.solve()
        graph: nx.DiGraph[str] = nx.DiGraph()
        for edge, at in carried.items():
            graph.add_edge(*edge, capacity=values[at])
        new = []
        for host in links.hosts:
            if host != root:
                value, (_, behind) = nx.minimum_cut(graph, root, host)
                if value < 1 - 1e-6 and behind not in known:
                    known.append(behind)
                    new.append(behind)
    return -values[program.rate]


def equal_segments_s(platform: bl.Platform, message_bytes: int) -> float:
    """No broadcast in k segments of ⌈message / k⌉ bytes each, the last up to k bytes shorter, is faster,
    whatever k is: the least bound of ranges of k, of which the least is halved until it is fine."""
    cuts: list[set[str]] = []
    number = count()

    def bounded(fewest: int, largest: int) -> tuple[float, int, int, int]:
        least = max(1.0, message_bytes / largest - largest)
        bound_s = range_bound_s(platform, message_bytes, least, message_bytes / fewest + 1, cuts)
        return bound_s, next(number), fewest, largest

    powers = range(min(14, message_bytes.bit_length() - 1))
    ranges = [bounded(1 << power, (2 << power) - 1) for power in powers]
    ranges.append(bounded(1 << len(powers), message_bytes))
    heapq.heapify(ranges)
    while True:
        bound_s, _, fewest, largest = ranges[0]
        if largest <= fewest * FINE:
            return bound_s
        middle = max(fewest, math.isqrt(fewest * largest))
        heapq.heapreplace(ranges, bounded(fewest, middle))
        if middle < largest:
            heapq.heappush(ranges, bounded(middle + 1, largest))


def equal_hosts_s(hosts: int, message_bytes: int, latency_s: float, startup_s: float, rate: float) -> float:
    """No broadcast in k segments of ⌈message / k⌉ bytes each is faster, whatever k is, among one-port hosts
    of one `rate`, bytes/s. `startup_s` must not be 0: more segments than start-ups fit in the result are not
    tried."""

    def of_segments_s(segments: int) -> float:
        longest = -(-message_bytes // segments)
        shortest = max(message_bytes - (segments - 1) * longest, 1)
        before_s = (segments - 1) * startup_s + (message_bytes - longest) / rate
        return before_s + one_segment_s(hosts, startup_s + shortest / rate, latency_s)

    least_s = of_segments_s(1)
    segments = 2
    while segments * startup_s + message_bytes / rate < least_s and segments < message_bytes:
        least_s = min(least_s, of_segments_s(segments))
        segments += 1
    return least_s


def one_segment_s(hosts: int, send_s: float, latency_s: float) -> float:
    """The least time for one segment to reach all hosts: every host that has it sends it all the time (Karp,
    Sahay, Santos and Schauser, *Optimal broadcast and summation in the LogP model*, 1993)."""
    free_s = [0.0]
    reached_s = 0.0
    for _ in range(hosts - 1):
        begin_s = heapq.heappop(free_s)
        reached_s = begin_s + send_s + latency_s
        heapq.heappush(free_s, begin_s + send_s)
        heapq.heappush(free_s, reached_s)
    return reached_s
