"""Platforms, plans and traces at a prompt and in a notebook: how they are shown, drawn and compared."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from typing import Any

import networkx as nx
import pytest

import broadleaf as bl
from documents import one_mesh

COLLECTIVES = ["bcast", "scatter", "allgather", "gather", "reduce", "reduce-scatter", "allreduce"]
PLANNERS = ["flat", "chain", "binomial", "round-robin", "two-tree", "van-de-geijn", "optimal"]


@pytest.fixture
def platform(two_sites: dict[str, Any]) -> bl.Platform:
    return bl.Platform.from_dict(two_sites)


def mesh(nodes: int) -> bl.Platform:
    return bl.Platform.from_dict(one_mesh("mesh", "one-port", [f"n{at}" for at in range(nodes)], 1e8))


def texts(figure: Any) -> set[str]:
    """All that is written in a figure."""
    found = [text.get_text() for axes in figure.axes for text in axes.texts]
    return set(found)


def test_trees_by_hand(chain_plan: dict[str, Any]) -> None:
    (tree,) = bl.Plan.from_dict(chain_plan).trees
    assert (tree.share, tree.root, tree.via) == (1.0, "a", {})
    assert tree.children == {"a": ["b"], "b": ["c"]}
    assert tree.edges == [("a", "b"), ("b", "c")]
    assert repr(tree) == '<Tree from "a": share 1, 2 edges>'
    assert list(tree.to_networkx().edges(data="order")) == [("a", "b", 0), ("b", "c", 0)]


@pytest.mark.parametrize("planner", PLANNERS)
def test_trees_are_those_of_the_document(planner: str) -> None:
    platform = mesh(5)
    plan = bl.plan(platform, "n0", "1MiB", planner=planner)
    written = plan.to_dict()["trees"]
    assert [{"share": tree.share, "children": tree.children} for tree in plan.trees] == [
        {"share": tree["share"], "children": tree["children"]} for tree in written
    ]
    for tree in plan.trees:
        assert nx.is_arborescence(tree.to_networkx())
    graph = plan.to_networkx()
    assert set(graph) == set(platform.hosts)
    # Whatever crosses into a node is the whole message, once.
    for node in platform.hosts:
        entering = sum(graph.edges[edge]["share"] for edge in graph.in_edges(node))
        assert entering == pytest.approx(0 if node == "n0" else 1)
    assert {at for edge in graph.edges for at in graph.edges[edge]["trees"]} == set(range(len(plan.trees)))


def test_relays_and_an_allgathers_roots_stand_in_the_trees() -> None:
    nodes = [{"id": "a"}, {"id": "sw", "kind": "switch"}, {"id": "b"}]
    links = [{"from": one, "to": "sw", "both_ways": True, "bandwidth_bytes_per_s": 1e8} for one in "ab"]
    document = {**one_mesh("star", "one-port", [], 1), "nodes": nodes, "links": links, "meshes": []}
    plan = bl.Plan.from_dict(
        {
            **bl.plan(bl.Platform.from_dict(document), "a", 1000, planner="flat").to_dict(),
            "trees": [{"share": 1.0, "children": {"a": ["b"]}, "via": {"b": ["sw"]}}],
        }
    )
    assert plan.trees[0].via == {"b": ["sw"]}
    assert hash(plan.trees[0]) == hash(bl.Plan.from_dict(plan.to_dict()).trees[0])
    gathered = bl.plan(mesh(3), "n0", 1000, planner="ring", collective="allgather")
    assert {tree.root for tree in gathered.trees} == {"n0", "n1", "n2"}


def sending(trace: bl.Trace) -> set[tuple[str, str]]:
    """The pairs between which a simulation moved something."""
    ends = zip(trace.transfers["from"], trace.transfers["to"], strict=True)
    return {(trace.nodes[source], trace.nodes[target]) for source, target in ends}


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_graphs_point_the_way_the_data_go(collective: str) -> None:
    # A mesh has no relays: the simulator's transfers are the edges.
    platform = mesh(5)
    plan = bl.plan(platform, "n1", "64KiB", collective=collective)
    graph = plan.to_networkx()
    assert set(graph.edges) == sending(bl.simulate(platform, plan))
    assert graph.graph["collective"] == collective
    ways = [*plan.inward, *plan.trees]
    assert {edge for tree in ways for edge in tree.to_networkx().edges} == set(graph.edges)
    # Of an allreduce the shares come in once and go out once.
    assert sum(tree.share for tree in plan.inward) == pytest.approx(float(collective == "allreduce"))
    for tree in ways:
        data = tree.to_networkx()
        leads = data.reverse() if tree.is_inward else data
        assert nx.is_arborescence(leads)
        assert [node for node, parents in leads.in_degree() if not parents] == [tree.root]


def test_graphs_and_pictures_of_an_exchange(two_sites: dict[str, Any]) -> None:
    platform = bl.Platform.from_dict(two_sites)
    plan = bl.plan(platform, "a0", "1KiB", planner="site-trees", collective="allreduce")
    (tree, *_), (way_out, *_) = plan.inward, plan.trees
    head = tree.exchange[0]
    assert (tree.exchange, way_out.exchange) == ([head], [head])
    assert {(tree.root, head), (head, tree.root)} <= set(tree.hops)
    assert not {(tree.root, head), (head, tree.root)} & set(way_out.hops)
    used = [tree.hops for tree in (*plan.inward, *plan.trees)]
    assert set(plan.to_networkx().edges) == {hop for hops in used for hop in hops}
    titles = {axes.get_title() for axes in plan.plot().axes}
    part = f"share {tree.share:.3g}, "
    assert f"{part}in to {tree.root} and 1 more, which exchange" in titles
    assert f"{part}out from {tree.root} and 1 more" in titles
    trace = bl.simulate(platform, plan)
    assert sending(trace) <= set(plan.to_networkx().edges)
    assert {(tree.root, head), (head, tree.root)} <= sending(trace)


@pytest.mark.parametrize(
    ("collective", "told"),
    [
        ("bcast", 'bcast of 4 KiB from "n1"'),
        ("scatter", 'scatter of 4 KiB blocks from "n1"'),
        ("allgather", "allgather of 4 KiB blocks"),
        ("gather", 'gather of 4 KiB blocks to "n1"'),
        ("reduce", 'reduce of 4 KiB to "n1"'),
        ("reduce-scatter", "reduce-scatter of 4 KiB blocks"),
        ("allreduce", "allreduce of 4 KiB"),
    ],
)
def test_every_collective_in_words_and_pictures(collective: str, told: str) -> None:
    platform = mesh(3)
    planner = "ring" if collective in ("allgather", "reduce-scatter") else "flat"
    comparison = bl.compare(platform, "n1", 4096, planner=planner, collective=collective)
    plan = comparison.plan
    assert re.match(rf'<Plan "{planner}" on "mesh": {told}, [13] trees?, segments', repr(plan))
    assert f'<Comparison of 1 planner, {told} on "mesh": "{planner}" is the fastest' in repr(comparison)
    plain = told.replace('"', "")
    assert f"<td>{plain}</td>" in plan._repr_html_()
    assert f"<b>{plain} on mesh</b>" in comparison._repr_html_()
    for figure in (plan.plot(platform), bl.simulate(platform, plan).plot()):
        assert plain in figure.get_suptitle()
    titles = [axes.get_title() for axes in plan.plot().axes]
    inward = collective in ("gather", "reduce", "reduce-scatter", "allreduce")
    assert any("in to n" in title for title in titles) == inward
    assert any("out from n1" in title for title in titles) == (collective == "allreduce")


def test_arrowheads_by_hand() -> None:
    reduce = bl.plan(mesh(2), "n1", 100, planner="flat", collective="reduce")
    (axes,) = reduce.plot().axes
    # The root is on the left, its child on the right, and the head between them points to the left.
    drawn: list[Any] = list(axes.collections)
    places = sorted(x for each in drawn for x, _ in each.get_offsets().tolist())
    assert len(places) == 3
    (heads,) = (each for each in drawn if each.get_offsets().tolist()[0][0] == places[1])
    outline = heads.get_paths()[0].vertices
    assert all(abs(y) < 1e-9 for x, y in outline if x == outline[:, 0].min())


def test_predicted_is_the_documents(platform: bl.Platform, chain_plan: dict[str, Any]) -> None:
    plan = bl.plan(platform, "a0", "1MiB")
    document = plan.to_dict()["predicted"]
    for name in ("makespan_s", "throughput_bytes_per_s", "bound_s", "bound_bytes_per_s"):
        assert getattr(plan.predicted, name) == document.get(name)
    assert plan.predicted.x_bound == document["makespan_s"] / document["bound_s"]
    nothing = bl.Plan.from_dict(chain_plan).predicted
    assert (nothing.makespan_s, nothing.bound_s, nothing.x_bound) == (None, None, None)
    assert repr(nothing) == "<Predicted: -, ->"


def test_plans_draw_their_trees(platform: bl.Platform) -> None:
    plan = bl.plan(platform, "a0", "1MiB", planner="chain")
    assert texts(plan.plot()) == {"a0", "a1", "b0"}
    assert {text.get_text() for text in plan.plot(platform).legends[0].get_texts()} == {"A", "B"}
    assert plan.plot()._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("children", "edge"),
    [
        ({"a": ["b"], "b": ["c", "a"]}, '("b", "a")'),
        ({"a": ["b", "c"], "b": ["c"]}, '("a", "c")|("b", "c")'),
        ({"a": ["b"], "c": ["d"]}, '("c", "d")'),
    ],
)
def test_what_is_no_tree_is_refused_by_its_edge(
    children: dict[str, list[str]], edge: str, chain_plan: dict[str, Any]
) -> None:
    plan = bl.Plan.from_dict({**chain_plan, "trees": [{"share": 1.0, "children": children}]})
    with pytest.raises(bl.PlanError) as caught:
        plan.plot()
    assert any(each in str(caught.value) for each in edge.split("|"))
    assert "\n" not in str(caught.value)
    # A notebook shows the reason in the picture's place.
    assert "the edge (&quot;" in plan._repr_html_()


def test_platforms_draw_clusters_rates_and_nodes(platform: bl.Platform) -> None:
    shown = texts(platform.plot())
    assert {"a0", "a1", "b0", "sw"} <= shown
    assert {"A (x) 2 nodes", "B (y) 1 node"} <= shown
    assert any("125 MB/s, 5 ms" in text and "through wan" in text for text in shown)


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        (1, "1 node"),
        (2, "2 nodes at 100 MB/s each"),
        (65, "65 nodes at 100 MB/s each"),
        (1000, "n0 … n63 64 nodes at 100 MB/s each"),
    ],
)
def test_platforms_of_any_size_are_drawn(nodes: int, told: str) -> None:
    shown = texts(mesh(nodes).plot())
    assert told in shown
    assert ("n0" in shown) == (nodes <= 64)


def test_links_without_a_limit_are_drawn() -> None:
    nodes = ["a", "b", "c"]
    document = {**one_mesh("free", "link-capacity", nodes, 1e8), "meshes": []}
    document["links"] = [{"from": "a", "to": each, "both_ways": True, "latency_s": 1e-3} for each in "bc"]
    assert {"a", "b", "c"} <= texts(bl.Platform.from_dict(document).plot())


def test_traces_draw_and_know_what_they_are_of(chain: dict[str, Any], chain_plan: dict[str, Any]) -> None:
    platform, plan = bl.Platform.from_dict(chain), bl.Plan.from_dict(chain_plan)
    trace = bl.simulate(platform, plan)
    assert (trace.platform, trace.plan) == (platform, plan)
    (axes,) = trace.plot().axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b", "c"]


def test_transfers_as_a_frame(chain: dict[str, Any], chain_plan: dict[str, Any]) -> None:
    trace = bl.simulate(bl.Platform.from_dict(chain), bl.Plan.from_dict(chain_plan))
    frame = trace.to_pandas()
    assert list(frame.columns) == list(trace.transfers.dtype.names)
    assert len(frame) == 6
    assert frame.groupby(["from", "to"])["bytes"].sum().to_dict() == {("a", "b"): 3000, ("b", "c"): 3000}
    assert frame["arrival_s"].max() == trace.makespan_s


def test_a_frame_without_pandas_is_one_line() -> None:
    script = (
        "import sys; sys.modules['pandas'] = None\n"
        "import broadleaf as bl\n"
        "p = bl.generate.random(3, 1.0)\n"
        "bl.simulate(p, bl.plan(p, 'n0', 1000)).to_pandas()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-1]
    assert last == "ModuleNotFoundError: a frame of the transfers needs pandas; pip install pandas"


@pytest.mark.parametrize("planner", PLANNERS)
def test_plans_are_pickled_copied_and_compared(planner: str) -> None:
    platform = mesh(6)
    plan = bl.plan(platform, "n0", "1MiB", planner=planner)
    other = bl.plan(platform, "n1", "1MiB", planner=planner)
    for again in (pickle.loads(pickle.dumps(plan)), copy.copy(plan), copy.deepcopy(plan)):
        assert again == plan
        assert hash(again) == hash(plan)
        assert again != other
        bl.check(platform, again)
    assert {plan: "first", other: "second"}[copy.deepcopy(plan)] == "first"
    assert plan != "plan"


def test_a_pickled_plan_is_as_small_as_its_file() -> None:
    # A large regular plan is kept as its pattern, not as 255 trees with a period.
    plan = bl.plan(mesh(256), "n0", "64MiB", planner="round-robin", segment_bytes="64KiB")
    assert len(plan.trees) == 255
    kept = pickle.dumps(plan)
    assert len(kept) < 20_000
    assert pickle.loads(kept) == plan


@pytest.mark.parametrize("collective", ["bcast", "allreduce"])
def test_traces_and_comparisons_are_pickled_copied_and_compared(
    collective: str, two_sites: dict[str, Any], platform: bl.Platform
) -> None:
    comparison = bl.compare(platform, "a0", "64KiB", collective=collective)
    other = bl.compare(platform, "a0", "64KiB", planner="chain", collective=collective)
    pairs: list[tuple[Any, Any]] = [
        (comparison, other),
        (comparison.tried[0], comparison.tried[1]),
        (bl.simulate(platform, comparison.plan), bl.simulate(platform, other.plan)),
    ]
    for thing, another in pairs:
        again = pickle.loads(pickle.dumps(thing))
        assert again == thing
        assert (hash(again), repr(again)) == (hash(thing), repr(thing))
        assert copy.copy(thing) == copy.deepcopy(thing) == thing
        assert thing != another
        assert thing != "thing"
    kept = pickle.loads(pickle.dumps(comparison))
    assert (kept.plan, kept.tried, kept.passed_over) == (
        comparison.plan,
        comparison.tried,
        comparison.passed_over,
    )
    trace = bl.simulate(platform, comparison.plan)
    assert pickle.loads(pickle.dumps(trace)).transfers.tolist() == trace.transfers.tolist()
    # A plan that names no platform, over a slower link.
    anywhere = bl.Plan.from_dict({**comparison.plan.to_dict(), "platform_digest": ""})
    two_sites["links"][0]["latency_s"] = 1.0
    slower = bl.Platform.from_dict(two_sites)
    assert bl.simulate(slower, anywhere) != bl.simulate(platform, anywhere)


def test_an_optimum_is_pickled_copied_and_compared(platform: bl.Platform) -> None:
    optimum = bl.optimum(platform, "a0", "64KiB")
    again = pickle.loads(pickle.dumps(optimum))
    assert again == optimum == copy.copy(optimum) == copy.deepcopy(optimum)
    assert hash(again) == hash(optimum)
    assert (again.trees, again.prices, again.link_load) == (optimum.trees, optimum.prices, optimum.link_load)
    assert (optimum.root, optimum.segment_bytes) == ("a0", 65536)
    assert optimum != bl.optimum(platform, "a1", "64KiB")
    assert optimum != bl.optimum(platform, "a0", "32KiB")
    assert optimum != bl.optimum(platform, "a0", "64KiB", gap=0.5)


def test_an_optimum_in_a_notebook(platform: bl.Platform) -> None:
    optimum = bl.optimum(platform, "a0", "64KiB")
    page = optimum._repr_html_()
    assert "Throughput from a0 in segments of 64 KiB" in page
    dearest = max(optimum.prices, key=lambda name: optimum.prices[name])
    assert f"<td>{dearest}</td><td>{optimum.prices[dearest]:.3f}</td>" in page
    free = {**one_mesh("free", "link-capacity", ["a", "b"], 1e8), "meshes": []}
    free["links"] = [{"from": "a", "to": "b", "both_ways": True, "latency_s": 1e-3}]
    assert "nothing limits it" in bl.optimum(bl.Platform.from_dict(free), "a", 1000)._repr_html_()


def test_a_misspelt_planner_is_named(platform: bl.Platform) -> None:
    for call in (bl.plan, bl.compare):
        with pytest.raises(bl.PlanError, match=r"^no planner is called 'optimla'; did you mean 'optimal'\?$"):
            call(platform, "a0", 1000, planner="optimla")
        with pytest.raises(bl.PlanError, match=r"^no planner is called 'x'; see broadleaf planners$"):
            call(platform, "a0", 1000, planner="x")


def test_platforms_are_pickled_copied_and_compared(two_sites: dict[str, Any]) -> None:
    platform = bl.Platform.from_dict(two_sites)
    for again in (pickle.loads(pickle.dumps(platform)), copy.copy(platform), copy.deepcopy([platform])[0]):
        assert again == platform
        assert again.digest == platform.digest
        assert again.to_dict() == platform.to_dict()
        assert len({again, platform}) == 1
    two_sites["links"][0]["latency_s"] = 1.0
    assert bl.Platform.from_dict(two_sites) != platform


def test_one_informative_line(platform: bl.Platform) -> None:
    assert repr(platform) == '<Platform "two-sites": 3 hosts in 2 clusters, 1 switch, one-port>'
    assert repr(mesh(1)) == '<Platform "mesh": 1 host, one-port>'
    plan = bl.plan(platform, "a0", "1MiB", planner="chain", segment_bytes="64KiB")
    assert re.fullmatch(
        r'<Plan "chain" on "two-sites": bcast of 1 MiB from "a0", 1 tree, segments of 64 KiB, '
        r"[0-9.]+ ms, [0-9.]+ x the bound>",
        repr(plan),
    )
    trace = bl.simulate(platform, plan)
    assert re.fullmatch(
        r'<Trace of "chain" on "two-sites": 32 transfers in [0-9.]+ ms, bound [0-9.]+ ms>', repr(trace)
    )
    comparison = bl.compare(platform, "a0", "1MiB", planner="chain", segment_bytes="64KiB")
    assert re.fullmatch(r'<Tried "chain": [0-9.]+ ms in segments of 64 KiB>', repr(comparison.tried[0]))
    optimum = bl.optimum(platform, "a0", "64KiB")
    assert re.fullmatch(r"<Optimum: [0-9.]+ MB/s by \d+ trees?, at most [0-9.]+ MB/s>", repr(optimum))
    hostile = bl.Platform.from_dict(one_mesh("a\nb\x1b[2J", "one-port", ["n\n0", "n1"], 1e8))
    for thing in (hostile, bl.plan(hostile, "n\n0", 10), bl.simulate(hostile, bl.plan(hostile, "n\n0", 10))):
        assert repr(thing).isprintable()


def test_a_notebook_shows_the_trees_and_the_bound(platform: bl.Platform) -> None:
    plan = bl.plan(platform, "a0", "1MiB", planner="chain")
    page = plan._repr_html_()
    assert page.count("<svg") == page.count("</svg>") == 1
    for word in ("a0", "a1", "b0", "chain on two-sites", "<td>bound</td>", f"{plan.predicted.x_bound:.3f}"):
        assert word in page
    assert "125 MB/s" in platform._repr_html_()
    assert "data:image/png;base64," in bl.simulate(platform, plan)._repr_html_()
    comparison = bl.compare(platform, "a0", "1MiB")
    table = comparison._repr_html_()
    assert all(tried.planner in table for tried in comparison.tried)
    assert "no plan is faster" in table


def test_names_in_a_notebook_are_text() -> None:
    hostile = bl.Platform.from_dict(one_mesh("<script>x", "one-port", ["<b>", "n1"], 1e8))
    for thing in (hostile, bl.plan(hostile, "<b>", 10), bl.compare(hostile, "<b>", 10)):
        page = thing._repr_html_()
        assert "<script>" not in page
        assert "<b>&lt;" in page or "&lt;b&gt;" in page


def test_many_nodes_are_shown_as_a_picture_of_points() -> None:
    platform = mesh(200)
    page = bl.plan(platform, "n0", "1MiB", planner="binomial")._repr_html_()
    assert "data:image/png;base64," in page
    assert len(page) < 1 << 20
