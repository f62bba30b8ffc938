"""An unmodified MPI program with its broadcasts planned: checked, started, and waited for."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Literal, get_args

from broadleaf._core import Platform
from broadleaf.errors import visible
from broadleaf.files import refuse_unwritable
from broadleaf.given import File, Size, bytes_of, refuse_unknown_planner
from broadleaf.mpi import Host, crowding, launch_command, read_hosts, start_of
from broadleaf.mpi.find import Flavour
from broadleaf.mpi.presence import is_remote, refuse_without_runtime
from broadleaf.units import amount, seconds

INTERRUPTED = 130
# For a program without MPI, or one that bypasses preloaded libraries.
UNSEEN = "the runtime did not see its MPI_Init and MPI_Finalize; broadleaf doctor finds out why"
FAILED = "the job ended with exit code {}, and rank 0 writes the statistics only at MPI_Finalize"

# Broadcasts are planned; planned and native by turns; or native, and timed.
Mode = Literal["plan", "compare", "observe"]


@dataclass(frozen=True, repr=False)
class Ended:
    """The end of a program: its exit `code`, and its `statistics` if they were requested and written."""

    code: int
    statistics: dict[str, Any] | None

    def __repr__(self) -> str:
        if self.statistics is None:
            return f"<Ended with exit code {self.code}>"
        planned = self.statistics["planned"]
        return f"<Ended with exit code {self.code}: {planned} broadcast{'s' * (planned != 1)} planned>"

    def summary(self) -> list[str]:
        """Two lines: the planned broadcasts and their time; those of the MPI's own broadcast with reasons.

        After a comparison or an observation, more lines state the gain of planning.
        """
        if self.statistics is None:
            return ["no broadcasts were recorded", FAILED.format(self.code) if self.code else UNSEEN]
        found = self.statistics
        reasons = sorted(found["passed_through"].items(), key=lambda reason: -reason[1])
        passed = sum(found["passed_through"].values())
        rows = [row for row in found["broadcasts"] if row["collective"] == "bcast"]
        failed = sum(row["failed"] for row in rows)
        count = sum(row["planned"] for row in rows)
        planned = f"{count} of {count + passed + failed} broadcasts planned{cost(rows)}"
        for name in sorted({row["collective"] for row in found["broadcasts"]} - {"bcast"}):
            others = [row for row in found["broadcasts"] if row["collective"] == name and row["planned"]]
            if others:
                planned += f"; {sum(row['planned'] for row in others)} {name} planned{cost(others)}"
        if failed:
            planned += f"; {failed} failed"
        whys = ", ".join(f"{count} {name}" for name, count in reasons)
        gained = found.get("gain", {}).get("summary", [])
        return [planned, f"{passed} passed through" + (f": {whys}" if whys else ""), *gained]


def cost(rows: list[dict[str, Any]]) -> str:
    """The bytes and the time of the planned calls; empty without any.

    A call's time is that of its slowest rank, as in a plan's makespan. Of many calls only the latest have
    such a time; then the sum is rank 0's.
    """
    planned = [row for row in rows if row["planned"]]
    if not planned:
        return ""
    moved = amount(sum(row["planned"] * row["bytes"] for row in planned))
    if all(len(row["latest_s"]) == row["planned"] for row in planned):
        return f": {moved} in {seconds(sum(sum(row['latest_s']) for row in planned))}, by the slowest rank"
    return f": {moved} in {seconds(sum(row['seconds'] for row in planned))} on rank 0"


def run(
    program: Sequence[str],
    n: int,
    *,
    platform: Platform | File | None = None,
    planner: str | None = None,
    plans: File | None = None,
    min_bytes: Size | None = None,
    hosts: File | None = None,
    check_hosts: bool | None = None,
    stats: File | None = None,
    trace: File | None = None,
    mode: Mode = "plan",
    adapt: bool = False,
    state: File | None = None,
    mpi: Flavour | None = None,
    launcher: File | None = None,
    launcher_args: str | None = None,
    with_statistics: bool = True,
    output_to_stderr: bool = False,
) -> Ended:
    """Starts an unmodified MPI program on `n` ranks with its broadcasts planned, and waits for it.

    `platform` is the network to plan for, `plans` a folder of plan files to use where one fits. Broadcasts
    below `min_bytes` go to the MPI's own. `hosts` is a file of machines, a line each; `check_hosts` tests
    first whether each has the runtime, by default where they are other machines. `stats` and `trace` are
    files to write. The result has the statistics too, unless they are not wanted, the program does not use
    MPI, or rank 0 runs on another machine. In the `mode` `"compare"` planned and native broadcasts of each
    kind alternate, in `"observe"` none is planned and the saving predicted: the statistics' `gain`. With
    `adapt` an advisor follows the network; it exchanges files with the program in the folder `state`.
    `launcher` is `mpiexec`, `srun`, `flux` or a launcher's path, by default the one that fits;
    `launcher_args` are more options for it. Raises ValueError or OSError for what cannot be started."""
    if isinstance(program, str):
        raise ValueError(f"the program is one text, {program!r}; give a list of words: {program.split()!r}")
    if not program:
        raise ValueError("no program to run; give a list of words, such as ['python3', 'train.py']")
    if mode not in get_args(Mode):
        raise ValueError(f"there is no mode {mode!r}; give one of {', '.join(get_args(Mode))}")
    if mode == "observe" and adapt:
        raise ValueError("nothing is planned while a program is observed; leave --observe or --adapt out")
    if n < 1:
        raise ValueError(f"{n} ranks cannot be started; run at least 1")
    with tempfile.TemporaryDirectory(prefix="broadleaf-") as scratch:
        if isinstance(platform, Platform):
            described = Path(scratch) / "platform.json"
            platform.save(described)
            platform = described
        return Job(
            ranks=n,
            program=program,
            hosts=text_of(hosts),
            is_checked=check_hosts,
            platform=text_of(platform),
            plans=text_of(plans),
            planner=planner,
            min_size=None if min_bytes is None else bytes_of(min_bytes),
            stats=text_of(stats),
            trace=text_of(trace),
            mode=mode,
            adapt=adapt,
            state=text_of(state),
            flavour=mpi,
            launcher=text_of(launcher),
            launcher_args=launcher_args,
            with_statistics=with_statistics,
            output_to_stderr=output_to_stderr,
        ).to_the_end(Path(scratch))


def text_of(path: File | None) -> str | None:
    return None if path is None else os.fspath(path)


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to start, and how: paths as given by the user, None where not given."""

    ranks: int
    program: Sequence[str]
    hosts: str | None
    # Whether to test first for the runtime on every host; None: where the hosts are other machines.
    is_checked: bool | None
    platform: str | None
    plans: str | None
    planner: str | None
    min_size: int | None
    stats: str | None
    trace: str | None
    mode: Mode
    # With an advisor, which exchanges files with the program in the folder `state`.
    adapt: bool
    state: str | None
    flavour: Flavour | None
    # mpiexec, srun, flux or a path, None for the one that fits; and more options for it, as one text.
    launcher: str | None
    launcher_args: str | None
    # Whether the statistics are wanted, and whether standard output is reserved for the caller.
    with_statistics: bool
    output_to_stderr: bool

    def to_the_end(self, scratch: Path) -> Ended:
        """Starts the program and waits for it. Raises ValueError or OSError for what cannot run."""
        # Imports numpy, which would slow down every import of broadleaf.
        from broadleaf.advise.start import advisor

        if self.platform is not None:
            Platform.load(self.platform)
        refuse_what_cannot_run(self.plans, self.planner, self.stats, self.trace)
        program = [located(self.program[0]), *self.program[1:]]
        start = start_of(program, flavour=self.flavour, launcher=self.launcher, arguments=self.launcher_args)
        machines = read_hosts(Path(self.hosts)) if self.hosts is not None else [Host("localhost", 1)]
        named = machines if self.hosts is not None else ()
        if is_remote(machines) if self.is_checked is None else self.is_checked:
            refuse_without_runtime(start, machines)
        for line in (start.remark, crowding(start.mpi, start.launcher, self.ranks, named).line):
            if line is not None:
                print(f"broadleaf: {visible(line)}", file=sys.stderr)
        with advisor(self.state, self.platform, self.hosts, start, wanted=self.adapt) as advice:
            written = self.statistics_in(scratch, machines)
            argv, environment = launch_command(
                start.mpi,
                self.ranks,
                program,
                launcher=start.launcher,
                hosts=named,
                variables=self.variables(advice, written),
                preload=start.runtime,
            )
            return self.watched(argv, environment, written)

    def statistics_in(self, scratch: Path, machines: Sequence[Host]) -> Path | None:
        """The file that rank 0 writes: by option or environment, else in `scratch` if rank 0 runs on this
        machine."""
        asked = self.stats or os.environ.get("BROADLEAF_STATS")
        if asked:
            return Path(asked)
        return scratch / "stats.json" if self.with_statistics and not is_remote(machines[:1]) else None

    def variables(self, advice: str | None, statistics: Path | None) -> dict[str, str]:
        """The runtime's variables."""
        variables = {
            "BROADLEAF_PLATFORM": self.platform and str(Path(self.platform).resolve()),
            "BROADLEAF_PLAN_DIR": self.plans and str(Path(self.plans).resolve()),
            "BROADLEAF_PLANNER": self.planner,
            "BROADLEAF_MIN_BYTES": self.min_size and str(self.min_size),
            "BROADLEAF_ADVICE": advice,
            "BROADLEAF_MODE": None if self.mode == "plan" else self.mode,
            "BROADLEAF_TRACE": self.trace and str(Path(self.trace).resolve()),
            "BROADLEAF_STATS": statistics and str(statistics.resolve()),
        }
        return {name: value for name, value in variables.items() if value}

    def watched(self, argv: Sequence[str], environment: Mapping[str, str], statistics: Path | None) -> Ended:
        """Runs the launcher, and ensures that result files are of this run."""
        asked = {"statistics": self.stats, "trace": self.trace}
        for path in (self.stats, self.trace, statistics):
            if path is not None:
                Path(path).unlink(missing_ok=True)
        code = wait_for(argv, environment, output_to_stderr=self.output_to_stderr)
        for what, path in asked.items():
            if path is not None and code == 0 and not Path(path).is_file():
                raise ValueError(f"{self.program[0]} left no {what}: {UNSEEN}")
        text = statistics.read_text() if statistics is not None and statistics.is_file() else None
        return Ended(code, json.loads(text) if text and self.with_statistics else None)


def located(program: str) -> str:
    """The path of a program's name on this machine.

    Open MPI's launcher puts its own folder before the ranks' PATH: `python3` would be the system's, not the
    environment's.
    """
    found = shutil.which(program)
    if found is None:
        raise ValueError(f"{program}: no such program; name one on PATH or give its path")
    return found


def refuse_what_cannot_run(plans: str | None, planner: str | None, *results: str | None) -> None:
    """Raises ValueError or OSError, before any rank starts, for faults that would stop every rank."""
    if plans is not None:
        next(Path(plans).iterdir(), None)  # OSError names the folder and the reason
    if planner is not None:
        refuse_unknown_planner(planner)
    refuse_unwritable(*results)


def wait_for(argv: Sequence[str], environment: Mapping[str, str], *, output_to_stderr: bool) -> int:
    """Runs the launcher to its end, and ensures that no rank outlives this process."""
    process = subprocess.Popen(
        argv, env=environment, stdout=sys.stderr.fileno() if output_to_stderr else None
    )

    def pass_on(number: int, frame: FrameType | None) -> Any:
        process.send_signal(number)

    # Only the main thread may set signal handlers.
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, pass_on) if is_main else None
    try:
        code = process.wait()
    except KeyboardInterrupt:
        # The terminal has interrupted the launcher too, which now stops the ranks.
        process.wait()
        return INTERRUPTED
    finally:
        if is_main:
            signal.signal(signal.SIGTERM, before)
    return code if code >= 0 else 128 - code
