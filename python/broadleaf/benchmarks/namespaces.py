"""Real TCP between shaped network namespaces: Broadleaf beside every algorithm of an MPI."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path

from broadleaf._core import Platform
from broadleaf.benchmarks import OURS, BenchError, Row, need_checkout
from broadleaf.benchmarks.limit import limit_s
from broadleaf.checkout import TESTBEDS
from broadleaf.mpi import Mpi, find_mpi
from broadleaf.mpi.find import Flavour

RUN = TESTBEDS / "namespaces" / "run.py"
DEFAULT_PLATFORM = TESTBEDS / "namespaces" / "two-clusters.json"
# Seconds for a run.
TIMEOUT_S = 120.0
# The share of a wire's rate that is TCP payload.
PAYLOAD = 0.95
# Packets that may pass a shaper as one, for every algorithm: one by one, two processors cannot handle the
# packets of 16 MiB at the limit. Four are less than the shapers' burst.
LUMP = 4
# Open MPI's numbers for coll_tuned_bcast_algorithm.
OPENMPI_ALGORITHMS = [
    "linear",
    "chain",
    "pipeline",
    "split_binary_tree",
    "binary_tree",
    "binomial",
    "knomial",
    "scatter_allgather",
    "scatter_allgather_ring",
]
SEGMENT_BYTES = (0, 65536)
# Open MPI's numbers for coll_adapt_bcast_algorithm.
ADAPT_TREES = ["binomial", "in_order_binomial", "binary", "pipeline", "chain", "linear"]
# By component outside coll/tuned that broadcasts between hosts: its algorithms, and the parameters of each.
# coll/han leaves hosts of one rank each to coll/tuned, coll/xhc and coll/sm take ranks of one host.
OPENMPI_COMPONENTS: dict[str, dict[str, dict[str, str]]] = {
    "adapt": {
        f"adapt {tree}": {"bcast_algorithm": str(number), "bcast_segment_size": str(SEGMENT_BYTES[-1])}
        for number, tree in enumerate(ADAPT_TREES, start=1)
    },
    # By default it leaves communicators of fewer than 16 ranks to others.
    "acoll": {"acoll": {"comm_size_thresh": "2"}},
}
# Above every component's own.
FIRST_PRIORITY = "100"
# During the first few broadcasts the runtime still searches for a better plan; with more of them, the
# median is that of a long program. The others take 7 s and more each, without variation.
OUR_BROADCASTS, THEIR_BROADCASTS = 13, 4
MPICH_ALGORITHMS = [
    "binomial",
    "smp",
    "scatter_recursive_doubling_allgather",
    "scatter_ring_allgather",
    "pipelined_tree",
    "tree",
]


def bench_namespaces(
    platform: Path,
    flavour: Flavour,
    sizes: Sequence[int],
    algorithms: Sequence[str],
    timeout_s: float,
    told: Callable[[str], None],
) -> list[Row]:
    """The broadcasts after a first one; the network is set up and taken down each time."""
    need_checkout()
    network = Platform.load(platform)
    mpi = find_mpi(flavour, compiling=True)
    timed = ways(mpi, platform, algorithms)
    if os.geteuid() != 0:
        raise BenchError("network namespaces need root; run as root, or use bench local or bench smpi")
    prefix = mpi.mpiexec.parent.parent
    rows = []
    for size in sizes:
        limit = limit_s(network, network.hosts[0], size) / PAYLOAD
        for name, options, variables in timed:
            told(f"{size} bytes: {name}")
            row = Row(name, len(network.hosts), size, limit)
            repetitions = OUR_BROADCASTS if name == OURS else THEIR_BROADCASTS
            row.samples_s = measured(platform, prefix, size, repetitions, options, variables, timeout_s)
            if name == OURS and not row.samples_s:
                raise BenchError(f"our broadcast of {size} bytes did not finish within {timeout_s:g} s")
            rows.append(row)
    return rows


Way = tuple[str, list[str], dict[str, str]]


def ways(mpi: Mpi, platform: Path, algorithms: Sequence[str]) -> list[Way]:
    """Name, words for mpiexec, and variables of each algorithm, Broadleaf first."""
    words = ["-genv", "LD_PRELOAD", str(mpi.runtime)]
    if mpi.flavour == "openmpi":
        words = ["-x", f"LD_PRELOAD={mpi.runtime}", "-x", "BROADLEAF_PLATFORM"]
    ours: Way = (OURS, words, {"BROADLEAF_PLATFORM": str(platform.resolve())})
    found = [ours, *ways_by_rules(mpi.flavour)]
    if mpi.flavour == "openmpi":
        found += ways_by_component(components(mpi))
    known = [name for name, _, _ in found]
    unknown = [name for name in algorithms if name not in known]
    if unknown:
        raise BenchError(f"{mpi.flavour} has no algorithm {unknown[0]!r}; there are {', '.join(known[1:])}")
    return [way for way in found if not algorithms or way[0] in algorithms or way[0] == OURS]


def ways_by_rules(flavour: Flavour) -> list[Way]:
    """The MPI's default, and the algorithms that its rules files can name."""
    found: list[Way] = [("default", [], {})]
    if flavour == "mpich":
        return found + [(name, [], {"MPIR_CVAR_BCAST_INTRA_ALGORITHM": name}) for name in MPICH_ALGORITHMS]
    for number, name in enumerate(OPENMPI_ALGORITHMS, start=1):
        for segment in SEGMENT_BYTES:
            parameters = {
                "coll_tuned_use_dynamic_rules": "1",
                "coll_tuned_bcast_algorithm": str(number),
                "coll_tuned_bcast_algorithm_segmentsize": str(segment),
                "coll": "^han",
            }
            found.append((f"{name}/{segment}" if segment else name, mca_words(parameters), {}))
    return found


def ways_by_component(names: Set[str]) -> list[Way]:
    """The broadcasts of Open MPI's other components, of those named."""
    found: list[Way] = []
    for component, algorithms in OPENMPI_COMPONENTS.items():
        for name, parameters in algorithms.items() if component in names else ():
            chosen = {"priority": FIRST_PRIORITY, **parameters}
            words = mca_words({f"coll_{component}_{key}": value for key, value in chosen.items()})
            found.append((name, words, {}))
    return found


def mca_words(parameters: Mapping[str, str]) -> list[str]:
    return [word for name, value in parameters.items() for word in ("--mca", name, value)]


def components(mpi: Mpi) -> set[str]:
    """The collective components that an Open MPI was built with."""
    command = [str(mpi.mpiexec.with_name("ompi_info")), "--parsable"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    except OSError as error:
        raise BenchError(f"{command[0]} does not list its components: {error.strerror}") from None
    return set(re.findall(r"^mca:coll:(\w+):version:", done.stdout, re.MULTILINE))


def measured(
    platform: Path,
    prefix: Path,
    size: int,
    repetitions: int,
    options: list[str],
    variables: dict[str, str],
    timeout_s: float,
) -> list[float]:
    program = [str(TESTBEDS / "bcast.c"), str(size), str(repetitions)]
    return seconds_in(namespaces_output(platform, prefix, program, options, variables, timeout_s))


def seconds_in(printed: str) -> list[float]:
    """The times of all broadcasts but the first, of those that delivered every byte."""
    found = re.findall(r"repetition=[1-9][0-9]* seconds=([0-9.]+) wrong_bytes=0", printed)
    return [float(seconds) for seconds in found]


def namespaces_output(
    platform: Path,
    prefix: Path,
    program: Sequence[str],
    options: Sequence[str],
    variables: Mapping[str, str],
    timeout_s: float,
) -> str:
    """A program's output, with one rank per host; empty after a time-out."""
    command = [sys.executable, str(RUN), "run", str(platform), "--mpi", str(prefix)]
    command += ["--lump", str(LUMP), "--timeout", f"{timeout_s:g}", *(f"--option={word}" for word in options)]
    done = subprocess.run(
        [*command, "--", *program], capture_output=True, text=True, env={**os.environ, **variables}
    )
    if done.returncode:
        if "still runs after" in done.stderr:
            return ""
        lines = [line for line in done.stderr.splitlines() if line.strip(" -\0")] or ["no message"]
        raise BenchError(f"the namespaces bed failed: {lines[-1].strip()}")
    return done.stdout
