"""Paper 2, section 6, figures 1 to 4: the mean makespan and the hit rate of every strategy on random grids.

The paper states neither how gaps are drawn nor when a cluster starts its own broadcast, so the figures come
in several readings. A hit is a makespan no longer than the least of the paper's seven strategies. Beside
them are the mixed strategy and the bottom-up rule as printed, Broadleaf's `makespan`, the proved minimum of
`exact`, and the lower bound. All values of a row or curve come from the same draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from broadleaf import grid
from broadleaf.papers.grid.figures import Line, draw
from broadleaf.papers.journal import Journal, build, key_of
from broadleaf.papers.results import Cell, Results, Sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPERS_SEVEN = ("flat", "fef", "ecef", "ecef-la", "ecef-lat-min", "ecef-lat-max", "bottom-up")
# The strategies of figure 3.
ECEF_LIKE = ("ecef", "ecef-la", "ecef-lat-min", "ecef-lat-max")
# The suggestion at the end of section 6, and section 5.3's rule without the senders' ready times.
THEIRS = (*PAPERS_SEVEN, "mixed", "bottom-up-as-printed")
OURS = ("makespan", "exact", "bound")
# The text on figure 4: the one strategy with a constant hit rate, at every number of clusters.
PRINTED_HIT_RATE = {"ecef-lat-max": 45.0}
SMALL = (2, 3, 4, 5, 6, 7, 8, 9, 10)
LARGE = (20, 30, 40, 50)
QUICK = (2, 4, 6, 8, 10, 20, 50)
# `exact` runs up to this many clusters; beyond, the times of its proofs have a heavy tail.
MOST_PROVED = 12
LOCAL_STARTS = ("after-last-send", "on-arrival")
GAPS = ("pair", "min", "receiver", "sender", "mean", "max")
SHOWN_GAPS = ("pair", "min")
# Draws for hit rates, as many as the paper's.
HIT_DRAWS, QUICK_HIT_DRAWS = 10_000, 1_000
# Draws for means: Broadleaf's search on each takes a thousand times as long as a heuristic.
DRAWS, QUICK_DRAWS = 1_000, 20
# Standard deviations of a mean to either side: 95 % of a normal distribution.
DEVIATIONS = 1.96
# Rounding of sums in another order must not turn a hit into a miss.
SAME_MAKESPAN = 1e-12
SEED = 2006

Reading = tuple[str, str]


@dataclass(frozen=True)
class Estimate:
    """A mean, and half the width of its 95 % confidence interval."""

    mean: float
    within: float

    @staticmethod
    def of(values: NDArray[np.float64]) -> Estimate | None:
        """None if a value is missing: a mean over the easily proved draws would mislead."""
        if np.isnan(values).any():
            return None
        deviation = float(values.std(ddof=1)) if len(values) > 1 else math.inf
        return Estimate(float(values.mean()), DEVIATIONS * deviation / math.sqrt(len(values)))


@dataclass(frozen=True)
class Point:
    """All draws of one number of clusters in one reading; makespans in seconds, a row a draw."""

    gaps: str
    local_start: str
    clusters: int
    # By line: the paper's and Broadleaf's on the same draws; not a number where a proof took too long.
    makespans: dict[str, NDArray[np.float64]]
    # By line: which of more draws are hits.
    hits: dict[str, NDArray[np.float64]]

    def lists(self) -> list[dict[str, list[float]]]:
        """Makespans and hits, to be saved as JSON."""
        return [{line: of.tolist() for line, of in rows.items()} for rows in (self.makespans, self.hits)]

    @staticmethod
    def of_lists(reading: Reading, clusters: int, saved: list[dict[str, list[float]]]) -> Point:
        makespans, hits = ({line: np.array(of) for line, of in rows.items()} for rows in saved)
        return Point(*reading, clusters, makespans, hits)

    @property
    def reading(self) -> Reading:
        return self.gaps, self.local_start

    @property
    def head(self) -> tuple[Cell, ...]:
        return self.gaps, self.local_start, self.clusters

    def mean_ms(self, line: str) -> Estimate | None:
        return Estimate.of(1000 * self.makespans[line])

    def hit_rate(self, line: str) -> Estimate | None:
        """Per cent of the draws on which none of the seven is faster."""
        return Estimate.of(100 * self.hits[line])

    def later_ms(self, line: str, other: str) -> Estimate | None:
        """The difference of two makespans on the same draw, ms."""
        return Estimate.of(1000 * (self.makespans[line] - self.makespans[other]))

    def above(self, line: str, floor: str) -> Estimate | None:
        """Distance of one above another on the same draw, per cent of that."""
        return Estimate.of(100 * (self.makespans[line] / self.makespans[floor] - 1))

    def below(self, line: str, ceiling: str) -> Estimate | None:
        """Distance of one below another on the same draw, per cent of that."""
        return Estimate.of(100 * (1 - self.makespans[line] / self.makespans[ceiling]))


# The least of the paper's seven on each draw.
BEST = "best of seven"


def point(reading: Reading, clusters: int, quick: bool) -> Point:
    gaps, local_start = reading

    def makespans(draws: int, lines: tuple[str, ...]) -> dict[str, NDArray[np.float64]]:
        rows = grid.makespans(clusters, draws, list(lines), gaps=gaps, local_start=local_start, seed=SEED)
        found = dict(zip(lines, np.array(rows, dtype=np.float64).T, strict=True))
        return found | {BEST: np.minimum.reduce([found[line] for line in PAPERS_SEVEN])}

    asked = (*THEIRS, *OURS) if clusters <= MOST_PROVED else (*THEIRS, "makespan", "bound")
    both = makespans(QUICK_DRAWS if quick else DRAWS, asked)
    theirs = makespans(QUICK_HIT_DRAWS if quick else HIT_DRAWS, THEIRS)
    hits = {line: (theirs[line] <= theirs[BEST] * (1 + SAME_MAKESPAN)).astype(np.float64) for line in THEIRS}
    unproved = {line: np.full_like(both[BEST], math.nan) for line in OURS if line not in both}
    return Point(gaps, local_start, clusters, both | unproved, hits)


@dataclass(frozen=True)
class Work:
    """The points to draw."""

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

    def run(self, advance: Callable[[], None], journal: Journal) -> Results:
        points = []
        of_build = build(__file__)
        for reading in self.readings:
            for clusters in self.sizes:

                def drawn(reading: Reading = reading, clusters: int = clusters) -> list[Any]:
                    return point(reading, clusters, self.quick).lists()

                found = journal.value(key_of(of_build, reading, clusters, self.quick), drawn)
                points.append(Point.of_lists(reading, clusters, found))
                advance()
        draws, hit_draws = (len(next(iter(rows.values()))) for rows in (points[0].makespans, points[0].hits))
        return Results(
            sheets=[*means(points), figure_3(points), *hit_rates(points), distances(points)],
            figures=dict(figures(points)),
            remarks=[
                f"Figures 1 to 3: {draws} draws a point, the same for all lines; figure 4: {hit_draws} "
                f"draws, on which nothing is searched. Seed {SEED}, root 0. ± holds 95 % of such means.",
                "Figure 3 shows how much later each ends than ecef on the same draws: the curves of the "
                "means themselves lie on each other, as the paper says.",
                "mixed is ecef-la up to 10 clusters and ecef-lat-max beyond; bottom-up-as-printed leaves out "
                "the senders' ready times. Neither counts for what a hit is.",
                "The paper does not say how gaps are drawn. With one gap a cluster and the smaller of a "
                "pair's two (min) what its text claims comes out, so min is inferred; pair stands beside it, "
                "and --gaps draws them in other ways.",
                "Of figure 4 the text says that ecef-lat-max stays at about 45 % whatever the number of "
                "clusters, and that ecef, ecef-la and ecef-lat-min fall. The figures carry no numbers.",
            ],
        )


def columns(*lines: str) -> tuple[str, ...]:
    return ("gaps", "local start", "clusters", *lines)


def mean_of(estimate: Estimate | None, digits: int) -> float | None:
    return None if estimate is None else round(estimate.mean, digits)


def within_of(estimate: Estimate | None, digits: int) -> float | None:
    return None if estimate is None or math.isinf(estimate.within) else round(estimate.within, digits)


def means(points: list[Point]) -> list[Sheet]:
    lines = (*THEIRS, *OURS)
    found = [(p.head, [p.mean_ms(line) for line in lines]) for p in points]
    title = "Figures 1, 2 and 3: mean makespan, ms"
    return [
        Sheet("means", title, columns(*lines),
              [(*head, *(mean_of(estimate, 1) for estimate in row)) for head, row in found]),
        Sheet("means-interval", f"{title}: ± of these means", columns(*lines),
              [(*head, *(within_of(estimate, 1) for estimate in row)) for head, row in found]),
    ]  # fmt: skip


def figure_3(points: list[Point]) -> Sheet:
    lines = (*ECEF_LIKE[1:], "makespan")
    rows: list[tuple[Cell, ...]] = []
    for p in points:
        estimates = [p.later_ms(line, ECEF_LIKE[0]) for line in lines]
        rows.append((*p.head, *(value(e, 1) for e in estimates for value in (mean_of, within_of))))
    names = (name for line in lines for name in (line, f"{line} ±"))
    return Sheet("figure-3", "Figure 3: ms later than ecef on the same draws", columns(*names), rows)


def hit_rates(points: list[Point]) -> list[Sheet]:
    found = [(p.head, [p.hit_rate(line) for line in THEIRS]) for p in points]
    printed = PRINTED_HIT_RATE["ecef-lat-max"]
    return [
        Sheet("hit-rates", "Figure 4: hit rate, per cent of the draws, beside what the text says",
              columns(*THEIRS, "text: ecef-lat-max about"),
              [(*head, *(mean_of(estimate, 1) for estimate in row), printed) for head, row in found]),
        Sheet("hit-rates-interval", "Figure 4: ± of these hit rates, per cent", columns(*THEIRS),
              [(*head, *(within_of(estimate, 1) for estimate in row)) for head, row in found]),
    ]  # fmt: skip


def distances(points: list[Point]) -> Sheet:
    """How far below the best of the paper's seven Broadleaf is, and how far the optimum is."""
    rows: list[tuple[Cell, ...]] = []
    for p in points:
        estimates = (
            (p.below("makespan", BEST), 2),
            (p.above("makespan", "exact"), 3),
            (p.above("makespan", "bound"), 2),
            (p.above(BEST, "exact"), 2),
            (p.above(BEST, "bound"), 2),
        )
        rows.append(
            (*p.head, *(value(e, digits) for e, digits in estimates for value in (mean_of, within_of)))
        )
    names = (
        *("makespan below best of seven %", "makespan above exact %", "makespan above bound %"),
        *("best of seven above exact %", "best of seven above bound %"),
    )
    return Sheet("broadleaf", "Broadleaf and the best of the paper's seven, beside the bound",
                 columns(*(column for name in names for column in (name, f"{name} ±"))), rows)  # fmt: skip


def figures(points: list[Point]) -> Iterator[tuple[str, Figure]]:
    """Figures 1 to 4 in every reading."""
    for reading in dict.fromkeys(p.reading for p in points):
        own = [p for p in points if p.reading == reading]
        small = [p for p in own if p.clusters <= max(SMALL)]
        gaps, local_start = reading
        with_ours = (*THEIRS, "makespan", "bound")
        mean, later = "mean makespan, ms", f"mean time later than {ECEF_LIKE[0]}, ms"
        for number, chosen, lines, label, scale in (
            (1, small, with_ours, mean, ""),
            (2, own, with_ours, mean, "y"),
            # A symmetric logarithm, since one of the four is ten times as far from ecef as the others.
            (3, own, (*ECEF_LIKE, "makespan"), later, "±"),
            (4, own, THEIRS, "hit rate, % of the draws", ""),
        ):
            title = f"Figure {number}, gaps by {gaps}, {local_start}"
            drawn = lines_of(number, chosen, lines)
            yield (
                f"figure-{number}-{gaps}-{local_start}",
                draw(title, "number of clusters", label, drawn, logarithmic=scale),
            )


def lines_of(number: int, points: list[Point], lines: tuple[str, ...]) -> Iterator[Line]:
    for line in lines:
        if number == 4:
            found = [p.hit_rate(line) for p in points]
        elif number == 3:
            found = [p.later_ms(line, ECEF_LIKE[0]) for p in points]
        else:
            found = [p.mean_ms(line) for p in points]
        place = THEIRS.index(line) if line in THEIRS else None
        yield Line(
            line,
            [p.clusters for p in points],
            [math.nan if estimate is None else estimate.mean for estimate in found],
            place,
            ":" if line == "bound" else "-",
            [0.0 if estimate is None else estimate.within for estimate in found],
            [(p.clusters, PRINTED_HIT_RATE[line]) for p in points]
            if line in PRINTED_HIT_RATE and number == 4
            else (),
        )
