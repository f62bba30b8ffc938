"""The runtime's cost to broadcasts below its threshold: at most 3 % or 50 ns, whichever is more.

For every MPI that is found and some sizes and numbers of ranks, blocks of caught and of uncaught calls
alternate in one run: without a tool, and with one behind, to which the runtime passes every call and from
which the call returns. The table has medians over the blocks; the raw samples go to .bench/mpi_overhead.json.
The exit code is 1 if three of four pairs of neighbouring blocks differ by more than is allowed.
"""

from __future__ import annotations

import json
import platform
import statistics
import subprocess
import tempfile
from pathlib import Path

from refusals import exit_with

from broadleaf.mpi import Mpi, launch_command, required_mpis

HERE = Path(__file__).resolve().parent
RAW = HERE.parent / ".bench" / "mpi_overhead.json"
ALLOWED_PART = 0.03
ALLOWED_NS = 50.0
# One rank has only the cost of the interception; two is the smallest number that communicates.
RANKS = (1, 2)
BYTES = (8, 1024, 32768)
CALLS = 2000
BLOCKS = 200


def main() -> int:
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for mpi in required_mpis().values():
            program = Path(scratch) / f"overhead_{mpi.flavour}"
            subprocess.run([str(mpi.compiler), "-O2", HERE / "mpi_overhead.c", "-o", program], check=True)
            tool = Path(scratch) / f"libtool_{mpi.flavour}.so"
            source = HERE / "mpi_overhead_tool.c"
            subprocess.run([str(mpi.compiler), "-O2", "-shared", "-fPIC", source, "-o", tool], check=True)
            for behind in (None, tool):
                for ranks in RANKS:
                    rows += [measure(mpi, program, ranks, size, behind) for size in BYTES]
    RAW.parent.mkdir(exist_ok=True)
    document = {"machine": platform.platform(), "calls_a_block": CALLS, "rows": rows}
    RAW.write_text(json.dumps(document, indent=1) + "\n")
    print(f"{'mpi':8} tool ranks  bytes    own ns caught ns  more ns  allowed")
    worst = 0
    for row in rows:
        own, caught = row["own_ns"], row["caught_ns"]
        # Neighbouring blocks run under the same load, so their differences spread less than the blocks do.
        quarter, more, _ = statistics.quantiles((b - a for a, b in zip(own, caught, strict=True)), n=4)
        base = statistics.median(own)
        allowed = max(ALLOWED_NS, ALLOWED_PART * base)
        worst += quarter > allowed
        print(
            f"{row['mpi']:8} {row['tool']:4} {row['ranks']:5} {row['bytes']:6} {base:9.1f} "
            f"{statistics.median(caught):9.1f} {more:8.1f} {allowed:8.1f}"
        )
    print(f"raw samples: {RAW.relative_to(HERE.parent)}")
    return 1 if worst else 0


def measure(mpi: Mpi, program: Path, ranks: int, size: int, tool: Path | None) -> dict[str, object]:
    preload = mpi.runtime if tool is None else Path(f"{mpi.runtime}:{tool}")
    argv, environment = launch_command(
        mpi, ranks, [str(program), str(size), str(CALLS), str(BLOCKS)], preload=preload
    )
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True, timeout=300)
    pairs = [[float(word) for word in line.split()] for line in done.stdout.splitlines()]
    return {
        "mpi": mpi.flavour,
        "version": mpi.version,
        "tool": "no" if tool is None else "yes",
        "ranks": ranks,
        "bytes": size,
        "own_ns": [own for own, _ in pairs],
        "caught_ns": [caught for _, caught in pairs],
    }


if __name__ == "__main__":
    exit_with(main)
