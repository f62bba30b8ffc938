"""Fixtures: the pages that a real Chromium opens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

Open = Callable[..., Page]


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Opens a page file; at the end no page may have written to its console or requested anything."""
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
    """Whether a request leaves the page itself and its inlined data."""
    return url != address and not url.startswith(("data:", "blob:"))
