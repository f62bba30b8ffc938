"""Ranks on this machine: Broadleaf and each MPI in turn, and the copies that every broadcast must make."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from broadleaf.benchmarks import OURS, BenchError, Row, listed, need_checkout
from broadleaf.checkout import CHECKOUT
from broadleaf.mpi import (
    Mpi,
    MpiNotFoundError,
    Start,
    crowding,
    launch_command,
    required_mpis,
    start_of,
    start_with,
)
from broadleaf.mpi.dialects import MANAGERS
from broadleaf.mpi.find import INSTALL, Flavour

TIMEOUT_S = 300.0


def bench_local(
    ranks: int,
    sizes: Sequence[int],
    repetitions: int,
    rounds: int,
    variables: Mapping[str, str] | None = None,
    *,
    starts: Sequence[Start] | None = None,
) -> list[Row]:
    """Every MPI, or `starts`: Broadleaf's and its own broadcast in turn in one run, `rounds` runs of each.

    `variables` are added to the environment for the runtime.

    The limit is the median time of all ranks but one copying the message out of shared memory, in runs of
    the MPI whose barriers disturb it least."""
    need_checkout()
    starts = starts_of() if starts is None else starts
    flavours = [start.mpi.flavour for start in starts]
    for start in starts:
        if (line := crowding(start.mpi, start.launcher, ranks).line) is not None:
            print(f"broadleaf: {start.mpi.flavour}: {line}", file=sys.stderr)
    samples: dict[tuple[str, int], list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="broadleaf-bench-") as scratch:
        programs = [build(start.mpi, Path(scratch)) for start in starts]
        for _ in range(rounds):
            for flavour, start, built in zip(flavours, starts, programs, strict=True):
                argv, environment = launch_command(
                    start.mpi,
                    ranks,
                    [str(built), listed(sizes), str(repetitions)],
                    launcher=start.launcher,
                    variables=variables,
                    preload=start.runtime,
                )
                names = {"bcast": f"{OURS} on {flavour}", "native": flavour, "copy": f"copy {flavour}"}
                for kind, size, seconds in run(argv, environment):
                    samples[(names[kind], size)].append(seconds)
    limits = {
        size: min(statistics.median(samples[(f"copy {flavour}", size)]) for flavour in flavours)
        for size in sizes
    }
    shown = sorted({name for name, _ in samples if not name.startswith("copy ")})
    return [Row(name, ranks, size, limits[size], samples[(name, size)]) for size in sizes for name in shown]


def starts_of(
    flavour: Flavour | None = None, launcher: str | None = None, arguments: str | None = None
) -> list[Start]:
    """Each MPI that builds programs, under its own mpiexec or the launcher that was named."""
    need_checkout()
    if launcher not in (None, "mpiexec", *MANAGERS):
        start = start_of(flavour=flavour, launcher=launcher, arguments=arguments)
        start.mpi.compiler  # noqa: B018
        return [start]
    wanted = [mpi for mpi in required_mpis().values() if flavour in (None, mpi.flavour)]
    if not wanted:
        raise MpiNotFoundError(f"no {flavour} with an mpicc that builds found; {INSTALL}")
    return [start_with(mpi, launcher, arguments) for mpi in wanted]


def build(mpi: Mpi, folder: Path) -> Path:
    program = folder / f"local_bcast_{mpi.flavour}"
    command = [str(mpi.compiler), "-O2", str(CHECKOUT / "benches" / "local_bcast.c"), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise BenchError(f"{mpi.compiler} cannot build local_bcast.c; is it whole?")
    return program


def output_of(argv: list[str], environment: Mapping[str, str], timeout_s: float) -> str:
    """What a timing program prints; raises BenchError where it fails or takes longer."""
    try:
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise BenchError(f"a run took over {timeout_s:g} s; take fewer sizes or ranks") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip(" -\0")] or ["no message"]
        raise BenchError(f"the benchmark failed under {argv[0]}: {lines[0].strip()}")
    return done.stdout


def run(argv: list[str], environment: dict[str, str]) -> list[tuple[str, int, float]]:
    parts = [line.split() for line in output_of(argv, environment, TIMEOUT_S).splitlines()]
    return [(kind, int(size), float(seconds)) for kind, size, seconds in parts]
