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


@pytest.mark.parametrize("ranks", [2, 3])
def test_the_names_of_the_other_collectives(bench: Bench, ranks: int) -> None:
    if bench.mpi.flavour == "mpich":
        pytest.skip("MPICH's Fortran layer calls MPI_Bcast, which is caught anyway")
    # The program stands in for Open MPI's Fortran layer, whose MPI_IN_PLACE must be visible.
    program = bench.build("fortran_collectives", [PROGRAMS / "fortran_collectives.c"], "-rdynamic")
    run = bench.run(ranks, [str(program)], min_bytes="1", collectives="all")
    assert run.stdout == "ok\n", run.stderr
    assert run.stats is not None
    counts: dict[str, int] = {}
    for row in run.stats["broadcasts"]:
        counts[row["collective"]] = counts.get(row["collective"], 0) + row["planned"]
    twice = dict.fromkeys(["scatter", "gather", "allgather", "reduce-scatter"], 4)
    assert counts == {**twice, "reduce": 2, "allreduce": 2}
    assert run.stats["not_planned"] == {}


INTERFACES = {"include": "include 'mpif.h'", "mpi": "use mpi", "mpi_f08": "use mpi_f08"}


def compiled(bench: Bench, folder: Path, interface: str, *linked: Path) -> str:
    """fortran.f90 with one of MPI's interfaces, compiled with the sources or objects of `linked`."""
    assert bench.mpi.mpicc is not None
    mpifort = shutil.which("mpifort", path=str(bench.mpi.mpicc.parent))
    if mpifort is None or shutil.which("gfortran") is None:
        pytest.skip(f"this {bench.mpi.flavour} has no mpifort, or there is no gfortran")
    text = (PROGRAMS / "fortran.f90").read_text().replace("@MPI@", INTERFACES[interface])
    if interface == "include":
        # An include goes after `implicit none`, a module before it.
        text = text.replace("  include 'mpif.h'\n  implicit none", "  implicit none\n  include 'mpif.h'")
    source, program = folder / "program.f90", folder / "program"
    source.write_text(text)
    subprocess.run([mpifort, "-O1", source, *linked, "-o", program], check=True)
    return str(program)


@pytest.mark.parametrize("interface", INTERFACES)
def test_programs_that_a_fortran_compiler_made(bench: Bench, tmp_path: Path, interface: str) -> None:
    run = bench.run(3, [compiled(bench, tmp_path, interface)])
    assert run.returncode == 0, run.stderr
    assert "ok" in run.stdout
    assert run.stats is not None
    assert run.stats["planned"] == 4


# The module mpi_f08 has other names, which a tool would wrap in the same way.
@pytest.mark.parametrize("order", ["before", "after", "linked"])
@pytest.mark.parametrize("interface", ["include", "mpi"])
def test_a_tool_for_fortran_in_any_place(bench: Bench, tmp_path: Path, interface: str, order: str) -> None:
    if bench.mpi.flavour == "mpich":
        pytest.skip("MPICH's Fortran layer calls MPI_Bcast, which tools wrap in C (test_tools.py)")
    source = PROGRAMS.parent / "tools" / "fortran_counter.c"
    if order == "linked":
        objects = bench.build("fortran_counter.o", [source], "-c")
        run = bench.run(3, [compiled(bench, tmp_path, interface, objects)])
    else:
        program = compiled(bench, tmp_path, interface)
        library = bench.build("libfortran_counter.so", [source], "-shared", "-fPIC")
        preloaded = [library, bench.runtime] if order == "before" else [bench.runtime, library]
        run = bench.preloading(*preloaded).run(3, [program])
    assert run.returncode == 0, run.stderr
    assert "fortran counter: 1 starts, 4 broadcasts\n" in run.stderr
    assert run.stats is not None
    assert (run.stats["planned"], run.stats["passed_through"]) == (4, {})
