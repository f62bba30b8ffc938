"""The newest algorithms as their authors wrote them, built over public MPI calls.

FOLDER holds their sources, which are no part of Broadleaf:

    git clone https://github.com/pmodels/mpich FOLDER/mpich
    git clone https://github.com/HLC-Lab/bine-trees FOLDER/bine-trees

MPICH's circulant-graph algorithms (Träff) are built with what benches/rivals/ has in place of MPICH's
internals. The bine trees' programs (De Sensi and others, 2025) take powers of two of ranks, their all-gather
even numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from broadleaf.benchmarks import BenchError

HERE = Path(__file__).resolve().parent
OWN = HERE / "rivals"
TESTBEDS = HERE.parent / "testbeds"


def is_power_of_two(ranks: int) -> bool:
    return ranks & (ranks - 1) == 0


@dataclass(frozen=True)
class Rival:
    """One algorithm: its source of each collective, and the numbers of ranks that it takes."""

    name: str
    sources: dict[str, str]
    takes: Callable[[int], bool]
    options: tuple[str, ...]
    beside: tuple[str, ...] = ()

    @property
    def file_name(self) -> str:
        return self.name.replace(" ", "-")

    def options_for(self, collective: str, folder: Path) -> tuple[str, ...]:
        """The compiler's options for a timing program that calls this algorithm. Raises BenchError without
        its sources."""
        sources = [folder / name for name in (self.sources[collective], *self.beside)]
        for source in sources:
            if not source.is_file():
                raise BenchError(f"no {source}; benches/rivals.py lists what to clone")
        call = collective.capitalize()
        # Warnings in the authors' sources stay with them.
        chosen = (f"-DMPI_{call}=rival_{call}", f"-DRIVAL_{collective.upper()}", "-w", *self.options)
        headers = (f"-I{OWN}", f"-I{(folder / CIRCULANT).parent}", f"-I{TESTBEDS}")
        return (*chosen, *headers, *map(str, [*sources, *sorted(OWN.glob("*.c"))]))


def bine(name: str, collectives: Sequence[str], takes: Callable[[int], bool], *options: str) -> Rival:
    sources = {collective: f"bine-trees/src/{collective}.c" for collective in collectives}
    return Rival(name, sources, takes, ("-DBINE", *options))


COLL = "mpich/src/mpi/coll"
CIRCULANT = f"{COLL}/algorithms/circ_graph/circ_graph.c"
RIVALS = [
    Rival(
        "circulant of MPICH",
        {name: f"{COLL}/{name}/{name}_intra_circ_graph.c" for name in ("bcast", "allgather", "reduce")},
        lambda ranks: True,
        (),
        (CIRCULANT, f"{COLL}/algorithms/circ_graph/cga_request_queue.c"),
    ),
    bine("bine small", ("bcast", "reduce"), is_power_of_two),
    bine("bine large", ("bcast", "reduce"), is_power_of_two, "-DLARGE"),
    bine("bine", ("gather", "scatter"), is_power_of_two),
    bine("bine by blocks", ("allgather",), lambda ranks: ranks % 2 == 0),
]
