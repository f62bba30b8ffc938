"""Paper 5, section 6: the pipelined round-robin broadcast beside its competitors, on smp-16.

Three ways: Broadleaf's simulation, under full-duplex one-port (the paper's model) and where a node sends
and receives at once only with one partner (the paper's own cluster); real MPI code in simulated time, under
SimGrid's SMPI; and real ranks on this machine.

Axida, Viet and Yoshinaga, *Pipelined round-robin broadcast*, figures 7 and 8, tables 1 and 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import log2, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import broadleaf as bl
from broadleaf.papers.journal import Journal, build, key_of
from broadleaf.papers.results import Cell, Results, Sheet, Start
from broadleaf.papers.round_robin.figures import draw
from broadleaf.papers.round_robin.gathering import gathering_sheets
from broadleaf.papers.round_robin.ranks import ranks_sheets

if TYPE_CHECKING:
    from collections.abc import Callable

# smp-16's, and so every part of it: 1 Gb/s, full duplex.
BANDWIDTH_BYTES_PER_S = 125e6
LATENCY_S = 50e-6
# 30 million doubles in messages of 500 Kbit.
FULL_BYTES = 30_000_000 * 8
QUICK_BYTES = 3_000_000 * 8
SEGMENT_BYTES = 500_000 // 8
MODELS = {"one-port": "full-duplex one-port", "one-port-same-partner": "the paper's cluster"}
# Line: planner, and whether it sends the paper's messages or the whole at once.
LINES = {
    "linear": ("chain", False),
    "pipelined linear": ("chain", True),
    "binomial": ("binomial", False),
    "van de Geijn": ("van-de-geijn", False),
    "round-robin": ("round-robin", True),
    "two-tree": ("two-tree", True),
    "circulant": ("circulant", True),
}
TABLE_2 = {3: 1.5, 5: 1.25, 7: 1.167}
# Section 5.3 leaves the first and final phases out; over this many tournaments they are less than 1 %.
TOURNAMENTS = 300
# The value of table 1's s in the comparison of its formulas: a start-up, which occupies both ends.
STARTUP_S = 100e-6


@dataclass(frozen=True)
class Sample:
    """A simulated broadcast."""

    model: str
    line: str
    nodes: int
    message_bytes: int
    seconds: float


def cluster(
    nodes: int, port_model: str = "one-port", startup_s: float = 0.0, latency_s: float = LATENCY_S
) -> bl.Platform:
    """The first `nodes` of smp-16; a start-up takes the place of the latency."""
    names = [f"c0-{at}" for at in range(nodes)]
    link = {"latency_s": latency_s, "bandwidth_bytes_per_s": BANDWIDTH_BYTES_PER_S}
    if startup_s:
        link = {"startup_s": startup_s, "bandwidth_bytes_per_s": BANDWIDTH_BYTES_PER_S}
    return bl.Platform.from_dict(
        {
            "format": "broadleaf-platform/1",
            "name": "smp-16" if nodes == 16 else f"smp-16, {nodes} nodes",
            "port_model": port_model,
            "nodes": [{"id": name, "cluster": "C0"} for name in names],
            "meshes": [{"nodes": names, "link": link}],
        }
    )


def plan(platform: bl.Platform, line: str, message_bytes: int) -> bl.Plan:
    planner, is_segmented = LINES[line]
    segment_bytes = SEGMENT_BYTES if is_segmented else message_bytes
    return bl.plan(platform, "c0-0", message_bytes, planner, segment_bytes=segment_bytes)


def simulated(platform: bl.Platform, line: str, message_bytes: int) -> float:
    return float(bl.simulate(platform, plan(platform, line, message_bytes)).makespan_s)


def limit_s(message_bytes: int) -> float:
    """The paper's t: the message over one link."""
    return message_bytes / BANDWIDTH_BYTES_PER_S


def run(quick: bool, start: Start, keep: Path | None = None) -> Results:
    """Simulates figures 7 and 8 and both tables, then runs real MPI code.

    `keep` is a file for the runs' times; an interrupted run resumes from it. It is removed at the end."""
    journal, of_build = Journal(keep), build(__file__)

    def kept(work: Callable[[], Any], *step: object) -> Any:
        return journal.value(key_of(of_build, quick, *step), work)

    message_bytes = QUICK_BYTES if quick else FULL_BYTES
    nodes = (2, 3, 4, 5, 7, 8, 12, 16) if quick else tuple(range(2, 17))
    parts = 4 if quick else 10
    sizes = [message_bytes * part // parts for part in range(1, parts + 1)]
    wanted = [(model, line, count, message_bytes) for model in MODELS for line in LINES for count in nodes]
    wanted += [(model, line, 16, size) for model in MODELS for line in LINES for size in sizes[:-1]]
    odd = tuple(TABLE_2) if quick else tuple(range(3, 17, 2))
    ranks_steps, run_ranks = ranks_sheets(quick, message_bytes)
    gathering_steps, run_gathering = gathering_sheets(quick)
    advance = start(len(wanted) + len(odd) + 1 + ranks_steps + gathering_steps)
    samples = []
    for model, line, count, size in wanted:
        seconds = kept(partial(simulated, cluster(count, model), line, size), model, line, count, size)
        samples.append(Sample(model, line, count, size, seconds))
        advance()
    table_2 = table_2_sheet(odd, advance)
    table_1 = table_1_sheet(message_bytes)
    advance()
    sheets = []
    figures = {}
    for model, said in MODELS.items():
        suffix = "" if model == "one-port" else "-cluster"
        of_model = [sample for sample in samples if sample.model == model]
        by_nodes = pivot(
            f"figure-7{suffix}",
            f"Figure 7: seconds for {message_bytes / 1e6:g} MB by nodes ({said})",
            "nodes",
            [sample for sample in of_model if sample.message_bytes == message_bytes],
            lambda sample: sample.nodes,
        )
        by_size = pivot(
            f"figure-8{suffix}",
            f"Figure 8: seconds on 16 nodes by million doubles ({said})",
            "million doubles",
            [sample for sample in of_model if sample.nodes == 16],
            lambda sample: sample.message_bytes / 8e6,
        )
        sheets += [by_nodes, by_size]
        # Table 2 is the paper's rule, which its cluster keeps.
        in_t = {} if model == "one-port" else TABLE_2
        printed = {float(count): of_t * limit_s(message_bytes) for count, of_t in in_t.items()}
        figures[f"figure-7{suffix}"] = draw(by_nodes, said, printed)
        figures[f"figure-8{suffix}"] = draw(by_size, said)
    rank_sheets, rank_figures, remarks = run_ranks(advance, kept)
    gathered, gathering_remarks = run_gathering(advance, kept)
    results = Results(
        sheets=[*sheets, table_1, table_2, *rank_sheets, *gathered, raw(samples)],
        figures=figures | rank_figures,
        remarks=[
            "The paper's figures carry no numbers. Its text: round-robin is fastest in both, linear slowest.",
            "t is the message over one link. The paper saw about 2 t at many nodes, for its switch.",
            "two-tree and circulant are later than the paper; linear and binomial send the message whole.",
            *why(message_bytes),
            *remarks,
            *gathering_remarks,
        ],
    )
    journal.discard()
    return results


def pivot(
    name: str, title: str, against: str, samples: list[Sample], key: Callable[[Sample], float]
) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    for at in sorted({key(sample) for sample in samples}):
        by_line = {sample.line: sample for sample in samples if key(sample) == at}
        times = [round(by_line[line].seconds, 6) for line in LINES]
        rows.append((at, round(limit_s(next(iter(by_line.values())).message_bytes), 6), *times))
    return Sheet(name, title, (against, "t", *LINES), rows)


def table_2_sheet(odd: tuple[int, ...], advance: Callable[[], None]) -> Sheet:
    """The time of 300 tournaments, in t, by the paper's rule and a freer one, beside the printed values."""
    rows: list[tuple[Cell, ...]] = []
    for nodes in odd:
        message_bytes = TOURNAMENTS * (nodes - 1) * SEGMENT_BYTES
        # Sections 3 and 5.3: a node exchanges with one partner at a time, and latency is left out.
        ruled = cluster(nodes, "one-port-same-partner", latency_s=0.0)
        taken = (simulated(platform, "round-robin", message_bytes) for platform in (ruled, cluster(nodes)))
        in_t = (round(seconds / limit_s(message_bytes), 4) for seconds in taken)
        rows.append((nodes, TABLE_2.get(nodes), round(nodes / (nodes - 1), 4), *in_t))
        advance()
    title = f"Table 2: round-robin on odd numbers of nodes, in t, {TOURNAMENTS} tournaments"
    return Sheet("table-2", title, ("nodes", "printed", "n / (n - 1)", "paper's rule", "freer rule"), rows)


def table_1_costs(nodes: int, message_bytes: int) -> dict[str, float]:
    """Table 1 for a power of two of nodes, seconds; van de Geijn's sum as it should be printed."""
    rounds, whole = log2(nodes), message_bytes / BANDWIDTH_BYTES_PER_S
    return {
        "linear": (nodes - 1) * (STARTUP_S + whole),
        "pipelined linear": (nodes - 1) * STARTUP_S + whole,
        "binomial": rounds * (STARTUP_S + whole),
        "van de Geijn": 2 * rounds * STARTUP_S + 2 * (nodes - 1) / nodes * whole,
        "round-robin": (nodes - 1) * STARTUP_S + whole,
    }


def table_1_sheet(message_bytes: int) -> Sheet:
    """The formulas beside simulations with s as start-up; pipelines have the best segments for that
    start-up."""
    platform = cluster(16, startup_s=STARTUP_S)
    rows: list[tuple[Cell, ...]] = []
    for line, cost in table_1_costs(16, message_bytes).items():
        planner, is_segmented = LINES[line]
        segment_bytes = None if is_segmented else message_bytes
        planned = bl.plan(platform, "c0-0", message_bytes, planner, segment_bytes=segment_bytes)
        seconds = float(bl.simulate(platform, planned).makespan_s)
        rows.append(
            (line, round(cost, 6), round(seconds, 6), round(seconds / cost, 4), planned.segment_bytes)
        )
    title = f"Table 1: 16 nodes, {message_bytes / 1e6:g} MB, s = {1e6 * STARTUP_S:g} us a message"
    return Sheet("table-1", title, ("algorithm", "formula s", "simulated s", "ratio", "segment bytes"), rows)


def pipelined_s(nodes: int, message_bytes: int) -> float:
    """The least time of a pipelined chain whose segments have a start-up at each hop, seconds.

    k segments take (n - 2 + k)·(s + D / (k·b)), least at k = sqrt((n - 2)·D / (b·s)).
    """
    whole, hops_s = message_bytes / BANDWIDTH_BYTES_PER_S, (nodes - 2) * STARTUP_S
    return whole + hops_s + 2 * sqrt(hops_s * whole)


def why(message_bytes: int) -> list[str]:
    """Explanations of unexpected numbers."""
    formula_s = table_1_costs(16, message_bytes)["pipelined linear"]
    chain_s = pipelined_s(16, message_bytes)
    segment_s = limit_s(SEGMENT_BYTES)
    return [
        "Table 1 charges a pipeline's start-up once for each hop, but each of its segments pays it, too: at "
        f"the best number of segments D/b + (P - 2)·s + 2·sqrt((P - 2)·s·D/b), {chain_s:.4f} s, "
        f"{chain_s / formula_s:.3f} of the formula, as simulated.",
        "Table 2: by the paper's rule a node talks to one partner at a time, and latency is left out; the "
        "rest above the printed values is the first scatter and the last exchange, which the paper leaves "
        "out. By the freer rule a node sends to one and receives from another at once, and idle slots are "
        "used.",
        "The paper's cluster, simulated: a node sends and receives at once only with one partner, and both "
        f"are busy until the message has arrived: {1e6 * LATENCY_S:g} us on {1e6 * segment_s:g} us, which is "
        f"why round-robin takes {1 + LATENCY_S / segment_s:g} t for even numbers of nodes. Whoever receives "
        "from one node and sends to another takes 2 t or more there: chains, trees, and van de Geijn's ring, "
        "which it uses off powers of two.",
    ]


def raw(samples: list[Sample]) -> Sheet:
    rows: list[tuple[Cell, ...]] = [
        (sample.model, sample.line, sample.nodes, sample.message_bytes, sample.seconds) for sample in samples
    ]
    columns = ("port_model", "line", "nodes", "message_bytes", "seconds")
    return Sheet("samples", "Every simulation", columns, rows, is_shown=False)
