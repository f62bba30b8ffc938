"""Paper 2, section 7, figures 5 and 6: predicted and measured broadcasts on the 88 machines of its table 3.

Figure 5 comes from our simulator. Figure 6 is measured: the real runtime, and the broadcasts that SimGrid's
SMPI has built in, move every message over the platform in SMPI's simulated time. The paper's strategies send
the message whole; ours cut it into segments.
"""

from __future__ import annotations

import math
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import broadleaf as bl
from broadleaf import smpi
from broadleaf.checkout import CHECKOUT
from broadleaf.formats.simgrid import write_simgrid
from broadleaf.papers.grid.figures import Line, draw
from broadleaf.papers.results import Cell, Results, Sheet

PLATFORM = CHECKOUT / "platforms" / "grid5000-88.json"
PROGRAM = CHECKOUT / "testbeds" / "bcast.c"

# SMPI's own; `default` is the binomial tree, the paper's reference.
BUILT_IN = ("default", "ompi", "mpich", "mvapich2")
# Flat between clusters first.
WHOLE = ("magpie", "mpich-g2", "fef", "ecef", "ecef-la", "ecef-lat-min", "ecef-lat-max", "bottom-up")
QUICK_WHOLE = ("magpie", "ecef", "ecef-la", "ecef-lat-max")
SEGMENTED = ("makespan", "best")

KIB = 1 << 10
PAPERS_BYTES = 4096 * KIB
QUICK_SIZES = (64 * KIB, 1024 * KIB, PAPERS_BYTES)
SIZES = (64 * KIB, 256 * KIB, 1024 * KIB, PAPERS_BYTES, 16384 * KIB, 65536 * KIB)
# Simulating a message costs the machine about a tenth of a millisecond, so segments are limited in number;
# and in size, as the runtime limits its own.
MOST_SEGMENTS = 1024
QUICK_MOST_SEGMENTS = 256
LEAST_SEGMENT_BYTES = 2 * KIB
# From this size on the ranks' buffers are one, or they would not fit in memory; bytes are not compared then.
SHARED_BYTES = 16384 * KIB
# Some of SMPI's broadcasts build communicators in their first call, for seconds.
REPETITIONS = 2
RUNS_AT_ONCE = 2
# Of real time for one strategy from one root; a busy machine takes its time.
TIMEOUT_S = 1800.0


@dataclass(frozen=True)
class Task:
    """One strategy from one root, at several sizes in one run."""

    strategy: str
    root: str
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Sample:
    """One strategy, root and size. Seconds; None where it was not planned by us, or not measured."""

    strategy: str
    root: str
    message_bytes: int
    planner: str | None
    segment_bytes: int | None
    planning_s: float | None
    predicted_s: float | None
    bound_s: float | None = None
    measured_s: tuple[float, ...] = ()

    @property
    def settled_s(self) -> float | None:
        return self.measured_s[-1] if self.measured_s else None


def missing() -> str | None:
    """What keeps figure 6 from being measured; None if nothing does."""
    if not PROGRAM.is_file():
        return "it needs a checkout of the project, with its testbeds folder"
    return smpi.missing()


def segment_bytes(strategy: str, message_bytes: int, most_segments: int) -> int:
    if strategy not in SEGMENTED:
        return message_bytes
    return max(LEAST_SEGMENT_BYTES, message_bytes // most_segments)


def predict(
    platform: bl.Platform, strategy: str, root: str, message_bytes: int, most_segments: int
) -> tuple[Sample, bl.Plan]:
    """Plans, and times the planning. The reference is predicted as our own binomial tree."""
    planner = "binomial" if strategy == "default" else strategy
    cut = segment_bytes(strategy, message_bytes, most_segments)
    begin = time.perf_counter()
    plan = bl.plan(platform, root, message_bytes, planner, segment_bytes=cut)
    planning_s = time.perf_counter() - begin
    predicted_s = bl.simulate(platform, plan).makespan_s
    document = plan.to_dict()
    return (
        Sample(
            strategy,
            root,
            message_bytes,
            document["planner"],
            document["segment_bytes"],
            None if strategy in BUILT_IN else planning_s,
            predicted_s,
            plan.bound_s,
        ),
        plan,
    )


@dataclass(frozen=True)
class Bed:
    """The program that broadcasts, with the runtime linked in, and where it runs."""

    program: Path
    # SimGrid's XML, and the host of every rank.
    xml: Path
    hosts: Path


def build(platform: bl.Platform, folder: Path) -> Bed:
    """Raises SmpiError."""
    return Bed(smpi.planned_program(PROGRAM, folder / "bcast"), *write_simgrid(platform, folder))


def measure(task: Task, ranks: list[str], bed: Bed, plans: Path) -> dict[int, tuple[float, ...]]:
    """Simulated seconds of each broadcast by size, from a common start until the last rank has it all.

    Raises SmpiError.
    """
    variables = {"BROADLEAF_PLATFORM": str(PLATFORM), "BROADLEAF_MIN_BYTES": "1"}
    settings = {}
    if task.strategy in BUILT_IN:
        variables["BROADLEAF_DISABLE"] = "1"
        if task.strategy != "default":
            settings = {"smpi/bcast": task.strategy}
    else:
        variables["BROADLEAF_PLAN_DIR"] = str(plans)
    seconds: dict[int, tuple[float, ...]] = {}
    for is_shared in (False, True):
        sizes = [size for size in task.sizes if (size >= SHARED_BYTES) == is_shared]
        if not sizes:
            continue
        arguments = [",".join(map(str, sizes)), str(REPETITIONS), str(ranks.index(task.root))]
        arguments += ["shared"] if is_shared else []
        command = [str(bed.program), *arguments]
        told = smpi.simulate(
            *(bed.xml, bed.hosts, command), settings=settings, variables=variables, timeout_s=TIMEOUT_S
        )
        for size in sizes:
            lines = re.findall(rf"bytes={size} .*seconds=([0-9.]+) wrong_bytes=(-?\d+)$", told, re.M)
            if len(lines) != REPETITIONS or any(int(wrong) > 0 for _, wrong in lines):
                raise smpi.SmpiError(f"{task.strategy}: {size} bytes did not arrive as they were sent")
            seconds[size] = tuple(float(found) for found, _ in lines)
    return seconds


@dataclass(frozen=True)
class Work:
    """What is to be predicted and measured; `missing` says why nothing is measured."""

    quick: bool
    missing: str | None

    @property
    def strategies(self) -> tuple[str, ...]:
        return (*BUILT_IN, *(QUICK_WHOLE if self.quick else WHOLE), *SEGMENTED)

    @property
    def sizes(self) -> tuple[int, ...]:
        return QUICK_SIZES if self.quick else SIZES

    @property
    def most_segments(self) -> int:
        return QUICK_MOST_SEGMENTS if self.quick else MOST_SEGMENTS

    def roots(self, platform: bl.Platform) -> list[str]:
        """The first host of each cluster; the short run has those of the first and the last."""
        of_cluster: dict[str, str] = {}
        for node in platform.to_dict()["nodes"]:
            of_cluster.setdefault(node["cluster"], node["id"])
        roots = list(of_cluster.values())
        return [roots[0], roots[-1]] if self.quick else roots

    def tasks(self, platform: bl.Platform) -> list[Task]:
        """Every size from the first root, the paper's size from every other."""
        first, *others = self.roots(platform)
        from_first = [Task(strategy, first, self.sizes) for strategy in self.strategies]
        rotating = ("default", "magpie", "ecef-lat-max", "best") if self.quick else self.strategies
        return from_first + [
            Task(strategy, root, (PAPERS_BYTES,)) for root in others for strategy in rotating
        ]

    @property
    def steps(self) -> int:
        return len(self.tasks(bl.Platform.load(PLATFORM))) if PLATFORM.is_file() else 0

    def run(self, advance: Callable[[], None]) -> Results:
        if not PLATFORM.is_file():
            return Results([], {}, [f"Figures 5 and 6 are left out: {self.missing}."])
        platform = bl.Platform.load(PLATFORM)
        remarks = [
            "Figure 5 is predicted by our simulator, figure 6 measured in SimGrid's simulated time: the "
            "second broadcast of a run. default, the paper's reference, is SMPI's binomial tree.",
            "magpie is flat between clusters. The paper's strategies send the message whole, makespan and "
            f"best in up to {self.most_segments} segments of at least {LEAST_SEGMENT_BYTES // KIB} KiB. "
            "A plan is made once for a root and a size.",
        ]
        with tempfile.TemporaryDirectory(prefix="broadleaf-paper-") as name:
            bed, missing = None, self.missing
            if missing is None:
                try:
                    bed = build(platform, Path(name))
                except smpi.SmpiError as error:
                    missing = str(error)
            if missing is not None:
                remarks.append(f"Figure 6 is left out: {missing}.")

            def one(task: Task) -> list[Sample]:
                samples = self.samples(platform, task, bed, Path(name), remarks)
                advance()
                return samples

            with ThreadPoolExecutor(RUNS_AT_ONCE) as pool:
                tasks = self.tasks(platform)
                samples = [sample for found in pool.map(one, tasks) for sample in found]
        return results(samples, self.strategies, remarks)

    def samples(
        self, platform: bl.Platform, task: Task, bed: Bed | None, folder: Path, remarks: list[str]
    ) -> list[Sample]:
        plans = Path(tempfile.mkdtemp(dir=folder))
        samples = []
        for size in task.sizes:
            if task.strategy in BUILT_IN and task.strategy != "default":
                samples.append(Sample(task.strategy, task.root, size, None, None, None, None))
                continue
            sample, plan = predict(platform, task.strategy, task.root, size, self.most_segments)
            plan.save(plans / f"{size}.json")
            samples.append(sample)
        if bed is None:
            return samples
        try:
            measured = measure(task, platform.hosts, bed, plans)
        except smpi.SmpiError as failed:
            # All the other runs are not thrown away for one.
            remarks.append(f"Not measured: {task.strategy} from {task.root}: {failed}.")
            return samples
        return [replace(sample, measured_s=measured[sample.message_bytes]) for sample in samples]


def results(samples: list[Sample], strategies: tuple[str, ...], remarks: list[str]) -> Results:
    first = samples[0].root
    main = [s for s in samples if s.root == first]
    is_measured = any(s.measured_s for s in samples)
    by_size = [("figure-5", "Figure 5: predicted, ms", predicted_ms)]
    if is_measured:
        by_size.append(("figure-6", "Figure 6: measured, ms", measured_ms))
        by_size.append(("planning", "Figure 6 with the cost of planning, ms", with_planning_ms))
    sheets = [pivot(name, title, main, strategies, value) for name, title, value in by_size]
    sheets.append(above_bound(main))
    value = measured_ms if is_measured else predicted_ms
    sheets.append(roots(samples, strategies, value, "measured" if is_measured else "predicted"))
    if is_measured:
        sheets.append(text(main))
    sheets.append(raw(samples))
    figures = {
        name: draw(
            f"{title.split(',')[0]}, 88 machines of grid5000-88",
            "message, KiB",
            "time, ms",
            lines_of(main, strategies, of),
            logarithmic="xy",
        )
        for name, title, of in by_size[:2]
    }
    return Results(sheets, figures, remarks)


Value = Callable[[Sample], float | None]


def predicted_ms(sample: Sample) -> float | None:
    return None if sample.predicted_s is None else 1000 * sample.predicted_s


def measured_ms(sample: Sample) -> float | None:
    return None if sample.settled_s is None else 1000 * sample.settled_s


def with_planning_ms(sample: Sample) -> float | None:
    measured = measured_ms(sample)
    return None if measured is None else measured + 1000 * (sample.planning_s or 0.0)


def pivot(name: str, title: str, samples: list[Sample], strategies: tuple[str, ...], value: Value) -> Sheet:
    """A row a size, a column a strategy."""
    found = {(s.message_bytes, s.strategy): value(s) for s in samples}
    sizes = sorted({s.message_bytes for s in samples})
    shown = [line for line in strategies if any(found.get((size, line)) is not None for size in sizes)]
    rows: list[tuple[Cell, ...]] = [
        (size // KIB, *(shortened(found.get((size, line))) for line in shown)) for size in sizes
    ]
    return Sheet(name, title, ("KiB", *shown), rows)


def above_bound(samples: list[Sample]) -> Sheet:
    """How far the predicted times of ours are above what no plan beats."""
    rows: list[tuple[Cell, ...]] = []
    for size in sorted({s.message_bytes for s in samples}):
        at = {s.strategy: s for s in samples if s.message_bytes == size and s.strategy in SEGMENTED}
        bound_s = max(s.bound_s or 0.0 for s in at.values())
        above = [round(100 * ((at[line].predicted_s or math.nan) / bound_s - 1), 1) for line in SEGMENTED]
        rows.append((size // KIB, round(1000 * bound_s, 2), *above))
    names = ("KiB", "bound, ms", *(f"{line} above it %" for line in SEGMENTED))
    return Sheet("above-bound", "Ours, as predicted, above the bound of every plan", names, rows)


def shortened(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def roots(samples: list[Sample], strategies: tuple[str, ...], value: Value, how: str) -> Sheet:
    """The paper's size from every root: roots rotate in real programs."""
    at = [s for s in samples if s.message_bytes == PAPERS_BYTES]
    names = list(dict.fromkeys(s.root for s in at))
    rows: list[tuple[Cell, ...]] = []
    for line in strategies:
        found = {s.root: value(s) for s in at if s.strategy == line}
        known = [seconds for seconds in found.values() if seconds is not None]
        if len(known) == len(names):
            spread = round(max(known) / min(known), 2)
            rows.append((line, *(shortened(found[root]) for root in names), round(fmean(known), 2), spread))
    title = f"4 MiB from each cluster's first host: {how}, ms"
    return Sheet("roots", title, ("strategy", *names, "mean", "worst / best"), rows)


def text(samples: list[Sample]) -> Sheet:
    """What section 7 says of 4 MB, and how far `best` is ahead; empty where one was not done in time."""
    found = {s.strategy: s.settled_s for s in samples if s.message_bytes == PAPERS_BYTES}
    like = [found[line] for line in found if line.startswith("ecef")]
    like_s = None if None in like else fmean(seconds for seconds in like if seconds is not None)

    def times(one_s: float | None, other_s: float | None) -> float | None:
        return None if one_s is None or other_s is None else round(one_s / other_s, 2)

    rows: list[tuple[Cell, ...]] = [
        ("flat between clusters over ecef-like", times(found["magpie"], like_s), 6.0),
        ("flat between clusters over binomial", times(found["magpie"], found["default"]), "above 1"),
    ]
    for line in ("magpie", *BUILT_IN):
        rows.append((f"{line} over best", times(found[line], found["best"]), None))
    return Sheet("text", "4 MiB: how many times longer, beside what the text says",
                 ("ratio", "measured", "text"), rows)  # fmt: skip


def raw(samples: list[Sample]) -> Sheet:
    rows: list[tuple[Cell, ...]] = [
        (
            *(s.strategy, s.root, s.message_bytes, s.planner, s.segment_bytes, s.planning_s, s.predicted_s),
            s.bound_s,
            *(s.measured_s or (None,) * REPETITIONS),
        )
        for s in samples
    ]
    names = ("strategy", "root", "bytes", "planner", "segment_bytes", "planning_s", "predicted_s", "bound_s")
    repetitions = tuple(f"measured_{at}_s" for at in range(REPETITIONS))
    return Sheet("runs", "Every broadcast", (*names, *repetitions), rows, is_shown=False)


def lines_of(samples: list[Sample], strategies: tuple[str, ...], value: Value) -> Iterator[Line]:
    for at, strategy in enumerate(strategies):
        points = [(s.message_bytes / KIB, value(s)) for s in samples if s.strategy == strategy]
        known = [(size, ms) for size, ms in points if ms is not None]
        if known:
            style = "-" if strategy in SEGMENTED else ":" if strategy in BUILT_IN else "--"
            yield Line(strategy, [size for size, _ in known], [ms for _, ms in known], at, style)
