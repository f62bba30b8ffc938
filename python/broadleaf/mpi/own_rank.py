"""This process as one of several tasks that a launcher has started, as in `srun broadleaf push`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from broadleaf.mpi.allocation import own_cores
from broadleaf.mpi.dialects import Flavour
from broadleaf.mpi.find import Mpi
from broadleaf.mpi.launch import OPENMPI_AS_ROOT, before, with_library

# The variables of a rank and of the number of ranks, and the MPI that the launcher belongs to: those of Open
# MPI's mpiexec, of PMI (MPICH's mpiexec, srun --mpi=pmi2), and of srun --mpi=pmix.
MARKS: tuple[tuple[str, str, Flavour | None], ...] = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "openmpi"),
    ("PMI_RANK", "PMI_SIZE", "mpich"),
    ("PMIX_RANK", "SLURM_STEP_NUM_TASKS", None),
)
# Of a step of Slurm whose tasks do not find each other (--mpi=none).
UNCONNECTED = ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS")
# Ranks on this machine: Open MPI, MPICH.
LOCAL_RANKS = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS")


@dataclass(frozen=True)
class OwnRank:
    """One task of several."""

    rank: int
    ranks: int
    # None: the MPI is not known by the launcher.
    flavour: Flavour | None
    # Whether the tasks can find each other as ranks of an MPI program.
    is_connected: bool

    @property
    def is_first(self) -> bool:
        return self.rank == 0


def own_rank(variables: Mapping[str, str] | None = None) -> OwnRank | None:
    """This task; None if it is the only one, or if no launcher has started it."""
    known = os.environ if variables is None else variables
    marks = [*MARKS, *([(*UNCONNECTED, None)] if "SLURM_STEP_ID" in known else [])]
    for rank, ranks, flavour in marks:
        if known.get(rank, "").isdecimal() and known.get(ranks, "").isdecimal():
            if int(known[ranks]) < 2:
                return None
            return OwnRank(int(known[rank]), int(known[ranks]), flavour, rank != UNCONNECTED[0])
    return None


def own_environment(mpi: Mpi, variables: Mapping[str, str]) -> dict[str, str]:
    """The environment in which this task becomes a rank of a program with the runtime preloaded."""
    environment = with_library(mpi, os.environ)
    if mpi.flavour == "openmpi" and os.geteuid() == 0:
        environment = {**OPENMPI_AS_ROOT, **environment}
    local = next((int(os.environ[name]) for name in LOCAL_RANKS if name in os.environ), 1)
    if local > own_cores():
        environment = {**mpi.dialect.crowded_variables, **environment}
    environment.update(variables)
    environment["LD_PRELOAD"] = before(str(mpi.runtime), environment.get("LD_PRELOAD"))
    return environment
