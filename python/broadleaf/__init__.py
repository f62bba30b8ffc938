"""Broadleaf: fast one-to-all broadcasts of large messages on heterogeneous networks.

Measure or describe a `Platform`, `plan` a broadcast on it, `simulate` and `check` the plan, run it under MPI
with the `broadleaf run` command.
"""

from broadleaf._core import Card, Plan, Platform, Trace, __version__, check, planners, simulate, throughput
from broadleaf.errors import InvalidPlan, PlanError, PlatformError

__all__ = [
    "Card",
    "InvalidPlan",
    "Plan",
    "PlanError",
    "Platform",
    "PlatformError",
    "Trace",
    "__version__",
    "check",
    "planners",
    "simulate",
    "throughput",
]
