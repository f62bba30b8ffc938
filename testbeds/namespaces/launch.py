"""The command lines that start an MPI program across the namespaces of a network."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from network import Network, TestbedError

# MPICH polls without pause, which starves the other ranks where there are more ranks than cores (see its
# CVARs).
MPICH_ENVIRONMENT = {
    "MPIR_CVAR_CH4_NETMOD": "ofi",
    "FI_PROVIDER": "tcp",
    "FI_TCP_IFACE": "e0",
    "MPIR_CVAR_BCAST_DEVICE_COLLECTIVE": "0",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
}

OPENMPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

# No shared memory: all traffic must take the shaped cables.
OPENMPI_OPTIONS = [
    *("--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "e0"),
    *("--mca", "mpi_yield_when_idle", "1", "--bind-to", "none"),
]


def write_agent(network: Network, folder: Path) -> Path:
    """A stand-in for ssh: `agent [OPTIONS] HOST COMMAND...` runs the command in the host's namespace."""
    cases = "\n".join(
        f"  {host}|10.77.0.{index + 1}) namespace={network.name}-{index} host={host} ;;"
        for index, host in enumerate(network.rates.hosts)
    )
    agent = folder / "agent"
    agent.write_text(
        f"""#!/bin/sh
# Options with a value of their own, as ssh has them.
while [ "${{1#-}}" != "$1" ]; do case $1 in -l|-p|-o) shift ;; esac; shift; done
case $1 in
{cases}
  *) echo "agent: no host $1 in this network" >&2; exit 255 ;;
esac
shift
exec ip netns exec "$namespace" unshare --uts /bin/sh -c "hostname $host; $*"
"""
    )
    agent.chmod(agent.stat().st_mode | stat.S_IXUSR)
    return agent


def version_of(prefix: Path) -> str:
    """Which of the two MPIs is installed there."""
    for name, program in (("openmpi", "ompi_info"), ("mpich", "mpichversion")):
        if (prefix / "bin" / program).exists():
            return name
    raise TestbedError(f"{prefix} holds neither Open MPI nor MPICH; name the folder that has bin/mpiexec")


def launcher_words(prefix: Path, agent: Path) -> list[str]:
    """The options by which mpiexec, in the first host's namespace, reaches the others."""
    if version_of(prefix) == "openmpi":
        launch = ["--prtemca", "plm_ssh_agent", str(agent), "--prtemca", "prte_if_include", "e0"]
        return [*launch, *OPENMPI_OPTIONS]
    return ["-launcher", "ssh", "-launcher-exec", str(agent), "-iface", "e0"]


def on_first_host(prefix: Path, network: Network, program: list[str]) -> tuple[list[str], dict[str, str]]:
    """The command line of a program in the first host's namespace, and the environment for an MPI there."""
    inside = ["ip", "netns", "exec", f"{network.name}-0", "unshare", "--uts", "/bin/sh", "-c"]
    variables = OPENMPI_ENVIRONMENT if version_of(prefix) == "openmpi" else MPICH_ENVIRONMENT
    # The probe is linked with no MPI, and programs of another environment may not find theirs.
    libraries = ":".join(filter(None, [str(prefix / "lib"), os.environ.get("LD_LIBRARY_PATH")]))
    environment = {**os.environ, **variables, "LD_LIBRARY_PATH": libraries}
    return [*inside, 'hostname "$0"; exec "$@"', network.rates.hosts[0], *program], environment


def command_of(
    prefix: Path, network: Network, agent: Path, ranks: int, options: list[str], program: list[str]
) -> tuple[list[str], dict[str, str]]:
    """mpiexec's command line, to be run in the first host's namespace, and its environment.

    Ranks go to the hosts in turn.
    """
    hosts = network.rates.hosts
    slots = {host: len(range(index, ranks, len(hosts))) for index, host in enumerate(hosts)}
    used = ",".join(f"{host}:{count}" for host, count in slots.items() if count)
    placed = ["--host", used, "--map-by", "node"] if version_of(prefix) == "openmpi" else ["-hosts", used]
    launch = [*launcher_words(prefix, agent), *placed]
    command = [str(prefix / "bin/mpiexec"), "-n", str(ranks), *launch, *options, *program]
    return on_first_host(prefix, network, command)
