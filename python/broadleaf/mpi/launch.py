"""The command that starts a program under an MPI, in its launcher's dialect."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from broadleaf.mpi import allocation
from broadleaf.mpi.dialects import Dialect
from broadleaf.mpi.find import Mpi
from broadleaf.mpi.hosts import Host

# Open MPI refuses to run as root without both variables; in containers root is often the only user.
OPENMPI_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

# The loader's default folders.
SYSTEM_LIBRARIES = {"/usr/lib", "/usr/lib64", "/lib", "/lib64"}


@dataclass(frozen=True)
class Launcher:
    """The launcher of ranks, and the user's options for it."""

    program: Path
    dialect: Dialect
    arguments: tuple[str, ...] = ()

    @property
    def options(self) -> list[str]:
        """The options by which a Broadleaf command uses this launcher."""
        more = ["--launcher-args", shlex.join(self.arguments)] if self.arguments else []
        return ["--launcher", str(self.program), *more]


def launch_command(
    mpi: Mpi,
    ranks: int,
    program: Sequence[str],
    *,
    launcher: Launcher | None = None,
    hosts: Sequence[Host] = (),
    variables: Mapping[str, str] | None = None,
    preload: Path | None = None,
    has_threads: bool = False,
) -> tuple[list[str], dict[str, str]]:
    """The arguments and the whole environment for `subprocess`, by default for the MPI's own mpiexec.

    `variables` reach every rank, on every host; values that the user has set win over those set here for
    the MPI. `preload` precedes the user's preloaded libraries, in the ranks only, not in the launcher.
    `has_threads`: ranks have threads that work at once, so a rank is not bound to one core, unless the user's
    options for the launcher bind it."""
    launcher = launcher or Launcher(mpi.mpiexec, mpi.dialect)
    environment = with_library(mpi, os.environ)
    crowd = crowding(mpi, launcher, ranks, hosts)
    environment.update(crowd.variables)
    if mpi.flavour == "openmpi" and os.geteuid() == 0:
        environment = {**OPENMPI_AS_ROOT, **environment}
    given = dict(variables or {})
    environment.update(given)
    for name in ("LD_LIBRARY_PATH", "MPI4PY_MPIABI"):
        if name in environment:
            given[name] = environment[name]
    if preload is not None:
        given["LD_PRELOAD"] = before(str(preload), environment.get("LD_PRELOAD"))
    argv = [str(launcher.program), *launcher.dialect.start, "-n", str(ranks), *crowd.options]
    argv += unbinding(launcher, crowd) if has_threads else []
    argv += [*launcher.dialect.named_hosts(hosts), *launcher.arguments]
    if preload is not None and launcher.dialect.spawned:
        argv += [*launcher.dialect.spawned, "LD_PRELOAD", given["LD_PRELOAD"]]
    return [*argv, *with_variables(program, given)], environment


def unbinding(launcher: Launcher, crowd: Crowd) -> list[str]:
    """The options by which ranks are not bound to cores; none where others decide on that already, since
    Open MPI refuses an option that is given twice."""
    words = launcher.dialect.unbound
    option = words[0].partition("=")[0] if words else ""
    is_given = any(word.startswith(option) for word in (*crowd.options, *launcher.arguments))
    return [] if is_given else list(words)


def with_variables(program: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    """The program behind `env` with its variables as arguments, which need no quoting and no launcher
    option."""
    if not variables:
        return list(program)
    # `env` would take a program name with = for a variable.
    named = ["sh", "-c", 'exec "$0" "$@"', *program] if "=" in program[0] else program
    return ["env", *(f"{name}={value}" for name, value in variables.items()), *named]


def with_library(mpi: Mpi, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment in which a program finds the MPI's library that its mpicc has not linked, as mpi4py of
    another environment.
    """
    if not mpi.library_dir or str(mpi.library_dir) in SYSTEM_LIBRARIES:
        return dict(environment)
    path = before(str(mpi.library_dir), environment.get("LD_LIBRARY_PATH"))
    return {"MPI4PY_MPIABI": mpi.flavour, **environment, "LD_LIBRARY_PATH": path}


def before(first: str, rest: str | None) -> str:
    return f"{first}:{rest}" if rest else first


@dataclass(frozen=True)
class Crowd:
    """The settings for more ranks than cores; empty if there are not more."""

    ranks: int
    cores: int | None
    options: tuple[str, ...]
    variables: Mapping[str, str]

    @property
    def line(self) -> str | None:
        """The line for the user."""
        words = [*self.options, *(f"{name}={value}" for name, value in self.variables.items())]
        return f"{self.ranks} ranks on {self.cores} cores, started with {' '.join(words)}" if words else None


def crowding(mpi: Mpi, launcher: Launcher, ranks: int, hosts: Sequence[Host] = ()) -> Crowd:
    """The options to add where ranks outnumber cores; otherwise binding is left to the launcher."""
    cores = room(launcher, hosts)
    if cores is None or ranks <= cores:
        return Crowd(ranks, cores, (), {})
    unset = {n: value for n, value in mpi.dialect.crowded_variables.items() if n not in os.environ}
    return Crowd(ranks, cores, launcher.dialect.crowded, unset)


def room(launcher: Launcher, hosts: Sequence[Host]) -> int | None:
    """Cores for ranks; None where only the resource manager knows. A slot of a host file counts as one."""
    is_managed = launcher.dialect.flavour is None
    if hosts and not is_managed:
        return sum(host.slots for host in hosts)
    if is_managed or allocation.is_inside():
        return allocation.cores()
    return allocation.own_cores()
