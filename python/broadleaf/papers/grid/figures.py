"""Paper 2's figures: a value against the number of clusters or the message size, a line for each strategy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from broadleaf.plot.marks import PRINTED

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Where a logarithmic scale to both sides of 0 is linear.
LINEAR_UP_TO = 10.0


@dataclass(frozen=True)
class Line:
    """One strategy's values; `place` is its colour and marker, None for a black line without marks."""

    label: str
    at: Sequence[float]
    values: Sequence[float]
    place: int | None
    style: str = "-"
    # Half the confidence interval of each value, drawn as bars.
    within: Sequence[float] | None = None
    # The paper's values, drawn as stars of the line's colour.
    said: Sequence[tuple[float, float]] = ()


def draw(title: str, across: str, up: str, lines: Iterable[Line], *, logarithmic: str = "") -> Figure:
    """`logarithmic` names the axes with a logarithmic scale, such as "xy", or "±" for a y axis that is
    logarithmic to both sides of 0; a linear y axis begins at 0."""
    from matplotlib.figure import Figure

    from broadleaf.plot.figures import COLOURS

    figure = Figure(figsize=(7.0, 4.5), layout="constrained")
    axes = figure.subplots()
    for line in lines:
        marker, colour = (
            ("", "black")
            if line.place is None
            else ("os^DvXP"[line.place % 7], COLOURS[line.place % len(COLOURS)])
        )
        axes.plot(line.at, line.values, line.style, marker=marker, color=colour, label=line.label)
        if line.within is not None:
            axes.errorbar(line.at, line.values, yerr=line.within, fmt="none", capsize=2, ecolor=colour)
        if line.said:
            axes.plot(
                *zip(*line.said, strict=True), "*", **PRINTED, color=colour, label=f"{line.label}, text"
            )
    if "x" in logarithmic:
        axes.set_xscale("log", base=2)
    if "y" in logarithmic:
        axes.set_yscale("log")
    elif "±" in logarithmic:
        axes.set_yscale("symlog", linthresh=LINEAR_UP_TO)
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.set_title(title, fontsize="medium")
    axes.legend(fontsize="small", ncols=2)
    return figure
