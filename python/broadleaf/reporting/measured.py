"""What a run measured (`broadleaf run --stats`) beside what its plans were predicted to take."""

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

# More seconds than a program runs, and still exact as a float.
LONGEST_S = 1 << 53

# In the place of a planner: broadcasts inside one host, which have none.
INTRANODE = "intranode"

Document = dict[str, Any]


def rows_of(path: str | Path) -> list[Document]:
    """The rows of planned calls of a stats file; raises ValueError, naming the file, for anything else."""
    try:
        document = read_json(path)
    except ValueError:
        raise ValueError(f"{path}: not JSON; name the file that broadleaf run --stats wrote") from None
    kind = document.get("format") if isinstance(document, dict) else None
    if not isinstance(kind, str) or not kind.startswith("broadleaf-stats/1"):
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
        for name in FIELDS:
            if fault := fault_of(name, row):
                raise ValueError(
                    f"{path}: $.broadcasts[{at}].{name}: {fault}, not {json.dumps(row[name])[:80]}; "
                    "run the program again"
                )
    planned: list[Document] = [row for row in rows if row["planned"]]
    return planned


def fault_of(name: str, row: Document) -> str | None:
    """What a field of a row has to be, where it is something else."""
    value = row[name]
    if name in COUNTS and not (type(value) is int and 0 <= value < 1 << 63):
        return "a whole number that is not negative"
    if name in TIMES and not (type(value) in (int, float) and 0 <= value < LONGEST_S):
        return "seconds, finite and not negative"
    if name == "planner" and not isinstance(value, str | None):
        return "a planner's name or null"
    return f"a rank below {row['ranks']}" if name == "root" and not value < row["ranks"] else None


def beside_predicted(platform: Platform, rows: list[Document], file: str) -> list[Document]:
    """Each row's mean and fastest time with the simulated time of the same planner, size and segment.

    A root is a rank: it is taken as the host of that place in the platform file, which is where
    `broadleaf run` puts it when ranks and hosts are as many. Otherwise, where the planner cannot plan it
    here, and where nothing was planned, there is no prediction, and the row says why.
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
