"""platforms/make.py writes the files in platforms/, and each records its source."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import broadleaf as bl
from broadleaf.units import rate

FOLDER = Path(__file__).parents[2] / "platforms"


def test_the_files_are_what_make_writes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, FOLDER / "make.py", tmp_path], check=True, timeout=60)
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert written == {path.name: path.read_text() for path in FOLDER.glob("*.json")}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_each_file_says_where_it_comes_from(path: Path) -> None:
    provenance = json.loads(path.read_text())["provenance"]
    assert set(provenance) == {"source", "given", "assumed"}
    assert all(provenance.values())


def test_the_readme_has_the_bound_of_each_platform() -> None:
    text = (FOLDER / "README.md").read_text()
    for path in FOLDER.glob("*.json"):
        platform = bl.Platform.load(path)
        highest = bl.optimum(platform, platform.hosts[0], segment_bytes=1 << 20).upper_bound_bytes_per_s
        row = re.search(rf"^\| `{path.name}` .*", text, re.M)
        assert row, path.name
        assert f"| {rate(highest)}: " in row[0]
