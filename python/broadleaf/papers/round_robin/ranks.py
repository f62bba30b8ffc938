"""Paper 5 with real MPI code: under SimGrid's SMPI on smp-16, and on this machine's own ranks.

Both need the checkout's test beds; where those, SimGrid or an MPI are missing, a remark says so.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import broadleaf as bl
from broadleaf import smpi
from broadleaf.checkout import CHECKOUT, TESTBEDS
from broadleaf.formats.simgrid import write_simgrid
from broadleaf.mpi import Mpi, MpiNotFoundError, find_mpi, launch_command
from broadleaf.papers.results import Cell, Sheet
from broadleaf.papers.round_robin.figures import draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLATFORM = CHECKOUT / "platforms/smp-16.json"
BANDWIDTH_BYTES_PER_S = 125e6
# SMPI's own algorithms that the paper describes.
THEIRS = {
    "binomial": "binomial_tree",
    "van de Geijn": "scatter_rdb_allgather",
    "pipelined linear": "ompi_pipeline",
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
THE_MPIS_OWN = "the MPI's own"
REPETITIONS = 3
# Wall time of one program.
TIMEOUT_S = 600.0
# SMPI's pipelines are slow: with 240 MB in segments of 8 KB, its time grows with the square of the segments.
SMPI_PATIENCE_S = 120.0

# The page names a planner that takes this many times as long as the MPI alone.
FAR_BEHIND = 2.0
SMPI_PIPELINE = (
    "SMPI's ompi_pipeline cuts the message into 128 KiB, and a rank waits a latency for each before the next "
    "comes: 50 us on 1.05 ms, 5 % more than t, and one segment more for each hop."
)

Advance = Callable[[], None]
# The value of a step, named by what follows; from the journal where an earlier run has it.
Kept = Callable[..., Any]
Ranks = Callable[[Advance, Kept], tuple[list[Sheet], dict[str, "Figure"], list[str]]]


def ranks_sheets(quick: bool, message_bytes: int) -> tuple[int, Ranks]:
    """The number of steps, and the function that runs them."""
    # By nodes as figure 7, by size as figure 8.
    smpi_cases = [(count, message_bytes) for count in ((5, 16) if quick else (2, 4, 8, 12, 16))]
    smpi_cases += [] if quick else [(16, message_bytes * part // 4) for part in (1, 2, 3)]
    local_ranks = (4,) if quick else (2, 4, 8)
    # One machine's memory holds a copy per rank.
    local_bytes = message_bytes // 10
    steps = len(smpi_cases) * (len(THEIRS) + len(OURS)) + len(local_ranks) * (len(LOCAL) + 1)

    def run(advance: Advance, kept: Kept) -> tuple[list[Sheet], dict[str, Figure], list[str]]:
        sheets: list[Sheet] = []
        figures: dict[str, Figure] = {}
        remarks: list[str] = []
        with tempfile.TemporaryDirectory(prefix="broadleaf-paper-") as folder:
            try:
                samples = smpi_samples(SmpiBed(Path(folder)), smpi_cases, advance, kept, remarks)
                sheets.append(smpi_sheet(samples))
                figures = smpi_figures(samples)
                remarks.append(SMPI_PIPELINE)
            except MissingError as missing:
                remarks.append(str(missing))
            try:
                local, loads = local_sheet(local_ranks, local_bytes, Path(folder), advance, kept)
                sheets.append(local)
                remarks += [*far_behind(local), load_remark("Local broadcasts", loads)]
            except (MissingError, MpiNotFoundError) as missing:
                remarks.append(str(missing))
        return sheets, figures, remarks

    return steps, run


class MissingError(Exception):
    """A requirement of real MPI code is missing; the message is one line."""


def seconds_of(printed: str) -> list[float]:
    found = re.findall(r"seconds=([0-9.]+) wrong_bytes=(?:0|-1)$", printed, re.MULTILINE)
    return [float(seconds) for seconds in found]


class SmpiBed:
    """Broadcasts in simulated time on smp-16, SMPI's and Broadleaf's."""

    def __init__(self, folder: Path, with_ours: bool = True) -> None:
        source = TESTBEDS / "bcast.c"
        if not source.is_file():
            raise MissingError("SMPI left out: it needs a checkout with testbeds/")
        try:
            self.plain = str(smpi.plain_program(source, folder / "plain"))
            self.planned = str(smpi.planned_program(source, folder / "planned")) if with_ours else ""
            self.where = write_simgrid(bl.Platform.load(str(PLATFORM)), folder)
        except smpi.SmpiError as missing:
            raise MissingError(f"SMPI left out: {missing}") from None

    def seconds(self, is_ours: bool, name: str, nodes: int, message_bytes: int) -> float:
        """The second broadcast's time, s: the first may build communicators. Raises MissingError."""
        # Buffers are shared, so that the largest messages fit.
        arguments = [str(message_bytes), "2", "0", "shared"]
        variables = {"BROADLEAF_PLANNER": name, "BROADLEAF_PLATFORM": str(PLATFORM)} if is_ours else {}
        try:
            printed = smpi.simulate(
                *self.where,
                [self.planned if is_ours else self.plain, *arguments],
                ranks=nodes,
                settings={} if is_ours else {"smpi/bcast": name},
                variables=variables,
                timeout_s=TIMEOUT_S if is_ours else SMPI_PATIENCE_S,
            )
        except smpi.SmpiError as failed:
            raise MissingError(str(failed)) from None
        taken = seconds_of(printed)
        if len(taken) != 2:
            # SMPI's MPI_Abort ends a program with exit code 0.
            raise MissingError("the program ended early")
        return taken[-1]


@dataclass(frozen=True)
class SmpiSample:
    """A broadcast under SMPI; no seconds where it did not end in time."""

    nodes: int
    message_bytes: int
    whose: str
    line: str
    name: str
    seconds: float | None


def smpi_samples(
    bed: SmpiBed, cases: list[tuple[int, int]], advance: Advance, kept: Kept, remarks: list[str]
) -> list[SmpiSample]:
    samples: list[SmpiSample] = []
    for is_ours, table in ((False, THEIRS), (True, OURS)):
        for line, name in table.items():
            # A run that timed out would also time out with more nodes or bytes.
            given_up: list[tuple[int, int]] = []
            for nodes, message_bytes in cases:
                taken = None
                if not any(nodes >= least and message_bytes >= few for least, few in given_up):
                    try:
                        case = (is_ours, name, nodes, message_bytes)
                        taken = kept(partial(bed.seconds, *case), "smpi", *case)
                    except MissingError as failed:
                        given_up.append((nodes, message_bytes))
                        remarks.append(f"SMPI, {name}, {nodes} nodes, {message_bytes / 1e6:g} MB: {failed}")
                whose = "Broadleaf" if is_ours else "SMPI"
                samples.append(SmpiSample(nodes, message_bytes, whose, line, name, taken))
                advance()
    return samples


def smpi_sheet(samples: list[SmpiSample]) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    for sample in sorted(samples, key=lambda sample: (sample.message_bytes, sample.nodes)):
        limit_s = sample.message_bytes / BANDWIDTH_BYTES_PER_S
        at = (sample.nodes, sample.message_bytes, sample.whose, sample.line, sample.name)
        taken = sample.seconds
        rows.append((*at, *((None, None) if taken is None else (round(taken, 6), round(taken / limit_s, 4)))))
    columns = ("nodes", "bytes", "whose", "line", "name", "seconds", "x t")
    return Sheet("smpi", "Under SMPI, on smp-16", columns, rows)


def smpi_figures(samples: list[SmpiSample]) -> dict[str, Figure]:
    """Figures 7 and 8 from the runs under SMPI."""
    most_bytes = max(sample.message_bytes for sample in samples)
    most_nodes = max(sample.nodes for sample in samples)
    by_nodes = {(sample.nodes, sample) for sample in samples if sample.message_bytes == most_bytes}
    by_size = {(sample.message_bytes / 8e6, sample) for sample in samples if sample.nodes == most_nodes}
    figures = {}
    for name, against, placed in (
        ("figure-7-smpi", "nodes", by_nodes),
        ("figure-8-smpi", "million doubles", by_size),
    ):
        lines = list(dict.fromkeys((sample.line, sample.whose) for sample in samples))
        rows: list[tuple[Cell, ...]] = []
        for at in sorted({at for at, _ in placed}):
            own = {(sample.line, sample.whose): sample for place, sample in placed if place == at}
            limit_s = next(iter(own.values())).message_bytes / BANDWIDTH_BYTES_PER_S
            rows.append((at, limit_s, *(own[line].seconds for line in lines)))
        titles = [line if whose == "Broadleaf" else f"SMPI's {line}" for line, whose in lines]
        if len(rows) > 1:
            figures[name] = draw(Sheet(name, name, (against, "t", *titles), rows), "SMPI")
    return figures


def local_sheet(
    ranks: tuple[int, ...], message_bytes: int, folder: Path, advance: Advance, kept: Kept
) -> tuple[Sheet, list[float]]:
    """The times, and the machine's load before each."""
    if not (TESTBEDS / "bcast.c").is_file():
        raise MissingError("local ranks left out: they need a checkout with testbeds/")
    mpi = find_mpi(compiling=True)
    program = folder / "local"
    command = [str(mpi.compiler), "-O2", str(TESTBEDS / "bcast.c"), "-o", str(program)]
    if subprocess.run(command, capture_output=True).returncode:
        raise MissingError(f"local ranks left out: {mpi.compiler} cannot build testbeds/bcast.c")
    rows: list[tuple[Cell, ...]] = []
    loads: list[float] = []
    for count in ranks:
        for line, name in [(THE_MPIS_OWN, None), *LOCAL.items()]:
            case = (count, message_bytes, name)
            load, taken = kept(
                lambda case=case: (load_now(), local_seconds(mpi, program, *case)),
                *("local", mpi.flavour, *case),
            )
            loads.append(load)
            rounded = (round(seconds, 6) for seconds in (median(taken), *taken))
            rows.append((count, line, name or mpi.flavour, *rounded))
            advance()
    runs = tuple(f"run {at}" for at in range(1, REPETITIONS + 1))
    title = f"On this machine: {message_bytes / 1e6:g} MB between ranks of {mpi.flavour}, seconds"
    return Sheet("local", title, ("ranks", "line", "name", "median", *runs), rows), loads


def load_now() -> float:
    """The load average of a minute: this machine's other programs, and what was measured just before."""
    return os.getloadavg()[0]


def load_remark(what: str, loads: list[float]) -> str:
    """The machine's state beside times by its own clock; simulated times do not depend on it."""
    return (
        f"{what} were timed by this machine's clock on {os.cpu_count()} cores, with a load average of "
        f"{min(loads):.1f} to {max(loads):.1f} when each began, the ranks measured before included."
    )


def far_behind(local: Sheet) -> list[str]:
    """A line for each number of ranks and planner that falls far behind the MPI's own broadcast."""
    own = {row[0]: float(row[3] or 0.0) for row in local.rows if row[1] == THE_MPIS_OWN}
    cores = os.cpu_count()
    remarks = []
    for ranks, line, _, seconds, *_ in local.rows:
        times = float(seconds or 0.0) / own[ranks]
        if times >= FAR_BEHIND:
            remarks.append(
                f"On this machine {line} takes {times:.1f} times as long as the MPI's own broadcast between "
                f"{ranks} ranks, which share {cores} cores: not explained."
            )
    return remarks


def local_seconds(
    mpi: Mpi, program: Path, ranks: int, message_bytes: int, planner: str | None
) -> list[float]:
    variables = {"BROADLEAF_PLANNER": planner} if planner else {}
    # The first one makes the plan.
    command = [str(program), str(message_bytes), str(REPETITIONS + 1)]
    preload = mpi.runtime if planner else None
    argv, environ = launch_command(mpi, ranks, command, variables=variables, preload=preload)
    left_out = f"local ranks left out: {program.name} with {ranks} ranks"
    try:
        done = subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise MissingError(f"{left_out} still runs after {TIMEOUT_S:g} s") from None
    taken = seconds_of(done.stdout)
    if done.returncode or len(taken) != REPETITIONS + 1:
        said = (done.stderr.strip().splitlines() or ["nothing"])[0]
        raise MissingError(f"{left_out} failed: {said}")
    return taken[1:]
