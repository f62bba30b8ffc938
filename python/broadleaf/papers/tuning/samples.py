"""A technique measured on a bed beside its prediction, and the cost of a choice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby


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
    # The least of the repetitions, since a machine's other load only adds to a time; their median; the most.
    measured_s: float
    median_s: float
    most_s: float
    is_chosen: bool
    is_chosen_as_printed: bool
    # A scatter's corrected model without the bulk effect.
    without_bulk_s: float | None

    @property
    def error(self) -> float:
        """The error of the prediction, relative to the measured time."""
        return abs(self.corrected_s - self.measured_s) / self.measured_s

    @property
    def printed_error(self) -> float:
        return abs(self.printed_s - self.measured_s) / self.measured_s


@dataclass(frozen=True)
class Outcome:
    """The cost of the choice in one case, against the measured best."""

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
