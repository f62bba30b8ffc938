"""`broadleaf simulate`: a plan in simulated time."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite, isnan
from pathlib import Path

import click

import broadleaf as bl
from broadleaf.cli.display import interval_fields, print_document, print_table, say, table_of, wait_for
from broadleaf.cli.options import example, json_option
from broadleaf.errors import naming
from broadleaf.files import refuse_unwritable, write_whole
from broadleaf.units import interval, rate, seconds, size

HIGHEST = 8


@click.command(
    "simulate",
    short_help="Runs a plan in simulated time.",
    epilog=example("broadleaf simulate net.json plan.json --trace trace.json"),
)
@click.argument("platform", metavar="PLATFORM", type=click.Path())
@click.argument("plan", metavar="PLAN", type=click.Path())
@click.option(
    "--trace", "trace_file", metavar="FILE", help="Write every transfer for https://ui.perfetto.dev."
)
@json_option
def command(platform: str, plan: str, trace_file: str | None, as_json: bool) -> None:
    """Runs a plan on a platform in simulated time: makespan, finish of each node, busiest resources."""
    refuse_unwritable(trace_file)
    network, broadcast = bl.Platform.load(platform), bl.Plan.load(plan)
    with naming(plan):
        trace = wait_for("simulating", lambda: bl.simulate(network, broadcast))
    load_bound = bl.throughput(network, broadcast)
    merged = traced = None
    if trace_file is not None:
        from broadleaf.formats.perfetto import trace_text

        traced, merged = trace_text(network, trace)
    ends = zip(trace.nodes, trace.finish_s.tolist(), strict=True)
    finish = {node: end for node, end in ends if not isnan(end)}
    # The share of the makespan for which a resource was held; a lone host's broadcast takes no time at all.
    utilisation = {name: held / trace.makespan_s for name, held in trace.busy_s.items() if trace.makespan_s}
    if as_json:
        print_document(
            {
                "platform": network.name,
                "planner": broadcast.planner,
                "message_bytes": broadcast.message_bytes,
                "segment_bytes": broadcast.segment_bytes,
                "makespan_s": trace.makespan_s,
                **interval_fields(trace.makespan_interval_s),
                "bound_s": broadcast.bound_s,
                # JSON has no infinity: null means that nothing limits the plan.
                "throughput_bytes_per_s": load_bound if isfinite(load_bound) else None,
                "transfers": len(trace.transfers),
                "finish_s": finish,
                "utilisation": utilisation,
                "trace": trace_file,
                "trace_merged": merged,
            }
        )
    else:
        print_result(network, broadcast, trace, load_bound)
        print_highest("last to finish", "node", finish, seconds)
        print_highest("busiest resources", "resource", utilisation, "{:.1%}".format)
        if merged is not None:
            say(f"{trace_file}: {merged}")
    if trace_file is not None and traced is not None:
        write_whole(Path(trace_file), traced)


def print_result(
    platform: bl.Platform, plan: bl.Plan, trace: bl.Trace, load_bound_bytes_per_s: float
) -> None:
    makespan_s = trace.makespan_s
    say(f"{plan.planner} on {platform.name}: {size(plan.message_bytes)} in {seconds(makespan_s)}")
    if trace.makespan_interval_s:
        say(f"{interval(trace.makespan_interval_s)} in nine of ten runs, by the rehearsed broadcasts")
    if plan.bound_s:
        say(f"bound {seconds(plan.bound_s)}: {makespan_s / plan.bound_s:.3f} x the bound")
    if makespan_s:
        reached = rate(plan.message_bytes / makespan_s)
        say(f"{reached} reached, of {rate(load_bound_bytes_per_s)} that the busiest resource allows")
    say(f"{len(trace.transfers)} transfers")


def print_highest(title: str, what: str, values: dict[str, float], shown: Callable[[float], str]) -> None:
    """A table of the HIGHEST largest values, which limit the plan; --json has the others."""
    table = table_of(title, what, "", numbers=("",))
    for name, value in sorted(values.items(), key=lambda item: -item[1])[:HIGHEST]:
        table.add_row(name, shown(value))
    print_table(table)
