"""Broadleaf's broadcast beside those of the MPI at hand: local ranks, simulated time, shaped namespaces.

The programs and test beds are those of a checkout (`benches/`, `testbeds/`); an installed package has none.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from broadleaf.checkout import TESTBEDS
from broadleaf.given import File, Size, sizes_of

if TYPE_CHECKING:
    from broadleaf.mpi.find import Flavour

OURS = "broadleaf"
SIZES = "64KiB,1MiB,16MiB"
Bed: TypeAlias = Literal["local", "smpi", "namespaces"]
COLLECTIVES = ("bcast", "scatter", "gather", "allgather", "reduce", "reduce-scatter", "allreduce")
# Each bed's arguments besides the sizes.
BEDS: dict[str, tuple[str, ...]] = {
    "local": ("n", "repetitions", "rounds", "mpi", "launcher", "launcher_args"),
    "smpi": ("platform", "hosts", "algorithms", "timeout_s", "told"),
    "namespaces": ("platform", "mpi", "algorithms", "timeout_s", "told"),
}
# On this machine: ranks, broadcasts in each run, and runs of each.
RANKS, REPETITIONS, ROUNDS = 4, 20, 3


class BenchError(ValueError):
    """A bench that cannot run; the message is one line."""


@dataclass
class Row:
    """One algorithm at one size; `seconds` is None where it did not finish in time."""

    algorithm: str
    ranks: int
    bytes: int
    # None where there is no limit.
    limit_s: float | None
    samples_s: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float | None:
        return statistics.median(self.samples_s) if self.samples_s else None

    def to_dict(self) -> dict[str, object]:
        return {
            "algorithm": self.algorithm,
            "ranks": self.ranks,
            "bytes": self.bytes,
            "seconds": self.seconds,
            "limit_s": self.limit_s,
            "samples_s": self.samples_s,
        }


def need_checkout() -> None:
    if not TESTBEDS.is_dir():
        raise BenchError(f"no test beds at {TESTBEDS}; benches run in a checkout of Broadleaf")


def listed(sizes: Sequence[int]) -> str:
    return ",".join(str(size) for size in sizes)


def bench(
    bed: Bed,
    sizes: Size | Iterable[Size] = SIZES,
    *,
    collective: str = "bcast",
    n: int | None = None,
    platform: File | None = None,
    hosts: File | None = None,
    algorithms: Iterable[str] | None = None,
    repetitions: int | None = None,
    rounds: int | None = None,
    mpi: Flavour | None = None,
    launcher: File | None = None,
    launcher_args: str | None = None,
    timeout_s: float | None = None,
    told: Callable[[str], None] | None = None,
) -> list[Row]:
    """Times Broadleaf beside every other broadcast that the MPI at hand can use, and the limit: a row each.

    With another `collective`, e.g. "allreduce", that one; `sizes` are then a block, what each rank gives or
    gets, or the vector that is reduced.

    On bed "local", `n` ranks (4) of one machine, `repetitions` (20) broadcasts in each of `rounds` (3)
    runs, under every MPI or the named `mpi`, by its own mpiexec or by `launcher` with `launcher_args`; on
    "smpi", SimGrid's simulated time on `platform`, a JSON file or an XML file with a file of its `hosts`;
    on "namespaces", real TCP between hosts shaped as `platform` has it, under the `mpi`, as root.
    `algorithms` names those to compare with, `timeout_s` bounds each run, `told` is called with the name of
    each run. Raises ValueError or OSError for what cannot run, and for an argument that is not for this
    bed."""
    asked = sizes_of(sizes)
    given = {
        "n": n,
        "platform": platform,
        "hosts": hosts,
        "algorithms": algorithms,
        "repetitions": repetitions,
        "rounds": rounds,
        "mpi": mpi,
        "launcher": launcher,
        "launcher_args": launcher_args,
        "timeout_s": timeout_s,
        "told": told,
    }
    refuse_others(bed, [name for name, value in given.items() if value is not None])
    names = list(algorithms or ())
    hear = told or (lambda _: None)
    if collective not in COLLECTIVES:
        raise BenchError(f"no bench times {collective!r}; use {', '.join(COLLECTIVES)}")
    if collective != "bcast":
        return others(collective, bed, asked, given)
    if bed == "local":
        from broadleaf.benchmarks.local import bench_local, starts_of

        starts = starts_of(mpi, None if launcher is None else str(launcher), launcher_args)
        return bench_local(n or RANKS, asked, repetitions or REPETITIONS, rounds or ROUNDS, starts=starts)
    if bed == "smpi":
        from broadleaf.benchmarks.smpi import TIMEOUT_S, bench_smpi

        if platform is None:
            raise BenchError("bench smpi needs a platform; name its JSON file, or SimGrid's XML with hosts")
        machines = None if hosts is None else Path(hosts)
        return bench_smpi(Path(platform), machines, asked, names, timeout_s or TIMEOUT_S, hear)
    from broadleaf.benchmarks import namespaces

    network = Path(platform or namespaces.DEFAULT_PLATFORM)
    limit_s = timeout_s or namespaces.TIMEOUT_S
    return namespaces.bench_namespaces(network, mpi or "openmpi", asked, names, limit_s, hear)


def others(collective: str, bed: str, sizes: Sequence[int], given: Mapping[str, Any]) -> list[Row]:
    """Other collectives than the broadcast."""
    from broadleaf.benchmarks import collectives, namespaces

    if bed == "local":
        from broadleaf.benchmarks.local import starts_of

        launcher = given["launcher"]
        starts = starts_of(given["mpi"], launcher and str(launcher), given["launcher_args"])
        counts = (given["repetitions"] or REPETITIONS, given["rounds"] or ROUNDS)
        return collectives.local_collectives(collective, starts, given["n"] or RANKS, sizes, *counts)
    asked = (sizes, list(given["algorithms"] or ()), given["timeout_s"] or collectives.TIMEOUT_S)
    hear = given["told"] or (lambda _: None)
    if bed == "smpi":
        if given["platform"] is None or given["hosts"] is not None:
            raise BenchError(f"bench smpi of {collective} needs a platform; name its JSON file")
        return collectives.smpi_collectives(collective, Path(given["platform"]), *asked, hear)
    network = Path(given["platform"] or namespaces.DEFAULT_PLATFORM)
    flavour: Flavour = given["mpi"] or "openmpi"
    return collectives.namespaces_collectives(collective, network, flavour, *asked, hear)


def refuse_others(bed: str, given: Sequence[str]) -> None:
    if bed not in BEDS:
        raise BenchError(f"no bed is called {bed!r}; use {', '.join(BEDS)}")
    for name in given:
        if name not in BEDS[bed]:
            raise BenchError(f"bench {bed} takes no {name}; it takes {', '.join(BEDS[bed])}")
