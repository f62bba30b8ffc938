"""How commands show results: tables for people, one document for programs."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import nullcontext
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table

T = TypeVar("T")


def print_document(document: Any) -> None:
    """The one JSON document of `--json`; a non-finite number in it would be our own bug."""
    json.dump(document, sys.stdout, indent=1, allow_nan=False)
    sys.stdout.write("\n")


def interval_fields(interval_s: tuple[float, float] | None) -> dict[str, float]:
    """A predicted interval as a plan file has it; nothing where there is none."""
    if interval_s is None:
        return {}
    return {"makespan_low_s": interval_s[0], "makespan_high_s": interval_s[1]}


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


def wait_for(message: str, work: Callable[[], T]) -> T:
    """Does long native work with a spinner on standard error; silent where nobody watches.

    The work has a thread of its own, because Python hears of an interrupt only between native calls: this way
    one ends the command at once, and the thread, which holds nothing that others need, with it.
    """
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    console = Console(stderr=True)
    with console.status(message) if console.is_terminal else nullcontext():
        return outcome.result()
