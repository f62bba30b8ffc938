"""The how-to pages' pictures of reports: parts of pages that `broadleaf report` writes, light and dark.

`make docs` makes them again; without Chromium they stay as they are.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

import broadleaf as bl
from first_screen import BROWSERS

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "howto"
# Narrow enough for one column.
WIDTH = 880
# As far as the clock is set, of its thousand steps.
MOMENT = 400


class Picture(NamedTuple):
    """What a report is of, and the section that is photographed, by its heading's id."""

    platform: str
    message: str
    planners: tuple[str, ...]
    section: str
    sizes: tuple[str, ...] = ()


PICTURES = {
    "report-timeline": Picture("docs/small.json", "1MiB", ("grow",), "timeline-title"),
    "report-sizes": Picture(
        "platforms/smp-16.json",
        "16MiB",
        ("round-robin",),
        "sizes-title",
        ("16KiB", "256KiB", "4MiB", "16MiB"),
    ),
    "simgrid-map": Picture("platforms/grid5000-88.json", "16MiB", ("grow",), "map-title"),
}


def pages(folder: Path) -> dict[str, Path]:
    """A report a picture."""
    found = {}
    for name, picture in PICTURES.items():
        platform = bl.Platform.load(ROOT / picture.platform)
        plans = [
            bl.plan(platform, platform.hosts[0], picture.message, planner) for planner in picture.planners
        ]
        found[name] = folder / f"{name}.html"
        bl.report(platform, plans, found[name], sizes=list(picture.sizes))
    return found


def photograph(browser: Browser, page_file: Path, section: str, scheme: str) -> bytes:
    page = browser.new_page(viewport={"width": WIDTH, "height": 900}, reduced_motion="reduce")
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto(page_file.as_uri())
    page.wait_for_selector("[data-ready=true]")
    page.locator("#time").fill(str(MOMENT))
    # The player follows the reader and would lie over what is photographed.
    page.locator(".player").evaluate("player => { player.style.position = 'static'; }")
    shot = page.locator(f"section[aria-labelledby={section}]").screenshot()
    page.close()
    picture = BytesIO()
    Image.open(BytesIO(shot)).convert("RGB").save(picture, "png", optimize=True)
    return picture.getvalue()


def main() -> None:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        print(
            "docs: Chromium is missing, so the pictures of the how-to pages stay as they are", file=sys.stderr
        )
        return
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        for name, page_file in pages(Path(folder)).items():
            for scheme, end in (("light", ""), ("dark", "-dark")):
                shot = photograph(browser, page_file, PICTURES[name].section, scheme)
                (FOLDER / f"{name}{end}.png").write_bytes(shot)
        browser.close()


if __name__ == "__main__":
    main()
