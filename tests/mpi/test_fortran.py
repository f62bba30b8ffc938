"""Fortran programs: each broadcast is caught, and counted once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Bench

PROGRAMS = Path(__file__).resolve().parent / "programs"


@pytest.mark.parametrize("ranks", [2, 3])
def test_the_names_that_fortran_compilers_use(bench: Bench, ranks: int) -> None:
    if bench.mpi.flavour == "mpich":
        pytest.skip("MPICH's Fortran layer calls MPI_Bcast, which is caught anyway")
    run = bench.check(ranks, "fortran_names")
    assert run.stats is not None
    assert run.stats["planned"] == 4
    assert run.stats["passed_through"] == {}


INTERFACES = {"include": "include 'mpif.h'", "mpi": "use mpi", "mpi_f08": "use mpi_f08"}


@pytest.mark.parametrize("interface", INTERFACES)
def test_programs_that_a_fortran_compiler_made(bench: Bench, tmp_path: Path, interface: str) -> None:
    assert bench.mpi.mpicc is not None
    mpifort = shutil.which("mpifort", path=str(bench.mpi.mpicc.parent))
    if mpifort is None or shutil.which("gfortran") is None:
        pytest.skip(f"this {bench.mpi.flavour} has no mpifort, or there is no gfortran")
    text = (PROGRAMS / "fortran.f90").read_text().replace("@MPI@", INTERFACES[interface])
    if interface == "include":
        # An include stands behind `implicit none`, a module before it.
        text = text.replace("  include 'mpif.h'\n  implicit none", "  implicit none\n  include 'mpif.h'")
    source, program = tmp_path / "program.f90", tmp_path / "program"
    source.write_text(text)
    subprocess.run([mpifort, "-O1", source, "-o", program], check=True)
    run = bench.run(3, [str(program)])
    assert run.returncode == 0, run.stderr
    assert "ok" in run.stdout
    assert run.stats is not None
    assert run.stats["planned"] == 4
