"""`broadleaf bench`: Broadleaf beside every other broadcast that the MPI at hand can use, and the limit."""

from __future__ import annotations

import sys

import click

import broadleaf as bl
from broadleaf.benchmarks import COLLECTIVES, OURS, RANKS, REPETITIONS, ROUNDS, Row
from broadleaf.benchmarks import SIZES as DEFAULT_SIZES
from broadleaf.benchmarks import namespaces as bed
from broadleaf.benchmarks import smpi as simulated
from broadleaf.cli.display import print_document, print_table, table_of
from broadleaf.cli.options import Sizes, example, json_option, launcher_options, ranks_option
from broadleaf.errors import visible
from broadleaf.mpi.find import Flavour

SIZES = click.option("--sizes", type=Sizes(), default=DEFAULT_SIZES, show_default=True, help="Message sizes.")
COLLECTIVE = click.option(
    "--collective",
    type=click.Choice(COLLECTIVES),
    default="bcast",
    show_default=True,
    help="Sizes: a rank's block, or the vector of a reduction.",
)
ALGORITHMS = click.option(
    "--algorithms", default="", metavar="NAMES", help="Only these, separated by commas."
)


@click.group(
    "bench",
    short_help="Times Broadleaf beside every algorithm of the MPI.",
    epilog=example("broadleaf bench local -n 2 --sizes 64KiB --repetitions 3 --rounds 1"),
)
def command() -> None:
    """Times Broadleaf beside every algorithm of the MPI for a collective, and prints the limit."""


@command.command(
    "local",
    short_help="Ranks of this machine.",
    epilog=example("broadleaf bench local -n 2 --sizes 64KiB --repetitions 3 --rounds 1"),
)
@ranks_option(2, "Ranks to start.", default=RANKS, show_default=True)
@COLLECTIVE
@SIZES
@click.option(
    "--repetitions", type=click.IntRange(1), default=REPETITIONS, show_default=True, help="Calls in each run."
)
@click.option(
    "--rounds",
    type=click.IntRange(1),
    default=ROUNDS,
    show_default=True,
    help="Runs of each algorithm, in turn.",
)
@launcher_options
@json_option
def local(
    ranks: int,
    collective: str,
    sizes: list[int],
    repetitions: int,
    rounds: int,
    flavour: Flavour | None,
    launcher: str | None,
    launcher_args: str | None,
    as_json: bool,
) -> None:
    """Times ranks of this machine; the limit is the time of the copies alone."""
    rows = bl.bench(
        "local",
        sizes,
        collective=collective,
        n=ranks,
        repetitions=repetitions,
        rounds=rounds,
        mpi=flavour,
        launcher=launcher,
        launcher_args=launcher_args,
    )
    show(rows, as_json)


@command.command(
    "smpi",
    short_help="Simulated time under SimGrid's SMPI.",
    epilog=example("broadleaf bench smpi --platform platforms/smp-16.json --sizes 64KiB --algorithms mpich"),
)
@click.option("--platform", required=True, metavar="FILE", help="Broadleaf's JSON or SimGrid's XML.")
@click.option("--hosts", metavar="FILE", help="XML only: hosts in rank order, one per line.")
@COLLECTIVE
@SIZES
@ALGORITHMS
@click.option(
    "--timeout",
    type=float,
    default=simulated.TIMEOUT_S,
    show_default=True,
    help="Seconds of real time per run.",
)
@json_option
def smpi(
    platform: str,
    hosts: str | None,
    collective: str,
    sizes: list[int],
    algorithms: str,
    timeout: float,
    as_json: bool,
) -> None:
    """Takes the simulated time of the second call of a run, under SimGrid's SMPI."""
    compared = names(algorithms)
    rows = bl.bench(
        "smpi",
        sizes,
        collective=collective,
        platform=platform,
        hosts=hosts,
        algorithms=compared,
        timeout_s=timeout,
        told=tell,
    )
    show(rows, as_json)


@command.command(
    "namespaces",
    short_help="Real TCP between network namespaces; needs root.",
    epilog=example("broadleaf bench namespaces --sizes 256KiB --algorithms default"),
)
@click.option(
    "--platform", metavar="FILE", default=str(bed.DEFAULT_PLATFORM), help="Platform file with the rates."
)
@click.option(
    "--mpi",
    "flavour",
    type=click.Choice(["openmpi", "mpich"]),
    default="openmpi",
    show_default=True,
    help="The MPI to compare with.",
)
@COLLECTIVE
@SIZES
@ALGORITHMS
@click.option("--timeout", type=float, default=bed.TIMEOUT_S, show_default=True, help="Seconds per run.")
@json_option
def namespaces(
    platform: str,
    flavour: Flavour,
    collective: str,
    sizes: list[int],
    algorithms: str,
    timeout: float,
    as_json: bool,
) -> None:
    """Times real TCP between network namespaces of this machine with shaped rates; needs root."""
    compared = names(algorithms)
    rows = bl.bench(
        "namespaces",
        sizes,
        collective=collective,
        platform=platform,
        mpi=flavour,
        algorithms=compared,
        timeout_s=timeout,
        told=tell,
    )
    show(rows, as_json)


def names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def tell(line: str) -> None:
    if sys.stderr.isatty():
        print(visible(line), file=sys.stderr)


def show(rows: list[Row], as_json: bool) -> None:
    if as_json:
        print_document({"rows": [row.to_dict() for row in rows]})
        return
    table = table_of(
        "",
        "bytes",
        "algorithm",
        "seconds",
        "x limit",
        "limit s",
        numbers=("bytes", "seconds", "x limit", "limit s"),
    )
    for row in sorted(rows, key=lambda row: (row.bytes, row.seconds is None, row.seconds or 0)):
        seconds = row.seconds
        times = f"{seconds / row.limit_s:.2f}" if seconds is not None and row.limit_s else "-"
        shown = ("timed out" if seconds is None else f"{seconds:.6f}", times)
        mark = "* " if row.algorithm.startswith(OURS) else ""
        table.add_row(
            str(row.bytes), mark + row.algorithm, *shown, f"{row.limit_s:.6f}" if row.limit_s else "-"
        )
    print_table(table)
