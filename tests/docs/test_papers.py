"""The pages of the papers' results: tables from what `broadleaf paper --json` printed."""

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
    """The site's hook, with a folder of documents of its own."""
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
            "columns": ["size", "ours"],
            "rows": [["4|8", 0.123456], ["1", None]],
        },
        {"name": "raw", "title": "Samples", "columns": ["seconds"], "rows": [[0.5]] * 1000},
    ]
    document = {"paper": "trees", "quick": True, "sheets": sheets, "remarks": ["As printed."]}
    (tmp_path / "papers" / "trees.json").write_text(json.dumps(document))
    (tmp_path / "papers" / "trees-figure.svg").write_text("<svg/>")
    # One of the document's sheets, and one beside it.
    (tmp_path / "papers" / "trees-t.csv").write_text("size,ours\n4|8,0.123456\n")
    (tmp_path / "papers" / "trees-sparse.csv").write_text("density,ours\n0.1,0.99\n")
    page = hook.paper_page("trees", "Trees")
    assert "| size | ours |\n| --- | --- |\n| 4\\|8 | 0.1235 |\n| 1 |  |\n" in page
    assert "`broadleaf paper trees --quick --json > docs/papers/trees.json`" in page
    assert "## Table 3" in page
    assert "Samples" not in page
    assert "- As printed." in page
    assert "## t\n" not in page
    assert "## sparse\n\n| density | ours |\n| --- | --- |\n| 0.1 | 0.99 |\n" in page
    assert "![trees-figure](trees-figure.svg)" in page


def test_without_results_the_page_says_how_to_have_them(hook: ModuleType) -> None:
    page = hook.paper_page("grid", "Grid")
    assert "broadleaf paper grid --quick" in page
    assert "|" not in page


def test_committed_results_are_of_papers_that_there_are() -> None:
    for path in (DOCS / "papers").glob("*.json"):
        document = json.loads(path.read_text())
        assert document["paper"] == path.stem
        assert path.stem in PAPERS
