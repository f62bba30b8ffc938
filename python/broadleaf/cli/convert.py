"""`broadleaf convert`: a platform from one form into another."""

from __future__ import annotations

from pathlib import Path

import click

from broadleaf.cli.display import print_document
from broadleaf.cli.options import Size, example, json_option, output_option
from broadleaf.convert import FORMS, form_of, load_any, save_any


@click.command("convert", epilog=example("broadleaf convert net.json -o net.nx.json"))
@click.argument("file", metavar="FILE", type=click.Path())
@output_option("The file to write; its name says the form.", required=True)
@click.option("--to", "form", type=click.Choice(sorted(FORMS)), help="The form to write.")
@click.option("--at", "at_bytes", type=Size(), help="CSV only: take each link's rate at this message size.")
@json_option
def command(file: str, output: str, form: str | None, at_bytes: int | None, as_json: bool) -> None:
    """Converts a platform between forms.

    \b
    NAME.json     platform JSON (broadleaf-platform/1)
    NAME.nx.json  NetworkX node-link JSON; keeps everything, meshes and bridges written out
    NAME.csv      two matrices, NAME.latency.csv (seconds) and NAME.bandwidth.csv (bytes/s):
                  first row and column are node ids, an empty cell is no link

    JSON input is recognised by what it says. Matrices cannot hold gap tables and start-up times: --at 1MiB
    writes the rate that a transfer of that size gets.
    """
    form = form or form_of(Path(output))
    platform = load_any(Path(file))
    written = save_any(platform, Path(output), form, at_bytes)
    if as_json:
        document = {"platform": platform.name, "nodes": len(platform.nodes), "form": form}
        print_document({**document, "written": written})
    else:
        click.echo(f"{platform.name}: {len(platform.nodes)} nodes written to {', '.join(written)}")
