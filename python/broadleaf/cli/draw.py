"""`broadleaf draw`: the picture of a plan, its trees or its timeline, or several plans racing."""

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
@click.argument("plans", metavar="PLAN...", nargs=-1, required=True, type=click.Path())
@output_option("The figure to write: .png, .svg or .pdf.", required=True)
@click.option("--timeline", is_flag=True, help="Draw each node's sends and receives in time.")
@click.option("--race", "is_race", is_flag=True, help="Draw several plans on one clock, as an animated SVG.")
@json_option
def command(
    platform: str, plans: tuple[str, ...], output: str, timeline: bool, is_race: bool, as_json: bool
) -> None:
    """Draws a plan's trees, the largest share first and nodes coloured by cluster, or its timeline.

    --race draws several plans of one message on one clock: a host's bar fills as the host receives.
    """
    if is_race and timeline:
        raise click.UsageError("--race and --timeline are two figures; ask for one")
    if not is_race and len(plans) > 1:
        raise click.UsageError(f"{len(plans)} plans; a figure has one, or --race them")
    network = bl.Platform.load(platform)
    if is_race:
        bl.race(network, plans, output)
    else:
        bl.draw(network, plans[0], output, timeline=timeline)
    if as_json:
        form = Path(output).suffix[1:].lower()
        print_document({"plan": plans[0], "plans": list(plans), "form": form, "written": output})
    else:
        say(f"{', '.join(plans)} on {network.name} drawn to {output}")
