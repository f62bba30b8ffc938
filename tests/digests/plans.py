#!/usr/bin/env python3
"""Digest and exact simulated makespan of every planner's plan, `best` included, on fixed platforms.

    tests/digests/plans.py --write FILE               # one line a platform, collective, planner and size
    tests/digests/plans.py --compare FILE [--only N]  # plans anew; exit 1 with one line for each difference

A change that is meant to leave plans alone leaves this table alone. No time limit is set, so a plan depends
on nothing but its arguments. A makespan is printed in full (`float.hex`); "-" stands for a planner that does
not support the platform or the collective.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import broadleaf as bl

ROOT = Path(__file__).resolve().parents[2]
SIZES = (1 << 10, 64 << 10, 1 << 20, 64 << 20)
COLLECTIVES = ("bcast", "scatter", "allgather")
SHIPPED = ("cluster-50", "grid5000-88", "smp-16", "teragrid-64")
MODELS = ("one-port", "one-port-unidirectional", "multi-port", "link-capacity")


def two_clusters() -> bl.Platform:
    return bl.Platform.load(ROOT / "testbeds/namespaces/two-clusters.json")


def switched() -> bl.Platform:
    """Eight hosts behind two switches under link-capacity, as in a GPU fabric."""
    hosts = [f"g{at}" for at in range(8)]
    link = {"both_ways": True, "latency_s": 1e-6, "bandwidth_bytes_per_s": 25e9}
    links = [{"from": host, "to": f"sw{at // 4}", **link} for at, host in enumerate(hosts)]
    links.append({"from": "sw0", "to": "sw1", **link, "bandwidth_bytes_per_s": 50e9})
    nodes = [{"id": host} for host in hosts] + [{"id": f"sw{at}", "kind": "switch"} for at in range(2)]
    document = {"format": "broadleaf-platform/1", "name": "switched", "port_model": "link-capacity"}
    return bl.Platform.from_dict({**document, "nodes": nodes, "links": links})


def clusters(seed: int) -> bl.Platform:
    """Two to five clusters of 2 to 8 hosts, pLogP tables inside, pipes between."""
    draw = random.Random(seed)
    members = [[f"c{c}-{at}" for at in range(draw.randint(2, 8))] for c in range(draw.randint(2, 5))]
    nodes = [{"id": host, "cluster": f"C{c}"} for c, hosts in enumerate(members) for host in hosts]
    meshes, shared, bridges = [], [], []
    for hosts in members:
        rate = draw.uniform(5e7, 2e8)
        gap = [[1, 5e-6], [65536, 5e-6 + 65536 / rate], [1 << 20, 5e-6 + (1 << 20) / rate]]
        meshes.append({"nodes": hosts, "link": {"latency_s": draw.uniform(2e-5, 8e-5), "gap": gap}})
    for one in range(len(members)):
        for other in range(len(members)):
            if one == other:
                continue
            pipe = f"{one}-{other}"
            shared.append({"id": pipe, "bandwidth_bytes_per_s": draw.uniform(1e7, 1.2e8)})
            link = {"latency_s": draw.uniform(5e-4, 1.5e-2), "bandwidth_bytes_per_s": 1.25e8, "uses": [pipe]}
            bridges.append({"from_cluster": f"C{one}", "to_cluster": f"C{other}", "link": link})
    document = {"format": "broadleaf-platform/1", "name": f"clusters-{seed}", "port_model": "one-port"}
    parts = {"nodes": nodes, "meshes": meshes, "shared": shared, "bridges": bridges}
    return bl.Platform.from_dict({**document, **parts})


def sparse(seed: int, port_model: str) -> bl.Platform:
    """A random tree with more links; latencies and rates over orders of magnitude."""
    draw = random.Random(seed)
    hosts = draw.randint(4, 14)
    pairs = {(draw.randrange(at), at) for at in range(1, hosts)}
    most = min(2 * hosts, hosts * (hosts - 1) // 2)
    while len(pairs) < most:
        one, other = sorted(draw.sample(range(hosts), 2))
        pairs.add((one, other))
    links = [
        {
            "from": f"n{one}",
            "to": f"n{other}",
            "both_ways": True,
            "latency_s": 10 ** draw.uniform(-5, -2),
            "bandwidth_bytes_per_s": 10 ** draw.uniform(6.5, 8.5),
            "startup_s": draw.choice((0.0, 10 ** draw.uniform(-6, -3.5))),
        }
        for one, other in sorted(pairs)
    ]
    node = {"out_bytes_per_s": 2e8, "in_bytes_per_s": 2e8} if port_model == "multi-port" else {}
    document = {"format": "broadleaf-platform/1", "name": f"sparse-{seed}", "port_model": port_model}
    nodes = [{"id": f"n{at}", **node} for at in range(hosts)]
    return bl.Platform.from_dict({**document, "nodes": nodes, "links": links})


def platforms() -> dict[str, bl.Platform]:
    """Six hand-made platforms and twenty drawn ones."""
    found = {name: bl.Platform.load(ROOT / f"platforms/{name}.json") for name in SHIPPED}
    found |= {"two-clusters": two_clusters(), "switched": switched()}
    for seed in range(8):
        found[f"sparse-{seed}"] = sparse(seed, MODELS[seed % len(MODELS)])
    for seed in range(6):
        found[f"clusters-{seed}"] = clusters(seed)
    for seed in range(2):
        found[f"random-{seed}"] = bl.generate.random(12, 0.4, seed=seed)
        found[f"tiers-{seed}"] = bl.generate.tiers(30, 0.15, seed=seed)
        found[f"grid-{seed}"] = bl.generate.grid(8 + seed, seed=seed)
    return found


def row(platform: bl.Platform, collective: str, planner: str, size: int) -> str:
    root = platform.hosts[0]
    try:
        plan = bl.plan(platform, root, size, planner, collective)
    except bl.PlanError:
        return "-"
    document = plan.to_dict()
    document.pop("predicted", None)
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]
    if plan.makespan_interval_s is None and size // plan.segment_bytes > 20_000:
        # Simulated in full it would take minutes.
        return f"{digest} {(plan.makespan_s or 0.0).hex()} predicted"
    return f"{digest} {bl.simulate(platform, plan).makespan_s.hex()} simulated"


def rows(name: str) -> list[str]:
    platform = platforms()[name]
    planners = [*(card.name for card in bl.planners()), "best"]
    return [
        f"{name} {collective} {planner} {size} {row(platform, collective, planner, size)}"
        for collective in COLLECTIVES
        for planner in planners
        for size in SIZES
    ]


def table(only: str | None) -> Iterator[str]:
    names = [name for name in platforms() if only in (None, name)]
    with ProcessPoolExecutor(2) as pool:
        for name, found in zip(names, pool.map(rows, names), strict=True):
            print(f"{name}: {len(found)} plans", file=sys.stderr, flush=True)
            yield from found


def differences(expected: list[str], found: list[str], only: str | None) -> list[str]:
    def by_key(lines: list[str]) -> dict[str, str]:
        return {" ".join(line.split()[:4]): line for line in lines if only in (None, line.split()[0])}

    old, new = by_key(expected), by_key(found)
    changed = [f"was {old[key]}\nnow {new[key]}" for key in old if key in new and old[key] != new[key]]
    return changed + [f"gone: {old[key]}" for key in old if key not in new and not old[key].endswith(" -")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    what: Any = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", type=Path, metavar="FILE")
    what.add_argument("--compare", type=Path, metavar="FILE")
    parser.add_argument("--only", help="one platform's name")
    options = parser.parse_args()
    if options.write:
        options.write.write_text("".join(line + "\n" for line in table(options.only)))
        return 0
    found = list(table(options.only))
    changed = differences(options.compare.read_text().splitlines(), found, options.only)
    print("\n".join(changed) if changed else f"{len(found)} plans as before")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
