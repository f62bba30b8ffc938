"""Third-party programs: how each is started, and the part of its output that must be the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

# The packages of each MPI's launcher, for every program.
MPIS = {"openmpi": ("openmpi-bin",), "mpich": ("mpich",)}
TESTERS = Path("/usr/lib/x86_64-linux-gnu/scalapack")
# Not xdsyevr, whose verdict depends on variables that it never sets (VL and VU of pdseprtst.f).
# Not xdsep: one of its 108 tests fails in some runs without Broadleaf, too.
# Testers that take seconds. On MPICH's 2 ranks most broadcasts of the other testers have one rank only.
TESTED = {
    "openmpi": [
        *("xdlu", "xdqr", "xdinv", "xdls", "xdgblu", "xzlu", "xdbrd", "xdhrd", "xdtrd", "xdnep"),
        *("xdgsep", "xdpbllt", "xdptllt", "xddblu", "xddtlu"),
    ],
    "mpich": ["xdinv", "xdgblu", "xdpbllt", "xdptllt", "xddblu", "xddtlu"],
}


@dataclass(frozen=True)
class Case:
    """A program, and the part of its output that must be the same with every broadcast planned."""

    name: str
    mpi: str
    # Debian's packages, besides the MPI's own.
    packages: tuple[str, ...]
    command: tuple[str, ...]
    # A regular expression of the lines that are compared.
    compared: str
    # Where it runs; by default in a folder with these files.
    folder: Path | None = None
    files: dict[str, str] = field(default_factory=dict)


WATER = """
start water
geometry units angstrom
 O 0 0 0
 H 0 0.757 0.587
 H 0 -0.757 0.587
end
basis
 * library 6-31g
end
scf
 direct
end
task scf energy
"""
MELT = """
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
thermo 20
run 100
"""
# ScaLAPACK's own input has more sizes, blocks and grids.
SMALL_LU = """'ScaLAPACK LU factorization input file'
'MPI machine'
'LU.out'  output file name (if any)
6         device out
3         number of problem sizes
4 10 17   values of M
4 12 13   values of N
2         number of NB's
2 3       values of NB
2         number of NRHS's
1 3       values of NRHS
1         number of NBRHS's
1         values of NBRHS
2         number of process grids
1 2       values of P
4 2       values of Q
1.0       threshold
T         (T or F) test condition estimation and iterative refinement
"""
CHECKS = r"\b(PASSED|FAILED)\b|^ *\d+ tests .*"
ENERGIES = r"^.*(SCF energy|One-electron energy|Two-electron energy|Nuclear repulsion energy) =.*"
STEPS = r"^ *\d+( +-?\d+(\.\d+)?){5} *$"


def cases() -> list[Case]:
    return [
        *(tester(name, mpi) for mpi in MPIS for name in TESTED[mpi]),
        Case(
            "nwchem",
            "openmpi",
            ("nwchem-openmpi",),
            ("nwchem.openmpi", "water.nw"),
            ENERGIES,
            files={"water.nw": WATER},
        ),
        Case("lammps", "openmpi", ("lammps",), ("lmp", "-in", "melt"), STEPS, files={"melt": MELT}),
    ]


def tester(name: str, mpi: str) -> Case:
    """One of ScaLAPACK's testers, which compute residuals, with its packaged input."""
    folder = TESTERS / f"{mpi}-tests"
    return Case(f"{name}.{mpi}", mpi, ("scalapack-mpi-test",), (str(folder / name),), CHECKS, folder)


def short() -> Case:
    """The case for CI, which takes seconds."""
    program = TESTERS / "openmpi-tests" / "xdlu"
    return Case(
        "short", "openmpi", ("scalapack-mpi-test",), (str(program),), CHECKS, files={"LU.dat": SMALL_LU}
    )
