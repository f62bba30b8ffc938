"""The choice of the advisor's search: trees of annealing, makespan and optimal at equal time budgets.

Each planner gets the same time for the same broadcast; its plan is simulated, in one segment as in paper 3,
and in the planner's best segments. Beside them is the plan of `best` within its default work. Then the
annealer's moves a second on 64 nodes; the requirement is a million. The table goes to .bench/searches.csv.

Seconds are wall time: on a busy machine every search does less work. Moves are counted by processor time.
"""

from __future__ import annotations

import csv
import random
import sys
import time
from pathlib import Path

import broadleaf as bl
from broadleaf._core import annealing_progress

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / ".bench" / "searches.csv"
BUDGETS_S = (0.05, 0.5, 2.0)
SIZES = (1_000_000, 64_000)
PLANNERS = ("annealing", "makespan", "optimal")
MOVES_A_SECOND = 1e6
COLUMNS = ("platform", "bytes", "budget, s", "planner", "in one segment, s", "segmented, s", "took, s")


def main() -> int:
    rows = [COLUMNS, *searches()]
    TABLE.parent.mkdir(exist_ok=True)
    with TABLE.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    for row in rows:
        print("  ".join(f"{cell(value):>17}" for value in row))
    rate = moves_a_second()
    print(f"annealing on 64 nodes: {rate / 1e6:.2f} million moves a second, {MOVES_A_SECOND / 1e6:g} asked")
    return 0 if rate >= MOVES_A_SECOND else 1


def searches() -> list[tuple[str | float, ...]]:
    rows: list[tuple[str | float, ...]] = []
    for network in networks():
        root = network.hosts[0]
        for size in SIZES:
            for budget_s in BUDGETS_S:
                for planner in PLANNERS:
                    began_s = time.perf_counter()
                    plan = bl.plan(network, root, size, planner=planner, time_limit_s=budget_s)
                    took_s = time.perf_counter() - began_s
                    segmented_s = bl.simulate(network, plan).makespan_s
                    try:
                        whole = bl.plan(
                            network, root, size, planner=planner, segment_bytes=size, time_limit_s=budget_s
                        )
                        whole_s = bl.simulate(network, whole).makespan_s
                    except bl.PlanError:
                        whole_s = float("nan")
                    rows.append((network.name, size, budget_s, planner, whole_s, segmented_s, took_s))
            plan = bl.plan(network, root, size)
            rows.append((network.name, size, "", "best", "", bl.simulate(network, plan).makespan_s, ""))
    return rows


def networks() -> list[bl.Platform]:
    """The paper's platform, one with three sites of real measurements, and 64 hosts without any structure."""
    named = [
        bl.Platform.load(str(ROOT / "platforms" / f"{name}.json")) for name in ("teragrid-64", "grid5000-88")
    ]
    draw = random.Random(8)
    hosts = [f"h{number}" for number in range(64)]
    links = [
        {
            "from": a,
            "to": b,
            "latency_s": draw.uniform(1e-4, 1e-2),
            "bandwidth_bytes_per_s": draw.uniform(1e5, 1e7),
        }
        for a in hosts
        for b in hosts
        if a != b
    ]
    document = {
        "format": "broadleaf-platform/1", "name": "random-64", "port_model": "one-port",
        "nodes": [{"id": host} for host in hosts], "links": links,
    }  # fmt: skip
    return [*named, bl.Platform.from_dict(document)]


def moves_a_second() -> float:
    """Over ten million moves: 64 nodes, bandwidths uniform in 0.1 to 10 Mb/s as in the paper's figure 3."""
    draw = random.Random(0)
    rates = [[draw.uniform(0.1, 10.0) * 1e6 / 8 for _ in range(64)] for _ in range(64)]
    began_s = time.process_time()
    progress = annealing_progress(rates, 1_000_000, moves=10_000_000)
    return progress[-1][0] / (time.process_time() - began_s)


def cell(value: str | float) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
