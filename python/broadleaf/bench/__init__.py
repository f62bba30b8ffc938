"""Our broadcast beside those of the MPI at hand: on local ranks, in simulated time, on shaped namespaces.

The programs and test beds are those of a checkout (`benches/`, `testbeds/`); an installed package has none.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from broadleaf.checkout import TESTBEDS

OURS = "broadleaf"


class BenchError(ValueError):
    """What keeps a bench from running, in one line."""


@dataclass
class Row:
    """One algorithm at one size; `seconds` is None where it did not finish in time."""

    algorithm: str
    ranks: int
    bytes: int
    limit_s: float
    samples_s: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float | None:
        return statistics.median(self.samples_s) if self.samples_s else None

    def to_dict(self) -> dict[str, object]:
        return {
            "algorithm": self.algorithm,
            "ranks": self.ranks,
            "bytes": self.bytes,
            "seconds": self.seconds,
            "limit_s": self.limit_s,
            "samples_s": self.samples_s,
        }


def need_checkout() -> None:
    if not TESTBEDS.is_dir():
        raise BenchError(f"no test beds at {TESTBEDS}; benches run in a checkout of Broadleaf")


def listed(sizes: Sequence[int]) -> str:
    return ",".join(str(size) for size in sizes)
