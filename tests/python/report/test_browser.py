"""The report in a real Chromium: drawing, motion, keys and clicks, and axe's findings."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

import broadleaf as bl
from documents import one_mesh, write
from outcome import Command
from report.conftest import Open

ROOT = Path(__file__).resolve().parents[3]
GRID5000 = ROOT / "platforms" / "grid5000-88.json"
MILLION = 1_000_000


@pytest.fixture(scope="module")
def grid5000(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of two plans on 88 nodes, with every planner at two sizes."""
    from broadleaf.cli import exit_code

    folder = tmp_path_factory.mktemp("grid5000")
    platform = bl.Platform.load(GRID5000)
    names = {"chain": 1 << 18, "van-de-geijn": None}
    files = [str(folder / f"{name}.json") for name in names]
    for file, (name, segment) in zip(files, names.items(), strict=True):
        bl.plan(platform, "c0-0", 16 << 20, planner=name, segment_bytes=segment).save(file)
    page = folder / "report.html"
    options = ["--sizes", "1MiB,16MiB", "--time-limit", "0.2", "-o", str(page)]
    assert exit_code(["report", str(GRID5000), *files, *options]) == 0
    return page


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """4,096 nodes in 64 clusters, and a trace of more than a million transfers."""
    from broadleaf.cli import exit_code

    folder = tmp_path_factory.mktemp("large")
    link = {"latency_s": 5e-5, "bandwidth_bytes_per_s": 1.25e8}
    nodes = [
        {"id": f"c{c}-{i}", "cluster": f"C{c}", "site": f"S{c // 8}"} for c in range(64) for i in range(64)
    ]
    members = [[f"c{c}-{i}" for i in range(64)] for c in range(64)]
    far = {"latency_s": 5e-3, "bandwidth_bytes_per_s": 6e7}
    document = {
        "format": "broadleaf-platform/1",
        "name": "large",
        "port_model": "one-port",
        "nodes": nodes,
        "meshes": [{"nodes": names, "link": link} for names in members],
        "bridges": [
            {"from_cluster": f"C{a}", "to_cluster": f"C{b}", "both_ways": True, "link": far}
            for a in range(64)
            for b in range(a)
        ],
    }
    write(folder / "net.json", document)
    platform = bl.Platform.load(folder / "net.json")
    plan = bl.plan(platform, "c0-0", 256 << 20, planner="magpie", segment_bytes=1 << 20)
    plan.save(folder / "plan.json")
    page = folder / "report.html"
    arguments = [str(folder / "net.json"), str(folder / "plan.json"), "--sizes", "none", "-o", str(page)]
    assert exit_code(["report", *arguments]) == 0
    return page


@pytest.fixture
def chain_page(command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]) -> Path:
    write("net.json", chain)
    write("plan.json", chain_plan)
    outcome = command("report", "net.json", "plan.json", "-o", "report.html")
    assert outcome.code == 0, outcome
    return Path("report.html")


def plans_of(page: Path) -> list[dict[str, Any]]:
    """The plans in a page's data."""
    found = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page.read_text(), re.DOTALL)
    assert found
    plans: list[dict[str, Any]] = json.loads(found[1])["plans"]
    return plans


def scrub(page: Page, part: float) -> None:
    """Moves the scrubber to a part of the makespan, in its steps of a thousandth."""
    page.locator("#time").fill(str(round(1000 * part)))


def under_way(page: Page) -> int:
    return int(page.locator("#map").get_attribute("data-under-way") or -1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_draws_without_a_word_on_the_console(
    scheme: str, grid5000: Path, open_page: Open, screenshots: Path
) -> None:
    page = open_page(grid5000, scheme)
    assert page.locator("#map .node").count() == 88
    assert page.locator("#map .cluster").count() == 6
    assert page.locator("#map .site").count() == 3
    # Six clusters are all bridged with each other: 15 pairs; a chain has 87 edges.
    assert page.locator("#map .ties .tie").count() == 15
    assert page.locator("#map .edge").count() == 87
    assert page.locator("#busy li").count() == 16
    assert page.locator("#sizes .limit").count() == 1
    assert "16 MiB from c0-0" in page.locator("#subtitle").inner_text()
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(17, 22, 28)" if scheme == "dark" else "rgb(246, 247, 249)")
    scrub(page, 0.4)
    page.screenshot(path=screenshots / f"grid5000-{scheme}.png", full_page=True)


def test_two_plans_race_on_one_clock(grid5000: Path, open_page: Open) -> None:
    """The chain ends after 336 ms, van de Geijn's plan after 287 ms: the clock runs to the later end."""
    page = open_page(grid5000)
    assert page.locator("#rival-map .node").count() == 88
    slower, faster = (plan["makespan_s"] for plan in plans_of(grid5000))
    scrub(page, 1)
    assert page.locator("#now").inner_text() == f"{1e3 * slower:.4g} ms of {1e3 * slower:.4g} ms"
    assert page.locator("#rival-caption").inner_text().endswith(f"complete at {1e3 * faster:.4g} ms")
    scrub(page, 0.5 * (slower + faster) / slower)
    assert re.search(r"chain: \d\d of 88 hosts", page.locator("#map-caption").inner_text())
    assert "van-de-geijn: all" in page.locator("#rival-caption").inner_text()
    ratio = f"van-de-geijn is {slower / faster:.3g} times as fast as chain"
    assert ratio in page.locator("#verdict li").first.inner_text()
    # Both maps zoom and pan together.
    page.locator("#map svg").hover(position={"x": 30, "y": 30})
    page.mouse.wheel(0, -300)
    views = [page.locator(f"{name} svg > g").get_attribute("transform") for name in ("#map", "#rival-map")]
    assert views[0] == views[1]
    # The other plan takes the first place, and the first stays beside it.
    page.locator("#plan").select_option("1")
    expect(page.locator("#rival")).to_have_value("0")
    page.locator("#rival").select_option(label="no other")
    assert page.locator("#rival-map").is_hidden()
    scrub(page, 1)
    assert page.locator("#now").inner_text().endswith(f"of {1e3 * faster:.4g} ms")


def test_found_nodes_are_marked(grid5000: Path, open_page: Open) -> None:
    page = open_page(grid5000)
    page.locator("#find").fill("C0-1")
    # c0-1, and c0-10 to c0-19.
    assert page.locator("#map .node.found").count() == 11
    assert page.locator("#found").inner_text() == "11 nodes marked on the map and in the timeline."
    page.locator("#find").fill("absent")
    assert page.locator("#map .node.found").count() == 0
    assert page.locator("#found").inner_text() == "No node has that in its name."


def test_rows_by_rank(command: Command, open_page: Open) -> None:
    """The file's order mixes the clusters; sorted by rank, rows have the file's order."""
    names = ["b1", "a1", "b0", "a0"]
    document = one_mesh("mixed", "one-port", names, 1e8)
    for node in document["nodes"]:
        node["cluster"] = node["id"][0]
    write("net.json", document)
    assert command("plan", "net.json", "--size", "1MiB", "--planner", "chain", "-o", "plan.json").code == 0
    assert command("report", "net.json", "plan.json", "-o", "r.html", "--sizes", "none").code == 0
    page = open_page(Path("r.html"))
    page.get_by_label("by rank").check()
    assert page.locator("#timeline").get_attribute("data-rows") == "4"
    page.locator("#timeline").focus()
    said = []
    for _ in names:
        said.append(page.locator("#row-about").inner_text().split(":")[0])
        page.keyboard.press("ArrowDown")
    assert said == ["0 b1", "1 a1", "2 b0", "3 a0"]


def test_more_than_all_the_time_is_explained(command: Command, open_page: Open) -> None:
    """The pipe takes 1 s for 1 MB, the link 10 ms: the host has all, and the pipe is still busy."""
    link = {"from": "a", "to": "b", "bandwidth_bytes_per_s": 1e8, "uses": ["wan"]}
    document = {
        "format": "broadleaf-platform/1",
        "name": "pipe",
        "port_model": "one-port",
        "nodes": [{"id": "a"}, {"id": "b"}],
        "shared": [{"id": "wan", "bandwidth_bytes_per_s": 1e6}],
        "links": [link],
    }
    write("net.json", document)
    asked = ["--size", "1MB", "--segment", "1MB", "--planner", "chain", "-o", "plan.json"]
    assert command("plan", "net.json", *asked).code == 0
    assert command("report", "net.json", "plan.json", "-o", "r.html", "--sizes", "none").code == 0
    page = open_page(Path("r.html"))
    assert "More than 100 %: shared pipe wan needs longer" in page.locator("#busy-hint").inner_text()
    bars = page.locator("#busy .track i").evaluate_all("bars => bars.map(bar => bar.style.width)")
    assert bars == ["100%", "1%", "1%"]
    assert page.locator("#map .tie.limiting").count() == 1
    assert (
        "The shared pipe wan is the limit: it is busy for 1 s, longer than the broadcast"
        in page.locator("#verdict").inner_text()
    )


def test_on_paper(grid5000: Path, open_page: Open) -> None:
    """In print the page is light, without buttons, and its tables are open and complete."""
    page = open_page(grid5000, "dark")
    paper = page.pdf(prefer_css_page_size=True, print_background=True)
    assert paper.startswith(b"%PDF")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", paper)) <= 6
    # As it was before.
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    assert page.locator("main").evaluate("main => main.scrollWidth") <= 700
    for hidden in ("#play", "#plan", "#find", "#zoom-in", "#open-all"):
        assert page.locator(hidden).is_hidden(), hidden
    table = page.locator("#sizes-table .scroll")
    assert table.evaluate("box => box.scrollHeight <= box.clientHeight")
    assert table.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#sizes-table").get_attribute("open") is None


def test_scrubbing_moves_the_picture(chain_page: Path, open_page: Open, screenshots: Path) -> None:
    # By hand: a sends segment i at i ms, b at 2 + i ms, each arrives 2 ms later; all is done at 6 ms.
    page = open_page(chain_page)
    pictures, fills = [], []
    for time_ms, moving in ((0.5, 1), (2.5, 3), (4.5, 2), (5.5, 1)):
        scrub(page, time_ms / 6)
        assert under_way(page) == moving, time_ms
        pictures.append(page.evaluate("document.querySelector('#map canvas').toDataURL()"))
        fills.append(page.locator("#map .node circle").last.get_attribute("fill"))
    assert len(set(pictures)) == 4
    # c has nothing before 4 ms, then a third, and at 5 ms two thirds.
    assert fills[0] == fills[1] != fills[2] != fills[3]
    assert page.locator("#now").inner_text() == "5.502 ms of 6 ms"
    scrub(page, 1)
    assert page.locator("#map .node circle").last.get_attribute("fill") == page.locator(
        "#map .node circle"
    ).first.get_attribute("fill")
    page.screenshot(path=screenshots / "chain.png", full_page=True)


def test_playing_runs_to_the_end(chain_page: Path, open_page: Open) -> None:
    page = open_page(chain_page)
    page.locator("#speed").select_option(label="fast")
    page.locator("#play").press("Enter")
    expect(page.locator("#play")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#now")).to_have_text("6 ms of 6 ms", timeout=15_000)
    expect(page.locator("#play")).to_have_text("Play")


def test_a_click_on_a_node_shows_its_sends(chain_page: Path, open_page: Open) -> None:
    page = open_page(chain_page)
    page.locator("#map .node", has_text="b").click()
    assert page.locator("#node-name").inner_text() == "b"
    sends = page.locator("#node-about table").first
    assert sends.locator("caption").inner_text() == "Sends: 3 transfers, 2.93 KiB"
    rows = [row.split("\t") for row in sends.locator("tbody tr").all_inner_texts()]
    assert rows == [
        ["c", "0", "2 ms", "3 ms"],
        ["c", "1", "3 ms", "4 ms"],
        ["c", "2", "4 ms", "5 ms"],
    ]
    assert "complete at 4 ms" in page.locator("#node-about").inner_text()


def test_keys_do_all_that_the_mouse_does(chain_page: Path, open_page: Open) -> None:
    page = open_page(chain_page)
    root = page.locator("#map .node", has_text="a")
    root.focus()
    # The arrows lead along the map to the other nodes; their places depend on the layout.
    at = root.locator("circle").bounding_box()
    other = page.locator("#map .node", has_text="b").locator("circle").bounding_box()
    assert at is not None
    assert other is not None
    across = abs(other["x"] - at["x"]) > abs(other["y"] - at["y"])
    key = (
        ("Right" if other["x"] > at["x"] else "Left") if across else "Down" if other["y"] > at["y"] else "Up"
    )
    page.keyboard.press(f"Arrow{key}")
    page.keyboard.press("Enter")
    assert page.locator("#node-name").inner_text() == "b"
    page.locator("#time").focus()
    page.keyboard.press("End")
    assert page.locator("#now").inner_text() == "6 ms of 6 ms"
    page.locator("#timeline").focus()
    for pressed in ("ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(pressed)
    assert page.locator("#node-name").inner_text() == "c"
    assert "complete at 6 ms" in page.locator("#row-about").inner_text()
    page.keyboard.press("ArrowLeft")
    assert page.locator("#now").inner_text() == "5.94 ms of 6 ms"
    page.locator("#find").fill("a")
    assert page.locator("#node-name").inner_text() == "a"


def test_rows_by_link(chain_page: Path, open_page: Open) -> None:
    page = open_page(chain_page)
    page.get_by_label("by link").check()
    assert page.locator("#timeline").get_attribute("data-rows") == "2"
    # The longest held is first; of equals, the first to begin.
    assert page.locator("#row-about").inner_text() == "a to b: 3 transfers sent, busy 50 % of the time"


def test_another_plan_is_shown_when_chosen(grid5000: Path, open_page: Open, screenshots: Path) -> None:
    page = open_page(grid5000)
    page.locator("#plan").select_option(label="van-de-geijn (van-de-geijn)")
    expect(page.locator("#facts")).to_contain_text("van-de-geijn")
    # 88 trees, of which twelve have a colour.
    assert page.locator("#trees input").count() == 12
    assert "12 of 88 trees" in page.locator("#trees").inner_text()
    page.locator("#trees input").first.uncheck()
    scrub(page, 0.5)
    page.screenshot(path=screenshots / "van-de-geijn.png", full_page=True)


def test_4096_nodes_and_a_million_transfers(large: Path, open_page: Open, screenshots: Path) -> None:
    assert large.stat().st_size < 3 * 2**20
    page = open_page(large)
    told = page.locator("#told").inner_text()
    assert "1,048,320 transfers are drawn as" in told
    assert page.locator("#map .cluster").count() == 64
    assert page.locator("#map .node").count() == 0
    assert page.locator("#timeline").get_attribute("data-rows") == "64"
    # Trees are drawn before the closed clusters, so they do not cover the names.
    drawn = page.locator("#map svg > g > g").evaluate_all("groups => groups.map(group => group.classList[0])")
    assert drawn.index("edges") < drawn.index("clusters") < drawn.index("names")
    scrub(page, 0.4)
    # A closed cluster fills up as its nodes do, in the colour of a full node.
    ring = page.locator("#map .progress").first
    assert ring.evaluate("ring => getComputedStyle(ring).fill") == "rgb(31, 122, 77)"
    page.screenshot(path=screenshots / "large.png", full_page=True)
    page.get_by_role("button", name="Cluster C9, 64 nodes: enlarge").focus()
    page.keyboard.press("Enter")
    assert page.locator("#map .node").count() == 64
    # The trees inside the open cluster show through it.
    fills = page.locator("#map .group .cluster").evaluate_all(
        "all => all.map(each => getComputedStyle(each).fill)"
    )
    assert fills.count("none") == 1
    page.locator("#map .node").first.click()
    # Magpie: the first of a cluster has it from the root and gives it to others of its cluster.
    assert page.locator("#node-about table").count() == 2
    page.locator("#timeline").focus()
    page.keyboard.press("Enter")
    assert page.locator("#timeline").get_attribute("data-rows") == "128"
    page.screenshot(path=screenshots / "large-cluster.png", full_page=True)
    page.keyboard.press("Escape")
    assert page.locator("#map .node").count() == 0


def test_limiting_links_are_red_and_nodes_have_short_names(
    command: Command, open_page: Open, tmp_path: Path
) -> None:
    beds = ROOT / "testbeds/namespaces/two-clusters.json"
    assert command("plan", str(beds), "--size", "16MiB", "--planner", "flat", "-o", "flat.json").code == 0
    assert command("report", str(beds), "flat.json", "-o", "r.html", "--sizes", "none").code == 0
    page = open_page(Path("r.html"))
    assert "The link a0 to b0 and 3 more are the limit" in page.locator("#verdict").inner_text()
    # The four links are one tie of the map.
    assert page.locator("#map .limiting").count() == 1
    assert "in red" in page.locator("#map-legend").inner_text()
    # Of 64 nodes all have names, whole or without what all of their cluster begin with.
    names = [f"cluster-{c}-{i}" for c in range(4) for i in range(16)]
    link = {"bandwidth_bytes_per_s": 1e9}
    document = {
        "format": "broadleaf-platform/1",
        "name": "four",
        "port_model": "one-port",
        "nodes": [{"id": name, "cluster": name.rpartition("-")[0]} for name in names],
        "meshes": [{"nodes": names, "link": link}],
    }
    write("net.json", document)
    assert command("plan", "net.json", "--size", "1MiB", "--planner", "flat", "-o", "plan.json").code == 0
    assert (
        command("report", "net.json", "plan.json", "plan.json", "-o", "r.html", "--sizes", "none").code == 0
    )
    page = open_page(Path("r.html"))
    shown = page.locator("#map .node text").evaluate_all(
        "texts => texts.filter(text => text.getAttribute('display') !== 'none').map(text => text.textContent)"
    )
    assert shown == [str(i) for _ in range(4) for i in range(16)]


def test_measured_beside_predicted(
    command: Command, chain: dict[str, Any], chain_plan: dict[str, Any], open_page: Open
) -> None:
    write("net.json", chain)
    write("plan.json", chain_plan)
    row = {
        "communicator": "MPI_COMM_WORLD",
        "ranks": 3,
        "root": 0,
        "bytes": 3000,
        "planned": 4,
        "planner": "chain",
        "segment_bytes": 1000,
        "seconds": 0.036,
        "fastest_s": 0.008,
    }
    write("stats.json", {"format": "broadleaf-stats/1", "broadcasts": [row, {**row, "planned": 0}]})
    outcome = command("report", "net.json", "plan.json", "--stats", "stats.json", "-o", "report.html")
    assert outcome.code == 0, outcome
    page = open_page(Path("report.html"))
    cells = page.locator("#measured tbody td").all_inner_texts()
    # Predicted by hand: 6 ms, as the plan.
    assert cells == ["2.93 KiB", "chain", "rank 0", "4", "9 ms", "8 ms", "6 ms", "1.5"]
    assert page.locator("#sizes .measured").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", ["grid5000", "large"])
def test_axe_finds_nothing_serious(
    which: str, scheme: str, request: pytest.FixtureRequest, open_page: Open
) -> None:
    page = open_page(request.getfixturevalue(which), scheme)
    if which == "grid5000":
        page.locator("#map .node").nth(3).press("Enter")
        page.locator("#sizes-table summary").click()
    found = Axe().run(page).response["violations"]
    serious = [
        (each["id"], [node["html"] for node in each["nodes"][:3]])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_a_narrow_window_has_no_sideways_scrolling(grid5000: Path, open_page: Open) -> None:
    page = open_page(grid5000, width=420)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_names_that_are_markup(command: Command, open_page: Open) -> None:
    """After `<!--<script` a browser would not find the end of the data."""
    names = ["<!--<script>", "</script>", '"', "<b>", "x" * 300]
    document = {
        "format": "broadleaf-platform/1",
        "name": "y" * 300,
        "port_model": "one-port",
        "nodes": [{"id": name, "cluster": "<i>" if at else "z" * 200} for at, name in enumerate(names)],
        "meshes": [{"nodes": names, "link": {"bandwidth_bytes_per_s": 1e8}}],
    }
    write("net.json", document)
    asked = ["--root", names[0], "--size", "64KiB", "--planner", "chain", "-o", "plan.json"]
    assert command("plan", "net.json", *asked).code == 0
    outcome = command("report", "net.json", "plan.json", "-o", "report.html", "--sizes", "1KiB,64KiB")
    assert outcome.code == 0, outcome
    page = open_page(Path("report.html"), width=400)
    assert page.locator("#map .node").count() == len(names)
    page.locator("#find").fill(names[-1])
    assert page.locator("#node-name").inner_text() == names[-1]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_single_host(command: Command, open_page: Open) -> None:
    document = {"format": "broadleaf-platform/1", "name": "one", "port_model": "one-port"}
    write("net.json", {**document, "nodes": [{"id": "a"}]})
    asked = ["--root", "a", "--size", "64KiB", "--planner", "flat", "-o", "plan.json"]
    assert command("plan", "net.json", *asked).code == 0
    assert command("report", "net.json", "plan.json", "-o", "report.html", "--sizes", "1KiB,1MiB").code == 0
    page = open_page(Path("report.html"))
    assert "nothing to draw" in page.locator("#sizes").inner_text()
    assert "NaN" not in page.locator("body").inner_text()


def test_curves_are_named_where_they_end(command: Command, chain: dict[str, Any], open_page: Open) -> None:
    """Only the curves' planners are listed beside them, and no line goes on where a planner has no time."""
    write("net.json", chain)
    platform = bl.Platform.load("net.json")
    bl.plan(platform, "a", 1 << 20, planner="chain").save("chain.json")
    bl.plan(platform, "a", 1 << 10, planner="flat", collective="scatter").save("scatter.json")
    arguments = ["net.json", "chain.json", "scatter.json", "-o", "report.html", "--sizes", "1KiB,1MiB"]
    assert command("report", *arguments).code == 0
    # As if the time limit had ended the search between the two sizes.
    text = Path("report.html").read_text()
    for planner in ("chain", "grow"):
        row = re.search(rf'\["{planner}",\[([^,\]]+),([^,\]]+)\]\]', text)
        assert row
        text = text.replace(row[0], f'["{planner}",[{row[1]},null]]')
    Path("report.html").write_text(text)
    page = open_page(Path("report.html"))
    # One dot for the plan; the scatter has none.
    assert page.locator("#sizes circle").count() == 1
    names = {
        name: page.locator("#sizes svg > text", has_text=re.compile(f"^{name}$")).bounding_box()
        for name in ("chain", "grow", "limit")
    }
    chain_at, grow_at, limit_at = names["chain"], names["grow"], names["limit"]
    assert chain_at is not None
    assert grow_at is not None
    assert limit_at is not None
    assert chain_at["x"] < limit_at["x"] - 200
    # Both curves end at one point; their names do not overlap.
    assert chain_at["x"] == grow_at["x"]
    assert abs(chain_at["y"] - grow_at["y"]) >= 12
