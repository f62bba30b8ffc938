"""`broadleaf plan`: the fastest plan for a collective, and the times of the others."""

from __future__ import annotations

from pathlib import Path

import click

import broadleaf as bl
from broadleaf.cli.display import interval_fields, print_document, print_table, say, table_of, wait_for
from broadleaf.cli.options import (
    PlannerName,
    SegmentSize,
    Size,
    collective_option,
    example,
    json_option,
    output_option,
    root_of,
    root_option,
    weights_option,
)
from broadleaf.collectives import moved
from broadleaf.files import refuse_unwritable
from broadleaf.measured import measured_line
from broadleaf.units import interval, rate, seconds, size


@click.command(
    "plan",
    short_help="Plans a collective: the fastest plan, beside the bound.",
    epilog=example("broadleaf plan net.json --root a --size 64MiB -o plan.json"),
)
@click.argument("platform", metavar="PLATFORM", type=click.Path())
@root_option
@click.option(
    "--size", "message_bytes", type=Size(), required=True, help="Message size: 64KiB, 1MB, '4 GiB'."
)
@click.option(
    "--planner",
    type=PlannerName(),
    metavar="NAME",
    default="best",
    show_default=True,
    help="A planner listed by broadleaf planners.",
)
@collective_option
@weights_option
@click.option(
    "--segment",
    "segment_bytes",
    type=SegmentSize(),
    default="auto",
    show_default=True,
    help="Segment size; auto: the fastest of those searched.",
)
@click.option(
    "--protocol",
    metavar="NAME",
    default="eager",
    show_default=True,
    help="eager, or rendezvous: a ready message precedes each transfer.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of randomised searches."
)
@click.option(
    "--time-limit",
    "time_limit_s",
    type=float,
    metavar="SECONDS",
    help="End the search after this time.  [default: a fixed amount of work]",
)
@click.option("--figure", metavar="FILE", help="Draw the comparison: .png, .svg or .pdf.")
@output_option("The plan file to write.")
@json_option
def command(
    platform: str,
    root: str | None,
    message_bytes: int,
    planner: str,
    collective: str,
    weights: dict[str, float] | None,
    segment_bytes: int | None,
    protocol: str,
    seed: int,
    time_limit_s: float | None,
    figure: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Plans a collective: --planner best runs every planner that supports it, and keeps the fastest plan.

    --json prints the plan, and every planner's result under "tried".
    """
    if figure is not None:
        from broadleaf.plot.figures import form_of

        form_of(Path(figure))
    refuse_unwritable(figure, output)
    network = bl.Platform.load(platform)
    asked = (
        root_of(network, root),
        message_bytes,
        planner,
        collective,
        segment_bytes,
        seed,
        time_limit_s,
        protocol,
        weights,
    )
    doing = f"planning {size(message_bytes)} on {network.name}"
    comparison = wait_for(doing, lambda: bl.compare(network, *asked))
    measured = measured_line(network)
    if as_json:
        said = {} if measured is None else {"measured": measured}
        print_document({**comparison.plan.to_dict(), **tried_fields(comparison), **said})
    else:
        print_comparison(comparison)
        if comparison.plan.predicted.handled_s is not None:
            say(handling_line(network, comparison.plan.collective))
        if measured is not None:
            say(measured)
    if figure is not None:
        draw(comparison, figure)
    if output is not None:
        comparison.plan.save(output)
        if not as_json:
            say(f"written to {output}")


def tried_fields(comparison: bl.Comparison) -> dict[str, object]:
    """The fields that --json adds to the plan's own."""
    bound_s = comparison.plan.bound_s
    rows = [
        {
            "planner": tried.planner,
            "makespan_s": tried.makespan_s,
            **({} if tried.handled_s is None else {"handled_s": tried.handled_s}),
            **interval_fields(tried.makespan_interval_s),
            "x_bound": tried.makespan_s / bound_s if bound_s else None,
            "segment_bytes": tried.segment_bytes,
            "is_simulated": tried.is_simulated,
        }
        for tried in fastest_first(comparison)
    ]
    cut = {"is_cut_by_time": True} if comparison.is_cut_by_time else {}
    return {"tried": rows, "passed_over": comparison.passed_over, **cut}


def fastest_first(comparison: bl.Comparison) -> list[bl.Tried]:
    """With the hosts' handling; of equal ones the chosen one, then in the registry's order."""
    chosen = comparison.plan.planner

    def time(tried: bl.Tried) -> tuple[float, bool]:
        return tried.compared_s, tried.planner != chosen

    return sorted(comparison.tried, key=time)


def title(plan: bl.Plan) -> str:
    what = moved(plan, plan.root)
    # Without a collective's name a plan is a broadcast, in tables too.
    return f"{what.removeprefix('bcast of ')} on {plan.platform}"


def handling_line(platform: bl.Platform, collective: str) -> str:
    given = platform.given_handling_s is not None
    origin = "as the platform gives it" if given else "assumed; handling_s in the platform sets it"
    handling = f"{seconds(platform.handling_s)} of a host's time for each message, {origin}"
    if collective == "reduce-scatter" and platform.port_model == "multi-port":
        turned = "the time of the trees turned round, an all-gather; plans are compared by it"
        return f"with handling: {turned}. Links given by their rate take {handling}"
    return f"with handling: {handling}; plans are compared by it"


def print_comparison(comparison: bl.Comparison) -> None:
    plan = comparison.plan
    # Only `measure` rehearses broadcasts, from which the interval follows.
    likely = ("likely",) if plan.makespan_interval_s else ()
    handled = ("with handling",) if plan.predicted.handled_s is not None else ()
    numbers = ("predicted", *likely, *handled, "x bound", "segment", "load bound")
    table = table_of(title(plan), "planner", *numbers, numbers=numbers)
    for tried in fastest_first(comparison):
        above = f"{tried.makespan_s / plan.bound_s:.3f}" if plan.bound_s else "-"
        load_bound = rate(tried.throughput_bytes_per_s)
        style = "bold" if tried.planner == plan.planner else None
        between = (interval(tried.makespan_interval_s),) if likely else ()
        at_hosts = (seconds(tried.handled_s),) if handled else ()
        predicted = (tried.planner, seconds(tried.makespan_s), *between, *at_hosts)
        table.add_row(*predicted, above, size(tried.segment_bytes), load_bound, style=style)
    nothing = [""] * len(likely + handled)
    above = "1.000" if plan.bound_s else "-"
    table.add_row("(bound: no plan is faster)", seconds(plan.bound_s), *nothing, above, "", "")
    print_table(table)
    names_by_reason: dict[str, list[str]] = {}
    for name, reason in comparison.passed_over.items():
        names_by_reason.setdefault(reason, []).append(name)
    for reason, names in names_by_reason.items():
        say(f"not tried: {', '.join(names)}: {reason}")
    if comparison.is_cut_by_time:
        say("the time limit cut the search short: another run may find another plan; give it more time")


def draw(comparison: bl.Comparison, figure: str) -> None:
    from broadleaf.plot.figures import save_figure
    from broadleaf.plot.planners import draw_planners

    rows = [(tried.planner, tried.makespan_s, tried.segment_bytes) for tried in comparison.tried]
    save_figure(draw_planners(title(comparison.plan), rows, comparison.plan.bound_s), Path(figure))
