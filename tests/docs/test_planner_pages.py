"""The planners' pages: a planner's rank is that in `best`, and the example in Python runs."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

import broadleaf as bl
from pages import DOCS, ROOT


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    specification = spec_from_file_location("site_hook", DOCS / "hooks" / "pages.py")
    assert specification is not None
    assert specification.loader is not None
    module = module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def comparison() -> bl.Comparison:
    return bl.compare(bl.Platform.load(DOCS / "small.json"), "a0", "8MiB")


def card_of(name: str) -> bl.Card:
    (card,) = (card for card in bl.planners() if card.name == name)
    return card


def page_of(hook: ModuleType, name: str, comparison: bl.Comparison) -> str:
    card = card_of(name)
    _, text = hook.planner_page(card, comparison, [])
    assert isinstance(text, str)
    return text


def test_every_place_is_told_once(hook: ModuleType, comparison: bl.Comparison) -> None:
    found = []
    for tried in comparison.tried:
        told = hook.place_of(tried.planner, comparison)
        found += [int(number) for number in re.findall(r"it is number (\d+)", told)]
        assert ("it is the fastest" in told) == (tried.planner == comparison.plan.planner)
    assert sorted(found) == list(range(1, len(comparison.tried) + 1))


def test_who_is_not_compared_says_why(hook: ModuleType, comparison: bl.Comparison) -> None:
    name, reason = next(iter(comparison.passed_over.items()))
    assert reason in hook.place_of(name, comparison)


def test_when_to_use_it_is_what_best_finds(hook: ModuleType, comparison: bl.Comparison) -> None:
    """On the small platform the chain is as fast as any, and flat takes 3.3 times the bound."""
    standings = [hook.Standing("docs/small.json", 8 << 20, comparison)]
    first = min(comparison.tried, key=lambda each: (each.compared_s, each.planner)).planner
    best, chain, flat, ring = (
        "\n".join(hook.when_to_use(card_of(name), standings)) for name in (first, "chain", "flat", "ring")
    )
    assert "The fastest for 8 MiB on `docs/small.json`." in best
    assert first == "chain" or "Within 10 % of the fastest for 8 MiB on `docs/small.json`." in chain
    assert "For none of these broadcasts" in flat
    assert "Use it for makespan of very few nodes." in flat
    assert "It plans allgather, reduce-scatter, allreduce, and no broadcast." in ring
    assert "| 8 MiB" not in ring
    (row,) = (line for line in flat.splitlines() if line.startswith("| 8 MiB"))
    _, _, predicted, by_bound, beside, _ = (cell.strip() for cell in row.split("|"))
    assert (predicted, by_bound) == ("1.132 s", "3.3")
    # With the handling: 1.132 s over 346.1 ms.
    assert beside.startswith("3.27 times the time of [")
    name, reason = next(iter(comparison.passed_over.items()))
    assert f"not compared: {reason}" in "\n".join(hook.when_to_use(card_of(name), standings))


def test_every_planner_has_an_example_that_it_supports(hook: ModuleType) -> None:
    found = {card.name: hook.example_of(card) for card in bl.planners()}
    assert found["chain"].file == "docs/small.json"
    assert found["ring"].plan.collective == "allgather"
    assert all(example.plan.planner == name for name, example in found.items())


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("chain", '<Plan "chain" on "small": bcast of 8 MiB'),
        ("recursive-doubling", '<Plan "recursive-doubling" on "smp-16": allgather of 8 MiB'),
    ],
)
def test_the_example_runs(
    name: str, printed: str, hook: ModuleType, comparison: bl.Comparison, tmp_path: Path
) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", page_of(hook, name, comparison), re.DOTALL)
    assert example.count("\n") <= 10
    for folder in ("docs", "platforms"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(printed)
    assert (tmp_path / "plan.svg").read_text().startswith("<?xml")
