"""Paper 2's problem on plain matrices: one message between clusters, each of which then takes a local time.

    makespan_s, sends = bl.grid.schedule(gap_s, latency_s, local_broadcast_s, root=0, strategy="ecef-la")
    rows = bl.grid.makespans(50, 10_000, ["flat", "ecef", "makespan"], gaps="pair")

Barchet-Steffenel and Mounié, *Scheduling heuristics for efficient broadcast operations on grid environments*.
"""

from broadleaf._core import grid_makespans as makespans
from broadleaf._core import grid_schedule as schedule

__all__ = ["makespans", "schedule"]
