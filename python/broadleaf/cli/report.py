"""`broadleaf report`: one page that shows a platform and the plans for it."""

from __future__ import annotations

from pathlib import Path

import click

import broadleaf as bl
from broadleaf.cli.display import print_document, say, wait_for
from broadleaf.cli.options import Sizes, example, json_option, output_option
from broadleaf.files import read_json, refuse_unwritable
from broadleaf.reporting import TIME_LIMIT_S
from broadleaf.reporting.measured import is_stats


class SizesOrNone(Sizes):
    """Sizes, or `none` for an empty list."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        return [] if value == "none" else super().convert(value, param, ctx)


def is_run(file: str) -> bool:
    """Whether a file holds statistics of a run; a file that cannot be read holds none."""
    try:
        document = read_json(file)
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and is_stats(document)


def show_runs(files: tuple[str, ...], output: str | None, as_json: bool) -> None:
    output = output or str(Path(files[0]).with_suffix(".html"))
    made = bl.report_runs(files, output)
    if as_json:
        print_document({"runs": list(files), "written": made.path, "bytes": made.bytes, "kinds": made.kinds})
    else:
        kinds = "1 kind" if made.kinds == 1 else f"{made.kinds} kinds"
        say(f"{kinds} of broadcast shown in {made.path}, {made.bytes} bytes")


@click.command(
    "report",
    short_help="Shows platform and plans in one page that opens from disk.",
    epilog=example("broadleaf report net.json plan.json -o report.html"),
)
@click.argument("platform", metavar="PLATFORM", type=click.Path())
@click.argument("plans", metavar="PLAN...", nargs=-1, type=click.Path())
@output_option("The page to write, .html.  [default: beside the first plan, by its name]")
@click.option("--stats", "stats", metavar="FILE", multiple=True, help="Statistics of broadleaf run --stats.")
@click.option(
    "--sizes",
    type=SizesOrNone(),
    metavar="SIZE,...",
    help="Sizes at which to compare all planners, or 'none'.  [default: up to the first plan's size]",
)
@click.option(
    "--time-limit",
    "time_limit_s",
    type=click.FloatRange(0, min_open=True),
    default=TIME_LIMIT_S,
    show_default=True,
    metavar="SECONDS",
    help="At each size, start no planner after this time.",
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
    busiest resources beside the bound, and every planner's predicted time against message size. With two
    plans both run on one clock.

    Files of broadleaf run --stats alone make a page of the measured times: planned calls beside native ones
    after run --compare.
    """
    if is_run(platform):
        show_runs((platform, *plans), output, as_json)
        return
    if not plans:
        context = click.get_current_context()
        raise click.MissingParameter(ctx=context, param=context.command.params[1])
    output = output or str(Path(plans[0]).with_suffix(".html"))
    refuse_unwritable(output)
    network = bl.Platform.load(platform)
    made = wait_for(
        f"simulating and comparing planners on {network.name}",
        lambda: bl.report(network, plans, output, stats=stats, sizes=sizes, time_limit_s=time_limit_s),
    )
    if as_json:
        print_document(
            {
                "platform": network.name,
                "plans": list(plans),
                "written": made.path,
                "bytes": made.bytes,
                "transfers": made.transfers,
                "sizes": made.sizes,
                "verdicts": made.verdicts,
            }
        )
    else:
        for plan, verdict in zip(plans, made.verdicts, strict=True):
            say(f"{plan}: {' '.join(verdict)}")
        shown = "1 plan" if len(plans) == 1 else f"{len(plans)} plans"
        say(f"{shown} on {network.name} shown in {made.path}, {made.bytes} bytes")
