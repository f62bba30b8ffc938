"""A bed's pLogP parameters, measured between two ranks; everything else is predicted from them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import broadleaf as bl
from broadleaf.papers.journal import Journal
from broadleaf.papers.results import Cell
from broadleaf.papers.tuning.beds import Bed, Timed

# Messages sent back to back to measure a gap; a bed limits their bytes in all.
TRAIN = 33
# Everything is predicted from the parameters, so they are measured with more care than the rest.
CARE = 5
# The least time in which an end system handles a message, s. Where noise hides the gap of a short message,
# this keeps plans from having millions of segments.
LEAST_GAP_S = 1e-6
# Sizes at which gaps are measured: half powers of four and their neighbours would add nothing to a line.
SIZES = [1, *(1 << power for power in range(4, 25, 2))]
COLUMNS = ("bed", "bytes", "g_s behind another", "g_s alone", "L_s", "start_s", "hop_s in a row")
# One-byte round trips in a row that time a hop, in threes, and those of them that warm up.
ROW, WARM_UP = 640, 64


@dataclass(frozen=True)
class Parameters:
    """The parameters of a bed's predictions."""

    # The network that predicts each collective. A broadcast's g(m) is by saturation, as the paper's benchmark
    # has it; a scatter's is that of a message alone, and the bulk gap is the one by saturation.
    networks: dict[str, bl.Platform]
    # The scatter's without the bulk effect.
    without_bulk: bl.Platform
    rows: list[tuple[Cell, ...]]


def measured_parameters(bed: Bed, journal: Journal) -> Parameters:
    """L, g(m) of a message alone, and of one behind another.

    A request, its answer and a message take 3 L and 3 g(1), a message alone L and g(1). Both contain the
    cost of the common start, so half of the difference is L + g(1). A gap that falls with
    the size, from noise on local ranks, is lowered to the next one.

    This is L of a message after a pause, with which all measurements begin. `hop_s in a row` is L + g(1) of
    round trips without a pause, as `broadleaf measure` takes them: half of an empty round trip."""
    sizes = [bytes_ for bytes_ in SIZES if 2 * bytes_ <= bed.train_bytes]
    trains = [max(2, min(TRAIN, bed.train_bytes // bytes_)) for bytes_ in sizes]
    single = [Timed("bcast", "eager", bytes_, bytes_, "0>1") for bytes_ in sizes]
    several = [
        Timed("bcast", "eager", bytes_ * count, bytes_, "0>1")
        for bytes_, count in zip(sizes, trains, strict=True)
    ]
    asked = Timed("bcast", "rendezvous", 1, 1, "0>1")
    rows_of = [Timed("bcast", "rendezvous", count, 1, "0>1") for count in (WARM_UP, ROW)]
    repeated = bed.times_by(journal, 2, [*single, *several, *rows_of, asked], CARE)
    # A machine's other load only adds to a time.
    times = [min(times) for times in repeated]
    whole, trained = lowered(times[: len(sizes)]), times[len(sizes) : -3]
    in_row_s = (times[-2] - times[-3]) / (3 * (ROW - WARM_UP))
    in_train = [(trained[at] - whole[at]) / (count - 1) for at, count in enumerate(trains)]
    hop_s = (times[-1] - whole[0]) / 2
    behind = rising(in_train)
    latency_s = max(hop_s - behind[0], 0.0)
    alone = rising([max(whole[at] - whole[0] + behind[0], behind[at]) for at in range(len(sizes))])
    rows: list[tuple[Cell, ...]] = [
        (bed.name, bytes_, behind[at], alone[at], latency_s, max(whole[0] - hop_s, 0.0), in_row_s)
        for at, bytes_ in enumerate(sizes)
    ]
    tables = {name: list(zip(sizes, gaps, strict=True)) for name, gaps in (("b", behind), ("g", alone))}
    return Parameters(
        networks={
            "bcast": cluster(bed, latency_s, gap=tables["b"]),
            "scatter": cluster(bed, latency_s, gap=tables["g"], bulk=tables["b"]),
        },
        without_bulk=cluster(bed, latency_s, gap=tables["g"]),
        rows=rows,
    )


def lowered(times: list[float]) -> list[float]:
    """Lowers times so that no message takes longer than a longer one; removes noise of short messages."""
    return list(accumulate(reversed(times), min))[::-1]


def rising(gaps: list[float]) -> list[float]:
    return [max(LEAST_GAP_S, gap_s) for gap_s in lowered(gaps)]


def cluster(bed: Bed, latency_s: float, **tables: Any) -> bl.Platform:
    nodes = [f"n{at}" for at in range(bed.most_nodes)]
    return bl.Platform.from_dict(
        {
            "format": "broadleaf-platform/1",
            "name": bed.name,
            "port_model": "one-port",
            "nodes": [{"id": node} for node in nodes],
            "meshes": [{"nodes": nodes, "link": {"latency_s": latency_s, **tables}}],
        }
    )
