"""A plan's data and their direction, in words and pictures."""

from __future__ import annotations

from broadleaf._core import Plan
from broadleaf.units import size

# Data go from the leaves to the root only.
INWARD = ("gather", "reduce", "reduce-scatter")
# All hosts are alike: the plan's root is only that of its first tree.
ROOTLESS = ("allgather", "reduce-scatter", "allreduce")
# Each host has a block of its own, of the plan's message size.
BLOCKS = ("scatter", "gather", "allgather", "reduce-scatter")


def goes_outward(plan: Plan) -> bool:
    """Whether all data go from roots to leaves, as the trees are written."""
    return plan.collective not in (*INWARD, "allreduce")


def moved(plan: Plan, root: str) -> str:
    """What a plan moves: `bcast of 1 MiB from a`, `reduce of 1 MiB to a`, `allgather of 1 MiB blocks`.

    `root` is the root's name as displayed.
    """
    name = plan.collective
    blocks = " blocks" if name in BLOCKS else ""
    ends = "" if name in ROOTLESS else f" {'to' if name in INWARD else 'from'} {root}"
    return f"{name} of {size(plan.message_bytes)}{blocks}{ends}"
