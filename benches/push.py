#!/usr/bin/env python3
"""`broadleaf push` over real TCP between two shaped clusters of hosts, beside the limit; and inside one host.

    benches/push.py [--mpi openmpi|mpich] [--quick]

A file goes to the seven other hosts of testbeds/namespaces/two-clusters.json: 64 MiB and 1 GiB (--quick: only
64 MiB). The time is the push program's own, with reading and writing and without the start of MPI: mpiexec
takes longer to start than `cp` to copy, once for any size. Of 1 GiB one host's rank is killed at half: the
time of both jobs' ranks beside that of the undisturbed push, and the restart beside the start. Without a
platform the push measures on the way. With one host's disk slower than the network, no rank may use more
than 128 MiB. Then one host is compared with `cp`, and 10,000 files of 4 KiB with `tar`, both by the fastest
of several runs: a hypervisor that takes back freed memory delays some runs of each. Raw samples go to
.bench/push.json; the exit code is 1 if a row misses its target. Needs root.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from push_bed import ROOT, Push, push_bed
from refusals import exit_with

import broadleaf as bl
from broadleaf.benchmarks.limit import limit_s
from broadleaf.benchmarks.namespaces import DEFAULT_PLATFORM, PAYLOAD
from broadleaf.mpi import Mpi, find_mpi
from broadleaf.mpi.find import Flavour

OUT = ROOT / ".bench/push.json"
SLOW_DISK = ROOT / "testbeds/slow_disk.c"
SIZES = (64 << 20, 1 << 30)
# Targets: of the limit; of the undisturbed push, without the restart; of that with a platform; of cp; of
# tar; bytes of a rank.
WITHIN, WITHIN_LOST, WITHIN_UNKNOWN = 1.25, 1.1, 2.5
WITHIN_CP, WITHIN_TAR, MOST_BYTES = 1.3, 1.5, 128 << 20
REPEATS = 3
REPEATS_INSIDE = 7
# Without flow control, ranks would use some 170 MiB.
SLOW_BYTES, SLOW_BYTES_PER_S = 512 << 20, 8e6
TIMEOUT_S = 300.0
# Memory, so that no disk is measured.
MEMORY = Path("/dev/shm")


def made(folder: Path, size: int) -> Path:
    source = folder / "source"
    source.write_bytes(os.urandom(size))
    return source


def over_the_network(mpi: Mpi, size: int, folder: Path) -> dict[str, Any]:
    """The seconds of each push, of its ranks and of the whole call, and the limit."""
    platform = bl.Platform.load(str(DEFAULT_PLATFORM))
    source = made(folder, size)
    with push_bed(mpi, folder) as bed:
        pushes = [bed.push(source) for _ in range(REPEATS)]
    return {
        "what": f"{size >> 20} MiB to 7 hosts",
        "seconds": [push.ranks_s for push in pushes],
        "call_s": [push.call_s for push in pushes],
        "limit_s": limit_s(platform, platform.hosts[0], size) / PAYLOAD,
        "limit": "the bound",
        "within": WITHIN,
    }


def over_unknown_links(mpi: Mpi, size: int, folder: Path) -> dict[str, Any]:
    """The whole call without a platform, with the measurement on the way, beside that with one."""
    source = made(folder, size)
    with push_bed(mpi, folder) as bed:
        unknown, known = bed.push(source, platform=None), bed.push(source)
    return {
        "what": f"{size >> 20} MiB to 7 hosts, no platform",
        "seconds": [unknown.call_s],
        "began_s": unknown.began_s,
        "limit_s": known.call_s,
        "limit": "the call with a platform",
        "within": WITHIN_UNKNOWN,
        "note": f"resumed with a plan after {unknown.began_s[-1]:.1f} s",
    }


def with_a_lost_host(mpi: Mpi, size: int, folder: Path, undisturbed: list[float]) -> dict[str, Any]:
    """The time of both jobs' ranks beside that of a push of all, and the restart beside the first start."""
    source = made(folder, size)
    with push_bed(mpi, folder) as bed:
        push: Push = bed.push(source, lost=bed.network.rates.hosts[-1])
    assert push.killed_s is not None
    first, second = push.began_s
    return {
        "what": f"{size >> 20} MiB, one of 7 hosts lost at half",
        "seconds": [push.killed_s - first + push.ranks_s],
        "limit_s": statistics.median(undisturbed),
        "limit": "the undisturbed push",
        "within": WITHIN_LOST,
        "note": f"the restart takes {second - push.killed_s:.2f} s, the first start {first:.2f} s",
    }


def with_a_slow_disk(mpi: Mpi, folder: Path) -> dict[str, Any]:
    """The most memory of a rank while the last host writes more slowly than the network brings data."""
    source = made(folder, SLOW_BYTES)
    library = folder / "slow_disk.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", str(SLOW_DISK), "-o", str(library), "-ldl"], check=True)
    with push_bed(mpi, folder) as bed:
        host = bed.network.rates.hosts[-1]
        slow = {"SLOW_DISK_HOST": host, "SLOW_DISK_BYTES_PER_S": str(SLOW_BYTES_PER_S)}
        push = bed.push(source, variables={**slow, "LD_PRELOAD": str(library)})
    name, most = max(push.peak_bytes.items(), key=lambda each: each[1])
    return {
        "what": f"{SLOW_BYTES >> 20} MiB, one disk of {SLOW_BYTES_PER_S / 1e6:g} MB/s",
        "seconds": [push.ranks_s],
        "limit_s": SLOW_BYTES / SLOW_BYTES_PER_S,
        "limit": "the disk",
        "within": WITHIN,
        "peak_bytes": push.peak_bytes,
        "is_bounded": most <= MOST_BYTES,
        "note": f"{name}'s rank uses the most memory, {most >> 20} MiB",
    }


def inside(mpi: Mpi, source: Path, other: list[str], what: str, limit: str, within: float) -> dict[str, Any]:
    """The push program's time to this host alone, and that of another program for the same task."""
    push: list[float] = []
    others: list[float] = []
    target = f"{source}.copy"
    for _ in range(REPEATS_INSIDE):
        subprocess.run(["rm", "-rf", target], check=True)
        done = bl.push(source, target, 1, mpi=mpi.flavour)
        push.append(done.hosts[0]["seconds"])
        subprocess.run(["rm", "-rf", target], check=True)
        started = time.perf_counter()
        subprocess.run(other, check=True, capture_output=True, timeout=TIMEOUT_S)
        others.append(time.perf_counter() - started)
    return {
        "what": what,
        "seconds": push,
        "other_s": others,
        "limit_s": min(others),
        "limit": limit,
        "within": within,
        "of": "the fastest",
    }


def small_files(folder: Path) -> Path:
    """10,000 files of 4 KiB."""
    source = folder / "small"
    for part in range(100):
        (source / f"{part}").mkdir(parents=True)
        for number in range(100):
            (source / f"{part}" / f"{number}").write_bytes(os.urandom(4096))
    return source


def line_of(row: dict[str, Any]) -> tuple[bool, str]:
    """Whether the row meets its target, and the row as a line."""
    ratio = (min if row.get("of") else statistics.median)(row["seconds"]) / row["limit_s"]
    is_met = ratio <= row["within"] and row.get("is_bounded", True)
    times = ", ".join(f"{seconds:.3f}" for seconds in row["seconds"])
    more = f"; {row['note']}" if "note" in row else ""
    call = f" ({statistics.median(row['call_s']):.3f} s with the start of MPI)" if "call_s" in row else ""
    words = f"{row['what']}: {times} s{call}; {row['limit']} {row['limit_s']:.3f} s; ratio {ratio:.2f}{more}"
    return is_met, words if is_met else f"{words}; missed, wanted {row['within']:g}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mpi", choices=["openmpi", "mpich"], default="openmpi")
    parser.add_argument("--quick", action="store_true", help="64 MiB over the network alone")
    options = parser.parse_args()
    flavour: Flavour = options.mpi
    mpi = find_mpi(flavour)
    rows: list[dict[str, Any]] = []
    all_met = True

    def add(row: dict[str, Any]) -> None:
        nonlocal all_met
        rows.append(row)
        is_met, line = line_of(row)
        all_met = all_met and is_met
        print(line, flush=True)

    with tempfile.TemporaryDirectory(prefix="broadleaf-push-", dir=MEMORY) as scratch:
        folder = Path(scratch)
        for size in SIZES[:1] if options.quick else SIZES:
            add(over_the_network(mpi, size, folder))
        if not options.quick:
            add(with_a_lost_host(mpi, SIZES[-1], folder, rows[-1]["seconds"]))
            add(over_unknown_links(mpi, SIZES[-1], folder))
            add(with_a_slow_disk(mpi, folder))
            for path in folder.iterdir():
                path.unlink()
            large = folder / "large"
            large.write_bytes(os.urandom(1 << 30))
            copy = ["cp", str(large), f"{large}.copy"]
            add(inside(mpi, large, copy, "1 GiB on one host", "cp", WITHIN_CP))
            small = small_files(folder)
            packed = ["sh", "-c", f"mkdir {small}.copy && tar -C {small} -c . | tar -C {small}.copy -x"]
            add(inside(mpi, small, packed, "10,000 files of 4 KiB on one host", "tar | tar", WITHIN_TAR))
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps({"mpi": f"{mpi.flavour} {mpi.version}", "rows": rows}, indent=1))
    return int(not all_met)


if __name__ == "__main__":
    exit_with(main)
