#!/usr/bin/env python3
"""`best` among thousands of nodes: clusters of equal hosts by meshes, joined by drawn bridges.

    benches/many_nodes.py [--nodes N] [--draws K] [--planner NAME] [--sizes 64KiB,64MiB] [--seconds S]

Every other draw has shared pipes on its bridges. Prints the predicted time over the bound, the planner, the
processor seconds and the memory of planning, and the length of the plan file. Fails where 64 KiB are over
1.25 or 64 MiB over 1.1 times the bound. Each plan is made in a process of its own, ended after --seconds.
Samples go to .bench/many_nodes.json.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from refusals import exit_with
from smpi_sweep import shown, size_of

import broadleaf as bl

OUT = Path(__file__).resolve().parents[1] / ".bench/many_nodes.json"
# Hosts of a cluster, and bridges for each cluster.
EACH = 50
BRIDGES = 2.85
WITHIN = {64 << 10: 1.25, 64 << 20: 1.1}

Row = dict[str, Any]


def network(nodes: int, seed: int) -> bl.Platform:
    draw = random.Random(seed)
    clusters = nodes // EACH
    members = [[f"c{cluster}n{at}" for at in range(EACH)] for cluster in range(clusters)]
    pairs = {(draw.randrange(other), other) for other in range(1, clusters)}
    while len(pairs) < min(int(BRIDGES * clusters), clusters * (clusters - 1) // 2):
        one, other = sorted(draw.sample(range(clusters), 2))
        pairs.add((one, other))
    shared, bridges = [], []
    for one, other in sorted(pairs):
        link: Row = {
            "latency_s": draw.uniform(1e-3, 1e-2),
            "bandwidth_bytes_per_s": 10 ** draw.uniform(7, 8.1),
        }
        if seed % 2:
            pipe = f"{one}-{other}"
            shared.append({"id": pipe, "bandwidth_bytes_per_s": 10 ** draw.uniform(8, 9)})
            link["uses"] = [pipe]
        bridges.append(
            {"from_cluster": f"C{one}", "to_cluster": f"C{other}", "both_ways": True, "link": link}
        )
    return bl.Platform.from_dict(
        {
            "format": "broadleaf-platform/1",
            "name": f"{nodes}-{seed}",
            "port_model": "one-port",
            "nodes": [
                {"id": host, "cluster": f"C{cluster}"}
                for cluster, hosts in enumerate(members)
                for host in hosts
            ],
            "shared": shared,
            "meshes": [
                {
                    "nodes": hosts,
                    "link": {
                        "latency_s": draw.uniform(1e-5, 1e-4),
                        "bandwidth_bytes_per_s": 10 ** draw.uniform(8, 9.1),
                    },
                }
                for hosts in members
            ],
            "bridges": bridges,
        }
    )


def planned(nodes: int, seed: int, planner: str, size: int) -> Row:
    """In this process, whose processor time and memory are those of the plan."""
    platform = network(nodes, seed)
    before = resource.getrusage(resource.RUSAGE_SELF)
    plan = bl.plan(platform, platform.hosts[0], size, planner)
    after = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "nodes": nodes,
        "seed": seed,
        "bytes": size,
        "planner": plan.planner,
        "makespan_s": plan.makespan_s,
        "bound_s": plan.bound_s,
        "processor_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "memory_mib": after.ru_maxrss / 1024,
        "file_bytes": len(json.dumps(plan.to_dict())),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--planner", default="best")
    parser.add_argument(
        "--sizes", type=lambda text: [size_of(size) for size in text.split(",")], default=list(WITHIN)
    )
    parser.add_argument("--seconds", type=float, default=120.0, help="of real time, for each plan")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        seed, size = options.one.split(",")
        print(json.dumps(planned(options.nodes, int(seed), options.planner, int(size))))
        return 0
    OUT.parent.mkdir(exist_ok=True)
    rows: list[Row] = []
    missed = 0
    for seed in range(options.draws):
        for size in options.sizes:
            child = [sys.executable, __file__, "--nodes", str(options.nodes), "--planner", options.planner]
            child += ["--one", f"{seed},{size}"]
            try:
                row = json.loads(subprocess.check_output(child, text=True, timeout=options.seconds))
            except subprocess.TimeoutExpired:
                print(f"draw {seed} {shown(size):>7}  timed out after {options.seconds:g} s  MISSED")
                missed += 1
                continue
            rows.append(row)
            OUT.write_text(json.dumps(rows, indent=1) + "\n")
            ratio = row["makespan_s"] / row["bound_s"]
            holds = ratio <= WITHIN.get(size, float("inf"))
            missed += not holds
            cost = f"{row['processor_s']:7.2f} s  {row['memory_mib']:6.0f} MiB"
            cost += f"  {row['file_bytes'] / 1e6:6.2f} MB"
            verdict = "" if holds else "  MISSED"
            print(
                f"draw {seed} {shown(size):>7}  {ratio:6.3f} x bound  {row['planner']:15} {cost}{verdict}",
                flush=True,
            )
    return 1 if missed else 0


if __name__ == "__main__":
    exit_with(main)
