"""All-gathers, paper 5's global data exchange: Broadleaf beside each MPI's own.

`bytes` is what each rank contributes. The limit is the time in which the others' contributions come in.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from broadleaf import smpi
from broadleaf._core import Platform, plan
from broadleaf.benchmarks import OURS, BenchError, Row, need_checkout
from broadleaf.benchmarks.namespaces import namespaces_output
from broadleaf.benchmarks.smpi import LEFT_OUT
from broadleaf.checkout import CHECKOUT, TESTBEDS
from broadleaf.formats.simgrid import write_simgrid
from broadleaf.mpi import Mpi, Start, find_mpi, launch_command
from broadleaf.mpi.find import Flavour

SOURCE = TESTBEDS / "allgather.c"
HEADERS = CHECKOUT / "crates" / "broadleaf-mpi" / "include"
PLANNERS = ("round-robin", "ring", "recursive-doubling")
# Open MPI's numbers for coll_tuned_allgather_algorithm, and MPICH's names.
OPENMPI_ALGORITHMS = {"bruck": 2, "recursive_doubling": 3, "ring": 4}
MPICH_ALGORITHMS = ("brucks", "recursive_doubling", "ring")
TIMEOUT_S = 120.0
# Between namespaces, beside the first.
REPETITIONS = 3
# The first of a program's all-gathers makes the plan, and is left out.
FIRST = 1


@dataclass(frozen=True)
class Way:
    """One algorithm, and the variables that ask for it."""

    name: str
    is_ours: bool
    variables: dict[str, str]


def ways(flavour: Flavour, ranks: int, algorithms: Sequence[str]) -> list[Way]:
    """Broadleaf, the MPI's default, and its other algorithms. Raises BenchError for an unknown name."""
    found = [Way(f"{OURS} {name}", True, {"BROADLEAF_PLANNER": name}) for name in planners(ranks)]
    found.append(Way("default", False, {}))
    if flavour == "openmpi":
        for name, number in OPENMPI_ALGORITHMS.items():
            rules = {"use_dynamic_rules": "1", "allgather_algorithm": str(number)}
            tuned = {f"OMPI_MCA_coll_tuned_{key}": value for key, value in rules.items()}
            found.append(Way(name, False, tuned))
    else:
        for name in MPICH_ALGORITHMS:
            found.append(Way(name, False, {"MPIR_CVAR_ALLGATHER_INTRA_ALGORITHM": name}))
    return chosen(found, algorithms, flavour)


def planners(ranks: int) -> list[str]:
    """Recursive doubling is for powers of two."""
    return [name for name in PLANNERS if name != "recursive-doubling" or ranks & (ranks - 1) == 0]


def chosen(found: list[Way], algorithms: Sequence[str], whose: str) -> list[Way]:
    known = [way.name for way in found if not way.is_ours]
    unknown = [name for name in algorithms if name not in known]
    if unknown:
        raise BenchError(f"{whose} has no all-gather {unknown[0]!r}; there are {', '.join(known)}")
    return [way for way in found if way.is_ours or not algorithms or way.name in algorithms]


def limit_s(platform: Platform, contribution_bytes: int) -> float:
    """What no all-gather can beat on a platform, seconds."""
    bound_s = plan(platform, platform.hosts[0], contribution_bytes, "ring", "allgather").bound_s
    if bound_s is None:
        raise BenchError(f"{platform.name}: nothing bounds an all-gather there; give its links a rate")
    return float(bound_s)


def local_allgathers(
    starts: Sequence[Start],
    ranks: int,
    sizes: Sequence[int],
    repetitions: int,
    rounds: int,
    algorithms: Sequence[str] = (),
) -> list[Row]:
    """Under each MPI; there is no limit but the memory's, which no platform holds."""
    need_checkout()
    rows: dict[tuple[str, int], Row] = {}
    with tempfile.TemporaryDirectory(prefix="broadleaf-bench-") as scratch:
        for start in starts:
            flavour = start.mpi.flavour
            programs = built(start.mpi, start.runtime, Path(scratch))
            for _ in range(rounds):
                for size in sizes:
                    for way in ways(flavour, ranks, algorithms):
                        name = f"{way.name} on {flavour}"
                        row = rows.setdefault((name, size), Row(name, ranks, size, None))
                        argv, environment = launch_command(
                            start.mpi,
                            ranks,
                            [str(programs[way.is_ours]), str(size), str(repetitions + FIRST)],
                            launcher=start.launcher,
                            variables=way.variables,
                        )
                        row.samples_s += timed(output_of(argv, environment), way)
    return sorted(rows.values(), key=lambda row: row.bytes)


def smpi_allgathers(
    platform: Path,
    sizes: Sequence[int],
    algorithms: Sequence[str],
    timeout_s: float,
    told: Callable[[str], None],
) -> list[Row]:
    """The second all-gather's simulated time."""
    need_checkout()
    network = Platform.load(platform)
    ranks = len(network.hosts)
    with tempfile.TemporaryDirectory(prefix="broadleaf-bench-") as name:
        scratch = Path(name)
        try:
            where = write_simgrid(network, scratch)
            programs = {
                False: smpi.plain_program(SOURCE, scratch / "plain", ("-DPLAIN",)),
                True: smpi.planned_program(SOURCE, scratch / "planned"),
            }
            known = smpi.algorithms("allgather", *where, [str(programs[False]), "1"])
        except smpi.SmpiError as error:
            raise BenchError(str(error)) from None
        found = [Way(f"{OURS} {name}", True, {"BROADLEAF_PLANNER": name}) for name in planners(ranks)]
        found += [Way(name, False, {}) for name in known if name not in LEFT_OUT]
        rows = []
        for size in sizes:
            for way in chosen(found, algorithms, "SMPI"):
                told(f"{size} bytes: {way.name}")
                row = Row(way.name, ranks, size, limit_s(network, size))
                variables = {"BROADLEAF_PLATFORM": str(platform.resolve()), **way.variables}
                try:
                    printed = smpi.simulate(
                        *(*where, [str(programs[way.is_ours]), str(size), "2"]),
                        settings={} if way.is_ours else {"smpi/allgather": way.name},
                        variables=variables if way.is_ours else {},
                        timeout_s=timeout_s,
                    )
                    row.samples_s = timed(printed, way)
                except smpi.SmpiError as failed:
                    if way.is_ours:
                        raise BenchError(str(failed)) from None
                rows.append(row)
        return rows


def namespaces_allgathers(
    platform: Path,
    flavour: Flavour,
    sizes: Sequence[int],
    algorithms: Sequence[str],
    timeout_s: float,
    told: Callable[[str], None],
) -> list[Row]:
    """Real TCP; the network is set up and taken down each time."""
    need_checkout()
    network = Platform.load(platform)
    ranks = len(network.hosts)
    mpi = find_mpi(flavour, compiling=True)
    if os.geteuid() != 0:
        raise BenchError("network namespaces need root; run as root, or use bench local or bench smpi")
    prefix = mpi.mpiexec.parent.parent
    rows = []
    with tempfile.TemporaryDirectory(prefix="broadleaf-bench-") as scratch:
        programs = built(mpi, mpi.runtime, Path(scratch))
        for size in sizes:
            for way in ways(flavour, ranks, algorithms):
                told(f"{size} bytes: {way.name}")
                row = Row(way.name, ranks, size, limit_s(network, size))
                ours = {"BROADLEAF_PLATFORM": str(platform.resolve())} if way.is_ours else {}
                variables = {**ours, **way.variables}
                # Open MPI hands on its own parameters only.
                names = variables if flavour == "openmpi" else ()
                options = [word for name in names for word in ("-x", name)]
                program = [str(programs[way.is_ours]), str(size), str(REPETITIONS + FIRST)]
                printed = namespaces_output(platform, prefix, program, options, variables, timeout_s)
                row.samples_s = timed(printed, way)
                rows.append(row)
    return rows


def built(mpi: Mpi, runtime: Path, folder: Path) -> dict[bool, Path]:
    """The program with the MPI's own all-gather, and with Broadleaf's."""
    found = {}
    ours = [f"-I{HEADERS}", str(runtime), f"-Wl,-rpath,{runtime.parent.resolve()}"]
    for is_ours, options in ((False, ["-DPLAIN"]), (True, ours)):
        found[is_ours] = folder / f"allgather-{mpi.flavour}-{is_ours}"
        command = [str(mpi.compiler), "-O2", str(SOURCE), "-o", str(found[is_ours]), *options]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise BenchError(f"{mpi.compiler} cannot build {SOURCE.name}; is it whole?")
    return found


def output_of(argv: list[str], environment: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise BenchError(f"a run took over {TIMEOUT_S:g} s; take fewer sizes or ranks") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip(" -\0")] or ["no message"]
        raise BenchError(f"the benchmark failed under {argv[0]}: {lines[0].strip()}")
    return done.stdout


def timed(printed: str, way: Way) -> list[float]:
    """The seconds of all but the first; none of an algorithm of others that delivers wrong bytes."""
    found = re.findall(r"repetition=(\d+) seconds=([0-9.]+) wrong_bytes=(-?\d+)", printed)
    if any(wrong != "0" for _, _, wrong in found):
        if way.is_ours:
            raise BenchError(f"{way.name}: wrong bytes in an all-gather; please report it")
        return []
    return [float(seconds) for repetition, seconds, _ in found if int(repetition) >= FIRST]
