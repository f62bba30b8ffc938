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
from broadleaf.plot.tuning import draw_map
from broadleaf.tuning import SIZES
from first_screen import BROWSERS

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "howto"
# Narrow enough for one column.
WIDTH = 880
# Of a photograph, which is a quarter as large with them.
COLOURS = 128
# As far as the clock is set, of its thousand steps.
MOMENT = 400


class Picture(NamedTuple):
    """What a report is of, and the section that is photographed, by its heading's id."""

    platform: str
    message: str
    planners: tuple[str, ...]
    section: str
    sizes: tuple[str, ...] = ()
    # Shown with this link at a tenth of its rate: the plan from before, and the plan made for it.
    slow_link: tuple[str, str] | None = None
    rows: str = "node"


# Of statistics alone the whole page is photographed.
PICTURES: dict[str, Picture | str] = {
    "gain-runs": "docs/pictures/compare.json",
    "report-timeline": Picture("docs/small.json", "1MiB", ("grow",), "timeline-title"),
    "report-sizes": Picture(
        "platforms/smp-16.json",
        "16MiB",
        ("round-robin",),
        "sizes-title",
        ("16KiB", "256KiB", "4MiB", "16MiB"),
    ),
    "simgrid-map": Picture("platforms/grid5000-88.json", "16MiB", ("grow",), "map-title"),
    "adapt-map": Picture("docs/small.json", "4MiB", ("makespan",), "map-title", slow_link=("a2", "c0")),
    "gpus-map": Picture("docs/pictures/dgx1.json", "64MiB", ("optimal",), "map-title"),
    "slurm-verdict": Picture("testbeds/namespaces/two-clusters.json", "16MiB", ("optimal",), "verdict-title"),
    "trace-timeline": Picture("docs/small.json", "256KiB", ("grow",), "timeline-title", rows="rank"),
}
# The map of what `broadleaf tune` chooses; on a dark page the site's style turns it.
TUNED = "tune-map"
TUNED_PLATFORM, TUNED_NODES = "platforms/cluster-50.json", (2, 4, 8, 16, 32, 50)


def write_report(picture: Picture, page_file: Path) -> dict[str, float]:
    """Writes a picture's report; the makespans of the old and the new plan where a link became slow."""
    platform = bl.Platform.load(ROOT / picture.platform)
    root = platform.hosts[0]
    plans = [bl.plan(platform, root, picture.message, name) for name in picture.planners]
    named: list[bl.Plan | Path] = [*plans]
    makespans_s: dict[str, float] = {}
    if picture.slow_link:
        before = plans[0].to_dict()
        # With the digest of the platform that it was made for, the report would refuse it.
        del before["platform_digest"]
        platform = with_slow_link(platform, *picture.slow_link)
        new = bl.plan(platform, root, picture.message, picture.planners[0])
        both = {"the old plan": bl.Plan.from_dict(before), "the new plan": new}
        for name, plan in both.items():
            makespans_s[name] = bl.simulate(platform, plan).makespan_s
            plan.save(page_file.with_name(f"{name}.json"))
        named = [page_file.with_name(f"{name}.json") for name in both]
    bl.report(platform, named, page_file, sizes=list(picture.sizes))
    return makespans_s


def with_slow_link(platform: bl.Platform, sender: str, receiver: str) -> bl.Platform:
    """The platform while a load leaves a tenth of a link's rate."""
    link = platform.link(sender, receiver)
    assert link is not None, (sender, receiver)
    slow = {**link, "from": sender, "to": receiver}
    slow["bandwidth_bytes_per_s"] /= 10
    document = platform.to_dict()
    # A link overrides the bridge that it is part of.
    return bl.Platform.from_dict({**document, "links": [*document.get("links", []), slow]})


def photograph(browser: Browser, page_file: Path, shown: str, scheme: str, rows: str | None) -> bytes:
    page = browser.new_page(viewport={"width": WIDTH, "height": 900}, reduced_motion="reduce")
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto(page_file.as_uri())
    page.wait_for_selector("[data-ready=true]")
    if rows:
        page.locator(f"input[name=rows][value={rows}]").check()
        page.locator("#time").fill(str(MOMENT))
        # The player follows the reader and would lie over what is photographed.
        page.locator(".player").evaluate("player => { player.style.position = 'static'; }")
    shot = page.locator(shown).screenshot()
    page.close()
    return small(shot)


def small(shot: bytes) -> bytes:
    picture = BytesIO()
    Image.open(BytesIO(shot)).convert("RGB").quantize(COLOURS).save(picture, "png", optimize=True)
    return picture.getvalue()


def draw_tuned(file: Path) -> None:
    platform = bl.Platform.load(ROOT / TUNED_PLATFORM)
    choices = bl.tune(platform, TUNED_NODES, SIZES)
    drawn = BytesIO()
    figure = draw_map(platform.name, choices)
    # Higher than the command draws it, for a column of text.
    figure.set_size_inches(7.5, 6.0)
    figure.savefig(drawn, format="png", dpi=110)
    file.write_bytes(small(drawn.getvalue()))


def main() -> None:
    draw_tuned(FOLDER / f"{TUNED}.png")
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        print(
            "docs: Chromium is missing, so the reports' pictures of the how-to pages stay as they are",
            file=sys.stderr,
        )
        return
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        for name, picture in PICTURES.items():
            page_file = Path(folder) / f"{name}.html"
            if isinstance(picture, Picture):
                for plan, makespan_s in write_report(picture, page_file).items():
                    print(f"{name}: {plan} takes {makespan_s:.2f} s")
                shown, rows = f"section[aria-labelledby={picture.section}]", picture.rows
            else:
                bl.report_runs(ROOT / picture, page_file)
                shown, rows = "main", None
            for scheme, end in (("light", ""), ("dark", "-dark")):
                shot = photograph(browser, page_file, shown, scheme, rows)
                (FOLDER / f"{name}{end}.png").write_bytes(shot)
        browser.close()


if __name__ == "__main__":
    main()
