"""Broadleaf: fast one-to-all broadcasts of large messages on heterogeneous networks.

`measure` or describe a `Platform`, `plan` a broadcast on it, `simulate` and `check` the plan, look at it with
`report` and `draw`, `run` an MPI program with its broadcasts planned, `bench` it beside the MPI's own, and
`push` files to all hosts.
Sizes are whole bytes or text such as "64MiB".
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
    clusters,
    compare,
    makespan_bound_s,
    optimum,
    plan,
    planners,
    simulate,
    throughput,
    tune,
    tuning_rules,
    with_period,
)
from broadleaf.benchmarks import bench
from broadleaf.errors import InvalidPlan, PlanError, PlatformError
from broadleaf.measuring import measure
from broadleaf.plot import draw, race
from broadleaf.predicted import Predicted
from broadleaf.pushing import push
from broadleaf.reporting import report, report_runs
from broadleaf.running import run
from broadleaf.trees import Tree

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
    "Predicted",
    "Trace",
    "Tree",
    "Tried",
    "__version__",
    "bench",
    "check",
    "clusters",
    "compare",
    "draw",
    "generate",
    "grid",
    "makespan_bound_s",
    "measure",
    "optimum",
    "plan",
    "planners",
    "push",
    "race",
    "report",
    "report_runs",
    "run",
    "simulate",
    "throughput",
    "tune",
    "tuning_rules",
    "with_period",
]
