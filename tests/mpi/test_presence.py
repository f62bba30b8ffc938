"""The library on some ranks only: nothing is planned, the program is left alone, one line names a rank."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broadleaf.mpi import find_mpi
from broadleaf.mpi.dialects import MPICH_CROWDED

if TYPE_CHECKING:
    from conftest import Bench, Run

SOAK = bool(os.environ.get("BROADLEAF_SOAK"))
ABSENT = [[0], [3], [0, 1, 2], [1], [0, 1], [1, 2, 3], [2, 3]]
# Like ld.so on a host that lacks the file, except for its warning.
WITHOUT = """
case " $TEST_ABSENT " in *" ${PMIX_RANK:-$PMI_RANK} "*) unset LD_PRELOAD;; esac
exec "$@"
"""


def run_without(
    bench: Bench,
    ranks: int,
    absent: list[int],
    monkeypatch: pytest.MonkeyPatch,
    launcher: Sequence[str | Path] = (),
) -> Run:
    monkeypatch.setenv("TEST_ABSENT", " ".join(map(str, absent)))
    program = bench.compile("partly")
    return bench.run(ranks, ["sh", "-c", WITHOUT, "sh", program], launcher=launcher)


def check_absent(run: Run, absent: list[int]) -> None:
    assert run.returncode == 0, run.stderr
    assert run.stdout == "ok\n"
    assert len(run.reports) == 1, run.stderr
    assert f"rank {absent[0]} of MPI_COMM_WORLD runs without the library" in run.reports[0]
    if 0 in absent:
        assert run.stats is None
        return
    assert run.stats is not None
    assert run.stats["planned"] == 0
    assert set(run.stats["passed_through"]) == {"not-on-all-ranks"}


def check_all(run: Run) -> None:
    assert run.returncode == 0, run.stderr
    assert run.stdout == "ok\n"
    assert run.reports == []
    assert run.stats is not None
    assert run.stats["planned"] == 3


# A rank that is missed is waited for 10 s; `make soak` takes every place and number of them.
@pytest.mark.parametrize("absent", ABSENT if SOAK else ABSENT[:3], ids=str)
def test_some_ranks_without_the_library(
    bench: Bench, absent: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    check_absent(run_without(bench, 4, absent, monkeypatch), absent)


def test_who_is_missing_at_the_bottom_of_the_tree_is_named(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Eight children a rank, so rank 9 is a child of rank 1.
    run = run_without(bench, 10, [9], monkeypatch)
    assert run.returncode == 0, run.stderr
    assert len(run.reports) == 1, run.stderr
    assert "rank 9 of MPI_COMM_WORLD" in run.reports[0]


@pytest.mark.parametrize("ranks", [2, 10])
def test_all_ranks_with_it(bench: Bench, ranks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    check_all(run_without(bench, ranks, [], monkeypatch))


@pytest.mark.parametrize("absent", [[], [1]], ids=str)
def test_by_the_mpi_s_own_name_service(
    bench: Bench, absent: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    # MPICH takes the second and speaks PMI-1; the runtime, which sees both, does not speak it beside MPICH.
    monkeypatch.setenv("MPICH_PMI_VERSION", "2")
    monkeypatch.setenv("MPIR_CVAR_PMI_VERSION", "1")
    run = run_without(bench, 4, absent, monkeypatch)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "ok\n"
    assert len(run.reports) == len(absent), run.stderr
    assert run.stats is not None
    assert run.stats["planned"] == (0 if absent else 3)


@pytest.fixture(params=["mpich", "abi"])
def mpich(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """MPICH, for hosts that are one machine: between those its UCX fails, without the library too."""
    for name, value in {**MPICH_CROWDED, "MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"}.items():
        monkeypatch.setenv(name, value)
    found: Bench = request.getfixturevalue("abi_bench")
    return found if request.param == "abi" else type(found)(find_mpi("mpich"), tmp_path)


def like_flux(hosts: int, each: int) -> list[str | Path]:
    return [sys.executable, Path(__file__).with_name("pmi1_launcher.py"), str(hosts), str(each)]


@pytest.mark.parametrize(("hosts", "each"), [(1, 4), (4, 1)])
def test_under_flux(mpich: Bench, hosts: int, each: int, monkeypatch: pytest.MonkeyPatch) -> None:
    check_all(run_without(mpich, hosts * each, [], monkeypatch, like_flux(hosts, each)))


@pytest.mark.parametrize("absent", [[0], [3], [1, 2]], ids=str)
def test_some_ranks_without_the_library_under_flux(
    mpich: Bench, absent: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    check_absent(run_without(mpich, 4, absent, monkeypatch, like_flux(4, 1)), absent)


# Open MPI's launcher serves PMIx, as Flux's plugin does.
@pytest.mark.parametrize("absent", [[0], [3]], ids=str)
def test_the_mpi_s_own_launcher_in_a_job_of_flux(
    bench: Bench, absent: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLUX_JOB_ID", "f1")
    check_all(run_without(bench, 4, [], monkeypatch))
    check_absent(run_without(bench, 4, absent, monkeypatch), absent)


def test_under_flux_an_mpi_without_a_way_is_reported(mpich: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLUX_JOB_ID", "f1")
    # As above.
    monkeypatch.setenv("MPICH_PMI_VERSION", "2")
    monkeypatch.setenv("MPIR_CVAR_PMI_VERSION", "1")
    run = run_without(mpich, 4, [], monkeypatch)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "ok\n"
    assert len(run.reports) == 1, run.stderr
    assert "under flux run" in run.reports[0]
    assert run.stats is not None
    assert run.stats["planned"] == 0
