"""The documentation site as it opens from disk: search, figures in the dark, and axe's findings.

A few pages are built for it with the site's own settings; `make soak` looks at every page.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from xml.etree import ElementTree

import pytest
from axe_playwright_python.sync_playwright import Axe
from mkdocs.commands.build import build
from mkdocs.config import load_config
from playwright.sync_api import Browser, Page, expect

from howtos import PICTURES, TUNED, Picture, write_report
from pages import DOCS, ROOT, blocks
from terminals import SESSIONS, drawn

SAMPLE = (
    "index.md",
    "tutorial.md",
    "alternatives.md",
    "race.svg",
    "report.png",
    "report-dark.png",
    "howto/simgrid.md",
    "howto/simgrid-map.png",
    "howto/simgrid-map-dark.png",
)
SAMPLED = ("tutorial.html", "planners/chain.html", "papers/trees.html")
# The pages of one planner and one paper, by the hook that makes all of them.
HOOK = """
from importlib.util import module_from_spec, spec_from_file_location
from mkdocs.structure.files import File

import broadleaf as bl

specification = spec_from_file_location("site_hook", {hook!r})
site = module_from_spec(specification)
specification.loader.exec_module(site)
on_post_build, on_page_markdown = site.on_post_build, site.on_page_markdown


def on_files(files, config):
    platform = bl.Platform.load(site.DOCS / "small.json")
    comparison = bl.compare(platform, "a0", "8MiB")
    card = next(card for card in bl.planners() if card.name == "chain")
    standings = [site.Standing("docs/small.json", 8 << 20, comparison)]
    picture, text = site.planner_page(card, comparison, standings)
    made = {{"planners/chain.md": text, "planners/chain.svg": picture}}
    made["papers/trees.md"] = site.paper_page("trees", "Trees")
    for figure in (site.DOCS / "papers").glob("trees-*.png"):
        made[f"papers/{{figure.name}}"] = figure.read_bytes()
    for path, content in made.items():
        files.append(File.generated(config, path, content=content))
    return files
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    source = folder / "docs"
    shutil.copytree(DOCS / "site", source / "site")
    for name in SAMPLE:
        shutil.copy(DOCS / name, source)
    hook = folder / "sample.py"
    hook.write_text(HOOK.format(hook=str(DOCS / "hooks" / "pages.py")))
    built = folder / "built"
    config = load_config(
        str(ROOT / "mkdocs.yml"), docs_dir=str(source), site_dir=str(built), nav=None, hooks=[str(hook)]
    )
    build(config)
    return built


@pytest.fixture(params=["light", "dark"])
def page(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    """A page without errors that requests only files."""
    context = browser.new_context(color_scheme=request.param, reduced_motion="reduce")
    page, said = context.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda asked: said.append(asked.url) if asked.url.startswith("http") else None)
    yield page
    context.close()
    assert said == []


def serious(page: Page) -> list[str]:
    """The serious and critical findings of axe."""
    # Without "resultTypes" axe also describes every element that passes, which takes half of the time.
    options = {"preload": False, "resultTypes": ["violations"]}
    return [
        f"{page.url}: {each['id']}: {node['html'][:120]}"
        for each in Axe().run(page, options=options).response["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"][:3]
    ]


def test_search_from_disk(site: Path, page: Page) -> None:
    page.goto((site / "index.html").as_uri())
    page.locator(".md-search__input").click()
    page.locator(".md-search__input").press_sequentially("PyTorch")
    result = page.locator(".md-search-result__item a").first
    expect(result).to_have_attribute("href", re.compile("alternatives.html"), timeout=15_000)
    expect(page.locator(".md-search-result__meta")).to_have_text(re.compile("^1 matching document"))
    result.click()
    expect(page.locator("h1")).to_have_text(re.compile("Beside other software"))


def test_figures_follow_the_dark(site: Path, page: Page) -> None:
    is_dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    turned = "invert(0.88) hue-rotate(180deg)" if is_dark else "none"
    for name in ("planners/chain.html", "papers/trees.html"):
        page.goto((site / name).as_uri())
        assert page.locator(".md-typeset img").first.evaluate("img => getComputedStyle(img).filter") == turned
    # Figures are before tables.
    assert page.evaluate(
        "document.querySelector('.md-typeset img').getBoundingClientRect().top"
        " < document.querySelector('.md-typeset table').getBoundingClientRect().top"
    )
    page.goto((site / "index.html").as_uri())
    shown = page.locator(".md-typeset img:visible").evaluate_all(
        "images => images.map(img => [img.getAttribute('src').split('#')[0], getComputedStyle(img).filter])"
    )
    # The race and the reports are drawn for both.
    assert shown == [["race.svg", "none"], ["report-dark.png" if is_dark else "report.png", "none"]]
    page.goto((site / "simgrid.html").as_uri())
    (name, style) = page.locator(".md-typeset img:visible").evaluate(
        "img => [img.getAttribute('src').split('#')[0], getComputedStyle(img).filter]"
    )
    assert (name, style) == ("simgrid-map-dark.png" if is_dark else "simgrid-map.png", "none")


def test_axe_on_some_pages(site: Path, page: Page) -> None:
    found = []
    for name in SAMPLED:
        page.goto((site / name).as_uri())
        found += serious(page)
    assert found == []


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder, and keeps no log on standard error."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def served(site: Path) -> Iterator[str]:
    """The site's address on a separate server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


# The page refers to its scripts from the server's root, so it does not open from disk.
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_on_the_page_for_a_missing_address(scheme: str, served: str, browser: Browser) -> None:
    context = browser.new_context(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    page, missing = context.new_page(), []
    page.on("response", lambda answer: missing.append(answer.url) if answer.status >= 400 else None)
    page.goto(f"{served}/404.html")
    expect(page.locator("h1")).to_contain_text("404")
    found = serious(page)
    context.close()
    assert (found, missing) == ([], [])


def test_every_picture_of_a_how_to_has_its_maker() -> None:
    made = {f"{name}{end}.png" for name in PICTURES for end in ("", "-dark")}
    assert {path.name for path in (DOCS / "howto").glob("*.png")} == made | {f"{TUNED}.png"}
    text = "".join(path.read_text() for path in (DOCS / "howto").glob("*.md"))
    assert all(f"({name}#only-" in text for name in made)


def test_every_how_to_has_a_picture() -> None:
    pages = sorted((DOCS / "howto").glob("*.md"))
    assert [path.name for path in pages if "![" not in path.read_text()] == []


def test_times_around_a_slow_link_are_those_of_the_picture(tmp_path: Path) -> None:
    picture = PICTURES["adapt-map"]
    assert isinstance(picture, Picture)
    makespans_s = write_report(picture, tmp_path / "adapt-map.html")
    old, new = (f"{makespan_s:.2f} s" for makespan_s in makespans_s.values())
    text = re.sub(r"\s+", " ", (DOCS / "howto" / "adapt.md").read_text())
    assert f"takes {old}; the new plan sends from a3 and takes {new}" in text


def test_terminals_show_the_commands_of_their_pages() -> None:
    assert {path.stem for path in (DOCS / "howto").glob("*.svg")} == set(SESSIONS)
    for name, session in SESSIONS.items():
        page = f"howto/{name.removesuffix('-terminal')}.md"
        assert f"({name}.svg)" in (DOCS / page).read_text()
        commands = re.sub(r"\s+", " ", "\n".join(blocks(page, "shell")))
        shown = " ".join(ElementTree.parse(DOCS / "howto" / f"{name}.svg").getroot().itertext())
        for typed in session.typed:
            assert typed in commands
            assert typed in re.sub(r"\s+", " ", shown)


def test_a_terminal_wraps_long_lines_and_shows_markup_as_text() -> None:
    root = ElementTree.fromstring(drawn([("echo <b>", ["<b>", "", "word " * 60])]))
    lines = ["".join(each.itertext()) for each in root if each.tag.endswith("text")]
    assert lines[:3] == ["$ echo <b>", "<b>", ""]
    assert len(lines) == 3 + 4
    assert all(len(line) <= 100 for line in lines)


@pytest.fixture(scope="module")
def whole_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", folder], cwd=ROOT, check=True
    )
    return folder


@pytest.mark.skipif(not os.environ.get("BROADLEAF_SOAK"), reason="looks at every page; run by make soak")
def test_axe_on_every_page(whole_site: Path, page: Page) -> None:
    # The page for a missing address has a separate test: it does not open from disk.
    names = [path for path in sorted(whole_site.rglob("*.html")) if path.name != "404.html"]
    assert len(names) > 60
    found = []
    for path in names:
        page.goto(path.as_uri())
        found += serious(page)
    assert found == []
