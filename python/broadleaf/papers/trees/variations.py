"""Variations of the points that paper 1 leaves open: the share of T for which a multi-port sender is busy,
the density of Table 3's platforms, and how the rates were drawn on which simple pruning falls to a fifth of
the optimum.

Lines are compared on the same draws, so that the effect of a density or a share is not one of the draws.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING

import broadleaf as bl
from broadleaf.papers.results import Cell, Sheet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

# "Somewhat arbitrary, but our simulations show that the results do not strongly depend upon this parameter."
SEND_SHARES = (0.5, 0.8, 1.0)
PRINTED_SEND_SHARE = 0.8
TIERS_DENSITIES = (0.05, 0.075, 0.1, 0.125, 0.15)
# Table 2.
MEAN_BYTES_PER_S = 100e6
# The paper's "20 % of the optimal", in per cent.
SIMPLE_PRUNING_SAID = 20


@dataclass(frozen=True)
class Case:
    """One platform to plan for: a variation and its draw."""

    variation: str
    value: float | str
    nodes: int
    density: float
    seed: int


def send_share(platform: bl.Platform, share: float) -> bl.Platform:
    """The drawn multi-port platform with senders busy for another share of T on their quickest link."""
    document = platform.to_dict()
    for node in document["nodes"]:
        if "out_bytes_per_s" in node:
            node["out_bytes_per_s"] *= PRINTED_SEND_SHARE / share
    return bl.Platform.from_dict(document)


def both_ways_alike(platform: bl.Platform) -> bl.Platform:
    """Each pair's links at the rate of the first of them."""
    document = platform.to_dict()
    rates: dict[frozenset[str], float] = {}
    for link in document["links"]:
        pair = frozenset((link["from"], link["to"]))
        link["bandwidth_bytes_per_s"] = rates.setdefault(pair, link["bandwidth_bytes_per_s"])
    return bl.Platform.from_dict(document)


def times_drawn(platform: bl.Platform) -> bl.Platform:
    """Times per byte instead of rates drawn around their mean, with the printed deviation, a fifth of it."""
    document = platform.to_dict()
    for link in document["links"]:
        link["bandwidth_bytes_per_s"] = MEAN_BYTES_PER_S**2 / link["bandwidth_bytes_per_s"]
    return bl.Platform.from_dict(document)


# How simple pruning's platforms may have been drawn.
DRAWN: Mapping[str, Callable[[bl.Platform], bl.Platform]] = {
    "as printed": lambda platform: platform,
    "both directions of a pair at one rate": both_ways_alike,
    "times instead of rates drawn": times_drawn,
}


def cases(quick: bool) -> list[Case]:
    """The draws of all three variations; each value has the same seeds."""
    seeds = range(1 if quick else 10)
    dense = (0.12,) if quick else (0.04, 0.08, 0.12, 0.16, 0.20)
    found = [
        Case("send share", share, 30 if quick else 50, density, seed)
        for share, density, seed in product(SEND_SHARES, dense, seeds)
    ]
    tiers = (0.05, 0.15) if quick else TIERS_DENSITIES
    found += [
        Case("density", density, nodes, density, seed)
        for nodes, density, seed in product((30, 65), tiers, range(2 if quick else 20))
    ]
    found += [
        Case("drawn", name, 50, density, seed)
        for name, density, seed in product(DRAWN, (0.04, 0.20) if quick else dense, seeds)
    ]
    # Other platforms than the main experiment's.
    return [replace(case, seed=100_000 + 1000 * case.nodes + case.seed) for case in found]


def load_ratios(case: Case, lines: Sequence[str], from_one_port: Sequence[str]) -> dict[str, float]:
    """Each line's load bound over the one-port optimum of the same draw."""
    is_tiers = case.variation == "density"
    make = bl.generate.tiers if is_tiers else bl.generate.random
    segment = 1 << 20

    def planned(platform: bl.Platform, line: str) -> bl.Plan:
        return bl.plan(platform, platform.hosts[0], segment, line, segment_bytes=segment)

    one_port = make(case.nodes, case.density, seed=case.seed, port_model="one-port")
    if case.variation == "drawn":
        one_port = DRAWN[str(case.value)](one_port)
    best = bl.optimum(one_port, one_port.hosts[0], segment, gap=1e-3).throughput_bytes_per_s
    if case.variation != "send share":
        return {line: bl.throughput(one_port, planned(one_port, line)) / best for line in lines}
    drawn = make(case.nodes, case.density, seed=case.seed, port_model="multi-port")
    multi_port = send_share(drawn, float(case.value))
    ratios = {}
    for line in lines:
        document = planned(one_port if line in from_one_port else multi_port, line).to_dict()
        document |= {"platform": multi_port.name, "platform_digest": multi_port.digest}
        ratios[line] = bl.throughput(multi_port, bl.Plan.from_dict(document)) / best
    return ratios


def means(
    found: Iterable[tuple[Case, dict[str, float]]], key: Callable[[Case], tuple[Cell, ...]]
) -> dict[tuple[Cell, ...], dict[str, float]]:
    """The mean of each line in per cent, by key in the order of the cases."""
    groups: dict[tuple[Cell, ...], list[dict[str, float]]] = {}
    for case, ratios in found:
        groups.setdefault(key(case), []).append(ratios)
    return {
        at: {line: round(100 * fmean(ratios[line] for ratios in of), 1) for line in of[0]}
        for at, of in groups.items()
    }


def share_sheet(found: Sequence[tuple[Case, dict[str, float]]]) -> Sheet:
    rows = means(found, lambda case: (100 * float(case.value),))
    columns = ("send share %", *next(iter(rows.values())))
    title = "Figure 5 with other shares of T: per cent of the one-port optimum, load bound, same draws"
    return Sheet("send-share", title, columns, [(*at, *row.values()) for at, row in rows.items()])


def density_sheet(
    found: Sequence[tuple[Case, dict[str, float]]], printed: Mapping[int, Mapping[str, tuple[float, float]]]
) -> Sheet:
    """Each density beside the printed row; the last column is the mean difference of the lines from it."""
    rows: list[tuple[Cell, ...]] = []
    for (nodes, density), row in means(found, lambda case: (case.nodes, case.density)).items():
        of_row = printed[int(nodes or 0)]
        rows.append((nodes, density, *row.values(), apart(row, of_row)))
    lines = list(found[0][1])
    rows += [
        (nodes, "printed", *(of_row[line][0] for line in lines), 0.0) for nodes, of_row in printed.items()
    ]
    columns = ("nodes", "density", *lines, "mean difference")
    title = "Table 3 by density: Tiers platforms, one-port, per cent of the optimum, load bound, same draws"
    return Sheet("table-3-density", title, columns, rows)


def apart(row: Mapping[str, float], printed: Mapping[str, tuple[float, float]]) -> float:
    return round(fmean(abs(row[line] - mean) for line, (mean, _) in printed.items()), 1)


def drawn_sheet(found: Sequence[tuple[Case, dict[str, float]]]) -> Sheet:
    by = means(found, lambda case: (case.value, case.density))
    densities = sorted({case.density for case, _ in found})
    rows: list[tuple[Cell, ...]] = []
    for name in DRAWN:
        of = [ratios["prune-simple"] for case, ratios in found if case.value == name]
        by_density = (by[name, density]["prune-simple"] for density in densities)
        mean, least = (round(100 * value, 1) for value in (fmean(of), min(of)))
        rows.append((name, *by_density, mean, least, SIMPLE_PRUNING_SAID))
    columns = (
        "rates",
        *(f"density {density:g}" for density in densities),
        "mean",
        "least",
        "text says about",
    )
    title = "Simple pruning at 50 nodes, one-port, per cent of the optimum, load bound"
    return Sheet("prune-simple", title, columns, rows)


def remarks(shares: Sheet, densities: Sheet, drawn: Sheet) -> list[str]:
    """The results of the three sheets, with their numbers."""
    column = shares.columns.index("grow-multiport")
    grown = [float(row[column] or 0) for row in shares.rows]
    measured = [row for row in densities.rows if row[1] != "printed"]
    nearest = [
        min((float(row[-1] or 0), float(row[1] or 0)) for row in measured if row[0] == nodes)
        for nodes in (30, 65)
    ]
    means = [float(row[-3] or 0) for row in drawn.rows]
    least = min(float(value or 0) for row in drawn.rows for value in row[1:-3])
    (off_30, at_30), (off_65, at_65) = nearest
    ends = f"{100 * SEND_SHARES[0]:g} and {100 * SEND_SHARES[-1]:g} %"
    return [
        'The paper\'s results "do not strongly depend" on the share of T that a sender is busy for. Here '
        f"grow-multiport goes from {grown[0]:g} to {grown[-1]:g} % of the one-port optimum between {ends}.",
        f"Table 3: the printed row of 30 nodes is nearest to density {at_30:g} (lines {off_30:g} points off "
        f"on average), that of 65 nodes to {at_65:g} ({off_65:g} points). The paper says only that densities "
        "lie between 0.05 and 0.15, depending on the number of nodes. The rest is not explained.",
        f"Simple pruning at 50 nodes has {min(means):g} to {max(means):g} % on average however rates are "
        f"drawn, where the text says about {SIMPLE_PRUNING_SAID} %; it falls with density, to {least:g} %. "
        "The rest is not explained.",
    ]
