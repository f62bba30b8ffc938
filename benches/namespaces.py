#!/usr/bin/env python3
"""16 MiB over real TCP between two shaped clusters of hosts, and a rate that is halved in mid-run.

    benches/namespaces.py [--mpi openmpi|mpich] [--ours] [--rivals FOLDER]

Compares with every broadcast algorithm of Open MPI and of MPICH (20 minutes; --ours takes one), and with
the newest algorithms as their authors wrote them (--rivals; benches/rivals.py lists what FOLDER holds). Then
the root's port drops to half of its rate while 16 broadcasts run, and BROADLEAF_STATS has the change. Raw
samples go to .bench/namespaces.json; the exit code is 1 if Broadleaf is not within 1.25 of the limit, if an
algorithm is ahead of it, or if the statistics have no change. Needs root.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from refusals import exit_with
from rivals import RIVALS

import broadleaf as bl
from broadleaf.benchmarks import OURS, BenchError, Row
from broadleaf.benchmarks.limit import limit_s
from broadleaf.benchmarks.namespaces import (
    DEFAULT_PLATFORM,
    LUMP,
    PAYLOAD,
    THEIR_BROADCASTS,
    bench_namespaces,
    namespaces_output,
    seconds_in,
)
from broadleaf.mpi import find_mpi
from broadleaf.mpi.find import Flavour
from broadleaf.smpi.programs import last_line

ROOT = Path(__file__).resolve().parents[1]
BED = ROOT / "testbeds/namespaces"
sys.path.insert(0, str(BED))
from changing import run_changing  # noqa: E402
from launch import command_of, write_agent  # noqa: E402
from network import Network, rates_of  # noqa: E402
from run import build  # noqa: E402

OUT = ROOT / ".bench/namespaces.json"
BYTES = 16 << 20
WITHIN = 1.25
BROADCASTS = 16
CHANGED_AFTER = 8
# The factor by which a broadcast must at least slow down at half the rate of its limiting port.
SLOWER = 1.4
TIMEOUT_S = 120.0


def halved(flavour: Flavour) -> dict[str, Any]:
    """The times in the statistics of the broadcasts before and after the change, seconds."""
    platform, mpi = bl.Platform.load(str(DEFAULT_PLATFORM)), find_mpi(flavour, compiling=True)
    prefix = mpi.mpiexec.parent.parent
    with (
        tempfile.TemporaryDirectory(prefix="broadleaf-bench-", ignore_cleanup_errors=True) as made,
        Network(f"blbench{os.getpid()}", rates_of(platform), LUMP) as bed,
    ):
        stats = Path(made) / "stats.json"
        variables = {
            "LD_PRELOAD": str(mpi.runtime),
            "BROADLEAF_PLATFORM": str(DEFAULT_PLATFORM),
            "BROADLEAF_STATS": str(stats),
        }
        # Preloaded into the ranks, not into their launcher.
        line = ["env", *(f"{name}={value}" for name, value in variables.items())]
        line += [str(build(ROOT / "testbeds/bcast.c", prefix, Path(made))), str(BYTES), str(BROADCASTS)]
        command, environment = command_of(
            prefix, bed, write_agent(bed, Path(made)), len(platform.hosts), [], line
        )

        def change() -> None:
            root = platform.hosts[0]
            bed.set_port_rate(root, bed.rates.out[0] / 2)

        environment["TMPDIR"] = made
        run_changing(command, environment, CHANGED_AFTER, change, TIMEOUT_S)
        rows = json.loads(stats.read_text())["broadcasts"]
    (row,) = (row for row in rows if row["bytes"] == BYTES)
    latest = row["latest_s"]
    before, after = (
        statistics.median(part) for part in (latest[1:CHANGED_AFTER], latest[CHANGED_AFTER + 1 :])
    )
    return {"latest_s": latest, "before_s": before, "after_s": after}


def rivals_on(flavour: Flavour, folder: Path) -> list[Row]:
    """The rivals' broadcasts over the MPI's sends."""
    platform, mpi = bl.Platform.load(str(DEFAULT_PLATFORM)), find_mpi(flavour, compiling=True)
    ranks = len(platform.hosts)
    rows = []
    with tempfile.TemporaryDirectory(prefix="broadleaf-bench-") as made:
        for rival in RIVALS:
            if "bcast" not in rival.sources or not rival.takes(ranks):
                continue
            program = Path(made) / rival.file_name
            source = str(ROOT / "testbeds/bcast.c")
            command = [
                str(mpi.compiler),
                "-O2",
                source,
                "-o",
                str(program),
                *rival.options_for("bcast", folder),
            ]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise BenchError(f"{mpi.compiler} cannot build {rival.name}: {last_line(done.stderr)}")
            print(f"{BYTES} bytes: {rival.name}")
            limit = limit_s(platform, platform.hosts[0], BYTES) / PAYLOAD
            arguments = [str(program), str(BYTES), str(THEIR_BROADCASTS)]
            row = Row(rival.name, ranks, BYTES, limit)
            row.samples_s = seconds_in(
                namespaces_output(DEFAULT_PLATFORM, mpi.mpiexec.parent.parent, arguments, [], {}, TIMEOUT_S)
            )
            rows.append(row)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mpi", choices=["openmpi", "mpich"], help="this one only")
    parser.add_argument("--ours", action="store_true", help="no other algorithms")
    parser.add_argument("--rivals", type=Path, metavar="FOLDER", help="clones of mpich and bine-trees")
    options = parser.parse_args()
    flavours: list[Flavour] = [options.mpi] if options.mpi else ["openmpi", "mpich"]
    holds, document = True, {}
    for flavour in flavours:
        wanted = [OURS] if options.ours else []
        rows = bench_namespaces(DEFAULT_PLATFORM, flavour, [BYTES], wanted, TIMEOUT_S, print)
        rows += rivals_on(flavour, options.rivals) if options.rivals else []
        for row in sorted(rows, key=lambda row: row.seconds or float("inf")):
            said = (
                "not done"
                if row.seconds is None
                else f"{row.seconds:8.3f} s {row.seconds / row.limit_s:6.2f}"
            )
            print(f"{flavour:8} {row.algorithm:40} {said}", flush=True)
        ours = rows[0].seconds or float("inf")
        others = [row.seconds for row in rows[1:] if row.seconds is not None]
        holds &= ours <= WITHIN * rows[0].limit_s and all(ours < other for other in others)
        changed = halved(flavour)
        print(
            f"{flavour:8} port halved: {changed['before_s']:.3f} s before, {changed['after_s']:.3f} s after"
        )
        holds &= changed["after_s"] > SLOWER * changed["before_s"]
        document[flavour] = {"rows": [row.to_dict() for row in rows], "halved": changed}
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps({"bytes": BYTES, **document}, indent=1) + "\n")
    return 0 if holds else 1


if __name__ == "__main__":
    exit_with(main)
