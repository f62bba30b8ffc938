"""`broadleaf planners`: the registry."""

from __future__ import annotations

import click

import broadleaf as bl
from broadleaf.cli.display import print_document, print_table, say, table_of
from broadleaf.cli.options import PlannerName, example, json_option

FIELDS = ("name", "summary", "reference", "objective", "guarantee", "complexity")


@click.command(
    "planners",
    short_help="Lists the planners, or what one guarantees and costs.",
    epilog=example("broadleaf planners --json"),
)
@click.argument("names", metavar="[NAME]...", nargs=-1, type=PlannerName(best=False))
@json_option
def command(names: tuple[str, ...], as_json: bool) -> None:
    """Lists the planners, or of those named all that is known: paper, objective, guarantee, complexity.

    best is none of them: it tries all that can plan what is asked, and keeps the fastest plan.
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
            for field, value in card.items():
                say(f"{field:12}{value}")
            say()
        return
    table = table_of("planners", "name", "summary")
    for card in cards:
        table.add_row(card["name"], card["summary"])
    print_table(table)
    say("broadleaf planners NAME: its paper, objective, guarantee and complexity")
