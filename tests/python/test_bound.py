"""`broadleaf bound`: both sides of the proof, the number of trees, and refusals."""

from __future__ import annotations

import re
from typing import Any

import pytest

import broadleaf as bl
from documents import write
from outcome import Command, refused


def triangle(port_model: str = "one-port") -> dict[str, Any]:
    return {
        "format": "broadleaf-platform/1",
        "name": "triangle",
        "port_model": port_model,
        "nodes": [{"id": node} for node in "abc"],
        "meshes": [{"nodes": ["a", "b", "c"], "link": {"bandwidth_bytes_per_s": 1000}}],
    }


def test_the_document_holds_the_proof(command: Command) -> None:
    platform = bl.generate.random(20, 0.2, seed=3)
    platform.save("net.json")
    arguments = ("bound", "net.json", "--root", "n0", "--size", "8MiB", "--segment", "64KiB", "--json")
    document = command(*arguments).document
    assert document["throughput_bytes_per_s"] <= document["upper_bound_bytes_per_s"]
    assert 0 <= document["gap"] <= 1e-4
    assert sum(tree["share"] for tree in document["trees"]) == pytest.approx(1, abs=1e-9)
    assert sum(document["prices"].values()) == pytest.approx(1, abs=1e-9)
    received = sum(link["segments_per_s"] for link in document["link_load"] if link["to"] == "n7")
    assert received * 65536 == pytest.approx(document["throughput_bytes_per_s"], rel=1e-9)
    kept = {row["trees"]: row["throughput_bytes_per_s"] for row in document["throughput_by_trees"]}
    assert sorted(kept)[:2] == [1, 2]
    assert max(kept) == len(document["trees"])
    assert list(kept.values()) == sorted(kept.values())
    assert kept[max(kept)] == document["throughput_bytes_per_s"]
    # No plan is faster than the bound on the makespan.
    plan = bl.plan(platform, "n0", 8 << 20, "chain")
    assert 0 < document["bound_s"] <= bl.simulate(platform, plan).makespan_s
    assert document["bound_s"] == plan.bound_s


def test_people_read_trees_prices_and_gap(command: Command) -> None:
    write("net.json", triangle())
    shown = command("bound", "net.json", "--root", "a", "--size", "1MB").out
    for part in (
        "makespan of 1 MB: at least",
        "at most 1 kB/s",
        "a gap of",
        "trees below",
        "prices above",
    ):
        assert part in shown
    # One chain is enough.
    assert "1 tree reaches" in shown
    assert re.search(r"(in|out) [abc] +[01]\.\d{4}", shown)
    assert "bound:" not in shown


def test_only_a_bound_is_said_to_be_one(command: Command) -> None:
    write("net.json", triangle("one-port-unidirectional"))
    shown = command("bound", "net.json", "--root", "a", "--segment", "1000").out
    assert "at most 750 B/s" in shown
    assert "bound: under unidirectional one-port" in shown


def test_nothing_limits_a_lone_node(command: Command) -> None:
    write("net.json", {**triangle(), "nodes": [{"id": "a"}], "meshes": []})
    assert "nothing limits it" in command("bound", "net.json", "--root", "a").out
    document = command("bound", "net.json", "--root", "a", "--json").document
    assert document["throughput_bytes_per_s"] is None
    assert document["gap"] == 0


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        (("--root", "d"), ("d",)),
        (("--root", "a", "--gap", "0"), ("gap 0", "positive")),
        (("--root", "a", "--gap", "-0.1"), ("gap -0.1", "positive")),
        (("--root", "a", "--size", "0"), ("no bytes",)),
        (("--root", "a", "--segment", "none"), ("none", "not a size")),
    ],
)
def test_refusals(arguments: tuple[str, ...], fragments: tuple[str, ...], command: Command) -> None:
    write("net.json", triangle())
    refused(command("bound", "net.json", *arguments), *fragments)


def test_a_host_out_of_reach_names_itself_and_the_cut(command: Command) -> None:
    document = {**triangle(), "meshes": [{"nodes": ["a", "b"], "link": {"bandwidth_bytes_per_s": 1000}}]}
    write("net.json", document)
    refused(command("bound", "net.json", "--root", "a"), '"c"', "{a, b}", "{c}")


def test_other_collectives_have_a_makespan_bound(command: Command) -> None:
    write("net.json", triangle())
    # 500 bytes of each of the two others come in by one port of 1000 bytes/s; weighted, 2500 of b and c.
    asked = ("bound", "net.json", "--size", "500", "--collective", "allgather")
    assert command(*asked, "--json").document["bound_s"] == pytest.approx(1.0)
    assert command(*asked, "--weights", "b=4,c=1", "--json").document["bound_s"] == pytest.approx(2.5)
    assert "at least 1000 ms" in command(*asked).out
    refused(command("bound", "net.json", "--collective", "allreduce"), "give --size")
    refused(command(*asked[:4], "--weights", "b=4"), "no block for each host")
    refused(command(*asked[:4], "--collective", "gossip"), "gossip")


def test_blocks_have_a_certificate(command: Command) -> None:
    write("net.json", triangle())
    # Two blocks of 1000 bytes come in by a port of 1000 bytes/s.
    asked = ("bound", "net.json", "--collective", "reduce-scatter", "--segment", "1000")
    shown = command(*asked, "--size", "2000").out
    for part in ("makespan of reduce-scatter, 2 kB", "throughput of reduce-scatter", "at most 500 B/s"):
        assert part in shown
    assert "few trees" not in shown
    document = command(*asked, "--json").document
    assert document["throughput_bytes_per_s"] == pytest.approx(500)
    assert document["collective"] == "reduce-scatter"
    assert {tree["root"] for tree in document["trees"]} == set("abc")
    assert sum(document["prices"].values()) == pytest.approx(1)
    loads = sum(link["segments_per_s"] for link in document["link_load"] if link["to"] == "b")
    assert loads == pytest.approx(1)
    weighed = command(*asked, "--json", "--weights", "a=2").document
    assert weighed["weights"] == {"a": 2, "b": 1, "c": 1}
    assert weighed["upper_bound_bytes_per_s"] == pytest.approx(1000 / 3, rel=1e-4)
    # A lone host has nothing to send.
    write("net.json", {**triangle(), "nodes": [{"id": "a"}], "meshes": []})
    assert "nothing limits it" in command("bound", "net.json", "--collective", "gather").out
