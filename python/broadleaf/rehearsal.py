"""Times some broadcasts after a measurement, as programs will have them, for the interval of predictions.

The platform's `provenance.measured.rehearsed` has the result, which
`crates/broadleaf/src/plan/rehearsed.rs` reads."""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from broadleaf._core import Platform, plan
from broadleaf.mpi import Host, Start, launch_command
from broadleaf.mpi.job import first_complaint, started

SIZES = (1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24)
# Times differ more from job to job than within a job.
JOBS = 7
TIMED = 5
# Of each job, while the runtime plans in the background, and links warm up.
UNTIMED = 4
# Seconds of all broadcasts, and those that are expected to take less fit in it.
LIMIT_S = 30.0
EXPECTED_S = 10.0
# Seconds for the start and the end of a job.
START_S = 60.0
PLANNING_S = 1.0


class RehearsalError(ValueError):
    """Broadcasts that could not be timed; the message is one line."""


def rehearsed(
    start: Start,
    ranks: int,
    hosts: Sequence[Host],
    platform: Platform,
    budget_s: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[dict[str, Any]]:
    """For each size the predicted and the least, median and greatest measured seconds.

    `platform` has a node for each of at least two ranks. Broadcasts take a tenth of `budget_s` at most, and
    seven jobs start. `progress` is called with the jobs done and to do.

    Raises RehearsalError, also where no size fits in the time and where broadcasts are not planned,
    LaunchError or MpiNotFoundError."""
    limit_s = LIMIT_S if budget_s is None else min(LIMIT_S, budget_s / 10)
    predicted_s: dict[int, float] = {}
    calls = JOBS * (UNTIMED + TIMED)
    for size in SIZES:
        made = plan(platform, platform.hosts[0], size, time_limit_s=PLANNING_S)
        expected_s = (made.makespan_s or 0.0) * calls
        if made.makespan_s and sum(predicted_s.values()) * calls + expected_s <= (
            EXPECTED_S / LIMIT_S * limit_s
        ):
            predicted_s[size] = made.makespan_s
    if not predicted_s:
        raise RehearsalError(f"{calls} broadcasts of {SIZES[0] >> 10} KiB do not fit in {limit_s:g} s")
    found: dict[int, list[float]] = {size: [] for size in predicted_s}
    for done in range(JOBS):
        if progress is not None:
            progress(done, JOBS)
        of_job = timed(start, ranks, hosts, platform, list(predicted_s), limit_s / JOBS)
        for size, seconds in of_job.items():
            found[size] += seconds
    return [row_of(size, found[size], made_s) for size, made_s in predicted_s.items()]


def timed(
    start: Start, ranks: int, hosts: Sequence[Host], platform: Platform, sizes: list[int], limit_s: float
) -> dict[int, list[float]]:
    """The seconds of each size in one job."""
    with tempfile.TemporaryDirectory(prefix="broadleaf-") as scratch:
        described, stats = Path(scratch) / "platform.json", Path(scratch) / "stats.json"
        platform.save(described)
        program = [str(start.mpi.program("rehearse")), f"{limit_s:g}", str(UNTIMED), str(TIMED)]
        argv, environment = launch_command(
            start.mpi,
            ranks,
            [*program, *map(str, sizes)],
            launcher=start.launcher,
            hosts=hosts,
            variables={"BROADLEAF_PLATFORM": str(described), "BROADLEAF_STATS": str(stats)},
            preload=start.runtime,
        )
        with (
            tempfile.TemporaryFile("w+", errors="replace") as complaints,
            started(argv, environment, complaints) as job,
        ):
            try:
                output, _ = job.communicate(timeout=limit_s + START_S)
            except subprocess.TimeoutExpired:
                raise RehearsalError(f"broadcasts took over {limit_s + START_S:g} s") from None
            complaints.seek(0)
            if job.returncode != 0:
                raise RehearsalError(f"broadcasts failed: {first_complaint(complaints.read())}")
        if not is_planned(stats):
            raise RehearsalError("the MPI carried broadcasts itself")
    found = times_of(output)
    ended = min(len(found.get(size, ())) for size in sizes)
    if ended < TIMED:
        raise RehearsalError(f"only {ended} of {TIMED} broadcasts of each size ended in {limit_s:g} s")
    return found


def is_planned(stats: Path) -> bool:
    """Whether the runtime was on all ranks, and passed only short broadcasts to the MPI."""
    if not stats.exists():
        return False
    return set(json.loads(stats.read_text())["passed_through"]) <= {"under-threshold"}


def times_of(output: str) -> dict[int, list[float]]:
    """The seconds of each size, out of lines `BYTES SECONDS`; launchers write other lines too."""
    found: dict[int, list[float]] = {}
    for line in output.splitlines():
        words = line.split()
        if len(words) == 2 and words[0].isdecimal():
            found.setdefault(int(words[0]), []).append(float(words[1]))
    return found


def row_of(size: int, seconds: list[float], predicted_s: float) -> dict[str, Any]:
    return {
        "bytes": size,
        "calls": len(seconds),
        "predicted_s": predicted_s,
        "least_s": min(seconds),
        "median_s": statistics.median(seconds),
        "greatest_s": max(seconds),
    }
