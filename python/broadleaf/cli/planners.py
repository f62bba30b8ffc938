"""`broadleaf planners`: the registry."""

from __future__ import annotations

import click

import broadleaf as bl
from broadleaf.cli.display import print_document, print_table, table_of
from broadleaf.cli.options import example, json_option

FIELDS = ("name", "summary", "reference", "objective", "guarantee", "complexity")


@click.command("planners", epilog=example("broadleaf planners --json"))
@json_option
def command(as_json: bool) -> None:
    """Lists the planners: name, paper, objective, guarantee, complexity."""
    cards = [{field: getattr(card, field) for field in FIELDS} for card in bl.planners()]
    if as_json:
        print_document({"planners": cards})
        return
    table = table_of("planners", *FIELDS)
    for card in cards:
        table.add_row(*card.values())
    print_table(table)
