"""`broadleaf report`: one page that shows a platform and what plans make of it."""

from __future__ import annotations

from pathlib import Path

import click

import broadleaf as bl
from broadleaf.cli.display import print_document, say, wait_for
from broadleaf.cli.options import Sizes, example, json_option, output_option
from broadleaf.files import refuse_unwritable, write_whole
from broadleaf.units import size


class SizesOrNone(Sizes):
    """Sizes, or `none` for an empty list."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        return [] if value == "none" else super().convert(value, param, ctx)


@click.command(
    "report",
    short_help="Shows platform and plans in one page that opens from disk.",
    epilog=example("broadleaf report net.json plan.json -o report.html"),
)
@click.argument("platform", metavar="PLATFORM", type=click.Path())
@click.argument("plans", metavar="PLAN...", nargs=-1, required=True, type=click.Path())
@output_option("The page to write, .html.  [default: beside the first plan, by its name]")
@click.option("--stats", "stats", metavar="FILE", multiple=True, help="What broadleaf run --stats wrote.")
@click.option(
    "--sizes",
    type=SizesOrNone(),
    metavar="SIZE,...",
    help="Where every planner is compared; 'none' leaves that out.  [default: up to the first plan's size]",
)
@click.option(
    "--time-limit",
    "time_limit_s",
    type=click.FloatRange(0, min_open=True),
    default=3.0,
    show_default=True,
    metavar="SECONDS",
    help="At each of those sizes, begin no planner after that.",
)
@json_option
def command(
    platform: str,
    plans: tuple[str, ...],
    output: str | None,
    stats: tuple[str, ...],
    sizes: list[int] | None,
    time_limit_s: float,
    as_json: bool,
) -> None:
    """Shows a platform and plans on it in one page that opens from disk and needs no network.

    The page has the map with the segments under way at any time, the timeline of every node and link, the
    busiest resources beside the bound, and every planner's predicted time against message size.
    """
    from broadleaf.report.broadcasts import broadcast_of
    from broadleaf.report.measured import beside_predicted, rows_of
    from broadleaf.report.page import page_of
    from broadleaf.report.sizes import curves_of, sizes_below

    output = output or str(Path(plans[0]).with_suffix(".html"))
    refuse_unwritable(output)
    network = bl.Platform.load(platform)
    rows = [(file, rows_of(file)) for file in stats]
    broadcasts = wait_for("simulating", lambda: [broadcast_of(network, path) for path in plans])
    # An allgather has no one root from which planners could be compared.
    first = next(
        (each.plan for each in broadcasts if each.plan.collective != "allgather"), broadcasts[0].plan
    )
    if sizes is None:
        sizes = sizes_below(first.message_bytes)
    curves = None
    if sizes and first.collective != "allgather":
        shown = ", ".join(size(each) for each in sizes)
        asked = (first.root, first.collective, sizes, time_limit_s)
        curves = wait_for(f"comparing planners at {shown}", lambda: curves_of(network, *asked))
    measured = [row for file, each in rows for row in beside_predicted(network, each, file)]
    page = page_of(network, broadcasts, curves, measured)
    write_whole(Path(output), page)
    told = {
        "platform": network.name,
        "plans": list(plans),
        "written": output,
        "bytes": len(page.encode()),
        "transfers": [len(broadcast.trace.transfers) for broadcast in broadcasts],
        "sizes": sizes,
    }
    if as_json:
        print_document(told)
    else:
        say(f"{len(plans)} plan(s) on {network.name} shown in {output}, {told['bytes']} bytes")
