"""The command that starts a program under an MPI.

What each MPI needs to be told is known here and nowhere else: how variables reach the ranks, how hosts are
named, and what keeps it usable when ranks outnumber cores or the user is root.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from broadleaf.mpi.find import Mpi
from broadleaf.mpi.hosts import Host

# MPICH polls without pause and, inside a node, broadcasts through shared memory that all ranks spin on. With
# more ranks than cores each then waits for the time slices of the others: 4 ranks on 2 cores take 5.9 s
# instead of 33 ms for 16 MiB.
MPICH_OVERSUBSCRIBED = {
    "MPIR_CVAR_BCAST_DEVICE_COLLECTIVE": "0",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
}

OPENMPI_OVERSUBSCRIBED = {"OMPI_MCA_mpi_yield_when_idle": "1"}

# Open MPI refuses to run as root unless asked twice; in containers there is often no one else.
OPENMPI_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

# Where every program looks anyway.
SYSTEM_LIBRARIES = {"/usr/lib", "/usr/lib64", "/lib", "/lib64"}


def launch_command(
    mpi: Mpi,
    ranks: int,
    program: Sequence[str],
    *,
    hosts: Sequence[Host] = (),
    variables: Mapping[str, str] | None = None,
    preload: Path | None = None,
) -> tuple[list[str], dict[str, str]]:
    """The arguments and the whole environment for `subprocess`.

    `variables` reach every rank, on every host; what the user has set already wins over what is set here for
    the MPI's sake. `preload` goes before what the user preloads, in the ranks only, not in the launcher.
    """
    environment = dict(os.environ)
    for name, value in _tuning(mpi, ranks, hosts).items():
        environment.setdefault(name, value)
    given = dict(variables or {})
    if mpi.library_dir and str(mpi.library_dir) not in SYSTEM_LIBRARIES:
        # A program that this MPI's mpicc has not linked, e.g. mpi4py of another environment, finds it here.
        given["LD_LIBRARY_PATH"] = _before(str(mpi.library_dir), given, environment, "LD_LIBRARY_PATH")
        given.setdefault("MPI4PY_MPIABI", environment.get("MPI4PY_MPIABI", mpi.flavour))
    environment.update(given)
    argv = [str(mpi.mpiexec), "-n", str(ranks)]
    argv += _openmpi(given, hosts) if mpi.flavour == "openmpi" else _mpich(hosts)
    if preload is not None:
        libraries = _before(str(preload), given, environment, "LD_PRELOAD")
        option = (
            ["-x", f"LD_PRELOAD={libraries}"]
            if mpi.flavour == "openmpi"
            else ["-genv", "LD_PRELOAD", libraries]
        )
        argv += option
    return [*argv, *program], environment


def _openmpi(variables: Mapping[str, str], hosts: Sequence[Host]) -> list[str]:
    options = ["--oversubscribe", "--bind-to", "none"]
    for name in variables:
        # By name only: the value comes from the launcher's environment and needs no quoting.
        options += ["-x", name]
    if hosts:
        options += ["--host", ",".join(f"{host.name}:{host.slots}" for host in hosts)]
    return options


def _mpich(hosts: Sequence[Host]) -> list[str]:
    # Hydra passes the whole environment on by itself.
    return ["-hosts", ",".join(f"{host.name}:{host.slots}" for host in hosts)] if hosts else []


def _tuning(mpi: Mpi, ranks: int, hosts: Sequence[Host]) -> dict[str, str]:
    cores = len(os.sched_getaffinity(0))
    # Of other hosts only the user knows; there, one slot is taken for one core.
    oversubscribed = not hosts and ranks > cores
    if mpi.flavour == "mpich":
        return MPICH_OVERSUBSCRIBED if oversubscribed else {}
    tuning = dict(OPENMPI_OVERSUBSCRIBED) if oversubscribed else {}
    return {**tuning, **OPENMPI_AS_ROOT} if os.geteuid() == 0 else tuning


def _before(first: str, given: Mapping[str, str], environment: Mapping[str, str], name: str) -> str:
    rest = given.get(name) or environment.get(name)
    return f"{first}:{rest}" if rest else first
