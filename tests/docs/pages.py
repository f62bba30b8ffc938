"""What the tests read of the documentation."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def blocks(page: str, language: str) -> list[str]:
    """A page's blocks of code in a language, with what stands beside it; the page is named within docs."""
    return re.findall(rf"^```{language}\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)


def titled(page: str, title: str) -> str:
    """The block of a page that has a title, which is the name of a file."""
    found = re.search(
        rf'^```\w+ title="{re.escape(title)}"\n(.*?)^```', (DOCS / page).read_text(), re.M | re.S
    )
    assert found, title
    return found[1]
