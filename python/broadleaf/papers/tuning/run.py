"""Paper 4: the models' predictions for ten broadcasts and three scatters, beside measured times.

The network's parameters L and g(m) are measured first, between two ranks; from them alone everything else
is predicted and chosen. Then each technique runs, along the tree of Broadleaf's planner, in a separate
program (`testbeds/plans.c`).

Barchet-Steffenel and Mounié, *Fast tuning of intra-cluster collective communications*, tables 1 and 2,
figures 1 to 4.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import broadleaf as bl
from broadleaf.papers.journal import Journal
from broadleaf.papers.results import Cell, Results, Sheet, Start
from broadleaf.papers.tuning.beds import (
    Bed,
    BedError,
    DefaultModelBed,
    LocalBed,
    NamespacesBed,
    SimulatedBed,
    Timed,
)
from broadleaf.papers.tuning.figures import figures
from broadleaf.papers.tuning.parameters import COLUMNS, Parameters, measured_parameters
from broadleaf.papers.tuning.samples import Sample, outcomes_of
from broadleaf.papers.tuning.sheets import (
    bulk_by_size,
    bulk_effect,
    by_ranks,
    choices,
    differences,
    raw,
    summary,
    worst_cases,
)

# Prefixes of the figures' names, by the beginning of a bed's name; longer ones first.
PREFIXES = {DefaultModelBed.name: "smpi-default-", SimulatedBed.name: "", NamespacesBed.name: "namespaces-"}
PLANNERS = {"bcast": ("flat", "chain", "binary", "binomial"), "scatter": ("flat", "chain", "binomial")}

# Why predictions and times differ, bed by bed.
REASONS = [
    "On SMPI a host sends one message at a time and receives one at a time, in order (cluster-50). That is "
    "the model that predicts: its errors show only what the formulas leave out.",
    "SMPI's default model stretches latencies by 2 to 11.6, and rates by the message's size: that is in g(m) "
    "of two ranks. A host's messages in flight share its card there, which is no one-port, and is in no "
    "prediction. With one transfer at a time (maxmin/concurrency-limit 1) the binomial scatter's median "
    "error on 32 nodes falls from 43 to 1 %. Segmented chains have 64 segments in flight: with 16 and 4 the "
    "error of 1 MiB on 8 nodes falls from 75 to 44 and 17 %.",
    "Between namespaces real TCP goes through shapers of 200 Mb/s: short messages pass on a shaper's credit, "
    "and all hosts share this machine's cores.",
    "Local ranks share cores and memory: g(m) between two of them says little of many at once. start_s is "
    "what the first message after the common start takes more; it is in all that is measured.",
    "How much each of these takes between namespaces and on local ranks was not tried apart: the size of "
    "their errors is not explained.",
]


@dataclass(frozen=True)
class Effort:
    """The measurements on a bed."""

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
    return Effort((2, 3, 4, 5, 6, 7, 8), tuple(1 << power for power in range(0, 23, 2)))


def default_model_effort(quick: bool) -> Effort:
    if quick:
        return Effort((2, 8), (256, 64 << 10))
    return Effort((2, 3, 4, 8, 16, 32, 50), tuple(1 << power for power in range(0, 23, 2)))


def namespaces_effort(quick: bool) -> Effort:
    if quick:
        return Effort((2, 4), (64, 256 << 10))
    return Effort((2, 3, 4, 5, 6, 7, 8), (1, 64, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20))


def every_bed(quick: bool, folder: Path) -> list[tuple[Callable[[], Bed], Effort]]:
    """The predicting model in an independent implementation; then SMPI's own model, real TCP, and memory,
    where it may fail."""
    found: list[tuple[Callable[[], Bed], Effort]] = [
        (lambda: SimulatedBed(folder), smpi_effort(quick)),
        (lambda: DefaultModelBed(folder), default_model_effort(quick)),
        (lambda: LocalBed(folder, 3 if quick else 15), local_effort(quick)),
    ]
    if not quick:
        found.append((lambda: NamespacesBed(folder, 3), namespaces_effort(quick)))
    return found


def run(quick: bool, start: Start, keep: Path | None = None) -> Results:
    """Measures the parameters, predicts, chooses, runs everything, and compares.

    `keep` is a file for the measurements, line by line; an interrupted run resumes from it. It is removed
    at the end."""
    samples: list[Sample] = []
    parameters: list[tuple[Cell, ...]] = []
    remarks: list[str] = []
    journal = Journal(keep)
    if journal.found:
        remarks.append(f"{journal.found} times are from {keep}, which an earlier run left.")
    with tempfile.TemporaryDirectory(prefix="broadleaf-tuning-") as folder:
        beds: list[tuple[Bed, Effort]] = []
        for make, effort in every_bed(quick, Path(folder)):
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
                # Earlier measurements stay.
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
    parameters = measured_parameters(bed, journal)
    yield parameters.rows, []
    with ThreadPoolExecutor(bed.at_once) as pool:
        waiting = [
            pool.submit(samples_of, bed, parameters, nodes, effort.sizes, journal) for nodes in effort.nodes
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
            bulk_effect(samples),
            bulk_by_size(samples),
            differences(samples),
            Sheet("parameters", "What was measured between two ranks", COLUMNS, parameters),
            choices(outcomes),
            raw(samples),
        ],
        figures={name: figure for bed in beds for name, figure in figures_of(bed, samples).items()},
        remarks=[
            *remarks,
            "Chosen by the event simulation of the plan; the printed models are shown beside.",
            *REASONS,
        ],
    )


def figures_of(bed: str, samples: list[Sample]) -> dict[str, Any]:
    """The paper's four figures on one bed."""
    prefix = next((prefix for name, prefix in PREFIXES.items() if bed.startswith(name)), "local-")
    drawn = figures(bed, [sample for sample in samples if sample.bed == bed])
    return {f"{prefix}{name}": figure for name, figure in drawn.items()}


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
    bed: Bed, parameters: Parameters, nodes: int, sizes: Sequence[int], journal: Journal
) -> list[Sample]:
    """All techniques on that many nodes."""
    edges = edges_of(nodes)
    tuned = [
        choice
        for name, network in parameters.networks.items()
        for choice in bl.tune(network, [nodes], sizes, collective=name)
    ]
    without_bulk = {
        (choice.message_bytes, forecast.algorithm): forecast.corrected_s
        for choice in bl.tune(parameters.without_bulk, [nodes], sizes, collective="scatter")
        for forecast in choice.forecasts
    }
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
    times = bed.times_by(journal, nodes, plans)
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
            measured_s=max(repeated_s[0], 1e-9),
            median_s=median(repeated_s),
            most_s=repeated_s[-1],
            is_chosen=forecast.algorithm == choice.chosen.algorithm,
            is_chosen_as_printed=forecast.algorithm == choice.chosen_as_printed.algorithm,
            without_bulk_s=without_bulk.get((choice.message_bytes, forecast.algorithm))
            if choice.collective == "scatter"
            else None,
        )
        for (choice, forecast), repeated_s in zip(cases, times, strict=True)
    ]
