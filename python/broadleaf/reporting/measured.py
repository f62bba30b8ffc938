"""Times measured by `broadleaf run --stats`, beside the times predicted for the same plans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from broadleaf import _core
from broadleaf._core import Platform
from broadleaf.files import read_json

COUNTS = ("ranks", "root", "bytes", "planned", "segment_bytes")
TIMES = ("seconds", "fastest_s")
FIELDS = (*COUNTS, *TIMES, "planner")
# Fields that only some runs have: times of single calls, their comparison and their prediction.
SAMPLES = ("latest_s", "native_s", "planned_s")
OPTIONAL = (*SAMPLES, "predicted_s", "speedup")
ESTIMATE = ("median", "low", "high")

# Longer than any program runs, and still exact as a float.
LONGEST_S = 1 << 53

# Stands in place of a planner for broadcasts inside one host.
INTRANODE = "intranode"

Document = dict[str, Any]


def planned_rows(path: str | Path) -> list[Document]:
    """The rows of a stats file that have planned broadcasts."""
    rows = document_of(path)["broadcasts"]
    return [row for row in rows if row["planned"] and row.get("collective", "bcast") == "bcast"]


def document_of(path: str | Path) -> Document:
    """A stats file whose rows are sound; raises ValueError, naming the file, for anything else."""
    try:
        document = read_json(path)
    except ValueError:
        raise ValueError(f"{path}: not JSON; name the file that broadleaf run --stats wrote") from None
    if not isinstance(document, dict) or not is_stats(document):
        raise ValueError(f"{path}: no broadleaf-stats/1; name the file that broadleaf run --stats wrote")
    rows = document.get("broadcasts")
    if not isinstance(rows, list):
        raise ValueError(f'{path}: $: the required field "broadcasts" is missing; run the program again')
    for at, row in enumerate(rows):
        missing = [name for name in FIELDS if not isinstance(row, dict) or name not in row]
        if missing:
            raise ValueError(
                f'{path}: $.broadcasts[{at}]: the required field "{missing[0]}" is missing; add it'
            )
        for name in (*FIELDS, *(name for name in OPTIONAL if name in row)):
            if fault := fault_of(name, row):
                raise ValueError(
                    f"{path}: $.broadcasts[{at}].{name}: {fault}, not {json.dumps(row[name])[:80]}; "
                    "run the program again"
                )
    return document


def is_stats(document: Document) -> bool:
    kind = document.get("format")
    return isinstance(kind, str) and kind.startswith("broadleaf-stats/1")


def fault_of(name: str, row: Document) -> str | None:
    """The form that a field must have, if it has another; None for a valid one."""
    value = row[name]
    if name in COUNTS and not (type(value) is int and 0 <= value < 1 << 63):
        return "a whole number that is not negative"
    if name in (*TIMES, "predicted_s") and not is_time(value):
        return "seconds, finite and not negative"
    if name in SAMPLES and not (isinstance(value, list) and all(map(is_time, value))):
        return "a list of seconds, finite and not negative"
    if name == "speedup" and not (value is None or is_estimate(value)):
        return "null or median, low and high, each above 0"
    if name == "planner" and not isinstance(value, str | None):
        return "a planner's name or null"
    # The row that sums up all kinds after the first 10,000 has 0 ranks.
    beyond = name == "root" and row["ranks"] and value >= row["ranks"]
    return f"a rank below {row['ranks']}" if beyond else None


def is_time(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < LONGEST_S


def is_estimate(value: Any) -> bool:
    return isinstance(value, dict) and all(is_time(value.get(name)) and value[name] > 0 for name in ESTIMATE)


def beside_predicted(platform: Platform, rows: list[Document], file: str) -> list[Document]:
    """Each row's mean and fastest time with the simulated time of the same planner, size and segment.

    With as many ranks as hosts, `broadleaf run` places rank k on the k-th host of the platform file, so a
    root is taken as that host. With other numbers of ranks, where the planner refuses the broadcast, and
    where nothing was planned, the row has a reason in place of a prediction.
    """
    found = []
    for row in rows:
        predicted_s, reason = None, None
        if row["planner"] is None:
            reason = "ranks of one host share its memory, which no plan predicts"
        elif row["ranks"] != len(platform.hosts):
            reason = f"{row['ranks']} ranks on {len(platform.hosts)} hosts"
        else:
            try:
                plan = _core.plan(
                    platform,
                    platform.hosts[row["root"]],
                    row["bytes"],
                    planner=row["planner"],
                    segment_bytes=row["segment_bytes"],
                )
                predicted_s = _core.simulate(platform, plan).makespan_s
            except ValueError as error:
                reason = str(error)
        found.append(
            {
                "file": Path(file).name,
                "bytes": row["bytes"],
                "root": row["root"],
                "ranks": row["ranks"],
                "planner": row["planner"] or INTRANODE,
                "calls": row["planned"],
                "mean_s": row["seconds"] / row["planned"],
                "fastest_s": row["fastest_s"],
                "predicted_s": predicted_s,
                "reason": reason,
            }
        )
    return found
