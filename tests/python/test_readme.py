"""The README's Python example runs as it stands, and its command lines exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from broadleaf.cli import broadleaf
from first_screen import race

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def test_the_python_example_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        done = subprocess.run(
            [sys.executable, "-c", block], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip()


def test_the_commands_exist_with_their_options() -> None:
    lines = re.findall(r"\.venv/bin/broadleaf (.*?)(?:  #|\n)", README)
    assert {line.split()[0] for line in lines} >= {"measure", "plan", "run"}
    for line in lines:
        words = line.split(" -- ")[0].split()
        help_text = CliRunner().invoke(broadleaf, [words[0], "--help"]).output
        for option in (word for word in words if word.startswith("-")):
            assert re.search(rf"{re.escape(option)}\b", help_text), f"{words[0]} has no {option}"


def test_the_pictures_are_there() -> None:
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", README):
        assert (ROOT / picture).read_bytes().startswith((b"\x89PNG", b"<svg"))


def test_the_race_is_the_simulators() -> None:
    assert (ROOT / "docs" / "race.svg").read_text() == race()
