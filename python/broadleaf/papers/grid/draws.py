"""Paper 2, section 6, figures 1 to 4: the mean makespan and the hit rate of every strategy on random grids.

The paper says neither how gaps are drawn nor when a cluster starts its own broadcast, so the figures come
in several readings. A hit is a makespan equal to the least of the paper's seven strategies. Beside them
stand our own `makespan`, the proved least one of `exact`, and the bound that no schedule passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from broadleaf import grid
from broadleaf.papers.grid.figures import Line, draw
from broadleaf.papers.results import Cell, Results, Sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPERS_SEVEN = ("flat", "fef", "ecef", "ecef-la", "ecef-lat-min", "ecef-lat-max", "bottom-up")
# Those that figure 3 looks at closely.
ECEF_LIKE = ("ecef", "ecef-la", "ecef-lat-min", "ecef-lat-max")
OURS = ("makespan", "exact", "bound")
# What text 6 says of figure 4: the one that stays, at every number of clusters.
PRINTED_HIT_RATE = {"ecef-lat-max": 45.0}
SMALL = (2, 3, 4, 5, 6, 7, 8, 9, 10)
LARGE = (20, 30, 40, 50)
QUICK = (2, 4, 6, 8, 10, 20, 50)
# `exact` is asked up to here; beyond, its proofs have a heavy tail.
MOST_PROVED = 12
LOCAL_STARTS = ("after-last-send", "on-arrival")
GAPS = ("pair", "min", "receiver", "sender", "mean", "max")
SHOWN_GAPS = ("pair", "min")
DRAWS, QUICK_DRAWS = 10_000, 1_000
# A search takes a thousand times as long as a heuristic: fewer draws give its mean just as well.
SEARCHED_DRAWS, QUICK_SEARCHED_DRAWS = 200, 20
# Rounding of sums in another order must not turn a hit into a miss.
SAME_MAKESPAN = 1e-12
SEED = 2006

Reading = tuple[str, str]


@dataclass(frozen=True)
class Point:
    """All draws of one number of clusters in one reading; makespans in seconds, a row a draw."""

    gaps: str
    local_start: str
    clusters: int
    heuristics: list[list[float]]
    # Ours, on the first of the same draws; not a number where a proof took too long.
    ours: list[list[float]]

    @property
    def reading(self) -> Reading:
        return self.gaps, self.local_start

    def mean_ms(self, line: str) -> float:
        return 1000 * fmean(row[PAPERS_SEVEN.index(line)] for row in self.heuristics)

    def hit_rate(self, line: str) -> float:
        """Per cent of the draws on which no other of the seven is faster."""
        at = PAPERS_SEVEN.index(line)
        hits = sum(row[at] <= min(row) * (1 + SAME_MAKESPAN) for row in self.heuristics)
        return 100 * hits / len(self.heuristics)

    def of_ours(self, line: str) -> list[float]:
        return [row[OURS.index(line)] for row in self.ours]

    def our_mean_ms(self, line: str) -> float | None:
        """None where not every draw was proved: the mean of the easy ones would mislead."""
        mean = 1000 * fmean(self.of_ours(line))
        return None if math.isnan(mean) else mean

    def above(self, line: str, floor: str) -> float | None:
        """Mean distance of one of ours above another on the same draws, per cent."""
        pairs = list(zip(self.of_ours(line), self.of_ours(floor), strict=True))
        distance = fmean(one / other - 1 for one, other in pairs)
        return None if math.isnan(distance) else 100 * distance

    def best_above(self, line: str) -> float | None:
        """Mean distance of the best of the seven above one of ours, per cent of that."""
        distance = fmean(
            min(theirs) / ours - 1 for ours, theirs in zip(self.of_ours(line), self.heuristics, strict=False)
        )
        return None if math.isnan(distance) else 100 * distance

    def below_best(self, line: str) -> float | None:
        """Mean distance of one of ours below the best of the seven, per cent of that."""
        pairs = zip(self.of_ours(line), self.heuristics, strict=False)
        distance = fmean(1 - ours / min(theirs) for ours, theirs in pairs)
        return None if math.isnan(distance) else 100 * distance


def point(reading: Reading, clusters: int, quick: bool) -> Point:
    gaps, local_start = reading

    def makespans(draws: int, lines: tuple[str, ...]) -> list[list[float]]:
        return grid.makespans(clusters, draws, list(lines), gaps=gaps, local_start=local_start, seed=SEED)

    lines = OURS if clusters <= MOST_PROVED else tuple(line for line in OURS if line != "exact")
    ours = makespans(QUICK_SEARCHED_DRAWS if quick else SEARCHED_DRAWS, lines)
    if lines != OURS:
        ours = [[makespan, math.nan, bound] for makespan, bound in ours]
    heuristics = makespans(QUICK_DRAWS if quick else DRAWS, PAPERS_SEVEN)
    return Point(gaps, local_start, clusters, heuristics, ours)


@dataclass(frozen=True)
class Work:
    """What is to be drawn."""

    quick: bool
    gaps: tuple[str, ...]

    @property
    def readings(self) -> list[Reading]:
        return [(gaps, local_start) for gaps in self.gaps for local_start in LOCAL_STARTS]

    @property
    def sizes(self) -> tuple[int, ...]:
        return QUICK if self.quick else (*SMALL, *LARGE)

    @property
    def steps(self) -> int:
        return len(self.readings) * len(self.sizes)

    def run(self, advance: Callable[[], None]) -> Results:
        points = []
        for reading in self.readings:
            for clusters in self.sizes:
                points.append(point(reading, clusters, self.quick))
                advance()
        searched = len(points[0].ours)
        return Results(
            sheets=[means(points), hit_rates(points), distances(points)],
            figures=dict(figures(points)),
            remarks=[
                f"Figures 1 to 4: {len(points[0].heuristics)} draws a point, {searched} of them searched; "
                f"seed {SEED}, root 0.",
                "The paper does not say how gaps are drawn. With one gap a cluster and the smaller of a "
                "pair's two (min) what its text claims comes out, so min is inferred; pair stands beside it, "
                "and --gaps draws them in other ways.",
                "Of figure 4 the text says that ecef-lat-max stays at about 45 % whatever the number of "
                "clusters, and that ecef, ecef-la and ecef-lat-min fall. The figures carry no numbers.",
            ],
        )


def columns(*lines: str) -> tuple[str, ...]:
    return ("gaps", "local start", "clusters", *lines)


def means(points: list[Point]) -> Sheet:
    rows: list[tuple[Cell, ...]] = [
        (
            *(p.gaps, p.local_start, p.clusters),
            *(round(p.mean_ms(line), 1) for line in PAPERS_SEVEN),
            *(rounded(p.our_mean_ms(line), 1) for line in OURS),
        )
        for p in points
    ]
    title = "Figures 1, 2 and 3: mean makespan, ms; the last three on fewer draws"
    return Sheet("means", title, columns(*PAPERS_SEVEN, *OURS), rows)


def hit_rates(points: list[Point]) -> Sheet:
    rows: list[tuple[Cell, ...]] = [
        (
            *(p.gaps, p.local_start, p.clusters),
            *(round(p.hit_rate(line), 1) for line in PAPERS_SEVEN),
            PRINTED_HIT_RATE["ecef-lat-max"],
        )
        for p in points
    ]
    title = "Figure 4: hit rate, per cent of the draws, beside what the text says"
    return Sheet("hit-rates", title, columns(*PAPERS_SEVEN, "text: ecef-lat-max about"), rows)


def distances(points: list[Point]) -> Sheet:
    """How far below the best of the paper's seven we come, and how far anyone could."""
    rows: list[tuple[Cell, ...]] = [
        (
            *(p.gaps, p.local_start, p.clusters),
            rounded(p.below_best("makespan"), 2),
            rounded(p.above("makespan", "exact"), 3),
            rounded(p.above("makespan", "bound"), 2),
            rounded(p.best_above("exact"), 2),
            rounded(p.best_above("bound"), 2),
        )
        for p in points
    ]
    names = (
        *("makespan below best of seven %", "makespan above exact %", "makespan above bound %"),
        *("best of seven above exact %", "best of seven above bound %"),
    )
    return Sheet("ours", "Ours and the best of the paper's seven, beside what no schedule passes",
                 columns(*names), rows)  # fmt: skip


def rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def figures(points: list[Point]) -> Iterator[tuple[str, Figure]]:
    """Figures 1 to 4 in every reading."""
    for reading in dict.fromkeys(p.reading for p in points):
        own = [p for p in points if p.reading == reading]
        small = [p for p in own if p.clusters <= max(SMALL)]
        for number, chosen, lines, label in (
            (1, small, PAPERS_SEVEN, "mean makespan, ms"),
            (2, own, PAPERS_SEVEN, "mean makespan, ms"),
            (3, own, ECEF_LIKE, "mean makespan, ms"),
            (4, own, PAPERS_SEVEN, "hit rate, % of the draws"),
        ):
            gaps, local_start = reading
            yield (
                f"figure-{number}-{gaps}-{local_start}",
                draw(
                    f"Figure {number}, gaps by {gaps}, {local_start}",
                    "number of clusters",
                    label,
                    lines_of(number, chosen, lines),
                    logarithmic="y" if number == 2 else "",
                ),
            )


def lines_of(number: int, points: list[Point], lines: tuple[str, ...]) -> Iterator[Line]:
    sizes = [p.clusters for p in points]
    for line in lines:
        values = [p.hit_rate(line) if number == 4 else p.mean_ms(line) for p in points]
        yield Line(line, sizes, values, PAPERS_SEVEN.index(line))
    for line, style in (("makespan", "-"), ("bound", ":")) if number != 4 else ():
        means = [math.nan if (mean := p.our_mean_ms(line)) is None else mean for p in points]
        yield Line(line, sizes, means, None, style)
