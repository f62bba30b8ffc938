"""`broadleaf env`: the exports of a job script whose programs run with Broadleaf."""

from __future__ import annotations

import click

import broadleaf as bl
from broadleaf.cli.display import print_document, standard_output
from broadleaf.cli.options import example, json_option
from broadleaf.mpi.exports import ABIS, EVERY, exports, runtimes_of


@click.command(
    "env",
    short_help="Prints what a job script exports to run with Broadleaf.",
    epilog=example("broadleaf env --platform net.json"),
)
@click.option("--platform", metavar="FILE", help="Platform file to plan for, as measure writes it.")
@click.option(
    "--mpi",
    type=click.Choice([*ABIS, EVERY]),
    help="Runtime to preload; all: every runtime, each for its own MPI.  "
    "[default: that of the MPI that run would start]",
)
@click.option(
    "--module", "as_module", is_flag=True, help="Print a modulefile, for Environment Modules and Lmod."
)
@json_option
def command(platform: str | None, mpi: str | None, as_module: bool, as_json: bool) -> None:
    """Prints the exports for a job script with any launcher: eval "$(broadleaf env)".

    Programs without MPI, such as the launcher itself, run as before.
    """
    if as_module and as_json:
        raise click.UsageError("--module and --json are two forms; give one")
    if platform is not None:
        bl.Platform.load(platform)
    found = exports(runtimes_of(mpi), platform)
    if as_json:
        print_document({"variables": found.variables, "preload": found.preload})
        return
    with standard_output():
        for line in found.modulefile() if as_module else found.shell():
            print(line)
