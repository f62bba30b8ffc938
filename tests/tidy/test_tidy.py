"""House rules that a script can check, over the files that git has."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from rust_arrows import bare

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {".rs", ".py", ".pyi", ".c", ".h"}
MOST_LINES = 500
MOST_RUST_LINES = 400
# A longer one states why it is not split.
LONG_BECAUSE = re.compile(r"^// Over 400 lines: \w.{10,}", re.M)


def committed() -> list[Path]:
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)
    return [Path(name) for name in listed.split("\0") if name and (ROOT / name).is_file()]


def texts(*suffixes: str) -> dict[Path, str]:
    """The committed files with one of these endings, or all that are text."""
    found = {}
    for path in committed():
        data = (ROOT / path).read_bytes()
        if b"\0" not in data[:8000] and (not suffixes or path.suffix in suffixes):
            found[path] = data.decode()
    return found


def too_long(files: dict[Path, str]) -> dict[str, int]:
    """The files with more lines than one idea takes, and their number; a Rust file may give its reason."""
    counts = {path: text.count("\n") for path, text in files.items()}
    return {
        str(path): lines
        for path, lines in counts.items()
        if lines > MOST_LINES
        or (path.suffix == ".rs" and lines > MOST_RUST_LINES and not LONG_BECAUSE.search(files[path]))
    }


def test_files_hold_one_idea() -> None:
    assert sorted(too_long(texts(*SOURCES))) == []


def test_long_files_are_found() -> None:
    lines = "//! What it is.\n" + "use a;\n" * MOST_RUST_LINES
    files = {
        Path("long.rs"): lines,
        Path("reason.rs"): lines + "// Over 400 lines: one table, which is no longer read when split.\n",
        Path("no_reason.rs"): lines + "// Over 400 lines:\n",
        Path("longest.rs"): lines + "// Over 400 lines: for a reason.\n" + "use a;\n" * MOST_LINES,
        Path("long.py"): lines,
    }
    assert set(too_long(files)) == {"long.rs", "no_reason.rs", "longest.rs"}


def test_no_drawer_for_odds_and_ends() -> None:
    drawers = {"util", "utils", "helper", "helpers", "misc", "common"}
    assert [str(path) for path in committed() if drawers & {part.split(".")[0] for part in path.parts}] == []


@pytest.mark.parametrize(
    ("what", "pattern"),
    [
        ("a machine's folder", r"/(home|work|Users)/[a-z0-9_.-]+/"),
        ("an unfinished place", r"\b(TODO|FIXME|XXX|HACK)\b|todo!\(|unimplemented!\("),
        ("a merge mark", r"^(<<<<<<<|>>>>>>>) "),
        ("trailing space", r"[ \t]+$"),
    ],
)
def test_no_file_has(what: str, pattern: str) -> None:
    found = [
        f"{path}:{number}: {line.strip()}"
        for path, text in texts().items()
        if path.name != Path(__file__).name and path.suffix != ".lock"
        for number, line in enumerate(text.splitlines(), start=1)
        if re.search(pattern, line)
    ]
    assert found == [], what


def test_text_files_end_in_one_newline() -> None:
    ragged = [
        str(path) for path, text in texts().items() if text and (text[-1] != "\n" or text.endswith("\n\n"))
    ]
    assert ragged == []


def test_modules_say_what_they_are() -> None:
    opening = {".py": '"""', ".rs": "//!", ".c": "/*", ".h": "/*"}
    silent = [
        str(path)
        for path, text in texts(*opening).items()
        if text and not text.removeprefix("#!/usr/bin/env python3\n").startswith(opening[path.suffix])
    ]
    assert silent == []


def test_each_planner_is_in_one_file_and_says_where_it_is_from() -> None:
    import broadleaf as bl

    rust = [text for path, text in texts(".rs").items() if "planners" in path.parts]
    for card in bl.planners():
        assert sum(f'name: "{card.name}"' in text for text in rust) == 1, card.name
        assert len(card.reference) > 10, card.name


def with_outputs(notebooks: dict[Path, str]) -> list[str]:
    """Notebooks that were saved with outputs: outputs are of one machine, and differ each time."""
    cells = {path: json.loads(text)["cells"] for path, text in notebooks.items()}
    return [
        str(path)
        for path, found in cells.items()
        if any(cell.get("outputs") or cell.get("execution_count") is not None for cell in found)
    ]


def test_notebooks_are_kept_without_outputs() -> None:
    notebooks = texts(".ipynb")
    assert len(notebooks) >= 3
    assert with_outputs(notebooks) == []


def test_an_output_is_found() -> None:
    cell = {"cell_type": "code", "source": ["1"], "outputs": [], "execution_count": None}
    run = {**cell, "execution_count": 1}
    notebooks = {Path(name): json.dumps({"cells": [each]}) for name, each in (("new", cell), ("run", run))}
    assert with_outputs(notebooks) == ["run"]


def core() -> dict[Path, str]:
    """The core's files without comments, texts and tests."""
    inside = {path: text for path, text in texts(".rs").items() if path.parts[:3] == CORE}
    return {path: bare(text) for path, text in inside.items() if "tests" not in path.parts}


CORE = ("crates", "broadleaf", "src")
CLOCK = re.compile(r"\b(Instant|SystemTime)::now\b|\bUNIX_EPOCH\b|\.elapsed\(\)")
FOREIGN = re.compile(r"\bpyo3\b|\bMPI_|\bthread_rng\b|\bgetrandom\b")


def reading_a_clock(files: dict[Path, str]) -> list[str]:
    return [str(path) for path, text in files.items() if CLOCK.search(text) and path.name != "budget.rs"]


def test_the_core_knows_no_mpi_and_no_python() -> None:
    files = core()
    assert len(files) > 100
    assert [str(path) for path, text in files.items() if FOREIGN.search(text)] == []


def test_only_a_budget_reads_a_clock() -> None:
    assert reading_a_clock(core()) == []


def test_a_clock_is_found() -> None:
    text = "let begin = std::time::Instant::now();\n"
    files = {
        Path("budget.rs"): text,
        Path("search.rs"): text,
        Path("other.rs"): "if begin.elapsed() > limit {}",
    }
    assert reading_a_clock(files) == ["search.rs", "other.rs"]
    assert reading_a_clock({Path("said.rs"): bare(f"// {text}")}) == []
