"""`broadleaf bound`: the limit of all plans, with the proof: trees from below, prices from above."""

from __future__ import annotations

from math import isfinite
from typing import Any

import click

import broadleaf as bl
from broadleaf.cli.display import print_document, print_table, say, table_of, wait_for
from broadleaf.cli.options import (
    Size,
    collective_option,
    example,
    json_option,
    root_of,
    root_option,
    weights_option,
)
from broadleaf.units import rate, seconds, size

# Rows of the tables of trees and of prices; --json has all.
SHOWN = 8


@click.command(
    "bound",
    short_help="Bounds every plan's throughput and makespan, with a proof.",
    epilog=example("broadleaf bound net.json --root a --size 64MiB --segment 1MiB"),
)
@click.argument("platform", metavar="PLATFORM", type=click.Path())
@root_option
@click.option("--size", "message_bytes", type=Size(), help="Message size, for the makespan bound.")
@collective_option
@weights_option
@click.option(
    "--segment", "segment_bytes", type=Size(), default="1MiB", show_default=True, help="Segment size."
)
@click.option(
    "--gap", type=float, default=1e-4, show_default=True, help="Stop at this relative gap of the bounds."
)
@json_option
def command(
    platform: str,
    root: str | None,
    message_bytes: int | None,
    collective: str,
    weights: dict[str, float] | None,
    segment_bytes: int,
    gap: float,
    as_json: bool,
) -> None:
    """Bounds the throughput of every plan from above, and with --size the makespan from below.

    The proof has two parts: trees with shares that together reach the throughput, and prices of ports and
    links under which no tree is cheap enough for more. Where each host has a block, the throughput is that of
    one block. Of an allreduce, only the makespan is bounded.
    """
    network = bl.Platform.load(platform)
    root = root_of(network, root)
    bound_s = None
    if message_bytes is not None:
        bound_s = bl.makespan_bound_s(network, root, message_bytes, collective, weights)
    if collective == "allreduce":
        if message_bytes is None or bound_s is None:
            raise click.UsageError(f"of {collective} only the makespan is bounded; give --size")
        print_makespan(network, collective, message_bytes, bound_s, as_json)
        return
    doing = f"the optimum on {network.name}"
    optimum = wait_for(
        doing,
        lambda: bl.optimum(network, root, segment_bytes, gap=gap, collective=collective, weights=weights),
    )
    by_trees = optimum.throughput_by_trees() if collective == "bcast" else {}
    document = {
        "platform": network.name,
        "platform_digest": network.digest,
        "collective": collective,
        "root": root,
        "weights": optimum.weights,
        "message_bytes": message_bytes,
        "bound_s": bound_s,
        "segment_bytes": segment_bytes,
        # JSON has no infinity: null stands for a platform without any limit.
        "throughput_bytes_per_s": finite(optimum.throughput_bytes_per_s),
        "upper_bound_bytes_per_s": finite(optimum.upper_bound_bytes_per_s),
        "gap": optimum.gap,
        "bound_only": optimum.bound_only,
        "throughput_by_trees": [
            {"trees": count, "throughput_bytes_per_s": finite(reached)} for count, reached in by_trees.items()
        ],
        "trees": optimum.trees,
        "link_load": [
            {"from": source, "to": target, "segments_per_s": load}
            for (source, target), load in optimum.link_load.items()
        ],
        "prices": optimum.prices,
    }
    if as_json:
        print_document(document)
    else:
        print_bound(document)


def print_makespan(
    network: bl.Platform, collective: str, message_bytes: int, bound_s: float, as_json: bool
) -> None:
    if as_json:
        named = {"platform": network.name, "platform_digest": network.digest, "collective": collective}
        print_document({**named, "message_bytes": message_bytes, "bound_s": bound_s})
    else:
        print_makespan_bound(collective, message_bytes, bound_s)


def print_makespan_bound(collective: str, message_bytes: int, bound_s: float) -> None:
    named = "" if collective == "bcast" else f"{collective}, "
    say(f"makespan of {named}{size(message_bytes)}: at least {seconds(bound_s)}")


def finite(value: float) -> float | None:
    return value if isfinite(value) else None


def print_bound(document: dict[str, Any]) -> None:
    collective = document["collective"]
    named = "" if collective == "bcast" else f" of {collective}"
    if document["bound_s"] is not None:
        print_makespan_bound(collective, document["message_bytes"], document["bound_s"])
    at = f"in segments of {size(document['segment_bytes'])} from {document['root']} on {document['platform']}"
    if document["upper_bound_bytes_per_s"] is None:
        say(f"throughput{named} {at}: nothing limits it")
        return
    say(f"throughput{named} {at}: at most {rate(document['upper_bound_bytes_per_s'])}")
    trees, reached = document["trees"], document["throughput_bytes_per_s"]
    reach = "1 tree reaches" if len(trees) == 1 else f"{len(trees)} trees reach"
    say(f"{reach} {rate(reached)}, a gap of {document['gap']:.1e}")
    if document["bound_only"]:
        say(document["bound_only"])
    if document["throughput_by_trees"]:
        kept = table_of("few trees, by their loads", "trees", "load bound", "of the bound")
        for row in document["throughput_by_trees"]:
            part = row["throughput_bytes_per_s"] / document["upper_bound_bytes_per_s"]
            kept.add_row(str(row["trees"]), rate(row["throughput_bytes_per_s"]), f"{part:.1%}")
        print_table(kept)
    print_first("trees below", ("share", "edges"), [(f"{t['share']:.1%}", edges(t)) for t in trees])
    dearest = sorted(document["prices"].items(), key=lambda item: -item[1])
    print_first("prices above", ("resource", "price"), [(name, f"{price:.4f}") for name, price in dearest])


def edges(tree: dict[str, Any]) -> str:
    """A tree in one line, cut where the line is full."""
    most = 90
    parts = [f"{parent} > {' '.join(children)}" for parent, children in tree["children"].items()]
    text = ", ".join(parts)
    return text if len(text) <= most else text[: most - 4] + " ..."


def print_first(title: str, columns: tuple[str, str], rows: list[tuple[str, str]]) -> None:
    more = len(rows) - SHOWN
    table = table_of(f"{title} (the first {SHOWN} of {len(rows)})" if more > 0 else title, *columns)
    for row in rows[:SHOWN]:
        table.add_row(*row)
    print_table(table)
