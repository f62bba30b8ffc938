"""MSCCL XML: executed by an independent interpreter, every byte compared on every GPU."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import broadleaf as bl
from broadleaf.formats.msccl import MOST_CHUNKS, msccl_xml, runs_of, runs_of_plan
from documents import one_mesh, write
from msccl_interpreter import Machine, judge, links_used, read
from outcome import Command, refused


def fabric(name: str, links: dict[tuple[int, int], float]) -> bl.Platform:
    """GPUs with links both ways at rates in bytes/s."""
    count = 1 + max(max(pair) for pair in links)
    return bl.Platform.from_dict(
        {
            "format": "broadleaf-platform/1",
            "name": name,
            "port_model": "link-capacity",
            "nodes": [{"id": f"g{at}"} for at in range(count)],
            "links": [
                {"from": f"g{a}", "to": f"g{b}", "both_ways": True, "bandwidth_bytes_per_s": rate}
                for (a, b), rate in links.items()
            ],
        }
    )


def dgx1() -> bl.Platform:
    """The DGX-1V: eight V100, pairs with one NVLink (25 GB/s a direction) or two."""
    two = [(0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (4, 7), (5, 6), (6, 7)]
    one = [(0, 1), (0, 2), (1, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7)]
    return fabric("dgx-1", dict.fromkeys(two, 50000000000.0) | dict.fromkeys(one, 25000000000.0))


def mesh() -> bl.Platform:
    """4 x 4 with equal links between neighbours."""
    links: dict[tuple[int, int], float] = {}
    for row, column in product(range(4), repeat=2):
        at = 4 * row + column
        links |= {(at, at + 1): 1e10} if column < 3 else {}
        links |= {(at, at + 4): 1e10} if row < 3 else {}
    return fabric("mesh-4x4", links)


FABRICS = {"dgx-1": dgx1, "mesh-4x4": mesh}


@pytest.mark.parametrize("loops", [1, 3])
@pytest.mark.parametrize("root", [0, 5])
@pytest.mark.parametrize("planner", ["optimal", "single-tree"])
@pytest.mark.parametrize("name", FABRICS)
def test_every_byte_arrives(name: str, planner: str, root: int, loops: int) -> None:
    platform = FABRICS[name]()
    plan = bl.plan(platform, f"g{root}", 64 << 20, planner=planner)
    algo = read(msccl_xml(platform, plan))
    judge(algo)
    assert f"root={root} (g{root})" in algo.attributes["name"]
    order = random.Random(f"{name} {planner} {root}")
    message = order.randbytes(17 * algo["nchunksperloop"])
    machine = Machine(algo, root, message, loops)
    machine.run(order)
    assert all(bytes(buffers["o"]) == message for buffers in machine.buffers)
    assert all(not wire for wire in machine.wires.values())


@pytest.mark.parametrize("name", FABRICS)
def test_links_carry_what_the_plan_says(name: str) -> None:
    platform = FABRICS[name]()
    plan = bl.plan(platform, "g0", 64 << 20, planner="optimal")
    algo = read(msccl_xml(platform, plan))
    planned: dict[tuple[int, int], float] = {}
    for tree in plan.to_dict()["trees"]:
        for parent, children in tree["children"].items():
            for child in children:
                pair = int(parent[1:]), int(child[1:])
                planned[pair] = planned.get(pair, 0.0) + tree["share"]
    used = links_used(algo)
    assert set(used) == set(planned)
    trees = len(plan.to_dict()["trees"])
    for pair, share in planned.items():
        assert used[pair] / algo["nchunksperloop"] == pytest.approx(share, abs=0.01 * trees)


@pytest.mark.parametrize(
    ("shares", "counts"),
    [
        ([1.0], [1]),
        ([0.5, 0.5], [1, 1]),
        ([0.75, 0.25], [3, 1]),
        ([1 / 6] * 6, [1] * 6),
        # 0.37 is 0.375 - 0.005: three of eight is near enough.
        ([0.63, 0.37], [5, 3]),
        # The smallest still has a chunk.
        ([0.999, 0.001], [63, 1]),
    ],
)
def test_chunks_by_hand(shares: list[float], counts: list[int]) -> None:
    runs = runs_of(shares, range(len(shares), MOST_CHUNKS + 1))
    assert [count for _, count in runs] == counts
    assert [first for first, _ in runs] == [sum(counts[:at]) for at in range(len(counts))]
    assert sum(counts) <= MOST_CHUNKS


def test_the_plans_own_message_is_taken() -> None:
    """Readers pass over an algorithm whose chunks do not divide the message's elements, here of 8 bytes."""
    for message_bytes in (64 << 20, 96 << 20, 100_000_000):
        plan = bl.plan(dgx1(), "g0", message_bytes, planner="optimal")
        shares = [tree["share"] for tree in plan.to_dict()["trees"]]
        assert len(shares) > 1
        counts = [count for _, count in runs_of_plan(plan)]
        assert (message_bytes // 8) % sum(counts) == 0
        for count, share in zip(counts, shares, strict=True):
            assert count / sum(counts) == pytest.approx(share, abs=0.02)
    # No number of chunks divides a prime: then the plan's shares decide.
    odd = bl.plan(dgx1(), "g0", 100_000_007, planner="optimal")
    shares = [tree["share"] for tree in odd.to_dict()["trees"]]
    assert runs_of_plan(odd) == runs_of(shares, range(len(shares), MOST_CHUNKS + 1))


def test_switches_are_no_relays() -> None:
    """GPUs behind an NVSwitch send to each other directly, GPUs behind another GPU do not."""
    document = {
        "format": "broadleaf-platform/1",
        "name": "nvswitch",
        "port_model": "link-capacity",
        "nodes": [*({"id": f"g{at}"} for at in range(4)), {"id": "sw", "kind": "switch"}, {"id": "g4"}],
        "links": [
            *(
                {"from": f"g{at}", "to": "sw", "both_ways": True, "bandwidth_bytes_per_s": 3e11}
                for at in range(4)
            ),
            {"from": "g3", "to": "g4", "both_ways": True, "bandwidth_bytes_per_s": 5e10},
        ],
    }
    platform = bl.Platform.from_dict(document)
    plan = bl.plan(platform, "g0", 1 << 20, planner="optimal")
    algo = read(msccl_xml(platform, plan))
    judge(algo)
    message = random.Random(4).randbytes(16 * algo["nchunksperloop"])
    machine = Machine(algo, 0, message, 2)
    machine.run(random.Random(5))
    assert all(bytes(buffers["o"]) == message for buffers in machine.buffers)
    with pytest.raises(bl.PlanError, match='sends to "g4" through other GPUs'):
        msccl_xml(platform, bl.plan(platform, "g0", 1 << 20, planner="flat"))


def test_more_children_than_a_channel_takes() -> None:
    names = [f"g{at}" for at in range(34)]
    document = one_mesh("wide", "link-capacity", names, 1e10)
    platform = bl.Platform.from_dict(document)
    plan = bl.plan(platform, "g0", 1 << 20, planner="flat")
    with pytest.raises(bl.PlanError, match='"g0" needs 33 children in one tree and MSCCL takes at most 32'):
        msccl_xml(platform, plan)
    judge(read(msccl_xml(platform, bl.plan(platform, "g0", 1 << 20, planner="binomial"))))


@pytest.mark.parametrize("name", ["&" * 300, "\N{DARK SHADE}" * 200, "\a" * 300, '"<\n>"' * 60])
def test_long_names_fit_the_readers_buffers(name: str) -> None:
    platform = fabric(name, {(0, 1): 1e10, (1, 2): 1e10})
    text = msccl_xml(platform, bl.plan(platform, "g0", 1 << 20, planner="chain"))
    written = text.split('"', 2)[1]
    assert written.startswith("broadleaf chain root=0 (g0) on ")
    assert 240 < len(written.encode()) <= 255
    judge(read(text))
    ElementTree.fromstring(text)


def test_command(command: Command) -> None:
    platform = dgx1()
    platform.save("net.json")
    bl.plan(platform, "g2", 1 << 20, planner="optimal").save("plan.json")
    options = ["--platform", "net.json", "--min", "1KiB", "--max", "1GiB"]
    outcome = command("convert", "plan.json", "-o", "algo.xml", *options, "--json")
    assert outcome.document["written"] == ["algo.xml"]
    algo = read(Path("algo.xml").read_text())
    assert (algo["minBytes"], algo["maxBytes"]) == (1024, 1 << 30)
    assert outcome.document["chunks"] == algo["nchunksperloop"]
    told = command("convert", "plan.json", "-o", "algo.xml", *options).out
    assert f"whose number of elements is a multiple of {algo['nchunksperloop']}" in told


def test_what_the_format_cannot_say_is_refused(command: Command, chain: dict[str, Any]) -> None:
    write("chain.json", chain)
    one_port = bl.Platform.from_dict(chain)
    bl.plan(one_port, "a", 1000, planner="chain").save("plan.json")
    refused(command("convert", "plan.json", "-o", "a.xml"), "plan.json", "--platform")
    refused(command("convert", "plan.json", "-o", "a.json"), "plan.json", "NAME.xml")
    told = command("convert", "plan.json", "-o", "a.xml", "--platform", "chain.json")
    refused(told, "plan.json", "one-port", "link-capacity")
    refused(command("convert", "chain.json", "-o", "a.xml"), "a.xml", "convert a plan")
    dgx1().save("dgx.json")
    refused(command("convert", "plan.json", "-o", "a.xml", "--platform", "dgx.json"), "another platform")
    dgx = dgx1()
    bl.plan(dgx, "g0", 1 << 20, planner="optimal").save("dgx-plan.json")
    limits = ["--platform", "dgx.json", "--min", "2MiB", "--max", "1MiB"]
    refused(command("convert", "dgx-plan.json", "-o", "a.xml", *limits), "--min", "--max")
    # g0 has no link to g5: a flat tree goes over others.
    bl.plan(dgx, "g0", 1 << 20, planner="flat").save("relayed.json")
    outcome = command("convert", "relayed.json", "-o", "a.xml", "--platform", "dgx.json")
    refused(outcome, "relayed.json", "through other GPUs", "no relays")
    assert not Path("a.xml").exists()
