"""`broadleaf measure`: a platform from real messages between MPI ranks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import permutations, product

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

import broadleaf as bl
from broadleaf.changes import changes
from broadleaf.cli.display import print_document, print_table, say, table_of
from broadleaf.cli.options import Size, example, json_option, launcher_options, output_option, ranks_option
from broadleaf.maps import map_of
from broadleaf.measured import measured_line, measured_of
from broadleaf.measuring import TOLERANCE, Progress
from broadleaf.mpi.find import Flavour
from broadleaf.provenance import Asked, asked_of
from broadleaf.units import rate, seconds

# The probe's stages, as the progress bars name them.
STAGES = {
    "latencies": "latency of every pair",
    "screening": "one large message per pair",
    "tables": "gap and overheads by size",
    "recheck": "implausible samples, repeated",
    "pipes": "several pairs at once",
    "ports": "one node to several at once",
    "again": "pairs that differ, repeated",
    "rehearsal": "jobs that broadcast",
}

# Links that differ from the others of their cluster are shown one by one up to here.
MOST_LINKS = 12


@click.command(
    "measure",
    short_help="Measures the network between MPI ranks.",
    epilog=example("broadleaf measure -n 2 --time 3 -o net.json"),
)
@ranks_option(1, "Ranks to start; each is a node.")
@click.option("--hosts", metavar="FILE", help="Hosts to start on, one per line: name slots=4.")
@click.option(
    "--map",
    "map_file",
    metavar="FILE",
    help="Measure a few hosts of each switch for all: Slurm's topology.conf or topology.yaml, "
    "ibnetdiscover's listing, or a folder of hwloc's XML.",
)
@click.option(
    "--again",
    metavar="FILE",
    help="Repeat the measurement of that platform, and list the changes.",
)
@output_option("The platform file to write; optional with --again.")
@click.option(
    "--tolerance",
    type=float,
    metavar="SHARE",
    help="Largest relative difference within a cluster, and of pairs that share a table.  "
    f"[default: {TOLERANCE}]",
)
@click.option(
    "--time",
    "budget_s",
    type=float,
    metavar="SECONDS",
    help="Time budget, where the network permits.  "
    "[default: 4 + 1.5 per rank, at most 40; between machines three times that, at most 40 up to 16 ranks]",
)
@click.option(
    "--largest", type=Size(), metavar="SIZE", help="Largest message of the gap tables.  [default: 4MiB]"
)
@click.option("--samples", metavar="FILE", help="Write every raw sample, one JSON object per line.")
@launcher_options
@json_option
def command(
    ranks: int | None,
    hosts: str | None,
    map_file: str | None,
    again: str | None,
    output: str | None,
    tolerance: float | None,
    budget_s: float | None,
    largest: int | None,
    samples: str | None,
    flavour: Flavour | None,
    launcher: str | None,
    launcher_args: str | None,
    as_json: bool,
) -> None:
    """Measures the network between MPI ranks: latency, gap and overheads by size, clusters, shared pipes.

    Links with equal properties are written once, as a mesh or a bridge. --json also prints the platform on
    standard output.

    With --map, up to four hosts of each switch are measured, out of --hosts or the allocation's; the others
    get the links of these. A pipe that more than four pairs would fill is not found.
    """
    before = None if again is None else bl.Platform.load(again)
    if before is None and (output is None or (ranks is None) == (map_file is None)):
        raise click.UsageError("measure needs -o FILE with either -n RANKS or --map FILE, or --again FILE")
    if before is not None and (map_of(before) is None) != (map_file is None):
        given = "without --map" if map_file else "with --map FILE; repeat it with that file"
        raise click.UsageError(f"{again} was measured {given}")
    asked = Asked(ranks or 1, [], None, TOLERANCE, None, None)
    if before is not None and ranks is None:
        asked = asked_of(before, str(again))
    # The launcher of one MPI cannot start programs of another.
    if launcher is None and flavour in (None, asked.flavour):
        launcher, launcher_args = asked.launcher, launcher_args or asked.launcher_args
        flavour = asked.flavour
    with shown() as progress:
        platform = bl.measure(
            None if map_file else asked.ranks,
            hosts or asked.hosts,
            output,
            name=before.name if before is not None and output is None else None,
            map=map_file,
            mpi=flavour,
            launcher=launcher,
            launcher_args=launcher_args,
            tolerance=asked.tolerance if tolerance is None else tolerance,
            budget_s=asked.budget_s if budget_s is None else budget_s,
            largest_bytes=asked.largest_bytes if largest is None else largest,
            samples=samples,
            progress=progress,
        )
    found = None if before is None else changes(before, platform)
    if as_json:
        more = {} if found is None else {"changes": [asdict(change) for change in found]}
        print_document({**platform.to_dict(), **more})
        return
    print_summary(platform, output or platform.name)
    for line in warnings_of(platform):
        say(f"Note: {line}")
    say(measured_line(platform) or "")
    if found is not None:
        since = ((measured_of(before) if before else None) or {}).get("date", "then")
        say(f"Since {since[:16].replace('T', ' ')}:" + (" nothing has changed" if not found else ""))
        for change in found:
            say(f"  {change}")


def warnings_of(platform: bl.Platform) -> list[str]:
    uneven = (map_of(platform) or {}).get("uneven", [])
    differing = [
        f"the measured hosts of {switch} are in several clusters; measure it whole" for switch in uneven
    ]
    return [*(measured_of(platform) or {}).get("warnings", []), *differing]


@contextmanager
def shown() -> Iterator[Progress | None]:
    """A progress bar for each stage on standard error, if that is a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*columns, console=console, transient=True) as bars:
        started: dict[str, TaskID] = {}

        def update(stage: str, done: int, total: int) -> None:
            if stage not in started:
                for earlier in started.values():
                    bars.stop_task(earlier)
                started[stage] = bars.add_task(STAGES[stage], total=total)
            bars.update(started[stage], completed=done, total=total)

        yield update


def counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' * (number != 1)}"


def print_summary(platform: bl.Platform, output: str) -> None:
    """A row for each mesh, bridge and pipe, and for the first few single links; the file has all."""
    document = platform.to_dict()
    clusters: dict[str, list[str]] = {}
    for node in document["nodes"]:
        clusters.setdefault(node["cluster"], []).append(node["id"])
    links = document.get("links", [])
    explicit = {(link["from"], link["to"]) for link in links}
    # For each kind of link: its label and its pairs.
    kinds: list[tuple[str, list[tuple[str, str]]]] = []
    for mesh in document.get("meshes", []):
        pairs = [pair for pair in permutations(mesh["nodes"], 2) if pair not in explicit]
        kinds.append((f"among {len(mesh['nodes'])} nodes, {mesh['nodes'][0]} ...", pairs))
    for bridge in document.get("bridges", []):
        source, target = bridge["from_cluster"], bridge["to_cluster"]
        kinds.append((f"{source} to {target}", list(product(clusters[source], clusters[target]))))
    for source, target in sorted(explicit)[:MOST_LINKS]:
        kinds.append((f"{source} to {target}", [(source, target)]))
    table = table_of(
        f"{output}: {counted(len(platform.nodes), 'node')} in {counted(len(clusters), 'cluster')}",
        *("links", "pairs", "latency", "1 MiB takes", "rate"),
        numbers=("pairs", "latency", "1 MiB takes", "rate"),
    )
    for text, pairs in kinds:
        if not pairs:
            continue
        latency_s = (platform.link(*pairs[0]) or {})["latency_s"]
        time_s = platform.transfer_s(*pairs[0], 1 << 20)
        table.add_row(text, str(len(pairs)), seconds(latency_s), seconds(time_s), rate((1 << 20) / time_s))
    if len(links) > MOST_LINKS:
        table.add_row(f"{len(links) - MOST_LINKS} more links", "", "", "", "")
    for pipe in document.get("shared", []):
        table.add_row(f"all through {pipe['id']}", "", "", "", rate(pipe["bandwidth_bytes_per_s"]))
    print_table(table)
