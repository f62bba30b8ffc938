"""What paper 3's advisor costs: the time that a plan takes to be made, and to reach the hosts."""

from __future__ import annotations

from statistics import fmean

from broadleaf.papers.adaptive.samples import (
    ADAPTIVE,
    ANNEALING,
    LINES,
    MPICH_G2,
    STATIC,
    Sample,
    improvements,
)
from broadleaf.papers.results import Cell, Sheet

# Of the predicted time until the next broadcast: the paper's, halved and doubled.
PARTS = (0.5, 1.0, 2.0)


def planned_line(part: float) -> str:
    return f"{ANNEALING}, {part:g} of the time"


def planning_sheet(samples: list[Sample]) -> Sheet:
    """The annealer's gain by the part of the predicted time that it gets, on common draws."""
    rows: list[tuple[Cell, ...]] = []
    for kind in dict.fromkeys(s.kind for s in samples):
        these = [s for s in samples if s.kind == kind]
        for part in (None, *PARTS):
            line = ANNEALING if part is None else planned_line(part)
            loaded, unloaded = (
                improvements(these, line, MPICH_G2, *taken) for taken in ((0.01, 1.0), (0.0, 0.0))
            )
            rows.append((
                kind, len({s.seed for s in these}), "at once" if part is None else part,
                round(fmean(loaded), 2), round(min(loaded), 2), round(max(loaded), 2),
                round(fmean(unloaded), 2),
            ))  # fmt: skip
    columns = (
        "loads on", "draws", "part of the predicted time", "better than mpich-g2 loaded, %", "least", "most",
        "unloaded, %",
    )  # fmt: skip
    return Sheet(
        "planning", "clusteredSA with the predicted time until the next broadcast, halved, doubled",
        columns, rows,
    )  # fmt: skip


def planning_remark(sheet: Sheet, moves_a_second: int) -> str:
    means = {part: fmean(float(row[3] or 0) for row in sheet.rows if row[2] == part) for part in PARTS}
    told = ", ".join(f"{mean:.1f} % with {part:g}" for part, mean in means.items())
    return (
        "In the planning table one process makes a plan after the other, each for the part given of the "
        f"predicted time until the next broadcast, at {moves_a_second:,} moves a second; a plan is for the "
        "monitor's view when it was begun, and in use once it is ready. Under load the annealer is better "
        f"than mpich-g2 by {told} of the time."
    )


def travel_sheet(samples: list[Sample]) -> Sheet:
    """How much later the data are everywhere because a tree, or a header and a plan, goes with them."""
    rows: list[tuple[Cell, ...]] = []
    for line in LINES:
        own = [s for s in samples if s.line == line]
        idle = [s for s in own if s.taken == 0]
        least = min(s.travel.message_bytes for s in own)
        whole_s, later_s = sum(s.seconds for s in own), sum(s.travel.seconds for s in own)
        rows.append((
            line, least, sum(s.travel.message_bytes > least for s in own),
            max(s.travel.message_bytes for s in own),
            round(1e3 * later_s / len(own), 3), round(1e3 * max(s.travel.seconds for s in own), 3),
            round(100 * later_s / (whole_s - later_s), 3),
            *(round(value, 2) for value in unloaded_gains(samples, idle, line)),
        ))  # fmt: skip
    columns = (
        "line", "bytes with every broadcast", "broadcasts with a new plan", "bytes then, most", "later, ms",
        "most", "later, %", "better than mpich-g2 unloaded, %, without travel", "with it",
        "by a broadcast of its own",
    )  # fmt: skip
    return Sheet("travel", "The time that a tree or plan takes to reach the hosts", columns, rows)


def unloaded_gains(samples: list[Sample], idle: list[Sample], line: str) -> tuple[float, float, float]:
    """By how much a line is better than mpich-g2 without load, per cent: mean over broadcasts if nothing but
    data travelled, if it goes ahead of the data, and if it is broadcast by itself before."""
    reference = {(s.kind, s.seed, s.call): s.seconds for s in samples if s.line == MPICH_G2}

    def gain(seconds: dict[tuple[str, int, int], float]) -> float:
        return fmean(100 * (1 - taken / reference[call]) for call, taken in seconds.items())

    key = {(s.kind, s.seed, s.call): s for s in idle}
    return (
        gain({call: s.seconds - s.travel.seconds for call, s in key.items()}),
        gain({call: s.seconds for call, s in key.items()}),
        gain({call: s.seconds - s.travel.seconds + s.travel.apart_s for call, s in key.items()}),
    )


def travel_remark(sheet: Sheet) -> str:
    row = {str(row[0]): row for row in sheet.rows}
    ours, paper, fixed = row[ADAPTIVE], row[ANNEALING], row[STATIC]
    return (
        f"The annealer's tree, {paper[1]} bytes ahead of the data, makes a broadcast {paper[6]} % later. "
        f"Without load it is {paper[7]} % better than mpich-g2 without that, {paper[8]} % with it, and "
        f"{paper[9]} % if the tree is broadcast by itself before. The paper's is worse than mpich-g2 there, "
        "and the tree's travel is its reason. Broadleaf sends a header, and a plan where it changes: "
        f"{ours[6]} % later with an advisor, {fixed[6]} % without."
    )
