"""Where paper 4's techniques are measured: `testbeds/plans.c` in simulated time, and on local ranks.

The program is plain MPI and shares no code with the executor, so its times validate both.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import broadleaf as bl
from broadleaf import smpi
from broadleaf.checkout import CHECKOUT, TESTBEDS
from broadleaf.formats.simgrid import write_simgrid
from broadleaf.mpi import Mpi, MpiNotFoundError, find_mpi, launch_command
from broadleaf.papers.journal import Journal, key_of

PROGRAM = CHECKOUT / "testbeds" / "plans.c"
NAMESPACES = TESTBEDS / "namespaces" / "run.py"
CLUSTER = CHECKOUT / "platforms" / "cluster-50.json"

# One message at a time in and out of a host, in the order in which they were sent: the one-port cluster that
# the paper describes. SimGrid's own NICs share between all messages at once.
ONE_PORT = {"maxmin/concurrency-limit": "1", "smpi/send-is-detached-thresh": "0"}

TIMEOUT_S = 3600.0
# How far ahead local ranks agree on a common start.
START_AHEAD_S = 0.005
# The same over TCP between namespaces that share this machine's cores.
SLOW_START_AHEAD_S = 0.05


class BedError(ValueError):
    """A bed that cannot run the program; the message is one line."""


@dataclass(frozen=True)
class Timed:
    """One plan to be timed, as a line of the program's input."""

    collective: str
    protocol: str
    message_bytes: int
    segment_bytes: int
    edges: str

    @property
    def line(self) -> str:
        sizes = f"{self.message_bytes} {self.segment_bytes}"
        return f"{self.collective} {self.protocol} {sizes} {self.edges}"


class Bed(ABC):
    """Somewhere the program runs."""

    name: str
    most_nodes: int
    # How many programs may run at once without disturbing each other's times.
    at_once: int = 1
    # Bytes of messages sent back to back to measure a gap; the largest gap measured is that of half of them.
    train_bytes: int = 64 << 20

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def fingerprint(self) -> str:
        """A hash of all that its times depend on besides nodes and plan."""
        return hashlib.sha256(PROGRAM.read_bytes()).hexdigest()

    @abstractmethod
    def output(self, nodes: int, plans: Path, care: int) -> str:
        """What the program prints."""

    def times(self, nodes: int, plans: Sequence[Timed], care: int = 1) -> list[list[float]]:
        """The times of each plan's repetitions, seconds, ascending.

        `care` multiplies the repetitions, where times vary.
        Raises BedError if a byte was wrong.
        """
        file = self.folder / f"plans-{nodes}"
        file.write_text("".join(f"{plan.line}\n" for plan in plans))
        out = self.output(nodes, file, care)
        found: list[list[float]] = [[] for _ in plans]
        for number, taken, wrong in re.findall(
            r"^plan (\d+) repetition \d+ seconds=([0-9.]+) wrong_bytes=(-?\d+)$", out, re.MULTILINE
        ):
            if wrong not in ("0", "-1"):
                raise BedError(f'{self.name}: {wrong} wrong bytes by plan "{plans[int(number)].line[:60]}"')
            found[int(number)].append(float(taken))
        if not all(found):
            raise BedError(
                f"{self.name}: {PROGRAM.name} ended early; run testbeds/plans.c by hand to see why"
            )
        return [sorted(times) for times in found]

    def times_by(
        self, journal: Journal, nodes: int, plans: Sequence[Timed], care: int = 1
    ) -> list[list[float]]:
        """As `times`, but measures only the plans that are not in the journal. Raises BedError,
        OSError."""
        parts = (self.name, self.fingerprint, nodes, care, "repetitions")
        keys = [key_of(*parts, plan.line) for plan in plans]
        missing = {key: plan for key, plan in zip(keys, plans, strict=True) if key not in journal.known}
        if missing:
            times = self.times(nodes, list(missing.values()), care)
            journal.keep(dict(zip(missing, times, strict=True)))
        return [journal.known[key] for key in keys]


class SimulatedBed(Bed):
    """SimGrid's SMPI on cluster-50, one rank a host, hosts one-port."""

    name = "SMPI"
    most_nodes = 50
    # SimGrid's settings beside the clean model's.
    settings: ClassVar[Mapping[str, str | None]] = ONE_PORT
    # Simulated times do not depend on the machine's load.
    at_once = min(2, os.cpu_count() or 1)

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        missing = smpi.missing()
        if missing is not None or not PROGRAM.is_file():
            raise BedError(f"SMPI is not at hand: {missing or f'there is no {PROGRAM}'}")
        self.where = write_simgrid(bl.Platform.load(CLUSTER), folder)
        try:
            self.program = smpi.plain_program(PROGRAM, folder / "plans-smpi")
        except smpi.SmpiError as error:
            raise BedError(str(error)) from None

    @property
    def fingerprint(self) -> str:
        platform = hashlib.sha256(CLUSTER.read_bytes()).hexdigest()
        return f"{super().fingerprint} {platform} {sorted(self.settings.items())}"

    def output(self, nodes: int, plans: Path, care: int) -> str:
        program = [str(self.program), str(plans)]
        try:
            return smpi.simulate(
                *self.where, program, ranks=nodes, settings=self.settings, timeout_s=TIMEOUT_S
            )
        except smpi.SmpiError as error:
            raise BedError(str(error)) from None


class DefaultModelBed(SimulatedBed):
    """The same cluster by SMPI's default model, which is not one-port."""

    name = "SMPI, its default model"
    settings = smpi.DEFAULT_MODEL


class NamespacesBed(Bed):
    """Real TCP between eight network namespaces of this machine, shaped to 200 Mb/s; needs root."""

    name = "namespaces, 200 Mb/s"
    most_nodes = 8
    train_bytes = 4 << 20

    def __init__(self, folder: Path, repetitions: int) -> None:
        super().__init__(folder)
        try:
            self.mpi: Mpi = find_mpi("openmpi", compiling=True)
        except MpiNotFoundError as error:
            raise BedError(f"namespaces: {error}") from None
        if os.geteuid() != 0 or shutil.which("ip") is None or not NAMESPACES.is_file():
            raise BedError("namespaces need root, iproute2 and a checkout")
        self.repetitions = repetitions
        hosts = [f"h{at}" for at in range(self.most_nodes)]
        link = {"latency_s": 1e-4, "bandwidth_bytes_per_s": 2.5e7}
        self.platform = folder / "namespaces.json"
        bl.Platform.from_dict(
            {
                "format": "broadleaf-platform/1",
                "name": self.name,
                "port_model": "multi-port",
                "nodes": [{"id": host} for host in hosts],
                "meshes": [{"nodes": hosts, "link": link}],
            }
        ).save(self.platform)

    @property
    def fingerprint(self) -> str:
        return f"{super().fingerprint} {self.repetitions} repetitions {self.platform.read_text()}"

    def output(self, nodes: int, plans: Path, care: int) -> str:
        # Four packets may pass a shaper as one, as in `bench namespaces`.
        command = [sys.executable, str(NAMESPACES), "run", str(self.platform)]
        command += ["--mpi", str(self.mpi.mpiexec.parent.parent), "--ranks", str(nodes), "--lump", "4"]
        command += ["--timeout", f"{TIMEOUT_S:g}", "--", str(PROGRAM), str(plans)]
        command += [str(care * self.repetitions), str(SLOW_START_AHEAD_S)]
        return output_of(command, dict(os.environ))


class LocalBed(Bed):
    """Ranks of one MPI on this machine."""

    def __init__(self, folder: Path, repetitions: int) -> None:
        super().__init__(folder)
        try:
            self.mpi: Mpi = find_mpi(compiling=True)
        except MpiNotFoundError as error:
            raise BedError(str(error)) from None
        if not PROGRAM.is_file():
            raise BedError(f"{PROGRAM}: no such file; local ranks take a checkout")
        self.name = f"{self.mpi.flavour} {self.mpi.version}, {os.cpu_count()} cores"
        self.most_nodes = 8
        self.repetitions = repetitions
        self.program = compiled(str(self.mpi.compiler), folder / "plans-local")

    @property
    def fingerprint(self) -> str:
        return f"{super().fingerprint} {self.repetitions} repetitions"

    def output(self, nodes: int, plans: Path, care: int) -> str:
        repetitions = str(care * self.repetitions)
        program = [str(self.program), str(plans), repetitions, str(START_AHEAD_S)]
        argv, environment = launch_command(self.mpi, nodes, program)
        return output_of(argv, environment)


def compiled(compiler: str, program: Path) -> Path:
    done = subprocess.run(
        [compiler, "-std=c11", "-O2", str(PROGRAM), "-o", str(program)], capture_output=True, text=True
    )
    if done.returncode:
        raise BedError(f"{compiler} cannot build {PROGRAM}: {last_line(done.stderr)}")
    return program


def output_of(command: list[str], environment: dict[str, str]) -> str:
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, errors="replace"
        )
    except subprocess.TimeoutExpired:
        raise BedError(f"{command[0]} still runs after {TIMEOUT_S:g} s; run it with --quick") from None
    if done.returncode:
        raise BedError(f"{Path(command[0]).name} failed: {last_line(done.stderr)}")
    return done.stdout


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it gave no reason"
