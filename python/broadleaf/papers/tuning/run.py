"""Paper 4: what the models predict for ten broadcasts and three scatters, beside what they take.

The network's parameters L and g(m) are measured first, between two ranks; from them alone everything else is
predicted and chosen. Then each technique runs, along the tree that our planners give, in a program of its own
(`testbeds/plans.c`).

Barchet-Steffenel and Mounié, *Fast tuning of intra-cluster collective communications*, tables 1 and 2,
figures 1 to 4.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

import broadleaf as bl
from broadleaf.papers.results import Cell, Results, Sheet, Start
from broadleaf.papers.tuning.beds import Bed, BedError, LocalBed, SimulatedBed, Timed
from broadleaf.papers.tuning.figures import figures
from broadleaf.papers.tuning.journal import Journal

COLLECTIVES = ("bcast", "scatter")
PLANNERS = {"bcast": ("flat", "chain", "binary", "binomial"), "scatter": ("flat", "chain", "binomial")}

# Messages sent back to back to measure a gap, and how many bytes they may be in all.
TRAIN = 33
TRAIN_BYTES = 64 << 20
# Everything is predicted from the parameters, so they are measured with more care than the rest.
PARAMETERS_CARE = 5
# No end system handles a message in less, s: where a busy machine's noise hides the gap of a short one, this
# keeps a plan from being cut into millions of segments.
LEAST_GAP_S = 1e-6
# Sizes at which gaps are measured: half powers of four and their neighbours would add nothing to a line.
GAP_SIZES = [1, *(1 << power for power in range(4, 25, 2))]

WHY = {
    "flat": "the same",
    "flat-rendezvous": "the same, unless asking everyone takes longer than the first answer",
    "segmented-flat": "the last segment is what is left of the message",
    "chain": "the same",
    "chain-rendezvous": "the same",
    "segmented-chain": "the last segment is what is left of the message",
    "binary": "printed as an upper bound; the last leaf is reached earlier",
    "binomial": "the root serves ceil(log2 P) children one after the other, not floor(log2 P)",
    "binomial-rendezvous": "as binomial; and a node asks all its children at once, not each in turn",
    "segmented-binomial": "as binomial, for each segment",
}
WHY_SCATTER = {
    "flat": "the same",
    "chain": "the same",
    "binomial": "off powers of two a subtree has fewer nodes, so that fewer blocks travel",
}


@dataclass(frozen=True)
class Sample:
    """One technique on one bed."""

    bed: str
    collective: str
    nodes: int
    message_bytes: int
    algorithm: str
    segment_bytes: int
    printed_s: float
    corrected_s: float
    simulated_s: float | None
    measured_s: float
    is_chosen: bool
    is_chosen_as_printed: bool

    @property
    def error(self) -> float:
        """Of the prediction, as a part of what was measured."""
        return abs(self.corrected_s - self.measured_s) / self.measured_s

    @property
    def printed_error(self) -> float:
        return abs(self.printed_s - self.measured_s) / self.measured_s


@dataclass(frozen=True)
class Outcome:
    """What the choice cost in one case, against the measured best."""

    bed: str
    collective: str
    nodes: int
    message_bytes: int
    chosen: Sample
    best: Sample
    as_printed: Sample

    @property
    def loss(self) -> float:
        return self.chosen.measured_s / self.best.measured_s

    @property
    def printed_loss(self) -> float:
        return self.as_printed.measured_s / self.best.measured_s


@dataclass(frozen=True)
class Effort:
    """What is measured on a bed."""

    nodes: tuple[int, ...]
    sizes: tuple[int, ...]


def smpi_effort(quick: bool) -> Effort:
    if quick:
        return Effort((2, 3, 16, 50), (1, 256, 4 << 10, 32 << 10, 256 << 10))
    nodes = (*range(2, 11), 12, 14, 15, 16, 17, 20, 24, 28, 31, 32, 33, 36, 40, 44, 48, 50)
    return Effort(nodes, tuple(1 << power for power in range(23)))


def local_effort(quick: bool) -> Effort:
    if quick:
        return Effort((2, 4), (64, 16 << 10, 256 << 10))
    return Effort((2, 3, 4, 5, 8), tuple(1 << power for power in range(0, 23, 2)))


def run(quick: bool, start: Start, keep: Path | None = None) -> Results:
    """Measures the parameters, predicts, chooses, runs everything, and compares.

    `keep` is a file for what is measured, line by line; a run that was interrupted goes on from it. It is
    removed when everything is measured.
    """
    samples: list[Sample] = []
    parameters: list[tuple[Cell, ...]] = []
    remarks: list[str] = []
    journal = Journal(keep)
    if journal.found:
        remarks.append(f"{journal.found} times are from {keep}, which an earlier run left.")
    with tempfile.TemporaryDirectory(prefix="broadleaf-tuning-") as folder:
        beds: list[tuple[Bed, Effort]] = []
        for make, effort in (
            (lambda: SimulatedBed(Path(folder)), smpi_effort(quick)),
            (lambda: LocalBed(Path(folder), 3 if quick else 15), local_effort(quick)),
        ):
            try:
                beds.append((make(), effort))
            except BedError as error:
                remarks.append(f"Not measured: {error}.")
        is_whole = True
        advance = start(sum(1 + len(effort.nodes) for _, effort in beds))
        for bed, effort in beds:
            try:
                for rows, found in measured(bed, effort, journal):
                    parameters += rows
                    samples += found
                    advance()
            except BedError as error:
                # What was measured before stays.
                is_whole = False
                remarks.append(f"Not all measured: {error}.")
    if not samples:
        raise BedError("; ".join(remarks) + " There is nothing to compare predictions with")
    results = results_of(samples, parameters, remarks)
    if is_whole:
        journal.discard()
    return results


def measured(
    bed: Bed, effort: Effort, journal: Journal
) -> Iterator[tuple[list[tuple[Cell, ...]], list[Sample]]]:
    """A step at a time: first the parameters' rows, then the samples of each number of nodes."""
    platform, rows = measured_cluster(bed, journal)
    yield rows, []
    with ThreadPoolExecutor(bed.at_once) as pool:
        waiting = [
            pool.submit(samples_of, bed, platform, nodes, effort.sizes, journal) for nodes in effort.nodes
        ]
        try:
            for future in waiting:
                yield [], future.result()
        finally:
            # After an error or an interruption nothing new is begun.
            for future in waiting:
                future.cancel()


def results_of(samples: list[Sample], parameters: list[tuple[Cell, ...]], remarks: list[str]) -> Results:
    beds = list(dict.fromkeys(sample.bed for sample in samples))
    outcomes = [outcome for bed in beds for outcome in outcomes_of(s for s in samples if s.bed == bed)]
    return Results(
        sheets=[
            summary(samples, outcomes),
            worst_cases(outcomes),
            *by_ranks(samples, outcomes),
            differences(samples),
            Sheet(
                "parameters",
                "What was measured between two ranks",
                ("bed", "bytes", "g_s", "L_s"),
                parameters,
            ),
            choices(outcomes),
            raw(samples),
        ],
        figures={name: figure for bed in beds for name, figure in figures_of(bed, samples).items()},
        remarks=[
            *remarks,
            "Chosen by the event simulation of the plan; the printed models are shown beside.",
            "On SMPI a host sends one message at a time and receives one at a time, in order (cluster-50).",
            "Local ranks share cores and memory: g(m) between two of them says little of many at once.",
        ],
    )


def figures_of(bed: str, samples: list[Sample]) -> dict[str, Any]:
    """The paper's four figures on one bed."""
    prefix = "" if bed == SimulatedBed.name else "local-"
    drawn = figures(bed, [sample for sample in samples if sample.bed == bed])
    return {f"{prefix}{name}": figure for name, figure in drawn.items()}


def measured_cluster(bed: Bed, journal: Journal) -> tuple[bl.Platform, list[tuple[Cell, ...]]]:
    """L and g(m) between two ranks: one message, and a train of them back to back.

    A gap that falls with the size, as noise makes it on local ranks, is raised to the one before.
    """
    trains = [max(2, min(TRAIN, TRAIN_BYTES // bytes_)) for bytes_ in GAP_SIZES]
    single = [Timed("bcast", "eager", bytes_, bytes_, "0>1") for bytes_ in GAP_SIZES]
    several = [
        Timed("bcast", "eager", bytes_ * count, bytes_, "0>1")
        for bytes_, count in zip(GAP_SIZES, trains, strict=True)
    ]
    times = journal.seconds(bed, 2, [*single, *several], PARAMETERS_CARE)
    gap: list[tuple[int, float]] = []
    for at, bytes_ in enumerate(GAP_SIZES):
        gap_s = (times[len(GAP_SIZES) + at] - times[at]) / (trains[at] - 1)
        gap.append((bytes_, max(gap_s, gap[-1][1] if gap else LEAST_GAP_S)))
    latency_s = max(times[0] - gap[0][1], 0.0)
    nodes = [f"n{at}" for at in range(bed.most_nodes)]
    platform = bl.Platform.from_dict(
        {
            "format": "broadleaf-platform/1",
            "name": bed.name,
            "port_model": "one-port",
            "nodes": [{"id": node} for node in nodes],
            "meshes": [{"nodes": nodes, "link": {"latency_s": latency_s, "gap": gap}}],
        }
    )
    return platform, [(bed.name, bytes_, gap_s, latency_s) for bytes_, gap_s in gap]


def edges_of(nodes: int) -> dict[tuple[str, str], str]:
    """Each planner's tree as the program's edges, by planner and collective; it does not depend on sizes."""
    ids = [f"n{at}" for at in range(nodes)]
    link = {"latency_s": 1e-5, "bandwidth_bytes_per_s": 1e8}
    document = {
        "format": "broadleaf-platform/1",
        "name": "any",
        "port_model": "one-port",
        "nodes": [{"id": node} for node in ids],
        "meshes": [{"nodes": ids, "link": link}],
    }
    platform = bl.Platform.from_dict(document)
    found = {}
    for collective, planners in PLANNERS.items():
        for planner in planners:
            tree = bl.plan(platform, "n0", 1, planner, collective, 1).to_dict()["trees"][0]
            pairs = [(a[1:], b[1:]) for a, below in tree["children"].items() for b in below]
            found[planner, collective] = ",".join(f"{a}>{b}" for a, b in pairs)
    return found


def samples_of(
    bed: Bed, platform: bl.Platform, nodes: int, sizes: Sequence[int], journal: Journal
) -> list[Sample]:
    """All techniques on that many nodes."""
    edges = edges_of(nodes)
    tuned = [choice for name in COLLECTIVES for choice in bl.tune(platform, [nodes], sizes, collective=name)]
    cases = [(choice, forecast) for choice in tuned for forecast in choice.forecasts]
    plans = [
        Timed(
            choice.collective,
            forecast.protocol,
            choice.message_bytes,
            forecast.segment_bytes,
            edges[forecast.planner, choice.collective],
        )
        for choice, forecast in cases
    ]
    times = journal.seconds(bed, nodes, plans)
    return [
        Sample(
            bed=bed.name,
            collective=choice.collective,
            nodes=nodes,
            message_bytes=choice.message_bytes,
            algorithm=forecast.algorithm,
            segment_bytes=forecast.segment_bytes,
            printed_s=forecast.printed_s,
            corrected_s=forecast.corrected_s,
            simulated_s=forecast.simulated_s,
            measured_s=max(measured_s, 1e-9),
            is_chosen=forecast.algorithm == choice.chosen.algorithm,
            is_chosen_as_printed=forecast.algorithm == choice.chosen_as_printed.algorithm,
        )
        for (choice, forecast), measured_s in zip(cases, times, strict=True)
    ]


def outcomes_of(samples: Iterable[Sample]) -> list[Outcome]:
    """The choice of each case against the measured best."""
    outcomes = []
    for case, group in groupby(samples, lambda s: (s.bed, s.collective, s.nodes, s.message_bytes)):
        tried = list(group)
        outcomes.append(
            Outcome(
                *case,
                chosen=next(sample for sample in tried if sample.is_chosen),
                best=min(tried, key=lambda sample: sample.measured_s),
                as_printed=next(sample for sample in tried if sample.is_chosen_as_printed),
            )
        )
    return outcomes


def summary(samples: list[Sample], outcomes: list[Outcome]) -> Sheet:
    """What must hold, a row for each bed and collective."""
    rows: list[tuple[Cell, ...]] = []
    for bed, collective in dict.fromkeys((s.bed, s.collective) for s in samples):
        own = [o for o in outcomes if (o.bed, o.collective) == (bed, collective)]
        timed = [s for s in samples if (s.bed, s.collective) == (bed, collective)]
        rows.append(
            (
                bed,
                collective,
                len(own),
                round(max(o.loss for o in own), 4),
                round(median(o.loss for o in own), 4),
                round(100 * sum(o.loss <= 1.05 for o in own) / len(own), 1),
                round(max(o.printed_loss for o in own), 4),
                round(100 * median(s.error for s in timed), 3),
                round(100 * max(s.error for s in timed), 3),
                round(100 * median(s.printed_error for s in timed), 3),
                round(100 * max(s.printed_error for s in timed), 3),
            )
        )
    columns = (
        "bed",
        "collective",
        "cases",
        "chosen / best, worst",
        "median",
        "within 5 %",
        "as printed, worst",
        "error %, median",
        "worst",
        "printed error %, median",
        "printed worst",
    )
    return Sheet("summary", "The choice against the measured best, and the prediction's error", columns, rows)


def by_ranks(samples: list[Sample], outcomes: list[Outcome]) -> list[Sheet]:
    """How far off choices and predictions are on real ranks, by their number; none where there were none."""
    rows: list[tuple[Cell, ...]] = []
    kinds = ((s.bed, s.collective, s.nodes) for s in samples if s.bed != SimulatedBed.name)
    for kind in dict.fromkeys(kinds):
        losses = [o.loss for o in outcomes if (o.bed, o.collective, o.nodes) == kind]
        timed = [s for s in samples if (s.bed, s.collective, s.nodes) == kind]
        of_chosen = [s.error for s in timed if s.is_chosen]
        rows.append(
            (
                *kind,
                len(losses),
                round(max(losses), 4),
                round(median(losses), 4),
                round(median(s.corrected_s / s.measured_s for s in timed), 3),
                round(100 * median(s.error for s in timed), 1),
                round(100 * median(of_chosen), 1),
                round(100 * max(s.error for s in timed), 1),
            )
        )
    columns = (
        "bed", "collective", "ranks", "cases", "chosen / best, worst", "median",
        "predicted / measured, median", "error %, median", "of the chosen", "worst",
    )  # fmt: skip
    return [Sheet("ranks", "Real ranks: how far off, by their number", columns, rows)] if rows else []


def worst_cases(outcomes: list[Outcome]) -> Sheet:
    """Where the choice lost most, on each bed."""
    rows: list[tuple[Cell, ...]] = []
    for bed, collective in dict.fromkeys((o.bed, o.collective) for o in outcomes):
        own = [o for o in outcomes if (o.bed, o.collective) == (bed, collective)]
        for outcome in sorted(own, key=lambda o: -o.loss)[:3]:
            rows.append(row_of(outcome))
    return Sheet("worst", "Where the choice lost most", CHOICE_COLUMNS, rows)


CHOICE_COLUMNS = (
    "bed", "collective", "nodes", "bytes", "chosen", "segment", "predicted_s", "measured_s", "best", "best_s",
    "chosen / best", "as printed", "as printed / best",
)  # fmt: skip


def row_of(outcome: Outcome) -> tuple[Cell, ...]:
    chosen = outcome.chosen
    return (
        outcome.bed,
        outcome.collective,
        outcome.nodes,
        outcome.message_bytes,
        chosen.algorithm,
        chosen.segment_bytes,
        chosen.corrected_s,
        chosen.measured_s,
        outcome.best.algorithm,
        outcome.best.measured_s,
        round(outcome.loss, 4),
        outcome.as_printed.algorithm,
        round(outcome.printed_loss, 4),
    )


def choices(outcomes: list[Outcome]) -> Sheet:
    rows = [row_of(outcome) for outcome in outcomes]
    return Sheet("choices", "Every choice", CHOICE_COLUMNS, rows, is_shown=False)


def differences(samples: list[Sample]) -> Sheet:
    """Printed and corrected models on three nodes and the longest message, where most of them part."""
    bed = samples[0].bed
    nodes = 3 if any(s.bed == bed and s.nodes == 3 for s in samples) else samples[0].nodes
    longest = max(s.message_bytes for s in samples if s.bed == bed)
    rows: list[tuple[Cell, ...]] = []
    for s in samples:
        if (s.bed, s.nodes, s.message_bytes) == (bed, nodes, longest):
            why = (WHY if s.collective == "bcast" else WHY_SCATTER)[s.algorithm]
            seconds = (s.printed_s, s.corrected_s, s.measured_s)
            rows.append((s.collective, s.algorithm, *seconds, round(s.printed_s / s.measured_s, 3), why))
    columns = (
        "collective", "technique", "printed_s", "corrected_s", "measured_s", "printed / measured",
        "why they differ",
    )  # fmt: skip
    title = f"Tables 1 and 2 on {nodes} nodes, {longest} bytes ({bed})"
    return Sheet("tables", title, columns, rows)


def raw(samples: list[Sample]) -> Sheet:
    rows: list[tuple[Cell, ...]] = [
        (s.bed, s.collective, s.nodes, s.message_bytes, s.algorithm, s.segment_bytes, s.printed_s,
         s.corrected_s, s.simulated_s, s.measured_s, int(s.is_chosen))
        for s in samples
    ]  # fmt: skip
    columns = (
        "bed", "collective", "nodes", "bytes", "technique", "segment_bytes", "printed_s", "corrected_s",
        "simulated_s", "measured_s", "chosen",
    )  # fmt: skip
    return Sheet("samples", "Every technique", columns, rows, is_shown=False)
