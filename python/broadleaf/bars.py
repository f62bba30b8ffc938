"""A trace as bars: each transfer one bar, or, of a long trace, a run of transfers over one link."""

from __future__ import annotations

import base64
import gzip
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from broadleaf._core import Trace

# Whole numbers and times of a bar, in the order in which the page reads them.
WHOLE = ("source", "target", "tree", "first", "count")
REAL = ("bytes", "begin", "release", "into", "arrive", "held")

# Stands for "several" in a bar that was merged over trees or receivers.
SEVERAL = 2**32 - 1

Column = NDArray[Any]


@dataclass(frozen=True)
class Bars:
    """Runs of transfers in the order of their beginning.

    A bar spans `begin` to `release` at the sender and `into` to `arrive` at the receiver, and holds the
    sender's port for `held` of its span, seconds.
    """

    columns: dict[str, Column]
    transfers: int
    merged_by: str | None

    def __len__(self) -> int:
        return len(self.columns["source"])

    def packed(self) -> str:
        """All columns one after the other, 4 bytes a value, compressed, as base64."""
        parts = [self.columns[name].astype("<u4").tobytes() for name in WHOLE]
        parts += [self.columns[name].astype("<f4").tobytes() for name in REAL]
        return base64.b64encode(gzip.compress(b"".join(parts), 9, mtime=0)).decode()

    def told(self) -> str | None:
        """The page's sentence on merging; None where each transfer has its own bar."""
        if self.merged_by is None:
            return None
        longest = int(self.columns["count"].max())
        return (
            f"{self.transfers:,} transfers are drawn as {len(self):,} bars: each is up to {longest:,} "
            f"transfers {self.merged_by}."
        )


def bars_of(trace: Trace, most_bars: int) -> Bars:
    """At most about `most_bars` bars: what goes over one link in one tree is merged in runs of equal number;
    if that is not enough, over all trees; if that is not, over all receivers of a sender.
    """
    table = trace.transfers
    total = len(table)
    if total <= most_bars:
        return Bars(merged(table, np.arange(total)), total, None)
    count = len(trace.nodes)
    source, target = table["from"].astype(np.uint64), table["to"].astype(np.uint64)
    pair = source * np.uint64(count) + target
    trees = np.uint64(int(table["tree"].max()) + 1)
    levels = (
        (pair * trees + table["tree"], "over one link in one tree"),
        (pair, "over one link, of all trees"),
        (source, "of one sender"),
    )
    # Merging trees gives shorter runs. Receivers are merged last: without them transfers cannot be followed.
    rooms = (most_bars // 2, most_bars, 0)
    fits = (len(np.unique(keys)) <= room for (keys, _), room in zip(levels, rooms, strict=True))
    keys, by = next((level for level, fit in zip(levels, fits, strict=True) if fit), levels[-1])
    order = np.lexsort((table["start_s"], keys))
    ordered = keys[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    run = max(1, -(-total // max(1, most_bars - len(starts))))
    place = np.arange(total) - np.repeat(starts, np.diff(np.append(starts, total)))
    return Bars(merged(table[order], np.flatnonzero(place % run == 0)), total, by)


def merged(table: Any, starts: NDArray[np.intp]) -> dict[str, Column]:
    """The columns of bars that begin at the rows `starts` of a table and end before the next one."""
    if not len(starts):
        return {name: np.zeros(0) for name in (*WHOLE, *REAL)}
    held = table["release_s"] - table["start_s"]
    # A receiver is busy for as long as the sender was, ending at the arrival.
    into = np.maximum(table["start_s"], table["arrival_s"] - held)

    def one_or_several(column: Column) -> Column:
        low, high = np.minimum.reduceat(column, starts), np.maximum.reduceat(column, starts)
        return np.where(low == high, low, SEVERAL)

    columns: dict[str, Column] = {
        "source": table["from"][starts],
        "target": one_or_several(table["to"]),
        "tree": one_or_several(table["tree"]),
        "first": np.minimum.reduceat(table["segment"], starts),
        "count": np.diff(np.append(starts, len(table))),
        "bytes": np.add.reduceat(table["bytes"].astype(np.float64), starts),
        "begin": np.minimum.reduceat(table["start_s"], starts),
        "release": np.maximum.reduceat(table["release_s"], starts),
        "into": np.minimum.reduceat(into, starts),
        "arrive": np.maximum.reduceat(table["arrival_s"], starts),
        "held": np.add.reduceat(held, starts),
    }
    order = np.lexsort((columns["target"], columns["source"], columns["begin"]))
    return {name: column[order] for name, column in columns.items()}
