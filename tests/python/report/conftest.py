"""Fixtures: a real Chromium, and the pages it opens."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

Open = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("Chromium is missing; install it (Debian: apt-get install chromium)")
    # Root has no sandbox in containers; the pages are our own.
    options = ["--disable-gpu", *(["--no-sandbox"] if os.getuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=options)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Opens a page file; in the end no page may have said anything on its console or asked for anything."""
    contexts, said = [], []

    def opened(file: Path, scheme: str = "light", width: int = 1440) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
            reduced_motion="reduce",
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        address = file.resolve().as_uri()
        page.on("request", lambda asked: said.append(asked.url) if own(asked.url, address) else None)
        page.goto(address)
        page.wait_for_selector("html[data-ready=true]", timeout=30_000)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert said == []


def own(url: str, address: str) -> bool:
    """Whether a request goes anywhere but to the page itself and what is written inside it."""
    return url != address and not url.startswith(("data:", "blob:"))


@pytest.fixture(scope="session")
def screenshots() -> Path:
    """Where the tests leave their pictures for people to look at."""
    folder = Path(__file__).resolve().parents[3] / ".cache" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
