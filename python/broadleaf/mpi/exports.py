"""The exports of a job script whose programs run with Broadleaf, for a shell and as a modulefile."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from broadleaf.mpi.find import runtime_file, runtime_for
from broadleaf.mpi.launchers import start_of

# The runtime for each kind of MPI.
ABIS = {"openmpi": "ompi", "mpich": "mpich", "abi": "abi"}
EVERY = "all"


@dataclass(frozen=True)
class Exports:
    """The variables, and the runtimes joined by colons, which precede other preloaded libraries."""

    variables: dict[str, str]
    preload: str

    def shell(self) -> list[str]:
        """Lines for any POSIX shell."""
        lines = [f"export {name}={shlex.quote(value)}" for name, value in self.variables.items()]
        return [*lines, f"export LD_PRELOAD={shlex.quote(self.preload)}${{LD_PRELOAD:+:$LD_PRELOAD}}"]

    def modulefile(self) -> list[str]:
        """A Tcl modulefile, which Environment Modules and Lmod both load."""
        return [
            "#%Module1.0",
            "module-whatis {Broadleaf: planned MPI broadcasts on heterogeneous networks}",
            "conflict broadleaf",
            *(f"setenv {name} {tcl(value)}" for name, value in self.variables.items()),
            f"prepend-path LD_PRELOAD {tcl(self.preload)}",
        ]


def exports(runtimes: Sequence[Path], platform: str | None) -> Exports:
    """With those runtimes preloaded. Raises ValueError for what cannot be exported."""
    for runtime in runtimes:
        # The loader splits its list at these, and has no quoting.
        if any(mark in str(runtime) for mark in ": \t"):
            raise ValueError(
                f"{runtime} cannot be preloaded: its path has a colon or a space; install elsewhere"
            )
    variables = {} if platform is None else {"BROADLEAF_PLATFORM": str(Path(platform).resolve())}
    for value in variables.values():
        if not value.isprintable():
            raise ValueError(f"{value!r} cannot be exported: it has a control character; rename it")
    return Exports(variables, ":".join(map(str, runtimes)))


def runtimes_of(mpi: str | None) -> list[Path]:
    """The runtime for a kind of MPI, all that are here, or by default the one that `run` would take."""
    if mpi is None:
        return [start_of().runtime]
    if mpi == EVERY and (here := [file for abi in ABIS.values() if (file := runtime_file(abi)).exists()]):
        return here
    # Without any runtime, the error of any of them names the remedy.
    return [runtime_for(ABIS.get(mpi, "ompi"))]


def tcl(text: str) -> str:
    """One word of Tcl, whatever is in it."""
    return '"' + "".join(f"\\{mark}" if mark in '\\"$[]{}' else mark for mark in text) + '"'
