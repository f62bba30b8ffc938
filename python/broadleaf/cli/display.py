"""How commands show results: tables for people, one document for programs.

Names come from files, so they are never parsed as rich's markup, and their control characters never reach
the terminal. Commands print before they write files, so that a failure to print leaves no files."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table
from rich.text import Text

from broadleaf.errors import visible

T = TypeVar("T")


@contextmanager
def standard_output() -> Iterator[None]:
    """Flushes what was printed. After a reader has closed the pipe (`| head`) files are still written."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from None


def say(line: str = "") -> None:
    """A line on standard output."""
    with standard_output():
        print(visible(line))


def print_document(document: Any) -> None:
    """The one JSON document of `--json`; a non-finite number in it would be a bug of Broadleaf."""
    text = json.dumps(document, indent=1, allow_nan=False)
    with standard_output():
        print(text)


def interval_fields(interval_s: tuple[float, float] | None) -> dict[str, float]:
    """A predicted interval in the fields of a plan file; empty where there is none."""
    if interval_s is None:
        return {}
    return {"makespan_low_s": interval_s[0], "makespan_high_s": interval_s[1]}


def print_table(table: Table) -> None:
    """A table on standard output; piped into a file it keeps its width instead of being cut at 80 columns."""
    console = Console() if sys.stdout.isatty() else Console(width=200)
    with standard_output():
        console.print(table)


class PlainTable(Table):
    """A table whose cells are plain text, without markup."""

    def add_row(self, *cells: Any, **options: Any) -> None:
        super().add_row(
            *(Text(visible(cell)) if isinstance(cell, str) else cell for cell in cells), **options
        )


def table_of(title: str, *columns: str, numbers: tuple[str, ...] = ()) -> Table:
    """An empty table; the columns named in `numbers` are aligned to the right."""
    table = PlainTable(
        title=Text(visible(title)), title_justify="left", title_style="bold", box=None, pad_edge=False
    )
    for column in columns:
        table.add_column(
            Text(visible(column)), justify="right" if column in numbers else "left", no_wrap=column in numbers
        )
    return table


def wait_for(message: str, work: Callable[[], T]) -> T:
    """Runs long native work, with a spinner on standard error if that is a terminal.

    The work runs in a daemon thread: Python handles an interrupt only between native calls, so in the main
    thread it would wait for the work to end. The thread holds no lock, and the process may end with it.
    """
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    console = Console(stderr=True)
    with console.status(Text(visible(message))) if console.is_terminal else nullcontext():
        return outcome.result()
