"""`broadleaf check`: is a plan valid on a platform?"""

from __future__ import annotations

import sys

import click

import broadleaf as bl
from broadleaf.cli.display import print_document, say, wait_for
from broadleaf.cli.options import example, json_option
from broadleaf.errors import visible

FAULTS_FOUND = 1


@click.command(
    "check",
    short_help="Checks a plan, independently of the planners.",
    epilog=example("broadleaf check net.json plan.json"),
)
@click.argument("platform", metavar="PLATFORM", type=click.Path())
@click.argument("plan", metavar="PLAN", type=click.Path())
@json_option
def command(platform: str, plan: str, as_json: bool) -> int:
    """Checks a plan, independently of the planners; prints a line for each fault, and exits with 1 if any."""
    network, broadcast = bl.Platform.load(platform), bl.Plan.load(plan)
    faults: list[str] = []
    try:
        wait_for("checking the plan", lambda: bl.check(network, broadcast))
    except bl.InvalidPlan as error:
        faults = error.faults
    if as_json:
        print_document({"valid": not faults, "faults": faults})
    elif not faults:
        say(f"{plan}: valid on {network.name}")
    for fault in faults:
        print(visible(f"broadleaf: {plan}: {fault}"), file=sys.stderr)
    return FAULTS_FOUND if faults else 0
