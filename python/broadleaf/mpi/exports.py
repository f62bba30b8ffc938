"""What a job script exports so that its programs run with Broadleaf, for a shell and as a modulefile."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from broadleaf.mpi.find import RUNTIMES, runtime_for

# Which runtimes go with which MPI; in a process only the one that fits its MPI does anything.
ABIS = {"openmpi": ("ompi",), "mpich": ("mpich", "abi"), "abi": ("abi",)}


@dataclass(frozen=True)
class Exports:
    """The variables, and the libraries that go before what else is preloaded."""

    variables: dict[str, str]
    preload: tuple[str, ...]

    def shell(self) -> list[str]:
        """Lines for any POSIX shell."""
        lines = [f"export {name}={shlex.quote(value)}" for name, value in self.variables.items()]
        libraries = shlex.quote(":".join(self.preload))
        return [*lines, f"export LD_PRELOAD={libraries}${{LD_PRELOAD:+:$LD_PRELOAD}}"]

    def modulefile(self) -> list[str]:
        """A Tcl modulefile, which Environment Modules and Lmod both load."""
        lines = [
            "#%Module1.0",
            "module-whatis {Broadleaf: planned MPI broadcasts on heterogeneous networks}",
            "conflict broadleaf",
        ]
        lines += [f"setenv {name} {tcl(value)}" for name, value in self.variables.items()]
        # Each goes to the front, so the first comes last.
        lines += [f"prepend-path LD_PRELOAD {tcl(library)}" for library in reversed(self.preload)]
        return lines


def exports(mpi: str | None, platform: str | None) -> Exports:
    """For one MPI, or for all that runtimes were built for. Raises ValueError for what cannot be exported."""
    if mpi is not None:
        libraries = [runtime_for(abi) for abi in ABIS[mpi]]
    else:
        libraries = [found for found in built() if found.is_file()]
        if not libraries:
            runtime_for("ompi")
    variables = {} if platform is None else {"BROADLEAF_PLATFORM": str(Path(platform).resolve())}
    for library in libraries:
        # The loader splits its list there, and knows no quoting.
        if any(mark in str(library) for mark in ": \t"):
            raise ValueError(
                f"{library} cannot be preloaded: its path has a colon or a space; install elsewhere"
            )
    for value in variables.values():
        if not value.isprintable():
            raise ValueError(f"{value!r} cannot be exported: it has a control character; rename it")
    return Exports(variables, tuple(map(str, libraries)))


def built() -> Sequence[Path]:
    return [RUNTIMES / f"libbroadleaf_mpi_{abi}.so" for abi in ("ompi", "mpich", "abi")]


def tcl(text: str) -> str:
    """One word of Tcl, whatever is in it."""
    return '"' + "".join(f"\\{mark}" if mark in '\\"$[]{}' else mark for mark in text) + '"'
