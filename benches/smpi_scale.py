#!/usr/bin/env python3
"""Thousands of ranks under SMPI: 1 MiB over 64 clusters, planning included, beside SMPI's default broadcast.

    benches/smpi_scale.py [--ranks N,N...] [--clusters N] [--bytes N] [--grids equal,drawn]

A pipe of 0.1 to 1 Gb/s, 0.5 to 15 ms long, leads from each cluster to each other; "equal" clusters have the
same number of hosts, "drawn" ones half to one and a half times as many. One rank a host, cluster after
cluster. For every run: the second broadcast's simulated seconds, the real seconds of all of it, and the
largest process there was until then (compilers included, so no run took more). Samples go to
.bench/smpi_scale.json.

Fails where a run of ours takes over 60 s or 4 GiB, or SMPI's default is not 5 times slower in simulated time.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from smpi_beds import ROOT, Network, grid

from broadleaf import smpi
from broadleaf.bench import OURS, BenchError
from broadleaf.bench.smpi import PLANNING_MS, second_seconds

OUT = ROOT / ".bench/smpi_scale.json"
# The program's 4,096 messages would not fit in memory: SMPI gives all ranks the same.
SHARED = "shared"
SEED = 4096
MOST_S = 60.0
MOST_BYTES = 4 << 30
TIMES_FASTER = 5.0

Row = dict[str, Any]


def sizes_of(kind: str, ranks: int, clusters: int, draw: random.Random) -> list[int]:
    mean = ranks // clusters
    if kind == "equal":
        return [mean] * clusters
    sizes = [draw.randint(mean // 2, mean + mean // 2) for _ in range(clusters)]
    # The last ones take what is missing or too much, one host each in turn.
    step = 1 if sum(sizes) < ranks else -1
    for at in range(abs(ranks - sum(sizes))):
        sizes[-1 - at % clusters] += step
    return sizes


def run(program: Path, network: Network, whose: str, message_bytes: int) -> Row:
    variables = {
        "BROADLEAF_PLATFORM": str(network.platform),
        "BROADLEAF_FIRST_PLAN_MS": PLANNING_MS,
        "BROADLEAF_MIN_BYTES": "1",
    }
    begin = time.perf_counter()
    text = smpi.simulate(
        *(network.xml, network.hosts, [str(program), str(message_bytes), "2", "0", SHARED]),
        variables=variables if whose == OURS else {},
        timeout_s=20 * MOST_S,
        errors=sys.stderr,
    )
    took_s = time.perf_counter() - begin
    largest_bytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
    seconds = second_seconds(text, whose)[0]
    return {"whose": whose, "seconds": seconds, "real_s": took_s, "largest_bytes": largest_bytes}


def faults(ours: Row, default: Row) -> list[str]:
    found = []
    if ours["real_s"] > MOST_S:
        found.append(f"{ours['real_s']:.1f} s of real time are more than {MOST_S:g}")
    if ours["largest_bytes"] > MOST_BYTES:
        found.append(f"{ours['largest_bytes'] / 2**30:.2f} GiB are more than 4")
    if default["seconds"] < TIMES_FASTER * ours["seconds"]:
        times = default["seconds"] / ours["seconds"]
        found.append(f"{times:.2f} times as fast as SMPI's default, not {TIMES_FASTER:g}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--ranks", type=lambda text: [int(part) for part in text.split(",")], default=[1024, 4096]
    )
    parser.add_argument("--clusters", type=int, default=64)
    parser.add_argument("--bytes", type=int, default=1 << 20)
    parser.add_argument("--grids", type=lambda text: text.split(","), default=["equal", "drawn"])
    options = parser.parse_args()
    rows, failing = [], 0
    source = ROOT / "testbeds/bcast.c"
    try:
        with tempfile.TemporaryDirectory(prefix="broadleaf-bench-") as made:
            folder = Path(made)
            plain = smpi.plain_program(source, folder / "bcast")
            planned = smpi.planned_program(source, folder / "bcast-broadleaf")
            for ranks, kind in ((ranks, kind) for ranks in options.ranks for kind in options.grids):
                draw = random.Random(SEED)
                name = f"{kind}-{ranks}"
                (folder / name).mkdir()
                network = grid(name, sizes_of(kind, ranks, options.clusters, draw), draw, folder / name)
                ours = run(planned, network, OURS, options.bytes)
                default = run(plain, network, "SMPI's default", options.bytes)
                for row in (ours, default):
                    rows.append({"ranks": ranks, "grid": kind, "bytes": options.bytes, **row})
                    taken = f"{row['seconds']:.6f} s simulated, {row['real_s']:.1f} s real"
                    print(f"{name:12} {row['whose']:14} {taken}, {row['largest_bytes'] / 2**30:.2f} GiB")
                found = faults(ours, default)
                failing += bool(found)
                print(f"{name:12} {'; '.join(found) or 'holds'}", flush=True)
    except (smpi.SmpiError, BenchError) as error:
        print(f"smpi_scale: {error}", file=sys.stderr)
        return 2
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())
