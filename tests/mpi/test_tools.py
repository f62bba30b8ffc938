"""PMPI tools beside the runtime, in every order: the tool sees each broadcast, and Broadleaf plans it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broadleaf.mpi.find import RUNTIMES

if TYPE_CHECKING:
    from conftest import Bench, Run

PROGRAM = Path(__file__).resolve().parent / "programs" / "beside.c"
TOOLS = Path(__file__).resolve().parent / "tools"
RANKS = 3
# The broadcasts of beside.c, as in its header.
LARGE, SMALL = 7, 3
BYTES = sum(300_000 - call for call in range(5)) + SMALL * 1000 + 2 * 300_000
# A tool's own broadcasts.
OWN = {"counter": 0, "tracer": 1}


def tool(bench: Bench, name: str, *options: str) -> Path:
    """A tool as a library."""
    product = f"lib{name}{''.join(options)}.so"
    return bench.build(product, [TOOLS / f"{name}.c"], "-shared", "-fPIC", "-ldl", *options)


def run_beside(bench: Bench, *arguments: str, linked: tuple[str, ...] = ()) -> Run:
    """Runs beside.c, with tools linked into it."""
    sources = [PROGRAM, *(TOOLS / f"{name}.c" for name in linked)]
    program = bench.build("-".join(["beside", *linked]), sources)
    run = bench.run(RANKS, [str(program), *arguments])
    assert run.returncode == 0, run.stderr
    assert run.stdout == "ok\n"
    return run


def assert_seen_by(name: str, run: Run) -> None:
    """The tool has reported every broadcast of the program, once."""
    if name == "counter":
        assert f"counter: 1 starts, {LARGE + SMALL} broadcasts, {BYTES} bytes\n" in run.stderr
        return
    found = re.search(r"tracer: (\d+) calls, longest (\S+) s\n", run.stderr)
    assert found, run.stderr
    assert int(found[1]) == RANKS * (LARGE + SMALL)
    assert float(found[2]) > 0


def assert_planned(run: Run, more: int = 0) -> None:
    """Every large broadcast of the program was planned, once, and `more` of the tool's own."""
    assert run.reports == [], run.stderr
    assert run.stats is not None
    assert run.stats["planned"] == LARGE + more
    assert run.stats["passed_through"] == {"under-threshold": SMALL}


@pytest.mark.parametrize("start", ["init", "init-thread"])
@pytest.mark.parametrize("order", ["before", "after", "linked"])
@pytest.mark.parametrize("name", OWN)
def test_a_tool_in_any_place(each_kind: Bench, name: str, order: str, start: str) -> None:
    runtime = each_kind.runtime
    if order == "linked":
        run = run_beside(each_kind, start, linked=(name,))
    else:
        library = tool(each_kind, name)
        preloaded = [library, runtime] if order == "before" else [runtime, library]
        run = run_beside(each_kind.preloading(*preloaded), start)
    assert_seen_by(name, run)
    assert_planned(run, OWN[name])


def test_tools_on_both_sides(each_kind: Bench) -> None:
    # With or without Broadleaf, the second tool does not see the first one's PMPI_Bcast.
    counter, tracer = tool(each_kind, "counter"), tool(each_kind, "tracer")
    run = run_beside(each_kind.preloading(counter, each_kind.runtime, tracer))
    assert_seen_by("counter", run)
    assert_planned(run)


def test_a_tool_behind_runtimes_of_other_kinds(each_kind: Bench) -> None:
    counter = tool(each_kind, "counter")
    others = [library for library in RUNTIMES.glob("libbroadleaf_mpi_*.so") if library != each_kind.runtime]
    for preloaded in ([each_kind.runtime, *others, counter], [*others, each_kind.runtime, counter]):
        run = run_beside(each_kind.preloading(*preloaded))
        assert_seen_by("counter", run)
        assert_planned(run)


@pytest.mark.parametrize("order", ["before", "after"])
def test_a_tool_that_keeps_mpi_init_to_itself(each_kind: Bench, order: str) -> None:
    library, runtime = tool(each_kind, "past", "-DWRAP_INIT"), each_kind.runtime
    preloaded = [library, runtime] if order == "before" else [runtime, library]
    assert_planned(run_beside(each_kind.preloading(*preloaded)))


@pytest.mark.parametrize("order", ["before", "after"])
def test_a_tool_that_takes_broadcasts_past_us(each_kind: Bench, order: str) -> None:
    library, runtime = tool(each_kind, "past", "-DWRAP_BCAST"), each_kind.runtime
    preloaded = [library, runtime] if order == "before" else [runtime, library]
    run = run_beside(each_kind.preloading(*preloaded))
    assert run.stats is not None
    assert (run.stats["planned"], run.stats["passed_through"]) == (0, {})
    (line,) = run.reports
    if order == "after":
        assert f"{library} took {LARGE + SMALL} calls of MPI_Bcast past Broadleaf" in line
    else:
        assert "made no call of MPI_Bcast, but MPI_Allreduce 6, MPI_Ibcast 4" in line


def test_other_collectives_are_counted(each_kind: Bench) -> None:
    run = run_beside(each_kind)
    assert_planned(run)
    assert run.stats is not None
    expected = {"MPI_Ibcast": 4, "MPI_Allreduce": 6}
    assert {name: run.stats["not_planned"].get(name) for name in expected} == expected


# Open MPI 5 has none.
@pytest.mark.parametrize("each_kind", ["mpich", "abi"], indirect=True)
def test_collectives_with_arrays_of_large_counts_are_counted(each_kind: Bench) -> None:
    run = each_kind.check(3, "large_arrays")
    assert run.stats is not None
    expected = {"MPI_Gatherv_c": 3, "MPI_Alltoallw_c": 2, "MPI_Iallgatherv_c": 1}
    assert run.stats["not_planned"] == expected
