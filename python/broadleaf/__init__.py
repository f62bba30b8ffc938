"""Broadleaf: fast one-to-all broadcasts of large messages on heterogeneous networks.

Measure or describe a `Platform`, `plan` a broadcast on it, `simulate` and `check` the plan, run it under MPI
with the `broadleaf run` command.
"""

from broadleaf import generate, grid
from broadleaf._core import (
    Card,
    Choice,
    Comparison,
    Forecast,
    Optimum,
    Plan,
    Platform,
    Trace,
    Tried,
    __version__,
    check,
    compare,
    makespan_bound_s,
    optimum,
    plan,
    planners,
    simulate,
    throughput,
    tune,
    tuning_rules,
)
from broadleaf.errors import InvalidPlan, PlanError, PlatformError

__all__ = [
    "Card",
    "Choice",
    "Comparison",
    "Forecast",
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
    "grid",
    "makespan_bound_s",
    "optimum",
    "plan",
    "planners",
    "simulate",
    "throughput",
    "tune",
    "tuning_rules",
]
