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
from broadleaf.cli.options import PlannerName, example, json_option, launcher_options
from broadleaf.errors import visible
from broadleaf.mpi import read_hosts, start_of
from broadleaf.mpi.find import Flavour


@click.command(
    "advise",
    short_help="Replans while programs run and the network changes.",
    epilog=example("broadleaf advise --platform net.json --state advice --for 1"),
)
@click.option(
    "--state",
    metavar="FOLDER",
    help="State folder shared with programs.  [default: broadleaf/advice in $XDG_STATE_HOME, ~/.local/state]",
)
@click.option("--platform", metavar="FILE", help="Prepare plans for this network before any program runs.")
@click.option("--hosts", metavar="FILE", help="Hosts that may be probed, one per line.  [default: none]")
@click.option(
    "--every",
    "period_s",
    type=click.FloatRange(1.0),
    default=PERIOD_S,
    show_default=True,
    metavar="SECONDS",
    help="Time between two sweeps over all clusters.",
)
@click.option(
    "--share",
    type=click.FloatRange(0.0, 1.0, min_open=True),
    default=SHARE,
    show_default=True,
    help="Share of the time that probes may take.",
)
@click.option(
    "--planner",
    type=PlannerName(),
    metavar="NAME",
    help="Publish only this planner's plans, e.g. annealing.  [default: the advisor's own search]",
)
@click.option("--for", "for_s", type=click.FloatRange(0.0), metavar="SECONDS", help="End after this time.")
@click.option(
    "--linger",
    "linger_s",
    type=click.FloatRange(0.0),
    metavar="SECONDS",
    help="End when no `run --adapt` has run for this long.",
)
@launcher_options
@json_option
def command(
    state: str | None,
    platform: str | None,
    hosts: str | None,
    period_s: float,
    share: float,
    planner: str | None,
    for_s: float | None,
    linger_s: float | None,
    flavour: Flavour | None,
    launcher: str | None,
    launcher_args: str | None,
    as_json: bool,
) -> None:
    """Replaces the plans of programs started by `run --adapt` while the network changes.

    All programs on one network share one advisor. It reads their calls and link timings, probes links that
    they do not use, prepares plans for expected sizes, and replaces a plan when another is faster. Programs
    never wait for it: without an advisor they keep their plans.

    Ends on an interrupt; with --json it then prints a summary of notes read and plans given.
    """
    found = State(Path(state) if state is not None else default_state())

    def say(line: str) -> None:
        click.echo(f"broadleaf: advise: {visible(' '.join(line.split()))}", err=True)

    monitor = None
    if hosts is not None:
        machines = read_hosts(Path(hosts))
        start = start_of(flavour=flavour, launcher=launcher, arguments=launcher_args)
        monitor = Monitor(start, machines, say, period_s=period_s, share=share)
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
        planner=planner,
    )
    if as_json:
        print_document(done)
