"""Paper 3, section 3: a program's broadcasts while loads come and go on teragrid-64, and figure 3.

The decisions are the advisor's own, the code that `broadleaf advise` runs; only network and clock are
simulated. The paper's tree and Mateescu's are planned as in the paper: for a monitor's view of at most five
minutes ago.

*Adaptive broadcast trees by simulated annealing*, figures 3 and 7 to 10.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import fmean

import broadleaf as bl
from broadleaf._core import annealing_progress, replay, unloaded_plans
from broadleaf.papers.adaptive import loads as scene
from broadleaf.papers.adaptive.overheads import (
    PARTS,
    planned_line,
    planning_remark,
    planning_sheet,
    travel_remark,
    travel_sheet,
)
from broadleaf.papers.adaptive.samples import (
    ADAPTIVE,
    ANNEALING,
    LINES,
    MATEESCU,
    MPICH_G2,
    STATIC,
    Sample,
    Travel,
    improvements,
    times_faster,
)
from broadleaf.papers.results import Cell, Results, Sheet, Start

QUICK_SEEDS, FULL_SEEDS = 1, 10
MONITOR_S = 300.0
# The monitor's refresh varied, to find out how much of the annealer's gain stale views cost.
REFRESHES_S = (MONITOR_S, 60.0, 1.0)
# Draws of each of the paper's loads, at C3, for the annealer's planning time; and what the advisor's machine
# does meanwhile. It is counted in moves, so that any machine finds the same.
PLANNED_SEEDS = 3
MOVES_A_SECOND, QUICK_MOVES_A_SECOND = 5_000, 2_000
# The least load of the paper's "80 % or more".
HEAVY = 0.8

# Printed in the paper: the average under load, and its range.
PRINTED_AVERAGE, PRINTED_RANGE = 19.58, (1.47, 64.57)

FIGURE_3_NODES, FIGURE_3_BYTES = 32, 1_000_000
PHASES = {False: "randomization", True: "refinement"}


@dataclass(frozen=True)
class Run:
    """A program under one draw of loads."""

    samples: list[Sample]
    loads: list[scene.Load]
    plans: dict[str, list[bl.Plan]]


def run(quick: bool, start: Start) -> Results:
    """All of section 3; ten draws for each kind of load, or one."""
    seeds = range(QUICK_SEEDS if quick else FULL_SEEDS)
    kinds = scene.KINDS[:1] if quick else scene.KINDS
    planned = [
        (kind, seed) for kind in (kinds if quick else scene.PAPERS_KINDS) for seed in seeds[:PLANNED_SEEDS]
    ]
    steps = len(seeds) * len(kinds) * (len(LINES) + len(REFRESHES_S) - 1) + len(planned) * len(PARTS) + 2
    advance = start(steps)
    network = scene.platform()
    first = unloaded_plans(network, scene.ROOT, scene.calls())
    advance()
    runs = {(kind, seed): replayed(network, first, kind, seed, advance) for kind in kinds for seed in seeds}
    samples = [sample for one in runs.values() for sample in one.samples]
    refreshed = [
        sample
        for kind, seed in runs
        for refresh_s in REFRESHES_S[1:]
        for sample in refreshed_samples(network, first, kind, seed, refresh_s, advance)
    ]
    refresh = refresh_sheet([*samples, *refreshed], kinds)
    moves = QUICK_MOVES_A_SECOND if quick else MOVES_A_SECOND
    in_time = [
        sample
        for kind, seed in planned
        for part in PARTS
        for sample in planned_samples(network, first, kind, seed, (part, moves), advance)
    ]
    planning = planning_sheet([*(s for s in samples if (s.kind, s.seed) in planned), *in_time])
    travel = travel_sheet(samples)
    progress = figure_3(1_000_000 if quick else 10_000_000)
    advance()
    from broadleaf.papers.adaptive.figures import draw_broadcasts, draw_improvement, draw_progress
    from broadleaf.plot.trees import draw_trees

    shown = runs[kinds[0], 0]
    at = loaded_call(shown)
    times = {
        line: [(s.call, s.seconds) for s in shown.samples if s.line == line]
        for line in dict.fromkeys(s.line for s in shown.samples)
    }
    trees = {
        "figure-7": shown.plans[MPICH_G2][at],
        "figure-9": shown.plans[MATEESCU][at],
        "figure-10": shown.plans[ANNEALING][at],
        "broadleaf-loaded": shown.plans[ADAPTIVE][at],
        "broadleaf-unloaded": shown.plans[ADAPTIVE][0],
    }
    improvement = improvement_sheet(samples, kinds)
    return Results(
        sheets=[
            improvement,
            seed_sheet(samples, kinds),
            stale_sheet(samples, kinds),
            refresh,
            planning,
            travel,
            Sheet(
                "samples", "every broadcast",
                ("loads on", "seed", "line", "broadcast", "bytes", "load", "seconds", "stale", "unaware",
                 "travel_s"),
                [(s.kind, s.seed, s.line, s.call, s.message_bytes, s.taken, s.seconds, int(s.is_stale),
                  int(s.is_unaware), s.travel.seconds) for s in [*samples, *in_time]],
                is_shown=False,
            ),
            Sheet("figure-3", "best estimate so far", ("moves", "seconds", "best_s", "phase"),
                  [(m, s, best_s, PHASES[refining]) for m, s, best_s, refining in progress],
                  is_shown=False),
        ],
        figures={
            "figure-8": draw_broadcasts(times, shown.loads, scene.calls()),
            "figure-3": draw_progress(progress),
            "improvement": draw_improvement(
                improvement, (ANNEALING, STATIC, ADAPTIVE), (PRINTED_AVERAGE, *PRINTED_RANGE)
            ),
            **{name: draw_trees(network, on(network, plan)) for name, plan in trees.items()},
        },
        remarks=[
            *remarks(samples, kinds[0]), contention_remark(network), refresh_remark(refresh),
            planning_remark(planning, moves), travel_remark(travel),
        ],
    )  # fmt: skip


def on(network: bl.Platform, plan: bl.Plan) -> bl.Plan:
    """The plan with the unloaded network's digest: it was made for an estimate of the network."""
    return bl.Plan.from_dict(plan.to_dict() | {"platform_digest": network.digest})


def replayed(
    network: bl.Platform, first: list[bl.Plan], kind: str, seed: int, advance: Callable[[], None]
) -> Run:
    loads = scene.drawn_loads(seed, kind, network, scene.calls()[-1][0])
    samples, plans = [], {}
    for line in LINES:
        found, plans[line] = replayed_line(network, first, kind, seed, loads, line)
        samples += found
        advance()
    return Run(samples, loads, plans)


def replayed_line(
    network: bl.Platform,
    first: list[bl.Plan],
    kind: str,
    seed: int,
    loads: list[scene.Load],
    line: str,
    monitor_s: float = MONITOR_S,
    planning: tuple[float, float] | None = None,
) -> tuple[list[Sample], list[bl.Plan]]:
    """One line's broadcasts under these loads, and their plans."""
    calls, courses = scene.calls(), scene.courses(loads)
    way, planner = LINES[line]
    went = replay(
        network, scene.ROOT, calls, courses.links, courses.pipes, way, planner=planner, first=first,
        monitor_s=monitor_s, latencies=courses.latencies, planning=planning,
    )  # fmt: skip
    samples = []
    for call, ((at_s, message_bytes), (seconds, _, stale, unaware, travel)) in enumerate(
        zip(calls, went, strict=True)
    ):
        load = scene.load_at(loads, at_s)
        taken = load.taken_at(at_s) if load else 0.0
        samples.append(
            Sample(kind, seed, line, call, message_bytes, taken, seconds, stale, unaware, Travel(*travel))
        )
    return samples, [plan for _, plan, *_ in went]


def refreshed_samples(
    network: bl.Platform,
    first: list[bl.Plan],
    kind: str,
    seed: int,
    refresh_s: float,
    advance: Callable[[], None],
) -> list[Sample]:
    """The annealer's broadcasts where the monitor refreshes its view more often than in the paper."""
    loads = scene.drawn_loads(seed, kind, network, scene.calls()[-1][0])
    samples, _ = replayed_line(network, first, kind, seed, loads, ANNEALING, refresh_s)
    advance()
    return [replace(sample, line=refreshed_line(refresh_s)) for sample in samples]


def planned_samples(
    network: bl.Platform,
    first: list[bl.Plan],
    kind: str,
    seed: int,
    planning: tuple[float, float],
    advance: Callable[[], None],
) -> list[Sample]:
    """The annealer's broadcasts where each plan takes a part of the predicted time until the next one."""
    loads = scene.drawn_loads(seed, kind, network, scene.calls()[-1][0])
    samples, _ = replayed_line(network, first, kind, seed, loads, ANNEALING, planning=planning)
    advance()
    return [replace(sample, line=planned_line(planning[0])) for sample in samples]


def refreshed_line(refresh_s: float) -> str:
    return ANNEALING if refresh_s == MONITOR_S else f"{ANNEALING}, {refresh_s:g} s"


def loaded_call(one: Run) -> int:
    """A call in the middle of the heaviest load: its trees are drawn."""
    load = max(one.loads, key=lambda load: load.taken)
    middle_s = (load.begin_s + load.end_s) / 2
    calls = scene.calls()
    return min(range(len(calls)), key=lambda call: abs(calls[call][0] - middle_s))


def improvement_sheet(samples: list[Sample], kinds: tuple[str, ...]) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    for kind in kinds:
        these = [s for s in samples if s.kind == kind]
        for line in LINES:
            loaded = improvements(these, line, MPICH_G2, 0.01)
            printed = PRINTED_AVERAGE if line == ANNEALING else None
            rows.append((
                kind, line, round(fmean(s.seconds for s in these if s.line == line and s.taken == 0), 4),
                round(fmean(s.seconds for s in these if s.line == line and s.taken > 0), 4),
                round(fmean(loaded), 2), round(min(loaded), 2), round(max(loaded), 2), printed,
                round(times_faster(these, line, MPICH_G2, HEAVY), 3),
                round(fmean(improvements(these, line, STATIC, 0.01)), 2),
                round(fmean(improvements(these, line, STATIC, 0.0, 0.0)), 2),
                round(100 * (1 - 1 / times_faster(these, line, STATIC, 0.0, 0.0)), 2),
            ))  # fmt: skip
    columns = (
        "loads on", "line", "unloaded, s", "loaded, s", "better than mpich-g2 loaded, %", "least", "most",
        "paper 3", "times faster at 80 %+", "better than static loaded, %", "unloaded, %",
        "unloaded, whole time, %",
    )  # fmt: skip
    return Sheet("improvement", "times and improvement", columns, rows)


def seed_sheet(samples: list[Sample], kinds: tuple[str, ...]) -> Sheet:
    """Broadleaf's adaptive broadcasts, draw by draw; settled: on a plan made after the last change."""
    rows: list[tuple[Cell, ...]] = []
    for kind in kinds:
        for seed in sorted({s.seed for s in samples}):
            these = [s for s in samples if (s.kind, s.seed) == (kind, seed)]
            unloaded = improvements(these, ADAPTIVE, STATIC, 0.0, 0.0)
            stale = {s.call for s in these if s.line == ADAPTIVE and s.is_stale}
            settled = improvements([s for s in these if s.call not in stale], ADAPTIVE, STATIC, 0.0, 0.0)
            rows.append((
                kind, seed, round(fmean(improvements(these, ADAPTIVE, MPICH_G2, 0.01)), 2),
                round(fmean(improvements(these, ADAPTIVE, STATIC, 0.01)), 2), round(fmean(unloaded), 2),
                round(fmean(settled), 2), round(min(settled), 2), len(stale),
            ))  # fmt: skip
    columns = (
        "loads on", "seed", "better than mpich-g2 loaded, %", "better than static loaded, %", "unloaded, %",
        "unloaded and settled, %", "least", "stale broadcasts",
    )  # fmt: skip
    return Sheet("seeds", "broadleaf, adaptive: draw by draw", columns, rows)


def stale_sheet(samples: list[Sample], kinds: tuple[str, ...]) -> Sheet:
    """The longest runs of adaptive broadcasts on plans from before a change."""
    rows: list[tuple[Cell, ...]] = []
    for kind in kinds:
        ours = [s for s in samples if s.kind == kind and s.line == ADAPTIVE]
        seeds = sorted({s.seed for s in ours})
        longest = [longest_run([s.is_stale for s in ours if s.seed == seed]) for seed in seeds]
        unaware = [longest_run([s.is_unaware for s in ours if s.seed == seed]) for seed in seeds]
        rows.append(
            (kind, sum(s.is_stale for s in ours), max(longest), sum(s.is_unaware for s in ours), max(unaware))
        )
    columns = ("loads on", "stale broadcasts", "most in a row", "some link not as believed", "most in a row ")
    return Sheet("stale", "broadleaf, adaptive: broadcasts on stale plans", columns, rows)


def refresh_sheet(samples: list[Sample], kinds: tuple[str, ...]) -> Sheet:
    """The annealer's gain under load by how old the monitor's view may be."""
    rows: list[tuple[Cell, ...]] = []
    for kind in kinds:
        these = [s for s in samples if s.kind == kind]
        for refresh_s in REFRESHES_S:
            loaded, unloaded = (
                improvements(these, refreshed_line(refresh_s), MPICH_G2, *taken)
                for taken in ((0.01, 1.0), (0.0, 0.0))
            )
            rows.append((
                kind, refresh_s, round(fmean(loaded), 2), round(min(loaded), 2), round(max(loaded), 2),
                round(fmean(unloaded), 2), PRINTED_AVERAGE if refresh_s == MONITOR_S else None,
            ))  # fmt: skip
    columns = (
        "loads on", "refresh, s", "better than mpich-g2 loaded, %", "least", "most", "unloaded, %",
        "paper 3, loaded",
    )  # fmt: skip
    return Sheet("refresh", "The paper's annealer by the monitor's refresh", columns, rows)


def refresh_remark(sheet: Sheet) -> str:
    means = {refresh_s: [float(row[2] or 0) for row in sheet.rows if row[1] == refresh_s]
             for refresh_s in REFRESHES_S}  # fmt: skip
    old, new = means[MONITOR_S], means[REFRESHES_S[-1]]
    return (
        f"The printed {PRINTED_AVERAGE} % and refresh: with a view of up to {MONITOR_S:g} s the annealer is "
        f"{min(old):.1f} to {max(old):.1f} % better than mpich-g2 under load, by where the loads are; with "
        f"one of {REFRESHES_S[-1]:g} s {min(new):.1f} to {max(new):.1f} %. The place of the loads matters "
        "as much, and the paper does not give it; the rest is not explained."
    )


def longest_run(flags: list[bool]) -> int:
    longest = now = 0
    for flag in flags:
        now = now + 1 if flag else 0
        longest = max(longest, now)
    return longest


def figure_3(moves: int) -> list[tuple[int, float, float, bool]]:
    """32 nodes, 1 MB, bandwidths uniform in 0.1 to 10 Mb/s. The limit is in moves, so that any machine
    finds the same."""
    draw = random.Random(0)
    count = FIGURE_3_NODES
    rates = [[draw.uniform(0.1, 10.0) * 1e6 / 8 for _ in range(count)] for _ in range(count)]
    return annealing_progress(rates, FIGURE_3_BYTES, moves=moves)


def remarks(samples: list[Sample], kind: str) -> list[str]:
    these = [s for s in samples if s.kind == kind]
    over_mpich = fmean(improvements(these, ADAPTIVE, MPICH_G2, 0.01))
    annealed = fmean(improvements(these, ANNEALING, MPICH_G2, 0.01))
    mateescu = fmean(improvements(these, MATEESCU, MPICH_G2, 0.01))
    return [
        f"Loads on {kind}. Under load {ADAPTIVE} takes {over_mpich:.1f} % less than mpich-g2, the paper's "
        f"annealer {annealed:.1f} % less (printed: {PRINTED_AVERAGE} %, {PRINTED_RANGE[0]} to "
        f"{PRINTED_RANGE[1]} %), Mateescu's tree {-mateescu:.1f} % more.",
    ]


def contention_remark(network: bl.Platform) -> str:
    """What links shared by several pairs cost Mateescu's tree: the paper's reason, tried."""
    size = scene.FIRST_BYTES

    def seconds(on: bl.Platform, line: str) -> float:
        return float(bl.simulate(on, bl.plan(on, scene.ROOT, size, line, segment_bytes=size)).makespan_s)

    shared, apart = (
        seconds(on, MATEESCU) / seconds(on, MPICH_G2) for on in (network, scene.unshared(network))
    )
    return (
        "Mateescu's tree sends over the same links between sites again and again. Unloaded, it takes "
        f"{shared:.2f} times as long as mpich-g2's for 1 MB, and {apart:.2f} times if every pair of hosts "
        "has the rate of its way to itself."
    )
