"""Paper 5's figures: broadcast times by nodes and by size, a line for each algorithm."""

from __future__ import annotations

from math import isnan, nan
from typing import TYPE_CHECKING

from broadleaf.plot.marks import PRINTED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from broadleaf.papers.results import Sheet


# The line that the paper's printed values belong to.
PRINTED_LINE = "round-robin"


def draw(sheet: Sheet, said: str, printed: Mapping[float, float] | None = None) -> Figure:
    """The sheet's columns as lines, empty cells as gaps; linear, far above, is left out as in the paper.

    `printed` has the paper's values of PRINTED_LINE, seconds by place on the X axis: stars."""
    from matplotlib.figure import Figure

    from broadleaf.plot.figures import COLOURS

    figure = Figure(figsize=(7.0, 4.5), layout="constrained")
    axes = figure.subplots()
    at = [float(row[0] or 0.0) for row in sheet.rows]
    markers = "os^DvXP"
    for place, line in enumerate(sheet.columns[1:]):
        if line == "linear":
            continue
        seconds = [nan if row[place + 1] is None else float(row[place + 1] or 0.0) for row in sheet.rows]
        if all(isnan(value) for value in seconds):
            continue
        if line == "t":
            axes.plot(at, seconds, color="black", linewidth=0.8, label="limit t")
            continue
        colour, marker = COLOURS[place % len(COLOURS)], markers[place % len(markers)]
        axes.plot(at, seconds, label=line, color=colour, marker=marker)
        if printed and line == PRINTED_LINE:
            axes.plot([*printed], [*printed.values()], "*", **PRINTED, color=colour, label="table 2, printed")
    axes.set_xlabel("number of nodes" if sheet.columns[0] == "nodes" else sheet.columns[0])
    axes.set_ylabel("broadcast time, s")
    axes.set_title(f"Pipelined round-robin and its rivals ({said})", fontsize="medium")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize="small", ncols=2)
    return figure
