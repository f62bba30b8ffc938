"""`broadleaf draw`: the picture of a plan, its trees or its timeline."""

from __future__ import annotations

from pathlib import Path

import click

from broadleaf import Plan, Platform
from broadleaf.cli.display import print_document, say
from broadleaf.cli.options import example, json_option, output_option
from broadleaf.errors import naming
from broadleaf.files import refuse_unwritable


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
    from broadleaf.plot.figures import form_of, save_figure

    form = form_of(Path(output))
    refuse_unwritable(output)
    network, broadcast = Platform.load(platform), Plan.load(plan)
    from broadleaf.plot.timeline import draw_timeline
    from broadleaf.plot.trees import draw_trees

    draw_figure = draw_timeline if timeline else draw_trees
    with naming(plan):
        figure = draw_figure(network, broadcast)
    save_figure(figure, Path(output))
    if as_json:
        print_document({"plan": plan, "form": form, "written": output})
    else:
        say(f"{broadcast.planner} on {network.name} drawn to {output}")
