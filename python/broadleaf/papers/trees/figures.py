"""Paper 1's figures: throughput against the optimum, by nodes or density, a line for each planner."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from broadleaf.papers.results import Sheet


def draw_lines(
    sheet: Sheet, against: str, port_model: str, lines: Sequence[str], solid: Sequence[str]
) -> Figure:
    """The sheet's columns of `lines`, dashed but for those named `solid`."""
    from matplotlib.figure import Figure

    from broadleaf.plot.figures import COLOURS

    # One fewer than there are colours, so that no two lines share both.
    markers = "os^DvXP"
    figure = Figure(figsize=(7.0, 4.5), layout="constrained")
    axes = figure.subplots()
    at = [float(row[0] or 0.0) for row in sheet.rows]
    for place, line in enumerate(lines):
        column = sheet.columns.index(line)
        ratios = [float(row[column] or 0.0) / 100 for row in sheet.rows]
        style = "-" if line in solid else "--"
        colour = COLOURS[place % len(COLOURS)]
        axes.plot(at, ratios, style, marker=markers[place % len(markers)], color=colour, label=line)
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set_xlabel("density of the platform" if against == "density" else "number of nodes")
    axes.set_ylabel("simulated throughput / one-port optimum")
    axes.set_title(f"Pipelined trees against the optimum ({port_model})", fontsize="medium")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize="small", ncols=2)
    return figure
