"""Unmodified C programs with their broadcasts planned: every byte is compared by the programs themselves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Bench

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

RANKS = [2, 3, 4, 7]


@pytest.mark.parametrize("ranks", RANKS)
def test_any_datatypes_of_equal_signature(bench: Bench, ranks: int) -> None:
    run = bench.check(ranks, "shapes")
    assert run.stats is not None
    assert run.stats["planned"] == 16
    # Whatever a rank's type is, the message is the same 240,000 packed bytes.
    assert {row["bytes"] for row in run.rows()} == {240_000}


@pytest.mark.parametrize("ranks", RANKS)
def test_many_broadcasts_of_any_size_and_root(bench: Bench, ranks: int) -> None:
    run = bench.check(ranks, "many", "200", "500000", str(ranks), min_bytes="4KiB")
    assert run.stats is not None
    passed = run.stats["passed_through"]
    assert run.stats["planned"] > 30
    assert passed["under-threshold"] > 30
    assert sum(row["planned"] for row in run.rows(communicator="MPI_COMM_WORLD")) > 5


@pytest.mark.parametrize("ranks", [3, 7])
def test_communicators_come_and_go(bench: Bench, ranks: int) -> None:
    run = bench.check(ranks, "communicators", "20")
    assert run.stats is not None
    # Three in every round and one at the end; a communicator of one rank has nothing to plan.
    assert run.stats["planned"] == 3 * 20 + 1


@pytest.mark.parametrize("ranks", RANKS)
def test_a_wrong_length_is_an_error_where_it_is_wrong(bench: Bench, ranks: int) -> None:
    run = bench.check(ranks, "errors")
    assert sum(row["failed"] for row in run.rows()) > 0
    assert run.reports == []


@pytest.mark.parametrize("ranks", [2, 3])
def test_what_is_none_of_ours_is_passed_through_and_counted(bench: Bench, ranks: int) -> None:
    run = bench.check(ranks, "passed")
    assert run.stats is not None
    assert run.stats["planned"] == 1
    expected = {"under-threshold": 5, "zero-bytes": 3, "one-rank": 2, "intercommunicator": 4}
    assert run.stats["passed_through"] == expected


@pytest.mark.parametrize("ranks", [2, 3])
def test_worlds_that_are_spawned_keep_to_themselves(
    bench: Bench, ranks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Open MPI's launcher has no room for the children where the parents have all cores.
    monkeypatch.setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")
    run = bench.check(ranks, "spawn")
    assert run.stats is not None
    assert run.stats["ranks"] == ranks
    assert run.stats["planned"] == 1
    assert run.stats["passed_through"] == {"spans-several-worlds": 4}
    if bench.mpi.flavour == "openmpi":
        # Its launcher gives the environment to the first world only, so the children are not preloaded.
        return
    # The children's world has a separate file.
    (theirs,) = bench.folder.glob("stats.json.*")
    assert json.loads(theirs.read_text())["planned"] == 1
    theirs.unlink()


@pytest.mark.parametrize("ranks", [2, 4])
def test_threads_broadcast_at_once(bench: Bench, ranks: int) -> None:
    run = bench.check(ranks, "threads", "20")
    assert run.stats is not None
    assert "no MPI_THREAD_MULTIPLE" not in run.stdout
    assert run.stats["planned"] == 3 * 20


@pytest.mark.skipif(not os.environ.get("BROADLEAF_SOAK"), reason="moves 18 GB; run by make soak")
@pytest.mark.parametrize("planner", ["flat", "chain", "two-tree"])
def test_messages_beyond_what_an_int_counts(bench: Bench, planner: str) -> None:
    run = bench.check(2, "big", "2200", planner=planner)
    assert [row["bytes"] for row in run.rows()] == [2200 << 20] * 2
    assert sum(row["planned"] for row in run.rows()) == 4


@pytest.mark.parametrize("ranks", [2, 7])
def test_the_example_program(bench: Bench, ranks: int) -> None:
    run = bench.run(ranks, [bench.compile("bcast_model", EXAMPLES), "3000000", "3"])
    assert run.returncode == 0, run.stderr
    assert f"3 broadcasts, {3 * 3_000_000 * (ranks - 1)} bytes verified" in run.stdout
    assert run.stats is not None
    assert run.stats["planned"] == 3


@pytest.mark.parametrize("ranks", [2, 4])
def test_mpi4py(bench: Bench, ranks: int) -> None:
    program = [sys.executable, str(EXAMPLES / "bcast_model.py"), "1000003", "3"]
    run = bench.run(ranks, program)
    assert run.returncode == 0, run.stderr
    assert f"3 broadcasts, {3 * 1_000_003 * (ranks - 1)} bytes verified" in run.stdout
    assert run.stats is not None
    # mpi4py calls MPI_Bcast_c where the MPI has it, and MPI_Bcast where not.
    assert run.stats["planned"] == 3
    assert run.rows(bytes=1_000_003)[0]["planned"] == 3


def test_as_many_communicators_as_without_us_but_one(bench: Bench) -> None:
    # MPICH has 2,048, two of them its own; Open MPI would take more, at half a minute a thousand.
    count = 2045 if bench.mpi.flavour == "mpich" else 200
    run = bench.check(3, "crowd", str(count), shared_memory="0")
    assert run.stats is not None
    assert "no-tags-left" not in run.stats["passed_through"]
    # Of a split of three ranks, one side is alone.
    again = (count - 1) // 7 + 1
    assert run.stats["planned"] >= 2 * (count + again)


def test_every_size_is_decided_as_128_bit_arithmetic_has_it(bench: Bench) -> None:
    done = subprocess.run([bench.compile("message_sizes"), "20000000"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "ok 20294912\n"), done.stdout


@pytest.mark.parametrize("min_bytes", ["0", "1", "18446744073709551615"])
def test_any_count_of_any_size(bench: Bench, min_bytes: str) -> None:
    run = bench.check(3, "counts", min_bytes=min_bytes)
    assert run.reports == []
    assert run.stats is not None
    assert run.stats["planned"] == (0 if len(min_bytes) > 1 else 240 - drawn_empty(run.stats))


def drawn_empty(stats: dict[str, Any]) -> int:
    """Calls of no bytes beyond the first of the rising lengths."""
    types = 3 * 3 * 31 if stats["mpi"] == "openmpi" else 3 * 3 * 63
    return int(stats["passed_through"]["zero-bytes"]) - types - 1


# Of the cases of arguments.c; only Open MPI looks for MPI_IN_PLACE, which is the first.
REFUSED_CASES = {"openmpi": range(7), "mpich": range(1, 7)}


def test_refused_arguments_are_the_mpi_s_business(bench: Bench) -> None:
    program = bench.compile("arguments")
    ours, alone = bench.run(3, [program]), bench.run(3, [program], preloaded=False)
    assert ours.returncode == alone.returncode == 0, ours.stderr
    assert ours.stdout == alone.stdout
    cases = 2 * len(REFUSED_CASES[bench.mpi.flavour])
    assert ours.stdout.count("handled 1 times with class ") == cases
    assert "with class 0" not in ours.stdout
    assert ours.stats is not None
    assert ours.stats["planned"] == cases
    assert ours.stats["passed_through"] == {"invalid-arguments": cases}


def test_fatal_errors_of_arguments_name_the_call(bench: Bench) -> None:
    program = bench.compile("arguments")
    for case in REFUSED_CASES[bench.mpi.flavour]:
        alone = bench.run(2, [program, "fatal", str(case)], preloaded=False)
        # A launcher may lose the output of a rank that aborted: three tries.
        for _ in range(3):
            run = bench.run(2, [program, "fatal", str(case)])
            assert run.returncode == alone.returncode != 0, f"case {case}: {run.stderr}"
            if run.stderr:
                break
        assert "MPI_Bcast" in run.stderr, f"case {case}: {run.stderr}"


@pytest.mark.parametrize("planner", ["best", "chain", "two-tree", "van-de-geijn"])
@pytest.mark.parametrize("memory", ["0", "1"])
def test_a_rank_without_memory_takes_part(bench: Bench, planner: str, memory: str) -> None:
    bench.check(4, "starved", planner=planner, shared_memory=memory)


@pytest.mark.parametrize("ranks", [2, 3])
def test_threads_open_communicators_at_once(bench: Bench, ranks: int) -> None:
    run = bench.check(ranks, "rivals", "40", shared_memory="0")
    assert run.stats is not None
    assert run.stats["planned"] == 4 * 40
