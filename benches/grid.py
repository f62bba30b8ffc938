"""Paper 2's planners against their limits: speed, and quality of the schedules.

Speed is processor time in a separate process, and wall time where the claim is about a whole machine. The
table has medians; the raw samples go to .bench/grid.json. `grid.py NAME…` measures those figures only.
"""

from __future__ import annotations

import json
import math
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import broadleaf as bl

ROOT = Path(__file__).resolve().parent.parent
RAW = ROOT / ".bench" / "grid.json"
SEVEN = ["flat", "fef", "ecef", "ecef-la", "ecef-lat-min", "ecef-lat-max", "bottom-up"]
LOOK_AHEAD = ["ecef-la", "ecef-la-average", "ecef-la-senders", "ecef-lat-min", "ecef-lat-max"]
REPEATS = 3
KIB = 1 << 10


@dataclass(frozen=True)
class Found:
    """The samples of one claim and their limit; `unit` is that of the samples."""

    samples: list[float]
    unit: str
    limit: float
    is_most: bool = True
    # A claim about every draw, rather than about the mean or median.
    is_each: bool = False

    @property
    def value(self) -> float:
        if self.is_each:
            return max(self.samples) if self.is_most else min(self.samples)
        if self.unit == "s":
            return statistics.median(self.samples)
        return statistics.fmean(self.samples)

    @property
    def holds(self) -> bool:
        return self.value <= self.limit if self.is_most else self.value >= self.limit


def timed(work: Callable[[], object]) -> list[float]:
    """Wall seconds."""
    samples = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        work()
        samples.append(time.perf_counter() - begin)
    return samples


def experiment() -> dict[str, Found]:
    """10,000 draws of 50 clusters by the paper's seven, gaps per pair and per cluster."""
    found = {}
    for gaps in ("pair", "min"):
        wall_s, processor_s = [], []
        for _ in range(REPEATS):
            begin, begun = time.perf_counter(), time.process_time()
            bl.grid.makespans(50, 10_000, SEVEN, gaps=gaps)
            wall_s.append(time.perf_counter() - begin)
            processor_s.append(time.process_time() - begun)
        found[f"10,000 draws x 7, gaps by {gaps}"] = Found(wall_s, "s", 5.0)
        # The processor time of two idle cores in that time; a busy machine takes longer by the clock.
        found[f"the same, all cores, gaps by {gaps}"] = Found(processor_s, "s of processor time", 10.0)
    return found


def ecef_10000() -> dict[str, Found]:
    """ECEF over 10,000 nodes: of one mesh, and in 100 clusters of 100."""
    link = {"latency_s": 5e-5, "bandwidth_bytes_per_s": 1.25e8}
    far = {"latency_s": 5e-3, "bandwidth_bytes_per_s": 1e7}
    ids = [f"n{n}" for n in range(10_000)]
    base = {"format": "broadleaf-platform/1", "name": "many", "port_model": "one-port"}
    mesh = {**base, "nodes": [{"id": node} for node in ids], "meshes": [{"nodes": ids, "link": link}]}
    groups = [ids[100 * c : 100 * c + 100] for c in range(100)]
    clusters = {
        **base,
        "nodes": [{"id": node, "cluster": f"C{c}"} for c, nodes in enumerate(groups) for node in nodes],
        "meshes": [{"nodes": nodes, "link": link} for nodes in groups],
        "bridges": [
            {"from_cluster": f"C{a}", "to_cluster": f"C{b}", "both_ways": True, "link": far}
            for a in range(100)
            for b in range(a)
        ],
    }
    found = {}
    for name, document in (("one mesh", mesh), ("100 clusters", clusters)):
        network = bl.Platform.from_dict(document)

        def plan(network: bl.Platform = network) -> object:
            return bl.plan(network, "n0", 1 << 20, "ecef", segment_bytes=1 << 20)

        found[f"ecef, 10,000 nodes, {name}"] = Found(timed(plan), "s", 1.0)
    return found


def look_ahead_2000() -> dict[str, Found]:
    """The look-ahead planners on 2,000 clusters, each with separate links."""
    found = {}
    for gaps in ("pair", "min"):
        for name in LOOK_AHEAD:
            work = lambda gaps=gaps, name=name: bl.grid.makespans(2_000, 1, [name], gaps=gaps)  # noqa: E731
            found[f"{name}, 2,000 clusters, {gaps}"] = Found(timed(work), "s", 5.0)
    return found


def drawn(clusters: int, seed: int) -> tuple[list[list[float]], list[list[float]], list[float]]:
    """One of the paper's draws, g per pair, as matrices."""
    draw = random.Random(seed)

    def matrix(low: float, high: float) -> list[list[float]]:
        return [[draw.uniform(low, high) for _ in range(clusters)] for _ in range(clusters)]

    return matrix(0.1, 0.6), matrix(0.001, 0.015), [draw.uniform(0.02, 3.0) for _ in range(clusters)]


def exact_speed() -> dict[str, Found]:
    """Proofs on the paper's draws, one by one, in both readings of the local start."""
    found = {}
    for clusters, limit_s, draws in ((8, 0.005, 200), (10, 0.1, 200), (12, 60.0, 100)):
        samples = []
        for seed in range(draws):
            grid = drawn(clusters, seed)
            local_start = ("after-last-send", "on-arrival")[seed % 2]
            begin = time.process_time()
            bl.grid.schedule(*grid, strategy="exact", local_start=local_start)
            samples.append(time.process_time() - begin)
        # On average: an occasional proof takes much longer.
        found[f"exact, {clusters} clusters, mean"] = Found(samples, "s of processor time", limit_s)
    return found


def makespan_near_exact() -> dict[str, Found]:
    """How far `makespan` is above the proved optimum, per cent, and its planning time."""
    found = {}
    for clusters in (4, 6, 8, 10):
        above, seconds = [], []
        for seed in range(200):
            grid = drawn(clusters, 1000 + seed)
            local_start = ("after-last-send", "on-arrival")[seed % 2]
            least_s, _ = bl.grid.schedule(*grid, strategy="exact", local_start=local_start)
            begin = time.process_time()
            makespan_s, _ = bl.grid.schedule(*grid, strategy="makespan", local_start=local_start)
            seconds.append(time.process_time() - begin)
            above.append(100 * (makespan_s / least_s - 1))
        found[f"makespan above exact, {clusters} clusters"] = Found(above, "%", 0.2)
        found[f"makespan, {clusters} clusters, mean"] = Found(seconds, "s of processor time", 0.01)
    return found


def makespan_at_50() -> dict[str, Found]:
    """How far `makespan` is below the best of the seven at 50 clusters, g per pair, and its planning time."""
    found = {}
    for local_start, mark in (("after-last-send", 6.0), ("on-arrival", 5.5)):
        lines = [*SEVEN, "makespan", "bound"]
        begin = time.process_time()
        bl.grid.makespans(50, 100, SEVEN, gaps="pair", local_start=local_start, seed=1)
        seven_s = time.process_time() - begin
        rows = bl.grid.makespans(50, 100, lines, gaps="pair", local_start=local_start, seed=1)
        each_s = (time.process_time() - begin - 2 * seven_s) / len(rows)
        gains = [100 * (1 - row[7] / min(row[:7])) for row in rows]
        found[f"makespan below the seven, {local_start}"] = Found(gains, "%", mark, is_most=False)
        found[f"makespan below each, {local_start}"] = Found(gains, "%", 0.0, is_most=False, is_each=True)
        found[f"makespan, 50 clusters, {local_start}"] = Found([each_s], "s of processor time", 0.05)
        above = [100 * (row[7] / row[8] - 1) for row in rows]
        found[f"makespan above the bound, {local_start}"] = Found(above, "%", math.inf)
        longer = bl.grid.makespans(
            *(50, 100, ["makespan"]), gaps="pair", local_start=local_start, seed=1, time_limit_s=0.5
        )
        gains = [100 * (1 - ours / min(row[:7])) for (ours,), row in zip(longer, rows, strict=True)]
        # By the clock: a busy machine gives the search less than half a second. On arrival no heuristic
        # reaches the limit: two different searches ended with the same makespan on 22 of 24 draws after
        # seconds each, 6.8 % below.
        limit = 7.5 if local_start == "after-last-send" else -math.inf
        found[f"makespan in 0.5 s below, {local_start}"] = Found(gains, "%", limit, is_most=False)
    return found


def clusters_of_hosts(seed: int) -> bl.Platform:
    """A few clusters of different sizes and rates, with different links between them."""
    draw = random.Random(seed)
    groups = [[f"c{c}-{n}" for n in range(draw.randint(1, 24))] for c in range(draw.randint(2, 8))]
    return bl.Platform.from_dict(
        {
            "format": "broadleaf-platform/1",
            "name": f"clusters-{seed}",
            "port_model": "one-port",
            "nodes": [{"id": node, "cluster": f"C{c}"} for c, nodes in enumerate(groups) for node in nodes],
            "meshes": [
                {
                    "nodes": nodes,
                    "link": {
                        "latency_s": draw.uniform(2e-5, 2e-4),
                        "bandwidth_bytes_per_s": draw.uniform(1e7, 1.25e8),
                    },
                }
                for nodes in groups
                if len(nodes) > 1
            ],
            "bridges": [
                {
                    "from_cluster": f"C{a}",
                    "to_cluster": f"C{b}",
                    "both_ways": True,
                    "link": {
                        "latency_s": draw.uniform(1e-3, 1.5e-2),
                        "bandwidth_bytes_per_s": draw.uniform(2e6, 1.25e8),
                    },
                }
                for a in range(len(groups))
                for b in range(a)
            ],
        }
    )


def no_gap() -> dict[str, Found]:
    """`makespan` over the best of all other planners, 64 KiB to 16 MiB: per cent longer at each size."""
    named = [bl.Platform.load(ROOT / "platforms" / f"{name}.json") for name in ("grid5000-88", "teragrid-64")]
    found = {}
    for network in (*named, *(clusters_of_hosts(seed) for seed in range(4)), bl.generate.grid(20, seed=1)):
        longer, seconds = [], []
        for size in (64 * KIB, 256 * KIB, 1024 * KIB, 4096 * KIB, 16384 * KIB):
            tried = bl.compare(network, network.hosts[0], size).tried
            others = [one.makespan_s for one in tried if one.planner != "makespan"]
            begin = time.process_time()
            plan = bl.plan(network, network.hosts[0], size, "makespan")
            seconds.append(time.process_time() - begin)
            longer.append(100 * (bl.simulate(network, plan).makespan_s / min(others) - 1))
        found[f"makespan over others, {network.name}"] = Found(longer, "%", 2.0, is_each=True)
        found[f"makespan planned, {network.name}"] = Found(seconds, "s of processor time", 2.0, is_each=True)
    return found


def best_over_all() -> dict[str, Found]:
    """`best` over the fastest of all planners, each selected by name, on sparse graphs: per cent longer."""
    sys.path.insert(0, str(ROOT / "tests" / "python"))
    from sparse_networks import sparse, times_by_name

    graphs = [sparse(seed, 20, 40) for seed in range(8)]
    graphs += [bl.generate.random(20, 0.1, seed=seed) for seed in range(2)]
    found = {}
    for size in (KIB, 8 * KIB, 64 * KIB, 512 * KIB, 4096 * KIB, 65536 * KIB):
        longer = []
        for network in graphs:
            root = network.hosts[0]
            best_s = bl.simulate(network, bl.plan(network, root, size)).makespan_s
            longer.append(100 * (best_s / min(times_by_name(network, root, size).values()) - 1))
        # Slow planners stay out where the quick ones come within 5 % of the bound.
        found[f"best over all by name, {size // KIB} KiB"] = Found(longer, "%", 5.0, is_each=True)
    return found


def best_in_simulated_time() -> dict[str, Found]:
    """4 MiB on grid5000-88 under SMPI: the times of the others over that of `best`."""
    from broadleaf.papers.grid import simulated, tables

    missing = simulated.missing()
    if missing is not None:
        print(f"no simulated time: {missing}", file=sys.stderr)
        return {}
    (main, *_), _ = simulated.Work(True, None).run(lambda: None)
    sheet = next(sheet for sheet in tables.results(*main).sheets if sheet.name == "runs")
    rows = [dict(zip(sheet.columns, row, strict=True)) for row in sheet.rows]
    at = {row["strategy"]: row for row in rows if row["bytes"] == 4096 * KIB and row["root"] == "c0-0"}

    def over_best(line: str) -> list[float]:
        repetitions = [f"measured_{at}_s" for at in range(simulated.REPETITIONS)]
        # The first broadcast of a run includes planning messages and communicators.
        last = repetitions[-1]
        return [float(str(at[line][last])) / float(str(at["best"][last]))]

    return {
        f"{line} over best, 4 MiB": Found(over_best(line), "times", limit, is_most=False)
        for line, limit in (("magpie", 3.0), *((line, 1.5) for line in simulated.BUILT_IN))
    }


FIGURES: dict[str, Callable[[], dict[str, Found]]] = {
    figure.__name__: figure
    for figure in (
        *(experiment, ecef_10000, look_ahead_2000, exact_speed, makespan_near_exact, makespan_at_50),
        *(no_gap, best_over_all, best_in_simulated_time),
    )
}


def measure(name: str) -> list[dict[str, Any]]:
    """One figure, in this process."""
    return [
        {
            "name": claim,
            "unit": found.unit,
            "value": found.value,
            "limit": None if math.isinf(found.limit) else found.limit,
            "is_most": found.is_most,
            "holds": found.holds,
            "samples": found.samples,
        }
        for claim, found in FIGURES[name]().items()
    ]


def main() -> int:
    if sys.argv[1:2] == ["--only"]:
        print(json.dumps(measure(sys.argv[2])))
        return 0
    unknown = [name for name in sys.argv[1:] if name not in FIGURES]
    if unknown:
        print(f"grid.py: no figure {unknown[0]}; use {', '.join(FIGURES)}", file=sys.stderr)
        return 2
    rows = []
    print(f"{'claim':48} {'value':>9} {'min':>9} {'max':>9} {'limit':>9}  unit")
    for name in sys.argv[1:] or FIGURES:
        child = [sys.executable, __file__, "--only", name]
        for row in json.loads(subprocess.check_output(child, text=True)):
            rows.append(row)
            low, high = min(row["samples"]), max(row["samples"])
            limit = "-" if row["limit"] is None else f"{'≤' if row['is_most'] else '≥'} {row['limit']:g}"
            numbers = f"{row['value']:9.4g} {low:9.4g} {high:9.4g} {limit:>9}"
            print(f"{row['name']:48} {numbers}  {row['unit']}{'' if row['holds'] else '  MISSED'}")
    RAW.parent.mkdir(exist_ok=True)
    load = os.getloadavg()[0]
    document = {"machine": platform.platform(), "cores": os.cpu_count(), "load": load, "rows": rows}
    RAW.write_text(json.dumps(document, indent=1) + "\n")
    missed = sum(not row["holds"] for row in rows)
    print(f"raw samples in {RAW.relative_to(ROOT)}; {missed} of {len(rows)} limits missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
