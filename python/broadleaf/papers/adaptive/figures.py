"""Paper 3's figures: broadcast times while loads come and go, and the progress of annealing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from broadleaf.plot.figures import COLOURS

if TYPE_CHECKING:
    from broadleaf.papers.adaptive.loads import Load


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
