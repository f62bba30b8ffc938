"""Ranks of one machine: our broadcast beside Open MPI's and MPICH's own, and the copies that none can avoid.

    local.py [--quick]

For 2, 4 and 8 ranks and messages from 64 KiB to 64 MiB, the table has the medians, and ratios of calls that
were made one after the other in the same run, so that both met the machine in the same state. Raw samples go
to .bench/local.json. The exit code is 1 if ours is over 3 % slower than an MPI's own under that MPI, less
than 1.3 times faster with 8 ranks at 16 MiB, or with 4 ranks over 1.25 times the limit there, under Open MPI,
which shares cores best.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

from broadleaf.bench import OURS, Row
from broadleaf.bench.local import bench_local

RAW = Path(__file__).resolve().parents[1] / ".bench" / "local.json"
RANKS = (2, 4, 8)
SIZES = [64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20]
QUICK_SIZES = [64 << 10, 1 << 20, 16 << 20]
ALLOWED = 1.03
AT_16_MIB = 16 << 20


def main() -> int:
    quick = sys.argv[1:] == ["--quick"]
    sizes, rounds = (QUICK_SIZES, 1) if quick else (SIZES, 3)
    everything: list[Row] = []
    failures: list[str] = []
    print("| ranks | bytes | limit, ms | ours, ms | Open MPI, ms | ratio | ours, ms | MPICH, ms | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
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
                failures += faults(mpi, ours, ratio)
            print(f"| {ranks} | {size} | {1e3 * limit_s:.3f} | " + " | ".join(cells) + " |", flush=True)
    RAW.parent.mkdir(exist_ok=True)
    RAW.write_text(json.dumps([row.to_dict() for row in everything], indent=1) + "\n")
    print(f"raw samples: {RAW.relative_to(RAW.parents[1])}")
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


def paired(ours: Row, own: Row) -> float:
    return statistics.median(a / b for a, b in zip(ours.samples_s, own.samples_s, strict=True))


def median_ms(row: Row) -> str:
    return f"{1e3 * statistics.median(row.samples_s):.3f}"


def faults(mpi: str, ours: Row, ratio: float) -> list[str]:
    where = f"{ours.ranks} ranks, {ours.bytes} bytes, {mpi}"
    found = []
    if ratio > ALLOWED:
        found.append(f"{where}: {ratio:.2f} times the MPI's own")
    if ours.bytes == AT_16_MIB and ours.ranks == 8 and ratio > 1 / 1.3:
        found.append(f"{where}: only {1 / ratio:.2f} times faster than the MPI's own")
    above = statistics.median(ours.samples_s) / ours.limit_s
    if ours.bytes == AT_16_MIB and ours.ranks == 4 and mpi == "openmpi" and above > 1.25:
        found.append(f"{where}: {above:.2f} times the copies")
    return found


if __name__ == "__main__":
    sys.exit(main())
