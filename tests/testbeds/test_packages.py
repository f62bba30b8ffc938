"""Debian's packages laid over the system for one command: refusals. `make soak` runs the MPI tests there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "testbeds/packages.py"


def laid_over(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("words", [["mpich"], ["mpich", "--"], ["--or-skip", "mpich"]])
def test_no_command(words: list[str]) -> None:
    done = laid_over(*words)
    assert done.returncode == 2
    assert done.stderr.endswith("error: no command; give one after --\n")


@pytest.mark.parametrize(("given", "code", "word"), [([], 2, "unavailable"), (["--or-skip"], 0, "skipped")])
def test_without_what_it_needs(given: list[str], code: int, word: str, tmp_path: Path) -> None:
    # No unshare on PATH.
    environment = {**os.environ, "PATH": str(tmp_path)}
    command = [sys.executable, SCRIPT, *given, "mpich", "--", "true"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (code, f"packages: {word}: it needs root and mount namespaces\n")
