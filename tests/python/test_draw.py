"""Figures: the form of the name's ending, the same bytes each time, everything in them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb

import broadleaf as bl
from broadleaf.plot.figures import COLOURS
from broadleaf.plot.timeline import draw_timeline
from broadleaf.plot.trees import ROW_DEPTH, draw_trees, folded, tree_places
from documents import write
from outcome import Command, refused

STARTS = {"tree.png": b"\x89PNG", "tree.svg": b"<?xml", "tree.pdf": b"%PDF"}


@pytest.mark.parametrize("name", STARTS)
def test_forms(name: str, command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]) -> None:
    write("net.json", chain)
    write("plan.json", chain_plan)
    outcome = command("draw", "net.json", "plan.json", "-o", name, "--json")
    assert outcome.document["written"] == name
    first = Path(name).read_bytes()
    assert first.startswith(STARTS[name])
    assert command("draw", "net.json", "plan.json", "-o", name).code == 0
    assert Path(name).read_bytes() == first


def test_svg_names_every_node(command: Command, two_sites: dict[str, Any]) -> None:
    write("net.json", two_sites)
    bl.plan(bl.Platform.load("net.json"), "a0", 1 << 20).save("plan.json")
    assert command("draw", "net.json", "plan.json", "-o", "tree.svg").code == 0
    words = set(re.findall(r"<text[^>]*>([^<]+)</text>", Path("tree.svg").read_text()))
    assert {"a0", "a1", "b0", "A", "B"} <= words


@pytest.mark.parametrize(("columns", "shape"), [(None, (3, 2)), (1, (1, 6)), (4, (4, 2))])
def test_trees_side_by_side(columns: int | None, shape: tuple[int, int]) -> None:
    # Eight trees, of which six are drawn, each 6 inches wide: three on a page.
    platform = bl.generate.random(8, 1.0, seed=1)
    plan = bl.plan(platform, "n0", 1 << 20, planner="van-de-geijn")
    figure = draw_trees(platform, plan, columns)
    boxes = [axes.get_subplotspec() for axes in figure.axes]
    assert {(box.get_gridspec().ncols, box.get_gridspec().nrows) for box in boxes if box} == {shape}
    assert sum(bool(axes.get_title()) for axes in figure.axes) == 6


def test_timeline_by_hand(chain: dict[str, Any], chain_plan: dict[str, Any]) -> None:
    # a sends segment i in [i, i+1] ms, b forwards it in [2+i, 3+i] ms; receives end a latency later.
    figure = draw_timeline(bl.simulate(bl.Platform.from_dict(chain), bl.Plan.from_dict(chain_plan)))
    (axes,) = figure.axes
    drawn: dict[float, list[tuple[float, float]]] = {}
    for collection in axes.collections:
        for path in collection.get_paths():
            box = path.get_extents()
            drawn.setdefault(round(box.y0, 1), []).append((round(box.x0, 9), round(box.x1, 9)))
    assert {row: sorted(spans) for row, spans in drawn.items()} == {
        -0.4: [(0.0, 1e-3), (1e-3, 2e-3), (2e-3, 3e-3)],
        0.6: [(2e-3, 3e-3), (3e-3, 4e-3), (4e-3, 5e-3)],
        1.0: [(1e-3, 2e-3), (2e-3, 3e-3), (3e-3, 4e-3)],
        2.0: [(3e-3, 4e-3), (4e-3, 5e-3), (5e-3, 6e-3)],
    }
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b", "c"]


@pytest.mark.parametrize("name", STARTS)
def test_timeline_forms(
    name: str, command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]
) -> None:
    write("net.json", chain)
    write("plan.json", chain_plan)
    assert command("draw", "net.json", "plan.json", "--timeline", "-o", name).code == 0
    assert Path(name).read_bytes().startswith(STARTS[name])


def test_timeline_of_many_nodes_has_a_row_a_cluster(command: Command) -> None:
    nodes = [{"id": f"n{at}", "cluster": f"C{at // 60}"} for at in range(120)]
    link = {"latency_s": 1e-3, "bandwidth_bytes_per_s": 1e6}
    mesh = {"nodes": [node["id"] for node in nodes], "link": link}
    document = {
        "format": "broadleaf-platform/1",
        "name": "two-clusters",
        "port_model": "one-port",
        "nodes": nodes,
        "meshes": [mesh],
    }
    platform = bl.Platform.from_dict(document)
    plan = bl.plan(platform, "n0", 1 << 20, "chain", segment_bytes=1 << 14)
    figure = draw_timeline(bl.simulate(platform, plan))
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["C0 (60)", "C1 (60)"]
    (picture,) = axes.images
    share = np.asarray(picture.get_array())
    # The chain reaches the second cluster later, and both are at work at some time.
    first = [int(np.flatnonzero(row > 0)[0]) for row in share]
    assert first[0] == 0 < first[1]
    assert 0 < share.max() <= 1 + 1e-9


def test_a_deep_tree_needs_no_recursion() -> None:
    ids = [f"n{at}" for at in range(5000)]
    chain = {parent: [child] for parent, child in itertools.pairwise(ids)}
    places = tree_places(chain, "n0")
    assert places["n4999"] == (4999, 0)


def test_places_by_hand() -> None:
    places = tree_places({"r": ["a", "b"], "b": ["c", "d"]}, "r")
    assert places == {"a": (1, 0), "c": (2, 1), "d": (2, 2), "b": (1, 1.5), "r": (0, 0.75)}


def test_what_is_too_deep_goes_on_below() -> None:
    places = folded({f"n{depth}": (depth, 0) for depth in range(2 * ROW_DEPTH)})
    assert places["n0"] == (0, 0)
    assert places[f"n{ROW_DEPTH - 1}"] == (ROW_DEPTH - 1, 0)
    assert places[f"n{ROW_DEPTH}"] == (0, 2)


@pytest.mark.parametrize("name", ["tree.gif", "tree", "absent/tree.png"])
def test_refusals(name: str, command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]) -> None:
    write("net.json", chain)
    write("plan.json", chain_plan)
    refused(command("draw", "net.json", "plan.json", "-o", name), name)


@pytest.mark.parametrize("options", [[], ["--timeline"]], ids=["trees", "timeline"])
@pytest.mark.parametrize(
    ("children", "told"),
    [
        ({"a": ["b"], "b": ["c"], "c": ["b"]}, '"b" gets every byte twice'),
        ({"a": ["b"], "b": ["a", "c"]}, "the root is a child of"),
        ({"a": ["b"]}, '"c" never gets the message'),
        ({"a": ["z"], "z": ["b", "c"]}, 'unknown node "z"'),
    ],
)
def test_what_is_no_tree_here_is_refused(
    children: dict[str, list[str]],
    told: str,
    options: list[str],
    command: Command,
    chain: dict[str, Any],
    chain_plan: dict[str, Any],
) -> None:
    write("net.json", chain)
    write("plan.json", {**chain_plan, "trees": [{"share": 1.0, "children": children}]})
    refused(
        command("draw", "net.json", "plan.json", *options, "-o", "tree.svg"), "plan.json: the plan has", told
    )


@pytest.mark.parametrize("options", [[], ["--timeline"]], ids=["trees", "timeline"])
def test_any_name_can_be_drawn(options: list[str], command: Command) -> None:
    """Formulas to matplotlib, characters without a glyph or a shape, and names longer than the figure."""
    names = [r"$\frac$", "京都", "a\tb", "x" * 300, "<b>", "plain"]
    document = {
        "format": "broadleaf-platform/1",
        "name": "$^$",
        "port_model": "one-port",
        "nodes": [{"id": name, "cluster": "$_$"} for name in names],
        "meshes": [{"nodes": names, "link": {"bandwidth_bytes_per_s": 1e8}}],
    }
    write("net.json", document)
    asked = ["--root", names[0], "--size", "64KiB", "--planner", "binomial", "-o", "plan.json"]
    assert command("plan", "net.json", *asked).code == 0
    outcome = command("draw", "net.json", "plan.json", *options, "-o", "names.svg")
    assert (outcome.code, outcome.err) == (0, "")
    shown = re.findall(r"<text[^>]*>([^<]*)<", Path("names.svg").read_text())
    assert {r"$\frac$", "京都", "a\ufffdb", "xxxxxxxxxxx…xxxxxxxxxxx", "&lt;b&gt;", "plain"} <= set(shown)


def luminance(rgb: Sequence[float]) -> float:
    """The relative luminance of an sRGB colour, as WCAG 2.1 defines it."""
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in np.clip(rgb, 0.0, 1.0)]
    return float(np.dot((0.2126, 0.7152, 0.0722), linear))


@pytest.mark.parametrize("colour", COLOURS)
def test_no_colour_vanishes_on_light_or_dark_pages(colour: str) -> None:
    """On a dark page the site's style inverts figures: filter: invert(0.88) hue-rotate(180deg)."""
    weights = np.array((0.213, 0.715, 0.072))
    # The matrix of a rotation of hues by 180 degrees, of the Filter Effects module.
    turned = 2.0 * np.tile(weights, (3, 1)) - np.eye(3)

    def dark(rgb: Sequence[float]) -> Any:
        return turned @ (0.88 - 0.76 * np.array(rgb))

    white = (1.0, 1.0, 1.0)
    for one, other in ((to_rgb(colour), white), (dark(to_rgb(colour)), dark(white))):
        darker, lighter = sorted((luminance(one), luminance(other)))
        assert (lighter + 0.05) / (darker + 0.05) >= 2.0
