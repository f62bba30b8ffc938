"""The MPI at hand: finding it, and starting a program under it with its broadcasts planned."""

from broadleaf.mpi.find import Mpi, MpiNotFoundError, compiling_mpis, find_mpi, find_mpis, required_mpis
from broadleaf.mpi.hosts import Host, HostsFileError, read_hosts
from broadleaf.mpi.launch import Launcher, crowding, launch_command
from broadleaf.mpi.launchers import Start, start_of, start_with

__all__ = [
    "Host",
    "HostsFileError",
    "Launcher",
    "Mpi",
    "MpiNotFoundError",
    "Start",
    "compiling_mpis",
    "crowding",
    "find_mpi",
    "find_mpis",
    "launch_command",
    "read_hosts",
    "required_mpis",
    "start_of",
    "start_with",
]
