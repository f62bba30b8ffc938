"""The commands as functions: the same results, sizes as numbers or text, one-line refusals."""

from __future__ import annotations

import inspect
import socket
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import broadleaf as bl
from broadleaf.given import sizes_of
from documents import write
from outcome import Command
from stub_types import types

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize("text", ["64KiB", "64 kib", "64k", "65536"])
def test_a_size_may_be_text(text: str, two_sites: dict[str, Any], tmp_path: Path) -> None:
    platform, size = bl.Platform.from_dict(two_sites), 65536
    assert bl.plan(platform, "a0", text) == bl.plan(platform, "a0", size)
    assert bl.plan(platform, "a0", "1MiB", segment_bytes=text).segment_bytes == size
    assert bl.compare(platform, "a0", text).plan.message_bytes == size
    assert bl.makespan_bound_s(platform, "a0", text) == bl.makespan_bound_s(platform, "a0", size)
    assert repr(bl.optimum(platform, "a0", text)) == repr(bl.optimum(platform, "a0", size))
    assert platform.transfer_s("a0", "b0", text) == platform.transfer_s("a0", "b0", size)
    pair = bl.Platform.from_matrices(np.zeros((2, 2)), np.full((2, 2), 1e8))
    assert pair.save_csv(tmp_path / "net.csv", at_bytes=text)
    assert [choice.message_bytes for choice in bl.tune(pair, [2], [text, 7])] == [size, 7]
    assert bl.plan(platform, "a0", np.int64(size)) == bl.plan(platform, "a0", size)


@pytest.mark.parametrize("text", ["64MiX", "", "0", "-1", "1.5", "NaN", "\N{ARABIC-INDIC DIGIT ONE}x"])
def test_what_is_no_size_is_one_line(text: str, two_sites: dict[str, Any]) -> None:
    platform = bl.Platform.from_dict(two_sites)
    for ask in (
        lambda: bl.plan(platform, "a0", text),
        lambda: bl.plan(platform, "a0", 9, segment_bytes=text),
        lambda: bl.optimum(platform, "a0", text),
        lambda: platform.transfer_s("a0", "b0", text),
        lambda: bl.tune(platform, [2], [text]),
        lambda: sizes_of(text),
    ):
        with pytest.raises(ValueError, match=r"size|byte") as caught:
            ask()
        assert type(caught.value) is ValueError
        assert "\n" not in str(caught.value)


def test_sizes_are_named_in_a_refusal(two_sites: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"^segment_bytes: '3 bits' is not a size; write 64KiB"):
        bl.plan(bl.Platform.from_dict(two_sites), "a0", 9, segment_bytes="3 bits")
    with pytest.raises(ValueError, match="give whole bytes"):
        sizes_of([1.5])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("attributes", "fact"),
    [
        ({"latency_s": -1.0}, "-1 is negative"),
        ({"latency_s": float("nan")}, "NaN is not a finite number"),
        ({"bandwidth_bytes_per_s": 0}, "0 is"),
        ({"weight": 3}, "an edge without latency_s"),
        ({"latency_s": "fast"}, "a string"),
        ({"latency_s": object()}, "a Python object"),
    ],
)
def test_a_graphs_edge_is_named(attributes: dict[str, Any], fact: str) -> None:
    for kind in (nx.DiGraph, nx.Graph):
        graph = kind([("x", "y", {"latency_s": 1.0}), ("a", "b", attributes)])
        with pytest.raises(bl.PlatformError) as caught:
            bl.Platform.from_networkx(graph)
        assert fact in str(caught.value)
        assert '("a", "b")' in str(caught.value)
        assert "\n" not in str(caught.value)
    link = {"from": "a", "to": "b", **attributes}
    document = {"format": "broadleaf-platform/1", "name": "p", "port_model": "one-port"}
    if "weight" not in attributes:
        with pytest.raises(bl.PlatformError, match=r'edge \("a", "b"\)'):
            bl.Platform.from_dict({**document, "nodes": [{"id": "a"}, {"id": "b"}], "links": [link]})


def test_a_matrixs_edge_and_a_missing_link_are_named() -> None:
    latency = np.zeros((2, 2))
    latency[1, 0] = -1
    with pytest.raises(bl.PlatformError, match=r'latency_s\[1\]\[0\]: .*edge \("y", "x"\)'):
        bl.Platform.from_matrices(latency, np.ones((2, 2)), ids=["x", "y"])
    one_way = bl.Platform.from_matrices(np.zeros((2, 2)), np.ones((2, 2)), links=[[0, 1], [0, 0]])
    with pytest.raises(bl.PlatformError, match=r'edge \("n1", "n0"\)'):
        one_way.transfer_s("n1", "n0", 1)


def test_report_is_the_commands(command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]) -> None:
    write("net.json", chain)
    write("plan.json", chain_plan)
    assert command("report", "net.json", "plan.json", "--sizes", "1KiB,3000", "-o", "one.html").code == 0
    made = bl.report("net.json", "plan.json", "other.html", sizes=["1KiB", 3000])
    assert Path("one.html").read_bytes() == Path("other.html").read_bytes()
    assert (made.path, made.transfers, made.sizes) == ("other.html", [6], [1024, 3000])
    assert made.bytes == Path("other.html").stat().st_size
    assert 'href="other.html"' in made._repr_html_()
    platform, plan = bl.Platform.load("net.json"), bl.Plan.load("plan.json")
    # A plan of no file is called after its planner.
    assert bl.report(platform, [plan, "plan.json"], "both.html", sizes=[]).transfers == [6, 6]
    page = Path("both.html").read_text()
    assert '"label":"by-hand"' in page
    assert '"label":"plan"' in page


def test_reports_that_are_refused(chain: dict[str, Any], chain_plan: dict[str, Any], tmp_path: Path) -> None:
    platform, plan = bl.Platform.from_dict(chain), bl.Plan.from_dict(chain_plan)
    with pytest.raises(ValueError, match="no plan to report"):
        bl.report(platform, [], tmp_path / "report.html")
    with pytest.raises(OSError, match="folder"):
        bl.report(platform, plan, tmp_path / "absent" / "report.html")
    chain["links"][0]["latency_s"] = 1.0
    with pytest.raises(bl.PlanError, match=r"^a plan for another platform"):
        bl.report(bl.Platform.from_dict(chain), plan, tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("timeline", [False, True])
def test_draw_is_the_commands(
    timeline: bool, command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]
) -> None:
    write("net.json", chain)
    write("plan.json", chain_plan)
    asked = ["--timeline"] if timeline else []
    assert command("draw", "net.json", "plan.json", *asked, "-o", "one.svg").code == 0
    figure = bl.draw("net.json", bl.Plan.load("plan.json"), "other.svg", timeline=timeline)
    assert Path("one.svg").read_bytes() == Path("other.svg").read_bytes()
    assert figure.axes
    with pytest.raises(ValueError, match="figure form"):
        bl.draw("net.json", "plan.json", "figure.txt")
    with pytest.raises(bl.InvalidPlan):
        bl.draw("net.json", bl.Plan.from_dict({**chain_plan, "trees": [{"share": 1.0, "children": {}}]}))


def test_a_program_is_run_from_python(two_sites: dict[str, Any], tmp_path: Path) -> None:
    program = [sys.executable, str(EXAMPLES / "bcast_model.py"), "1000003", "2"]
    for node in two_sites["nodes"]:
        node["host"] = socket.gethostname()
    platform = bl.Platform.from_dict(two_sites)
    ended = bl.run(program, n=3, platform=platform, min_bytes="64KiB", stats=tmp_path / "stats.json")
    assert ended.code == 0
    assert ended.statistics is not None
    assert (ended.statistics["planned"], ended.statistics["min_bytes"]) == (2, 65536)
    assert repr(ended) == "<Ended with exit code 0: 2 broadcasts planned>"
    assert (tmp_path / "stats.json").is_file()


@pytest.mark.parametrize(
    ("program", "settings", "told"),
    [
        ("python x.py", {"n": 2}, "list of words"),
        ([], {"n": 2}, "no program"),
        (["python3"], {"n": 0}, "0 ranks"),
        (["no-such-program"], {"n": 2}, "no-such-program: no such program"),
        (["python3"], {"n": 2, "planner": "zzzz"}, "no planner is called 'zzzz'; see"),
        (["python3"], {"n": 2, "planner": "bionmial"}, r"did you mean 'binomial'\?"),
        (["python3"], {"n": 2, "min_bytes": "much"}, "'much' is not a size"),
    ],
)
def test_runs_that_are_refused(program: Any, settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told) as caught:
        bl.run(program, **settings)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("bed", "settings", "told"),
    [
        ("moon", {}, "no bed is called 'moon'; use local, smpi, namespaces"),
        ("local", {"platform": "net.json"}, "bench local takes no platform"),
        ("smpi", {}, "needs a platform"),
        ("smpi", {"n": 3}, "bench smpi takes no n"),
        ("local", {"sizes": "none"}, "'none' is not a size"),
    ],
)
def test_benches_that_are_refused(bed: Any, settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        bl.bench(bed, **settings)


def test_ranks_are_timed_from_python() -> None:
    rows = bl.bench("local", ["64KiB"], n=2, repetitions=2, rounds=1)
    assert {row.bytes for row in rows} == {65536}
    assert all(len(row.samples_s) == 2 for row in rows)


def test_help_has_the_types() -> None:
    """The compiled core's signatures can have none: its documentation ends in the stub's."""
    told = types()
    public = {name: member for name, member in told.items() if hasattr(bl, name.split(".")[0])}
    renamed = {"random_graph": bl.generate.random, "tiers": bl.generate.tiers, "grid": bl.generate.grid}
    renamed |= {"grid_makespans": bl.grid.makespans, "grid_schedule": bl.grid.schedule}
    things = {name: find(name) for name in public if name not in renamed} | renamed
    assert len(things) > 80
    for name, thing in things.items():
        text = " ".join((inspect.getdoc(thing) or "").split())
        kind = "Types" if told[name].startswith("(") else "Type"
        assert text.endswith(f"{kind}: `{told[name]}`"), name


def find(name: str) -> Any:
    owner, _, member = name.partition(".")
    return getattr(getattr(bl, owner), member) if member else getattr(bl, owner)


@pytest.mark.parametrize("name", ["bench", "draw", "measure", "report", "run"])
def test_functions_have_types(name: str) -> None:
    signature = inspect.signature(getattr(bl, name))
    assert signature.return_annotation is not inspect.Signature.empty
    for parameter in signature.parameters.values():
        assert parameter.annotation is not inspect.Parameter.empty
