"""House rules that a script can check, over the files that git has."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {".rs", ".py", ".pyi", ".c", ".h"}
MOST_LINES = 500


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


def test_files_hold_one_idea() -> None:
    long = {
        str(path): text.count("\n") for path, text in texts(*SOURCES).items() if text.count("\n") > MOST_LINES
    }
    assert long == {}


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


def planner_files() -> dict[Path, str]:
    """The files that hold a planner, and not what compares planners."""
    folder = ("crates", "broadleaf", "src", "planners")
    files = {path: text for path, text in texts(".rs").items() if path.parts[:4] == folder}
    return {path: text for path, text in files.items() if "impl Planner for" in text}


def test_each_planner_is_in_one_file_and_says_where_it_is_from() -> None:
    import broadleaf as bl

    rust = [text for path, text in texts(".rs").items() if "planners" in path.parts]
    for card in bl.planners():
        assert sum(f'name: "{card.name}"' in text for text in rust) == 1, card.name
        assert len(card.reference) > 10, card.name


def test_no_planner_imports_the_simulator() -> None:
    # One that did would be judged by its own judge; `best` and the segment search are there to compare.
    imports = re.compile(r"^use .*\bsimulate\b", re.M)
    assert planner_files()
    assert [str(path) for path, text in planner_files().items() if imports.search(text)] == []


def test_the_core_knows_no_mpi_no_python_no_clock() -> None:
    core = {
        path: text for path, text in texts(".rs").items() if path.parts[:3] == ("crates", "broadleaf", "src")
    }
    assert core
    # Doc comments may speak of them.
    code = {path: re.sub(r"//.*", "", text) for path, text in core.items()}
    assert [str(path) for path, text in code.items() if re.search(r"\bpyo3\b|\bMPI_|SystemTime", text)] == []
