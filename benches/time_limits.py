"""Whether every planner keeps its time limit: to 10 %, or to 50 ms where that is more.

`time_limits.py PLATFORM…` takes names of shipped platforms, and of drawn ones: random networks with 10 to 20
links a host (random-300, random-1000, sparse-2000, multi-port-400), and clusters of equal hosts joined by
bridges (clusters-300, clusters-2000). Without names it runs the shipped ones and random-300; the others take
minutes each. A planner that refuses in time has kept its limit. The time of planning 64 MiB is the lesser of
wall and processor time, since the former counts other programs and the latter other threads. All rows go to
.bench/time_limits.csv; printed are those that are late.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from many_nodes import network as clusters

import broadleaf as bl

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / ".bench" / "time_limits.csv"
SIZE = 64 << 20
LIMITS_S = (0.1, 0.5, 2.0)
COLLECTIVES = ("bcast", "scatter", "gather", "allgather", "reduce", "reduce-scatter", "allreduce")
DRAWN: dict[str, Callable[[], bl.Platform]] = {
    "random-300": lambda: bl.generate.random(300, 0.05, seed=1),
    "random-1000": lambda: bl.generate.random(1_000, 0.01, seed=1),
    "sparse-2000": lambda: bl.generate.random(2_000, 0.005, seed=1),
    "multi-port-400": lambda: bl.generate.random(400, 0.05, seed=1, port_model="multi-port"),
    "clusters-300": lambda: clusters(300, 1, 25),
    "clusters-2000": lambda: clusters(2_000, 1, 50),
}
SHIPPED = ("teragrid-64", "grid5000-88", "cluster-50")
COLUMNS = ("platform", "collective", "planner", "limit, s", "processor, s", "wall, s", "kept", "refused")


def network(name: str) -> bl.Platform:
    if name in DRAWN:
        return DRAWN[name]()
    return bl.Platform.load(str(ROOT / "platforms" / f"{name}.json"))


def kept(limit_s: float, took_s: float) -> bool:
    return took_s <= max(1.1 * limit_s, limit_s + 0.05)


def timed(platform: bl.Platform, collective: str, planner: str, limit_s: float) -> tuple[float, float, str]:
    """Processor and wall seconds, and the refusal."""
    wall_s, busy_s, refused = time.perf_counter(), time.process_time(), ""
    try:
        bl.plan(platform, platform.hosts[0], SIZE, planner, collective, time_limit_s=limit_s)
    except bl.PlanError as error:
        refused = str(error)
    return time.process_time() - busy_s, time.perf_counter() - wall_s, refused


def rows(names: list[str], collectives: list[str], limits_s: list[float]) -> Iterator[tuple[object, ...]]:
    planners = [*(card.name for card in bl.planners()), "best"]
    for name in names:
        platform = network(name)
        for collective in collectives:
            for planner in planners:
                for limit_s in limits_s:
                    busy_s, wall_s, refused = timed(platform, collective, planner, limit_s)
                    rounded = (round(busy_s, 3), round(wall_s, 3))
                    in_time = kept(limit_s, min(busy_s, wall_s))
                    yield name, collective, planner, limit_s, *rounded, in_time, refused


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("platforms", nargs="*", default=[*SHIPPED, "random-300"])
    parser.add_argument("--collective", action="append", choices=COLLECTIVES)
    parser.add_argument("--limit", action="append", type=float)
    asked = parser.parse_args()
    TABLE.parent.mkdir(exist_ok=True)
    late = count = 0
    with TABLE.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for row in rows(asked.platforms, asked.collective or [*COLLECTIVES], asked.limit or [*LIMITS_S]):
            writer.writerow(row)
            count += 1
            if not row[6]:
                late += 1
                print("  ".join(f"{cell!s:>14}" for cell in row[:6]), flush=True)
    print(f"{late} of {count} late; all in {TABLE.relative_to(ROOT)}")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
