"""Representations of objects: one line at a prompt, facts and a picture in a notebook."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING

from broadleaf._core import Comparison, Optimum, Plan, Platform, Trace, Tried
from broadleaf.collectives import moved
from broadleaf.errors import visible
from broadleaf.units import rate, seconds, size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# An SVG of more nodes is larger than its PNG.
MOST_DRAWN_AS_SVG = 150
# The resources with the highest prices, which sum to 1; `Optimum.prices` has all.
MOST_PRICES, LEAST_PRICE = 8, 0.001


def several(count: int, what: str) -> str:
    """
    >>> several(1, "tree"), several(3, "switch")
    ('1 tree', '3 switches')
    """
    return f"{count} {what}" if count == 1 else f"{count} {what}{'es' if what.endswith('ch') else 's'}"


def platform_line(platform: Platform) -> str:
    nodes = platform.to_dict()["nodes"]
    clusters = {node.get("cluster") for node in nodes} - {None}
    hosts = len(platform.hosts)
    told = several(hosts, "host")
    told += f" in {several(len(clusters), 'cluster')}" if clusters else ""
    told += f", {several(len(nodes) - hosts, 'switch')}" if len(nodes) > hosts else ""
    return f'<Platform "{visible(platform.name)}": {told}, {platform.port_model}>'


def plan_line(plan: Plan, trees: int) -> str:
    told = moved(plan, repr_of(plan.root))
    by = f"{several(trees, 'tree')}, segments of {size(plan.segment_bytes)}"
    return f'<Plan "{visible(plan.planner)}" on "{visible(plan.platform)}": {told}, {by}{expected(plan)}>'


def repr_of(name: str) -> str:
    return f'"{visible(name)}"'


def expected(plan: Plan) -> str:
    """The predicted time and its ratio to the bound, if the plan has them."""
    if plan.makespan_s is None:
        return ""
    above = plan.predicted.x_bound
    return f", {seconds(plan.makespan_s)}" + (f", {above:.3f} x the bound" if above is not None else "")


def trace_line(trace: Trace, transfers: int) -> str:
    plan = trace.plan
    bound = f", bound {seconds(plan.bound_s)}" if plan.bound_s is not None else ""
    told = f'"{visible(plan.planner)}" on "{visible(plan.platform)}"'
    return f"<Trace of {told}: {several(transfers, 'transfer')} in {seconds(trace.makespan_s)}{bound}>"


def tried_line(tried: Tried) -> str:
    predicted, segment = seconds(tried.makespan_s), size(tried.segment_bytes)
    return f'<Tried "{tried.planner}": {predicted} in segments of {segment}>'


def comparison_line(comparison: Comparison) -> str:
    plan = comparison.plan
    told = f'{moved(plan, repr_of(plan.root))} on "{visible(plan.platform)}"'
    fastest = f'"{visible(plan.planner)}" is the fastest{expected(plan)}'
    return f"<Comparison of {several(len(comparison.tried), 'planner')}, {told}: {fastest}>"


def optimum_line(optimum: Optimum, trees: int) -> str:
    found, most = optimum.throughput_bytes_per_s, optimum.upper_bound_bytes_per_s
    if not math.isfinite(most):
        return "<Optimum: nothing limits the throughput>"
    return f"<Optimum: {rate(found)} by {several(trees, 'tree')}, at most {rate(most)}>"


def optimum_html(optimum: Optimum) -> str:
    """The two bounds, what each number of trees reaches, and the resources whose prices prove the upper."""
    most = optimum.upper_bound_bytes_per_s
    facts = [
        ("at most", rate(most) if math.isfinite(most) else "nothing limits it"),
        ("reached", rate(optimum.throughput_bytes_per_s)),
        ("gap", f"{optimum.gap:.1e}"),
        ("trees", str(len(optimum.trees))),
        *([("a bound only", optimum.bound_only)] if optimum.bound_only else []),
    ]
    what = "" if optimum.collective == "bcast" else f" of {optimum.collective}"
    title = f"Throughput{what} from {optimum.root} in segments of {size(optimum.segment_bytes)}"
    page = f"<p><b>{shown(title)}</b></p>{table(facts)}"
    if not math.isfinite(most):
        return page
    by_trees = optimum.throughput_by_trees() if optimum.collective == "bcast" else {}
    few = [(str(count), rate(reached)) for count, reached in by_trees.items()]
    dearest = sorted(optimum.prices.items(), key=lambda item: -item[1])[:MOST_PRICES]
    prices = [(name, f"{price:.3f}") for name, price in dearest if price >= LEAST_PRICE]
    limits = table(prices, ("what limits it", "price"))
    return page + (table(few, ("trees", "load bound")) if few else "") + limits


def platform_html(platform: Platform) -> str:
    from broadleaf.plot.platform import draw_platform

    facts = [
        ("hosts", str(len(platform.hosts))),
        ("port model", platform.port_model),
        ("digest", platform.digest[:19] + "…"),
    ]
    return card(platform.name, facts, lambda: draw_platform(platform), len(platform.nodes))


def plan_html(plan: Plan) -> str:
    """The plan's facts, the bound among them, and its trees."""
    from broadleaf.plot.trees import draw_trees

    predicted = plan.predicted
    trees = plan.trees
    facts = [
        ("moves", moved(plan, plan.root)),
        ("predicted", seconds(predicted.makespan_s)),
        ("bound", seconds(predicted.bound_s)),
        ("x bound", "-" if predicted.x_bound is None else f"{predicted.x_bound:.3f}"),
        ("steady state", rate(predicted.throughput_bytes_per_s)),
        ("segments", size(plan.segment_bytes)),
        ("trees", str(len(trees))),
    ]
    nodes = max(len(tree.edges) for tree in trees) + 1
    return card(f"{plan.planner} on {plan.platform}", facts, lambda: draw_trees(None, plan), nodes)


def trace_html(trace: Trace) -> str:
    from broadleaf.plot.timeline import draw_timeline

    plan = trace.plan
    facts = [
        ("makespan", seconds(trace.makespan_s)),
        ("bound", seconds(plan.bound_s)),
        ("transfers", f"{len(trace.transfers):,}"),
    ]
    # A timeline has a shape for each transfer.
    return card(
        f"{plan.planner} on {plan.platform}", facts, lambda: draw_timeline(trace), MOST_DRAWN_AS_SVG + 1
    )


def comparison_html(comparison: Comparison) -> str:
    """Every planner that was tried, the fastest first, and the bound."""
    bound_s = comparison.plan.bound_s
    is_handled = comparison.plan.predicted.handled_s is not None
    rows = [
        (
            tried.planner,
            seconds(tried.makespan_s),
            *((seconds(tried.handled_s),) if is_handled else ()),
            f"{tried.makespan_s / bound_s:.3f}" if bound_s else "-",
            size(tried.segment_bytes),
        )
        for tried in sorted(comparison.tried, key=lambda tried: tried.compared_s)
    ]
    handled = ("",) if is_handled else ()
    rows.append(("(bound: no plan is faster)", seconds(bound_s), *handled, "1.000" if bound_s else "-", ""))
    plan = comparison.plan
    title = f"{moved(plan, plan.root)} on {plan.platform}"
    columns = ("planner", "predicted", *(("with handling",) if is_handled else ()), "x bound", "segment")
    return f"<p><b>{shown(title)}</b></p>{table(rows, columns)}"


def card(title: str, facts: Sequence[tuple[str, str]], picture: Callable[[], Figure], nodes: int) -> str:
    """Title, facts and picture, or the reason why there is no picture."""
    try:
        drawing = embedded(picture(), nodes)
    except ValueError as reason:
        drawing = f"<p>{shown(str(reason))}</p>"
    return f"<p><b>{shown(title)}</b></p>{table(facts)}{drawing}"


def table(rows: Sequence[Sequence[str]], head: Sequence[str] = ()) -> str:
    lines = ["".join(f"<td>{shown(cell)}</td>" for cell in row) for row in rows]
    if head:
        lines.insert(0, "".join(f"<th>{shown(cell)}</th>" for cell in head))
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def shown(text: str) -> str:
    return escape(visible(text))


def embedded(figure: Figure, nodes: int) -> str:
    """The figure as an element of a page."""
    from broadleaf.plot.figures import drawn

    if nodes > MOST_DRAWN_AS_SVG:
        data = base64.b64encode(drawn(figure, "png")).decode()
        return f'<img style="max-width: 100%" alt="" src="data:image/png;base64,{data}">'
    text = drawn(figure, "svg").decode()
    # Without the XML header of a file.
    return text[text.index("<svg") :]
