"""Plans racing on one clock: bars fill at the simulated times, and plans that cannot race are refused."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import broadleaf as bl
from broadleaf.plot.racing import PAUSE_S, RUN_S, filling, round_step
from documents import one_mesh, write
from outcome import Command, refused


def frames(svg: str, name: str) -> dict[float, float]:
    """The keyframes of a bar: how full it is, by the share of the animation, percent."""
    (body,) = re.findall(rf"@keyframes {name} {{((?:[^{{}}]*{{[^}}]*}})*)}}", svg)
    found = re.findall(r"([0-9.]+)%{transform:scaleY\(([0-9.]+)\)}", body)
    return {float(place): float(part) for place, part in found}


def test_filling_by_hand(chain: dict[str, Any], chain_plan: dict[str, Any]) -> None:
    # a's segment i is at b at (2 + i) ms and at c at (4 + i) ms, of three.
    trace = bl.simulate(bl.Platform.from_dict(chain), bl.Plan.from_dict(chain_plan))
    held = filling(trace, ["a", "b", "c"], 6e-3, 6)
    assert [[round(3 * part) for part in each] for each in held] == [
        [3, 3, 3, 3, 3, 3, 3],
        [0, 0, 1, 2, 3, 3, 3],
        [0, 0, 0, 0, 1, 2, 3],
    ]


def test_filling_inward_by_hand(chain: dict[str, Any], chain_plan: dict[str, Any]) -> None:
    # A reduce over the same chain: c's sends count for c, which receives nothing.
    reduce = bl.Plan.from_dict({**chain_plan, "collective": "reduce"})
    trace = bl.simulate(bl.Platform.from_dict(chain), reduce)
    arrivals = sorted(trace.transfers["arrival_s"].tolist())
    held = filling(trace, ["a", "b", "c"], arrivals[-1], 2)
    assert [each[0] for each in held] == [0, 0, 0]
    assert [each[-1] for each in held] == [1, 1, 1]
    # b takes part in all six transfers, of which some are still to come halfway.
    assert 0 < held[1][1] < 1
    race = bl.race(bl.Platform.from_dict(chain), [reduce])
    assert "reduce of 3 kB on chain-of-three" in race.svg


def test_both_are_on_the_slower_ones_clock(chain: dict[str, Any], chain_plan: dict[str, Any]) -> None:
    platform = bl.Platform.from_dict(chain)
    whole = bl.Plan.from_dict({**chain_plan, "segment_bytes": 3000})
    race = bl.race(platform, {"whole": whole, "cut": bl.Plan.from_dict(chain_plan)})
    # 3 ms and 1 ms of latency twice, and 6 ms.
    assert race.makespans_s == pytest.approx({"whole": 8e-3, "cut": 6e-3})
    assert repr(race) == "<Race: whole 8 ms, cut 6 ms>"
    # Without motion: the moment at which the faster one is done.
    assert f"animation-play-state: paused; animation-delay: -{RUN_S * 6 / 8:.2f}s" in race.svg
    assert ">shown 1000 times slower</text>" in race.svg
    root = ET.fromstring(race.svg)
    written = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"bcast of 3 kB on chain-of-three", "whole: 8 ms", "cut: 6 ms", "a", "b", "c"} <= set(written)
    running = 100 * RUN_S / (RUN_S + PAUSE_S)
    slow, fast = frames(race.svg, "r0h2"), frames(race.svg, "r1h2")
    assert min(place for place, part in slow.items() if part == 1) == pytest.approx(running, abs=0.01)
    assert min(place for place, part in fast.items() if part == 1) == pytest.approx(running * 6 / 8, abs=0.01)
    assert race._repr_html_().startswith('<img style="max-width: 100%" alt="&lt;Race: whole 8 ms')


def test_command_and_function_write_the_same(
    command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]
) -> None:
    write("net.json", chain)
    write("one.json", chain_plan)
    write("other.json", {**chain_plan, "segment_bytes": 500})
    outcome = command("draw", "net.json", "one.json", "other.json", "--race", "-o", "race.svg", "--json")
    assert outcome.document["plans"] == ["one.json", "other.json"]
    race = bl.race("net.json", ["one.json", bl.Plan.load("other.json")])
    assert list(race.makespans_s) == ["one", "by-hand"]
    bl.race("net.json", ["one.json", "other.json"], "again.svg")
    assert Path("race.svg").read_bytes() == Path("again.svg").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["one.json", "other.json", "-o", "race.svg"], "2 plans; a figure has one"),
        (["one.json", "--race", "--timeline", "-o", "race.svg"], "two figures"),
        (["one.json", "--race", "-o", "race.png"], "a race is an SVG"),
        (["one.json", "one.json", "--race", "-o", "race.svg"], "two plans are called 'one'"),
        (["one.json", "large.json", "--race", "-o", "race.svg"], "3 kB and bcast of 4 kB cannot race"),
        (["one.json", "wrong.json", "--race", "-o", "race.svg"], "wrong.json: the plan has"),
        (["one.json", "--race", "-o", "absent/race.svg"], "absent/race.svg"),
    ],
)
def test_refusals(
    arguments: list[str], told: str, command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]
) -> None:
    write("net.json", chain)
    write("one.json", chain_plan)
    write("other.json", {**chain_plan, "segment_bytes": 500})
    write("large.json", {**chain_plan, "message_bytes": 4000})
    write("wrong.json", {**chain_plan, "trees": [{"share": 1.0, "children": {"a": ["b"]}}]})
    refused(command("draw", "net.json", *arguments), told)
    assert not Path("race.svg").exists()


def test_nothing_cannot_race(chain: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no plan cannot race"):
        bl.race(bl.Platform.from_dict(chain), [])


@pytest.mark.parametrize("nodes", [1, 300])
def test_any_number_of_hosts(nodes: int) -> None:
    names = [f"<n{at}>" for at in range(nodes)]
    platform = bl.Platform.from_dict(one_mesh("<mesh>", "one-port", names, 1e8))
    plan = bl.plan(platform, names[0], 1000, planner="binomial")
    race = bl.race(platform, [plan])
    root = ET.fromstring(race.svg)
    bars = [each for each in root.iter() if "moves" in each.get("class", "") and each.tag.endswith("rect")]
    assert len(bars) == nodes
    assert len(race.svg) < 1 << 20


def test_round_steps() -> None:
    for about in np.geomspace(1e-7, 1e5, 200):
        assert about <= round_step(float(about)) * (1 + 1e-9) <= 2.5 * about * (1 + 1e-6)
