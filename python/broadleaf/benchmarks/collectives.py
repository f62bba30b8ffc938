"""The collectives beside the broadcast: Broadleaf's and each MPI's own.

`bytes` is a block, what each rank gives or gets, or the vector of a reduction. Rank 0 is the root.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from broadleaf import smpi
from broadleaf._core import Platform
from broadleaf.benchmarks import OURS, BenchError, Row, need_checkout
from broadleaf.benchmarks.limit import limit_s
from broadleaf.benchmarks.local import output_of
from broadleaf.benchmarks.namespaces import PAYLOAD, namespaces_output
from broadleaf.benchmarks.smpi import LEFT_OUT
from broadleaf.checkout import TESTBEDS
from broadleaf.formats.simgrid import write_simgrid
from broadleaf.mpi import Mpi, Start, find_mpi, launch_command
from broadleaf.mpi.find import Flavour

SOURCE = TESTBEDS / "collective.c"
# Open MPI's numbers for coll_tuned_COLLECTIVE_algorithm.
OPENMPI_ALGORITHMS = {
    "scatter": {"linear": 1, "binomial": 2, "linear_nb": 3},
    "gather": {"linear": 1, "binomial": 2, "linear_sync": 3},
    "allgather": {"linear": 1, "bruck": 2, "recursive_doubling": 3, "ring": 4, "neighbor": 5, "sparbit": 7},
    "reduce": {
        "linear": 1,
        "chain": 2,
        "pipeline": 3,
        "binary": 4,
        "binomial": 5,
        "in-order_binary": 6,
        "rabenseifner": 7,
    },
    "reduce-scatter": {"non-overlapping": 1, "recursive_halving": 2, "ring": 3, "butterfly": 4},
    "allreduce": {
        "linear": 1,
        "nonoverlapping": 2,
        "recursive_doubling": 3,
        "ring": 4,
        "segmented_ring": 5,
        "rabenseifner": 6,
    },
}
# Those of MPIR_CVAR_COLLECTIVE_INTRA_ALGORITHM that need no parameter of their own.
MPICH_ALGORITHMS = {
    "scatter": ("binomial",),
    "gather": ("binomial",),
    "allgather": ("brucks", "recursive_doubling", "ring"),
    "reduce": ("binomial", "reduce_scatter_gather"),
    "reduce-scatter": ("recursive_doubling", "pairwise", "recursive_halving"),
    "allreduce": ("recursive_doubling", "reduce_scatter_allgather", "ring"),
}
COLLECTIVES = tuple(OPENMPI_ALGORITHMS)
TIMEOUT_S = 120.0
# Between namespaces, beside the first.
REPETITIONS = 3
# A program's first call makes the plan, and is left out.
FIRST = 1


@dataclass(frozen=True)
class Way:
    """One algorithm, and the variables that ask for it."""

    name: str
    is_ours: bool
    variables: dict[str, str]


def ours(collective: str) -> Way:
    """Broadleaf, planned at every size, as the MPI's algorithms run at every size."""
    variables = {
        "BROADLEAF_COLLECTIVES": collective,
        # The first call is not timed.
        "BROADLEAF_PLAN": "before",
        "BROADLEAF_MIN_BYTES": "1",
    }
    return Way(OURS, True, variables)


def ways(flavour: Flavour, collective: str, algorithms: Sequence[str]) -> list[Way]:
    """Broadleaf, the MPI's default, and its other algorithms. Raises BenchError for an unknown name."""
    found = [ours(collective), Way("default", False, {})]
    call = collective.replace("-", "_")
    if flavour == "openmpi":
        for name, number in OPENMPI_ALGORITHMS[collective].items():
            rules = {"use_dynamic_rules": "1", f"{call}_algorithm": str(number)}
            tuned = {f"OMPI_MCA_coll_tuned_{key}": value for key, value in rules.items()}
            found.append(Way(name, False, {**tuned, "OMPI_MCA_coll": "^han"}))
    else:
        variable = f"MPIR_CVAR_{call.upper()}_INTRA_ALGORITHM"
        found += [Way(name, False, {variable: name}) for name in MPICH_ALGORITHMS[collective]]
    return chosen(found, algorithms, flavour, collective)


def chosen(found: list[Way], algorithms: Sequence[str], whose: str, collective: str) -> list[Way]:
    known = [way.name for way in found if not way.is_ours]
    unknown = [name for name in algorithms if name not in known]
    if unknown:
        raise BenchError(f"{whose} has no {collective} {unknown[0]!r}; there are {', '.join(known)}")
    return [way for way in found if way.is_ours or not algorithms or way.name in algorithms]


def local_collectives(
    collective: str,
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
            program = built(start.mpi, Path(scratch))
            for _ in range(rounds):
                for size in sizes:
                    for way in ways(flavour, collective, algorithms):
                        name = f"{way.name} on {flavour}"
                        row = rows.setdefault((name, size), Row(name, ranks, size, None))
                        argv, environment = launch_command(
                            start.mpi,
                            ranks,
                            [str(program), collective, str(size), str(repetitions + FIRST)],
                            launcher=start.launcher,
                            variables=way.variables,
                            preload=start.runtime if way.is_ours else None,
                        )
                        row.samples_s += timed(output_of(argv, environment, TIMEOUT_S), way)
    return sorted(rows.values(), key=lambda row: row.bytes)


@dataclass(frozen=True)
class Simulated:
    """A platform under SMPI, the timing program with and without Broadleaf's runtime, and SMPI's
    algorithms."""

    collective: str
    described: Path
    where: tuple[Path, Path]
    programs: dict[bool, Path]
    known: list[str]

    @classmethod
    def on(cls, collective: str, described: Path, where: tuple[Path, Path], scratch: Path) -> Simulated:
        """Raises BenchError."""
        try:
            programs = {
                False: smpi.plain_program(SOURCE, scratch / "plain"),
                True: smpi.planned_program(SOURCE, scratch / "planned"),
            }
            call = collective.replace("-", "_")
            known = smpi.algorithms(call, *where, [str(programs[False]), collective, "4"])
        except smpi.SmpiError as error:
            raise BenchError(str(error)) from None
        return cls(collective, described, where, programs, [name for name in known if name not in LEFT_OUT])

    def ways(self, algorithms: Sequence[str]) -> list[Way]:
        found = [ours(self.collective), *(Way(name, False, {}) for name in self.known)]
        return chosen(found, algorithms, "SMPI", self.collective)

    def samples(self, way: Way, size: int, timeout_s: float) -> list[float]:
        """The second call's simulated time; none where it timed out, failed, or moved wrong bytes."""
        call = self.collective.replace("-", "_")
        variables = {"BROADLEAF_PLATFORM": str(self.described.resolve()), **way.variables}
        try:
            printed = smpi.simulate(
                *(*self.where, [str(self.programs[way.is_ours]), self.collective, str(size), "2"]),
                settings={} if way.is_ours else {f"smpi/{call}": way.name},
                variables=variables if way.is_ours else {},
                timeout_s=timeout_s,
            )
        except smpi.SmpiTimeoutError:
            return []
        except smpi.SmpiError as failed:
            if way.is_ours:
                raise BenchError(str(failed)) from None
            return []
        return timed(printed, way)


def smpi_collectives(
    collective: str,
    platform: Path,
    sizes: Sequence[int],
    algorithms: Sequence[str],
    timeout_s: float,
    told: Callable[[str], None],
) -> list[Row]:
    """The second call's simulated time."""
    need_checkout()
    network = Platform.load(platform)
    rows = []
    with tempfile.TemporaryDirectory(prefix="broadleaf-bench-") as name:
        bed = Simulated.on(collective, platform, write_simgrid(network, Path(name)), Path(name))
        for size in sizes:
            for way in bed.ways(algorithms):
                told(f"{size} bytes: {way.name}")
                row = Row(
                    way.name, len(network.hosts), size, limit_s(network, network.hosts[0], size, collective)
                )
                row.samples_s = bed.samples(way, size, timeout_s)
                rows.append(row)
    return rows


def namespaces_collectives(
    collective: str,
    platform: Path,
    flavour: Flavour,
    sizes: Sequence[int],
    algorithms: Sequence[str],
    timeout_s: float,
    told: Callable[[str], None],
) -> list[Row]:
    """Real TCP; each run sets the network up and removes it."""
    need_checkout()
    network = Platform.load(platform)
    mpi = find_mpi(flavour, compiling=True)
    if os.geteuid() != 0:
        raise BenchError("network namespaces need root; run as root, or use bench local or bench smpi")
    prefix = mpi.mpiexec.parent.parent
    rows = []
    with tempfile.TemporaryDirectory(prefix="broadleaf-bench-") as scratch:
        program = built(mpi, Path(scratch))
        for size in sizes:
            for way in ways(flavour, collective, algorithms):
                told(f"{size} bytes: {way.name}")
                limit = limit_s(network, network.hosts[0], size, collective) / PAYLOAD
                row = Row(way.name, len(network.hosts), size, limit)
                variables, options = dict(way.variables), []
                if way.is_ours:
                    variables["BROADLEAF_PLATFORM"] = str(platform.resolve())
                # Open MPI forwards only its own parameters.
                if flavour == "openmpi":
                    options = [word for name in variables for word in ("-x", name)]
                if way.is_ours and flavour == "openmpi":
                    options += ["-x", f"LD_PRELOAD={mpi.runtime}"]
                elif way.is_ours:
                    options += ["-genv", "LD_PRELOAD", str(mpi.runtime)]
                arguments = [str(program), collective, str(size), str(REPETITIONS + FIRST)]
                printed = namespaces_output(platform, prefix, arguments, options, variables, timeout_s)
                row.samples_s = timed(printed, way)
                rows.append(row)
    return rows


def built(mpi: Mpi, folder: Path) -> Path:
    program = folder / f"collective-{mpi.flavour}"
    done = subprocess.run(
        [str(mpi.compiler), "-O2", str(SOURCE), "-o", str(program)], capture_output=True, text=True
    )
    if done.returncode:
        raise BenchError(f"{mpi.compiler} cannot build {SOURCE.name}; is it whole?")
    return program


def timed(printed: str, way: Way) -> list[float]:
    """The seconds of all calls but the first; none if an MPI's algorithm delivers wrong bytes."""
    found = re.findall(r"repetition=(\d+) seconds=([0-9.]+) wrong_bytes=(-?\d+)", printed)
    if any(wrong != "0" for _, _, wrong in found):
        if way.is_ours:
            raise BenchError(f"{way.name} delivered wrong bytes; please report it")
        return []
    return [float(seconds) for repetition, seconds, _ in found if int(repetition) >= FIRST]
