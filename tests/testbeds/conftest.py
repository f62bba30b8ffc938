"""Programs for SMPI that several files run."""

from __future__ import annotations

from pathlib import Path

import pytest

from broadleaf import smpi

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """testbeds/bcast.c, linked with the runtime."""
    return smpi.planned_program(ROOT / "testbeds/bcast.c", tmp_path_factory.mktemp("planned") / "bcast")
