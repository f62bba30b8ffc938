"""The pages of the papers' results: tables from the output of `broadleaf paper -o`."""

from __future__ import annotations

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from broadleaf.papers import PAPERS
from pages import DOCS


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The site's hook, with a separate folder of documents."""
    specification = spec_from_file_location("site_hook", DOCS / "hooks" / "pages.py")
    assert specification is not None
    assert specification.loader is not None
    module = module_from_spec(specification)
    specification.loader.exec_module(module)
    (tmp_path / "papers").mkdir()
    monkeypatch.setattr(module, "DOCS", tmp_path)
    return module


def test_sheets_become_tables_beside_their_command(hook: ModuleType, tmp_path: Path) -> None:
    sheets = [
        {
            "name": "t",
            "title": "Table 3",
            "columns": ["size", "broadleaf"],
            "rows": [["4|8", 0.123456], ["1", None], ["2", 12391.6]],
        },
    ]
    document = {"paper": "trees", "quick": True, "sheets": sheets, "remarks": ["As printed."]}
    (tmp_path / "papers" / "trees.json").write_text(json.dumps(document))
    (tmp_path / "papers" / "trees-figure.svg").write_text("<svg/>")
    page = hook.paper_page("trees", "Trees")
    assert "| size | broadleaf |\n| --- | --- |\n| 4\\|8 | 0.1235 |\n| 1 |  |\n| 2 | 12392 |\n" in page
    assert "`broadleaf paper trees --quick -o docs/papers`" in page
    assert "## Table 3" in page
    assert "- As printed." in page
    assert "![figure](trees-figure.svg)" in page


def test_without_results_the_page_says_how_to_have_them(hook: ModuleType) -> None:
    page = hook.paper_page("grid", "Grid")
    assert "broadleaf paper grid --quick" in page
    assert "|" not in page


@pytest.mark.parametrize("name", PAPERS)
def test_a_page_opens_with_its_verdict_and_figures_precede_tables(
    name: str, hook: ModuleType, tmp_path: Path
) -> None:
    sheets = [{"name": "t", "title": "Table", "columns": ["a"], "rows": [[1]]}]
    document = {"paper": name, "quick": False, "sheets": sheets, "remarks": []}
    (tmp_path / "papers" / f"{name}.json").write_text(json.dumps(document))
    (tmp_path / "papers" / f"{name}-figure.svg").write_text("<svg/>")
    lines = hook.paper_page(name, "A title").splitlines()
    assert [line.split(":**")[0] for line in lines[2:5]] == [
        "- **Reproduces",
        "- **Does not",
        "- **Better here",
    ]
    assert all(len(text) > 40 for text in PAPERS[name].verdict)
    assert lines.index("![figure](" + name + "-figure.svg)") < lines.index("## Table")


def test_committed_results_are_of_papers_that_there_are() -> None:
    for path in (DOCS / "papers").glob("*.json"):
        document = json.loads(path.read_text())
        assert document["paper"] == path.stem
        assert path.stem in PAPERS
