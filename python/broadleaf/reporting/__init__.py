"""The pages that `broadleaf report` writes: a platform with plans on it, or measured runs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from broadleaf._core import Plan, Platform
from broadleaf.files import refuse_unwritable, write_whole
from broadleaf.given import File, Size, platform_of, sizes_of

# At each size of the comparison no planner starts after this many seconds.
TIME_LIMIT_S = 3.0


@dataclass(frozen=True)
class Report:
    """A page that was written: its `path` and `bytes`, how many `transfers` each plan has, the `sizes` at
    which planners were compared, and each plan's `verdicts`, the sentences at the top of the page.
    """

    path: str
    bytes: int
    transfers: list[int]
    sizes: list[int]
    verdicts: list[list[str]]

    def _repr_html_(self) -> str:
        return f'<a href="{escape(self.path)}">{escape(self.path)}</a>, {self.bytes:,} bytes'


@dataclass(frozen=True)
class RunsReport:
    """A page of runs that was written: its `path` and `bytes`, how many `kinds` of broadcasts it draws."""

    path: str
    bytes: int
    kinds: int

    def _repr_html_(self) -> str:
        return f'<a href="{escape(self.path)}">{escape(self.path)}</a>, {self.bytes:,} bytes'


def report(
    platform: Platform | File,
    plans: Plan | File | Iterable[Plan | File],
    path: File,
    *,
    stats: File | Iterable[File] = (),
    sizes: Size | Iterable[Size] | None = None,
    time_limit_s: float = TIME_LIMIT_S,
) -> Report:
    """Writes one page, which opens from disk and needs no network, that shows plans on a platform.

    `stats` are files of `broadleaf run --stats`, whose times stand beside the predicted ones. At `sizes`
    every planner is compared, each size within `time_limit_s`: by default the first plan's size and some
    below it, with an empty list at none. Raises PlanError for a plan made for another platform, ValueError or
    OSError for what cannot be read or written.
    """
    from broadleaf.reporting.broadcasts import bound_of, broadcast_of
    from broadleaf.reporting.measured import beside_predicted, planned_rows
    from broadleaf.reporting.page import page_of
    from broadleaf.reporting.sizes import curves_of, sizes_below
    from broadleaf.reporting.verdict import verdict_of

    refuse_unwritable(path)
    network = platform_of(platform)
    rows = [(file, planned_rows(file)) for file in listed(stats)]
    broadcasts = [broadcast_of(network, plan) for plan in listed(plans)]
    if not broadcasts:
        raise ValueError("no plan to report; give at least one")
    first = broadcasts[0].plan
    asked = sizes_below(first.message_bytes) if sizes is None else sizes_of(sizes)
    curves = curves_of(network, first, asked, time_limit_s) if asked else None
    measured = [row for file, each in rows for row in beside_predicted(network, each, str(file))]
    verdicts = [verdict_of(network, each, bound_of(network, each.plan)) for each in broadcasts]
    page = page_of(network, broadcasts, verdicts, curves, measured)
    write_whole(Path(path), page)
    transfers = [len(broadcast.trace.transfers) for broadcast in broadcasts]
    return Report(str(path), len(page.encode()), transfers, asked, verdicts)


def report_runs(stats: File | Iterable[File], path: File) -> RunsReport:
    """Writes one page that shows the measured times of single broadcasts, from files of
    `broadleaf run --stats`: after `--compare`, planned calls beside native ones.

    Raises ValueError or OSError for what cannot be read or written.
    """
    from broadleaf.reporting.runs import drawn_runs, runs_page

    refuse_unwritable(path)
    runs = drawn_runs([stats] if isinstance(stats, str | os.PathLike) else list(stats))
    page = runs_page(runs)
    write_whole(Path(path), page)
    return RunsReport(str(path), len(page.encode()), sum(len(run["kinds"]) for run in runs))


def listed(given: Any) -> list[Any]:
    """One plan or file, or several."""
    return [given] if isinstance(given, Plan | str | Path) else list(given)
