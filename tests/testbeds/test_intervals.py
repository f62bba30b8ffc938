"""How `benches/intervals.py` judges its samples."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from beds import ROOT, script


@pytest.fixture
def benches(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    for name in ("launch", "network", "laws", "tuned", "advised"):
        # Another bed has modules of some of these names.
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return {name: script(ROOT / f"benches/{name}.py") for name in ("laws", "tuned", "advised", "intervals")}


def test_a_sizes_expected_time_is_that_of_the_rule_that_the_mpi_follows(benches: Any) -> None:
    forecasts = [
        {"algorithm": "flat", "simulated_s": None, "corrected_s": 0.5},
        {"algorithm": "chain", "simulated_s": 0.25, "corrected_s": 0.125},
    ]
    document = {
        "rules": [
            {"from_bytes": 0, "algorithm": "chain", "segment_bytes": 0},
            {"from_bytes": 100, "algorithm": "flat", "segment_bytes": 7},
        ],
        "choices": [{"bytes": size, "forecasts": forecasts} for size in (99, 100, 4000)],
    }
    of_rule = benches["tuned"].of_rule
    found = [
        (row["algorithm"], row["segment_bytes"], row["expected_s"])
        for row in (of_rule(document, size) for size in (99, 100, 4000))
    ]
    assert found == [("chain", 0, 0.25), ("flat", 7, 0.5), ("flat", 7, 0.5)]


def test_the_chosen_algorithm_is_compared_with_the_fastest(benches: Any) -> None:
    row = {"bytes": 1 << 16, "algorithm": "chain", "expected_s": 2.0, "rehearsed": (0.9, 1.2)}
    row["seconds"] = {"chosen": [2.0, 3.0, 2.2], "default": [4.0, 1.1, 1.0], "not done": []}
    assert benches["tuned"].over_best(row) == 2.0
    assert benches["tuned"].of_size(row) == (
        "64 KiB chain 1 to 1.5 x as expected (2 of 3 inside 0.9 to 1.2 as rehearsed), 2.00 x the fastest"
    )


def test_a_belief_is_right_if_its_interval_has_the_part_that_is_left(benches: Any) -> None:
    def found(calm: int, rates: dict[tuple[str, str], float], longer: float = 1.0) -> dict[str, Any]:
        rows = [
            {"from": u, "to": v, "rate": rate, "rate_interval": [rate / 1.2, 1.2 * rate]}
            for (u, v), rate in rates.items()
        ]
        unchanged = {"samples": 9, "seconds": [[longer]], "believed": [{}] * calm}
        return {"alone_s": [1.0], "unchanged": unchanged, "changed": {"believed": rows}}

    verdict = benches["advised"].verdict
    right = {("a0", "b1"): 0.084, ("a3", "b0"): 0.12}
    assert verdict(found(1, right), 4)[1]
    # Two of twelve links while none changed; slower plans; a wrong rate; another link; nothing seen.
    assert not verdict(found(2, right), 4)[1]
    assert not verdict(found(0, right, longer=1.2), 4)[1]
    assert not verdict(found(0, {**right, ("a1", "b1"): 0.06}), 4)[1]
    assert not verdict(found(0, {**right, ("b0", "a1"): 0.1}), 4)[1]
    assert not verdict(found(0, {}), 4)[1]


def test_sizes_without_an_interval_do_not_count(benches: Any) -> None:
    rows = [
        {"bytes": 1 << 16, "interval_s": (1.0, 2.0), "seconds": [1.0, 1.5, 2.0, 2.1]},
        {"bytes": 1 << 24, "interval_s": None, "seconds": []},
    ]
    line, holds = benches["intervals"].verdict(rows)
    assert (line, holds) == ("75.0% inside (64 KiB 3 of 4; no interval for 16384 KiB)", False)
    assert benches["intervals"].verdict(rows[1:])[1]
