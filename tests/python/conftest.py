"""Fixtures: example platforms, and the command run as a user would."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import broadleaf as bl
from broadleaf.cli import exit_code
from documents import CHAIN, TWO_SITES
from outcome import Command, Outcome, PaperRun


@pytest.fixture
def two_sites() -> dict[str, Any]:
    return copy.deepcopy(TWO_SITES)


@pytest.fixture
def chain() -> dict[str, Any]:
    return copy.deepcopy(CHAIN)


@pytest.fixture
def chain_plan(chain: dict[str, Any]) -> dict[str, Any]:
    """3000 bytes along the chain in segments of 1000."""
    return {
        "format": "broadleaf-plan/1",
        "platform": "chain-of-three",
        "platform_digest": bl.Platform.from_dict(chain).digest,
        "collective": "bcast",
        "root": "a",
        "message_bytes": 3000,
        "segment_bytes": 1000,
        "planner": "by-hand",
        "seed": 0,
        "trees": [{"share": 1.0, "children": {"a": ["b"], "b": ["c"]}}],
    }


# Results of the short version of a paper's experiments, by name: several tests share one run.
PAPERS_RUN: dict[str, PaperRun] = {}


@pytest.fixture
def paper_run(command: Command, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], PaperRun]:
    """The document and the folder of `broadleaf paper NAME --quick`."""

    def run(name: str) -> PaperRun:
        if name not in PAPERS_RUN:
            # The command creates it.
            folder = tmp_path_factory.mktemp(name) / "results"
            outcome = command("paper", name, "--quick", "-o", str(folder), "--json")
            PAPERS_RUN[name] = PaperRun(outcome.document, folder)
        return PAPERS_RUN[name]

    return run


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Runs `broadleaf ARGUMENTS` in an empty folder; capfd also captures the output of native code."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Outcome:
        capfd.readouterr()
        code = exit_code(list(arguments))
        out, err = capfd.readouterr()
        return Outcome(code, out, err)

    return run
