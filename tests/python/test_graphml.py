"""GraphML there and back without loss, and refusals of third-party files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import broadleaf as bl
from documents import write
from outcome import Command, refused
from test_convert import links_of


def test_round_trip_keeps_everything(command: Command, two_sites: dict[str, Any]) -> None:
    two_sites["provenance"] = {"source": "by hand", "given": ["all", 1.5]}
    two_sites["nodes"][1]["out_bytes_per_s"] = 1000000
    write("net.json", two_sites)
    assert command("convert", "net.json", "-o", "net.graphml").code == 0
    assert command("convert", "net.graphml", "-o", "back.json").code == 0
    before, after = bl.Platform.load("net.json"), bl.Platform.load("back.json")
    assert links_of(after) == links_of(before)
    for field in ("name", "port_model", "nodes", "shared", "provenance"):
        assert after.to_dict()[field] == before.to_dict()[field]


def test_other_programs_can_read_it(command: Command, two_sites: dict[str, Any]) -> None:
    write("net.json", two_sites)
    assert command("convert", "net.json", "-o", "net.graphml").code == 0
    graph = nx.read_graphml("net.graphml")
    assert graph.edges["a0", "a1"]["bandwidth_bytes_per_s"] == 1.25e8
    assert graph.nodes["sw"]["kind"] == "switch"


def test_an_undirected_graph_of_someone_else(command: Command) -> None:
    graph: nx.Graph[int] = nx.cycle_graph(4)
    for _, _, attributes in graph.edges(data=True):
        attributes["bandwidth_bytes_per_s"] = 1e6
    nx.write_graphml(graph, "ring.graphml")
    assert command("convert", "ring.graphml", "-o", "net.json").code == 0
    platform = bl.Platform.load("net.json")
    assert platform.name == "ring"
    assert len(links_of(platform)) == 8


def test_rates_of_the_topology_zoo(command: Command) -> None:
    """An Internet Topology Zoo file: bits a second, with attributes that Broadleaf does not use."""
    Path("Zoo.graphml").write_text(
        '<?xml version="1.0" encoding="utf-8"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        '<key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d37"/>'
        '<key attr.name="LinkLabel" attr.type="string" for="edge" id="d36"/>'
        '<key attr.name="label" attr.type="string" for="node" id="d33"/>'
        '<key attr.name="Latitude" attr.type="double" for="node" id="d29"/>'
        '<graph edgedefault="undirected">'
        '<node id="0"><data key="d33">Wien</data><data key="d29">48.2</data></node>'
        '<node id="1"><data key="d33">Graz</data></node>'
        '<edge source="0" target="1"><data key="d36">OC-48</data><data key="d37">2488000000.0</data></edge>'
        "</graph></graphml>"
    )
    outcome = command("convert", "Zoo.graphml", "-o", "net.json")
    assert outcome.code == 0, outcome
    platform = bl.Platform.load("net.json")
    assert platform.name == "Zoo"
    for ends in (("0", "1"), ("1", "0")):
        assert platform.transfer_s(*ends, 311_000_000) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("<graphml>", "no XML (no element found: line 1"),
        ("<html></html>", "no GraphML"),
        ("", "no XML"),
        (
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="directed">'
            '<node id="a"/><node id="b"/><edge source="a" target="b"/></graph></graphml>',
            "edge a to b: an edge without bandwidth_bytes_per_s, gap, latency_s or LinkSpeedRaw, "
            "and with nothing",
        ),
        (
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
            '<key id="k" for="edge" attr.name="capacity" attr.type="int"/>'
            '<key id="l" for="edge" attr.name="LinkLabel" attr.type="string"/>'
            '<graph edgedefault="undirected">'
            '<node id="a"/><node id="b"/><edge source="a" target="b"><data key="k">10</data>'
            '<data key="l">fast</data></edge></graph></graphml>',
            "edge a to b: an edge without bandwidth_bytes_per_s, gap, latency_s or LinkSpeedRaw, and with "
            "LinkLabel, capacity; give it",
        ),
        (
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
            '<key id="k" for="edge" attr.name="LinkSpeedRaw" attr.type="string"/>'
            '<graph edgedefault="undirected">'
            '<node id="a"/><node id="b"/><edge source="a" target="b"><data key="k">10G</data></edge>'
            "</graph></graphml>",
            "edge a to b: LinkSpeedRaw is '10G' and no number",
        ),
        (
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
            '<key id="k" for="edge" attr.name="gap" attr.type="string"/><graph edgedefault="directed">'
            '<node id="a"/><node id="b"/><edge source="a" target="b"><data key="k">[[1</data></edge>'
            "</graph></graphml>",
            "gap: '[[1' is no JSON",
        ),
    ],
)
def test_refusals(text: str, told: str, command: Command) -> None:
    Path("net.graphml").write_text(text)
    refused(command("convert", "net.graphml", "-o", "net.json"), "net.graphml", told)
    assert not Path("net.json").exists()


def test_names_that_xml_cannot_hold(command: Command, chain: dict[str, Any]) -> None:
    chain["nodes"][0]["host"] = "bell\a"
    write("net.json", chain)
    refused(command("convert", "net.json", "-o", "net.graphml"), "net.graphml", "'\\x07'", "NAME.nx.json")
    assert not Path("net.graphml").exists()


def test_a_missing_file(command: Command) -> None:
    refused(command("convert", "absent.graphml", "-o", "net.json"), "absent.graphml")
