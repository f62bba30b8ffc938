"""Access of the tests to the documentation's pages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
TIMEOUT_S = 240


def blocks(page: str, language: str) -> list[str]:
    """A page's blocks of code in a language, with what stands beside it; the page is named within docs."""
    return re.findall(rf"^```{language}\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)


def run_script(script: str, folder: Path, *paths: Path, **variables: str) -> str:
    """Runs commands in the environment that the pages activate, with `paths` first; their output."""
    path = ":".join(map(str, (*paths, Path(sys.executable).parent, os.environ["PATH"])))
    done = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, **variables},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def titled(page: str, title: str) -> str:
    """The block of a page that has a title, which is the name of a file."""
    found = re.search(
        rf'^```\w+ title="{re.escape(title)}"\n(.*?)^```', (DOCS / page).read_text(), re.M | re.S
    )
    assert found, title
    return found[1]
