"""`broadleaf push`: a file or a folder to every host."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.text import Text

import broadleaf as bl
from broadleaf.cli.display import print_document, print_table, table_of
from broadleaf.cli.options import example, json_option, launcher_options, ranks_option
from broadleaf.errors import visible
from broadleaf.mpi.find import Flavour
from broadleaf.mpi.own_rank import OwnRank, own_rank
from broadleaf.pushing import Pushed, join, release
from broadleaf.pushing.job import LateError, Progress
from broadleaf.units import amount, parse_size, rate, seconds

# The exit code if a host lacks the file.
INCOMPLETE = 1
# Of a digest in the table; --json has all of it.
SHOWN_DIGITS = 16


class Rate(click.ParamType[float]):
    """Bytes per second on the command line: 200MB/s, or 200MB."""

    name = "rate"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return float(parse_size(str(value).removesuffix("/s")))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Mode(click.ParamType[int]):
    """Permissions in octal digits."""

    name = "mode"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            mode = int(str(value), 8)
        except ValueError:
            mode = -1
        if not 0 <= mode <= 0o7777:
            self.fail(f"{value!r} is no mode; give octal digits, such as 644", param, ctx)
        return mode


@click.command(
    "push",
    short_help="Sends a file or a folder to every host.",
    epilog=example("broadleaf push net.json --to copy-{rank}.json -n 3"),
)
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option(
    "--to",
    required=True,
    metavar="PATH",
    help="The path on every host; for several SOURCEs, their folder. {host} and {rank} are replaced.",
)
@ranks_option(1, "How many hosts, one rank on each.  [default: all of --hosts]")
@click.option("--hosts", metavar="FILE", help="Machines to push to, one per line; the first has SOURCE.")
@click.option("--platform", metavar="FILE", help="The network to plan for, as measure writes it.")
@click.option(
    "--save-platform",
    metavar="FILE",
    help="Measure the network first, as `broadleaf measure` does, and keep the file.",
)
@click.option("--verify", is_flag=True, help="At the end, read every file again from the disk.")
@click.option("--limit", type=Rate(), metavar="RATE", help="Highest rate at which a host receives: 200MB/s.")
@click.option("--mode", type=Mode(), metavar="OCTAL", help="The mode of all files.  [default: as in SOURCE]")
@click.option(
    "--owner", metavar="USER[:GROUP]", help="The owner of all files.  [default: the user who pushes]"
)
@click.option("--keep-set-id", is_flag=True, help="Keep set-user-id and set-group-id bits.")
@click.option("--report", metavar="FILE", help="A page with the network's map and the real times, .html.")
@click.option("--adapt", is_flag=True, help="Replan when the network changes; see broadleaf advise.")
@click.option("--state", metavar="FOLDER", help="State folder shared with broadleaf advise.")
@launcher_options
@json_option
def command(
    sources: tuple[str, ...],
    to: str,
    ranks: int | None,
    hosts: str | None,
    platform: str | None,
    save_platform: str | None,
    verify: bool,
    limit: float | None,
    mode: int | None,
    owner: str | None,
    keep_set_id: bool,
    report: str | None,
    adapt: bool,
    state: str | None,
    flavour: Flavour | None,
    launcher: str | None,
    launcher_args: str | None,
    as_json: bool,
) -> int:
    """Sends files and folders to every host by planned broadcasts; every block is checked by its digest.

    A file gets its name when it is complete. Data that a host already has, from an interrupted push or an
    older version of the file, are not sent again. The exit code is 0 if every host has the file, else 1; the
    table lists every host with its fault, if any.
    """
    own = own_rank() if ranks is None and hosts is None and launcher is None else None
    if own is not None and not own.is_connected:
        # The first task starts the ranks beside this step, the others have nothing to do.
        if not own.is_first:
            return 0
        ranks, own = own.ranks, None
        launcher_args = f"--overlap {launcher_args or ''}"
    if own is not None and not own.is_first:
        join(own, mpi=flavour, platform=platform, has_report=report is not None)
    with shown() as progress, others_released(own, flavour):
        pushed = bl.push(
            sources,
            to,
            ranks,
            hosts=hosts,
            platform=platform,
            save_platform=save_platform,
            verify=verify,
            limit_bytes_per_s=limit,
            mode=mode,
            owner=owner,
            keep_set_id=keep_set_id,
            report=report,
            adapt=adapt,
            state=state,
            mpi=flavour,
            launcher=launcher,
            launcher_args=launcher_args,
            progress=progress,
            own=own,
        )
    if as_json:
        print_document(pushed.to_dict())
    else:
        print_hosts(pushed)
    return 0 if pushed.is_everywhere else INCOMPLETE


@contextmanager
def others_released(own: OwnRank | None, mpi: Flavour | None) -> Iterator[None]:
    """Bad input at the first task also ends the others, which wait for it in MPI_Init."""
    try:
        yield
    except (ValueError, OSError) as error:
        if own is not None and not isinstance(error, LateError):
            release(own, mpi)
        raise


@contextmanager
def shown() -> Iterator[Progress | None]:
    """One line on standard error, if that is a terminal: percent, rate, slowest host, and the time left."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with console.status("starting") as status:

        def update(done: int, total: int, elapsed_s: float, slowest: str) -> None:
            speed = done / elapsed_s if elapsed_s else 0.0
            left = f", {seconds((total - done) / speed)} left" if speed else ""
            share = f"{100 * done / max(total, 1):3.0f} %"
            status.update(Text(f"{share}  {rate(speed or None)}, slowest {visible(slowest)}{left}"))

        yield update


def print_hosts(pushed: Pushed) -> None:
    """A line a host."""
    have = sum(host["fault"] is None for host in pushed.hosts)
    what = amount(pushed.bytes) + (f" in {pushed.files} files" if pushed.files != 1 else "")
    table = table_of(
        f"{pushed.to}: {what} on {have} of {len(pushed.hosts)} hosts after {seconds(pushed.seconds)}",
        *("host", "received", "written", "rate", "digest", "fault"),
        numbers=("received", "written", "rate"),
    )
    for host in pushed.hosts:
        received, written, took_s = host["received_bytes"], host["written_bytes"], host["seconds"]
        table.add_row(
            host["host"],
            "" if received is None else amount(received),
            "" if written is None else amount(written),
            rate(received / took_s) if received else "",
            (host["digest"] or "")[:SHOWN_DIGITS],
            host["fault"] or "",
        )
    print_table(table)
    for host in pushed.hosts:
        if host["damaged_blocks"]:
            print(
                f"broadleaf: {visible(host['host'])}: {host['damaged_blocks']} blocks arrived damaged"
                " and were sent again; look at its network",
                file=sys.stderr,
            )
