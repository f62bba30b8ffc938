"""The picture of a platform: nodes by cluster, with the rates and latencies of the links between clusters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Circle

from broadleaf._core import Platform
from broadleaf.network import drawing_of
from broadleaf.plot.figures import COLOURS, Picture, label
from broadleaf.plot.trees import NO_CLUSTER
from broadleaf.units import rate, seconds

# Pictures show rates at this size: the rate of a link with a gap table depends on the size of a transfer.
TRANSFER_BYTES = 1 << 20
# A cluster of more nodes than this is one disc with their number.
MOST_NODES = 64
# With more nodes than this names overlap, and with more ties than this their labels do.
MOST_LABELS = 120
MOST_TEXTS = 6
# Thin and thick lines, points: the lowest and the highest rate of the platform.
WIDTHS = (0.6, 4.0)

Place = tuple[float, float]


def draw_platform(platform: Platform) -> Picture:
    """A disc a cluster with its nodes on it, sites side by side; lines between clusters and between nodes are
    as wide as their rate, that of a transfer of 1 MiB, is high.
    """
    drawing = drawing_of(platform, TRANSFER_BYTES)
    members: list[list[int]] = [[] for _ in drawing["clusters"]]
    for node, cluster in enumerate(drawing["cluster_of"]):
        members[cluster].append(node)
    radii = [disc_radius(len(nodes)) for nodes in members]
    centres = discs(radii, drawing["sites"])
    figure = Picture(figsize=(8.0, 7.0), layout="constrained")
    axes = figure.subplots()
    axes.set_aspect("equal")
    axes.set_axis_off()
    width = widths(drawing)
    draw_ties(axes, drawing, centres, width)
    places: dict[int, Place] = {}
    for at, nodes in enumerate(members):
        colour = COLOURS[at % len(COLOURS)] if drawing["clusters"][at] else NO_CLUSTER
        axes.add_patch(Circle(centres[at], radii[at], facecolor="white", edgecolor=colour, lw=1.2, zorder=2))
        if len(nodes) > MOST_NODES:
            axes.annotate(str(len(nodes)), centres[at], ha="center", va="center", fontsize=9, zorder=4)
        else:
            places |= dict(zip(nodes, on_circle(centres[at], radii[at] * 0.72, len(nodes)), strict=True))
        draw_name(axes, drawing, at, len(nodes), centres[at], radii[at])
    for source, target, speed, *_ in drawing["links"]:
        if source in places and target in places:
            (x0, y0), (x1, y1) = places[source], places[target]
            axes.plot([x0, x1], [y0, y1], color="0.7", lw=width(speed), zorder=3)
    draw_nodes(axes, drawing, places)
    name = label(platform.name)
    figure.suptitle(f"{name}: {len(platform.hosts)} hosts, {platform.port_model}", fontsize=10)
    axes.autoscale_view()
    axes.margins(0.08)
    return figure


def disc_radius(nodes: int) -> float:
    return 0.6 + 0.35 * math.sqrt(min(nodes, MOST_NODES))


def discs(radii: Sequence[float], sites: Sequence[str | None]) -> list[Place]:
    """A centre for each disc, on a circle large enough for all, with the discs of a site side by side."""
    if len(radii) == 1:
        return [(0.0, 0.0)]
    order = sorted(range(len(radii)), key=lambda at: (sites[at] is None, sites[at] or "", at))
    needed = [2.0 * radii[at] + 1.6 for at in order]
    around = max(sum(needed) / math.tau, max(needed) / 1.6)
    centres: list[Place] = [(0.0, 0.0)] * len(radii)
    angle = 0.0
    for at, room in zip(order, needed, strict=True):
        turn = math.tau * room / sum(needed)
        centres[at] = (around * math.cos(angle + turn / 2), around * math.sin(angle + turn / 2))
        angle += turn
    return centres


def on_circle(centre: Place, radius: float, count: int) -> list[Place]:
    if count == 1:
        return [centre]
    x, y = centre
    turns = [math.tau * at / count for at in range(count)]
    return [(x + radius * math.sin(turn), y + radius * math.cos(turn)) for turn in turns]


def widths(drawing: dict[str, Any]) -> Any:
    """The width of a line by its rate; an unlimited rate has the widest."""
    rates = [speed for tie in drawing["ties"] for speed in tie[2:4]]
    rates += [link[2] for link in drawing["links"]]
    known = [speed for speed in rates if speed]
    low, high = (math.log(min(known)), math.log(max(known))) if known else (0.0, 0.0)

    def width(speed: float | None) -> float:
        if speed is None or high == low:
            return WIDTHS[1] if speed is None else sum(WIDTHS) / 2
        return WIDTHS[0] + (WIDTHS[1] - WIDTHS[0]) * (math.log(speed) - low) / (high - low)

    return width


def draw_ties(axes: Axes, drawing: dict[str, Any], centres: Sequence[Place], width: Any) -> None:
    """A line for each two clusters that are linked, with the rate there and back where they differ."""
    is_told = len(drawing["ties"]) <= MOST_TEXTS
    for one, other, there, back, latency_s, _, pipes in drawing["ties"]:
        (x0, y0), (x1, y1) = centres[one], centres[other]
        axes.plot([x0, x1], [y0, y1], color="0.75", lw=width(there or back), zorder=1)
        if is_told:
            speeds = " / ".join(dict.fromkeys(rate(speed) for speed in (there, back) if speed)) or "unlimited"
            through = f"\nthrough {', '.join(map(label, pipes))}" if pipes else ""
            axes.annotate(
                f"{speeds}, {seconds(latency_s)}{through}",
                ((x0 + x1) / 2, (y0 + y1) / 2),
                ha="center",
                va="center",
                fontsize=6,
                zorder=5,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1},
            )


def draw_name(axes: Axes, drawing: dict[str, Any], at: int, nodes: int, centre: Place, radius: float) -> None:
    """Below its disc a cluster's name, its site, and the rate of its mesh."""
    name, site, inside = drawing["clusters"][at], drawing["sites"][at], drawing["inside"][at]
    parts = [label(name)] if name else []
    parts += [f"({label(site)})"] if site and site != name else []
    parts += [f"{nodes} nodes" if nodes != 1 else "1 node"]
    parts += [f"at {rate(inside)} each"] if inside else []
    axes.annotate(
        " ".join(parts), (centre[0], centre[1] - radius - 0.1), ha="center", va="top", fontsize=7, zorder=5
    )


def draw_nodes(axes: Axes, drawing: dict[str, Any], places: dict[int, Place]) -> None:
    switches = set(drawing["switches"])
    for marker, chosen in (("o", places.keys() - switches), ("s", places.keys() & switches)):
        spots = [places[node] for node in sorted(chosen)]
        colours = [COLOURS[drawing["cluster_of"][node] % len(COLOURS)] for node in sorted(chosen)]
        if spots:
            axes.scatter(
                [x for x, _ in spots], [y for _, y in spots], c=colours, marker=marker, s=26, zorder=4
            )
    if len(places) <= MOST_LABELS:
        for node, place in places.items():
            axes.annotate(
                label(drawing["nodes"][node]),
                place,
                xytext=(4, 3),
                textcoords="offset points",
                fontsize=6,
                zorder=5,
            )
