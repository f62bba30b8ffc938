"""The tutorial, as a newcomer would follow it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from pages import blocks, titled


def test_every_command_does_what_the_page_says(tmp_path: Path) -> None:
    (tmp_path / "weights.py").write_text(titled("tutorial.md", "weights.py"))
    script = "\n".join(blocks("tutorial.md", "bash"))
    assert script.count("broadleaf ") >= 9
    # As in the environment that the page activates.
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    assert "plan.json: valid on" in done.stdout
    assert "(bound: no plan is faster)" in done.stdout
    assert "all bytes right on 4 ranks" in done.stdout
    stats = json.loads((tmp_path / "stats.json").read_text())
    assert stats["planned"] == 2
    page = (tmp_path / "report.html").read_text()
    # The run's own row stands there, and why it has no prediction.
    assert '"ranks":4,' in page
    assert '"reason":"ranks of one host share its memory, which no plan predicts"' in page
    assert (tmp_path / "tree.svg").read_text().startswith("<?xml")
    assert (tmp_path / "timeline.pdf").read_bytes().startswith(b"%PDF")
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
