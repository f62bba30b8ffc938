"""Traces in Perfetto and chrome://tracing themselves, to the last slice, arrow and counter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from documents import write
from outcome import Command
from viewers import check_in_both

ROOT = Path(__file__).resolve().parents[2]


def star(names: list[str], **link: float) -> dict[str, Any]:
    """A mesh of nodes with these names."""
    return {
        "format": "broadleaf-platform/1",
        "name": "star",
        "port_model": "one-port",
        "nodes": [{"id": name} for name in names],
        "meshes": [{"nodes": names, "link": {"latency_s": 1e-5, "bandwidth_bytes_per_s": 1e8, **link}}],
    }


UNUSUAL = ["Zürich 1", "京都", 'quo"te\\', "🌿 leaf", "x" * 300, "<b>"]
CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "names": (star(UNUSUAL, bandwidth_bytes_per_s=3.3e9 / 7), "round-robin", "100000"),
    "overlaps": ({**star(["a", "b", "c", "d"]), "port_model": "multi-port"}, "flat", "60000"),
}


@pytest.mark.parametrize("case", CASES)
def test_simulated(case: str, command: Command, browser: Browser, screenshots: Path) -> None:
    network, planner, size = CASES[case]
    write("net.json", network)
    root = network["nodes"][0]["id"]
    asked = ["plan", "net.json", "--root", root, "--size", size, "--planner", planner, "-o", "plan.json"]
    assert command(*asked).code == 0
    assert command("simulate", "net.json", "plan.json", "--trace", "trace.json").code == 0
    check_in_both(browser, Path("trace.json"), screenshots / f"perfetto-{case}.png")


def test_a_million_transfers(command: Command) -> None:
    """Merged so that a viewer loads it quickly; the terminal and the file report that."""
    write("net.json", star([f"n{at}" for at in range(65)]))
    asked = ["--root", "n0", "--size", "16MiB", "--segment", "1KiB", "--planner", "chain", "-o", "plan.json"]
    assert command("plan", "net.json", *asked).code == 0
    outcome = command("simulate", "net.json", "plan.json", "--trace", "trace.json")
    assert "trace.json: 1,048,576 transfers are drawn as" in outcome.out
    document = json.loads(Path("trace.json").read_text())
    assert "1,048,576 transfers are drawn as" in document["otherData"]["merged"]
    sends = [event for event in document["traceEvents"] if event["ph"] == "X" and "to" in event["args"]]
    assert len(sends) <= 60_000
    assert sum(event["args"]["transfers"] for event in sends) == 1_048_576
    assert sum(event["args"]["bytes"] for event in sends) == 64 * (16 << 20)
