"""A push over links that were never measured, or that are slower than their platform has them: whether it is
worth measuring them, and the measurement."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from broadleaf._core import Platform, optimum
from broadleaf.errors import PlanError, PlatformError
from broadleaf.given import File
from broadleaf.measuring import MeasureError, measure
from broadleaf.mpi import Host, Start
from broadleaf.mpi.job import LaunchError
from broadleaf.units import seconds

# The time left is estimated this long after the first progress; a push that has more than LONG_S left is
# stopped, measured, and resumed with a plan. Both seconds.
SETTLED_S = 5.0
LONG_S = 120.0
# Of a push with a platform, so does one that is slower than the platform's limit by more than this factor.
SLOWER = 2.0
# Segments for which that limit is computed: long enough for start-ups not to matter; and its precision.
SEGMENT_BYTES, GAP = 1 << 20, 0.05

# The measurement's share of the time left, and its most seconds. Eight hosts need 14 s at the least, also
# where the share is smaller, and longer ones have not given faster pushes (docs/howto/push.md). Gap tables
# end at a size that is quick over slow links.
SHARE = 1 / 40
MOST_S = 60.0
LARGEST_BYTES = 256 << 10


@dataclass
class UnknownLinks:
    """The links of a push whose platform is missing or may be wrong, until they are measured."""

    start: Start
    launcher: File | None
    launcher_args: str | None
    # The file for the platform.
    out: Path
    # As the push has it, and the name of the first host there.
    platform: Platform | None = None
    root: str | None = None
    # The job's first event of progress.
    first: dict[str, Any] | None = None
    # Bytes/s, once it is computed.
    limit: float | None = None

    def worth_measuring(self, event: dict[str, Any]) -> float | None:
        """The seconds that the push still takes, once they are known and many; `event` is of its progress."""
        first = self.first = self.first or event
        took_s = event["seconds"] - first["seconds"]
        done = event["done_bytes"] - first["done_bytes"]
        if took_s < SETTLED_S or done <= 0:
            return None
        left_s: float = (event["total_bytes"] - event["done_bytes"]) / done * took_s
        if left_s <= LONG_S or SLOWER * done / took_s >= self.limit_bytes_per_s():
            return None
        return left_s

    def limit_bytes_per_s(self) -> float:
        """The highest rate that the platform allows; infinite without one."""
        if self.platform is None or self.root is None:
            return inf
        if self.limit is None:
            try:
                best = optimum(self.platform, self.root, SEGMENT_BYTES, GAP)
                self.limit = best.throughput_bytes_per_s
            except (PlanError, PlatformError):
                # No statement on how fast a push should be.
                self.limit = 0.0
        return self.limit

    def measured(self, ranks: int, machines: Sequence[Host], left_s: float) -> Path | None:
        """The platform's file, or None, with a line, if the measurement fails."""
        budget_s = min(SHARE * left_s, MOST_S)
        is_unknown = self.platform is None
        why = "without a platform" if is_unknown else "at less than half of the platform's rate"
        print(
            f"broadleaf: about {seconds(left_s)} left {why}; stopping to measure the network, "
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
            print(f"broadleaf: {error}; going on as before", file=sys.stderr)
            return None
        return self.out
