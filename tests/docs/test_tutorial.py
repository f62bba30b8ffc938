"""The tutorial, as a newcomer would follow it."""

from __future__ import annotations

import json
from pathlib import Path

from pages import blocks, run_script, titled


def test_every_command_does_what_the_page_says(tmp_path: Path) -> None:
    (tmp_path / "weights.py").write_text(titled("tutorial.md", "weights.py"))
    script = "\n".join(blocks("tutorial.md", "bash"))
    assert script.count("broadleaf ") >= 9
    said = run_script(script, tmp_path)
    assert "plan.json: valid on" in said
    assert "(bound: no plan is faster)" in said
    assert "all bytes right on 4 ranks" in said
    stats = json.loads((tmp_path / "stats.json").read_text())
    assert stats["planned"] == 2
    page = (tmp_path / "report.html").read_text()
    # The run's own row stands there, and why it has no prediction.
    assert '"ranks":4,' in page
    assert '"reason":"ranks of one host share its memory, which no plan predicts"' in page
    assert (tmp_path / "tree.svg").read_text().startswith("<?xml")
    assert (tmp_path / "timeline.pdf").read_bytes().startswith(b"%PDF")
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
