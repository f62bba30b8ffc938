"""`broadleaf draw`: the picture of a plan."""

from __future__ import annotations

from pathlib import Path

import click

from broadleaf import Plan, Platform
from broadleaf.cli.display import print_document
from broadleaf.cli.options import example, json_option, output_option


@click.command("draw", epilog=example("broadleaf draw net.json plan.json -o tree.svg"))
@click.argument("platform", metavar="PLATFORM", type=click.Path())
@click.argument("plan", metavar="PLAN", type=click.Path())
@output_option("The figure to write: .png, .svg or .pdf.", required=True)
@json_option
def command(platform: str, plan: str, output: str, as_json: bool) -> None:
    """Draws a plan's trees, nodes coloured by cluster, the largest share first."""
    from broadleaf.plot.figures import form_of, save_figure

    form = form_of(Path(output))
    network, broadcast = Platform.load(platform), Plan.load(plan)
    from broadleaf.plot.trees import draw_trees

    save_figure(draw_trees(network, broadcast), Path(output))
    if as_json:
        print_document({"plan": plan, "form": form, "written": output})
    else:
        click.echo(f"{broadcast.planner} on {network.name} drawn to {output}")
