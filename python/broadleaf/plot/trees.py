"""The picture of a plan: its trees side by side, each with its share, nodes coloured by cluster."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from broadleaf._core import Plan, Platform, check
from broadleaf.collectives import goes_outward, moved
from broadleaf.plot.figures import COLOURS, Picture, label
from broadleaf.trees import Tree, refuse_no_tree
from broadleaf.units import seconds, size

# The most trees drawn; the title then gives the number of all.
MOST_TREES = 6
# Levels per row of the page; a deeper tree continues in the next row.
ROW_DEPTH = 16
# Trees stand side by side up to this width, inches.
PAGE_WIDTH = 18.0
# Beyond this many nodes labels overlap.
MOST_LABELS = 120
# Of a node outside all clusters.
NO_CLUSTER = "0.4"

Place = tuple[float, float]


def draw_trees(platform: Platform | None, plan: Plan, columns: int | None = None) -> Picture:
    """A figure of the plan's trees, the largest shares first; each grows along the page from the root.

    Where not all data go outward, arrowheads mark the direction. `columns` trees stand side by side, or as
    many as a page is wide enough for. With the platform its clusters have colours. Raises InvalidPlan, or
    PlanError without the platform: what is no tree has no places.
    """
    # Of an allreduce, each share's way in and its way out.
    both = (
        plan.trees
        if not plan.inward
        else [tree for ways in zip(plan.inward, plan.trees, strict=True) for tree in ways]
    )
    trees = sorted(both, key=lambda tree: -tree.share)
    if platform is not None:
        check(platform, plan)
    shown = trees[:MOST_TREES]
    for tree in shown:
        refuse_no_tree(tree)
    places = [folded(tree_places(tree.children, tree.root)) for tree in shown]
    deepest = max(x for layout in places for x, _ in layout.values())
    tallest = max(y for layout in places for _, y in layout.values())
    width = min(max(6.0, 1.0 + 0.9 * deepest), 40.0)
    height = min(max(2.5, 1.6 + 0.17 * tallest), 40.0)
    columns = min(len(shown), columns or max(1, int(PAGE_WIDTH // width)))
    rows = -(-len(shown) // columns)
    figure = Picture(figsize=(width * columns, min(height * rows, 60.0)), layout="constrained")
    figure.suptitle(title(plan, len(trees), len(shown)), fontsize=9)
    colours = node_colours(platform) if platform is not None else {}
    grid = figure.subplots(rows, columns, squeeze=False).flatten()
    for axes, tree, layout in zip(grid, shown, places, strict=False):
        draw_tree(axes, tree, layout, colours, is_directed=not goes_outward(plan))
    for axes in grid[len(shown) :]:
        axes.set_axis_off()
    if platform is not None and cluster_names(platform):
        add_legend(figure, platform)
    return figure


def title(plan: Plan, trees: int, shown: int) -> str:
    parts = [
        f"{label(plan.planner)} on {label(plan.platform)}",
        f"{moved(plan, label(plan.root))} in {size(plan.segment_bytes)} segments",
    ]
    if plan.makespan_s is not None:
        bound = f" (bound {seconds(plan.bound_s)})" if plan.bound_s is not None else ""
        parts.append(f"{seconds(plan.makespan_s)}{bound}")
    if shown < trees:
        parts.append(f"{shown} of {trees} trees")
    return "\n".join(parts)


def tree_places(children: Mapping[str, list[str]], root: str) -> dict[str, Place]:
    """Depth to the right, leaves one under the other, a parent beside the middle of its children.

    Iterative: a chain over a large platform is deeper than Python's recursion allows.
    """
    places: dict[str, Place] = {}
    leaves = 0
    stack: list[tuple[str, int, bool]] = [(root, 0, False)]
    while stack:
        node, depth, served = stack.pop()
        below = children.get(node, [])
        if not below:
            places[node] = (depth, leaves)
            leaves += 1
        elif served:
            rows = [places[child][1] for child in below]
            places[node] = (depth, (rows[0] + rows[-1]) / 2)
        else:
            stack.append((node, depth, True))
            stack.extend((child, depth + 1, False) for child in reversed(below))
    return places


def folded(places: Mapping[str, Place]) -> dict[str, Place]:
    """The places, with levels deeper than a row continued in the next row, as text is."""
    rows = 1 + max(y for _, y in places.values())
    return {
        node: (depth % ROW_DEPTH, y + depth // ROW_DEPTH * (rows + 1)) for node, (depth, y) in places.items()
    }


def way_of(tree: Tree) -> str:
    heads = label(tree.root) + (f" and {len(tree.exchange)} more" if tree.exchange else "")
    if not tree.is_inward:
        return f"out from {heads}"
    return f"in to {heads}, which exchange" if tree.exchange else f"in to {heads}"


def draw_tree(
    axes: Axes, tree: Tree, places: Mapping[str, Place], colours: Mapping[str, str], *, is_directed: bool
) -> None:
    """Draws a tree; if it `is_directed`, its title names the direction, and its edges have arrowheads: two
    between heads on the way in, none on the way out.
    """
    hops = set(tree.hops)
    marks: dict[str, list[Place]] = {"<": [], ">": []}
    for parent, below in tree.children.items():
        for child in below:
            (x0, y0), (x1, y1) = places[parent], places[child]
            style = ":" if child in tree.via else "-"
            if x1 < x0:  # folded: out at the right, in again at the left
                paths = [([x0, x0 + 0.5], [y0, y0]), ([x1 - 0.5, x1], [y1, y1])]
            else:
                middle = (x0 + x1) / 2
                paths = [([x0, middle, middle, x1], [y0, y0, y1, y1])]
            for xs, ys in paths:
                axes.plot(xs, ys, style, color="0.6", lw=0.8, zorder=1)
            # On the part that is the child's alone.
            for marker, hop, x in (("<", (child, parent), x1 - 0.25), (">", (parent, child), x1 - 0.15)):
                if hop in hops:
                    marks[marker].append((x, y1))
    for marker, spots in marks.items():
        if is_directed and spots:
            xs, ys = [x for x, _ in spots], [y for _, y in spots]
            axes.scatter(xs, ys, marker=marker, c="0.4", s=14, lw=0, zorder=2)
    nodes = list(places)
    axes.scatter(
        [places[node][0] for node in nodes],
        [places[node][1] for node in nodes],
        c=[colours.get(node, NO_CLUSTER) for node in nodes],
        s=22,
        zorder=2,
    )
    if len(nodes) <= MOST_LABELS:
        for node, (x, y) in places.items():
            axes.annotate(label(node), (x, y), xytext=(4, 1), textcoords="offset points", fontsize=6)
    axes.set_title(
        f"share {tree.share:.3g}, {way_of(tree)}" if is_directed else f"share {tree.share:.3g}",
        fontsize=8,
    )
    axes.invert_yaxis()
    axes.margins(0.06, 0.03)
    axes.set_axis_off()


def cluster_names(platform: Platform) -> list[str]:
    """The clusters in order of first appearance."""
    names = (node.get("cluster") for node in platform.to_dict()["nodes"])
    return list(dict.fromkeys(name for name in names if name is not None))


def node_colours(platform: Platform) -> dict[str, str]:
    """A colour for each node, the same within a cluster, grey outside any; the palette repeats."""
    colours = {name: COLOURS[at % len(COLOURS)] for at, name in enumerate(cluster_names(platform))}
    return {node["id"]: colours.get(node.get("cluster"), NO_CLUSTER) for node in platform.to_dict()["nodes"]}


def add_legend(figure: Figure, platform: Platform) -> None:
    marks = [
        Line2D([], [], marker="o", ls="", color=COLOURS[at % len(COLOURS)], label=label(name))
        for at, name in enumerate(cluster_names(platform))
    ]
    columns = min(len(marks), 8)
    figure.legend(handles=marks, loc="outside lower center", ncols=columns, fontsize=7, frameon=False)
