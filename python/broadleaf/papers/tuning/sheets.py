"""The tables of paper 4: choices and predictions against what was measured, on each bed."""

from __future__ import annotations

from statistics import median

from broadleaf.papers.results import Cell, Sheet
from broadleaf.papers.tuning.beds import DefaultModelBed, SimulatedBed
from broadleaf.papers.tuning.samples import Outcome, Sample

# The beds without real ranks.
SIMULATED = (SimulatedBed.name, DefaultModelBed.name)
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


def summary(samples: list[Sample], outcomes: list[Outcome]) -> Sheet:
    """The requirements, a row for each bed and collective."""
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
    """Errors of choices and predictions on real ranks, by their number; none without real ranks."""
    rows: list[tuple[Cell, ...]] = []
    kinds = ((s.bed, s.collective, s.nodes) for s in samples if s.bed not in SIMULATED)
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


def bulk_effect(samples: list[Sample]) -> Sheet:
    """Whether the bulk gap improves the scatters' models: both predictions beside the measured times."""
    rows: list[tuple[Cell, ...]] = []
    for kind in dict.fromkeys((s.bed, s.nodes, s.algorithm) for s in samples if s.without_bulk_s is not None):
        own = [s for s in samples if s.collective == "scatter" and (s.bed, s.nodes, s.algorithm) == kind]
        if kind[1] < 3:
            continue  # nothing is sent behind another message
        alone = [(s.without_bulk_s or 0.0) / s.measured_s for s in own]
        behind = [s.corrected_s / s.measured_s for s in own]
        rows.append(
            (
                *kind,
                len(own),
                *(round(median(ratios), 3) for ratios in (alone, behind)),
                *(round(100 * median(abs(ratio - 1) for ratio in ratios), 1) for ratios in (alone, behind)),
            )
        )
    columns = (
        "bed", "ranks", "technique", "cases", "predicted / measured by g(m) alone", "with the bulk gap",
        "error %, median, by g(m) alone", "error % with the bulk gap",
    )  # fmt: skip
    return Sheet(
        "bulk", "Scatters: g(m) alone, and what is sent behind another by the bulk gap", columns, rows
    )


def bulk_by_size(samples: list[Sample]) -> Sheet:
    """The flat scatter, in which all but the first message go behind another, where the bulk effect is exact:
    by SMPI's default model it depends on the size."""
    rows: list[tuple[Cell, ...]] = []
    flat = [
        s
        for s in samples
        if (s.bed, s.collective, s.algorithm) == (DefaultModelBed.name, "scatter", "flat") and s.nodes >= 3
    ]
    for bytes_ in sorted({s.message_bytes for s in flat}):
        own = [s for s in flat if s.message_bytes == bytes_]
        alone = [100 * ((s.without_bulk_s or 0.0) / s.measured_s - 1) for s in own]
        behind = [100 * (s.corrected_s / s.measured_s - 1) for s in own]
        rows.append(
            (
                bytes_,
                len(own),
                *(round(edge(errors), 2) for errors in (alone, behind) for edge in (min, max)),
            )
        )
    columns = (
        "bytes", "cases", "error % by g(m) alone, least", "most", "with the bulk gap, least", "most ",
    )  # fmt: skip
    return Sheet("bulk-flat", f"The flat scatter by size ({DefaultModelBed.name})", columns, rows)


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
    """Printed and corrected models on three nodes and the longest message, where most of them differ."""
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
         s.corrected_s, s.simulated_s, s.measured_s, s.median_s, s.most_s, int(s.is_chosen))
        for s in samples
    ]  # fmt: skip
    columns = (
        "bed", "collective", "nodes", "bytes", "technique", "segment_bytes", "printed_s", "corrected_s",
        "simulated_s", "measured_s", "median_s", "most_s", "chosen",
    )  # fmt: skip
    return Sheet("samples", "Every technique", columns, rows, is_shown=False)
