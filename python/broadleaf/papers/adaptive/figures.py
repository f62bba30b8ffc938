"""Paper 3's figures: broadcast times while loads come and go, and the progress of annealing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from broadleaf.plot.figures import COLOURS
from broadleaf.plot.marks import PRINTED

if TYPE_CHECKING:
    from broadleaf.papers.adaptive.loads import Load
    from broadleaf.papers.results import Sheet


def draw_broadcasts(
    lines: Mapping[str, Sequence[tuple[int, float]]],
    loads: Sequence[Load],
    calls: Sequence[tuple[float, int]],
) -> Figure:
    """Figure 8: completion time in seconds by broadcast, a line each; loaded stretches are grey."""
    figure = Figure(figsize=(10.0, 5.0), layout="constrained")
    axes = figure.subplots()
    for load in loads:
        under = [call for call, (at_s, _) in enumerate(calls) if load.begin_s <= at_s < load.end_s]
        if under:
            axes.axvspan(under[0] - 0.5, under[-1] + 0.5, color="0.9")
            axes.text(under[0], 1.01, f"{100 * load.taken:.0f} %", transform=axes.get_xaxis_transform())
    for at, (line, those) in enumerate(lines.items()):
        axes.plot(
            [call for call, _ in those], [seconds for _, seconds in those],
            label=line, color=COLOURS[at % len(COLOURS)], marker=".", linewidth=1,
        )  # fmt: skip
    axes.set_yscale("log")
    axes.set_xlabel("broadcast (grey: links at C3 loaded, with what the load takes of them)")
    axes.set_ylabel("completion time, s")
    axes.legend(fontsize="small")
    return figure


def draw_improvement(sheet: Sheet, lines: Sequence[str], printed: tuple[float, float, float]) -> Figure:
    """Per cent better than mpich-g2 under load, by the kind of loads: mean, and the least and the most of all
    broadcasts as bars. A star and its bar are the paper's mean and range: `printed` is mean, least, most."""
    figure = Figure(figsize=(10.0, 5.0), layout="constrained")
    axes = figure.subplots()
    kinds = list(dict.fromkeys(str(row[0]) for row in sheet.rows))
    for place, line in enumerate(lines):
        rows = {str(row[0]): row for row in sheet.rows if row[1] == line}
        for at, kind in enumerate(kinds):
            mean, least, most = (float(value or 0) for value in rows[kind][4:7])
            axes.errorbar(
                at + 0.2 * place, mean, [[mean - least], [most - mean]], fmt="o", capsize=3,
                color=COLOURS[place], label=line if at == 0 else None,
            )  # fmt: skip
    mean, least, most = printed
    axes.errorbar(-0.2, mean, [[mean - least], [most - mean]], fmt="none", ecolor="black", capsize=3)
    axes.plot([-0.2], [mean], "*", **PRINTED, color="white", label="paper 3, its loads")
    axes.axhline(0, color="0.5", linewidth=0.8)
    places = [at + 0.2 for at in range(len(kinds))]
    axes.set_xticks(places, kinds, fontsize="small", rotation=15, ha="right")
    axes.set_ylabel("better than mpich-g2 under load, %")
    axes.legend(fontsize="small")
    return figure


def draw_progress(progress: Sequence[tuple[int, float, float, bool]]) -> Figure:
    """Figure 3: the best estimate against time, through both phases."""
    figure = Figure(figsize=(7.0, 4.5), layout="constrained")
    axes = figure.subplots()
    for refining, name in ((False, "randomization"), (True, "refinement")):
        those = [(seconds, best_s) for _, seconds, best_s, is_refining in progress if is_refining == refining]
        axes.plot(
            [seconds for seconds, _ in those], [best_s for _, best_s in those],
            label=name, color=COLOURS[int(refining)], drawstyle="steps-post",
        )  # fmt: skip
    axes.set_xlabel("time spent searching, s")
    axes.set_ylabel("estimated broadcast time of the best tree, s")
    axes.legend(fontsize="small")
    return figure
