"""Broadcasts inside one host, through shared memory or straight out of the root's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Bench


@pytest.mark.parametrize("ranks", [2, 3, 7])
def test_every_way_of_every_size_is_right(bench: Bench, ranks: int) -> None:
    # Five hundred rounds take each size class through the trials of all ways and on to the chosen one.
    run = bench.check(ranks, "many", "500", "1500000", "7", min_bytes="1KiB")
    assert {row["planner"] for row in run.rows() if row["planned"]} == {"shared-memory"}
    assert run.reports == []


def test_large_messages_go_round_the_ring(bench: Bench) -> None:
    run = bench.check(3, "many", "30", "20000000", "2")
    assert run.stats is not None
    assert run.stats["planned"] > 5


@pytest.mark.parametrize("way", ["ring", "ring-streamed", "direct", "cooperative", "native"])
def test_a_way_can_be_asked_for_by_name(bench: Bench, way: str) -> None:
    run = bench.check(2, "many", "100", "16000000", "5", shared_memory=way)
    large = [row["ways"] for row in run.rows() if row["planned"] and row["bytes"] >= 1 << 20]
    assert large
    assert {name for ways in large for name in ways} == {way}


@pytest.mark.parametrize("stats", ["stats.json", ""])
@pytest.mark.parametrize("ranks", [2, 3, 7])
def test_a_wrong_length_is_found(
    bench: Bench, ranks: int, stats: str, tmp_path: Path
) -> None:
    settings = {"shared_memory": "native", "stats": stats and str(tmp_path / stats)}
    run = bench.check(ranks, "errors", **settings)
    assert run.reports == []
    assert not stats or sum(row["failed"] for row in run.rows()) > 0


@pytest.mark.parametrize("stats", ["stats.json", ""])
@pytest.mark.parametrize("ranks", [2, 5])
def test_calls_of_all_lengths_and_roots_mix(
    bench: Bench, ranks: int, stats: str, tmp_path: Path
) -> None:
    bench.check(ranks, "repeats", "100", "3", shared_memory="native", stats=stats and str(tmp_path / stats))


def test_it_can_be_switched_off(bench: Bench) -> None:
    run = bench.check(4, "many", "60", "500000", "3", shared_memory="0")
    planners = {row["planner"] for row in run.rows() if row["planned"]}
    assert planners
    assert "shared-memory" not in planners


def test_nothing_is_left_behind(bench: Bench) -> None:
    before = set(Path("/dev/shm").glob("*broadleaf*"))
    bench.check(4, "communicators", "8")
    assert set(Path("/dev/shm").glob("*broadleaf*")) == before


@pytest.mark.parametrize("ranks", [3, 4])
def test_a_message_of_ours_waits_for_nobody_else_s(bench: Bench, ranks: int) -> None:
    # Every rank has a large send of its own under way when it comes to the broadcast.
    run = bench.check(ranks, "entangled", "20")
    assert run.stats is not None
    assert run.stats["planned"] == 20


def test_without_the_right_to_look_at_others_memory(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    # MPICH's own broadcast ends the program at the first refusal, preloaded or not, and may be the way taken.
    monkeypatch.setenv("MPIR_CVAR_CH4_CMA_ENABLE", "0")
    # A process that may not be dumped may not be read by its own user either; as root it may.
    run = bench.check(3, "secluded", "60")
    assert run.stats is not None
    assert run.stats["planned"] == 60


@pytest.mark.parametrize("memory", ["0", "1"])
def test_a_killed_rank_ends_the_job(bench: Bench, memory: str) -> None:
    # Far within the harness's time limit: the launcher sees the death, and nobody of ours holds on.
    run = bench.run(4, [bench.compile("killed"), "40"], shared_memory=memory)
    assert run.returncode != 0
    assert "ok" not in run.stdout
    assert set(Path("/dev/shm").glob("*broadleaf*")) == set()
