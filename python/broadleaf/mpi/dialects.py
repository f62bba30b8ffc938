"""Each launcher's options, as data: for hosts, and for more ranks than cores.

Variables need no option: ranks are started by `env NAME=VALUE ... PROGRAM`, which every launcher passes on
unchanged to every host, whatever part of the environment it forwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from broadleaf.mpi.hosts import Host

# MPIs that share an ABI, and so a runtime; Intel's MPI and others belong to MPICH's.
Flavour = Literal["openmpi", "mpich"]


@dataclass(frozen=True, eq=False)
class Dialect:
    """One launcher's command line."""

    name: str
    # Texts of its `--version` output; any one suffices.
    marks: tuple[str, ...]
    # The options that name hosts, with {} for the list, and one host of that list.
    hosts: tuple[str, ...]
    host: str
    # Each host is listed once per rank.
    is_host_a_rank: bool = False
    # Words between the launcher and all options.
    start: tuple[str, ...] = ()
    # Where ranks outnumber cores: options and variables.
    crowded: tuple[str, ...] = ()
    crowded_variables: Mapping[str, str] = field(default_factory=dict)
    # The option, and its value, that lets the threads of a rank use all cores of the job on its host.
    unbound: tuple[str, ...] = ()
    # The option for a variable that spawned processes get too; they start without the ranks' `env`.
    spawned: tuple[str, ...] = ()
    # How the ranks of an MPI find each other: the option, its values by preference, the words that list
    # them.
    meeting: str = ""
    servers: Mapping[Flavour, tuple[str, ...]] = field(default_factory=dict)
    listing: tuple[str, ...] = ()
    # The user's variable that chooses one.
    chosen_by: str = ""
    # Options for ranks that run beside a program which has the whole allocation.
    beside: tuple[str, ...] = ()
    # The MPI that it belongs to; None: a resource manager's, for any MPI.
    flavour: Flavour | None = None

    def named_hosts(self, hosts: Sequence[Host]) -> list[str]:
        listed = ",".join(
            self.host.format(name=host.name, slots=host.slots)
            for host in hosts
            for _ in range(host.slots if self.is_host_a_rank else 1)
        )
        return [word.replace("{}", listed) for word in self.hosts] if hosts else []


OPEN_MPI_CROWDED = {"OMPI_MCA_mpi_yield_when_idle": "1"}

OPEN_MPI = Dialect(
    "Open MPI's mpiexec",
    marks=("Open MPI", "OpenRTE"),
    hosts=("--host", "{}"),
    host="{name}:{slots}",
    crowded=("--oversubscribe", "--bind-to", "none"),
    crowded_variables=OPEN_MPI_CROWDED,
    unbound=("--bind-to", "none"),
    flavour="openmpi",
)

# MPICH polls without pause and, inside a node, broadcasts through shared memory that all ranks spin on. With
# more ranks than cores each then waits for the time slices of the others: 4 ranks on 2 cores take 5.9 s
# instead of 33 ms for 16 MiB.
MPICH_CROWDED = {
    "MPIR_CVAR_BCAST_DEVICE_COLLECTIVE": "0",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
}

HYDRA = Dialect(
    "MPICH's mpiexec",
    marks=("HYDRA", "MPICH"),
    hosts=("-hosts", "{}"),
    host="{name}:{slots}",
    crowded_variables=MPICH_CROWDED,
    spawned=("-genv",),
    flavour="mpich",
)

INTEL = Dialect(
    "Intel MPI's mpiexec",
    marks=("Intel(R) MPI",),
    hosts=("-hosts", "{}"),
    host="{name}:{slots}",
    # Intel MPI pins ranks by itself, and waits without yielding.
    crowded_variables={"I_MPI_PIN": "0", "I_MPI_THREAD_YIELD": "3"},
    spawned=("-genv",),
    flavour="mpich",
)

SRUN = Dialect(
    "srun",
    marks=("slurm",),
    hosts=("--distribution=arbitrary", "--nodelist={}"),
    host="{name}",
    is_host_a_rank=True,
    # As with every mpiexec, one interrupt ends the job, and so does a failing rank.
    start=("--quit-on-interrupt", "--kill-on-bad-exit"),
    crowded=("--overcommit",),
    unbound=("--cpu-bind=none",),
    meeting="--mpi={}",
    servers={"openmpi": ("pmix",), "mpich": ("pmi2", "pmix")},
    listing=("--mpi=list",),
    chosen_by="SLURM_MPI_TYPE",
    beside=("--overlap",),
)

# It has no slots: ranks are spread over the hosts evenly.
FLUX = Dialect(
    "flux run",
    marks=("libflux",),
    hosts=("--requires=hosts:{}",),
    host="{name}",
    start=("run",),
    unbound=("-ocpu-affinity=off",),
    meeting="-opmi={}",
    servers={"openmpi": ("pmix",), "mpich": ("simple",)},
)

# Intel's MPI names MPICH's hydra too, so its mark comes before HYDRA's.
DIALECTS = (OPEN_MPI, INTEL, HYDRA, SRUN, FLUX)
MANAGERS = {"srun": SRUN, "flux": FLUX}


def dialect_of(version: str) -> Dialect | None:
    """The launcher with this `--version` output; None if it is unknown."""
    return next((each for each in DIALECTS if any(mark in version for mark in each.marks)), None)
