"""What `tune` expects of an MPI's own broadcasts, beside their times: for intervals.py."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from laws import Setting

import broadleaf as bl
from broadleaf.benchmarks.namespaces import ways_by_rules
from broadleaf.rehearsal import times_of

SIZES = (1 << 16, 1 << 20, 1 << 22)
# Of each job: untimed broadcasts make connections.
UNTIMED, TIMED = 1, 3
# In jobs of more seconds no further broadcast begins.
JOB_S = 60
# The device's own broadcast, through shared memory, would come before the MPI's algorithms.
NO_DEVICE = {"MPIR_CVAR_BCAST_DEVICE_COLLECTIVE": "0"}


def tuned(setting: Setting, net: Path, folder: Path, jobs: int) -> list[dict[str, Any]]:
    """By size: the expected time, and the seconds of the chosen algorithm and of each that the MPI has."""
    mpi, rules = setting.mpi, folder / "rules"
    platform, sizes = bl.Platform.load(net), ",".join(map(str, SIZES))
    asked = ["tune", str(net), "--nodes", str(setting.ranks), "--sizes", sizes, "--collective", "bcast"]
    document = json.loads(setting.broadleaf([*asked, "--for", mpi.flavour, "-o", str(rules), "--json"]))
    program = [str(mpi.program("rehearse")), str(JOB_S), str(UNTIMED), str(TIMED), *map(str, SIZES)]
    seconds: dict[str, dict[int, list[float]]] = {"chosen": {size: [] for size in SIZES}}
    for _ in range(jobs):
        for size, each in times_of(setting.plain(program, document["environment"])).items():
            seconds["chosen"][size] += each
    for name, variables in own(setting).items():
        seconds[name] = times_of(setting.plain(program, variables))
    return [
        {
            "bytes": size,
            **of_rule(document, size),
            "rehearsed": rehearsed(platform, size),
            "seconds": {name: by_size.get(size, []) for name, by_size in seconds.items()},
        }
        for size in SIZES
    ]


def own(setting: Setting) -> dict[str, dict[str, str]]:
    """The variables that select each of the MPI's own broadcasts, and none for its default."""
    found = {}
    for name, words, variables in ways_by_rules(setting.mpi.flavour):
        # Words are "--mca NAME VALUE".
        parameters = {f"OMPI_MCA_{words[at + 1]}": words[at + 2] for at in range(0, len(words), 3)}
        found[name] = {**parameters, **variables, **(NO_DEVICE if variables else {})}
    return found


def of_rule(document: Mapping[str, Any], size: int) -> dict[str, Any]:
    """The algorithm that the rules have for a size, and its expected seconds in the document of `tune`."""
    rule = max(
        (rule for rule in document["rules"] if rule["from_bytes"] <= size),
        key=lambda rule: rule["from_bytes"],
    )
    (choice,) = (choice for choice in document["choices"] if choice["bytes"] == size)
    (forecast,) = (row for row in choice["forecasts"] if row["algorithm"] == rule["algorithm"])
    expected_s = forecast["corrected_s"] if forecast["simulated_s"] is None else forecast["simulated_s"]
    return {"algorithm": rule["algorithm"], "segment_bytes": rule["segment_bytes"], "expected_s": expected_s}


def rehearsed(platform: bl.Platform, size: int) -> tuple[float, float] | None:
    """The ratios to the prediction that Broadleaf's own broadcasts are likely to have."""
    made = bl.plan(platform, platform.hosts[0], size)
    if made.makespan_interval_s is None or made.makespan_s is None:
        return None
    low_s, high_s = made.makespan_interval_s
    return low_s / made.makespan_s, high_s / made.makespan_s


def over_best(row: Mapping[str, Any]) -> float:
    """The median time of the chosen algorithm over that of the fastest."""
    medians = {name: statistics.median(each) for name, each in row["seconds"].items() if each}
    return medians["chosen"] / min(medians.values())


def verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    """Each size's errors in a line."""
    return "; ".join(map(of_size, rows))


def of_size(row: Mapping[str, Any]) -> str:
    chosen = row["seconds"]["chosen"]
    ratios = [seconds / row["expected_s"] for seconds in chosen]
    line = f"{row['bytes'] >> 10} KiB {row['algorithm']} {min(ratios):.2g} to {max(ratios):.2g} x as expected"
    if row["rehearsed"] is not None:
        low, high = row["rehearsed"]
        inside = sum(low <= ratio <= high for ratio in ratios)
        line += f" ({inside} of {len(ratios)} inside {low:.2g} to {high:.2g} as rehearsed)"
    return f"{line}, {over_best(row):.2f} x the fastest"
