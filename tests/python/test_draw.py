"""Figures: the form the name says, the same bytes each time, everything in them."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest

import broadleaf as bl
from broadleaf.plot.trees import ROW_DEPTH, folded, tree_places
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
