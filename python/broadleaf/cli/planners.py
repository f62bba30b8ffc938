"""`broadleaf planners`: the registry."""

from __future__ import annotations

import shutil
import textwrap

import click

import broadleaf as bl
from broadleaf.cli.display import print_document, say
from broadleaf.cli.options import PlannerName, example, json_option

FIELDS = ("name", "summary", "reference", "objective", "guarantee", "collectives", "complexity")


@click.command(
    "planners",
    short_help="Lists the planners, or describes one.",
    epilog=example("broadleaf planners --json"),
)
@click.argument("names", metavar="[NAME]...", nargs=-1, type=PlannerName(best=False))
@json_option
def command(names: tuple[str, ...], as_json: bool) -> None:
    """Lists the planners; with NAMEs, the paper, objective, guarantee, collectives and complexity of each.

    best is not in the list: it runs every planner that supports the platform, and keeps the fastest plan.
    """
    cards = [
        {field: getattr(card, field) for field in FIELDS}
        for card in bl.planners()
        if not names or card.name in names
    ]
    if as_json:
        print_document({"planners": cards})
        return
    if names:
        for card in cards:
            print_pairs({**card, "collectives": ", ".join(card["collectives"])})
            say()
        return
    print_pairs({card["name"]: card["summary"] for card in cards})
    say("broadleaf planners NAME: its paper, guarantee, collectives and more")


def print_pairs(pairs: dict[str, str]) -> None:
    """A column of names and one of texts, wrapped at the terminal's width; in a pipe at 80 columns."""
    width = max(map(len, pairs)) + 2
    columns = max(40, shutil.get_terminal_size().columns)
    for name, text in pairs.items():
        lines = textwrap.wrap(text, columns - width, break_on_hyphens=False)
        for head, line in zip([name, *[""] * len(lines)], lines, strict=False):
            say(f"{head:{width}}{line}")
