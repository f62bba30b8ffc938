"""Broadleaf: fast one-to-all broadcasts of large messages on heterogeneous networks.

Measure or describe a `Platform`, `plan` a broadcast on it, `simulate` and `check` the plan, run it under MPI
with the `broadleaf run` command.
"""

from broadleaf import generate
from broadleaf._core import (
    Card,
    Comparison,
    Optimum,
    Plan,
    Platform,
    Trace,
    Tried,
    __version__,
    check,
    compare,
    optimum,
    plan,
    planners,
    simulate,
    throughput,
)
from broadleaf.errors import InvalidPlan, PlanError, PlatformError

__all__ = [
    "Card",
    "Comparison",
    "InvalidPlan",
    "Optimum",
    "Plan",
    "PlanError",
    "Platform",
    "PlatformError",
    "Trace",
    "Tried",
    "__version__",
    "check",
    "compare",
    "generate",
    "optimum",
    "plan",
    "planners",
    "simulate",
    "throughput",
]
