"""Assembles the page: drawing library, styles, scripts and data in one file that needs no network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

from broadleaf._core import Platform, __version__
from broadleaf.measured import measured_line
from broadleaf.network import drawing_of
from broadleaf.reporting.broadcasts import Broadcast, described

# Small enough to open at once and to send by mail.
MOST_BYTES = 3 * 2**20
# A browser animates this many smoothly; the plans of a page share them.
MOST_BARS = 60_000
FEWEST_BARS = 500

SCRIPTS = (
    "format.js",
    "theme.js",
    "data.js",
    "layout.js",
    "map.js",
    "legend.js",
    "timeline.js",
    "resources.js",
    "planners.js",
    "node.js",
    "race.js",
    "print.js",
    "main.js",
)


def page_of(
    platform: Platform,
    broadcasts: Sequence[Broadcast],
    verdicts: Sequence[Sequence[str]],
    curves: dict[str, Any] | None,
    measured: Sequence[dict[str, Any]],
) -> str:
    """The whole page, below MOST_BYTES; raises ValueError where no timeline is short enough for that."""
    data: dict[str, Any] = {
        "version": __version__,
        "platform": drawing_of(platform, broadcasts[0].plan.segment_bytes),
        "platform_measured": measured_line(platform),
        "curves": curves,
        "measured": list(measured),
    }
    most_bars = max(FEWEST_BARS, MOST_BARS // len(broadcasts))
    while True:
        data["plans"] = [
            {**described(broadcast, platform, most_bars), "verdict": verdict}
            for broadcast, verdict in zip(broadcasts, verdicts, strict=True)
        ]
        page = filled("page.html", platform.name, SCRIPTS, data)
        if len(page.encode()) < MOST_BYTES:
            return page
        if most_bars <= FEWEST_BARS:
            raise ValueError(
                f"{len(broadcasts)} plans on {platform.name} make a page of more than "
                f"{MOST_BYTES >> 20} MiB; report fewer plans at a time"
            )
        most_bars = max(FEWEST_BARS, most_bars // 2)


def filled(template: str, name: str, scripts: Sequence[str], data: dict[str, Any]) -> str:
    """A page from its template; library, style, scripts and data are written into it."""
    folder = files("broadleaf.reporting")
    # Inside a script element "</script" would end it, and after "<!--<script" nothing would.
    document = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    parts = {
        "title": escape(f"{name} · Broadleaf"),
        "style": (folder / "page.css").read_text(),
        "library": (folder / "vendor" / "d3.min.js").read_text(),
        "data": document,
        "script": "\n".join((folder / name).read_text() for name in scripts),
    }
    page = (folder / template).read_text()
    before, *rest = page.split("{{")
    for piece in rest:
        name, after = piece.split("}}", 1)
        before += parts[name] + after
    return before
