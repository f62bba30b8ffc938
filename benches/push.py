#!/usr/bin/env python3
"""`broadleaf push` over real TCP between two shaped clusters of hosts, beside the limit; and inside one host.

    benches/push.py [--mpi openmpi|mpich] [--quick]

A file goes to the seven other hosts of testbeds/namespaces/two-clusters.json: 64 MiB and 1 GiB (--quick: only
64 MiB). The time is the push program's own, with reading and writing and without the start of MPI: mpiexec
takes longer to start than `cp` to copy, once for any size. Then one host is compared with `cp`, and 10,000
files of 4 KiB with `tar`. Raw samples go to .bench/push.json; the exit code is 1 if a push over the network
is not within 1.25 of the limit. Needs root.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from refusals import exit_with

import broadleaf as bl
from broadleaf.benchmarks import BenchError
from broadleaf.benchmarks.limit import limit_s
from broadleaf.benchmarks.namespaces import DEFAULT_PLATFORM, LUMP, PAYLOAD
from broadleaf.mpi import Mpi, find_mpi
from broadleaf.mpi.find import Flavour

ROOT = Path(__file__).resolve().parents[1]
BED = ROOT / "testbeds/namespaces"
sys.path.insert(0, str(BED))
from launch import command_of, write_agent  # noqa: E402
from network import Network, rates_of  # noqa: E402

OUT = ROOT / ".bench/push.json"
SIZES = (64 << 20, 1 << 30)
WITHIN = 1.25
REPEATS = 3
TIMEOUT_S = 300.0
# Memory, so that no disk is measured.
MEMORY = Path("/dev/shm")


def over_the_network(mpi: Mpi, size: int, folder: Path) -> dict[str, Any]:
    """The seconds of each push, and the limit."""
    platform = bl.Platform.load(str(DEFAULT_PLATFORM))
    (folder / "source").write_bytes(os.urandom(size))
    variables = {"LD_PRELOAD": str(mpi.runtime), "BROADLEAF_PLATFORM": str(DEFAULT_PLATFORM)}
    settings = {
        "sources": [str(folder / "source")],
        "to": f"{folder}/{{host}}",
        "verify": False,
        "keep_set_id": False,
    }
    line = ["env", *(f"{name}={value}" for name, value in variables.items())]
    line += [str(mpi.program("push")), json.dumps(settings)]
    took = []
    with (
        tempfile.TemporaryDirectory(prefix="broadleaf-bench-", ignore_cleanup_errors=True) as made,
        Network(f"blpush{os.getpid()}", rates_of(platform), LUMP) as bed,
    ):
        agent = write_agent(bed, Path(made))
        command, environment = command_of(
            mpi.mpiexec.parent.parent, bed, agent, len(platform.hosts), [], line
        )
        for _ in range(REPEATS):
            for host in platform.hosts:
                (folder / host).unlink(missing_ok=True)
            done = subprocess.run(
                command,
                env={**environment, "TMPDIR": made},
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
            )
            events = [json.loads(text) for text in done.stdout.splitlines() if text.startswith('{"')]
            hosts = events[-1]["hosts"] if events and events[-1]["event"] == "hosts" else []
            if len(hosts) != len(platform.hosts) or any(host["fault"] for host in hosts):
                raise BenchError(f"the push failed: {done.stdout[-300:]} {done.stderr[-300:]}")
            took.append(hosts[0]["seconds"])
    limit = limit_s(platform, platform.hosts[0], size) / PAYLOAD
    return {"what": f"{size >> 20} MiB to 7 hosts", "seconds": took, "limit_s": limit, "limit": "the bound"}


def inside(mpi: Mpi, source: Path, other: list[str], what: str, limit: str) -> dict[str, Any]:
    """The push program's time to this host alone, and that of another program for the same task."""
    push: list[float] = []
    others: list[float] = []
    target = f"{source}.copy"
    for _ in range(REPEATS):
        subprocess.run(["rm", "-rf", target], check=True)
        done = bl.push(source, target, 1, mpi=mpi.flavour)
        push.append(done.hosts[0]["seconds"])
        subprocess.run(["rm", "-rf", target], check=True)
        started = time.perf_counter()
        subprocess.run(other, check=True, capture_output=True, timeout=TIMEOUT_S)
        others.append(time.perf_counter() - started)
    return {"what": what, "seconds": push, "limit_s": statistics.median(others), "limit": limit}


def small_files(folder: Path) -> Path:
    """10,000 files of 4 KiB."""
    source = folder / "small"
    for part in range(100):
        (source / f"{part}").mkdir(parents=True)
        for number in range(100):
            (source / f"{part}" / f"{number}").write_bytes(os.urandom(4096))
    return source


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mpi", choices=["openmpi", "mpich"], default="openmpi")
    parser.add_argument("--quick", action="store_true", help="64 MiB over the network alone")
    options = parser.parse_args()
    flavour: Flavour = options.mpi
    mpi = find_mpi(flavour)
    rows = []
    with tempfile.TemporaryDirectory(prefix="broadleaf-push-", dir=MEMORY) as made:
        folder = Path(made)
        for size in SIZES[:1] if options.quick else SIZES:
            rows.append(over_the_network(mpi, size, folder))
        if not options.quick:
            for path in folder.iterdir():
                path.unlink()
            large = folder / "large"
            large.write_bytes(os.urandom(1 << 30))
            rows.append(inside(mpi, large, ["cp", str(large), f"{large}.copy"], "1 GiB on one host", "cp"))
            small = small_files(folder)
            packed = ["sh", "-c", f"mkdir {small}.copy && tar -C {small} -c . | tar -C {small}.copy -x"]
            rows.append(inside(mpi, small, packed, "10,000 files of 4 KiB on one host", "tar | tar"))
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps({"mpi": f"{mpi.flavour} {mpi.version}", "rows": rows}, indent=1))
    far = 0
    for row in rows:
        ratio = statistics.median(row["seconds"]) / row["limit_s"]
        far += row["limit"] == "the bound" and ratio > WITHIN
        times = ", ".join(f"{seconds:.3f}" for seconds in row["seconds"])
        print(f"{row['what']}: {times} s; {row['limit']} {row['limit_s']:.3f} s; ratio {ratio:.2f}")
    return int(far > 0)


if __name__ == "__main__":
    exit_with(main)
