"""Platforms between forms: nothing is lost, and a form refuses data that it cannot hold."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import broadleaf as bl
from documents import write
from outcome import Command, refused


def links_of(platform: bl.Platform) -> dict[tuple[str, str], Any]:
    """Every ordered pair that has a link, with its properties."""
    return {
        (source, target): platform.link(source, target)
        for source in platform.nodes
        for target in platform.successors(source)
    }


def test_platform_file_round_trip(command: Command, two_sites: dict[str, Any]) -> None:
    write("net.json", two_sites)
    outcome = command("convert", "net.json", "-o", "again.json", "--json")
    assert outcome.document == {
        "platform": "two-sites",
        "nodes": 4,
        "form": "platform",
        "written": ["again.json"],
    }
    assert bl.Platform.load("again.json") == bl.Platform.load("net.json")


def test_hosts_are_grouped_anew_by_latency(command: Command) -> None:
    """a and b, c and d are 50 us apart, and all else 5 ms; the file has them in other clusters."""
    document = {
        "format": "broadleaf-platform/1",
        "name": "regrouped",
        "port_model": "one-port",
        "nodes": [{"id": name, "cluster": cluster} for name, cluster in zip("abcd", "xyxy", strict=True)],
        "links": [
            {"from": one, "to": other, "both_ways": True, "latency_s": 5e-5, "bandwidth_bytes_per_s": 1e9}
            for one, other in ("ab", "cd")
        ],
        "meshes": [{"nodes": nodes, "link": {"latency_s": 5e-3}} for nodes in (["a", "c"], ["b", "d"])],
        "bridges": [{"from_cluster": "x", "to_cluster": "y", "both_ways": True, "link": {"latency_s": 5e-3}}],
    }
    write("net.json", document)
    before = bl.Platform.from_dict(document)
    assert bl.clusters(before) == [["a", "b"], ["c", "d"]]
    # With a tolerance of a factor of a hundred, all are alike.
    assert bl.clusters(before, 100.0) == [["a", "b", "c", "d"]]
    assert command("convert", "net.json", "-o", "again.json", "--clusters", "0.3").code == 0
    after = bl.Platform.load("again.json")
    assert [node["cluster"] for node in after.to_dict()["nodes"]] == ["c0", "c0", "c1", "c1"]
    assert links_of(after) == links_of(before)
    refused(
        command("convert", "net.json", "-o", "bad.json", "--clusters", "-1"), "tolerance -1", "0.3 is usual"
    )


@pytest.mark.parametrize("between", ["again.json", "net.nx.json"])
def test_provenance_is_kept_and_is_no_part_of_the_digest(
    between: str, command: Command, two_sites: dict[str, Any]
) -> None:
    plain = bl.Platform.from_dict(two_sites)
    # Not the last field: taking it out must not change the order of the others.
    told = {"provenance": {"source": "a walk", "given": ["rates", 1.5]}, **two_sites}
    write("net.json", told)
    assert command("convert", "net.json", "-o", between).code == 0
    assert command("convert", between, "-o", "back.json").code == 0
    assert bl.Platform.load("back.json").to_dict()["provenance"] == told["provenance"]
    assert bl.Platform.load("net.json").digest == plain.digest
    assert "provenance" not in plain.to_dict()


def test_networkx_round_trip_keeps_everything(command: Command, two_sites: dict[str, Any]) -> None:
    write("net.json", two_sites)
    assert command("convert", "net.json", "-o", "net.nx.json").code == 0
    assert command("convert", "net.nx.json", "-o", "back.json").code == 0
    before, after = bl.Platform.load("net.json"), bl.Platform.load("back.json")
    assert links_of(after) == links_of(before)
    for field in ("name", "port_model", "nodes", "shared"):
        assert after.to_dict()[field] == two_sites[field]


def test_networkx_reads_what_we_write(command: Command, two_sites: dict[str, Any]) -> None:
    write("net.json", two_sites)
    assert command("convert", "net.json", "-o", "net.nx.json").code == 0
    graph = nx.node_link_graph(json.loads(Path("net.nx.json").read_text()), edges="edges")
    assert graph.edges["a0", "a1"]["bandwidth_bytes_per_s"] == 1.25e8
    assert graph.nodes["sw"]["kind"] == "switch"
    # The bridge covers both directions between the clusters, and only hosts that have a cluster.
    assert set(graph.edges) == set(itertools.permutations(("a0", "a1", "b0"), 2))


def test_undirected_graph_links_both_ways() -> None:
    graph: nx.Graph[int] = nx.path_graph(3)
    for _, _, attributes in graph.edges(data=True):
        attributes["latency_s"] = 1e-3
    platform = bl.Platform.from_networkx(graph)
    assert sorted(links_of(platform)) == [("0", "1"), ("1", "0"), ("1", "2"), ("2", "1")]


def test_older_node_link_documents(command: Command, two_sites: dict[str, Any]) -> None:
    document = bl.Platform.from_dict(two_sites).to_node_link()
    document["links"] = document.pop("edges")
    write("old.json", document)
    assert command("convert", "old.json", "-o", "net.json").code == 0
    assert links_of(bl.Platform.load("net.json")) == links_of(bl.Platform.from_dict(two_sites))


def test_graphs_that_are_refused() -> None:
    with pytest.raises(bl.PlatformError, match="multigraph"):
        bl.Platform.from_networkx(nx.MultiDiGraph([(0, 1)]))
    with pytest.raises(bl.PlatformError, match=r"\$\.edges\[0\]: an edge without latency_s"):
        bl.Platform.from_networkx(nx.Graph([(0, 1, {"weight": 3})]))


def test_csv_round_trip(command: Command, chain: dict[str, Any]) -> None:
    write("net.json", chain)
    outcome = command("convert", "net.json", "-o", "net.csv", "--json")
    assert outcome.document["written"] == ["net.latency.csv", "net.bandwidth.csv"]
    assert Path("net.latency.csv").read_text() == ",a,b,c\na,,0.001,\nb,0.001,,0.001\nc,,0.001,\n"
    assert command("convert", "net.bandwidth.csv", "-o", "back.json").code == 0
    assert links_of(bl.Platform.load("back.json")) == links_of(bl.Platform.from_dict(chain))


def test_csv_refuses_what_it_cannot_hold(command: Command, two_sites: dict[str, Any]) -> None:
    write("net.json", two_sites)
    refused(command("convert", "net.json", "-o", "net.csv"), '"wan"', "NetworkX")
    del two_sites["shared"], two_sites["links"][1]["uses"], two_sites["bridges"][0]["link"]["uses"]
    write("net.json", two_sites)
    refused(command("convert", "net.json", "-o", "net.csv"), '"sw"')
    two_sites["nodes"].pop()
    write("net.json", two_sites)
    refused(command("convert", "net.json", "-o", "net.csv"), '"a0" to "b0"', "gap table", "size")
    assert not list(Path().glob("*.csv"))
    assert command("convert", "net.json", "-o", "net.csv", "--at", "1MiB").code == 0
    assert command("convert", "net.csv", "-o", "back.json").code == 0
    # 1 MiB takes 9 ms by the last row of the gap table.
    assert bl.Platform.load("back.json").transfer_s("a0", "b0", 1 << 20) == pytest.approx(9e-3, rel=1e-12)


@pytest.mark.parametrize(
    ("latency", "bandwidth", "fragments"),
    [
        ("", ",a\na,\n", ["net.latency.csv", "no matrix"]),
        (",a,b\na,,1\nc,1,\n", ",a,b\na,,1\nb,1,\n", ["net.latency.csv", "line 3", '"c"']),
        (",a,b\na,,1\nb,1,\n", ",a,c\na,,1\nc,1,\n", ["net.bandwidth.csv", "first row", '"c"']),
        (",a,b\na,,1\nb,1\n", ",a,b\na,,1\nb,1,\n", ["net.latency.csv", "line 3"]),
        (",a,b\na,,1\nb,fast,\n", ",a,b\na,,1\nb,1,\n", ["net.latency.csv", "line 3 column 2", "fast"]),
        (",a,b\na,,1\nb,nan,\n", ",a,b\na,,1\nb,1,\n", ["net.latency.csv", "line 3 column 2", "nan"]),
        (
            ",a,b\na,,1\nb,1,\n",
            ",a,b\na,,1\nb,,\n",
            ["net.bandwidth.csv", "bandwidth_bytes_per_s[1][0]", "no value"],
        ),
        (",a,b\na,,1\nb,-1,\n", ",a,b\na,,1\nb,1,\n", ["net.latency.csv", "latency_s[1][0]", "-1"]),
        (
            ",a,b\na,,1\nb,1,\n",
            ",a,b\na,,1\nb,0,\n",
            ["net.bandwidth.csv", "bandwidth_bytes_per_s[1][0]", "0"],
        ),
    ],
)
def test_csv_refusals(latency: str, bandwidth: str, fragments: list[str], command: Command) -> None:
    Path("net.latency.csv").write_text(latency)
    Path("net.bandwidth.csv").write_text(bandwidth)
    refused(command("convert", "net.csv", "-o", "net.json"), *fragments)
    assert not Path("net.json").exists()


def test_hosts_near_each_other_share_their_way(command: Command) -> None:
    """Two sites of three hosts, 50 us inside and 5 ms between them; each pair alone reaches 1 MB/s."""
    site = np.repeat([0, 1], 3)
    latency = np.where(site[:, None] == site, 5e-5, 5e-3)
    rate = np.full((6, 6), 1e6)
    platform = bl.Platform.from_matrices(latency, rate)
    way = platform.link("n0", "n4")
    assert way == {"latency_s": 5e-3, "bandwidth_bytes_per_s": 1e6, "uses": ["g0-out", "g1-in"]}
    assert platform.link("n0", "n1") == {"latency_s": 5e-5, "bandwidth_bytes_per_s": 1e6}
    document = platform.to_dict()
    assert document["provenance"]["assumed"].startswith("4 shared pipes")
    assert {pipe["bandwidth_bytes_per_s"] for pipe in document["shared"]} == {1e6}
    assert [node["cluster"] for node in document["nodes"]] == ["c0"] * 3 + ["c1"] * 3
    alone = bl.Platform.from_matrices(latency, rate, shared_pipes=False)
    assert "shared" not in alone.to_dict()
    alone.save_csv("net.csv")
    outcome = command("convert", "net.csv", "-o", "net.json")
    said = outcome.out + outcome.err
    assert "assumed 4 shared pipes" in said
    assert "--no-shared-pipes" in said
    assert bl.Platform.load("net.json").link("n0", "n4") == way
    assert command("convert", "net.csv", "--no-shared-pipes", "-o", "net.json").code == 0
    assert links_of(bl.Platform.load("net.json")) == links_of(alone)
    # Matrices hold no pipes, so none are assumed on the way to matrices.
    assert command("convert", "net.csv", "-o", "again.csv").code == 0
    assert Path("again.bandwidth.csv").read_text() == Path("net.bandwidth.csv").read_text()


def test_matrices() -> None:
    latency = np.array([[0, 1e-3], [2e-3, 0]])
    platform = bl.Platform.from_matrices(latency, np.full((2, 2), 1e6), ids=["x", "y"], name="pair")
    assert links_of(platform) == {
        ("x", "y"): {"latency_s": 1e-3, "bandwidth_bytes_per_s": 1e6},
        ("y", "x"): {"latency_s": 2e-3, "bandwidth_bytes_per_s": 1e6},
    }
    one_way = bl.Platform.from_matrices(latency, np.full((2, 2), 1e6), links=[[False, True], [False, False]])
    assert list(links_of(one_way)) == [("n0", "n1")]


@pytest.mark.parametrize(
    ("latency", "bandwidth", "message"),
    [
        ([[0, 1, 2], [1, 0, 2]], [[0, 1], [1, 0]], r"latency_s\[0\]: 3 values for 2 nodes"),
        ([0, 1], [1, 0], r"latency_s: an array of shape \(2,\)"),
        ([[0, 1], [1, 0]], [[0]], "bandwidth_bytes_per_s: 1 rows for 2 nodes"),
        ([[0, float("nan")], [1, 0]], [[0, 1], [1, 0]], r"latency_s\[0\]\[1\]: NaN"),
        ([[0, 1], [1, 0]], [[0, float("inf")], [1, 0]], r"bandwidth_bytes_per_s\[0\]\[1\]: inf"),
        ([[0, -1], [1, 0]], [[0, 1], [1, 0]], "-1 is not a latency"),
        ([[0, 1], [1, 0]], [[0, 0], [1, 0]], "0 is not a bandwidth"),
        ([["x", 1], [1, 0]], [[0, 1], [1, 0]], "latency_s: "),
    ],
)
def test_matrix_refusals(latency: Any, bandwidth: Any, message: str) -> None:
    with pytest.raises(bl.PlatformError, match=message):
        bl.Platform.from_matrices(latency, bandwidth)


def test_a_mask_of_another_shape_is_refused() -> None:
    square = np.full((2, 2), 1e-3)
    for links in ([[True]], [[True, True]], [[True, True, True]] * 2):
        with pytest.raises(bl.PlatformError, match=r"links is \d by \d for 2 nodes; give 2 by 2"):
            bl.Platform.from_matrices(square, square, links=links)


def test_unknown_output_name(command: Command, chain: dict[str, Any]) -> None:
    write("net.json", chain)
    refused(command("convert", "net.json", "-o", "net.xyz"), "net.xyz", "--to")
    assert command("convert", "net.json", "-o", "net.xyz", "--to", "platform").code == 0
    assert bl.Platform.load("net.xyz").name == "chain-of-three"
