"""The picture of a plan in simulated time: each node's sends and receives, coloured by tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from broadleaf._core import Platform, Trace
from broadleaf.bars import SEVERAL, Bars, bars_of
from broadleaf.plot.figures import COLOURS, Picture, label
from broadleaf.plot.trees import cluster_names, title
from broadleaf.units import seconds

# With more rows than fit a page, a row is a cluster, shaded by the share of its nodes that send.
MOST_ROWS = 100
MOST_BARS = 20_000
CELLS = 400
# Trees with a colour of their own in the legend.
MOST_TREES = len(COLOURS) - 1


def draw_timeline(trace: Trace) -> Picture:
    """Time to the right, a row a node: sends in its upper half, receives in its lower half, in the tree's
    colour; a mark where the node has the whole message, a dashed line at the bound.
    """
    platform, plan = trace.platform, trace.plan
    shares = [tree.share for tree in plan.trees]
    bars = bars_of(trace, MOST_BARS)
    hosts = set(platform.hosts)
    used = [at for at, name in enumerate(trace.nodes) if name in hosts]
    many = len(used) > MOST_ROWS
    names = groups_of(platform) if many else {trace.nodes[at]: [at] for at in used}
    figure = Picture(figsize=(10.0, min(1.8 + 0.2 * len(names), 24.0)), layout="constrained")
    trees = sorted(range(len(shares)), key=lambda at: -shares[at])
    figure.suptitle(title(plan, len(trees), len(trees)), fontsize=9)
    axes = figure.subplots()
    if many:
        draw_load(axes, bars, trace, list(names.values()))
    else:
        draw_bars(axes, bars, trace, used, trees)
        mark_trees(figure, shares, trees)
    axes.set_yticks(range(len(names)), [label(name) for name in names], fontsize=6)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, trace.makespan_s or 1)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds(value)))
    if plan.bound_s:
        axes.axvline(plan.bound_s, color="#b3261e", lw=1, ls="--", zorder=3)
    about = "each row a cluster: the darker, the more of its nodes send" if many else "upper half: sends"
    axes.set_xlabel(f"time ({about}; dashed: the bound)", fontsize=8)
    axes.tick_params(axis="x", labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def groups_of(platform: Platform) -> dict[str, list[int]]:
    """The nodes of each cluster by place, or all together where there are none."""
    groups: dict[str, list[int]] = {name: [] for name in cluster_names(platform)}
    for at, node in enumerate(platform.to_dict()["nodes"]):
        groups.setdefault(node.get("cluster", "others" if groups else "all nodes"), []).append(at)
    return {f"{name} ({len(members)})": members for name, members in groups.items()}


def colours_of(trees: Sequence[int]) -> dict[int, str]:
    """A colour for each of the largest trees, grey for the others."""
    return {tree: COLOURS[at] if at < MOST_TREES else COLOURS[-1] for at, tree in enumerate(trees)}


def draw_bars(axes: Axes, bars: Bars, trace: Trace, used: list[int], trees: Sequence[int]) -> None:
    columns, colours = bars.columns, colours_of(trees)
    row = {node: at for at, node in enumerate(used)}
    for node, begin, end, top, alpha in (
        ("source", "begin", "release", -0.4, 1.0),
        ("target", "into", "arrive", 0.0, 0.5),
    ):
        spans: dict[tuple[int, str], list[tuple[float, float]]] = {}
        for at, tree, left, right in zip(
            *(columns[name].tolist() for name in (node, "tree", begin, end)), strict=True
        ):
            if at in row:
                spans.setdefault((row[at], colours.get(tree, COLOURS[-1])), []).append((left, right - left))
        for (place, colour), each in spans.items():
            axes.broken_barh(each, (place + top, 0.4), facecolors=colour, alpha=alpha, lw=0)
    for host, place in row.items():
        if trace.finish_s[host] > 0:
            axes.plot([trace.finish_s[host]] * 2, [place - 0.4, place + 0.4], color="0.1", lw=1.2)


def draw_load(axes: Axes, bars: Bars, trace: Trace, members: list[list[int]]) -> None:
    """A band a group: the share of its nodes that send, in each of CELLS parts of the makespan."""
    step = (trace.makespan_s or 1.0) / CELLS
    group = np.full(len(trace.nodes), -1)
    for at, nodes in enumerate(members):
        group[nodes] = at
    load = np.zeros((len(members), CELLS))
    columns: dict[str, Any] = bars.columns
    for source, begin, release, held in zip(
        *(columns[name].tolist() for name in ("source", "begin", "release", "held")), strict=True
    ):
        if source == SEVERAL or group[source] < 0:
            continue
        # A merged run of transfers holds the port for a part of its span.
        busy = held / (release - begin) if release > begin else 0.0
        low, high = int(begin / step), min(CELLS - 1, int(release / step))
        for cell in range(low, high + 1):
            inside = min(release, (cell + 1) * step) - max(begin, cell * step)
            load[group[source], cell] += busy * max(0.0, inside) / step
    share = load / np.array([[len(nodes)] for nodes in members])
    axes.imshow(
        share,
        aspect="auto",
        cmap="Blues",
        vmin=0,
        vmax=max(1e-9, float(share.max())),
        extent=(0, trace.makespan_s or 1, len(members) - 0.5, -0.5),
        interpolation="nearest",
    )


def mark_trees(figure: Figure, shares: Sequence[float], trees: Sequence[int]) -> None:
    """A legend, if the plan has several trees."""
    if len(trees) < 2:
        return
    colours = colours_of(trees)
    marks = [
        Line2D([], [], lw=5, color=colours[tree], label=f"share {shares[tree]:.3g}")
        for tree in trees[:MOST_TREES]
    ]
    if len(trees) > MOST_TREES:
        marks.append(Line2D([], [], lw=5, color=COLOURS[-1], label=f"{len(trees) - MOST_TREES} more"))
    figure.legend(handles=marks, loc="outside lower center", ncols=8, fontsize=7, frameon=False)
