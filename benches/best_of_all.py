"""`best` beside every planner by name on drawn networks: is one faster than `best` by more than 3 %?

    benches/best_of_all.py [SEED [KIND…]]

Each kind of network is drawn once for each port model. For each collective two message sizes are drawn,
roots, and for some blocks unequal weights. All plans are simulated. Links have a host's time to handle a
message in their start-up, so simulations see what `best` compares. Baselines are left out, and
`optimal-trees`, which the simulator cannot rank. Findings are printed, all cases go to
.bench/best_of_all.csv; the last line has the processor time of `best`.
"""

from __future__ import annotations

import csv
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import broadleaf as bl

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / ".bench" / "best_of_all.csv"
COLUMNS = (
    "network",
    "port model",
    "collective",
    "bytes",
    "root",
    "unequal",
    "best",
    "s",
    "fastest",
    "s",
    "ratio",
)
LEFT_OUT = {"mateescu", "annealing", "bottom-up-as-printed", "binomial-printed", "optimal-trees"}
FINDING = 1.03
MODELS = ("one-port", "one-port-unidirectional", "multi-port", "link-capacity", "one-port-same-partner")
COLLECTIVES = ("bcast", "scatter", "gather", "allgather", "reduce", "reduce-scatter", "allreduce")
OF_BLOCKS = ("scatter", "gather", "allgather", "reduce-scatter")
SIZES = (1 << 10, 64 << 10, 1 << 20, 16 << 20)
MOST_BLOCK_BYTES = 2 << 20
HANDLING_S = 5e-6

Draw = random.Random
Document = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One planning task."""

    platform: bl.Platform
    collective: str
    message_bytes: int
    root: str
    weights: dict[str, float] | None

    def planned(self, planner: str) -> tuple[bl.Plan, float]:
        """The plan of that name, and its simulated seconds."""
        plan = bl.plan(
            self.platform, self.root, self.message_bytes, planner, self.collective, weights=self.weights
        )
        return plan, bl.simulate(self.platform, plan).makespan_s


def main(arguments: list[str]) -> int:
    seed = int(arguments[0]) if arguments else 0
    rows: list[tuple[Any, ...]] = []
    began_s, best_s, findings = time.process_time(), 0.0, 0
    for kind in arguments[1:] or KINDS:
        for case in cases(kind, seed):
            before_s = time.process_time()
            plan, of_best_s = case.planned("best")
            best_s += time.process_time() - before_s
            name, least_s = fastest(case)
            row = (
                *(
                    case.platform.name,
                    case.platform.port_model,
                    case.collective,
                    case.message_bytes,
                    case.root,
                ),
                *(case.weights is not None, plan.planner, of_best_s, name, least_s, of_best_s / least_s),
            )
            rows.append(row)
            if of_best_s > FINDING * least_s:
                findings += 1
                print(*row, sep="  ", flush=True)
    TABLE.parent.mkdir(exist_ok=True)
    with TABLE.open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    took_s = time.process_time() - began_s
    print(f"seed {seed}: {len(rows)} cases, {findings} findings; {best_s:.0f} of {took_s:.0f} s in best")
    return 0


def fastest(case: Case) -> tuple[str, float]:
    """The planner by name whose plan ends first, and its seconds."""
    found = []
    for card in bl.planners():
        if card.name in LEFT_OUT or case.collective not in card.collectives:
            continue
        try:
            found.append((case.planned(card.name)[1], card.name))
        except bl.PlanError:
            continue
    least_s, name = min(found)
    return name, least_s


def cases(kind: str, seed: int) -> Iterator[Case]:
    for model in MODELS:
        draw = random.Random(f"{kind} {model} {seed}")
        platform = bl.Platform.from_dict(handled(KINDS[kind](draw), model))
        for collective in COLLECTIVES:
            for size in draw.sample(SIZES, 2):
                is_of_blocks = collective in OF_BLOCKS
                message_bytes = min(size, MOST_BLOCK_BYTES) if is_of_blocks else size
                is_unequal = is_of_blocks and draw.random() < 0.3
                weights = {host: draw.choice([0.5, 1, 1, 2, 5]) for host in platform.hosts}
                root = draw.choice(platform.hosts)
                yield Case(platform, collective, message_bytes, root, weights if is_unequal else None)


def handled(document: Document, model: str) -> Document:
    """With the time to handle a message as a part of the links' start-up."""
    groups = [*document.get("meshes", []), *document.get("bridges", [])]
    for link in [*(group["link"] for group in groups), *document.get("links", [])]:
        if "gap" not in link:
            link["startup_s"] = link.get("startup_s", 0.0) + HANDLING_S
    return {**document, "format": "broadleaf-platform/1", "port_model": model, "handling_s": 0.0}


def mesh(draw: Draw) -> Document:
    """Equal hosts, an odd number of them more often than not."""
    hosts = [f"h{at}" for at in range(draw.choice([2, 3, 5, 7, 8]))]
    link = {
        "latency_s": draw.choice([1e-6, 2e-5, 5e-4]),
        "bandwidth_bytes_per_s": draw.choice([1.25e7, 1.25e8, 1.25e9]),
    }
    return {
        "name": f"mesh-{len(hosts)}",
        "nodes": [{"id": host} for host in hosts],
        "meshes": [{"nodes": hosts, "link": link}],
    }


def switch(draw: Draw) -> Document:
    """Hosts at one switch, up to two of them slow."""
    rates = [1.25e8] * draw.randint(4, 10) + [
        draw.choice([1.25e6, 1.25e7, 6e7]) for _ in range(draw.randint(0, 2))
    ]
    draw.shuffle(rates)
    links = [
        {"from": f"h{at}", "to": "sw", "both_ways": True, "latency_s": 2e-5, "bandwidth_bytes_per_s": rate}
        for at, rate in enumerate(rates)
    ]
    nodes = [{"id": "sw", "kind": "switch"}, *({"id": f"h{at}"} for at in range(len(rates)))]
    return {"name": f"switch-{len(rates)}", "nodes": nodes, "links": links}


def unequal(draw: Draw) -> Document:
    """Hosts of 0.1 to 10 Gb/s, with NICs of these rates; a link has the rate of its slower end."""
    rates = [draw.choice([1.25e7, 1.25e8, 1.25e8, 3.1e8, 1.25e9]) for _ in range(draw.randint(4, 10))]
    latency_s = draw.uniform(1e-6, 8e-5)
    links = [
        {
            "from": f"h{one}",
            "to": f"h{other}",
            "both_ways": True,
            "latency_s": latency_s,
            "bandwidth_bytes_per_s": min(rates[one], rates[other]),
        }
        for one, other in combinations(range(len(rates)), 2)
    ]
    nodes = [
        {"id": f"h{at}", "out_bytes_per_s": rate, "in_bytes_per_s": rate * draw.choice([1, 1, 4])}
        for at, rate in enumerate(rates)
    ]
    return {"name": f"unequal-{len(rates)}", "nodes": nodes, "links": links}


def measured(draw: Draw) -> Document:
    """Gap tables with steps at 8 and 64 KiB, as MPIs' protocols have."""
    hosts = [f"h{at}" for at in range(draw.choice([4, 6, 9]))]
    links = []
    for one in hosts:
        for other in hosts:
            if one == other:
                continue
            rate, startup_s = draw.uniform(5e7, 2e8), draw.uniform(5e-6, 5e-5)
            sizes = (1, 1024, 8191, 8192, 65535, 65536, 1 << 20, 1 << 22)
            gap = [
                [
                    size,
                    startup_s * (1 if size < 65536 else 2.5) + size / (rate * (1 if size >= 8192 else 0.6)),
                ]
                for size in sizes
            ]
            links.append({"from": one, "to": other, "latency_s": draw.uniform(1e-5, 1e-3), "gap": gap})
    return {"name": f"measured-{len(hosts)}", "nodes": [{"id": host} for host in hosts], "links": links}


def clusters(draw: Draw, most_latency_s: float, least_rate: float) -> Document:
    """Up to four clusters of up to eight hosts of 1 Gb/s, with a pipe between each two."""
    sizes = [draw.randint(1, 8) for _ in range(draw.randint(2, 4))]
    names = [[f"c{cluster}-{at}" for at in range(size)] for cluster, size in enumerate(sizes)]
    meshes = [
        {"nodes": members, "link": {"latency_s": draw.uniform(1e-5, 8e-5), "bandwidth_bytes_per_s": 1.25e8}}
        for members in names
        if len(members) > 1
    ]
    shared, bridges = [], []
    for one, other in combinations(range(len(sizes)), 2):
        latency_s = draw.uniform(most_latency_s / 20, most_latency_s)
        for way in ((one, other), (other, one)):
            pipe = f"{way[0]}-to-{way[1]}"
            shared.append({"id": pipe, "bandwidth_bytes_per_s": draw.uniform(least_rate, 1.25e8)})
            link = {"latency_s": latency_s, "bandwidth_bytes_per_s": 1.25e8, "uses": [pipe]}
            bridges.append({"from_cluster": f"C{way[0]}", "to_cluster": f"C{way[1]}", "link": link})
    return {
        "name": f"clusters-{'-'.join(map(str, sizes))}",
        "nodes": [{"id": host, "cluster": f"C{at}"} for at, members in enumerate(names) for host in members],
        "shared": shared,
        "meshes": meshes,
        "bridges": bridges,
    }


def sparse(draw: Draw) -> Document:
    """`generate.random`'s networks."""
    seed = draw.randrange(1 << 16)
    return bl.generate.random(draw.choice([6, 8, 11]), draw.choice([0.15, 0.4, 0.8]), seed=seed).to_dict()


KINDS: dict[str, Callable[[Draw], Document]] = {
    "mesh": mesh,
    "switch": switch,
    "unequal": unequal,
    "measured": measured,
    "near-clusters": lambda draw: clusters(draw, 5e-3, 1.25e7),
    "far-clusters": lambda draw: clusters(draw, 4e-2, 1e6),
    "sparse": sparse,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
