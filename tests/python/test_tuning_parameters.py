"""Paper 4's parameters from times whose truth is known, and what noise may not do to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from broadleaf.papers.journal import Journal
from broadleaf.papers.tuning.beds import Bed, Timed
from broadleaf.papers.tuning.parameters import LEAST_GAP_S, measured_parameters, rising

LATENCY_S, START_S = 5e-5, 2e-5


def alone_s(bytes_: int) -> float:
    return 1e-5 + bytes_ * 1e-8


def behind_s(bytes_: int) -> float:
    return 0.8 * alone_s(bytes_)


class KnownBed(Bed):
    """Two ranks: a message behind another takes 0.8 of one alone, and the common start costs 20 us."""

    name = "known"
    most_nodes = 4
    spoilt_bytes = 0

    def output(self, nodes: int, plans: Path, care: int) -> str:
        raise NotImplementedError

    def times(self, nodes: int, plans: object, care: int = 1) -> list[list[float]]:
        assert isinstance(plans, list)
        return [[self.taken(plan)] for plan in plans]

    def taken(self, plan: Timed) -> float:
        count = plan.message_bytes // plan.segment_bytes
        taken_s = START_S + LATENCY_S + alone_s(plan.segment_bytes)
        if plan.protocol == "rendezvous":
            taken_s += (3 * count - 1) * (LATENCY_S + behind_s(1))
        else:
            taken_s += (count - 1) * behind_s(plan.segment_bytes)
        return taken_s + (3e-3 if count == 1 and plan.message_bytes == self.spoilt_bytes else 0.0)


def test_latency_gap_bulk_gap_and_start_are_told_apart(tmp_path: Path) -> None:
    found = measured_parameters(KnownBed(tmp_path), Journal())
    link = found.networks["scatter"].link("n0", "n1")
    assert link is not None
    assert link["latency_s"] == pytest.approx(LATENCY_S)
    for bytes_, gap_s in link["bulk"]:
        assert gap_s == pytest.approx(behind_s(bytes_))
    for bytes_, gap_s in link["gap"]:
        # RTT-like: from the first size's own g by saturation on.
        assert gap_s == pytest.approx(alone_s(bytes_) - alone_s(1) + behind_s(1), abs=1e-12)
    start_s, in_row_s = found.rows[0][-2:]
    assert start_s == pytest.approx(START_S + alone_s(1) - behind_s(1))
    assert in_row_s == pytest.approx(LATENCY_S + behind_s(1))
    assert "bulk" not in (found.without_bulk.link("n0", "n1") or {})


def test_a_busy_moment_of_one_size_does_not_reach_the_longer_ones(tmp_path: Path) -> None:
    bed = KnownBed(tmp_path)
    bed.spoilt_bytes = 4096
    spoilt = measured_parameters(bed, Journal()).networks["scatter"]
    clean = measured_parameters(KnownBed(tmp_path), Journal()).networks["scatter"]
    for bytes_ in (1, 1024, 16384, 1 << 20):
        assert spoilt.transfer_s("n0", "n1", bytes_) == clean.transfer_s("n0", "n1", bytes_)
    assert spoilt.transfer_s("n0", "n1", 4096) <= clean.transfer_s("n0", "n1", 16384)


def test_gaps_rise_and_are_no_shorter_than_a_host_takes() -> None:
    assert rising([5e-6, 2e-3, 7e-6, 9e-6]) == [5e-6, 7e-6, 7e-6, 9e-6]
    assert rising([1e-9, -1.0, 3e-6]) == [LEAST_GAP_S, LEAST_GAP_S, 3e-6]
