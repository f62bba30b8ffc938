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
@ranks_option(1, "How many to start.", required=True)
@click.option("--hosts", metavar="FILE", help="Machines to start on, a line each: name slots=4.")
@click.option(
    "--check-hosts/--no-check-hosts",
    "is_checked",
    default=None,
    help="Look first whether every host has the runtime.  [default: where --hosts names other machines]",
)
@click.option("--platform", metavar="FILE", help="The network to plan for, as measure writes it.")
@click.option("--plans", metavar="FOLDER", help="Plan files to use where one fits, instead of planning.")
@click.option(
    "--planner",
    type=PlannerName(),
    metavar="NAME",
    help="The planner, see broadleaf planners.  [default: best]",
)
@click.option("--min-size", type=Size(), help="Smaller messages go to the MPI's own broadcast.")
@click.option("--stats", metavar="FILE", help="Write what was intercepted, and why some of it was not.")
@click.option(
    "--compare", is_flag=True, help="Plan every other broadcast of a kind, and report what that gains"
)
@click.option(
    "--observe", is_flag=True, help="Plan nothing, time everything, and predict what plans would save."
)
@click.option(
    "--adapt", is_flag=True, help="Follow the network while the program runs, see broadleaf advise."
)
@click.option("--state", metavar="FOLDER", help="Where program and advisor meet, as broadleaf advise has it.")
@click.option("--trace", metavar="FILE", help="Write what every rank sent and received when, for Perfetto.")
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

    The exit code is the program's. Two lines on standard error say in the end what was planned, how long rank
    0 was in it, and what was passed through and why; a third, when and how well the platform was measured;
    after --compare and --observe another one, what planning gains. With --json the statistics are the
    document on standard output, and what the program prints goes to standard error.
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
