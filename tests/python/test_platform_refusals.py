"""Every refusal of the platform format: one line with file, place and remedy, exit 2, nothing written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest

import broadleaf as bl
from documents import write
from outcome import Command, refused

Change = Callable[[dict[str, Any]], object]

LINK = {"from": "a1", "to": "b0", "latency_s": 0.0, "bandwidth_bytes_per_s": 1e6}


def put(**fields: Any) -> Change:
    """Sets fields of the first link."""
    return lambda platform: platform["links"][0].update(fields)


def drop(*path: str | int) -> Change:
    """Removes a field."""

    def change(platform: Any) -> None:
        for step in path[:-1]:
            platform = platform[step]
        del platform[path[-1]]

    return change


def without_bandwidth(platform: dict[str, Any], **fields: Any) -> None:
    del platform["links"][0]["bandwidth_bytes_per_s"]
    platform["links"][0].update(fields)


REFUSALS: dict[str, tuple[Change, str, str]] = {
    "major version": (lambda p: p.update(format="broadleaf-platform/2"), "$.format", "unknown version 2"),
    "other format": (lambda p: p.update(format="graphml"), "$.format", "graphml"),
    "no format": (drop("format"), "$", '"format" is missing'),
    "no name": (drop("name"), "$", '"name" is missing'),
    "no port model": (drop("port_model"), "$", '"port_model" is missing'),
    "no nodes": (drop("nodes"), "$", '"nodes" is missing'),
    "no host": (lambda p: p.update(nodes=[], links=[], meshes=[], bridges=[]), "$.nodes", "no host"),
    "unknown port model": (lambda p: p.update(port_model="two-port"), "$.port_model", "two-port"),
    "no node id": (drop("nodes", 1, "id"), "$.nodes[1]", '"id" is missing'),
    "no link end": (drop("links", 0, "to"), "$.links[0]", '"to" is missing'),
    "no shared rate": (drop("shared", 0, "bandwidth_bytes_per_s"), "$.shared[0]", "bandwidth_bytes_per_s"),
    "nodes an object": (lambda p: p.update(nodes={}), "$.nodes", "a list"),
    "latency a string": (put(latency_s="1 ms"), "$.links[0].latency_s", "a number"),
    "both_ways a number": (put(both_ways=1), "$.links[0].both_ways", "a number"),
    "negative latency": (put(latency_s=-1e-3), "$.links[0].latency_s", "-0.001"),
    "NaN latency": (put(latency_s=float("nan")), "line 1 column", "NaN"),
    "infinite bandwidth": (put(bandwidth_bytes_per_s=float("inf")), "line 1 column", "Infinity"),
    "bandwidth 0": (put(bandwidth_bytes_per_s=0), "$.links[0].bandwidth_bytes_per_s", "0"),
    "negative bandwidth": (put(bandwidth_bytes_per_s=-5), "$.links[0].bandwidth_bytes_per_s", "-5"),
    "shared rate 0": (
        lambda p: p["shared"][0].update(bandwidth_bytes_per_s=0),
        "$.shared[0].bandwidth_bytes_per_s",
        "0",
    ),
    "duplicate node": (lambda p: p["nodes"].append({"id": "a0"}), "$.nodes[4]", '"a0"'),
    "duplicate shared": (lambda p: p["shared"].append(p["shared"][0]), "$.shared[1]", '"wan"'),
    "unknown node in a link": (put(to="a9"), "$.links[0].to", '"a9"'),
    "unknown node in a mesh": (
        lambda p: p["meshes"][0]["nodes"].append("a9"),
        "$.meshes[0].nodes[2]",
        '"a9"',
    ),
    "unknown cluster": (lambda p: p["bridges"][0].update(to_cluster="Z"), "$.bridges[0].to_cluster", '"Z"'),
    "unknown shared": (lambda p: p["links"][1].update(uses=["lan"]), "$.links[1].uses[0]", '"lan"'),
    "link to itself": (put(to="a0"), "$.links[0]", "itself"),
    "pair twice": (lambda p: p["links"].append({**LINK, "from": "a1", "to": "a0"}), "$.links[2]", "twice"),
    "gap and bandwidth": (put(gap=[[1, 1e-3]]), "$.links[0]", "both"),
    "empty gap": (lambda p: without_bandwidth(p, gap=[]), "$.links[0].gap", "empty"),
    "gap sizes equal": (
        lambda p: without_bandwidth(p, gap=[[8, 1e-3], [8, 2e-3]]),
        "$.links[0].gap[1][0]",
        "8 does not increase",
    ),
    "gap sizes fall": (
        lambda p: without_bandwidth(p, gap=[[8, 1e-3], [4, 2e-3]]),
        "$.links[0].gap[1][0]",
        "4 does not increase",
    ),
    "negative gap": (lambda p: without_bandwidth(p, gap=[[8, -1e-3]]), "$.links[0].gap[0][1]", "-0.001"),
    # The fields that measure adds to a link.
    "negative send overhead": (put(os=[[8, -1e-3]]), "$.links[0].os[0][1]", "-0.001"),
    "negative receive overhead": (put(**{"or": [[1, 0], [8, -2e-3]]}), "$.links[0].or[1][1]", "-0.002"),
    "overhead sizes equal": (put(os=[[8, 1e-3], [8, 2e-3]]), "$.links[0].os[1][0]", "8 does not increase"),
    "negative bulk gap": (put(bulk=[[8, -1e-3]]), "$.links[0].bulk[0][1]", "-0.001"),
    "empty bulk table": (put(bulk=[]), "$.links[0].bulk", "empty"),
    "negative spread": (put(spread=[[8, -0.1]]), "$.links[0].spread[0][1]", "-0.1"),
    "negative spread of a pipe": (lambda p: p["shared"][0].update(spread=-1), "$.shared[0].spread", "-1"),
    "delayed without its delay": (put(delayed=[[8, 0.5]]), "$.links[0].delayed[0]", "2 values"),
    "more delayed than there are": (put(delayed=[[8, 1.5, 0.04]]), "$.links[0].delayed[0][1]", "1.5"),
    "negative delay": (put(delayed=[[8, 0.5, -0.04]]), "$.links[0].delayed[0][2]", "-0.04"),
    "delayed sizes fall": (
        put(delayed=[[8, 0.5, 0.04], [4, 0.5, 0.04]]),
        "$.links[0].delayed[1][0]",
        "4 does not increase",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_command_refuses(case: str, command: Command, two_sites: dict[str, Any]) -> None:
    change, place, fact = REFUSALS[case]
    change(two_sites)
    write("net.json", two_sites)
    refused(command("convert", "net.json", "-o", "out.json"), "net.json", place, fact, ";")
    assert [path.name for path in Path().iterdir()] == ["net.json"]


@pytest.mark.parametrize("case", REFUSALS)
def test_python_refuses_with_the_same_facts(case: str, two_sites: dict[str, Any]) -> None:
    change, place, fact = REFUSALS[case]
    change(two_sites)
    with pytest.raises(bl.PlatformError) as caught:
        bl.Platform.from_dict(two_sites)
    # A dictionary has no lines, and Python writes infinity in its own way.
    wanted = ("$.links[0]", "finite") if place.startswith("line") else (place, fact)
    assert all(fragment in str(caught.value) for fragment in wanted), caught.value
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", '{"format": "broadleaf-plat', "[]", "\x00", "{]"])
def test_what_is_no_document(text: str, command: Command) -> None:
    Path("net.json").write_text(text)
    refused(command("convert", "net.json", "-o", "out.json"), "net.json")
    assert not Path("out.json").exists()


def test_what_is_no_text(command: Command) -> None:
    Path("net.json").write_bytes(b"\xff\xfe{}")
    refused(command("convert", "net.json", "-o", "out.json"), "net.json")


def test_missing_file(command: Command) -> None:
    refused(command("convert", "absent.json", "-o", "out.json"), "absent.json")


def test_missing_output_folder(command: Command, two_sites: dict[str, Any]) -> None:
    write("net.json", two_sites)
    refused(command("convert", "net.json", "-o", "absent/out.json"), "absent/out.json")


EDGE = '("a1", "b0")'
# Errors about one link, from the platform format, a NetworkX graph and matrices, and from a plan's trees.
LINK_CHANGES: dict[str, Change] = {
    "negative latency": put(latency_s=-1e-3),
    "latency a string": put(latency_s="1 ms"),
    "bandwidth 0": put(bandwidth_bytes_per_s=0),
    "both_ways a number": put(both_ways=1),
    "unknown shared": put(uses=["lan"]),
    "two costs": put(gap=[[1, 1e-3]]),
    "sizes that fall": lambda p: without_bandwidth(p, gap=[[8, 1e-3], [4, 2e-3]]),
    "pair twice": lambda p: p["links"].append(dict(LINK)),
}


@pytest.mark.parametrize("case", LINK_CHANGES)
def test_errors_about_a_link_name_the_edge(case: str, two_sites: dict[str, Any]) -> None:
    two_sites["links"] = [dict(LINK)]
    LINK_CHANGES[case](two_sites)
    with pytest.raises(bl.PlatformError) as caught:
        bl.Platform.from_dict(two_sites)
    assert f", edge {EDGE};" in str(caught.value)


@pytest.mark.parametrize(("end", "edge"), [("a1", '("a1", "a1")'), ("z", '("a1", "z")')])
def test_an_end_that_a_link_cannot_have_is_in_the_edge(
    end: str, edge: str, two_sites: dict[str, Any]
) -> None:
    two_sites["links"] = [{**LINK, "to": end}]
    with pytest.raises(bl.PlatformError) as caught:
        bl.Platform.from_dict(two_sites)
    assert f", edge {edge};" in str(caught.value)


@pytest.mark.parametrize(
    "attributes", [{"latency_s": -1}, {}, {"bandwidth_bytes_per_s": 0}, {"gap": object()}, {"gap": [[8]]}]
)
def test_errors_about_an_edge_of_a_graph_name_it(attributes: dict[str, Any]) -> None:
    graph = networkx.DiGraph([("a1", "b0", attributes)])
    with pytest.raises(bl.PlatformError) as caught:
        bl.Platform.from_networkx(graph)
    assert f", edge {EDGE};" in str(caught.value)


@pytest.mark.parametrize(
    ("latency_s", "bandwidth_bytes_per_s"), [(-1.0, 1e6), (1.0, 0.0), (float("nan"), 1.0)]
)
def test_errors_about_a_cell_name_the_edge(latency_s: float, bandwidth_bytes_per_s: float) -> None:
    latencies, bandwidths = np.full((2, 2), 1.0), np.full((2, 2), 1e6)
    latencies[0, 1], bandwidths[0, 1] = latency_s, bandwidth_bytes_per_s
    with pytest.raises(bl.PlatformError) as caught:
        bl.Platform.from_matrices(latencies, bandwidths)
    assert ', edge ("n0", "n1");' in str(caught.value)


@pytest.mark.parametrize(
    ("tree", "fault"),
    [
        ({"children": {"a": ["c"], "c": ["b"]}}, 'no path for edge ("c", "b")'),
        ({"children": {"a": ["b"], "b": ["c"]}, "via": {"b": ["c"]}}, 'no link for edge ("a", "c")'),
    ],
)
def test_a_tree_with_an_edge_that_the_platform_lacks_names_it(tree: dict[str, Any], fault: str) -> None:
    ends = [("a", "b"), ("b", "c")]
    platform = bl.Platform.from_dict(
        {
            "format": "broadleaf-platform/1",
            "name": "chain",
            "port_model": "one-port",
            "nodes": [{"id": name} for name in "abc"],
            "links": [{**LINK, "from": one, "to": other} for one, other in ends],
        }
    )
    document = bl.plan(platform, "a", 3000, planner="chain").to_dict()
    document["trees"] = [{"share": 1.0, **tree}]
    plan = bl.Plan.from_dict(document)
    for judge in (bl.check, bl.simulate, bl.throughput):
        with pytest.raises(bl.PlanError) as caught:
            judge(platform, plan)
        assert fault in str(caught.value)
