"""Paper 1's figures: throughput against the optimum, by nodes or density, a line for each planner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broadleaf.plot.marks import PRINTED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from broadleaf.papers.results import Sheet

# The share of a figure's width that a star covers.
STAR_SHARE = 0.03


def draw_lines(
    sheet: Sheet,
    against: str,
    port_model: str,
    lines: Sequence[str],
    solid: Sequence[str],
    spread: Mapping[tuple[float, str], float],
    said: Mapping[tuple[float, str], float],
) -> Figure:
    """The sheet's columns of `lines`, dashed but for those named `solid`.

    `spread` is the deviation between the platforms of a point, drawn as a bar, and `said` the paper's
    printed value, drawn as a star of the line's colour; both per cent, by place on the X axis and line."""
    from matplotlib.figure import Figure

    from broadleaf.plot.figures import COLOURS

    # One marker fewer than colours, so that no two lines share both.
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
        bars = [spread[x, line] / 100 for x in at]
        axes.errorbar(at, ratios, yerr=bars, fmt="none", ecolor=colour, elinewidth=0.6, capsize=2, alpha=0.6)
        # Stars of lines with the same value are placed side by side, or the last would hide the others.
        hidden = [sum(said.get((x, other)) == said.get((x, line)) for other in lines[:place]) for x in at]
        shift = STAR_SHARE * (at[-1] - at[0])
        stars = [
            (x - shift * before, said[x, line] / 100)
            for x, before in zip(at, hidden, strict=True)
            if (x, line) in said
        ]
        if stars:
            axes.plot([x for x, _ in stars], [y for _, y in stars], "*", **PRINTED, color=colour)
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set_xlabel("density of the platform" if against == "density" else "number of nodes")
    axes.set_ylabel("simulated throughput / one-port optimum")
    axes.set_title(f"Pipelined trees against the optimum ({port_model})", fontsize="medium")
    axes.set_ylim(bottom=0)
    if said:
        axes.plot([], [], "*", **PRINTED, color="white", label="the paper's text")
    figure.legend(fontsize="small", ncols=4, loc="outside lower center")
    return figure


def draw_table(
    title: str,
    lines: Sequence[str],
    ours: Mapping[tuple[int, str], tuple[float, float]],
    printed: Mapping[int, Mapping[str, tuple[float, float]]],
) -> Figure:
    """Mean and deviation of each line, per cent, beside the printed: a panel for each number of nodes."""
    from matplotlib.figure import Figure

    from broadleaf.plot.figures import COLOURS

    figure = Figure(figsize=(9.0, 4.5), layout="constrained")
    for axes, (nodes, of_nodes) in zip(
        figure.subplots(1, len(printed), sharey=True), printed.items(), strict=True
    ):
        places = range(len(lines))
        means = [ours[nodes, line] for line in lines]
        axes.errorbar(
            [at - 0.1 for at in places],
            [mean for mean, _ in means],
            yerr=[deviation for _, deviation in means],
            fmt="o", color=COLOURS[0], capsize=3, label="simulated",
        )  # fmt: skip
        marks = [(at + 0.1, *of_nodes[line]) for at, line in enumerate(lines) if line in of_nodes]
        axes.errorbar(
            [at for at, _, _ in marks],
            [mean for _, mean, _ in marks],
            yerr=[deviation for *_, deviation in marks],
            fmt="*", markersize=10, color=COLOURS[5], capsize=3, label="printed",
        )  # fmt: skip
        axes.set_xticks(list(places), lines, rotation=45, ha="right", fontsize="small")
        axes.set_title(f"{title}, {nodes} nodes", fontsize="medium")
        axes.set_ylim(bottom=0)
        axes.set_ylabel("per cent of the optimum, with deviation")
        axes.legend(fontsize="small")
    return figure
