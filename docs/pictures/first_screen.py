"""The pictures of the first screen: both broadcasts racing, and the report of both at one time on the clock.

`make docs` makes them again. The race comes from the simulator alone; the report is photographed in Chromium,
and stays as it is where there is none.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import broadleaf as bl

ROOT = Path(__file__).resolve().parents[2]
PLATFORM = ROOT / "testbeds" / "namespaces" / "two-clusters.json"
RACE = ROOT / "docs" / "race.svg"
REPORTS = {"light": ROOT / "docs" / "report.png", "dark": ROOT / "docs" / "report-dark.png"}
ROOT_NODE, MESSAGE = "a0", "16MiB"
# Open MPI 4.1 and 5.0 choose "basic_linear" for 8 to 15 ranks and 32 KiB or more: the root sends to all ranks
# at once (ompi_coll_tuned_bcast_intra_dec_fixed in ompi/mca/coll/tuned/coll_tuned_decision_fixed.c). The TCP
# transport sends such messages by turns, in fragments of 128 KiB (btl_tcp_max_send_size). docs/namespaces.md
# has it measured.
OPEN_MPI = "Open MPI 5.0, linear"
WIDTH = 1200
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def plans() -> dict[str, bl.Plan]:
    """The two plans that race, by their names in the pictures."""
    platform = bl.Platform.load(PLATFORM)
    return {
        OPEN_MPI: bl.plan(platform, ROOT_NODE, MESSAGE, planner="flat", segment_bytes="128KiB"),
        "Broadleaf": bl.plan(platform, ROOT_NODE, MESSAGE),
    }


def race() -> str:
    return bl.race(PLATFORM, plans()).svg


def photograph(browser: str, scheme: str) -> bytes:
    """The head and both maps of the report, when the faster plan is done."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "report.html"
        raced = plans()
        files = [Path(folder) / f"{name}.json" for name in raced]
        for file, plan in zip(files, raced.values(), strict=True):
            plan.save(file)
        bl.report(PLATFORM, files, page_file, sizes=[])
        makespans = [bl.simulate(bl.Platform.load(PLATFORM), plan).makespan_s for plan in raced.values()]
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        page = chromium.new_page(viewport={"width": WIDTH, "height": 900})
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        page.goto(page_file.as_uri())
        page.wait_for_selector("[data-ready=true]")
        # A moment later than the last arrival: the slider has a thousand steps.
        page.locator("#time").evaluate(
            """(slider, share) => {
                slider.value = Math.ceil(slider.max * share);
                slider.dispatchEvent(new Event("input"));
            }""",
            min(makespans) / max(makespans),
        )
        page.wait_for_timeout(300)
        end = page.locator("#map-legend").bounding_box()
        assert end is not None
        clip = {"x": 0.0, "y": 0.0, "width": float(WIDTH), "height": end["y"]}
        shot = page.screenshot(clip=clip, full_page=True)  # type: ignore[arg-type]
        chromium.close()
    picture = BytesIO()
    Image.open(BytesIO(shot)).convert("RGB").quantize(128).save(picture, "png", optimize=True)
    return picture.getvalue()


def main() -> None:
    RACE.write_text(race())
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        print("docs: Chromium is missing, so the pictures of the report stay as they are", file=sys.stderr)
        return
    for scheme, file in REPORTS.items():
        file.write_bytes(photograph(browser, scheme))


if __name__ == "__main__":
    main()
