"""Broadcasts inside one host, through shared memory or straight out of the root's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Bench

METHODS = ["ring", "ring-streamed", "direct"]


@pytest.mark.parametrize("ranks", [2, 3, 7])
def test_every_size_is_right(bench: Bench, ranks: int) -> None:
    run = bench.check(ranks, "many", "150", "1500000", "7", min_bytes="1KiB")
    planned = [row for row in run.rows() if row["planned"]]
    assert planned
    # Plans have planners; here there is nothing to plan.
    assert {row["planner"] for row in planned} == {None}
    assert all(sum(row["intranode"].values()) == row["planned"] for row in planned)
    assert run.reports == []


def test_large_messages_go_round_the_ring(bench: Bench) -> None:
    run = bench.check(3, "many", "30", "20000000", "2", shared_memory="ring")
    assert run.stats is not None
    assert run.stats["planned"] > 5


@pytest.mark.parametrize("method", METHODS)
def test_a_method_can_be_asked_for_by_name(bench: Bench, method: str) -> None:
    run = bench.check(2, "many", "60", "16000000", "5", shared_memory=method)
    rows = [row["intranode"] for row in run.rows() if row["planned"]]
    assert rows
    # A communicator's first call may come before all ranks know that they can read one another's memory.
    assert {name for row in rows for name in row} - {method} <= {"ring", "ring-streamed"}
    assert any(method in row for row in rows)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ranks", [2, 3, 7])
def test_a_wrong_length_is_found(bench: Bench, ranks: int, method: str) -> None:
    run = bench.check(ranks, "errors", shared_memory=method)
    assert run.reports == []
    assert sum(row["failed"] for row in run.rows()) > 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ranks", [2, 5])
def test_calls_of_all_lengths_and_roots_mix(bench: Bench, ranks: int, method: str) -> None:
    bench.check(ranks, "repeats", "60", "3", shared_memory=method)


@pytest.mark.parametrize("ranks", [2, 4])
def test_short_messages_go_to_the_mpi_s_own_broadcast(bench: Bench, ranks: int) -> None:
    # The empty value leaves the choice to the runtime.
    run = bench.check(ranks, "many", "60", "1500000", "3", min_bytes="")
    assert run.stats is not None
    planned = {row["bytes"] for row in run.rows() if row["planned"]}
    assert planned
    assert min(planned) > 64 << 10
    assert run.stats["passed_through"]["under-threshold"] > 0
    assert all(not row["failed"] for row in run.rows())


def test_all_can_be_left_to_the_mpi_s_own_broadcast(bench: Bench) -> None:
    run = bench.check(3, "many", "60", "1500000", "3", shared_memory="native")
    assert run.stats is not None
    # Only the calls of the communicators' own tests count as Broadleaf's.
    assert run.stats["planned"] == 0
    assert run.stats["passed_through"]["under-threshold"] > 0


def test_it_can_be_switched_off(bench: Bench) -> None:
    run = bench.check(4, "many", "60", "500000", "3", shared_memory="0")
    planners = {row["planner"] for row in run.rows() if row["planned"]}
    assert planners
    assert None not in planners


@pytest.mark.parametrize("method", ["1", "ring"])
def test_communicators_give_their_memory_back(bench: Bench, method: str) -> None:
    # Without giving back, 50 rings have 25 MiB. Each communicator keeps a page, the last eight their rings.
    run = bench.check(3, "ring_memory", "50", "2000000", shared_memory=method)
    most_kib = int(run.stdout.split()[1])
    assert most_kib < 6 << 10


@pytest.mark.parametrize("ranks", [3, 4])
def test_a_message_of_ours_waits_for_nobody_else_s(bench: Bench, ranks: int) -> None:
    # Every rank has a large send in flight when it enters the broadcast.
    run = bench.check(ranks, "entangled", "20")
    assert run.stats is not None
    assert run.stats["planned"] == 20


@pytest.mark.parametrize("method", ["1", "direct"])
def test_without_the_right_to_look_at_others_memory(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    # MPICH's own broadcast ends the program at the first refusal, preloaded or not, and may be the way taken.
    monkeypatch.setenv("MPIR_CVAR_CH4_CMA_ENABLE", "0")
    # A process that may not be dumped may not be read by its own user either; as root it may.
    run = bench.check(3, "secluded", "60", shared_memory=method)
    assert run.stats is not None
    assert run.stats["planned"] == 60


REFUSED = ["memfd_create", "process_vm_readv", "process_vm_writev", "futex_wait", "mmap"]


@pytest.mark.parametrize("call", REFUSED)
@pytest.mark.parametrize("rank", [0, 2])
def test_what_the_system_refuses_one_rank_is_done_without(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, call: str, rank: int
) -> None:
    monkeypatch.setenv("MPIR_CVAR_CH4_CMA_ENABLE", "0")
    run = bench.check(3, "refused", call, str(rank), "30", shared_memory="1")
    assert run.stats is not None
    assert run.stats["planned"] == 30
    assert run.reports == []


@pytest.mark.parametrize("memory", ["0", "1"])
def test_a_killed_rank_ends_the_job(bench: Bench, memory: str) -> None:
    # Far within the harness's time limit: the launcher sees the death, and no other rank hangs.
    run = bench.run(4, [bench.compile("killed"), "40"], shared_memory=memory)
    assert run.returncode != 0
    assert "ok" not in run.stdout
