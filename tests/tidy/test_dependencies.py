"""The Rust crates' dependencies: licences compatible with Apache-2.0, and few crates in two versions."""

from __future__ import annotations

import json
import re
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

LICENCES = {"Apache-2.0", "Apache-2.0 WITH LLVM-exception", "MIT", "Zlib", "Unicode-3.0", "BSD-3-Clause"}
# In two versions: sha2 0.10 and proptest's chacha20 require different ones.
TWICE = {"cpufeatures"}


@pytest.fixture(scope="module")
def packages() -> list[dict[str, Any]]:
    argv = ["cargo", "metadata", "--locked", "--format-version", "1"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)["packages"]
    assert len(found) > 20
    return found


def is_allowed(expression: str) -> bool:
    """Whether an SPDX expression offers a choice of licences that are all allowed; `/` is an old `OR`."""
    text = re.sub(r"[()]", "", expression).replace("/", " OR ")
    return all(
        any(choice.strip() in LICENCES for choice in part.split(" OR ")) for part in text.split(" AND ")
    )


def test_expressions() -> None:
    assert is_allowed("MIT OR GPL-3.0")
    assert is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0")
    assert not is_allowed("MIT AND GPL-3.0")
    assert not is_allowed("LGPL-2.1-or-later")


def test_licences(packages: list[dict[str, Any]]) -> None:
    assert [each["name"] for each in packages if not is_allowed(each["license"] or "")] == []


def test_versions(packages: list[dict[str, Any]]) -> None:
    versions: defaultdict[str, set[str]] = defaultdict(set)
    for each in packages:
        versions[each["name"]].add(each["version"])
    assert {name for name, found in versions.items() if len(found) > 1} == TWICE
