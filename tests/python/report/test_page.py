"""The page of `broadleaf report`: nothing lost in the timeline, nothing fetched, and refusals."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import broadleaf as bl
from broadleaf.bars import REAL, SEVERAL, WHOLE, Bars, bars_of
from broadleaf.collectives import moved
from broadleaf.network import drawing_of
from broadleaf.reporting.broadcasts import Broadcast, described
from broadleaf.reporting.sizes import curves_of
from documents import one_mesh, write
from outcome import Command, refused

GRID5000 = Path(__file__).resolve().parents[3] / "platforms" / "grid5000-88.json"


def data_of(page: Path) -> Any:
    """The document inside a page."""
    found = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page.read_text(), re.DOTALL)
    assert found
    return json.loads(found[1])


def unpacked(bars: Bars) -> dict[str, Any]:
    """The columns, decoded from the page's data."""
    data = gzip.decompress(base64.b64decode(bars.packed()))
    parts = [data[at : at + 4 * len(bars)] for at in range(0, len(data), 4 * len(bars))]
    whole = {name: np.frombuffer(part, "<u4") for name, part in zip(WHOLE, parts, strict=False)}
    return {
        **whole,
        **{name: np.frombuffer(part, "<f4") for name, part in zip(REAL, parts[len(WHOLE) :], strict=True)},
    }


@pytest.fixture
def written(command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]) -> Path:
    write("net.json", chain)
    write("plan.json", chain_plan)
    outcome = command(
        "report", "net.json", "plan.json", "-o", "report.html", "--sizes", "1KiB,3000", "--json"
    )
    document = outcome.document
    assert document["written"] == "report.html"
    assert document["transfers"] == [6]
    assert document["bytes"] == Path("report.html").stat().st_size
    return Path("report.html")


def test_the_page_is_written_beside_the_plan_where_nothing_else_is_asked(
    command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]
) -> None:
    write("net.json", chain)
    Path("plans").mkdir()
    write("plans/far.json", chain_plan)
    assert command("report", "net.json", "plans/far.json", "--sizes", "none").code == 0
    assert "chain-of-three" in Path("plans/far.html").read_text()


def test_the_page_needs_nothing_else(written: Path) -> None:
    text = written.read_text()
    library = (Path(bl.__file__).parent / "reporting" / "vendor" / "d3.min.js").read_text()
    assert library in text
    # Addresses in the library are names of XML vocabularies; no element of the page's own has one.
    own = text.replace(library, "")
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", own)
    assert "@import" not in own
    assert "default-src 'none'" in own
    assert (
        (Path(bl.__file__).parent / "reporting" / "vendor" / "d3.LICENSE").read_text().startswith("Copyright")
    )


def test_every_planner_at_every_size_with_the_bound(written: Path) -> None:
    curves = data_of(written)["curves"]
    platform = bl.Platform.load("net.json")
    assert curves["sizes"] == [1024, 3000]
    comparison = bl.compare(platform, "a", 3000)
    assert curves["bounds"][1] == comparison.plan.bound_s
    times = {name: row[1] for name, row in curves["planners"]}
    assert times == {tried.planner: tried.makespan_s for tried in comparison.tried}
    assert curves["passed_over"] == comparison.passed_over


def test_the_limit_does_not_depend_on_the_time_of_the_planners() -> None:
    platform = bl.Platform.load(GRID5000)
    plan = bl.plan(platform, "c0-0", "1MiB", planner="chain", segment_bytes="64KiB")
    sizes, time_limit_s = [1 << 20, 64 << 20], 1e-6
    whole = [bl.makespan_bound_s(platform, "c0-0", size) for size in sizes]
    cut_short = [bl.compare(platform, "c0-0", size, time_limit_s=time_limit_s).plan.bound_s for size in sizes]
    assert cut_short[1] is not None
    assert cut_short[1] < whole[1]
    assert curves_of(platform, plan, sizes, time_limit_s)["bounds"] == whole


def test_facts_by_hand(written: Path) -> None:
    (plan,) = data_of(written)["plans"]
    assert plan["makespan_s"] == pytest.approx(6e-3)
    assert plan["finish_s"] == pytest.approx([0, 4e-3, 6e-3])
    assert dict(plan["busy"]) == pytest.approx({"out a": 3e-3, "in b": 3e-3, "out b": 3e-3, "in c": 3e-3})
    assert plan["trees"] == [{"number": 0, "share": 1.0, "parents": [-1, 0, 1], "hops": []}]
    # The hand-made plan has no bound; the planners' bound is shown.
    assert plan["bound_s"] == data_of(written)["curves"]["bounds"][1]
    assert plan["told"] is None


def test_only_letters_that_every_font_has(written: Path) -> None:
    """Latin-1 and the dash; arrows, triangles and ellipses are drawn, or written in words."""
    library = (Path(bl.__file__).parent / "reporting" / "vendor" / "d3.min.js").read_text()
    own = written.read_text().replace(library, "")
    assert sorted({letter for letter in own if ord(letter) > 0xFF} - {"\N{EN DASH}"}) == []


@pytest.mark.parametrize("most", [10_000, 200, 60, 12])
def test_merging_loses_no_transfer(most: int, two_sites: dict[str, Any]) -> None:
    platform = bl.Platform.from_dict(two_sites)
    trace = bl.simulate(platform, bl.plan(platform, "a0", 1 << 20, "chain", segment_bytes=1 << 11))
    table = trace.transfers
    bars = bars_of(trace, most)
    columns = unpacked(bars)
    assert len(bars) <= max(most, 2 * len(trace.nodes))
    assert (bars.told() is None) == (most >= len(table))
    assert columns["count"].sum() == len(table)
    assert columns["bytes"].astype(float).sum() == pytest.approx(table.bytes.sum(), rel=1e-6)
    held = (table.release_s - table.start_s).sum()
    assert columns["held"].astype(float).sum() == pytest.approx(held, rel=1e-5)
    assert columns["begin"].min() == np.float32(table.start_s.min())
    assert columns["arrive"].max() == np.float32(table.arrival_s.max())
    assert (np.diff(columns["begin"]) >= 0).all()
    # No bar mixes senders, and each link's transfers are in that link's bars.
    for pair in {(int(one), int(other)) for one, other in zip(table["from"], table["to"], strict=True)}:
        here = (columns["source"] == pair[0]) & (columns["target"] == pair[1])
        if not (columns["target"] == SEVERAL).any():
            expected = ((table["from"] == pair[0]) & (table["to"] == pair[1])).sum()
            assert columns["count"][here].sum() == expected


def test_many_trees_are_merged_too(two_sites: dict[str, Any]) -> None:
    platform = bl.Platform.from_dict(two_sites)
    plan = bl.plan(platform, "a0", 1 << 16, "van-de-geijn")
    bars = bars_of(bl.simulate(platform, plan), 4)
    assert bars.merged_by is not None
    assert bars.columns["count"].sum() == bars.transfers


def test_what_joins_the_clusters(two_sites: dict[str, Any]) -> None:
    drawing = drawing_of(bl.Platform.from_dict(two_sites), 1 << 20)
    assert drawing["clusters"] == ["A", "B", "without a cluster"]
    assert drawing["sites"] == ["x", "y", None]
    assert drawing["switches"] == [3]
    ((one, other, there, back, latency_s, links, pipes),) = drawing["ties"]
    # a0 -> b0 has a separate, slower link; the bridge has a1 -> b0 and both ways back.
    assert (one, other, latency_s, pipes) == (0, 1, 5e-3, ["wan"])
    assert (there, back) == pytest.approx((1.25e8, 1.25e8))
    assert links == 4
    # The mesh of two is overridden by the explicit link between them, in both directions.
    assert drawing["inside"] == [None, None, None]
    assert [link[:2] for link in drawing["links"]] == [[0, 1], [1, 0]]


def test_relayed_transfers_are_drawn_over_their_relays(command: Command) -> None:
    link = {"both_ways": True, "latency_s": 1e-4, "bandwidth_bytes_per_s": 1e8}
    document = {
        "format": "broadleaf-platform/1",
        "name": "star",
        "port_model": "one-port",
        "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "sw", "kind": "switch"}],
        "links": [{"from": name, "to": "sw", **link} for name in "abc"],
    }
    platform = bl.Platform.from_dict(document)
    platform.save("star.json")
    bl.plan(platform, "a", 1 << 20, planner="chain").save("plan.json")
    assert command("report", "star.json", "plan.json", "-o", "r.html", "--sizes", "none").code == 0
    ((tree,),) = (plan["trees"] for plan in data_of(Path("r.html"))["plans"])
    # a to b to c, each over the switch.
    assert tree["parents"] == [-1] * 4
    assert sorted(tree["hops"]) == [[0, 3], [1, 3], [3, 1], [3, 2]]


def test_names_cannot_break_out_of_the_page(
    command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]
) -> None:
    text = json.dumps([chain, chain_plan]).replace('"a"', '"</script><script>alert(1)//"')
    chain, chain_plan = json.loads(text.replace("chain-of-three", "<b>{{script}}"))
    chain_plan["platform_digest"] = bl.Platform.from_dict(chain).digest
    write("net.json", chain)
    write("plan.json", chain_plan)
    assert command("report", "net.json", "plan.json", "-o", "r.html", "--sizes", "none").code == 0
    page = Path("r.html").read_text()
    assert "</script><script>alert" not in page
    assert "<b>" not in page.split("</title>")[0]
    assert data_of(Path("r.html"))["platform"]["nodes"][0] == "</script><script>alert(1)//"


def test_without_clusters_many_nodes_are_grouped() -> None:
    platform = bl.generate.random(400, 0.01, seed=1)
    drawing = drawing_of(platform, 1 << 20)
    assert drawing["clusters"][0] == "n0 … n63"
    assert len(drawing["clusters"]) == 7
    assert "grouped by 64" in drawing["grouping"]


def test_large_clusters_are_grouped_with_all_that_joins_them() -> None:
    """A cluster of 640 nodes and one of 130, which a bridge joins: ten groups, which it joins one by one."""
    sizes = {"A": 640, "B": 130}
    link = {"bandwidth_bytes_per_s": 1e8}
    names = {cluster: [f"{cluster}{at}" for at in range(size)] for cluster, size in sizes.items()}
    document = {
        "format": "broadleaf-platform/1",
        "name": "large-clusters",
        "port_model": "one-port",
        "nodes": [{"id": name, "cluster": cluster} for cluster in sizes for name in names[cluster]],
        "meshes": [{"nodes": each, "link": link} for each in names.values()],
        "bridges": [{"from_cluster": "A", "to_cluster": "B", "both_ways": True, "link": link}],
    }
    drawing = drawing_of(bl.Platform.from_dict(document), 1 << 20)
    assert drawing["clusters"] == [
        *(f"A{start} … A{start + 63}" for start in range(0, 640, 64)),
        "B",
    ]
    assert drawing["sites"] == [*["A"] * 10, None]
    assert "more than 300 nodes are grouped by 64" in drawing["grouping"]
    ties = {(one, other): links for one, other, _, _, _, links, _ in drawing["ties"]}
    assert len(ties) == 45 + 10
    assert ties[0, 1] == 2 * 64 * 64
    assert ties[9, 10] == 2 * 64 * 130
    assert drawing["inside"] == pytest.approx([1e8] * 11)


def test_nodes_fill_up_where_bars_have_several_receivers() -> None:
    platform = bl.generate.random(40, 1.0, seed=1)
    trace_plan = bl.plan(platform, "n0", 1 << 20, "van-de-geijn")
    broadcast = Broadcast("plan", trace_plan, bl.simulate(platform, trace_plan), 1.0)
    assert described(broadcast, platform, 10_000)["first_s"] is None
    firsts = described(broadcast, platform, 20)["first_s"]
    table = broadcast.trace.transfers
    for node in (1, 17, 39):
        first = min(
            row["arrival_s"] - (row["release_s"] - row["start_s"]) for row in table if row["to"] == node
        )
        assert firsts[node] == pytest.approx(first, rel=1e-5)
    assert firsts[0] is None


@pytest.mark.parametrize("collective", ["reduce", "reduce-scatter", "allgather", "allreduce"])
def test_other_collectives_are_drawn_the_way_their_data_go(collective: str, tmp_path: Path) -> None:
    platform = bl.Platform.from_dict(one_mesh("mesh", "one-port", ["a", "b", "c", "d"], 1e8))
    plan = bl.plan(platform, "b", "64KiB", collective=collective)
    bl.report(platform, plan, tmp_path / "report.html", sizes=[1024])
    data = data_of(tmp_path / "report.html")
    (drawn,) = data["plans"]
    assert drawn["moves"] == ("reduce of 64 KiB to b" if collective == "reduce" else moved(plan, "b"))
    assert drawn["root"] == (1 if collective == "reduce" else None)
    assert drawn["is_outward"] == (collective == "allgather")
    edges = {
        edge
        for tree in drawn["trees"]
        for edge in (
            *((parent, node) for node, parent in enumerate(tree["parents"]) if parent >= 0),
            *map(tuple, tree["hops"]),
        )
    }
    table = bl.simulate(platform, plan).transfers
    assert edges == set(zip(table["from"].tolist(), table["to"].tolist(), strict=True))
    assert data["curves"]["collective"] == collective
    assert data["curves"]["root"] == ("b" if collective == "reduce" else None)
    comparison = bl.compare(platform, "b", 1024, collective=collective)
    assert {name for name, _ in data["curves"]["planners"]} == {tried.planner for tried in comparison.tried}


def test_a_plan_for_another_platform_is_refused(
    command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]
) -> None:
    write("plan.json", chain_plan)
    chain["links"][0]["latency_s"] = 2e-3
    chain["name"] = "another"
    write("net.json", chain)
    refused(
        command("report", "net.json", "plan.json", "-o", "r.html"), "plan.json", "chain-of-three", "another"
    )
    assert not Path("r.html").exists()


def test_no_plan_is_refused(command: Command, chain: dict[str, Any]) -> None:
    write("net.json", chain)
    refused(command("report", "net.json", "-o", "r.html"), "PLAN", "report --help")
    assert not Path("r.html").exists()


@pytest.mark.parametrize("output", ["absent/r.html", "."])
def test_an_unwritable_output_is_refused(
    output: str, command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]
) -> None:
    write("net.json", chain)
    write("plan.json", chain_plan)
    refused(command("report", "net.json", "plan.json", "-o", output), output)


@pytest.mark.parametrize(
    ("stats", "told"),
    [
        ("{", "not JSON"),
        ("[]", "no broadleaf-stats/1"),
        ('{"format": "broadleaf-stats/2"}', "no broadleaf-stats/1"),
        ('{"format": "broadleaf-stats/1"}', '"broadcasts" is missing'),
        (
            '{"format": "broadleaf-stats/1", "broadcasts": [{}]}',
            '$.broadcasts[0]: the required field "ranks"',
        ),
        *(
            (
                json.dumps(
                    {
                        "format": "broadleaf-stats/1",
                        "broadcasts": [
                            {
                                **dict.fromkeys(("bytes", "planned", "segment_bytes"), 8),
                                **{"ranks": 3, "root": 0, "seconds": 0.1, "fastest_s": 0.1},
                                "planner": "chain",
                                name: value,
                            }
                        ],
                    }
                ),
                f"$.broadcasts[0].{name}: {told}, not {json.dumps(value)};",
            )
            for name, value, told in (
                ("ranks", "3", "a whole number that is not negative"),
                ("root", 3, "a rank below 3"),
                ("bytes", -8, "a whole number that is not negative"),
                ("planned", True, "a whole number that is not negative"),
                ("seconds", "0.1", "seconds, finite and not negative"),
                ("fastest_s", float("inf"), "seconds, finite and not negative"),
                ("planner", 5, "a planner's name or null"),
            )
        ),
    ],
)
def test_stats_that_are_refused(
    stats: str, told: str, command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]
) -> None:
    write("net.json", chain)
    write("plan.json", chain_plan)
    Path("stats.json").write_text(stats)
    outcome = command("report", "net.json", "plan.json", "--stats", "stats.json", "-o", "r.html")
    refused(outcome, "stats.json", told)


@pytest.mark.parametrize("sizes", ["0", "1MiB,", "much"])
def test_sizes_that_are_refused(
    sizes: str, command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]
) -> None:
    write("net.json", chain)
    write("plan.json", chain_plan)
    refused(command("report", "net.json", "plan.json", "-o", "r.html", "--sizes", sizes), "--sizes")


def test_receivers_are_kept_while_there_is_a_bar_for_each_link(two_sites: dict[str, Any]) -> None:
    trace = bl.simulate(
        bl.Platform.from_dict(two_sites),
        bl.plan(bl.Platform.from_dict(two_sites), "a0", 1 << 20, "chain", segment_bytes=1 << 14),
    )
    links = len({(row["from"], row["to"]) for row in trace.transfers})
    assert links > 1
    kept = bars_of(trace, links)
    assert len(kept) == links
    assert not (kept.columns["target"] == SEVERAL).any()
    assert kept.merged_by == "over one link, of all trees"
