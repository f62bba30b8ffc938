"""Paper 2, section 7, figures 5 and 6: predicted and measured broadcasts on the 88 machines of its table 3.

Figure 5 comes from Broadleaf's simulator. Figure 6 is measured: the real runtime, and the broadcasts that
SimGrid's SMPI has built in, move every message over the platform in SMPI's simulated time. The paper's
strategies send the message whole; Broadleaf's cut it into segments. Both run on two platforms, since the
paper gives no rates."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import broadleaf as bl
from broadleaf import smpi
from broadleaf.checkout import CHECKOUT
from broadleaf.formats.simgrid import write_simgrid
from broadleaf.papers.journal import Journal, build, key_of

PROGRAM = CHECKOUT / "testbeds" / "bcast.c"

# SMPI's own; `default` is the binomial tree, the paper's reference.
BUILT_IN = ("default", "ompi", "mpich", "mvapich2")
# Flat between clusters first.
WHOLE = ("magpie", "mpich-g2", "fef", "ecef", "ecef-la", "ecef-lat-min", "ecef-lat-max", "bottom-up")
QUICK_WHOLE = ("magpie", "ecef", "ecef-la", "ecef-lat-max")
SEGMENTED = ("makespan", "best")
# The short run has only these from other clusters and on the second platform.
ROTATING = ("default", "magpie", "ecef", "best")

KIB = 1 << 10
PAPERS_BYTES = 4096 * KIB
QUICK_SIZES = (64 * KIB, 1024 * KIB, PAPERS_BYTES)
SIZES = (64 * KIB, 256 * KIB, 1024 * KIB, PAPERS_BYTES, 16384 * KIB, 65536 * KIB)
# Simulating a message costs the machine about a tenth of a millisecond, so segments are limited in number;
# and in size, as the runtime limits its own.
MOST_SEGMENTS = 1024
QUICK_MOST_SEGMENTS = 256
LEAST_SEGMENT_BYTES = 2 * KIB
# From this size on the ranks share one buffer, or memory would not suffice; bytes are not compared then.
SHARED_BYTES = 16384 * KIB
# Some of SMPI's broadcasts build communicators in their first call, for seconds.
REPETITIONS = 2
RUNS_AT_ONCE = 2
# Real time for one strategy from one root, with room for a busy machine.
TIMEOUT_S = 1800.0

# SimGrid shares a link by the inverse of each transfer's latency: a transfer over 12 ms gets 1/250 of a port
# that also sends over 48 us. By the inverse of rates, which are equal here, all get the same share. The
# paper's model has no shares at all.
EVEN_SHARES = {"network/weight-S": "1e9"}


@dataclass(frozen=True)
class Network:
    """One assumption about the machines' rates; `suffix` distinguishes its tables."""

    name: str
    suffix: str
    # Whether Broadleaf's plan has the other network's segments, because its own are too many for SMPI.
    is_cut: bool
    # Whether the paper's size is also sent from every cluster, and measured with SimGrid's own shares.
    is_main: bool

    @property
    def file(self) -> Path:
        return CHECKOUT / "platforms" / f"{self.name}.json"


NETWORKS = (Network("grid5000-88", "", True, True), Network("grid5000-88-2006", "-2006", False, False))


@dataclass(frozen=True)
class Task:
    """One strategy from one root, at several sizes in one run."""

    strategy: str
    root: str
    sizes: tuple[int, ...]
    # Whether the paper's size is measured with SimGrid's own shares, too.
    by_latency: bool = False


@dataclass(frozen=True)
class Sample:
    """One strategy, root and size. Seconds; None where Broadleaf did not plan it, or it was not
    measured."""

    strategy: str
    root: str
    message_bytes: int
    planner: str | None
    segment_bytes: int | None
    planning_s: float | None
    predicted_s: float | None
    bound_s: float | None = None
    measured_s: tuple[float, ...] = ()
    # With SimGrid's own shares.
    by_latency_s: tuple[float, ...] = ()

    @property
    def settled_s(self) -> float | None:
        return self.measured_s[-1] if self.measured_s else None


def missing() -> str | None:
    """The reason why figure 6 cannot be measured; None if it can."""
    if not PROGRAM.is_file():
        return "it needs a checkout of the project, with its testbeds folder"
    return smpi.missing()


def segment_bytes(strategy: str, message_bytes: int, most_segments: int | None) -> int | None:
    if strategy not in SEGMENTED:
        return message_bytes
    return None if most_segments is None else max(LEAST_SEGMENT_BYTES, message_bytes // most_segments)


def returning_on_arrival(platform: bl.Platform) -> bl.Platform:
    """The network of a sender that is kept until its message has arrived: each link's latency is a part of
    what a transfer takes of the port. For a message in one piece along a tree, since a host receives once."""
    document = platform.to_dict()
    links = [*document.get("links", ())]
    links += [group["link"] for part in ("meshes", "bridges") for group in document.get(part, ())]
    for link in links:
        link["startup_s"] = link.get("startup_s", 0.0) + link.pop("latency_s", 0.0)
    return bl.Platform.from_dict(document)


def moved(plan: bl.Plan, platform: bl.Platform) -> bl.Plan:
    """The plan with another network's digest."""
    return bl.Plan.from_dict(plan.to_dict() | {"platform_digest": platform.digest})


def predict(
    platform: bl.Platform, strategy: str, root: str, message_bytes: int, most_segments: int | None
) -> tuple[Sample, bl.Plan]:
    """Plans, and times the planning. The reference is predicted as Broadleaf's binomial tree, by the rule of
    its own sends.

    Without `most_segments` Broadleaf's planners choose.
    """
    planner = "binomial" if strategy == "default" else strategy
    cut = segment_bytes(strategy, message_bytes, most_segments)
    begin = time.perf_counter()
    plan = bl.plan(platform, root, message_bytes, planner, segment_bytes=cut)
    planning_s = time.perf_counter() - begin
    network = returning_on_arrival(platform) if strategy == "default" else platform
    predicted_s = bl.simulate(network, moved(plan, network)).makespan_s
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
    platform: Path
    # SimGrid's XML, and the host of every rank.
    xml: Path
    hosts: Path


def measure(
    task: Task, ranks: list[str], bed: Bed, plans: Path, shares: Mapping[str, str]
) -> dict[int, tuple[float, ...]]:
    """Simulated seconds of each broadcast by size, from a common start until the last rank has the message.

    `shares` are SimGrid's settings of how transfers share a link. Raises SmpiError.
    """
    variables = {"BROADLEAF_PLATFORM": str(bed.platform), "BROADLEAF_MIN_BYTES": "1"}
    settings = dict(shares)
    if task.strategy in BUILT_IN:
        variables["BROADLEAF_DISABLE"] = "1"
        if task.strategy != "default":
            settings["smpi/bcast"] = task.strategy
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
    """The broadcasts to predict and measure; `missing` is the reason for measuring none."""

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

    def tasks(self, network: Network) -> list[Task]:
        """Every size from the first root, the paper's size from every other."""
        first, *others = self.roots(bl.Platform.load(network.file))
        if not network.is_main:
            strategies, sizes = (ROTATING, (PAPERS_BYTES,)) if self.quick else (self.strategies, self.sizes)
            return [Task(strategy, first, sizes) for strategy in strategies]
        from_first = [Task(strategy, first, self.sizes, by_latency=True) for strategy in self.strategies]
        rotating = ROTATING if self.quick else self.strategies
        return from_first + [
            Task(strategy, root, (PAPERS_BYTES,)) for root in others for strategy in rotating
        ]

    @property
    def steps(self) -> int:
        return sum(len(self.tasks(network)) for network in NETWORKS if network.file.is_file())

    def run(
        self, advance: Callable[[], None], journal: Journal
    ) -> tuple[list[tuple[Network, list[Sample]]], list[str], bool]:
        """The samples of every network, remarks, and whether all was measured."""
        if not all(network.file.is_file() for network in NETWORKS):
            return [], [f"Figures 5 and 6 are left out: {self.missing}."], False
        remarks = [
            "Figure 5 is predicted by Broadleaf's simulator, figure 6 measured in SimGrid's simulated time: "
            "the second broadcast of a run. default, the paper's reference, is SMPI's binomial tree.",
            "The paper gives no rates. The first platform has 1 Gb/s between two sites, which makes the grid "
            "nearly homogeneous. The second, 2006, has 1.5 MB/s from a host to one of another site; with "
            "that rate the order of the paper's figure comes out. Its factors do not: with one rate between "
            "sites, flat sends to four clusters one after the other, which takes about four times as long "
            "as the best at most. The printed six, and ecef-la and ecef-lat-min at twice ecef's time, are "
            "not explained.",
            "Up to 4 MiB, figure 6 is more than 10 % from figure 5 for two strategies. mpich-g2 takes 1.18 "
            "times as long as predicted at 1 MiB: a message of SimGrid's uses a port once its latency is "
            "over, the model's at once, and without latency between sites what was more than 5 % off is "
            "within 0.2 % (benches/grid_latency.py). best on the second platform takes 0.37 to 0.75 times as "
            "long: its hosts send over several slow links at once, for which the model's one-port has one "
            "after the other. With ports that serve many transfers at once, of 1 Gb/s, the plan of 4 MiB is "
            "predicted at 102 ms, so the truth lies between the two models; the rest is not explained. At "
            "64 MiB best takes 1.25 times as long as predicted on the first platform: not explained.",
            "Transfers under way together share a link evenly. With SimGrid's own rule, by latency, one "
            "between sites waits for all that the same host sends inside its cluster: the second table of "
            "4 MiB shows what that makes of each prediction.",
            "magpie is flat between clusters. The paper's strategies send the message whole. On the first "
            f"platform makespan and best have up to {self.most_segments} segments of at least "
            f"{LEAST_SEGMENT_BYTES // KIB} KiB. A plan is made once for a root and a size.",
            "default is predicted by the rule of its own sends: SMPI's binomial tree uses MPI_Send, which "
            "returns there once the message has arrived, so that a node sends again a latency later than in "
            "the paper's model. By that model 64 KiB would take 20.8 ms on the first platform.",
        ]
        with tempfile.TemporaryDirectory(prefix="broadleaf-paper-") as name:
            program, missing = Path(name) / "bcast", self.missing
            if missing is None:
                try:
                    smpi.planned_program(PROGRAM, program)
                except smpi.SmpiError as error:
                    missing = str(error)
            if missing is not None:
                remarks.append(f"Figure 6 is left out: {missing}.")
            found = []
            for network in NETWORKS:
                folder = Path(name) / network.name
                folder.mkdir()
                samples = self.of_network(
                    network, None if missing else program, folder, remarks, advance, journal
                )
                found.append((network, samples))
        return found, remarks, all(s.measured_s for _, samples in found for s in samples)

    def of_network(
        self,
        network: Network,
        program: Path | None,
        folder: Path,
        remarks: list[str],
        advance: Callable[[], None],
        journal: Journal,
    ) -> list[Sample]:
        platform = bl.Platform.load(network.file)
        bed = None if program is None else Bed(program, network.file, *write_simgrid(platform, folder))
        of_build = build(__file__)

        def one(task: Task) -> list[Sample]:
            key = key_of(of_build, platform.digest, network, task, self.most_segments, bed is None)

            def samples(bed: Bed | None = bed) -> list[Sample]:
                return self.samples(platform, network, task, bed, folder)

            try:
                found = [Sample(*saved) for saved in journal.value(key, lambda: [*map(astuple, samples())])]
            except smpi.SmpiError as failed:
                # A failed run does not discard the others.
                remarks.append(f"Not measured: {task.strategy} from {task.root}: {failed}.")
                found = samples(None)
            advance()
            return found

        with ThreadPoolExecutor(RUNS_AT_ONCE) as pool:
            return [sample for found in pool.map(one, self.tasks(network)) for sample in found]

    def samples(
        self,
        platform: bl.Platform,
        network: Network,
        task: Task,
        bed: Bed | None,
        folder: Path,
    ) -> list[Sample]:
        """Predicted, and measured on a bed. Raises SmpiError."""
        most_segments = self.most_segments if network.is_cut else None
        plans = Path(tempfile.mkdtemp(dir=folder))
        samples = []
        for size in task.sizes:
            if task.strategy in BUILT_IN and task.strategy != "default":
                samples.append(Sample(task.strategy, task.root, size, None, None, None, None))
                continue
            sample, plan = predict(platform, task.strategy, task.root, size, most_segments)
            plan.save(plans / f"{size}.json")
            samples.append(sample)
        if bed is None:
            return samples
        measured = measure(task, platform.hosts, bed, plans, EVEN_SHARES)
        by_latency: dict[int, tuple[float, ...]] = {}
        if task.by_latency:
            one = replace(task, sizes=(PAPERS_BYTES,))
            by_latency = measure(one, platform.hosts, bed, plans, {})
        return [
            replace(
                sample,
                measured_s=measured[sample.message_bytes],
                by_latency_s=by_latency.get(sample.message_bytes, ()),
            )
            for sample in samples
        ]
