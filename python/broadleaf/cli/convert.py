"""`broadleaf convert`: a platform from one form into another, or a plan into MSCCL XML."""

from __future__ import annotations

from pathlib import Path

import click

from broadleaf import Plan, PlanError, Platform
from broadleaf.cli.display import print_document, say
from broadleaf.cli.options import Size, example, json_option, output_option
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
@click.option("--to", "form", type=click.Choice(sorted(FORMS)), help="The form to write.")
@click.option("--at", "at_bytes", type=Size(), help="CSV only: take each link's rate at this message size.")
@click.option("--hosts", metavar="FILE", help="SimGrid only: between these hosts, one a line, in that order.")
@click.option("--port-model", type=click.Choice(PORT_MODELS), help="SimGrid only.  [default: one-port]")
@click.option("--platform", metavar="FILE", help="Of a plan to MSCCL XML: the platform it is for.")
@click.option("--min", "min_bytes", type=Size(), help="MSCCL only: the smallest message it is for.")
@click.option(
    "--max", "max_bytes", type=Size(), help="MSCCL only: the largest message (MSCCL: the first too large)."
)
@json_option
def command(
    file: str,
    output: str,
    form: str | None,
    at_bytes: int | None,
    hosts: str | None,
    port_model: str | None,
    platform: str | None,
    min_bytes: int | None,
    max_bytes: int | None,
    as_json: bool,
) -> None:
    """Converts a platform between forms, or a plan into what GPUs execute.

    \b
    NAME.json     platform JSON (broadleaf-platform/1)
    NAME.nx.json  NetworkX node-link JSON; keeps everything, meshes and bridges written out
    NAME.csv      two matrices, NAME.latency.csv (seconds) and NAME.bandwidth.csv (bytes/s):
                  first row and column are node ids, an empty cell is no link
    NAME.graphml  GraphML; keeps everything, lists as JSON text; read too: the Internet Topology Zoo's files,
                  where every edge has LinkSpeedRaw (bit/s)
    NAME.xml      read: a SimGrid platform, plain hosts, links and routes by itself, any other by asking
                  SimGrid where it is installed; written: MSCCL XML of a plan for a link-capacity platform

    JSON input is recognised by its content. Matrices cannot hold gap tables and start-up times: --at 1MiB
    writes the rate that a transfer of that size gets.
    """
    form = form or form_of(Path(output))
    refuse_unwritable(output)
    chunks = None
    if is_plan(Path(file)):
        network, chunks = plan_to_msccl(Path(file), Path(output), form, platform, min_bytes, max_bytes)
        written = [output]
    else:
        network = load_any(Path(file), Path(hosts) if hosts is not None else None, port_model)
        written = save_any(network, Path(output), form, at_bytes)
    if as_json:
        document = {"platform": network.name, "nodes": len(network.nodes), "form": form}
        print_document({**document, "written": written} | ({"chunks": chunks} if chunks else {}))
    else:
        say(f"{network.name}: {len(network.nodes)} nodes written to {', '.join(written)}")
        if chunks:
            say(f"taken for messages whose number of elements is a multiple of {chunks}")


def plan_to_msccl(
    file: Path, output: Path, form: str, platform: str | None, min_bytes: int | None, max_bytes: int | None
) -> tuple[Platform, int]:
    """Writes a plan as MSCCL XML; returns its platform, and in how many chunks a message is cut."""
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
