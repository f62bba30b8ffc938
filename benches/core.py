"""The core's speed and memory against their limits: loading, simulating, planning.

Each figure is measured several times in a separate process, so that memory is separate too; the table has
medians, the raw samples go to .bench/core.json.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import broadleaf as bl

ROOT = Path(__file__).resolve().parent.parent
RAW = ROOT / ".bench" / "core.json"
GRID = ROOT / "platforms" / "grid5000-88.json"
REPEATS = 5
MEBIBYTE = 1 << 20


def load_10000_nodes(folder: Path) -> Callable[[], object]:
    """A platform of 10,000 nodes in 100 clusters, given by meshes and bridges."""
    link = {"latency_s": 5e-5, "bandwidth_bytes_per_s": 1.25e8}
    clusters = [[f"c{c}-{n}" for n in range(100)] for c in range(100)]
    document = {
        "format": "broadleaf-platform/1",
        "name": "clusters-10000",
        "port_model": "one-port",
        "nodes": [{"id": node, "cluster": f"C{c}"} for c, nodes in enumerate(clusters) for node in nodes],
        "meshes": [{"nodes": nodes, "link": link} for nodes in clusters],
        "bridges": [
            {"from_cluster": f"C{a}", "to_cluster": f"C{b}", "both_ways": True, "link": link}
            for a in range(100)
            for b in range(a)
        ],
    }
    path = folder / "net.json"
    path.write_text(json.dumps(document))
    return lambda: bl.Platform.load(path)


def simulate_44500_transfers(_: Path) -> Callable[[], object]:
    """64 MiB in 128 KiB segments along a chain over the 88 nodes of grid5000-88."""
    network = bl.Platform.load(GRID)
    plan = bl.plan(network, network.hosts[0], 64 * MEBIBYTE, "chain", segment_bytes=128 << 10)
    transfers = len(bl.simulate(network, plan).transfers)
    assert 44_000 < transfers < 45_000, transfers
    return lambda: bl.simulate(network, plan)


def switch(nodes: int) -> bl.Platform:
    """Nodes of one switch, 1 Gb/s each way."""
    ids = [f"n{n}" for n in range(nodes)]
    return bl.Platform.from_dict(
        {
            "format": "broadleaf-platform/1",
            "name": f"switch-{nodes}",
            "port_model": "one-port",
            "nodes": [{"id": node} for node in ids],
            "meshes": [{"nodes": ids, "link": {"latency_s": 5e-5, "bandwidth_bytes_per_s": 1.25e8}}],
        }
    )


def simulate_100000_nodes(_: Path) -> Callable[[], object]:
    """One unsegmented binomial broadcast of 1 MiB over 100,000 nodes of one switch."""
    network = switch(100_000)
    plan = bl.plan(network, "n0", MEBIBYTE, "binomial", segment_bytes=MEBIBYTE)
    return lambda: bl.simulate(network, plan)


def best_on_grid5000(_: Path) -> Callable[[], object]:
    """`best` for 64 MiB on grid5000-88."""
    network = bl.Platform.load(GRID)
    return lambda: bl.plan(network, network.hosts[0], 64 * MEBIBYTE)


def planned(nodes: int, planner: str, collective: str) -> Callable[[Path], Callable[[], object]]:
    """A planner on one switch: 64 MiB to all nodes, or 1 MiB from or for each."""
    message_bytes = 64 * MEBIBYTE if collective == "bcast" else MEBIBYTE

    def set_up(_: Path) -> Callable[[], object]:
        network = switch(nodes)
        return lambda: bl.plan(network, "n0", message_bytes, planner, collective)

    return set_up


# Plans for 1,000 nodes; planners that need a power of two plan for 1,024.
LARGE = (
    *(("bcast", planner, 1000) for planner in ("round-robin", "two-tree", "circulant", "van-de-geijn")),
    *(("bcast", planner, 1000) for planner in ("flat", "chain", "binary", "binomial")),
    *(("allgather", planner, 1000) for planner in ("round-robin", "ring", "best")),
    ("allgather", "recursive-doubling", 1024),
    *(("scatter", planner, 1000) for planner in ("flat", "chain", "binomial", "best")),
)

# Name, set-up, most seconds, most MiB.
FIGURES: tuple[tuple[str, Callable[[Path], Callable[[], object]], float, float | None], ...] = (
    ("load 10,000 nodes", load_10000_nodes, 1.0, 200.0),
    ("simulate 44,500 transfers", simulate_44500_transfers, 0.05, None),
    ("simulate 100,000 nodes", simulate_100000_nodes, 2.0, None),
    ("best on grid5000-88", best_on_grid5000, 2.0, None),
    *(
        (f"{collective} {planner}, {nodes:,} nodes", planned(nodes, planner, collective), 1.0, None)
        for collective, planner, nodes in LARGE
    ),
)


def measure(index: int) -> dict[str, Any]:
    """One figure, in this process."""
    name, set_up, _, _ = FIGURES[index]
    with tempfile.TemporaryDirectory() as folder:
        work = set_up(Path(folder))
        before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        samples = []
        for _ in range(REPEATS):
            begin = time.perf_counter()
            kept = work()
            samples.append(time.perf_counter() - begin)
            del kept
    grown_mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib) / 1024
    return {"name": name, "samples_s": samples, "grown_mib": grown_mib}


def main() -> int:
    if len(sys.argv) > 1:
        print(json.dumps(measure(int(sys.argv[1]))))
        return 0
    rows = []
    for index in range(len(FIGURES)):
        child = [sys.executable, __file__, str(index)]
        rows.append(json.loads(subprocess.check_output(child, text=True)))
    RAW.parent.mkdir(exist_ok=True)
    load = os.getloadavg()[0]
    document = {"machine": platform.platform(), "cores": os.cpu_count(), "load": load, "rows": rows}
    RAW.write_text(json.dumps(document, indent=1) + "\n")
    print(f"{'figure':40} {'median s':>9} {'min s':>9} {'max s':>9} {'limit s':>8} {'MiB':>7} {'limit':>7}")
    missed = 0
    for row, (name, _, most_s, most_mib) in zip(rows, FIGURES, strict=True):
        median_s = statistics.median(row["samples_s"])
        over = median_s > most_s or (most_mib is not None and row["grown_mib"] > most_mib)
        missed += over
        low, high = min(row["samples_s"]), max(row["samples_s"])
        limit_mib = "-" if most_mib is None else f"{most_mib:.0f}"
        times = f"{median_s:9.4f} {low:9.4f} {high:9.4f} {most_s:8.2f}"
        mark = "  MISSED" if over else ""
        print(f"{name:40} {times} {row['grown_mib']:7.1f} {limit_mib:>7}{mark}")
    print(f"raw samples in {RAW.relative_to(ROOT)}; {missed} of {len(rows)} limits missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
