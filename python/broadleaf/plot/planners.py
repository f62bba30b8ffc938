"""The picture of a comparison: each planner's predicted time beside the bound."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from broadleaf.plot.figures import COLOURS
from broadleaf.units import seconds, size


def draw_planners(title: str, planners: Sequence[tuple[str, float, int]], bound_s: float | None) -> Figure:
    """A bar for each (planner, makespan in s, segment in bytes), the fastest on top.

    The time axis is logarithmic, because the best and the worst planner of a large message are often a
    factor of a hundred apart. It begins at the bound, so that a bar's length shows how far above it a plan
    is."""
    rows = sorted(planners, key=lambda row: row[1], reverse=True)
    figure = Figure(figsize=(8.0, 1.2 + 0.3 * len(rows)), layout="constrained")
    axes = figure.subplots()
    left = bound_s or min(makespan_s for _, makespan_s, _ in rows) * 0.8
    for place, (_, makespan_s, segment_bytes) in enumerate(rows):
        fastest = place == len(rows) - 1
        axes.barh(place, makespan_s - left, left=left, color=COLOURS[2 if fastest else 0], height=0.7)
        beside = f" {seconds(makespan_s)}, segments of {size(segment_bytes)}"
        if bound_s:
            beside += f", {makespan_s / bound_s:.3g} x bound"
        axes.annotate(beside, (makespan_s, place), va="center", fontsize=7)
    axes.set_yticks(range(len(rows)), [planner for planner, _, _ in rows], fontsize=8)
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.set_xscale("log")
    # Room for the text beside the longest bar.
    axes.set_xlim(left, max(makespan_s for _, makespan_s, _ in rows) * 8)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds(value)))
    axes.xaxis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
    begins = f"; the axis begins at the bound, {seconds(bound_s)}" if bound_s else ""
    axes.set_xlabel(f"predicted time of the broadcast{begins}", fontsize=8)
    axes.set_title(title, fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
