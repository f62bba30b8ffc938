"""An unmodified MPI program with its broadcasts planned: checked, started, and waited for."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import broadleaf as bl
from broadleaf.advise.start import advisor
from broadleaf.files import refuse_unwritable
from broadleaf.mpi import Host, find_mpi, launch_command, read_hosts
from broadleaf.mpi.find import Flavour
from broadleaf.mpi.presence import is_remote, refuse_without_runtime

INTERRUPTED = 130


@dataclass(frozen=True)
class Ended:
    """How a program ended, and its statistics where they were asked for and it left some."""

    code: int
    statistics: dict[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class Run:
    """What to start, and how: paths as the user gave them, None for what was not asked for."""

    ranks: int
    program: Sequence[str]
    hosts: str | None
    # Whether to look first for the runtime on every host; None: where the hosts are other machines.
    is_checked: bool | None
    platform: str | None
    plans: str | None
    planner: str | None
    min_size: int | None
    stats: str | None
    trace: str | None
    # With an advisor, which meets the program in the folder `state`.
    adapt: bool
    state: str | None
    flavour: Flavour | None
    mpiexec: str | None
    # Whether the caller wants the statistics, and so has standard output for itself.
    with_statistics: bool

    def to_the_end(self) -> Ended:
        """Starts the program and waits for it. Raises ValueError or OSError for what cannot run."""
        if self.platform is not None:
            bl.Platform.load(self.platform)
        refuse_what_cannot_run(self.plans, self.planner, self.stats, self.trace)
        program = [located(self.program[0]), *self.program[1:]]
        mpi = find_mpi(self.flavour, self.mpiexec)
        machines = read_hosts(Path(self.hosts)) if self.hosts is not None else [Host("localhost", 1)]
        if is_remote(machines) if self.is_checked is None else self.is_checked:
            refuse_without_runtime(mpi, machines, mpi.runtime)
        with (
            tempfile.TemporaryDirectory(prefix="broadleaf-") as scratch,
            advisor(self.state, self.platform, self.hosts, mpi, wanted=self.adapt) as advice,
        ):
            written = Path(self.stats) if self.stats is not None else Path(scratch) / "stats.json"
            argv, environment = launch_command(
                mpi,
                self.ranks,
                program,
                hosts=machines if self.hosts is not None else (),
                variables=self.variables(advice, written),
                preload=mpi.runtime,
            )
            return self.watched(argv, environment, written)

    def variables(self, advice: str | None, statistics: Path) -> dict[str, str]:
        """What the runtime is told."""
        wants_statistics = self.stats is not None or self.with_statistics
        variables = {
            "BROADLEAF_PLATFORM": self.platform and str(Path(self.platform).resolve()),
            "BROADLEAF_PLAN_DIR": self.plans and str(Path(self.plans).resolve()),
            "BROADLEAF_PLANNER": self.planner,
            "BROADLEAF_MIN_BYTES": self.min_size and str(self.min_size),
            "BROADLEAF_ADVICE": advice,
            "BROADLEAF_TRACE": self.trace and str(Path(self.trace).resolve()),
            "BROADLEAF_STATS": str(statistics.resolve()) if wants_statistics else None,
        }
        return {name: value for name, value in variables.items() if value}

    def watched(self, argv: Sequence[str], environment: Mapping[str, str], statistics: Path) -> Ended:
        """Runs the launcher, and sees to it that the files it leaves are this run's."""
        expected = {"statistics": statistics} if self.stats is not None or self.with_statistics else {}
        if self.trace is not None:
            expected["trace"] = Path(self.trace)
        for path in expected.values():
            path.unlink(missing_ok=True)
        code = wait_for(argv, environment, output_to_stderr=self.with_statistics)
        for what, path in expected.items():
            if code == 0 and not path.is_file():
                raise ValueError(
                    f"{self.program[0]} left no {what}: it never called MPI_Init and MPI_Finalize"
                )
        found = self.with_statistics and statistics.is_file()
        return Ended(code, json.loads(statistics.read_text()) if found else None)


def located(program: str) -> str:
    """The program that a name stands for here.

    Open MPI's launcher puts its own folder before the ranks' PATH: `python3` would be the system's, not the
    environment's.
    """
    found = shutil.which(program)
    if found is None:
        raise ValueError(f"{program}: no such program; name one on PATH or give its path")
    return found


def refuse_what_cannot_run(plans: str | None, planner: str | None, *results: str | None) -> None:
    """Raises ValueError or OSError, before any rank is started, for what every rank would stumble over."""
    if plans is not None:
        next(Path(plans).iterdir(), None)  # OSError names the folder and the reason
    known = [card.name for card in bl.planners()]
    if planner is not None and planner not in [*known, "best"]:
        raise ValueError(f'unknown planner "{planner}"; use one of {", ".join([*known, "best"])}')
    refuse_unwritable(*results)


def wait_for(argv: Sequence[str], environment: Mapping[str, str], *, output_to_stderr: bool) -> int:
    """Runs the launcher to its end, and sees to it that no rank outlives us."""
    process = subprocess.Popen(
        argv, env=environment, stdout=sys.stderr.fileno() if output_to_stderr else None
    )

    def pass_on(number: int, frame: FrameType | None) -> Any:
        process.send_signal(number)

    before = signal.signal(signal.SIGTERM, pass_on)
    try:
        code = process.wait()
    except KeyboardInterrupt:
        # The terminal has interrupted the launcher too, which now stops the ranks.
        process.wait()
        return INTERRUPTED
    finally:
        signal.signal(signal.SIGTERM, before)
    return code if code >= 0 else 128 - code
