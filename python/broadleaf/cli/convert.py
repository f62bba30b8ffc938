"""`broadleaf convert`: a platform from one form into another, or a plan into MSCCL XML."""

from __future__ import annotations

from pathlib import Path

import click

from broadleaf import Plan, PlanError, Platform
from broadleaf.cli.display import print_document, say
from broadleaf.cli.options import Size, example, json_option, output_option
from broadleaf.clustered import clustered
from broadleaf.files import refuse_unwritable, write_whole
from broadleaf.formats.forms import FORMS, form_of, is_plan, load_any, save_any
from broadleaf.formats.msccl import chunks_of, msccl_xml, runs_of_plan
from broadleaf.formats.simgrid import PORT_MODELS


@click.command(
    "convert",
    short_help="Converts platforms between forms, and plans to MSCCL XML.",
    epilog=example("broadleaf convert net.json -o net.nx.json"),
)
@click.argument("file", metavar="FILE", type=click.Path())
@output_option("The file to write; its ending chooses the format.", required=True)
@click.option(
    "--to", "form", type=click.Choice(sorted(FORMS)), help="The format, where the ending is ambiguous."
)
@click.option("--at", "at_bytes", type=Size(), help="CSV only: message size at which to take rates.")
@click.option(
    "--shared-pipes/--no-shared-pipes",
    default=True,
    help="CSV only: whether hosts near each other are assumed to share their way to all others.",
)
@click.option("--hosts", metavar="FILE", help="SimGrid only: take these hosts, one per line, in that order.")
@click.option(
    "--clusters",
    "tolerance",
    type=float,
    metavar="SHARE",
    help="Regroup hosts by latency (Lowekamp); latencies in a cluster differ by this share, e.g. 0.3.",
)
@click.option("--port-model", type=click.Choice(PORT_MODELS), help="SimGrid only.  [default: one-port]")
@click.option("--platform", metavar="FILE", help="MSCCL only: the plan's platform.")
@click.option("--min", "min_bytes", type=Size(), help="MSCCL only: smallest message to use the plan for.")
@click.option(
    "--max",
    "max_bytes",
    type=Size(),
    help="MSCCL only: largest message to use it for (for MSCCL, exclusive).",
)
@json_option
def command(
    file: str,
    output: str,
    form: str | None,
    at_bytes: int | None,
    shared_pipes: bool,
    hosts: str | None,
    tolerance: float | None,
    port_model: str | None,
    platform: str | None,
    min_bytes: int | None,
    max_bytes: int | None,
    as_json: bool,
) -> None:
    """Converts a platform to another format, or a plan to MSCCL XML for GPUs.

    \b
    NAME.json     platform JSON (broadleaf-platform/1)
    NAME.nx.json  NetworkX node-link JSON, complete, one edge per link
    NAME.csv      matrices NAME.latency.csv (s) and NAME.bandwidth.csv
                  (bytes/s): node ids in the first row and column, an
                  empty cell for no link
    NAME.graphml  GraphML, complete, lists as JSON text; also reads the
                  Internet Topology Zoo where each edge has LinkSpeedRaw
    NAME.xml      reads SimGrid platforms: plain hosts, links and routes
                  directly, others through SimGrid if it is installed;
                  writes MSCCL XML of a plan for a link-capacity platform

    JSON input is recognised by its content. Matrices cannot hold gap tables and start-up times: --at 1MiB
    writes each link's rate at that message size. Matrices do not show what several pairs share: hosts that
    are nearer to each other than to all others are assumed to share the way there.
    """
    form = form or form_of(Path(output))
    refuse_unwritable(output)
    chunks = None
    if is_plan(Path(file)):
        if tolerance is not None:
            raise click.UsageError(f"{file} is a plan; --clusters groups the hosts of a platform")
        network, chunks = plan_to_msccl(Path(file), Path(output), form, platform, min_bytes, max_bytes)
        written = [output]
    else:
        # Matrices have no place for pipes.
        shared_pipes = shared_pipes and form != "csv"
        chosen = Path(hosts) if hosts is not None else None
        network = load_any(Path(file), chosen, port_model, shared_pipes=shared_pipes)
        if tolerance is not None:
            network = clustered(network, tolerance)
        written = save_any(network, Path(output), form, at_bytes)
    if as_json:
        document = {"platform": network.name, "nodes": len(network.nodes), "form": form}
        print_document({**document, "written": written} | ({"chunks": chunks} if chunks else {}))
    else:
        say(f"{network.name}: {len(network.nodes)} nodes written to {', '.join(written)}")
        if Path(file).suffix == ".csv" and (assumed := assumed_of(network)):
            say(f"assumed {assumed}; --no-shared-pipes leaves them out")
        if chunks:
            say(f"taken for messages whose number of elements is a multiple of {chunks}")


def assumed_of(network: Platform) -> str | None:
    """What the platform's provenance calls assumed."""
    assumed = network.to_dict().get("provenance", {}).get("assumed")
    return None if assumed is None else str(assumed)


def plan_to_msccl(
    file: Path, output: Path, form: str, platform: str | None, min_bytes: int | None, max_bytes: int | None
) -> tuple[Platform, int]:
    """Writes a plan as MSCCL XML; returns its platform and the number of chunks of a message."""
    if form != "msccl":
        raise ValueError(f"{file}: a plan is converted to MSCCL XML only; name the output NAME.xml")
    if platform is None:
        raise ValueError(f"{file}: a plan needs its platform for the order of ranks; add --platform FILE")
    network = Platform.load(platform)
    try:
        plan = Plan.load(file)
        text = msccl_xml(network, plan, min_bytes, max_bytes)
    except PlanError as error:
        raise PlanError(str(error) if str(error).startswith(str(file)) else f"{file}: {error}") from None
    write_whole(output, text)
    return network, chunks_of(runs_of_plan(plan))
