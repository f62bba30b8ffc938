"""`broadleaf run`: an unmodified MPI program with its broadcasts planned."""

from __future__ import annotations

import click

import broadleaf as bl
from broadleaf.cli.display import print_document
from broadleaf.cli.options import PlannerName, Size, example, json_option, launcher_options, ranks_option
from broadleaf.measured import measured_line
from broadleaf.mpi.find import Flavour


@click.command(
    "run",
    short_help="Starts an MPI program with its broadcasts planned.",
    epilog=example(
        "broadleaf run -n 2 --platform net.json -- "
        "python3 -c 'from mpi4py.MPI import COMM_WORLD as w; w.bcast(bytes(1 << 20))'"
    ),
)
@ranks_option(1, "Ranks to start.", required=True)
@click.option("--hosts", metavar="FILE", help="Hosts to start on, one per line: name slots=4.")
@click.option(
    "--check-hosts/--no-check-hosts",
    "is_checked",
    default=None,
    help="First verify that every host has the runtime.  [default: if --hosts names other machines]",
)
@click.option("--platform", metavar="FILE", help="Platform file to plan for, as measure writes it.")
@click.option("--plans", metavar="FOLDER", help="Plan files, each used for the calls that it matches.")
@click.option(
    "--planner",
    type=PlannerName(),
    metavar="NAME",
    help="A planner listed by broadleaf planners.  [default: best]",
)
@click.option("--min-size", type=Size(), help="Smaller messages go to the MPI's own broadcast.")
@click.option("--stats", metavar="FILE", help="Write the calls planned and passed through, with reasons.")
@click.option(
    "--compare", is_flag=True, help="Alternate planned and native broadcasts, and report the speedup."
)
@click.option("--observe", is_flag=True, help="Plan nothing, time every call, and predict the saving.")
@click.option("--adapt", is_flag=True, help="Replan when the network changes; see broadleaf advise.")
@click.option("--state", metavar="FOLDER", help="State folder shared with broadleaf advise.")
@click.option("--trace", metavar="FILE", help="Write each rank's sends and receives, for Perfetto.")
@launcher_options
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
    compare: bool,
    observe: bool,
    adapt: bool,
    state: str | None,
    trace: str | None,
    flavour: Flavour | None,
    launcher: str | None,
    launcher_args: str | None,
    as_json: bool,
    program: tuple[str, ...],
) -> int:
    """Starts an MPI program, unmodified, with its broadcasts planned.

    The exit code is the program's. At its end, lines on standard error report the broadcasts planned, the
    time in them, the calls passed through with reasons, and the date and quality of the measured platform;
    --compare and --observe add the gain. With --json, standard output has the statistics, and the program's
    own output goes to standard error.
    """
    if compare and observe:
        raise click.UsageError("--compare plans every other broadcast, --observe none; give one of them")
    ended = bl.run(
        program,
        ranks,
        platform=platform,
        planner=planner,
        plans=plans,
        min_bytes=min_size,
        hosts=hosts,
        check_hosts=is_checked,
        stats=stats,
        trace=trace,
        mode="compare" if compare else "observe" if observe else "plan",
        adapt=adapt,
        state=state,
        mpi=flavour,
        launcher=launcher,
        launcher_args=launcher_args,
        output_to_stderr=as_json,
    )
    if as_json:
        print_document(ended.statistics or {"exit_code": ended.code})
    else:
        measured = None if platform is None else measured_line(bl.Platform.load(platform))
        planned, passed, *gained = ended.summary()
        for line in [planned, passed, *([measured] if measured else []), *gained]:
            click.echo(f"broadleaf: {line}", err=True)
    return ended.code
