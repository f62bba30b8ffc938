"""Paper 5 with real MPI code: under SimGrid's SMPI on smp-16, and on this machine's own ranks.

Both need the checkout's test beds; where those, SimGrid or an MPI are missing, a remark says so.
"""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from types import ModuleType

import broadleaf as bl
from broadleaf.mpi import Mpi, MpiNotFoundError, find_mpi, launch_command
from broadleaf.papers.results import Cell, Sheet

CHECKOUT = Path(__file__).resolve().parents[3]
TESTBEDS = CHECKOUT / "testbeds"
PLATFORM = CHECKOUT / "platforms/smp-16.json"
BANDWIDTH_BYTES_PER_S = 125e6
# SMPI's own algorithms that the paper describes.
THEIRS = {
    "binomial": "binomial_tree",
    "van de Geijn": "scatter_rdb_allgather",
    "pipelined linear": "NTSL",
}
OURS = {
    "round-robin": "round-robin",
    "pipelined linear": "chain",
    "van de Geijn": "van-de-geijn",
    "best": "best",
}
# On one machine's memory.
LOCAL = {
    "binomial": "binomial",
    "pipelined linear": "chain",
    "van de Geijn": "van-de-geijn",
    "round-robin": "round-robin",
}
REPETITIONS = 3
TIMEOUT_S = 300.0

Advance = Callable[[], None]
Ranks = Callable[[Advance], tuple[list[Sheet], list[str]]]


def ranks_sheets(quick: bool, message_bytes: int) -> tuple[int, Ranks]:
    """How many steps there are, and what makes them."""
    smpi_nodes = (5, 16) if quick else (2, 4, 8, 12, 16)
    local_ranks = (4,) if quick else (2, 4, 8)
    # One machine's memory holds a copy a rank.
    local_bytes = message_bytes // 10
    steps = len(smpi_nodes) * (len(THEIRS) + len(OURS)) + len(local_ranks) * (len(LOCAL) + 1)

    def run(advance: Advance) -> tuple[list[Sheet], list[str]]:
        sheets: list[Sheet] = []
        remarks: list[str] = []
        with tempfile.TemporaryDirectory(prefix="broadleaf-paper-") as folder:
            parts: list[Callable[[], Sheet]] = [
                lambda: smpi_sheet(smpi_nodes, message_bytes, Path(folder), advance, remarks),
                lambda: local_sheet(local_ranks, local_bytes, Path(folder), advance),
            ]
            for part in parts:
                try:
                    sheets.append(part())
                except (MissingError, MpiNotFoundError) as missing:
                    remarks.append(str(missing))
        return sheets, remarks

    return steps, run


class MissingError(Exception):
    """Something that real MPI code needs is not there, in one line."""


def smpi_modules() -> tuple[ModuleType, ModuleType, ModuleType]:
    """The checkout's testbeds/smpi: how it runs programs, with our runtime in them, on which platforms."""
    folder = TESTBEDS / "smpi"
    if not (folder / "run.py").is_file():
        raise MissingError("SMPI left out: it needs a checkout with testbeds/")
    sys.path.insert(0, str(folder))
    try:
        run, runtime, xml = (importlib.import_module(name) for name in ("run", "runtime", "simgrid_xml"))
    finally:
        sys.path.remove(str(folder))
    return run, runtime, xml


def seconds_of(printed: str) -> list[float]:
    found = re.findall(r"seconds=([0-9.]+) wrong_bytes=(?:0|-1)$", printed, re.MULTILINE)
    return [float(seconds) for seconds in found]


def smpi_sheet(
    nodes: tuple[int, ...], message_bytes: int, folder: Path, advance: Advance, remarks: list[str]
) -> Sheet:
    bed, runtime, simgrid_xml = smpi_modules()
    source = TESTBEDS / "bcast.c"
    try:
        plain = bed.build(source, folder, [])
        plain = plain.rename(folder / "plain")
        planned = runtime.planned_program(source, folder)
        xml, hosts = simgrid_xml.write_simgrid(bl.Platform.load(str(PLATFORM)), folder)
    except bed.TestbedError as missing:
        raise MissingError(f"SMPI left out: {missing}") from None
    rows: list[tuple[Cell, ...]] = []
    # Buffers are shared, so that the largest messages fit; the first broadcast may build communicators.
    arguments = [str(message_bytes), "2", "0", "shared"]
    for count in nodes:
        limit_s = message_bytes / BANDWIDTH_BYTES_PER_S
        for whose, table in (("SMPI", THEIRS), ("ours", OURS)):
            for line, name in table.items():
                program = [str(planned if whose == "ours" else plain), *arguments]
                settings = {"smpi/bcast": name} if whose == "SMPI" else {}
                variables = {"BROADLEAF_PLANNER": name, "BROADLEAF_PLATFORM": str(PLATFORM)}
                variables = variables if whose == "ours" else {}
                taken = None
                try:
                    printed = bed.simulate(
                        xml, hosts, program, ranks=count, settings=settings, variables=variables
                    )
                    taken = seconds_of(printed)[-1]
                except bed.TestbedError as failed:
                    remarks.append(f"SMPI, {count} nodes, {name}: {failed}")
                beside = (None, None) if taken is None else (round(taken, 6), round(taken / limit_s, 4))
                rows.append((count, whose, line, name, *beside))
                advance()
    title = f"Under SMPI: {message_bytes / 1e6:g} MB on smp-16"
    return Sheet("smpi", title, ("nodes", "whose", "line", "name", "seconds", "x t"), rows)


def local_sheet(ranks: tuple[int, ...], message_bytes: int, folder: Path, advance: Advance) -> Sheet:
    if not (TESTBEDS / "bcast.c").is_file():
        raise MissingError("local ranks left out: they need a checkout with testbeds/")
    mpi = find_mpi()
    if mpi.mpicc is None:
        raise MissingError(f"local ranks left out: {mpi.mpiexec} comes without mpicc")
    program = folder / "local"
    done = subprocess.run(
        [str(mpi.mpicc), "-O2", str(TESTBEDS / "bcast.c"), "-o", str(program)], capture_output=True, text=True
    )
    if done.returncode:
        raise MissingError(f"local ranks left out: {mpi.mpicc} cannot build testbeds/bcast.c")
    rows: list[tuple[Cell, ...]] = []
    for count in ranks:
        for line, name in [("the MPI's own", None), *LOCAL.items()]:
            taken = local_seconds(mpi, count, program, message_bytes, name)
            rounded = (round(seconds, 6) for seconds in (median(taken), *taken))
            rows.append((count, line, name or mpi.flavour, *rounded))
            advance()
    runs = tuple(f"run {at}" for at in range(1, REPETITIONS + 1))
    title = f"On this machine: {message_bytes / 1e6:g} MB between ranks of {mpi.flavour}, seconds"
    return Sheet("local", title, ("ranks", "line", "name", "median", *runs), rows)


def local_seconds(
    mpi: Mpi, ranks: int, program: Path, message_bytes: int, planner: str | None
) -> list[float]:
    variables = {"BROADLEAF_PLANNER": planner} if planner else {}
    # The first one makes the plan.
    command = [str(program), str(message_bytes), str(REPETITIONS + 1)]
    preload = mpi.runtime if planner else None
    argv, environ = launch_command(mpi, ranks, command, variables=variables, preload=preload)
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=TIMEOUT_S)
    taken = seconds_of(done.stdout)
    if done.returncode or len(taken) != REPETITIONS + 1:
        said = (done.stderr.strip().splitlines() or ["nothing"])[0]
        raise MissingError(f"local ranks left out: {program.name} with {ranks} ranks failed: {said}")
    return taken[1:]
