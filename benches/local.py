"""Ranks of one machine: Broadleaf's broadcast beside Open MPI's and MPICH's own, and the unavoidable copies.

    local.py [--quick] [--table FILE] | --methods

For 2, 4 and 8 ranks and messages from 64 KiB to 64 MiB, the table has the medians, and ratios of consecutive
calls in the same run, so that the machine is in the same state for both. Raw samples go to .bench/local.json.
The exit code is 1 if, under either MPI, Broadleaf is not ahead of the MPI's own broadcast from 1 MiB on, or
is more than 10 % and 5 us behind it below. It is also 1 if, under Open MPI, which shares cores best,
Broadleaf at 16 MiB is less than 1.3 times faster with 8 ranks, or takes over 1.25 times the copies with 4
ranks. --table writes the table as a page of the documentation. --methods prints the ratios of every copy
method, also of short messages, which determine the lengths in crates/broadleaf-mpi (BL_INTRANODE_FROM,
STREAMED_FROM).
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path

from refusals import exit_with

from broadleaf.benchmarks import OURS, Row
from broadleaf.benchmarks.local import bench_local

RAW = Path(__file__).resolve().parents[1] / ".bench" / "local.json"
RANKS = (2, 4, 8)
SIZES = [64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20]
QUICK_SIZES = [64 << 10, 1 << 20, 16 << 20]
AHEAD_FROM = 1 << 20
ALLOWED_BELOW = 1.10
ALLOWED_BELOW_S = 5e-6
METHODS = ("ring", "ring-streamed", "direct")
METHOD_SIZES = [16 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 4 << 20, 16 << 20]
AT_16_MIB = 16 << 20


PAGE = """# Ranks of one machine

Barrier-to-barrier broadcast times in milliseconds, medians of 120 on a quiet machine of
two cores; ratio: the median of Broadleaf / MPI of calls made in turn in the same run. Copy: every rank
but the root copies the message out of memory that all share; where the root copies too, Broadleaf
can be faster. By

    python benches/local.py --table docs/local.md

which fails where Broadleaf is not ahead of the MPI's own from 1 MiB on or, below, is over 10 % and 5 us
behind, and keeps every sample in `.bench/local.json`. Under 512 KiB with Open MPI the MPI's own broadcast
is used: from there on the copy methods are ahead, and under MPICH from 64 KiB, by
`python benches/local.py --methods`. Where ranks outnumber cores, the shortest times differ most from run
to run; the ratios, whose calls alternate in one run, differ less.

"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three sizes, one run of each")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write the page")
    parser.add_argument("--methods", action="store_true", help="each copy method beside the MPI's own")
    options = parser.parse_args()
    if options.methods:
        return methods()
    sizes, rounds = (QUICK_SIZES, 1) if options.quick else (SIZES, 3)
    everything: list[Row] = []
    failures: list[str] = []
    head = ["ranks", "bytes", "copy, ms"]
    for mpi in ("Open MPI", "MPICH"):
        head += ["Broadleaf, ms", f"{mpi}, ms", "ratio"]
    lines = [f"| {' | '.join(head)} |"]
    lines += ["|---|---|---|---|---|---|---|---|---|"]
    print(*lines, sep="\n")
    for ranks in RANKS:
        rows = bench_local(ranks, sizes, 40, rounds)
        everything += rows
        found = {(row.algorithm, row.bytes): row for row in rows}
        for size in sizes:
            cells, limit_s = [], 0.0
            for mpi in ("openmpi", "mpich"):
                ours, own = found[f"{OURS} on {mpi}", size], found[mpi, size]
                limit_s = ours.limit_s
                ratio = paired(ours, own)
                cells += [median_ms(ours), median_ms(own), f"{ratio:.2f}"]
                failures += faults(mpi, ours, own, ratio)
            lines.append(f"| {ranks} | {size} | {1e3 * limit_s:.3f} | " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    RAW.parent.mkdir(exist_ok=True)
    RAW.write_text(json.dumps([row.to_dict() for row in everything], indent=1) + "\n")
    if options.table:
        options.table.write_text(PAGE + "\n".join(lines) + "\n")
    print(f"raw samples: {RAW.relative_to(RAW.parents[1])}")
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


def paired(ours: Row, own: Row) -> float:
    return statistics.median(a / b for a, b in zip(ours.samples_s, own.samples_s, strict=True))


def median_ms(row: Row) -> str:
    return f"{1e3 * statistics.median(row.samples_s):.3f}"


def methods() -> int:
    """A table for each number of ranks."""
    for ranks in RANKS:
        print(f"\n{ranks} ranks: bytes, and by MPI and method ours / the MPI's own")
        found: dict[int, list[str]] = {size: [] for size in METHOD_SIZES}
        names = []
        for method in METHODS:
            # From one byte on: the methods also apply to short messages.
            variables = {"BROADLEAF_SHARED_MEMORY": method, "BROADLEAF_MIN_BYTES": "1"}
            rows = {
                (row.algorithm, row.bytes): row for row in bench_local(ranks, METHOD_SIZES, 40, 1, variables)
            }
            for mpi in ("openmpi", "mpich"):
                names.append(f"{mpi} {method}")
                for size in METHOD_SIZES:
                    ratio = paired(rows[f"{OURS} on {mpi}", size], rows[mpi, size])
                    found[size].append(f"{ratio:.2f}")
        print("| bytes | " + " | ".join(names) + " |")
        for size in METHOD_SIZES:
            print(f"| {size} | " + " | ".join(found[size]) + " |", flush=True)
    return 0


def faults(mpi: str, ours: Row, own: Row, ratio: float) -> list[str]:
    where = f"{ours.ranks} ranks, {ours.bytes} bytes, {mpi}"
    found = []
    behind_s = statistics.median(ours.samples_s) - statistics.median(own.samples_s)
    if ours.bytes >= AHEAD_FROM:
        is_behind = ratio >= 1
    else:
        is_behind = ratio > ALLOWED_BELOW and behind_s > ALLOWED_BELOW_S
    if is_behind:
        found.append(f"{where}: {ratio:.2f} times the MPI's own")
    if ours.bytes == AT_16_MIB and ours.ranks == 8 and ratio > 1 / 1.3:
        found.append(f"{where}: only {1 / ratio:.2f} times faster than the MPI's own")
    above = statistics.median(ours.samples_s) / ours.limit_s
    if ours.bytes == AT_16_MIB and ours.ranks == 4 and mpi == "openmpi" and above > 1.25:
        found.append(f"{where}: {above:.2f} times the copies")
    return found


if __name__ == "__main__":
    exit_with(main)
