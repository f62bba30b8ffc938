"""How commands show results: tables for people, one document for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.table import Table


def print_document(document: Any) -> None:
    """The one JSON document of `--json`; a non-finite number in it would be our own bug."""
    json.dump(document, sys.stdout, indent=1, allow_nan=False)
    sys.stdout.write("\n")


def print_table(table: Table) -> None:
    """A table on standard output; piped into a file it keeps its width instead of being cut at 80 columns."""
    console = Console() if sys.stdout.isatty() else Console(width=200)
    console.print(table)


def table_of(title: str, *columns: str, numbers: tuple[str, ...] = ()) -> Table:
    """An empty table; the columns named in `numbers` are aligned to the right."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in numbers else "left", no_wrap=column in numbers)
    return table


@contextmanager
def working(message: str) -> Iterator[None]:
    """A spinner on standard error while something takes long; silent where nobody watches."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(message):
        yield
