"""Programs for SMPI, from C sources: plain, or with Broadleaf's runtime linked in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from broadleaf.checkout import CHECKOUT
from broadleaf.smpi.start import SmpiError, first_error, need

BUILDER = CHECKOUT / "crates" / "broadleaf-mpi" / "build_runtimes.py"
HEADERS = CHECKOUT / "crates" / "broadleaf-mpi" / "include"
# SMPI copies the program once per rank.
SMALL = "-s"


def plain_program(source: Path, program: Path, options: tuple[str, ...] = ()) -> Path:
    """Compiles a C source with smpicc. Raises SmpiError."""
    command = [need("smpicc"), "-O2", str(source), "-o", str(program), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SmpiError(f"smpicc cannot build {source}: {first_error(done.stderr)}")
    return program


def planned_program(source: Path, program: Path) -> Path:
    """Compiles a program whose broadcasts are planned; it may call broadleaf.h. Raises SmpiError."""
    runtime = runtime_object(program.parent)
    engine = (f"-L{runtime.parent}", "-lbroadleaf_engine", f"-Wl,-rpath,{runtime.parent.resolve()}")
    return plain_program(source, program, (f"-I{HEADERS}", str(runtime), *engine, SMALL))


def runtime_object(folder: Path) -> Path:
    """broadleaf_mpi_smpi.o in `folder`, its engine beside it; cargo first brings that up to date. Raises
    SmpiError."""
    if not BUILDER.is_file():
        raise SmpiError(f"no {BUILDER}; our runtime for SMPI is built from a checkout of Broadleaf")
    command = [sys.executable, str(BUILDER), "--mpicc", need("smpicc"), "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SmpiError(f"our runtime cannot be built for SMPI: {last_line(done.stderr)}")
    return folder / "broadleaf_mpi_smpi.o"


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it gave no reason"
