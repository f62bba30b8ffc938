"""A program that others wrote, with every broadcast planned and without; `make soak` runs more of them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parents[2] / "testbeds/programs/run.py"
TIMEOUT_S = 240.0


def test_a_program_of_others_computes_the_same() -> None:
    done = subprocess.run([sys.executable, RUN, "short"], capture_output=True, text=True, timeout=TIMEOUT_S)
    unavailable = re.fullmatch(r"programs: unavailable: (.*)\n", done.stderr)
    if done.returncode == 2 and unavailable:
        pytest.skip(f"Debian's packages cannot be laid over the system: {unavailable[1]}")
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(
        r"short: [1-9]\d* broadcasts or [1-9]\d* collectives planned, [1-9]\d* results the same\n",
        done.stdout,
    )


def test_an_unknown_program_is_refused() -> None:
    done = subprocess.run([sys.executable, RUN, "shrot"], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 2
    assert done.stderr.endswith("there is no shrot; --list names what there is\n")
