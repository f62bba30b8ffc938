"""`broadleaf run`: an unmodified MPI program with its broadcasts planned."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import click

import broadleaf as bl
from broadleaf.advise.start import advisor
from broadleaf.cli.display import print_document
from broadleaf.cli.options import Size, example, json_option
from broadleaf.files import refuse_unwritable
from broadleaf.mpi import Host, find_mpi, launch_command, read_hosts
from broadleaf.mpi.find import Flavour
from broadleaf.mpi.presence import is_remote, refuse_without_runtime

INTERRUPTED = 130


@click.command(
    "run", epilog=example("broadleaf run -n 2 --platform net.json -- python3 -c 'from mpi4py import MPI'")
)
@click.option(
    "-n", "ranks", type=click.IntRange(1), required=True, metavar="RANKS", help="How many to start."
)
@click.option("--hosts", metavar="FILE", help="Machines to start on, a line each: name slots=4.")
@click.option(
    "--check-hosts/--no-check-hosts",
    "is_checked",
    default=None,
    help="Look first whether every host has the runtime.  [default: where --hosts names other machines]",
)
@click.option("--platform", metavar="FILE", help="The network to plan for, as measure writes it.")
@click.option("--plans", metavar="FOLDER", help="Plan files to use where one fits, instead of planning.")
@click.option("--planner", metavar="NAME", help="The planner, see broadleaf planners.  [default: best]")
@click.option("--min-size", type=Size(), help="Smaller messages go to the MPI's own broadcast.")
@click.option("--stats", metavar="FILE", help="Write what was intercepted, and why some of it was not.")
@click.option(
    "--adapt", is_flag=True, help="Follow the network while the program runs, see broadleaf advise."
)
@click.option("--state", metavar="FOLDER", help="Where program and advisor meet, as broadleaf advise has it.")
@click.option("--trace", metavar="FILE", help="Write what every rank sent and received when, for Perfetto.")
@click.option("--mpi", "flavour", type=click.Choice(["openmpi", "mpich"]), help="Which of several MPIs.")
@click.option("--mpiexec", metavar="PROGRAM", help="The launcher itself.")
@json_option
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- PROGRAM [ARGS]...")
def command(
    ranks: int,
    hosts: str | None,
    is_checked: bool | None,
    platform: str | None,
    plans: str | None,
    planner: str | None,
    min_size: int | None,
    stats: str | None,
    adapt: bool,
    state: str | None,
    trace: str | None,
    flavour: Flavour | None,
    mpiexec: str | None,
    as_json: bool,
    program: tuple[str, ...],
) -> int:
    """Starts an MPI program under mpiexec, unmodified, with its broadcasts planned.

    The exit code is the program's. With --json the statistics are the document on standard output, and what
    the program prints goes to standard error.
    """
    if platform is not None:
        bl.Platform.load(platform)
    refuse_what_cannot_run(plans, planner, stats, trace)
    started = [located(program[0]), *program[1:]]
    mpi = find_mpi(flavour, mpiexec)
    machines = read_hosts(Path(hosts)) if hosts is not None else [Host("localhost", 1)]
    if is_remote(machines) if is_checked is None else is_checked:
        refuse_without_runtime(mpi, machines, mpi.runtime)
    with (
        tempfile.TemporaryDirectory(prefix="broadleaf-") as scratch,
        advisor(state, platform, hosts, mpi, wanted=adapt) as advice,
    ):
        written = Path(stats) if stats is not None else Path(scratch) / "stats.json"
        variables = {
            "BROADLEAF_PLATFORM": platform and str(Path(platform).resolve()),
            "BROADLEAF_PLAN_DIR": plans and str(Path(plans).resolve()),
            "BROADLEAF_PLANNER": planner,
            "BROADLEAF_MIN_BYTES": min_size and str(min_size),
            "BROADLEAF_ADVICE": advice,
            "BROADLEAF_TRACE": trace and str(Path(trace).resolve()),
            "BROADLEAF_STATS": str(written.resolve()) if stats is not None or as_json else None,
        }
        argv, environment = launch_command(
            mpi,
            ranks,
            started,
            hosts=machines if hosts is not None else (),
            variables={name: value for name, value in variables.items() if value},
            preload=mpi.runtime,
        )
        # Statistics of an earlier run must not pass for this one's.
        written.unlink(missing_ok=True)
        if trace is not None:
            Path(trace).unlink(missing_ok=True)
        code = wait_for(argv, environment, output_to_stderr=as_json)
        if code == 0 and (stats is not None or as_json) and not written.is_file():
            raise ValueError(f"{program[0]} left no statistics: it never called MPI_Init and MPI_Finalize")
        if code == 0 and trace is not None and not Path(trace).is_file():
            raise ValueError(f"{program[0]} left no trace: it never called MPI_Init and MPI_Finalize")
        if as_json:
            print_document(json.loads(written.read_text()) if written.is_file() else {"exit_code": code})
    return code


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
