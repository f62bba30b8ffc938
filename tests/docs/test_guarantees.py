"""Every test that the page of guarantees names exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"`((?:tests|crates)/[\w/.-]+)::(\w+)`")


def test_every_test_that_is_named_exists() -> None:
    named = NAMED.findall((ROOT / "docs/reference/guarantees.md").read_text())
    assert len(named) > 20
    missing = [
        f"{file}::{test}"
        for file, test in named
        if not re.search(rf"^\s*(?:def|fn) {test}\b", (ROOT / file).read_text(), re.M)
    ]
    assert missing == []
