"""Paper 4's figures: lines are predictions, marks the least of repeated measurements, bars reach to
the most, dotted lines are the models as printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from broadleaf.units import size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Sample(Protocol):
    """The fields of a measured technique that figures use."""

    @property
    def collective(self) -> str: ...
    @property
    def nodes(self) -> int: ...
    @property
    def message_bytes(self) -> int: ...
    @property
    def algorithm(self) -> str: ...
    @property
    def printed_s(self) -> float: ...
    @property
    def corrected_s(self) -> float: ...
    @property
    def measured_s(self) -> float: ...
    @property
    def most_s(self) -> float: ...


# Sizes that figures 1 and 3 show against the number of nodes, where they were measured.
MOST_SIZES = 5


def figures(bed: str, samples: Sequence[Sample]) -> dict[str, Figure]:
    """Figures 1 to 4 of one bed's measurements."""
    return {
        "figure-1": over_nodes(bed, samples, "bcast", ("binomial", "segmented-chain")),
        "figure-2": over_sizes(bed, samples, "bcast", ("binomial", "segmented-chain")),
        "figure-3": over_nodes(bed, samples, "scatter", ("flat", "binomial")),
        "figure-4": over_sizes(bed, samples, "scatter", ("flat", "binomial")),
    }


def over_nodes(bed: str, samples: Sequence[Sample], collective: str, names: tuple[str, ...]) -> Figure:
    """Completion time against the number of nodes, a panel for each technique, a line for each size."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 4.8), layout="constrained")
    own = [s for s in samples if s.collective == collective]
    sizes = sorted({s.message_bytes for s in own})
    shown = sizes[:: max(1, -(-len(sizes) // MOST_SIZES))]
    for axes, name in zip(figure.subplots(1, len(names), sharey=True), names, strict=True):
        for at, bytes_ in enumerate(shown):
            line = [s for s in own if s.algorithm == name and s.message_bytes == bytes_]
            draw(axes, line, lambda s: s.nodes, at, size(bytes_))
        finish(axes, f"{collective}, {name} ({bed})", "number of nodes")
    return figure


def over_sizes(bed: str, samples: Sequence[Sample], collective: str, names: tuple[str, ...]) -> Figure:
    """Completion time against the size on the most nodes, both techniques in one panel."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.8), layout="constrained")
    axes = figure.subplots()
    most = max(s.nodes for s in samples)
    for at, name in enumerate(names):
        line = [s for s in samples if (s.collective, s.algorithm, s.nodes) == (collective, name, most)]
        draw(axes, line, lambda s: s.message_bytes, at, name)
    finish(axes, f"{collective} on {most} nodes ({bed})", "bytes")
    axes.set_xscale("log", base=2)
    return figure


def draw(axes: Axes, line: Sequence[Sample], key: Callable[[Sample], int], place: int, label: str) -> None:
    from broadleaf.plot.figures import COLOURS

    line = sorted(line, key=key)
    at, colour = [key(s) for s in line], COLOURS[place % len(COLOURS)]
    axes.plot(at, [s.corrected_s for s in line], "-", color=colour)
    axes.plot(at, [s.printed_s for s in line], ":", color=colour)
    least = [s.measured_s for s in line]
    bars = [[0.0] * len(line), [max(s.most_s - s.measured_s, 0.0) for s in line]]
    axes.errorbar(
        at, least, bars, fmt="os^Dv"[place % 5], color=colour, label=label, elinewidth=0.8, capsize=2
    )


def finish(axes: Axes, title: str, against: str) -> None:
    axes.set_title(title, fontsize="medium")
    axes.set_xlabel(against)
    said = "seconds (marks: least measured, bars: to the most;\nlines: predicted, dotted: as printed)"
    axes.set_ylabel(said, fontsize="small")
    axes.set_yscale("log")
    axes.legend(fontsize="small")
