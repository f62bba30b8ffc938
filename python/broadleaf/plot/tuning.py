"""The map of the best algorithms: message size against number of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from broadleaf.plot.figures import COLOURS
from broadleaf.units import size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from broadleaf._core import Choice

# Most labels that fit along an axis.
MOST_TICKS = 14


def draw_map(title: str, choices: Sequence[Choice]) -> Figure:
    """A panel for each collective, coloured by the algorithm chosen."""
    collectives = list(dict.fromkeys(choice.collective for choice in choices))
    figure = Figure(figsize=(7.5 * len(collectives), 5.0), layout="constrained")
    panels = figure.subplots(1, len(collectives), squeeze=False)[0]
    for axes, collective in zip(panels, collectives, strict=True):
        draw_panel(axes, [choice for choice in choices if choice.collective == collective])
        axes.set_title(f"{title}: best {collective}", fontsize="medium")
    return figure


def draw_panel(axes: Axes, choices: Sequence[Choice]) -> None:
    algorithms = [forecast.algorithm for forecast in choices[0].forecasts]
    sizes = sorted({choice.message_bytes for choice in choices})
    nodes = sorted({choice.nodes for choice in choices})
    chosen = {(c.nodes, c.message_bytes): algorithms.index(c.chosen.algorithm) for c in choices}
    cells = [[chosen[count, bytes_] for bytes_ in sizes] for count in nodes]
    # There are more algorithms than colours, but a network's choices have always been fewer.
    colours = ListedColormap([COLOURS[at % len(COLOURS)] for at in range(len(algorithms))])
    norm = BoundaryNorm([at - 0.5 for at in range(len(algorithms) + 1)], len(algorithms))
    axes.pcolormesh(cells, cmap=colours, norm=norm, edgecolors="white", linewidth=0.5)
    ticks(axes, [size(bytes_) for bytes_ in sizes], [str(count) for count in nodes])
    axes.set_xlabel("message" if choices[0].collective == "bcast" else "block of each node")
    axes.set_ylabel("nodes")
    seen = sorted(set(chosen.values()))
    handles = [Patch(color=colours(at), label=algorithms[at]) for at in seen]
    axes.legend(handles=handles, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3)


def ticks(axes: Axes, sizes: list[str], nodes: list[str]) -> None:
    """Labels at the centres of the cells, at most MOST_LABELS."""
    for labels, set_ticks in ((sizes, axes.set_xticks), (nodes, axes.set_yticks)):
        step = -(-len(labels) // MOST_TICKS)
        set_ticks([at + 0.5 for at in range(0, len(labels), step)], labels[::step])
    axes.tick_params(axis="x", labelrotation=45, labelsize="small")
