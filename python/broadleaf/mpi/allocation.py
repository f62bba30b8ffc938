"""The resource manager's allocation that this process runs in: the manager, its hosts, its cores."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from broadleaf.mpi.dialects import FLUX, SRUN, Dialect

# Each manager's variable that is set in its allocations.
MARKS = (("SLURM_JOB_ID", "srun", SRUN), ("FLUX_URI", "flux", FLUX))
TIMEOUT_S = 20.0
# Cores, with the number of nodes that have as many: 8(x2),4.
CORES = re.compile(r"(\d+)(?:\(x(\d+)\))?")


def is_inside() -> bool:
    return any(os.environ.get(variable) for variable, _, _ in MARKS)


def manager() -> tuple[Path, Dialect] | None:
    """The launcher of this process's allocation."""
    for variable, name, dialect in MARKS:
        if os.environ.get(variable) and (found := shutil.which(name)):
            return Path(found), dialect
    return None


def hosts() -> list[str]:
    """The allocation's hosts; empty without an allocation or where the manager does not list them."""
    listed = os.environ.get("SLURM_JOB_NODELIST")
    if not listed:
        return []
    try:
        command = ["scontrol", "show", "hostnames", listed]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.split() if done.returncode == 0 else []


def cores() -> int | None:
    """The allocation's cores; None without an allocation or where the manager does not state them."""
    counts = CORES.findall(os.environ.get("SLURM_JOB_CPUS_PER_NODE", ""))
    return sum(int(count) * int(nodes or 1) for count, nodes in counts) or None


def own_cores() -> int:
    """Cores of this machine that this process may use; hardware threads of one core count once."""
    found = set()
    for cpu in os.sched_getaffinity(0):
        topology = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology")
        try:
            found.add((topology / "thread_siblings_list").read_text())
        except OSError:
            found.add(str(cpu))
    return len(found)
