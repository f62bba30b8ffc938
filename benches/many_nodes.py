#!/usr/bin/env python3
"""`best` among thousands of nodes: clusters of equal hosts by meshes, joined by drawn bridges.

    benches/many_nodes.py [--nodes N] [--each HOSTS] [--draws K] [--planner NAME] [--sizes 64KiB,64MiB]
        [--seconds S]

Every other draw has shared pipes on its bridges. Prints the time over the bound, simulated, or predicted
(~) where a simulation has too many transfers; the planner; the processor seconds and the memory of
planning; the length of the plan file; and, from that file, the seconds of `check` and of `simulate`, and
the milliseconds of loading it and of one host's program. Fails where 64 KiB are over 1.25 or 64 MiB over
1.1 times the bound, the file is over 5 MiB, planning, `check` or `simulate` takes over 60 s, a program over
10 ms, or all of it over 4 GiB. Each plan is made in a process of its own, ended after --seconds. Samples
go to .bench/many_nodes.json.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from refusals import exit_with
from smpi_sweep import shown, size_of

import broadleaf as bl

OUT = Path(__file__).resolve().parents[1] / ".bench/many_nodes.json"
# Bridges for each cluster.
BRIDGES = 2.85
WITHIN = {64 << 10: 1.25, 64 << 20: 1.1}
FILE_BYTES = 5 << 20
PLAN_S = CHECK_S = SIMULATE_S = 60.0
MEMORY_MIB = 4096
PROGRAM_S = 0.01
# About a minute on the slower machines; the simulator refuses more than four times as many.
SIMULATED_TRANSFERS = 16_000_000

Row = dict[str, Any]


def network(nodes: int, seed: int, each: int = 50) -> bl.Platform:
    draw = random.Random(seed)
    clusters = nodes // each
    members = [[f"c{cluster}n{at}" for at in range(each)] for cluster in range(clusters)]
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


def processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def planned(nodes: int, each: int, seed: int, planner: str, size: int) -> Row:
    """In this process, whose processor time and memory are those of the plan."""
    platform = network(nodes, seed, each)
    before_s = processor_s()
    plan = bl.plan(platform, platform.hosts[0], size, planner)
    row = {
        "nodes": nodes,
        "each": each,
        "seed": seed,
        "bytes": size,
        "planner": plan.planner,
        "segment_bytes": plan.segment_bytes,
        "makespan_s": plan.makespan_s,
        "bound_s": plan.bound_s,
        "processor_s": processor_s() - before_s,
        "memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.json"
        plan.save(path)
        return row | {"file_bytes": path.stat().st_size} | from_file(platform, path)


def program_s(plan: bl.Plan, host: str) -> float:
    """The least of three: another process may hold the processor."""
    took_s = []
    for _ in range(3):
        started_s = time.perf_counter()
        plan.program(host)
        took_s.append(time.perf_counter() - started_s)
    return min(took_s)


def from_file(platform: bl.Platform, path: Path) -> Row:
    hosts = platform.hosts
    started_s = time.perf_counter()
    plan = bl.Plan.load(path)
    loaded_s = time.perf_counter()
    programs_s = [program_s(plan, host) for host in (hosts[0], hosts[len(hosts) // 2], hosts[-1])]
    row: Row = {"load_s": loaded_s - started_s, "program_s": max(programs_s)}
    before_s = processor_s()
    bl.check(platform, plan)
    row["check_s"] = processor_s() - before_s
    if -(-plan.message_bytes // plan.segment_bytes) * len(hosts) <= SIMULATED_TRANSFERS:
        before_s = processor_s()
        row["simulated_s"] = bl.simulate(platform, plan).makespan_s
        row["simulate_s"] = processor_s() - before_s
    row["memory_after_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return row


def misses(row: Row) -> list[str]:
    ratio = row.get("simulated_s", row["makespan_s"]) / row["bound_s"]
    limits = [
        ("bound", ratio, WITHIN.get(row["bytes"], float("inf"))),
        ("plan", row["processor_s"], PLAN_S),
        ("memory", max(row["memory_mib"], row["memory_after_mib"]), MEMORY_MIB),
        ("file", row["file_bytes"], FILE_BYTES),
        ("check", row["check_s"], CHECK_S),
        ("simulate", row.get("simulate_s", 0.0), SIMULATE_S),
        ("program", row["program_s"], PROGRAM_S),
    ]
    return [name for name, found, limit in limits if found > limit]


def line(row: Row) -> str:
    is_simulated = "simulated_s" in row
    ratio = row.get("simulated_s", row["makespan_s"]) / row["bound_s"]
    shown_ratio = f"{'' if is_simulated else '~'}{ratio:.3f}"
    simulate = f"simulate {row['simulate_s']:.1f} s" if is_simulated else "simulate -"
    parts = [
        f"draw {row['seed']} {shown(row['bytes']):>7}  {shown_ratio:>6} x bound  {row['planner']:15}",
        f"{row['processor_s']:6.2f} s {row['memory_mib']:5.0f} MiB  file {row['file_bytes'] / 1e6:.2f} MB",
        f"check {row['check_s']:.1f} s  {simulate}",
        f"load {1e3 * row['load_s']:.0f} ms  program {1e3 * row['program_s']:.1f} ms",
    ]
    missed = misses(row)
    return "  ".join(parts + ([f"MISSED {', '.join(missed)}"] if missed else []))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--each", type=int, default=50, help="hosts of a cluster")
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--planner", default="best")
    parser.add_argument(
        "--sizes", type=lambda text: [size_of(size) for size in text.split(",")], default=list(WITHIN)
    )
    parser.add_argument("--seconds", type=float, default=300.0, help="of real time, for each plan")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        seed, size = options.one.split(",")
        print(json.dumps(planned(options.nodes, options.each, int(seed), options.planner, int(size))))
        return 0
    OUT.parent.mkdir(exist_ok=True)
    rows: list[Row] = []
    missed = 0
    for seed in range(options.draws):
        for size in options.sizes:
            child = [sys.executable, __file__, "--nodes", str(options.nodes), "--each", str(options.each)]
            child += ["--planner", options.planner, "--one", f"{seed},{size}"]
            try:
                row = json.loads(subprocess.check_output(child, text=True, timeout=options.seconds))
            except subprocess.TimeoutExpired:
                print(f"draw {seed} {shown(size):>7}  timed out after {options.seconds:g} s  MISSED")
                missed += 1
                continue
            rows.append(row)
            OUT.write_text(json.dumps(rows, indent=1) + "\n")
            missed += bool(misses(row))
            print(line(row), flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    exit_with(main)
