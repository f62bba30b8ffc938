"""`broadleaf doctor`: what would keep Broadleaf from a program, and the remedy."""

from __future__ import annotations

import os

import click

from broadleaf.cli.display import print_document, say
from broadleaf.cli.options import example, json_option
from broadleaf.doctor import Finding, look_at_machine, look_at_program

IN_THE_WAY = 1


@click.command(
    "doctor",
    short_help="Finds what keeps Broadleaf from a program.",
    epilog=example("broadleaf doctor"),
)
@click.option("--platform", metavar="FILE", help="The network to plan for.  [default: BROADLEAF_PLATFORM]")
@json_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- LAUNCHER ... PROGRAM [ARGS]...]")
def command(platform: str | None, command: tuple[str, ...], as_json: bool) -> int:
    """Finds what would keep Broadleaf from planning broadcasts, with the remedy of each thing.

    Without a program it looks at the MPIs, runtimes, launchers and hosts that are here. With a whole command
    line it runs that once, with the runtime preloaded, and reports the MPI the processes loaded, whether
    their calls were reached, and who else wraps them. Exit code 0: nothing stands in the way; 1: something
    does.
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
