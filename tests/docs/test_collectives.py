"""The page of all collectives: its commands run, and each planner plans the collectives on its card."""

from __future__ import annotations

from pathlib import Path

import pytest

import broadleaf as bl
from documents import one_mesh
from pages import DOCS, blocks, run_script

COLLECTIVES = ["bcast", "scatter", "allgather", "gather", "reduce", "reduce-scatter", "allreduce"]


def test_the_pages_commands(tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to(DOCS)
    said = run_script("\n".join(blocks("collectives.md", "bash")), tmp_path)
    assert "reduce of 8 MiB to a0 on small" in said
    assert "reduce.json: valid on small" in said
    assert {path.name for path in tmp_path.glob("*reduce.*")} == {
        *("reduce.json", "reduce.svg", "allreduce.json", "allreduce.html")
    }


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_planners_plan_what_their_cards_list(collective: str) -> None:
    platform = bl.Platform.from_dict(one_mesh("mesh", "one-port", ["a", "b", "c", "d"], 1e8))
    planned = set()
    for card in bl.planners():
        refusal = ""
        try:
            plan = bl.plan(platform, "a", 3000, card.name, collective, segment_bytes=1000, time_limit_s=0.2)
            assert plan.collective == collective
            planned.add(card.name)
        except bl.PlanError as error:
            refusal = str(error)
        # Others refuse this platform, or have too little time.
        assert ("no plans for" in refusal) == (collective not in card.collectives), card.name
        if collective not in card.collectives and collective != "allreduce":
            assert refusal.endswith(f"only for {', '.join(card.collectives)}")
    # A planner that supports a small mesh.
    assert {"bcast": "chain", "allgather": "ring"}.get(collective, "bine") in planned
