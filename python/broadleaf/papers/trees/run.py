"""Paper 1, section 5: one pipelined tree, or a few, against the optimum over any number of trees.

Every number is a ratio: the simulated throughput of a plan of 3,000 segments, start-up included, over the
one-port optimum of the same platform, under multi-port too (where it may exceed 1, as in the paper). Beside
it is the load bound, which the paper computes: the throughput of the busiest port if no transfer waits for
another.

Beaumont, Marchal and Robert, *Broadcast trees for heterogeneous platforms*, figures 4(a), 4(b), 5, table 3.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from pathlib import Path
from statistics import fmean, pstdev

import broadleaf as bl
from broadleaf.papers.journal import Journal, build, key_of
from broadleaf.papers.results import Cell, Results, Sheet, Start
from broadleaf.papers.trees import variations
from broadleaf.papers.trees.figures import draw_lines, draw_table

# Ratios do not depend on it: the drawn links have no start-up.
SEGMENT_BYTES = 1 << 20
# Filling the pipeline takes as many segments as a tree is deep: about one per cent of these.
MESSAGE_BYTES = 3_000 * SEGMENT_BYTES
OPTIMUM_GAP = 1e-4
# The time of each search in the full run; the short run uses the planner's default of a few milliseconds.
SEARCH_S = 0.5

PAPERS_LINES = ("prune-simple", "prune-refined", "grow", "lp-prune", "lp-grow", "binomial-printed")
MULTI_PORT_LINES = ("grow-multiport", "prune-refined-multiport", "lp-prune", "lp-grow", "binomial-printed")
# LP-based trees come from the one-port program under either model, as in the paper.
FROM_ONE_PORT = ("lp-prune", "lp-grow", "binomial-printed")
SEVERAL_TREES = ("2 trees", "4 trees", "8 trees", "optimal")
OUR_LINES = ("single-tree", *SEVERAL_TREES)

# The suffix of a line's column of load bounds.
LOAD_BOUND = ", load bound"

# Table 3: (mean, deviation) in per cent, by nodes and line.
TABLE_3 = {
    30: {
        "prune-simple": (46.0, 0.12),
        "prune-refined": (82.0, 10.0),
        "grow": (75.0, 10.0),
        "lp-grow": (82.0, 11.0),
        "lp-prune": (82.0, 11.0),
        "binomial-printed": (11.0, 2.0),
    },
    65: {
        "prune-simple": (30.0, 10.0),
        "prune-refined": (73.0, 13.0),
        "grow": (71.0, 12.0),
        "lp-grow": (73.0, 11.0),
        "lp-prune": (74.0, 11.0),
        "binomial-printed": (5.0, 1.0),
    },
}
# Section 5.2.1 on figure 4(a) at its right end, in per cent; the curves carry no numbers.
SAID_AT_50 = {"prune-simple": 20, "prune-refined": 70, "grow": 70, "lp-prune": 60, "lp-grow": 60}


@dataclass(frozen=True)
class Draw:
    """One platform of the experiments."""

    kind: str
    nodes: int
    density: float
    seed: int

    def platform(self, port_model: str) -> bl.Platform:
        make = bl.generate.random if self.kind == "random" else bl.generate.tiers
        return make(self.nodes, self.density, seed=self.seed, port_model=port_model)


@dataclass(frozen=True)
class Sample:
    """The ratios of one line on one platform."""

    draw: Draw
    port_model: str
    line: str
    # Simulated, and of the load bound.
    ratio: float
    load_ratio: float


def draws(quick: bool) -> list[Draw]:
    """Table 2's random platforms, and Tiers platforms with densities spread over 0.05 to 0.15."""
    sizes = (10, 30, 50) if quick else (10, 20, 30, 40, 50)
    densities = (0.04, 0.12, 0.20) if quick else (0.04, 0.08, 0.12, 0.16, 0.20)
    each = 1 if quick else 10
    tiers = 4 if quick else 100
    drawn = [
        Draw("random", nodes, density, 1000 * nodes + 100 * at + draw)
        for nodes in sizes
        for at, density in enumerate(densities)
        for draw in range(each)
    ]
    for nodes in TABLE_3:
        for draw in range(tiers):
            drawn.append(Draw("tiers", nodes, 0.05 + 0.10 * draw / (tiers - 1), 1000 * nodes + draw))
    return drawn


def moved(plan: bl.Plan, platform: bl.Platform) -> bl.Plan:
    """The same trees on the same network under another port model."""
    document = plan.to_dict()
    document["platform"] = platform.name
    document["platform_digest"] = platform.digest
    return bl.Plan.from_dict(document)


def sample(draw: Draw, search_s: float | None) -> list[Sample]:
    """Every line's ratio on one platform."""
    one_port = draw.platform("one-port")
    root = one_port.hosts[0]
    optimum = bl.optimum(one_port, root, SEGMENT_BYTES, gap=OPTIMUM_GAP)
    best = optimum.throughput_bytes_per_s

    def planned(platform: bl.Platform, line: str) -> bl.Plan:
        if line.endswith(" trees"):
            document = planned(platform, "grow").to_dict()
            document["trees"] = optimum.equal_trees(int(line.removesuffix(" trees")))
            return bl.with_period(platform, bl.Plan.from_dict(document))
        limit_s = search_s if line == "single-tree" else None
        return bl.plan(platform, root, MESSAGE_BYTES, line, segment_bytes=SEGMENT_BYTES, time_limit_s=limit_s)

    def sampled(platform: bl.Platform, line: str, plan: bl.Plan) -> Sample:
        simulated = MESSAGE_BYTES / bl.simulate(platform, plan).makespan_s
        ratios = (rate / best for rate in (simulated, bl.throughput(platform, plan)))
        return Sample(draw, platform.port_model, line, *ratios)

    plans = {line: planned(one_port, line) for line in (*PAPERS_LINES, *OUR_LINES)}
    samples = [sampled(one_port, line, plan) for line, plan in plans.items()]
    multi_port = draw.platform("multi-port")
    for line in (*MULTI_PORT_LINES, "single-tree"):
        plan = moved(plans[line], multi_port) if line in FROM_ONE_PORT else planned(multi_port, line)
        samples.append(sampled(multi_port, line, plan))
    return samples


def run(quick: bool, start: Start, keep: Path | None = None) -> Results:
    """Draws the platforms, plans with every line, and compares with the printed values.

    `keep` is a file for the ratios of each platform; an interrupted run resumes from it. It is removed at
    the end."""
    drawn, varied = draws(quick), variations.cases(quick)
    advance = start(len(drawn) + len(varied))
    journal, of_build = Journal(keep), build(__file__)
    search_s = None if quick else SEARCH_S

    def one(draw: Draw) -> list[Sample]:
        found = journal.value(
            key_of(of_build, draw, search_s), lambda: [astuple(each)[1:] for each in sample(draw, search_s)]
        )
        advance()
        return [Sample(draw, *each) for each in found]

    def vary(case: variations.Case) -> tuple[variations.Case, dict[str, float]]:
        lines = MULTI_PORT_LINES if case.variation == "send share" else PAPERS_LINES
        ratios = journal.value(
            key_of(of_build, case), lambda: variations.load_ratios(case, lines, FROM_ONE_PORT)
        )
        advance()
        return case, ratios

    # The core releases the interpreter lock, so threads keep all processors busy.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        samples = [sample for samples in pool.map(one, drawn) for sample in samples]
        found = list(pool.map(vary, varied))
    shares, densities, rates = (
        sheet([(case, ratios) for case, ratios in found if case.variation == variation])
        for variation, sheet in (
            ("send share", variations.share_sheet),
            ("density", lambda of: variations.density_sheet(of, TABLE_3)),
            ("drawn", variations.drawn_sheet),
        )
    )
    repaired = sum("provenance" in draw.platform("one-port").to_dict() for draw in drawn)
    lines = (*PAPERS_LINES, *OUR_LINES)
    multi_lines = tuple(dict.fromkeys(s.line for s in samples if s.port_model == "multi-port"))
    by_nodes = pivot("figure-4a", "Figure 4(a): per cent of the optimum, one-port", "nodes", lines,
                     of(samples, "random", "one-port"), lambda draw: draw.nodes)  # fmt: skip
    by_density = pivot("figure-4b", "Figure 4(b): per cent of the optimum, one-port", "density", lines,
                       of(samples, "random", "one-port"), lambda draw: draw.density)  # fmt: skip
    multi_port = pivot("figure-5", "Figure 5: per cent of the one-port optimum, multi-port", "nodes",
                       multi_lines, of(samples, "random", "multi-port"), lambda draw: draw.nodes)  # fmt: skip
    tiers = pivot("figure-5-tiers", "Figure 5 on Tiers platforms: per cent of the one-port optimum", "nodes",
                  multi_lines, of(samples, "tiers", "multi-port"), lambda draw: draw.nodes)  # fmt: skip
    random_one_port = of(samples, "random", "one-port")
    largest = [s for s in random_one_port if s.draw.nodes == 50]
    results = Results(
        sheets=[
            by_nodes,
            said_beside(lines, largest),
            by_density,
            multi_port,
            tiers,
            shares,
            table_3(lines, of(samples, "tiers", "one-port")),
            densities,
            rates,
            raw(samples),
        ],
        figures={
            "figure-4a": draw_lines(
                by_nodes, "nodes", "one-port", lines, OUR_LINES,
                deviations(random_one_port, lines, lambda draw: draw.nodes),
                {(50, line): said for line, said in SAID_AT_50.items()},
            ),
            "figure-4b": draw_lines(
                by_density, "density", "one-port", lines, OUR_LINES,
                deviations(random_one_port, lines, lambda draw: draw.density), {},
            ),
            "figure-5": draw_lines(
                multi_port, "nodes", "multi-port", multi_lines, OUR_LINES,
                deviations(of(samples, "random", "multi-port"), multi_lines, lambda draw: draw.nodes), {},
            ),
            "table-3": draw_table(
                "Table 3", lines,
                {
                    (nodes, line): per_cent(
                        s for s in of(samples, "tiers", "one-port") if (s.draw.nodes, s.line) == (nodes, line)
                    )[:2]
                    for nodes in TABLE_3
                    for line in lines
                },
                TABLE_3,
            ),
        },
        remarks=[
            "Ratios to the one-port optimum over any number of trees, certified to 1e-4. Each plan is "
            f"simulated with {MESSAGE_BYTES // SEGMENT_BYTES:,} segments, its start-up included.",
            "The load bound is what the paper computes: what the busiest port allows if no transfer ever "
            "waits. One tree over links reaches it but for its start-up; several trees take turns by "
            "a period; binomial-printed, whose edges are relayed where links are missing, waits.",
            "What several trees lack is their timetable's: start-up need not cost them 0.5 % of 3,000 "
            "segments in any order (benches/optimum.py turns).",
            "The paper's figures carry no numbers: what its text says of them stands beside figure 4(a).",
            said_remark(largest),
            "single-tree searches for " + ("a few ms." if quick else f"{SEARCH_S:g} s."),
            f"{repaired} of {len(drawn)} draws came in parts and were joined by random links.",
            "The Tiers platforms are drawn anew: the paper does not say with which parameters its own were.",
            *variations.remarks(shares, densities, rates),
        ],
    )  # fmt: skip
    journal.discard()
    return results


def of(samples: Iterable[Sample], kind: str, port_model: str) -> list[Sample]:
    return [s for s in samples if s.draw.kind == kind and s.port_model == port_model]


def per_cent(samples: Iterable[Sample]) -> tuple[float, float, float]:
    """Mean and deviation of the simulated ratios, and the mean load bound."""
    chosen = list(samples)
    ratios = [100 * s.ratio for s in chosen]
    return (
        round(fmean(ratios), 1),
        round(pstdev(ratios), 1),
        round(100 * fmean(s.load_ratio for s in chosen), 1),
    )


def deviations(
    samples: list[Sample], lines: tuple[str, ...], key: Callable[[Draw], float]
) -> dict[tuple[float, str], float]:
    """Deviations between the platforms of each point, per cent, by place on the X axis and line."""
    places = sorted({key(sample.draw) for sample in samples})
    return {
        (at, line): per_cent(s for s in samples if s.line == line and key(s.draw) == at)[1]
        for at in places
        for line in lines
    }


def pivot(
    name: str,
    title: str,
    against: str,
    lines: tuple[str, ...],
    samples: list[Sample],
    key: Callable[[Draw], float],
) -> Sheet:
    """A row for each value on the X axis, a column for each line, and one for the loads of several trees."""
    loaded = tuple(line for line in lines if line in SEVERAL_TREES)
    rows: list[tuple[Cell, ...]] = []
    for at in sorted({key(sample.draw) for sample in samples}):
        of_line = {
            line: per_cent(s for s in samples if s.line == line and key(s.draw) == at) for line in lines
        }
        rows.append((at, *(of_line[line][0] for line in lines), *(of_line[line][2] for line in loaded)))
    columns = (against, *lines, *(f"{line}{LOAD_BOUND}" for line in loaded))
    return Sheet(name, title, columns, rows)


def said_beside(lines: tuple[str, ...], samples: list[Sample]) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    for line in lines:
        rows.append((line, *per_cent(s for s in samples if s.line == line), SAID_AT_50.get(line)))
    columns = ("planner", "mean %", "deviation %", "load bound %", "text says about %")
    return Sheet("figure-4a-text", "Figure 4(a) at 50 nodes, beside what the text says", columns, rows)


def said_remark(samples: list[Sample]) -> str:
    """How far the refined heuristics are from the text; `samples` are those of the largest platforms."""
    found = []
    for line, said in SAID_AT_50.items():
        ratios = [100 * s.ratio for s in samples if s.line == line]
        # Twice the standard error of the mean.
        within = 2 * pstdev(ratios) / len(ratios) ** 0.5
        if line != "prune-simple":
            found.append(f"{line} has {fmean(ratios):.0f} % ± {within:.0f} ({said} % in the text)")
    return f"At 50 nodes {', '.join(found)}. What is outside of ± is not explained."


def table_3(lines: tuple[str, ...], samples: list[Sample]) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    for nodes, printed in TABLE_3.items():
        for line in lines:
            chosen = [s for s in samples if s.draw.nodes == nodes and s.line == line]
            rows.append((nodes, line, len(chosen), *per_cent(chosen), *printed.get(line, (None, None))))
    measured = ("nodes", "planner", "platforms", "mean %", "deviation %", "load bound %")
    columns = (*measured, "printed %", "printed deviation %")
    return Sheet("table-3", "Table 3: Tiers platforms, one-port, per cent of the optimum", columns, rows)


def raw(samples: list[Sample]) -> Sheet:
    rows: list[tuple[Cell, ...]] = [
        (
            *(s.draw.kind, s.draw.nodes, round(s.draw.density, 6), s.draw.seed, s.port_model, s.line),
            *(s.ratio, s.load_ratio),
        )
        for s in samples
    ]
    columns = ("platform", "nodes", "density", "seed", "port_model", "planner", "ratio", "load_ratio")
    return Sheet("samples", "Every ratio", columns, rows, is_shown=False)
