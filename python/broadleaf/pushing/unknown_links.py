"""A push over links that were never measured: whether it is worth measuring them, and the measurement."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from broadleaf.given import File
from broadleaf.measuring import MeasureError, measure
from broadleaf.mpi import Host, Start
from broadleaf.mpi.job import LaunchError
from broadleaf.units import seconds

# The time left is estimated this long after the first progress; a push that has more than LONG_S left is
# stopped, measured, and resumed with a plan. Both seconds.
SETTLED_S = 5.0
LONG_S = 120.0

# The measurement's share of the time left, and its most seconds. Eight hosts need 14 s at the least, also
# where the share is smaller, and longer ones have not given faster pushes (docs/howto/push.md). Gap tables
# end at a size that is quick over slow links.
SHARE = 1 / 40
MOST_S = 60.0
LARGEST_BYTES = 256 << 10


@dataclass
class UnknownLinks:
    """The links of a push without a platform, until they are measured."""

    start: Start
    launcher: File | None
    launcher_args: str | None
    # The file for the platform.
    out: Path
    # The job's first event of progress.
    first: dict[str, Any] | None = None

    def worth_measuring(self, event: dict[str, Any]) -> float | None:
        """The seconds that the push still takes, once they are known and many; `event` is of its progress."""
        first = self.first = self.first or event
        took_s = event["seconds"] - first["seconds"]
        done = event["done_bytes"] - first["done_bytes"]
        if took_s < SETTLED_S or done <= 0:
            return None
        left_s: float = (event["total_bytes"] - event["done_bytes"]) / done * took_s
        return left_s if left_s > LONG_S else None

    def measured(self, ranks: int, machines: Sequence[Host], left_s: float) -> Path | None:
        """The platform's file, or None, with a line, if the measurement fails."""
        budget_s = min(SHARE * left_s, MOST_S)
        print(
            f"broadleaf: about {seconds(left_s)} left without a platform; stopping to measure the network, "
            "then going on with a plan",
            file=sys.stderr,
        )
        try:
            measure(
                *(ranks, machines or None, self.out),
                mpi=self.start.mpi,
                launcher=self.launcher,
                launcher_args=self.launcher_args,
                budget_s=budget_s,
                largest_bytes=LARGEST_BYTES,
            )
        except (MeasureError, LaunchError) as error:
            print(f"broadleaf: {error}; going on without a plan", file=sys.stderr)
            return None
        return self.out
