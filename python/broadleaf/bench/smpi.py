"""Simulated time: our broadcast under SimGrid's SMPI beside every algorithm that SMPI has."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import broadleaf as bl
from broadleaf.bench import CHECKOUT, OURS, TESTBEDS, BenchError, Row, need_checkout
from broadleaf.bench.limit import limit_s
from broadleaf.simgrid import load_simgrid

RUN = TESTBEDS / "smpi" / "run.py"
# Buffers from here on are shared by all ranks, or 88 of them would not fit in memory.
SHARED_BYTES = 64 << 20
# The root may plan for so long before its first broadcast, which is not timed.
PLANNING_MS = "5000"
# It deadlocks.
LEFT_OUT = {"automatic"}


def bench_smpi(
    platform: Path,
    hosts: Path | None,
    sizes: Sequence[int],
    algorithms: Sequence[str],
    timeout_s: float,
    told: Callable[[str], None],
) -> list[Row]:
    """The second broadcast's simulated time.

    An algorithm that is not done within `timeout_s` has no time, nor has one that delivers wrong bytes.
    """
    need_checkout()
    with tempfile.TemporaryDirectory(prefix="broadleaf-bench-") as name:
        scratch = Path(name)
        described = platform
        if platform.suffix == ".xml":
            if hosts is None:
                raise BenchError(f"{platform} needs --hosts FILE with one of its hosts a line")
            described = scratch / "platform.json"
            load_simgrid(platform, hosts, "multi-port").save(described)
        network = bl.Platform.load(described)
        programs = build(scratch)
        place = [str(platform), *(["--hosts", str(hosts)] if hosts else []), "--timeout", f"{timeout_s:g}"]
        known = known_algorithms(place, programs["own"])
        unknown = [name for name in algorithms if name not in known]
        if unknown:
            raise BenchError(f"SMPI has no algorithm {unknown[0]!r}; there are {', '.join(known)}")
        names = list(algorithms) or known
        rows = []
        for size in sizes:
            limit = limit_s(network, network.hosts[0], size)
            for algorithm in [OURS, *names]:
                told(f"{size} bytes: {algorithm}")
                row = Row(algorithm, len(network.hosts), size, limit)
                row.samples_s = simulated(place, programs, algorithm, size, described)
                rows.append(row)
        return rows


def build(scratch: Path) -> dict[str, Path]:
    """The timing program alone, and with our runtime linked in."""
    builder = CHECKOUT / "crates" / "broadleaf-mpi" / "build_runtimes.py"
    outcome([sys.executable, str(builder), "--mpicc", "smpicc", "--out", str(scratch)])
    source, system = str(TESTBEDS / "bcast.c"), ["-lpthread", "-ldl", "-lm", "-lgcc_s"]
    own, ours = scratch / "bcast", scratch / "bcast-broadleaf"
    outcome(["smpicc", "-O2", source, "-o", str(own)])
    outcome(["smpicc", "-O2", source, str(scratch / "broadleaf_mpi_smpi.o"), *system, "-o", str(ours)])
    return {"own": own, OURS: ours}


def outcome(command: list[str], environment: dict[str, str] | None = None) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
    except FileNotFoundError:
        raise BenchError(
            f"{command[0]} is missing; install SimGrid (Debian: apt-get install libsimgrid-dev)"
        ) from None
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()] or ["no message"]
        raise BenchError(lines[-1])
    return done.stdout


def known_algorithms(place: list[str], program: Path) -> list[str]:
    try:
        outcome([sys.executable, str(RUN), *place, "--bcast", "?", "--", str(program), "1"])
    except BenchError as refusal:
        found = re.search(r"Valid algorithms: ([^.]*)\.", str(refusal))
        if found:
            return [name for name in found[1].split(", ") if name not in LEFT_OUT]
    raise BenchError("this SMPI does not list its broadcast algorithms; name some with --algorithms")


def simulated(
    place: list[str], programs: dict[str, Path], algorithm: str, size: int, described: Path
) -> list[float]:
    shared = ["0", "shared"] if size >= SHARED_BYTES else []
    is_ours = algorithm == OURS
    choice = [] if is_ours else ["--bcast", algorithm]
    program = programs[OURS if is_ours else "own"]
    environment = dict(os.environ)
    if is_ours:
        environment |= {
            "BROADLEAF_PLATFORM": str(described.resolve()),
            "BROADLEAF_FIRST_PLAN_MS": PLANNING_MS,
            # SMPI's own are compared at every size, so ours is planned at every size.
            "BROADLEAF_MIN_BYTES": "1",
        }
    command = [sys.executable, str(RUN), *place, *choice, "--", str(program), str(size), "2", *shared]
    try:
        text = outcome(command, environment)
    except BenchError as failure:
        if "still runs after" in str(failure) or not is_ours:
            return []
        raise
    return second_seconds(text, algorithm)


def second_seconds(text: str, algorithm: str) -> list[float]:
    """The second broadcast's seconds. Some of SMPI's algorithms deliver wrong bytes: they have no time."""
    found = re.findall(r"repetition=1 seconds=([0-9.]+) wrong_bytes=(-?\d+)", text)
    if all(wrong in ("0", "-1") for _, wrong in found):
        return [float(seconds) for seconds, _ in found]
    if algorithm == OURS:
        raise BenchError(f"our broadcast delivered wrong bytes: {json.dumps(text[:200])}; please report it")
    return []
