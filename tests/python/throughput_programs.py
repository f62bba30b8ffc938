"""Two linear programs for the throughput optimum that share no code with the solver, for its tests.

Both give segments a second under one-port models, by HiGHS.
"""

from __future__ import annotations

from collections.abc import Iterable

import highspy
import networkx as nx

import broadleaf as bl

Edge = tuple[str, str]
INFINITE = highspy.kHighsInf


class Program:
    """max of the first variable, rows added one by one."""

    def __init__(self) -> None:
        self.highs = highspy.Highs()  # type: ignore[no-untyped-call]
        self.highs.setOptionValue("output_flag", False)
        self.highs.setOptionValue("primal_feasibility_tolerance", 1e-9)
        self.highs.setOptionValue("dual_feasibility_tolerance", 1e-9)
        self.highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
        self.count = 0
        self.rate = self.variable(1.0)

    def variable(self, gain: float = 0.0) -> int:
        self.highs.addCol(gain, 0.0, INFINITE, 0, [], [])
        self.count += 1
        return self.count - 1

    def free(self, variable: int) -> None:
        """Lets a variable be negative."""
        self.highs.changeColBounds(variable, -INFINITE, INFINITE)

    def row(self, low: float, high: float, terms: Iterable[tuple[int, float]]) -> None:
        summed: dict[int, float] = {}
        for at, factor in terms:
            summed[at] = summed.get(at, 0.0) + factor
        self.highs.addRow(low, high, len(summed), list(summed), list(summed.values()))

    def at_most_one(self, terms: Iterable[tuple[int, float]]) -> None:
        self.row(-INFINITE, 1.0, terms)

    def equal(self, terms: Iterable[tuple[int, float]]) -> None:
        self.row(0.0, 0.0, terms)

    def solve(self) -> list[float]:
        self.highs.run()
        assert self.highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
        return list(self.highs.getSolution().col_value)


def seconds_of(platform: bl.Platform, segment_bytes: int) -> dict[Edge, float]:
    """T_uv for a segment, from the links' own numbers."""
    seconds: dict[Edge, float] = {}
    for source in platform.hosts:
        for target in platform.successors(source):
            link = platform.link(source, target)
            assert link is not None
            busy_s = link.get("startup_s", 0.0) + segment_bytes / link["bandwidth_bytes_per_s"]
            seconds[source, target] = busy_s
    return seconds


def scaled(seconds: dict[Edge, float]) -> tuple[dict[Edge, float], float]:
    """Times near 1, as solvers like them, and the unit."""
    unit_s = sum(seconds.values()) / len(seconds)
    return {edge: busy_s / unit_s for edge, busy_s in seconds.items()}, unit_s


def add_ports(program: Program, platform: bl.Platform, times: dict[Edge, float], n: dict[Edge, int]) -> None:
    """No port is busy for more than a second a second: rows (f) to (j)."""
    for node in platform.hosts:
        into = [(n[edge], busy) for edge, busy in times.items() if edge[1] == node]
        out = [(n[edge], busy) for edge, busy in times.items() if edge[0] == node]
        if platform.port_model == "one-port-unidirectional":
            program.at_most_one(into + out)
        elif platform.port_model == "one-port":
            program.at_most_one(into)
            program.at_most_one(out)
    for edge, busy in times.items():
        program.at_most_one([(n[edge], busy)])


def printed_program(platform: bl.Platform, root: str, segment_bytes: int) -> float:
    """Program (2), rows (a) to (j) of Beaumont, Marchal and Robert: segments a second.

    The paper implies a condition that it does not print: what is sent for a node neither comes back to the
    source nor leaves the node again. Rows (a) and (b) count it gross, so that circles there would pass for a
    broadcast: on 7 nodes of density 0.1 the rows alone allow 62.6 segments a second where all trees together
    carry 49.6.
    """
    times, unit_s = scaled(seconds_of(platform, segment_bytes))
    program = Program()
    n = {edge: program.variable() for edge in times}
    for goal in platform.hosts:
        if goal == root:
            continue
        x = {edge: program.variable() for edge in times if edge[1] != root and edge[0] != goal}
        # (a) what the source sends for a node, (b) what the node receives of it, (c) what others pass on.
        program.equal([*((x[edge], 1.0) for edge in x if edge[0] == root), (program.rate, -1.0)])
        program.equal([*((x[edge], 1.0) for edge in x if edge[1] == goal), (program.rate, -1.0)])
        for node in platform.hosts:
            if node not in (root, goal):
                into = [(x[edge], 1.0) for edge in x if edge[1] == node]
                program.equal(into + [(x[edge], -1.0) for edge in x if edge[0] == node])
        # (d) n_uv = max_w x_uv^w: at least each of them, and nothing is gained by more.
        for edge in x:
            program.row(-INFINITE, 0.0, [(x[edge], 1.0), (n[edge], -1.0)])
    add_ports(program, platform, times, n)
    return program.solve()[program.rate] / unit_s


def cut_program(platform: bl.Platform, root: str, segment_bytes: int) -> float:
    """The same value from the n_uv alone: every cut between the source and a node lets TP through."""
    times, unit_s = scaled(seconds_of(platform, segment_bytes))
    program = Program()
    n = {edge: program.variable() for edge in times}
    add_ports(program, platform, times, n)
    cuts = [{node} for node in platform.hosts if node != root]
    while cuts:
        for behind in cuts:
            crossing = [(n[e], -1.0) for e in times if e[0] not in behind and e[1] in behind]
            program.row(-INFINITE, 0.0, [*crossing, (program.rate, 1.0)])
        values = program.solve()
        rate = values[program.rate]
        graph: nx.DiGraph[str] = nx.DiGraph()
        for edge in times:
            graph.add_edge(*edge, capacity=values[n[edge]])
        cuts = []
        for node in platform.hosts:
            if node == root:
                continue
            value, (_, behind) = nx.minimum_cut(graph, root, node)
            if value < rate * (1 - 1e-8) and behind not in cuts:
                cuts.append(behind)
    return rate / unit_s


def scatter_program(platform: bl.Platform, root: str, segment_bytes: int) -> float:
    """A segment for each host a round: rounds a second. What enters a host and stays is its own."""
    times, unit_s = scaled(seconds_of(platform, segment_bytes))
    program = Program()
    n = {edge: program.variable() for edge in times}
    for node in platform.hosts:
        if node != root:
            into = [(n[edge], 1.0) for edge in times if edge[1] == node]
            out = [(n[edge], -1.0) for edge in times if edge[0] == node]
            program.equal([*into, *out, (program.rate, -1.0)])
    add_ports(program, platform, times, n)
    return program.solve()[program.rate] / unit_s


def allgather_program(platform: bl.Platform, segment_bytes: int) -> float:
    """A segment of each host to all others a round: rounds a second.

    What one host sends another is on each link no more than the first one's segments there; those of all
    hosts share the ports.
    """
    times, unit_s = scaled(seconds_of(platform, segment_bytes))
    program = Program()
    n = {edge: program.variable() for edge in times}
    of_roots = {root: {edge: program.variable() for edge in times} for root in platform.hosts}
    for root, own in of_roots.items():
        for goal in platform.hosts:
            if goal == root:
                continue
            x = {edge: program.variable() for edge in times if edge[1] != root and edge[0] != goal}
            program.equal([*((x[edge], 1.0) for edge in x if edge[1] == goal), (program.rate, -1.0)])
            for node in platform.hosts:
                if node not in (root, goal):
                    into = [(x[edge], 1.0) for edge in x if edge[1] == node]
                    program.equal(into + [(x[edge], -1.0) for edge in x if edge[0] == node])
            for edge in x:
                program.row(-INFINITE, 0.0, [(x[edge], 1.0), (own[edge], -1.0)])
    for edge in times:
        program.equal([(n[edge], -1.0), *((own[edge], 1.0) for own in of_roots.values())])
    add_ports(program, platform, times, n)
    return program.solve()[program.rate] / unit_s
