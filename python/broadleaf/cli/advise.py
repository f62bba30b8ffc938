"""`broadleaf advise`: the broadcast advisor service."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from types import FrameType

import click

from broadleaf.advise.monitor import PERIOD_S, SHARE, Monitor
from broadleaf.advise.service import serve
from broadleaf.advise.state import State, default_state
from broadleaf.cli.display import print_document
from broadleaf.cli.options import example, json_option
from broadleaf.errors import visible
from broadleaf.mpi import find_mpi, read_hosts
from broadleaf.mpi.find import Flavour


@click.command(
    "advise",
    short_help="Plans anew while programs run and the network changes.",
    epilog=example("broadleaf advise --platform net.json --state advice --for 1"),
)
@click.option(
    "--state",
    metavar="FOLDER",
    help="Where programs and advisor meet.  [default: broadleaf/advice in $XDG_STATE_HOME, ~/.local/state]",
)
@click.option("--platform", metavar="FILE", help="Prepare plans for this network before any program runs.")
@click.option("--hosts", metavar="FILE", help="Machines that may be probed, a line each; else none is.")
@click.option(
    "--every",
    "period_s",
    type=click.FloatRange(1.0),
    default=PERIOD_S,
    show_default=True,
    metavar="SECONDS",
    help="Between two sweeps over all clusters.",
)
@click.option(
    "--share",
    type=click.FloatRange(0.0, 1.0, min_open=True),
    default=SHARE,
    show_default=True,
    help="Of the time that probes may take.",
)
@click.option("--for", "for_s", type=click.FloatRange(0.0), metavar="SECONDS", help="End after this long.")
@click.option(
    "--linger",
    "linger_s",
    type=click.FloatRange(0.0),
    metavar="SECONDS",
    help="End when no `run --adapt` has run for this long.",
)
@click.option(
    "--mpi", "flavour", type=click.Choice(["openmpi", "mpich"]), help="Which of several MPIs probes."
)
@click.option("--mpiexec", metavar="PROGRAM", help="The launcher itself.")
@json_option
def command(
    state: str | None,
    platform: str | None,
    hosts: str | None,
    period_s: float,
    share: float,
    for_s: float | None,
    linger_s: float | None,
    flavour: Flavour | None,
    mpiexec: str | None,
    as_json: bool,
) -> None:
    """Advises the programs that `run --adapt` starts: which plan to broadcast with, as the network changes.

    Several programs on one network share one advisor. It hears what they broadcast and how long their links
    take, probes links that they do not use, plans ahead for the sizes it expects, and puts a new plan into
    use where that is faster. Programs never wait for it: without it they go on with the plans they have.

    Ends on an interrupt; with --json it then prints what it heard and did.
    """
    found = State(Path(state) if state is not None else default_state())

    def say(line: str) -> None:
        click.echo(f"broadleaf: advise: {visible(' '.join(line.split()))}", err=True)

    monitor = None
    if hosts is not None:
        machines = read_hosts(Path(hosts))
        monitor = Monitor(find_mpi(flavour, mpiexec), machines, say, period_s=period_s, share=share)
    found.lock()
    stop = threading.Event()

    def leave(number: int, frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, leave)
    if for_s is not None:
        timer = threading.Timer(for_s, stop.set)
        timer.daemon = True
        timer.start()
    done = serve(
        found,
        platform=Path(platform) if platform is not None else None,
        monitor=monitor,
        linger_s=linger_s,
        stop=stop,
        say=say,
    )
    if as_json:
        print_document(done)
