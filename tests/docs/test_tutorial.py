"""The tutorial, as a newcomer would follow it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import broadleaf as bl
from pages import ROOT, blocks, run_script, titled


def test_every_command_does_what_the_page_says(tmp_path: Path) -> None:
    # The page's commands run in the clone.
    (tmp_path / "testbeds").symlink_to(ROOT / "testbeds")
    (tmp_path / "weights.py").write_text(titled("tutorial.md", "weights.py"))
    script = "\n".join(blocks("tutorial.md", "bash"))
    assert script.count("broadleaf ") >= 13
    said = run_script(script, tmp_path)
    assert "plan.json: valid on" in said
    assert "(bound: no plan is faster)" in said
    assert "all bytes right on 4 ranks" in said
    stats = json.loads((tmp_path / "stats.json").read_text())
    assert stats["planned"] == 2
    page = (tmp_path / "run.html").read_text()
    # The page has the run's row, and the reason why it has no prediction.
    assert '"ranks":4,' in page
    assert '"reason":"ranks of one host share its memory, which no plan predicts"' in page
    assert "best.json: valid on" in said
    # Without shared memory the ranks follow a plan.
    (row,) = json.loads((tmp_path / "trees.json").read_text())["broadcasts"]
    assert row["trees"] >= 1
    assert json.loads((tmp_path / "seen.json").read_text())["otherData"]["transfers"] > 0
    # The table on the page is the one that was printed.
    shown = (ROOT / "docs" / "tutorial.md").read_text().partition("```text\n")[2].partition("```")[0]
    assert len(shown.splitlines()) == 7
    for line in shown.splitlines():
        assert line.split() in [printed.split() for printed in said.splitlines()], line
    # The page's claims about the two plans.
    network = bl.Platform.load(ROOT / "testbeds" / "namespaces" / "two-clusters.json")
    best, linear = (bl.Plan.load(tmp_path / f"{name}.json") for name in ("best", "linear"))
    assert best.planner == "optimal"
    assert bl.simulate(network, best).makespan_s == pytest.approx(0.77, rel=0.05)
    assert bl.simulate(network, linear).makespan_s == pytest.approx(6.8, rel=0.05)
    assert linear.predicted.x_bound == pytest.approx(10, rel=0.02)
    assert (tmp_path / "race.svg").read_text().startswith("<svg")
    assert "two-clusters" in (tmp_path / "two-clusters.html").read_text()
    assert (tmp_path / "tree.svg").read_text().startswith("<?xml")
    assert (tmp_path / "timeline.pdf").read_bytes().startswith(b"%PDF")
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


def test_whether_it_is_for_somebody_is_found_out_as_the_page_says(tmp_path: Path) -> None:
    said = run_script("\n".join(blocks("is-it-for-me.md", "bash")), tmp_path)
    assert "(bound: no plan is faster)" in said
    assert "binomial" in said
