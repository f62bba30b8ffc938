#!/usr/bin/env python3
"""Broadleaf's broadcasts beside every algorithm that SimGrid's SMPI has: 240 MB on the 16 nodes of smp-16.

    benches/smpi_broadcast.py [--bytes N] [--seconds WALL] [--jobs N] [--only NAME,NAME...]

Every sample goes to .bench/smpi_broadcast.json: simulated seconds of each repetition, or the reason for none.
An algorithm that times out after --seconds of wall time counts as slower (`automatic` deadlocks).
Fails unless round-robin and best are within 5 % of the limit and ahead of every algorithm of SMPI.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from refusals import exit_with

import broadleaf as bl
from broadleaf import smpi
from broadleaf.formats.simgrid import write_simgrid

ROOT = Path(__file__).resolve().parents[1]
PLATFORM = ROOT / "platforms/smp-16.json"
OUT = ROOT / ".bench/smpi_broadcast.json"
OURS = ("round-robin", "best", "circulant", "two-tree")
MUST_HOLD = ("round-robin", "best")
WITHIN = 1.05
BANDWIDTH_BYTES_PER_S = 125e6


def sample(
    name: str, ours: bool, program: Path, where: tuple[Path, Path], message_bytes: int, wall_s: float
) -> dict[str, Any]:
    """The simulated seconds of two broadcasts; the first may build communicators."""
    variables = {"BROADLEAF_PLANNER": name, "BROADLEAF_PLATFORM": str(PLATFORM)} if ours else {}
    settings = {} if ours else {"smpi/bcast": name}
    command = [str(program), str(message_bytes), "2", "0", "shared"]
    found: dict[str, Any] = {"algorithm": name, "whose": "broadleaf" if ours else "smpi", "seconds": []}
    try:
        printed = smpi.simulate(*where, command, settings=settings, variables=variables, timeout_s=wall_s)
    except smpi.SmpiError as failed:
        return {**found, "failed": str(failed)}
    found["seconds"] = [float(taken) for taken in re.findall(r"seconds=([0-9.]+)", printed)]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--bytes", type=int, default=240_000_000)
    parser.add_argument("--seconds", type=float, default=60.0, help="of wall time, for each algorithm")
    parser.add_argument("--jobs", type=int, default=1, help="simulations at once")
    parser.add_argument("--only", help="these of SMPI's algorithms, with commas")
    options = parser.parse_args()
    limit_s = options.bytes / BANDWIDTH_BYTES_PER_S
    with tempfile.TemporaryDirectory(prefix="broadleaf-bench-") as made:
        folder = Path(made)
        plain = smpi.plain_program(ROOT / "testbeds/bcast.c", folder / "plain")
        planned = smpi.planned_program(ROOT / "testbeds/bcast.c", folder / "planned")
        where = write_simgrid(bl.Platform.load(str(PLATFORM)), folder)
        theirs = smpi.broadcast_algorithms(*where, [str(plain), "1"])
        wanted = [name for name in theirs if options.only is None or name in options.only.split(",")]

        def measured(job: tuple[str, bool]) -> dict[str, Any]:
            name, ours = job
            program = planned if ours else plain
            row = sample(name, ours, program, where, options.bytes, options.seconds)
            said = f"{row['seconds'][-1]:10.4f} s" if row["seconds"] else row.get("failed", "nothing printed")
            print(f"{row['whose']:10} {name:36} {said}", flush=True)
            return row

        with ThreadPoolExecutor(options.jobs) as pool:
            jobs = [*((name, True) for name in OURS), *((name, False) for name in wanted)]
            rows = list(pool.map(measured, jobs))
    OUT.parent.mkdir(exist_ok=True)
    document = {"bytes": options.bytes, "limit_s": limit_s, "wall_s": options.seconds, "rows": rows}
    OUT.write_text(json.dumps(document, indent=1) + "\n")
    last = {(row["whose"], row["algorithm"]): row["seconds"][-1] for row in rows if row["seconds"]}
    fastest = min((taken, name) for (whose, name), taken in last.items() if whose == "smpi")
    print(f"limit {limit_s:.4f} s; SMPI's fastest: {fastest[1]}, {fastest[0] / limit_s:.3f} times that")
    holds = True
    for name in MUST_HOLD:
        taken = last.get(("broadleaf", name), float("inf"))
        is_ahead = taken <= WITHIN * limit_s and taken < fastest[0]
        print(f"{name}: {taken / limit_s:.4f} t, {fastest[0] / taken:.2f} times as fast as SMPI's fastest")
        holds &= is_ahead
    return 0 if holds else 1


if __name__ == "__main__":
    exit_with(main)
