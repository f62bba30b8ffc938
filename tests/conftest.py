"""Fixtures of all tests."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def pytest_configure() -> None:
    """Lets the programs under test be interrupted, also where the tests run in the background.

    A shell without job control starts what it does not wait for with SIGINT ignored, and all that this starts
    inherits it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Of Open MPI's wheel each MPI_Init looks for fabrics for a second, which no test here has.
    os.environ.setdefault("OMPI_MCA_btl", "^ofi")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A real Chromium."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("Chromium is missing; install it (Debian: apt-get install chromium)")
    # Root has no sandbox in containers; the pages are our own.
    options = ["--disable-gpu", *(["--no-sandbox"] if os.getuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=options)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def screenshots() -> Path:
    """Where the tests leave their pictures for people to look at."""
    folder = Path(__file__).resolve().parents[1] / ".cache" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
