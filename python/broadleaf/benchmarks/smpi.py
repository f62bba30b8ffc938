"""Simulated time: Broadleaf's broadcast under SimGrid's SMPI beside every algorithm of SMPI."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from broadleaf import smpi
from broadleaf._core import Platform
from broadleaf.benchmarks import OURS, BenchError, Row, need_checkout
from broadleaf.benchmarks.limit import limit_s
from broadleaf.checkout import TESTBEDS
from broadleaf.formats.simgrid import load_simgrid, write_simgrid

# Buffers from here on are shared by all ranks, or 88 of them would not fit in memory.
SHARED_BYTES = 64 << 20
# Seconds of real time for a run.
TIMEOUT_S = 60.0
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

    An algorithm that exceeds `timeout_s` or delivers wrong bytes has no time."""
    need_checkout()
    with tempfile.TemporaryDirectory(prefix="broadleaf-bench-") as name:
        scratch = Path(name)
        described = platform
        if platform.suffix == ".xml":
            if hosts is None:
                raise BenchError(f"{platform} needs --hosts FILE with one of its hosts a line")
            described = scratch / "platform.json"
            load_simgrid(platform, hosts, "multi-port").save(described)
        network = Platform.load(described)
        told("building the timing program, alone and with Broadleaf linked in")
        bed = made(network, platform, hosts, scratch)
        known = known_algorithms(bed)
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
                row.samples_s = simulated(bed, algorithm, size, described, timeout_s)
                rows.append(row)
        return rows


@dataclass(frozen=True)
class Bed:
    """The timing program with and without Broadleaf's runtime linked in, and the platform for both."""

    own: Path
    ours: Path
    xml: Path
    hosts: Path


def made(network: Platform, platform: Path, hosts: Path | None, scratch: Path) -> Bed:
    """Raises BenchError."""
    source = TESTBEDS / "bcast.c"
    try:
        own = smpi.plain_program(source, scratch / "bcast")
        ours = smpi.planned_program(source, scratch / "bcast-broadleaf")
    except smpi.SmpiError as error:
        raise BenchError(str(error)) from None
    if platform.suffix == ".xml" and hosts is not None:
        return Bed(own, ours, platform, hosts)
    xml, all_hosts = write_simgrid(network, scratch)
    return Bed(own, ours, xml, hosts or all_hosts)


def known_algorithms(bed: Bed) -> list[str]:
    try:
        names = smpi.broadcast_algorithms(bed.xml, bed.hosts, [str(bed.own), "1"])
    except smpi.SmpiError as error:
        raise BenchError(f"{error}; name some with --algorithms") from None
    return [name for name in names if name not in LEFT_OUT]


def simulated(bed: Bed, algorithm: str, size: int, described: Path, timeout_s: float) -> list[float]:
    shared = ["0", "shared"] if size >= SHARED_BYTES else []
    is_ours = algorithm == OURS
    variables = {
        "BROADLEAF_PLATFORM": str(described.resolve()),
        # The first broadcast is not timed.
        "BROADLEAF_PLAN": "before",
        # SMPI's algorithms run at every size, so Broadleaf plans at every size.
        "BROADLEAF_MIN_BYTES": "1",
    }
    program = [str(bed.ours if is_ours else bed.own), str(size), "2", *shared]
    try:
        text = smpi.simulate(
            *(bed.xml, bed.hosts, program),
            settings={} if is_ours else {"smpi/bcast": algorithm},
            variables=variables if is_ours else {},
            timeout_s=timeout_s,
        )
    except smpi.SmpiTimeoutError:
        return []
    except smpi.SmpiError as failure:
        if is_ours:
            raise BenchError(str(failure)) from None
        return []
    return second_seconds(text, algorithm)


def second_seconds(text: str, algorithm: str) -> list[float]:
    """The second broadcast's seconds. Some of SMPI's algorithms deliver wrong bytes: they have no time."""
    found = re.findall(r"repetition=1 seconds=([0-9.]+) wrong_bytes=(-?\d+)", text)
    if all(wrong in ("0", "-1") for _, wrong in found):
        return [float(seconds) for seconds, _ in found]
    if algorithm == OURS:
        raise BenchError(f"our broadcast delivered wrong bytes: {json.dumps(text[:200])}; please report it")
    return []
