"""`broadleaf doctor`: obstacles to planning a program's broadcasts, and their remedies."""

from __future__ import annotations

import os

import click

from broadleaf.cli.display import print_document, say
from broadleaf.cli.options import example, json_option
from broadleaf.doctor import Finding, look_at_machine, look_at_program

IN_THE_WAY = 1


@click.command(
    "doctor",
    short_help="Finds why a program's broadcasts are not planned.",
    epilog=example("broadleaf doctor"),
)
@click.option("--platform", metavar="FILE", help="Platform file to plan for.  [default: BROADLEAF_PLATFORM]")
@json_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- LAUNCHER ... PROGRAM [ARGS]...]")
def command(platform: str | None, command: tuple[str, ...], as_json: bool) -> int:
    """Finds why broadcasts would not be planned, with a remedy for each obstacle.

    Without a program, doctor examines the MPIs, runtimes, launchers and hosts of this machine. With a command
    line it also runs that once, with the runtime preloaded, and reports which MPI the processes loaded,
    whether their calls reached the runtime, and which tools wrap them. Exit code 0: no obstacle; 1: at least
    one.
    """
    network = platform or os.environ.get("BROADLEAF_PLATFORM")
    found = look_at_machine(network)
    if command:
        found += look_at_program(command, network)
    obstacles = [finding for finding in found if finding.remedy]
    if as_json:
        print_document({"ok": not obstacles, "findings": [finding.to_dict() for finding in found]})
    else:
        print_findings(found)
        say("nothing stands in the way" if not obstacles else f"in the way: {len(obstacles)}, marked with !")
    return IN_THE_WAY if obstacles else 0


def print_findings(found: list[Finding]) -> None:
    width = max(len(finding.subject) for finding in found)
    for finding in found:
        say(f"{'!' if finding.remedy else ' '} {finding.subject:{width}}  {finding.found}")
        if finding.remedy:
            say(f"  {'':{width}}  remedy: {finding.remedy}")
