"""Paper 5's global data exchange: every node gets all nodes' data, by round-robin, ring and recursive
doubling.

Round-robin is an all-gather first (sections 3 and 5): the broadcast is a scatter followed by it. Beside
each MPI's own, in simulated time, over TCP between namespaces, and on local ranks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import broadleaf as bl
from broadleaf.papers.results import Cell, Sheet
from broadleaf.papers.round_robin.ranks import Advance, Kept, load_now, load_remark

# SMPI's algorithms that the paper describes or MPIs choose by default.
SMPI_ALGORITHMS = ("ring", "rdb", "bruck", "ompi", "mpich")
BANDWIDTH_BYTES_PER_S, LATENCY_S = 125e6, 50e-6
# Between namespaces, whose rates the machine can carry.
SLOW_BYTES_PER_S = 2.5e7
# The beds as the table has them.
NAMES = {"smpi": "SMPI", "local": "local ranks", "namespaces": "namespaces"}
COLUMNS = ("bed", "ranks", "bytes of each", "algorithm", "seconds", "x limit")

# The paper's own, by name: the runtime's default may take another planner.
NAMED = "round-robin"
# The bench's row of the runtime.
OURS = "broadleaf"

REMARKS = [
    "All-gather: on full-duplex nodes, odd or even in number, round-robin meets the limit but for a latency. "
    "A ring pays a latency for each of its n - 1 steps, recursive doubling one for each of log2 n.",
    "The row broadleaf is what the runtime takes by itself. Plans that combine blocks, such as circulant's, "
    "take a latency more in each round from 8 KiB on: a frame announces the data. On three nodes circulant "
    "takes 1.00 times the limit at 8 KiB and 1.26 times at 9 KiB (BROADLEAF_PLANNER=circulant broadleaf "
    "bench smpi --collective allgather), so the runtime takes round-robin there.",
]


def case(bed: str, sizes: Sequence[int], **asked: Any) -> Callable[[], list[tuple[Cell, ...]]]:
    """The rows of one bench."""
    # Local ranks run every MPI at once, and name it themselves.
    on = f" on {asked['mpi']}" if "mpi" in asked else ""

    def rows() -> list[tuple[Cell, ...]]:
        found: list[tuple[Cell, ...]] = []
        for row in bl.bench(bed, sizes, collective="allgather", **asked):  # type: ignore[arg-type]
            taken = None if row.seconds is None else round(row.seconds, 6)
            ratio = None if row.seconds is None or not row.limit_s else round(row.seconds / row.limit_s, 4)
            found.append((NAMES[bed], row.ranks, row.bytes, f"{row.algorithm}{on}", taken, ratio))
        return found

    return rows


def named(sizes: Sequence[int], platform: Path) -> Callable[[], list[tuple[Cell, ...]]]:
    """The rows of NAMED under SMPI."""
    ask = case("smpi", sizes, platform=platform, algorithms=SMPI_ALGORITHMS[:1])

    def rows() -> list[tuple[Cell, ...]]:
        before = os.environ.get("BROADLEAF_PLANNER")
        os.environ["BROADLEAF_PLANNER"] = NAMED
        try:
            found = ask()
        finally:
            os.environ.pop("BROADLEAF_PLANNER")
            if before is not None:
                os.environ["BROADLEAF_PLANNER"] = before
        return [(*row[:3], f"{OURS}, {NAMED}", *row[4:]) for row in found if row[3] == OURS]

    return rows


def cluster(folder: Path, nodes: int, bytes_per_s: float) -> Path:
    """A full-duplex cluster of `nodes` nodes, like the paper's."""
    names = [f"c0-{at}" for at in range(nodes)]
    link = {"latency_s": LATENCY_S, "bandwidth_bytes_per_s": bytes_per_s}
    path = folder / f"cluster-{nodes}-{bytes_per_s:g}.json"
    bl.Platform.from_dict(
        {
            "format": "broadleaf-platform/1",
            "name": f"cluster-{nodes}",
            "port_model": "one-port",
            "nodes": [{"id": name} for name in names],
            "meshes": [{"nodes": names, "link": link}],
        }
    ).save(path)
    return path


def cases_in(folder: Path, quick: bool) -> list[Callable[[], list[tuple[Cell, ...]]]]:
    counts, sizes = ((5,), [64 << 10]) if quick else ((4, 5, 7, 8, 16), [1 << 10, 64 << 10, 1 << 20])
    found = []
    for nodes in counts:
        platform = cluster(folder, nodes, BANDWIDTH_BYTES_PER_S)
        found.append(case("smpi", sizes, platform=platform, algorithms=SMPI_ALGORITHMS))
        found.append(named(sizes, platform))
    if quick:
        return found
    for nodes in (4, 5, 8):
        for mpi in ("openmpi", "mpich"):
            slow = cluster(folder, nodes, SLOW_BYTES_PER_S)
            found.append(case("namespaces", [16 << 10, 256 << 10], platform=slow, mpi=mpi))
    found += [case("local", [16 << 10, 256 << 10], n=ranks, repetitions=10) for ranks in (2, 3, 4, 8)]
    return found


def gathering_sheets(quick: bool) -> tuple[int, Callable[[Advance, Kept], tuple[list[Sheet], list[str]]]]:
    """The number of steps, and the function that runs them."""
    with tempfile.TemporaryDirectory() as folder:
        steps = len(cases_in(Path(folder), quick))

    def run(advance: Advance, kept: Kept) -> tuple[list[Sheet], list[str]]:
        rows: list[tuple[Cell, ...]] = []
        loads: list[float] = []
        left_out: dict[str, None] = {}
        with tempfile.TemporaryDirectory(prefix="broadleaf-paper-") as folder:
            for at, each in enumerate(cases_in(Path(folder), quick)):
                try:
                    load, found = kept(lambda each=each: (load_now(), each()), "allgather", at)
                    rows += map(tuple, found)
                    if found and found[0][0] != NAMES["smpi"]:
                        loads.append(load)
                except (ValueError, OSError) as error:
                    left_out[f"All-gather, not all: {error}."] = None
                advance()
        remarks = [*REMARKS, *left_out]
        if loads:
            remarks.append(load_remark("All-gathers on local ranks and between namespaces", loads))
        title = "Global data exchange (all-gather) beside each MPI's own"
        return ([Sheet("allgather", title, COLUMNS, rows)] if rows else []), remarks

    return steps, run
