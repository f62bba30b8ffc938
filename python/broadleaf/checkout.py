"""The checkout that holds the package: test beds, platforms, C sources; an installed package has none."""

from __future__ import annotations

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
TESTBEDS = CHECKOUT / "testbeds"
