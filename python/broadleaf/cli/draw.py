"""`broadleaf draw`: the picture of a plan, its trees or its timeline."""

from __future__ import annotations

from pathlib import Path

import click

import broadleaf as bl
from broadleaf.cli.display import print_document, say
from broadleaf.cli.options import example, json_option, output_option


@click.command(
    "draw",
    short_help="Draws a plan's trees, or its timeline.",
    epilog=example("broadleaf draw net.json plan.json -o tree.svg"),
)
@click.argument("platform", metavar="PLATFORM", type=click.Path())
@click.argument("plan", metavar="PLAN", type=click.Path())
@output_option("The figure to write: .png, .svg or .pdf.", required=True)
@click.option("--timeline", is_flag=True, help="Draw who sends when, instead of the trees.")
@json_option
def command(platform: str, plan: str, output: str, timeline: bool, as_json: bool) -> None:
    """Draws a plan's trees, nodes coloured by cluster, the largest share first; or its timeline."""
    network = bl.Platform.load(platform)
    bl.draw(network, plan, output, timeline=timeline)
    if as_json:
        print_document({"plan": plan, "form": Path(output).suffix[1:].lower(), "written": output})
    else:
        say(f"{plan} on {network.name} drawn to {output}")
