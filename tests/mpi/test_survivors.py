"""A rank dies between broadcasts: plans and shared memory have the MPI's own outcome, as soon."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broadleaf.mpi import launch_command

if TYPE_CHECKING:
    from conftest import Bench

RANKS = 4
# Seconds. Open MPI alone takes 1.3, MPICH's launcher less; this machine may be busy.
BOUND_S = 20

# The transport of messages, and the number of ranks with one host name.
WAYS = [("ring", 4), ("ring-streamed", 4), ("direct", 4), ("0", 4), ("0", 1), ("1", 2), ("1", 3)]


def bereft(
    bench: Bench, folder: Path, victim: int, fate: str, way: tuple[str, int], *, preloaded: bool = True
) -> subprocess.CompletedProcess[str]:
    program = [bench.compile("survivors"), "3000000", str(victim), fate]
    variables = {
        "BROADLEAF_SHARED_MEMORY": way[0],
        "BROADLEAF_TEST_RANKS_PER_HOST": str(way[1]),
        "BROADLEAF_STATS": str(folder / "stats.json"),
    }
    runtime = bench.runtime if preloaded else None
    argv, environment = launch_command(bench.mpi, RANKS, program, variables=variables, preload=runtime)
    if bench.mpi.flavour == "openmpi":
        argv[1:1] = ["--with-ft", "ulfm"]
    return bench.launched(argv, environment)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way[0]}-{way[1]}")
@pytest.mark.parametrize("victim", [0, 3])
def test_survivors_of_a_killed_rank_learn_it_as_from_the_mpi(
    hosts_of: Bench, tmp_path: Path, victim: int, way: tuple[str, int]
) -> None:
    begin = time.monotonic()
    done = bereft(hosts_of, tmp_path, victim, "killed", way)
    if hosts_of.mpi.flavour == "mpich":
        # Its launcher ends the job when a rank dies, whatever the ranks would do.
        assert time.monotonic() - begin < BOUND_S
        assert (
            done.returncode == bereft(hosts_of, tmp_path, victim, "killed", way, preloaded=False).returncode
        )
        assert done.returncode != 0
        assert "told" not in done.stdout
        return
    expect_all_told(done, victim)


@pytest.mark.parametrize("way", WAYS[2:6], ids=lambda way: f"{way[0]}-{way[1]}")
@pytest.mark.parametrize("bench", ["openmpi"], indirect=True)
def test_a_revoked_communicator_is_told_of_as_by_the_mpi(
    hosts_of: Bench, tmp_path: Path, way: tuple[str, int]
) -> None:
    expect_all_told(bereft(hosts_of, tmp_path, 2, "revokes", way), None)


def expect_all_told(done: subprocess.CompletedProcess[str], victim: int | None) -> None:
    told = re.findall(r"rank (\d) told after ([\d.]+) s", done.stdout)
    ranks = sorted(int(rank) for rank, _ in told)
    assert ranks == [rank for rank in range(RANKS) if rank != victim], done.stdout + done.stderr
    assert max(float(seconds) for _, seconds in told) < BOUND_S
