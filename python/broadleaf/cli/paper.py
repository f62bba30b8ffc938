"""`broadleaf paper`: a paper's experiments, run again, beside what the paper prints."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from broadleaf.cli.display import print_document, print_table, say, table_of
from broadleaf.cli.options import example, json_option
from broadleaf.files import refuse_unwritable, write_whole
from broadleaf.papers import GAPS, PAPERS
from broadleaf.papers.results import Cell, Results, Sheet, Start

TITLES = "\n".join(
    textwrap.fill(paper.title, 78, initial_indent=f"  {name:12}", subsequent_indent=" " * 14)
    for name, paper in PAPERS.items()
)
HELP = f"""Runs a paper's experiments again: tables beside the printed values, CSV, JSON and PNG files.

\b
{TITLES}"""


@click.command(
    "paper",
    help=HELP,
    short_help="Repeats a paper's experiments, beside the printed results.",
    epilog=example("broadleaf paper trees --quick -o ."),
)
@click.argument("name", metavar="NAME", type=click.Choice(list(PAPERS)))
@click.option("--quick", is_flag=True, help="Fewer and smaller draws, under a minute.")
@click.option(
    "-o",
    "--output",
    metavar="FOLDER",
    type=click.Path(file_okay=False),
    help="Folder for tables (CSV and JSON) and figures, created if missing; without it nothing is written. "
    "Long experiments save each step there, and continue after an interruption where they were.",
)
@click.option(
    "--gaps",
    type=click.Choice(GAPS),
    help="Paper grid only: how the gap of two clusters is drawn.  [default: pair and min]",
)
@json_option
def command(name: str, quick: bool, output: str | None, gaps: str | None, as_json: bool) -> None:
    paper = PAPERS[name]
    run = paper.run
    if gaps is not None:
        if not paper.draws_gaps:
            drawn = ", ".join(name for name, paper in PAPERS.items() if paper.draws_gaps)
            raise click.UsageError(f"paper {name} draws no gaps; --gaps is for {drawn}")
        run = partial(run, gaps=gaps)
    if output is not None:
        if not Path(output).is_dir():
            refuse_unwritable(output)
            Path(output).mkdir()
        refuse_unwritable(Path(output) / f"{name}.csv")
        if paper.is_kept:
            run = partial(run, keep=Path(output) / f"{name}.partial.jsonl")
    with progress(name) as start:
        results = run(quick, start)
    head = {"paper": name, "title": paper.title, "quick": quick}
    written = [] if output is None else write(results, head, Path(output))
    if as_json:
        print_document(head | told(results.sheets, results.remarks) | {"files": written})
    else:
        show(results, paper.title)
        for path in written:
            say(f"written to {path}")


def told(sheets: list[Sheet], remarks: list[str]) -> dict[str, Any]:
    rows = [
        {"name": sheet.name, "title": sheet.title, "columns": sheet.columns, "rows": sheet.rows}
        for sheet in sheets
    ]
    return {"sheets": rows, "remarks": remarks}


def write(results: Results, head: dict[str, Any], folder: Path) -> list[str]:
    """Writes each sheet as CSV, each figure as PNG, and the shown sheets as one JSON document; returns the
    names."""
    from broadleaf.plot.figures import save_figure

    name = head["paper"]
    shown = [sheet for sheet in results.sheets if sheet.is_shown]
    document = folder / f"{name}.json"
    write_whole(document, json.dumps(head | told(shown, results.remarks), indent=1) + "\n")
    written = [str(document)]
    for sheet in results.sheets:
        path = folder / f"{name}-{sheet.name}.csv"
        write_whole(path, sheet.csv())
        written.append(str(path))
    for figure_name, figure in results.figures.items():
        path = folder / f"{name}-{figure_name}.png"
        save_figure(figure, path)
        written.append(str(path))
    return written


def show(results: Results, title: str) -> None:
    say(title)
    for sheet in (sheet for sheet in results.sheets if sheet.is_shown):
        numbers = tuple(
            column
            for at, column in enumerate(sheet.columns)
            if all(not isinstance(row[at], str) for row in sheet.rows)
        )
        table = table_of(sheet.title, *sheet.columns, numbers=numbers)
        for row in sheet.rows:
            table.add_row(*(cell(value) for value in row))
        say()
        print_table(table)
    say()
    for remark in results.remarks:
        say(remark)


def cell(value: Cell) -> str:
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


@contextmanager
def progress(name: str) -> Iterator[Start]:
    """A progress bar on standard error; none if that is not a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:

        def start(steps: int) -> Callable[[], None]:
            task = bar.add_task(f"paper {name}", total=steps)
            return lambda: bar.advance(task)

        yield start
