"""Figures 5 and 6 as tables and pictures, from the samples of `simulated`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import fmean

from broadleaf.papers.grid.figures import Line, draw
from broadleaf.papers.grid.simulated import (
    BUILT_IN,
    KIB,
    PAPERS_BYTES,
    REPETITIONS,
    SEGMENTED,
    Network,
    Sample,
)
from broadleaf.papers.results import Cell, Results, Sheet

# Section 7 of 4 MB: ECEF-like heuristics take less than 3 s, flat between clusters almost six times as long.
SAID_S = {"ecef": 3.0, "magpie": 18.0}


def results(network: Network, samples: list[Sample]) -> Results:
    strategies = tuple(dict.fromkeys(s.strategy for s in samples))
    first = samples[0].root
    main = [s for s in samples if s.root == first]
    is_measured = any(s.measured_s for s in samples)
    by_size = [("figure-5", "Figure 5: predicted, ms", predicted_ms)]
    if is_measured:
        by_size.append(("figure-6", "Figure 6: measured, ms", measured_ms))
        if network.is_main:
            by_size.append(("planning", "Figure 6 with the cost of planning, ms", with_planning_ms))
    sheets = [pivot(name, title, main, strategies, value) for name, title, value in by_size]
    sheets.append(above_bound(main))
    if network.is_main:
        value = measured_ms if is_measured else predicted_ms
        sheets.append(roots(samples, strategies, value, "measured" if is_measured else "predicted"))
    if is_measured:
        sheets.append(text(main))
        if network.is_main:
            sheets.append(shares(main))
    sheets.append(raw(samples))
    figures = {
        f"{name}{network.suffix}": draw(
            f"{title.split(',')[0]}, 88 machines of {network.name}",
            "message, KiB",
            "time, ms",
            lines_of(main, strategies, of),
            logarithmic="xy",
        )
        for name, title, of in by_size[:2]
    }
    return Results([named(sheet, network) for sheet in sheets], figures)


def named(sheet: Sheet, network: Network) -> Sheet:
    place = "" if network.is_main else f" ({network.name})"
    return replace(sheet, name=f"{sheet.name}{network.suffix}", title=f"{sheet.title}{place}")


Value = Callable[[Sample], float | None]


def predicted_ms(sample: Sample) -> float | None:
    return None if sample.predicted_s is None else 1000 * sample.predicted_s


def measured_ms(sample: Sample) -> float | None:
    return None if sample.settled_s is None else 1000 * sample.settled_s


def with_planning_ms(sample: Sample) -> float | None:
    measured = measured_ms(sample)
    return None if measured is None else measured + 1000 * (sample.planning_s or 0.0)


def pivot(name: str, title: str, samples: list[Sample], strategies: tuple[str, ...], value: Value) -> Sheet:
    """A row a size, a column a strategy."""
    found = {(s.message_bytes, s.strategy): value(s) for s in samples}
    sizes = sorted({s.message_bytes for s in samples})
    shown = [line for line in strategies if any(found.get((size, line)) is not None for size in sizes)]
    rows: list[tuple[Cell, ...]] = [
        (size // KIB, *(shortened(found.get((size, line))) for line in shown)) for size in sizes
    ]
    return Sheet(name, title, ("KiB", *shown), rows)


def above_bound(samples: list[Sample]) -> Sheet:
    """The distance of Broadleaf's predicted times from the bound."""
    lines = [line for line in SEGMENTED if any(s.strategy == line for s in samples)]
    rows: list[tuple[Cell, ...]] = []
    for size in sorted({s.message_bytes for s in samples}):
        at = {s.strategy: s for s in samples if s.message_bytes == size and s.strategy in SEGMENTED}
        bound_s = max(s.bound_s or 0.0 for s in at.values())
        above = [round(100 * ((at[line].predicted_s or math.nan) / bound_s - 1), 1) for line in lines]
        rows.append((size // KIB, round(1000 * bound_s, 2), *above))
    names = ("KiB", "bound, ms", *(f"{line} above it %" for line in lines))
    return Sheet("above-bound", "Broadleaf, as predicted, above the bound of every plan", names, rows)


def shortened(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def roots(samples: list[Sample], strategies: tuple[str, ...], value: Value, how: str) -> Sheet:
    """The paper's size from every root: real programs rotate roots."""
    at = [s for s in samples if s.message_bytes == PAPERS_BYTES]
    names = list(dict.fromkeys(s.root for s in at))
    rows: list[tuple[Cell, ...]] = []
    for line in strategies:
        found = {s.root: value(s) for s in at if s.strategy == line}
        known = [seconds for seconds in found.values() if seconds is not None]
        if len(known) == len(names):
            spread = round(max(known) / min(known), 2)
            rows.append((line, *(shortened(found[root]) for root in names), round(fmean(known), 2), spread))
    title = f"4 MiB from each cluster's first host: {how}, ms"
    return Sheet("roots", title, ("strategy", *names, "mean", "worst / best"), rows)


def text(samples: list[Sample]) -> Sheet:
    """Section 7's claim on 4 MB, and the lead of `best`; empty where one timed out."""
    found = {s.strategy: s.settled_s for s in samples if s.message_bytes == PAPERS_BYTES}
    like = [found[line] for line in found if line.startswith("ecef")]
    like_s = None if None in like else fmean(seconds for seconds in like if seconds is not None)

    def times(one_s: float | None, other_s: float | None) -> float | None:
        return None if one_s is None or other_s is None else round(one_s / other_s, 2)

    rows: list[tuple[Cell, ...]] = [
        ("flat between clusters over ecef-like", times(found["magpie"], like_s), 6.0),
        ("flat between clusters over binomial", times(found["magpie"], found["default"]), "above 1"),
    ]
    for line in (line for line in ("magpie", *BUILT_IN) if line in found):
        rows.append((f"{line} over best", times(found[line], found["best"]), None))
    return Sheet("text", "4 MiB: how many times longer, beside what the text says",
                 ("ratio", "measured", "text"), rows)  # fmt: skip


def shares(samples: list[Sample]) -> Sheet:
    """Predicted times for the paper's size, and SimGrid's times by the way transfers share a link."""
    rows: list[tuple[Cell, ...]] = [
        (
            s.strategy,
            shortened(predicted_ms(s)),
            *(shortened(1000 * seconds[-1]) for seconds in (s.measured_s, s.by_latency_s)),
            round(s.measured_s[-1] / s.predicted_s, 3),
            round(s.by_latency_s[-1] / s.predicted_s, 3),
        )
        for s in samples
        if s.message_bytes == PAPERS_BYTES and s.by_latency_s and s.measured_s and s.predicted_s
    ]
    names = ("even", "by latency")
    columns = ("strategy", "predicted", *names, *(f"{name} over predicted" for name in names))
    return Sheet("shares", "4 MiB, ms, where transfers under way together share a link", columns, rows)


def raw(samples: list[Sample]) -> Sheet:
    rows: list[tuple[Cell, ...]] = [
        (
            *(s.strategy, s.root, s.message_bytes, s.planner, s.segment_bytes, s.planning_s, s.predicted_s),
            s.bound_s,
            *(s.measured_s or (None,) * REPETITIONS),
        )
        for s in samples
    ]
    names = ("strategy", "root", "bytes", "planner", "segment_bytes", "planning_s", "predicted_s", "bound_s")
    repetitions = tuple(f"measured_{at}_s" for at in range(REPETITIONS))
    return Sheet("runs", "Every broadcast", (*names, *repetitions), rows, is_shown=False)


def lines_of(samples: list[Sample], strategies: tuple[str, ...], value: Value) -> Iterator[Line]:
    for at, strategy in enumerate(strategies):
        points = [(s.message_bytes / KIB, value(s)) for s in samples if s.strategy == strategy]
        known = [(size, ms) for size, ms in points if ms is not None]
        if known:
            style = "-" if strategy in SEGMENTED else ":" if strategy in BUILT_IN else "--"
            said_s = SAID_S.get(strategy)
            said = () if said_s is None else ((PAPERS_BYTES / KIB, 1000 * said_s),)
            yield Line(strategy, [size for size, _ in known], [ms for _, ms in known], at, style, said=said)
