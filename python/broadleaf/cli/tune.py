"""`broadleaf tune`: the best algorithm and segment by nodes and size, and as an MPI's own rules."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

import broadleaf as bl
from broadleaf.cli.display import print_document, print_table, say, table_of, wait_for
from broadleaf.cli.options import Sizes, example, json_option, output_option, root_option
from broadleaf.files import refuse_unwritable, write_whole
from broadleaf.mpi.rules import rules_file, settings
from broadleaf.tuning import (
    COLLECTIVES,
    SIZES,
    accuracy_of,
    default_nodes,
    document,
    remarks_on,
    survey,
)
from broadleaf.units import seconds, size

if TYPE_CHECKING:
    from broadleaf.mpi.find import Flavour


class Counts(click.ParamType[list[int]]):
    """Numbers of nodes, separated by commas."""

    name = "counts"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        if isinstance(value, list):
            return value
        parts = [part.strip() for part in str(value).split(",")]
        if not all(part.isdecimal() and int(part) >= 2 for part in parts):
            self.fail(f'"{value}" are no numbers of nodes; give whole numbers of at least 2', param, ctx)
        return sorted({int(part) for part in parts})


@click.command(
    "tune",
    short_help="Writes an MPI's rules file: the best algorithm per size.",
    epilog=example("broadleaf tune net.json --nodes 2,3 --for openmpi -o rules.conf"),
)
@click.argument("platform", metavar="PLATFORM", type=click.Path())
@root_option
@click.option(
    "--nodes", type=Counts(), metavar="2,4,…", help="Numbers of nodes.  [default: 2, 3, 4, 6, 8 … all]"
)
@click.option(
    "--sizes", type=Sizes(), metavar="1KiB,…", help="Message sizes.  [default: 1 B, 2 B, 4 B … 16 MiB]"
)
@click.option(
    "--collective",
    "collectives",
    type=click.Choice([*COLLECTIVES, "all"]),
    default="all",
    show_default=True,
    help="The collective to tune.",
)
@click.option("--for", "flavour", metavar="openmpi|mpich", help="MPI that reads the file of -o.")
@click.option("--figure", metavar="FILE", help="Draw the map of the best algorithms: .png, .svg or .pdf.")
@output_option("The rules file to write.")
@json_option
def command(
    platform: str,
    root: str | None,
    nodes: list[int] | None,
    sizes: list[int] | None,
    collectives: str,
    flavour: str | None,
    figure: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Chooses among Barchet-Steffenel and Mounié's ten broadcasts and three scatters.

    Chooses the algorithm with the fastest simulated plan, and shows the choice of the paper's printed
    models beside it. A platform whose links are all alike stands for a cluster of any size."""
    mpi = flavour_of(flavour)
    if (mpi is None) != (output is None):
        raise click.UsageError("-o and --for belong together: whose rules, and where to write them")
    if figure is not None:
        from broadleaf.plot.figures import form_of

        form_of(Path(figure))
    refuse_unwritable(figure, output)
    network = bl.Platform.load(platform)
    counts = nodes or default_nodes(len(network.hosts))
    asked = COLLECTIVES if collectives == "all" else (collectives,)
    choices = wait_for(
        f"tuning for {network.name}", lambda: survey(network, counts, sizes or SIZES, root, asked)
    )
    rules = rules_file(choices, mpi) if mpi else None
    variables = settings(mpi, output) if mpi and output else {}
    remarks = remarks_on(choices, rules, mpi)
    if as_json:
        print_document(
            {
                "platform": network.name,
                "choices": [document(choice) for choice in choices],
                "for": mpi,
                "rules": rules.rules if rules else [],
                "rules_file": output,
                "environment": variables,
                "remarks": remarks,
                "accuracy": accuracy_of(network),
            }
        )
    else:
        for collective in asked:
            print_choices([choice for choice in choices if choice.collective == collective], network.name)
        for line in [*remarks, accuracy_of(network)]:
            say(line)
    if figure is not None:
        from broadleaf.plot.figures import save_figure
        from broadleaf.plot.tuning import draw_map

        save_figure(draw_map(network.name, choices), Path(figure))
    if rules is not None and output is not None:
        write_whole(output, rules.text)
    if output is not None and not as_json:
        say(f"written to {output}; to use it, set")
        for name, value in variables.items():
            say(f"  {name}={value}")


def flavour_of(name: str | None) -> Flavour | None:
    match name:
        case None | "openmpi" | "mpich":
            return name
    raise click.UsageError(f'unknown MPI "{name}"; use openmpi or mpich')


def print_choices(choices: Sequence[bl.Choice], platform: str) -> None:
    """A row for each range of sizes with one algorithm."""
    columns = ("nodes", "from", "to", "algorithm", "segment", "expected", "as printed", "which takes")
    table = table_of(
        f"best {choices[0].collective} on {platform}",
        *columns,
        numbers=("nodes", "from", "to", "expected", "which takes"),
    )
    by_nodes = sorted(choices, key=lambda choice: (choice.nodes, choice.message_bytes))
    for (nodes, algorithm), group in groupby(by_nodes, lambda c: (c.nodes, c.chosen.algorithm)):
        run = list(group)
        first, last = run[0], run[-1]
        times = span(seconds(first.chosen.expected_s), seconds(last.chosen.expected_s))
        printed = [choice.chosen_as_printed for choice in run]
        table.add_row(
            str(nodes),
            size(first.message_bytes),
            size(last.message_bytes),
            algorithm,
            span(size(first.chosen.segment_bytes), size(last.chosen.segment_bytes))
            if first.chosen.is_segmented
            else "-",
            times,
            ", ".join(dict.fromkeys(forecast.algorithm for forecast in printed)),
            span(seconds(printed[0].expected_s), seconds(printed[-1].expected_s)),
        )
    print_table(table)


def span(first: str, last: str) -> str:
    return first if first == last else f"{first} … {last}"
