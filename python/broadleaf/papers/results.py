"""An experiment's results: sheets of numbers, figures drawn from them, and remarks."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cell = str | int | float | None

# Called with the number of steps; returns a function to call after each.
Start = Callable[[int], Callable[[], None]]


@dataclass(frozen=True)
class Sheet:
    """A table: shown, and kept as CSV."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    # Raw samples are kept in the file and not shown.
    is_shown: bool = True

    def csv(self) -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return text.getvalue()


@dataclass(frozen=True)
class Results:
    """The results of a paper's experiments."""

    sheets: list[Sheet]
    # By file name without its ending.
    figures: dict[str, Figure]
    remarks: list[str] = field(default_factory=list)
