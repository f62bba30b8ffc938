"""Random broadcasts on real MPI: fifteen datatypes, nine kinds of communicator, other traffic beside."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Bench

SOAK = bool(os.environ.get("BROADLEAF_SOAK"))
# Twelve jobs of this many each make the hundred thousand of `make soak`.
COUNT = 8500 if SOAK else 250


@pytest.mark.parametrize("memory", ["0", "1"])
@pytest.mark.parametrize(("ranks", "seed"), [(2, 1), (3, 2), (7, 3)])
def test_every_int_arrives_and_nothing_else_is_touched(
    bench: Bench, ranks: int, seed: int, memory: str
) -> None:
    run = bench.check(
        ranks, "random_broadcasts", str(COUNT), "400000", str(seed), min_bytes="1", shared_memory=memory
    )
    assert run.reports == []
    assert run.stats is not None
    assert run.stats["planned"] > COUNT // 10


@pytest.mark.parametrize(("ranks", "seed"), [(5, 4), (7, 5)])
def test_over_several_hosts(hosts_of: Bench, ranks: int, seed: int) -> None:
    run = hosts_of.check(
        ranks, "random_broadcasts", str(COUNT), "400000", str(seed), min_bytes="1", test_ranks_per_host="2"
    )
    assert run.reports == []
    assert run.stats is not None
    assert run.stats["planned"] > COUNT // 10
