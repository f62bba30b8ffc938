"""Paper 2, section 6: the mean makespan and the hit rate of every strategy on random grids of clusters.

The paper says neither how gaps are drawn nor when a cluster starts its own broadcast, so figures 1 to 4
come in several readings. A hit is a makespan equal to the least of the paper's seven strategies.

Barchet-Steffenel and Mounié, *Scheduling heuristics for efficient broadcast operations on grid environments*.
Figures 5 and 6, one platform under SimGrid, are not run here.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from broadleaf import _core
from broadleaf.papers.results import Cell, Results, Sheet, Start

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPERS_SEVEN = ("flat", "fef", "ecef", "ecef-la", "ecef-lat-min", "ecef-lat-max", "bottom-up")
OURS = ("makespan", "bound")
SMALL = (2, 3, 4, 5, 6, 7, 8, 9, 10)
LARGE = (20, 30, 40, 50)
LOCAL_STARTS = ("after-last-send", "on-arrival")
GAPS = ("pair", "min", "receiver", "sender", "mean", "max")
QUICK_GAPS = ("pair", "min")
DRAWS, QUICK_DRAWS = 10_000, 1_000
# A search takes a thousand times as long as a heuristic: fewer draws give its mean just as well.
SEARCHED_DRAWS, QUICK_SEARCHED_DRAWS = 400, 20
# Rounding of sums in another order must not turn a hit into a miss.
SAME_MAKESPAN = 1e-12
SEED = 2006


@dataclass(frozen=True)
class Point:
    """All draws of one size in one reading; makespans in seconds, a row a draw."""

    gaps: str
    local_start: str
    clusters: int
    heuristics: list[list[float]]
    # Ours, on the first of the same draws.
    searched: list[list[float]]

    def mean_ms(self, line: str) -> float:
        return 1000 * fmean(row[PAPERS_SEVEN.index(line)] for row in self.heuristics)

    def hit_rate(self, line: str) -> float:
        """Per cent of the draws on which no other of the seven is faster."""
        at = PAPERS_SEVEN.index(line)
        hits = sum(row[at] <= min(row) * (1 + SAME_MAKESPAN) for row in self.heuristics)
        return 100 * hits / len(self.heuristics)

    def below_best(self, line: str) -> float:
        """Mean distance below the best of the seven on the same draw, per cent."""
        at = OURS.index(line)
        pairs = zip(self.searched, self.heuristics, strict=False)
        return 100 * fmean(1 - ours[at] / min(theirs) for ours, theirs in pairs)


def point(gaps: str, local_start: str, clusters: int, draws: int, searched: int) -> Point:
    def makespans(count: int, lines: tuple[str, ...]) -> list[list[float]]:
        return _core.grid_makespans(
            clusters, count, list(lines), gaps=gaps, local_start=local_start, seed=SEED
        )

    rows = makespans(draws, PAPERS_SEVEN)
    return Point(gaps, local_start, clusters, rows, makespans(searched, OURS))


def run(quick: bool, start: Start) -> Results:
    """Draws grids of 2 to 50 clusters in every reading and compares all strategies on them."""
    readings = [
        (gaps, local_start) for gaps in (QUICK_GAPS if quick else GAPS) for local_start in LOCAL_STARTS
    ]
    sizes = (2, 4, 6, 8, 10, 20, 50) if quick else (*SMALL, *LARGE)
    draws, searched = (QUICK_DRAWS, QUICK_SEARCHED_DRAWS) if quick else (DRAWS, SEARCHED_DRAWS)
    advance = start(len(readings) * len(sizes))
    points = []
    for gaps, local_start in readings:
        for clusters in sizes:
            points.append(point(gaps, local_start, clusters, draws, searched))
            advance()
    return Results(
        sheets=[means(points), hit_rates(points), distances(points)],
        figures={
            f"figure-{number}-{gaps}-{local_start}": figure
            for gaps, local_start in readings
            for number, figure in draw_reading(of_reading(points, gaps, local_start))
        },
        remarks=[
            f"{draws} draws a point, {searched} of them searched; seed {SEED}, root 0.",
            "The paper does not say how gaps are drawn. With one gap a cluster and the smaller of a pair's "
            "two (min) what its text claims comes out, so min is inferred; pair is shown beside it.",
            "The paper prints hit rates of about 45 % for ecef-lat-max at all sizes.",
        ],
    )  # fmt: skip


def of_reading(points: list[Point], gaps: str, local_start: str) -> list[Point]:
    return [p for p in points if (p.gaps, p.local_start) == (gaps, local_start)]


def means(points: list[Point]) -> Sheet:
    rows: list[tuple[Cell, ...]] = [
        (p.gaps, p.local_start, p.clusters, *(round(p.mean_ms(line), 1) for line in PAPERS_SEVEN))
        for p in points
    ]
    columns = ("gaps", "local start", "clusters", *PAPERS_SEVEN)
    return Sheet("means", "Figures 1, 2 and 3: mean makespan, ms", columns, rows)


def hit_rates(points: list[Point]) -> Sheet:
    rows: list[tuple[Cell, ...]] = [
        (p.gaps, p.local_start, p.clusters, *(round(p.hit_rate(line), 1) for line in PAPERS_SEVEN))
        for p in points
    ]
    columns = ("gaps", "local start", "clusters", *PAPERS_SEVEN)
    return Sheet("hit-rates", "Figure 4: hit rate, per cent of the draws", columns, rows)


def distances(points: list[Point]) -> Sheet:
    """How far below the best of the paper's seven we come, and how far anyone could."""
    rows: list[tuple[Cell, ...]] = [
        (p.gaps, p.local_start, p.clusters, *(round(p.below_best(line), 2) for line in OURS)) for p in points
    ]
    columns = ("gaps", "local start", "clusters", "makespan %", "no schedule %")
    title = "Ours: per cent below the best of the paper's seven, and the bound that no schedule passes"
    return Sheet("ours", title, columns, rows)


def draw_reading(points: list[Point]) -> list[tuple[str, Figure]]:
    """Figure 2 (means of all) and figure 4 (hit rates) in one reading."""
    from matplotlib.figure import Figure

    from broadleaf.plot.figures import COLOURS

    figures = []
    for number, label, value in (
        ("2", "mean makespan, ms", Point.mean_ms),
        ("4", "hit rate, % of the draws", Point.hit_rate),
    ):
        figure = Figure(figsize=(7.0, 4.5), layout="constrained")
        axes = figure.subplots()
        sizes = [p.clusters for p in points]
        for at, line in enumerate(PAPERS_SEVEN):
            values = [value(p, line) for p in points]
            axes.plot(sizes, values, marker="os^DvXP"[at], color=COLOURS[at % len(COLOURS)], label=line)
        if number == "2":
            axes.set_yscale("log")
        axes.set_xlabel("number of clusters")
        axes.set_ylabel(label)
        axes.set_title(f"gaps by {points[0].gaps}, {points[0].local_start}")
        axes.legend()
        figures.append((number, figure))
    return figures
