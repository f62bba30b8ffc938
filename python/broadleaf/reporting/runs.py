"""The page of measured runs: the times of single broadcasts, planned beside the MPI's own."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from broadleaf._core import __version__
from broadleaf.given import File
from broadleaf.reporting.measured import INTRANODE, document_of
from broadleaf.reporting.page import MOST_BYTES, filled
from broadleaf.units import seconds

SCRIPTS = ("format.js", "theme.js", "strips.js", "runs.js")
# The most kinds of broadcasts drawn, those with the longest total time.
MOST_KINDS = 200

Document = dict[str, Any]


def drawn_runs(files: list[File]) -> list[Document]:
    """Each file's run; raises ValueError where there is none."""
    if not files:
        raise ValueError("no run to report; give at least one file of broadleaf run --stats")
    return [run_of(file) for file in files]


def runs_page(runs: list[Document]) -> str:
    """The whole page, below MOST_BYTES; raises ValueError for runs that do not fit."""
    page = filled("runs.html", "Measured broadcasts", SCRIPTS, {"version": __version__, "runs": runs})
    if len(page.encode()) >= MOST_BYTES:
        raise ValueError(
            f"{len(runs)} runs make a page of more than {MOST_BYTES >> 20} MiB; report fewer at a time"
        )
    return page


def run_of(file: File) -> Document:
    """A run as the page shows it: the summary that the runtime wrote, and a row a kind of broadcast."""
    document = document_of(Path(file))
    rows = [kind_of(row) for row in document["broadcasts"]]
    drawn = sorted((row for row in rows if row["samples"]), key=lambda row: -row["total_s"])
    gain = document.get("gain")
    summary = gain.get("summary") if isinstance(gain, dict) else None
    return {
        "name": Path(file).name,
        "mpi": text_of(document.get("mpi")),
        "summary": [line for line in summary if isinstance(line, str)] if isinstance(summary, list) else [],
        "kinds": drawn[:MOST_KINDS],
        "kind_count": len(drawn),
        "unsampled": len(rows) - len(drawn),
    }


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def kind_of(row: Document) -> Document:
    """One communicator, root and length: its samples, and one sentence about them."""
    native, planned = row.get("native_s", []), row.get("planned_s") or row.get("latest_s", [])
    named = {"native": native, "planned": planned}
    samples = [[name, times] for name, times in named.items() if times]
    return {
        "communicator": text_of(row.get("communicator")),
        "ranks": row["ranks"],
        "root": row["root"],
        "bytes": row["bytes"],
        "planner": row["planner"] or (INTRANODE if row["planned"] else None),
        "samples": samples,
        "predicted_s": row.get("predicted_s"),
        "sentence": sentence_of(row, native, planned),
        "total_s": sum(sum(times) for _, times in samples),
    }


def sentence_of(row: Document, native: list[float], planned: list[float]) -> str:
    """The result in medians; after a comparison, with the runtime's 95 % interval."""
    if native and planned:
        speedup = row.get("speedup")
        if speedup is None:
            return f"Too few samples to compare: {len(native)} native, {len(planned)} planned."
        between = f"(95 % interval {speedup['low']:.3g} to {speedup['high']:.3g})"
        if speedup["low"] <= 1 <= speedup["high"]:
            return f"No difference is shown: {speedup['median']:.3g} times the speed {between}."
        return f"Planned calls run at {speedup['median']:.3g} times the speed of native ones {between}."
    if native and (predicted_s := row.get("predicted_s")):
        ratio = statistics.median(native) / predicted_s
        return (
            f"A plan is predicted to take {seconds(predicted_s)}; "
            f"the median native call takes {ratio:.3g} times as long."
        )
    if samples := native or planned:
        kind = "native" if native else "planned"
        return f"The median of {len(samples)} {kind} calls is {seconds(statistics.median(samples))}."
    return ""
