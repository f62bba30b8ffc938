"""The MPI at hand: finding it, and starting a program under it with its broadcasts planned."""

from broadleaf.mpi.find import Mpi, MpiNotFoundError, compiling_mpis, find_mpi, find_mpis, required_mpis
from broadleaf.mpi.hosts import Host, HostsFileError, read_hosts
from broadleaf.mpi.launch import launch_command

__all__ = [
    "Host",
    "HostsFileError",
    "Mpi",
    "MpiNotFoundError",
    "compiling_mpis",
    "find_mpi",
    "find_mpis",
    "launch_command",
    "read_hosts",
    "required_mpis",
]
