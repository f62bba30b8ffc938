#!/usr/bin/env python3
"""Thousands of ranks under SMPI: 1 MiB over 64 clusters, planning included, beside SMPI's default broadcast.

    benches/smpi_scale.py [--ranks N,N...] [--clusters N] [--bytes N] [--grids equal,drawn]

A pipe of 0.1 to 1 Gb/s, 0.5 to 15 ms long, leads from each cluster to each other; "equal" clusters have the
same number of hosts, "drawn" ones half to one and a half times as many. One rank a host, cluster after
cluster. For every run: the second broadcast's simulated seconds, the real and the processor seconds of the
whole run, and the peak memory of the simulating process, sampled twice a second. (As "Pss", which divides the
size of a page among its mappings, since all ranks map the same message.) Samples go to
.bench/smpi_scale.json.

Fails where a run of Broadleaf takes over 60 s or 4 GiB, or SMPI's default is not 5 times slower in simulated
time.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from refusals import exit_with
from smpi_beds import ROOT, Network, grid

from broadleaf import smpi
from broadleaf.benchmarks import OURS
from broadleaf.benchmarks.smpi import second_seconds

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
    # The last clusters gain or lose one host each in turn, until the sum is right.
    step = 1 if sum(sizes) < ranks else -1
    for at in range(abs(ranks - sum(sizes))):
        sizes[-1 - at % clusters] += step
    return sizes


def run(program: Path, network: Network, whose: str, message_bytes: int) -> Row:
    variables = {
        "BROADLEAF_PLATFORM": str(network.platform),
        "BROADLEAF_PLAN": "before",
        "BROADLEAF_MIN_BYTES": "1",
    }
    seen = Memory(program)
    begin, processor_s = time.perf_counter(), children_s()
    text = smpi.simulate(
        *(network.xml, network.hosts, [str(program), str(message_bytes), "2", "0", SHARED]),
        variables=variables if whose == OURS else {},
        timeout_s=20 * MOST_S,
        errors=sys.stderr,
    )
    return {
        "whose": whose,
        "seconds": second_seconds(text, whose)[0],
        "real_s": time.perf_counter() - begin,
        "processor_s": children_s() - processor_s,
        "most_bytes": seen.most(),
    }


def children_s() -> float:
    """Processor time of all processes that have been waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Memory:
    """Watches the process that simulates a program."""

    def __init__(self, program: Path) -> None:
        self.program = str(program).encode()
        self.most_bytes = 0
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self) -> None:
        while not self.done.wait(0.5):
            for process in Path("/proc").iterdir():
                if process.name.isdecimal():
                    self.most_bytes = max(self.most_bytes, self.bytes_of(process))

    def bytes_of(self, process: Path) -> int:
        try:
            command = (process / "cmdline").read_bytes().split(b"\0")
            if not command[0].endswith(b"smpimain") or command[1] != self.program:
                return 0
            rows = (process / "smaps_rollup").read_text().splitlines()
        except (OSError, IndexError):
            # The process has ended meanwhile.
            return 0
        return sum(int(row.split()[1]) << 10 for row in rows if row.startswith("Pss:"))

    def most(self) -> int:
        self.done.set()
        self.thread.join()
        return self.most_bytes


def faults(ours: Row, default: Row) -> list[str]:
    found = []
    if ours["real_s"] > MOST_S:
        found.append(f"{ours['real_s']:.1f} s of real time are more than {MOST_S:g}")
    if ours["most_bytes"] > MOST_BYTES:
        found.append(f"{ours['most_bytes'] / 2**30:.2f} GiB are more than 4")
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
                real = f"{row['real_s']:.1f} s real, {row['processor_s']:.1f} s of processors"
                taken = f"{row['seconds']:.6f} s simulated, {real}"
                print(f"{name:12} {row['whose']:14} {taken}, {row['most_bytes'] / 2**30:.2f} GiB")
            found = faults(ours, default)
            failing += bool(found)
            print(f"{name:12} {'; '.join(found) or 'holds'}", flush=True)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if failing else 0


if __name__ == "__main__":
    exit_with(main)
