"""The throughput optimum and the planner `optimal` against their limits.

`optimum.py NAME…` measures those figures only (size, roots, printed, named, quality, turns, startup). Times
are processor seconds, medians of some runs; memory is that of a whole process. Raw samples go to
.bench/optimum.json, time and memory against size to .bench/optimum.csv and .bench/optimum.png. Another --seed
draws other platforms.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import broadleaf as bl

ROOT = Path(__file__).resolve().parent.parent
RAW = ROOT / ".bench" / "optimum.json"
SEGMENT = 1 << 20
RATES = (1e6, 1e7, 5e7)
# Latency and start-up of far links, s.
FAR = (5e-3, 1e-3)
STARTUP = (
    "optimal", "best", "least with equal segments", "the rate's bound for optimal's segments",
    "the load of optimal's trees",
)  # fmt: skip
# Nodes, links, requested gap.
SIZES = (
    (20, 80, 1e-4), (50, 250, 1e-4), (65, 386, 1e-4), (100, 800, 1e-4), (200, 2_000, 1e-4),
    (500, 5_000, 1e-3), (1_000, 10_000, 1e-2), (1_000, 10_000, 1e-3), (2_000, 16_000, 1e-2),
    (5_000, 30_000, 5e-2), (10_000, 40_000, 5e-2), (10_000, 40_000, 1e-2),
    (100_000, 400_000, 1e-2),
)  # fmt: skip
# Limits of seconds and MiB at these sizes.
LIMITS = {
    (65, 386, 1e-4): (0.020, None),
    (1_000, 10_000, 1e-2): (5.0, None),
    (10_000, 40_000, 5e-2): (120.0, 4096.0),
    (100_000, 400_000, 1e-2): (60.0, 4096.0),
}
# All-gathers: nodes, links and requested gap, and the limit of seconds.
ROOTS = {(65, 386, 1e-4): 1.0, (1_000, 10_000, 2e-2): 60.0}


def three_rates(nodes: int, links: int, seed: int) -> bl.Platform:
    """A connected random platform of a number of directed links, both ways, of rates 1 : 10 : 50."""
    draw = random.Random(seed)
    pairs = {(draw.randrange(node), node) for node in range(1, nodes)}
    while len(pairs) < links // 2:
        a, b = draw.randrange(nodes), draw.randrange(nodes)
        if a != b:
            pairs.add((min(a, b), max(a, b)))
    directed = [pair for a, b in sorted(pairs) for pair in ((a, b), (b, a))]
    document = {
        "format": "broadleaf-platform/1",
        "name": f"rates-{nodes}-{links}-{seed}",
        "port_model": "one-port",
        "nodes": [{"id": f"n{node}"} for node in range(nodes)],
        "links": [
            {"from": f"n{a}", "to": f"n{b}", "bandwidth_bytes_per_s": draw.choice(RATES)} for a, b in directed
        ],
    }
    return bl.Platform.from_dict(document)


def timed(work: Callable[[], Any], repeats: int) -> tuple[list[float], Any]:
    """Processor seconds, and the result of the work."""
    samples, result = [], None
    for _ in range(repeats):
        begin = time.process_time()
        result = work()
        samples.append(time.process_time() - begin)
    return samples, result


def peak_mib() -> float:
    """The peak memory of this process since the last `forget_peak`, interpreter and platform included."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def row(name: str, samples: list[float], unit: str, limit: float | None, **more: Any) -> dict[str, Any]:
    """`limit` is an upper limit of seconds and MiB, and a lower one of parts of the bound."""
    value = statistics.median(samples) if unit == "s" else statistics.fmean(samples)
    is_least = unit.startswith("of the bound")
    holds = limit is None or (value >= limit if is_least else value <= limit)
    return {
        "name": name,
        "value": value,
        "samples": samples,
        "unit": unit,
        "limit": limit,
        "holds": holds,
        **more,
    }


def size(seed: int, at: int) -> list[dict[str, Any]]:
    """Time, memory and gap at one size: rates as the paper draws them, which limit in many places at once."""
    nodes, links, gap = SIZES[at]
    network = bl.generate.random(nodes, links / nodes / (nodes - 1), seed=seed + nodes)
    forget_peak()
    samples, found = timed(lambda: bl.optimum(network, "n0", SEGMENT, gap=gap), 9 if nodes <= 100 else 1)
    most_mib = peak_mib()
    left = 1 - found.throughput_bytes_per_s / found.upper_bound_bytes_per_s
    name = f"{nodes:,} nodes, {links:,} links, gap {gap:g}"
    limit_s, limit_mib = LIMITS.get((nodes, links, gap), (None, None))
    more = {"nodes": nodes, "links": links, "asked": gap, "gap": left, "trees": len(found.trees)}
    rows = [row(name, samples, "s", limit_s, **more), row(f"{name}: memory", [most_mib], "MiB", limit_mib)]
    rows.append(row(f"{name}: gap left", [left], "", gap))
    return rows


def roots(seed: int) -> list[dict[str, Any]]:
    """The trees of an all-gather, a set from every host."""
    rows = []
    for (nodes, links, gap), limit_s in ROOTS.items():
        network = bl.generate.random(nodes, links / nodes / (nodes - 1), seed=seed + nodes)
        samples, found = timed(
            lambda network=network, gap=gap: bl.optimum(
                network, network.hosts[0], SEGMENT, gap=gap, collective="allgather"
            ),
            3 if nodes <= 100 else 1,
        )
        left = 1 - found.throughput_bytes_per_s / found.upper_bound_bytes_per_s
        name = f"all roots: {nodes:,} nodes, {links:,} links"
        rows.append(row(f"{name}, gap {gap:g}", samples, "s", limit_s))
        rows.append(row(f"{name}: gap left", [left], "", gap))
    return rows


def printed(seed: int) -> list[dict[str, Any]]:
    """65 nodes: the printed program by a general solver, and the difference of its value."""
    sys.path.insert(0, str(ROOT / "tests" / "python"))
    from throughput_programs import cut_program, printed_program

    rows = []
    tiers = bl.generate.tiers(65, 0.1, seed=seed)
    for name, network in (("Tiers", tiers), ("386 links", three_rates(65, 386, seed))):
        root = network.hosts[0]
        ours, _ = timed(lambda network=network, root=root: bl.optimum(network, root, SEGMENT, gap=1e-4), 9)
        exact = bl.optimum(network, root, SEGMENT, gap=1e-7)
        rows.append(row(f"65 nodes, {name}: gap 1e-4", ours, "s", 0.020))
        cut_s, cuts = timed(lambda network=network, root=root: cut_program(network, root, SEGMENT), 1)
        rows.append(row(f"65 nodes, {name}: program of cuts", cut_s, "s", None))
        slow_s, value = timed(lambda network=network, root=root: printed_program(network, root, SEGMENT), 1)
        rows.append(row(f"65 nodes, {name}: printed program", slow_s, "s", None))
        rows.append(
            row(f"65 nodes, {name}: ours / printed, time", [statistics.median(ours) / slow_s[0]], "", 1e-3)
        )
        programs = [("cuts", cuts), ("printed", value)]
        for which, value in programs:
            apart = abs(exact.throughput_bytes_per_s / SEGMENT / value - 1)
            rows.append(row(f"65 nodes, {name}: apart from {which}", [apart], "", 1e-6))
    return rows


def named(_: int) -> list[dict[str, Any]]:
    """The named platforms of 88 and 64 nodes."""
    rows = []
    for name in ("grid5000-88", "teragrid-64"):
        network = bl.Platform.load(ROOT / "platforms" / f"{name}.json")
        samples, _ = timed(lambda network=network: bl.optimum(network, network.hosts[0], SEGMENT), 9)
        rows.append(row(f"{name}: gap 1e-4", samples, "s", 0.1))
    return rows


def reached(network: bl.Platform, segments: int) -> tuple[float, float, float]:
    """Parts of the bound: simulated, carried by the trees; and the planner's seconds."""
    root = network.hosts[0]
    spent, plan = timed(
        lambda: bl.plan(network, root, segments * SEGMENT, "optimal", segment_bytes=SEGMENT), 1
    )
    bound = bl.optimum(network, root, SEGMENT).upper_bound_bytes_per_s
    simulated = segments * SEGMENT / bl.simulate(network, plan).makespan_s
    return simulated / bound, bl.throughput(network, plan) / bound, spent[0]


def quality(seed: int) -> list[dict[str, Any]]:
    """`optimal` on random platforms as the paper draws them, denser ones too."""
    parts, spent = [], []
    for nodes in (20, 30, 50):
        for at, density in enumerate((0.08, 0.12, 0.2, 0.3)):
            part, _, seconds = reached(
                bl.generate.random(nodes, density, seed=seed + 10 * nodes + at), 10_000
            )
            parts.append(part)
            spent.append(seconds)
    rows = [
        row("optimal, 10,000 segments, 12 platforms", parts, "of the bound, mean", 0.98),
        row("the same, the worst", [min(parts)], "of the bound", 0.96),
        row("optimal, planning and estimate", spent, "s", None),
    ]
    carried = []
    for nodes in (20, 30, 50):
        for at, density in enumerate((0.08, 0.2)):
            carried.append(
                reached(bl.generate.random(nodes, density, seed=seed + 20 * nodes + at), 50_000)[1]
            )
    rows.append(row("trees for 50,000 segments, the worst of 6", [min(carried)], "of the bound", 0.995))
    for few in (1, 2, 4, 8):
        ratios = []
        for nodes in (20, 30, 50):
            for at, density in enumerate((0.04, 0.12, 0.2, 0.4, 0.8)):
                network = bl.generate.random(nodes, density, seed=seed + 30 * nodes + at)
                found = bl.optimum(network, "n0", SEGMENT)
                most = max(rate for trees, rate in found.throughput_by_trees().items() if trees <= few)
                ratios.append(most / found.upper_bound_bytes_per_s)
        rows.append(
            row(f"{few} trees, 15 platforms", ratios, "of the bound, mean", 0.95 if few == 4 else None)
        )
    return rows


def least_s(network: bl.Platform, plan: bl.Plan) -> float:
    """No order of the transfers of these equal trees ends earlier: a port begins when the first segment can
    be there, is busy for all its transfers, and after its last one the segment has the least way to go on."""
    document = plan.to_dict()
    each = document["message_bytes"] / document["segment_bytes"] / len(document["trees"])
    busy_s: dict[tuple[str, str], float] = {}
    head_s: dict[tuple[str, str], float] = {}
    tail_s: dict[tuple[str, str], float] = {}

    def visit(children: dict[str, list[str]], node: str, at_s: float) -> float:
        """Notes the ports of a node's transfers; how long after its arrival a segment is everywhere below."""
        below_s = 0.0
        for child in children.get(node, ()):
            one_s = network.transfer_s(node, child, document["segment_bytes"])
            then_s = visit(children, child, at_s + one_s)
            below_s = max(below_s, one_s + then_s)
            for port in (("out", node), ("in", child)):
                busy_s[port] = busy_s.get(port, 0.0) + each * one_s
                head_s[port] = min(head_s.get(port, at_s), at_s)
                tail_s[port] = min(tail_s.get(port, then_s), then_s)
        return below_s

    for tree in document["trees"]:
        visit(tree["children"], plan.root, 0.0)
    return max(head_s[port] + busy_s[port] + tail_s[port] for port in busy_s)


def turns(seed: int) -> list[dict[str, Any]]:
    """The part of their load bound that several trees reach in 3,000 segments, without and with a period,
    and what no order of their transfers exceeds; and with the same period in ten times as many, where
    start-up hardly counts and only waiting ports do."""
    random_, tiers = bl.generate.random, bl.generate.tiers
    networks = [
        make(nodes, density, seed=seed + 40 * nodes + at)
        for make, sizes in ((random_, (20, 30, 40, 50)), (tiers, (30, 65)))
        for nodes in sizes
        for at, density in enumerate((0.08, 0.12, 0.2) if make is random_ else (0.05, 0.1, 0.15))
    ]
    rows = []
    for few in (2, 4, 8):
        parts: dict[str, list[float]] = {
            "by themselves": [], "with a period": [], "30,000 segments": [], "by any order": [],
        }  # fmt: skip
        for network in networks:
            root, message = network.hosts[0], 3_000 * SEGMENT
            document = bl.plan(network, root, message, "grow", segment_bytes=SEGMENT).to_dict()
            document["trees"] = bl.optimum(network, root, SEGMENT).equal_trees(few)
            alone = bl.Plan.from_dict(document)
            in_turn = bl.with_period(network, alone)
            longer = bl.Plan.from_dict(in_turn.to_dict() | {"message_bytes": 10 * message})
            for how, plan in zip(parts, (alone, in_turn, longer), strict=False):
                simulated = plan.to_dict()["message_bytes"] / bl.simulate(network, plan).makespan_s
                parts[how].append(simulated / bl.throughput(network, plan))
            parts["by any order"].append(message / least_s(network, alone) / bl.throughput(network, alone))
        for how, reached_parts in parts.items():
            limit = 0.97 if how == "with a period" else None
            name = f"{few} trees {how}, {len(networks)} platforms"
            rows.append(row(name, reached_parts, "of the bound by load, mean", limit))
    return rows


def far(network: bl.Platform) -> bl.Platform:
    """With a latency of 5 ms and a start-up of 1 ms on every link."""
    document = network.to_dict()
    for link in document["links"]:
        link["latency_s"], link["startup_s"] = FAR
    return bl.Platform.from_dict(document)


def startup(seed: int) -> list[dict[str, Any]]:
    """Makespans where segments have a latency and a start-up, as times the bound of every plan: what is
    planned, what equal segments permit, and the parts of the difference."""
    sys.path.insert(0, str(ROOT / "tests" / "python"))
    from equal_segments import equal_hosts_s, equal_segments_s

    message = 256 << 20
    parts: dict[str, list[float]] = {name: [] for name in STARTUP}
    for at, density in enumerate(2 * (0.08, 0.12, 0.2, 0.3, 0.5)):
        network = far(bl.generate.random(20, density, seed=seed + 50 * 20 + at))
        root = network.hosts[0]
        plan, best = (bl.plan(network, root, message, planner) for planner in ("optimal", "best"))
        bound_s = plan.bound_s or float("nan")
        segment = plan.segment_bytes
        seconds = (
            bl.simulate(network, plan).makespan_s,
            bl.simulate(network, best).makespan_s,
            equal_segments_s(network, message),
            message / bl.optimum(network, root, segment).upper_bound_bytes_per_s,
            message / bl.throughput(network, plan),
        )
        for name, taken_s in zip(STARTUP, seconds, strict=True):
            parts[name].append(taken_s / bound_s)
    limits = {STARTUP[0]: 1.05, STARTUP[1]: 1.05}
    drawn = [
        row(f"20 nodes, 5 ms, 1 ms: {name}", ratios, "times the bound", limits.get(name))
        for name, ratios in parts.items()
    ]
    # Draws without spread are equal hosts.
    equal = far(bl.generate.random(20, 1.0, deviation_bytes_per_s=0.0, seed=seed))
    link = equal.link(*equal.hosts[:2]) or {}
    bound_s = bl.makespan_bound_s(equal, equal.hosts[0], message)
    seconds = {
        "optimal": bl.simulate(equal, bl.plan(equal, equal.hosts[0], message, "optimal")).makespan_s,
        "best": bl.simulate(equal, bl.plan(equal, equal.hosts[0], message)).makespan_s,
        "least with equal segments": equal_hosts_s(20, message, *FAR, link["bandwidth_bytes_per_s"]),
    }
    return drawn + [
        row(f"20 equal nodes, 5 ms, 1 ms: {name}", [taken_s / bound_s], "times the bound", None)
        for name, taken_s in seconds.items()
    ]


def plot(rows: list[dict[str, Any]]) -> None:
    """Time and memory against size."""
    from matplotlib.figure import Figure

    sized = [(line, rows[at + 1]) for at, line in enumerate(rows) if "links" in line]
    with (RAW.parent / "optimum.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("nodes", "links", "asked_gap", "gap", "seconds", "mib", "trees"))
        for line, memory in sized:
            numbers = (line["asked"], f"{line['gap']:.3g}", f"{line['value']:.4g}", f"{memory['value']:.4g}")
            writer.writerow((line["nodes"], line["links"], *numbers, line["trees"]))
    figure = Figure(figsize=(9.0, 4.0), layout="constrained")
    for axes, at, label in zip(figure.subplots(1, 2), (0, 1), ("processor seconds", "MiB"), strict=True):
        for gap in sorted({pair[0]["asked"] for pair in sized}):
            points = [(pair[0]["nodes"], pair[at]["value"]) for pair in sized if pair[0]["asked"] == gap]
            axes.loglog(*zip(*points, strict=True), "o-", label=f"gap {gap:g}")
        axes.set_xlabel("nodes")
        axes.set_ylabel(label)
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize="small")
    figure.suptitle("The throughput optimum: time and memory against size", fontsize="medium")
    figure.savefig(RAW.parent / "optimum.png", dpi=120)


FIGURES: dict[str, Callable[[int], list[dict[str, Any]]]] = {
    "roots": roots,
    "printed": printed,
    "named": named,
    "quality": quality,
    "turns": turns,
    "startup": startup,
}


def child(*arguments: object) -> list[dict[str, Any]]:
    """A figure in a separate process, since memory is the peak of a whole process."""
    command = [sys.executable, __file__, *map(str, arguments)]
    # HiGHS prints its name first.
    last = subprocess.check_output(command, text=True).splitlines()[-1]
    rows: list[dict[str, Any]] = json.loads(last)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=["size", *FIGURES])
    parser.add_argument("--seed", type=int, default=7_000)
    parser.add_argument("--only")
    parser.add_argument("--at", type=int, default=0)
    asked = parser.parse_args()
    if asked.only:
        rows = size(asked.seed, asked.at) if asked.only == "size" else FIGURES[asked.only](asked.seed)
        print(json.dumps(rows))
        return 0
    rows = []
    print(f"{'claim':52} {'value':>10} {'worst':>10} {'limit':>10}  unit")
    for name in asked.names:
        for at in range(len(SIZES) if name == "size" else 1):
            for line in child("--only", name, "--seed", asked.seed, "--at", at):
                rows.append(line)
                worst = (min if line["unit"].startswith("of the bound") else max)(line["samples"])
                limit = "-" if line["limit"] is None else f"{line['limit']:g}"
                numbers = f"{line['value']:10.4g} {worst:10.4g} {limit:>10}"
                print(
                    f"{line['name']:52} {numbers}  {line['unit']}{'' if line['holds'] else '  MISSED'}",
                    flush=True,
                )
    RAW.parent.mkdir(exist_ok=True)
    document = {
        "machine": platform.platform(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "rows": rows,
    }
    RAW.write_text(json.dumps(document, indent=1) + "\n")
    if "size" in asked.names:
        plot(rows)
    missed = sum(not line["holds"] for line in rows)
    print(f"raw samples in {RAW.relative_to(ROOT)}; {missed} of {len(rows)} limits missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
