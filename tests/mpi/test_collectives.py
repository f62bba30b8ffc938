"""BROADLEAF_COLLECTIVES: collectives of unmodified programs beside the broadcast, caught and planned."""

from __future__ import annotations

import itertools
import json
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import broadleaf as bl

if TYPE_CHECKING:
    from conftest import Bench, Run

CALLS = "320"
MOST_INTS = "60000"


def planned(run: Run) -> dict[str, int]:
    """Planned calls by collective."""
    assert run.stats is not None
    counts: dict[str, int] = {}
    for row in run.stats["broadcasts"]:
        counts[row["collective"]] = counts.get(row["collective"], 0) + row["planned"]
    return counts


@pytest.mark.parametrize(("ranks", "seed"), [(2, 1), (3, 2), (7, 3)])
def test_every_int_arrives_and_nothing_else_is_touched(bench: Bench, ranks: int, seed: int) -> None:
    run = bench.check(
        ranks, "random_collectives", CALLS, MOST_INTS, str(seed), min_bytes="1", collectives="all"
    )
    assert run.reports == []
    counts = planned(run)
    for collective in ("scatter", "gather", "allgather", "reduce", "reduce-scatter", "allreduce"):
        assert counts[collective] > 10
    # One rank, no bytes, an intercommunicator, an operation that has an order or no meaning.
    assert run.stats is not None
    assert run.stats["not_planned"]["MPI_Scatter"] >= 1
    assert run.stats["not_planned"]["MPI_Allgather"] >= 2
    assert run.stats["not_planned"]["MPI_Reduce"] >= 3
    assert run.stats["not_planned"]["MPI_Allreduce"] >= 3
    assert run.stats["not_planned"]["MPI_Scatterv"] >= 1
    assert run.stats["not_planned"]["MPI_Allgatherv"] >= 1


def test_programs_of_the_standard_abi(abi_bench: Bench) -> None:
    run = abi_bench.check(
        3,
        "random_collectives",
        CALLS,
        MOST_INTS,
        "4",
        min_bytes="1",
        collectives="scatter,gather,allgather,reduce,reduce-scatter,allreduce",
    )
    assert run.reports == []
    assert min(planned(run).values()) > 10


def test_over_several_hosts(hosts_of: Bench) -> None:
    """Seven ranks on four hosts, with one plan for each kind of call."""
    run = hosts_of.check(
        7, "random_collectives", CALLS, MOST_INTS, "5", collectives="all", test_ranks_per_host="2"
    )
    assert run.reports == []
    assert min(planned(run).values()) > 10


@pytest.mark.parametrize("planner", ["ring", "bruck"])
def test_all_reduces_by_a_timetable(hosts_of: Bench, planner: str) -> None:
    """A rank on each host; Bruck's all-reduce has several segments in one message."""
    settings = {"planner": planner, "min_bytes": "1", "test_ranks_per_host": "1"}
    run = hosts_of.check(5, "random_collectives", "50", "9000", "5", collectives="allreduce", **settings)
    assert run.reports == []
    assert planned(run)["allreduce"] > 10
    assert {row["planner"] for row in run.rows(collective="allreduce") if row["planned"]} == {planner}


@pytest.mark.parametrize(("ranks", "each"), [(7, 1), (7, 2)])
def test_all_reduces_whose_heads_exchange(hosts_of: Bench, tmp_path: Path, ranks: int, each: int) -> None:
    """Hosts of three sites; sums of floats have the same bits on all ranks."""
    names = [f"host{at}" for at in range(-(-ranks // each))]
    sites = [names[0::3], names[1::3], names[2::3]]
    near = {"latency_s": 1e-6, "bandwidth_bytes_per_s": 1e9}
    document = {
        "format": "broadleaf-platform/1",
        "name": "three sites",
        "port_model": "one-port",
        "nodes": [{"id": name, "cluster": str(at % 3), "host": name} for at, name in enumerate(names)],
        "meshes": [{"nodes": site, "link": near} for site in sites if len(site) > 1],
        "bridges": [
            {"from_cluster": one, "to_cluster": other, "both_ways": True, "link": near | {"latency_s": 1e-2}}
            for one, other in ("01", "02", "12")
        ],
    }
    file = tmp_path / "net.json"
    file.write_text(json.dumps(document))
    plan = bl.plan(bl.Platform.load(file), names[0], 30_000, "site-trees", "allreduce")
    assert {len(tree.exchange) for tree in plan.inward} == {2}
    settings = {"planner": "site-trees", "platform": file, "min_bytes": "1", "test_ranks_per_host": str(each)}
    run = hosts_of.check(ranks, "random_collectives", CALLS, MOST_INTS, "7", collectives="all", **settings)
    assert run.reports == []
    by_sites = run.rows(collective="allreduce", planner="site-trees")
    assert sum(row["planned"] for row in by_sites) > 10


def test_plans_of_the_directory(bench: Bench, tmp_path: Path) -> None:
    """A plan for each collective; 12,340 bytes are no whole number of eight-byte elements."""
    names = [f"n{at}" for at in range(4)]
    document = {
        "format": "broadleaf-platform/1",
        "name": "four",
        "port_model": "one-port",
        "nodes": [{"id": name, "host": socket.gethostname()} for name in names],
        "meshes": [{"nodes": names, "link": {"latency_s": 1e-6, "bandwidth_bytes_per_s": 1e9}}],
    }
    file = tmp_path / "net.json"
    file.write_text(json.dumps(document))
    (tmp_path / "plans").mkdir()
    platform = bl.Platform.load(file)
    planners = dict.fromkeys(("gather", "reduce", "allreduce"), "chain") | {"scatter": "flat"}
    planners |= {"allgather": "ring", "reduce-scatter": "ring"}
    for (collective, planner), size in itertools.product(planners.items(), (15_000, 60_000, 240_000)):
        plan = bl.plan(platform, "n0", size, planner, collective, segment_bytes=12_340)
        plan = bl.Plan.from_dict(plan.to_dict() | {"planner": "by-hand"})
        plan.save(tmp_path / "plans" / f"{collective}-{size}.json")
    run = bench.check(
        4,
        "random_collectives",
        CALLS,
        MOST_INTS,
        "6",
        min_bytes="1",
        collectives="all",
        platform=file,
        plan_dir=tmp_path / "plans",
    )
    assert run.reports == []
    by_hand = run.rows(planner="by-hand")
    assert {row["collective"] for row in by_hand} == planners.keys()
    for row in by_hand:
        blocks = 1 if row["collective"] in ("reduce", "allreduce") else 4
        assert 7_500 <= row["bytes"] / blocks <= 480_000, row
        assert 12_340 <= row["segment_bytes"] < 12_340 + 16, row


@pytest.mark.parametrize(
    ("listed", "counted"), [("", {"MPI_Scatter", "MPI_Allgather"}), ("scatter", {"MPI_Allgather"})]
)
def test_what_is_not_listed_goes_to_the_mpi(bench: Bench, listed: str, counted: set[str]) -> None:
    run = bench.check(2, "random_collectives", "200", "900", "1", min_bytes="1", collectives=listed)
    assert run.stats is not None
    assert "allgather" not in planned(run)
    assert ("scatter" in planned(run)) == bool(listed)
    assert all(run.stats["not_planned"][name] > 5 for name in counted)


def test_broadcasts_that_are_not_listed(bench: Bench) -> None:
    run = bench.check(2, "many", "10", "200000", "1", min_bytes="1", collectives="scatter")
    assert run.stats is not None
    assert run.stats["planned"] == 0
    assert run.stats["passed_through"] == {"not-listed": 10}


def test_on_one_host_the_mpi_serves(bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without BROADLEAF_MIN_BYTES; an empty value counts as none."""
    run = bench.check(2, "random_collectives", "40", MOST_INTS, "1", collectives="all", min_bytes="")
    assert planned(run) == {}


def test_listed_calls_that_went_to_the_mpi_are_told(bench: Bench) -> None:
    """Plans are made for MPI_Allreduce, but not inside one host."""
    run = bench.run(2, [bench.compile("unplanned"), "allreduce", "5", "100"], collectives="all", min_bytes="")
    (line,) = run.reports
    assert "MPI_Allreduce 5, which went to the MPI: " in line
    assert "inside one host" in line


def test_a_misspelt_collective_is_told_once(bench: Bench) -> None:
    run = bench.check(2, "random_collectives", "8", "900", "1", collectives="bcast,scater")
    (line,) = run.reports
    assert "BROADLEAF_COLLECTIVES=bcast,scater" in line
    assert "`scater`" in line
    assert planned(run) == {}


def test_plans_over_a_platform_with_several_ranks_a_node(bench: Bench, tmp_path: Path, host: str) -> None:
    nodes = [{"id": f"n{at}", "host": host} for at in range(3)]
    link = {"latency_s": 5e-5, "bandwidth_bytes_per_s": 1.25e8}
    document = {
        "format": "broadleaf-platform/1",
        "name": "three",
        "port_model": "one-port",
        "nodes": nodes,
        "meshes": [{"nodes": ["n0", "n1", "n2"], "link": link}],
    }
    platform = tmp_path / "three.json"
    platform.write_text(json.dumps(document))
    run = bench.check(
        7, "random_collectives", "80", "9000", "6", min_bytes="1", platform=platform, collectives="all"
    )
    assert run.reports == []
    for collective in ("allgather", "reduce-scatter", "allreduce"):
        assert {row["planner"] for row in run.rows(collective=collective, communicator="") if row["planned"]}


def test_a_comparison_alternates(bench: Bench) -> None:
    run = bench.check(
        2, "random_collectives", "600", "900", "1", min_bytes="1", collectives="all", mode="compare"
    )
    assert run.stats is not None
    rows = run.rows(collective="scatter")
    assert sum(row["planned"] for row in rows) > 5
    assert sum(row["passed_through"].get("compared", 0) for row in rows) > 5


def test_calls_with_a_count_for_each_rank_are_compared(bench: Bench) -> None:
    rounds = 12
    run = bench.check(3, "unequal", str(rounds), min_bytes="1", collectives="all", mode="compare")
    assert run.stats is not None
    rows = run.stats["broadcasts"]
    assert {row["collective"] for row in rows} == {"gather", "allgather", "reduce-scatter"}
    for row in rows:
        assert (row["planned"], row["passed_through"]) == (rounds // 2, {"compared": rounds // 2})
        assert len(row["native_s"]) == rounds // 2 - 1
        assert row["bytes"] == 36_000
    assert run.stats["gain"]["native_s"] > 0


@pytest.mark.parametrize("mib", ["3072", "256"])
def test_elements_of_gaps_go_to_the_mpi(bench: Bench, mib: str) -> None:
    """A plan would send the gaps along."""
    run = bench.check(3, "wide_elements", mib, min_bytes="1", collectives="all", planner="chain")
    assert run.stats is not None
    assert run.stats["planned"] == 0


def test_wrong_arguments_have_the_mpi_s_own_error_class(bench: Bench) -> None:
    program = [bench.compile("collective_errors")]
    own = bench.run(4, program, preloaded=False)
    assert own.stdout.endswith("ok\n"), own.stderr
    assert own.stdout.count(", class ") > 90
    # Of all, MPIs accept only room for more than comes.
    faults = {line.split(":")[0] for line in own.stdout.splitlines()[:-1]}
    found = {line.split(":")[0] for line in own.stdout.splitlines()[:-1] if not line.endswith("class 0")}
    assert faults - found == {"scatterv, more at the last rank"}
    # Down a chain, the root learns of a wrong length from a rank between.
    for planner in ("best", "chain"):
        run = bench.run(4, program, min_bytes="1", collectives="all", planner=planner)
        assert run.stdout == own.stdout


@pytest.mark.parametrize("planner", ["best", "chain"])
def test_a_wrong_argument_at_one_rank_is_that_rank_s_error(bench: Bench, planner: str) -> None:
    run = bench.check(4, "wrong_on_one_rank", min_bytes="1", collectives="all", planner=planner)
    assert [line for line in run.reports if "internal error" in line] == []
    assert run.stats is not None
    assert run.stats["planned"] > 7


def test_a_rank_that_receives_nothing_needs_no_buffer(bench: Bench) -> None:
    run = bench.check(3, "nothing_to_receive", min_bytes="1", collectives="all")
    assert run.stats is not None
    assert run.stats["planned"] == 4


@pytest.mark.parametrize("listed", ["", "all"])
def test_handles_of_nothing_reach_the_program_s_error_handler_once(bench: Bench, listed: str) -> None:
    program = [bench.compile("no_such_handle")]
    alone = bench.run(2, program, preloaded=False)
    assert alone.returncode == 0, alone.stderr
    assert alone.stdout.count("handled 1 times") == 2 * (10 if bench.mpi.flavour == "mpich" else 6)
    run = bench.run(2, program, min_bytes="1", collectives=listed)
    assert run.returncode == 0, run.stderr
    assert sorted(run.stdout.splitlines()) == sorted(alone.stdout.splitlines())


def test_a_fatal_error_names_the_call(bench: Bench) -> None:
    program = [bench.compile("failed_gather"), "fatal"]
    assert bench.run(2, program, preloaded=False).returncode != 0
    run = bench.run(2, program, min_bytes="1", collectives="all")
    assert run.returncode != 0
    assert "broadleaf: MPI_Gather failed at rank 0 of MPI_COMM_WORLD: " in run.stderr


@pytest.mark.parametrize("checked", ["0", "1"])
def test_a_root_that_gives_one_memory_for_both_sides(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, checked: str
) -> None:
    """Where the MPI accepts it, the root does not leave the plan to the others; else the program ends."""
    monkeypatch.setenv("MPIR_CVAR_COLL_ALIAS_CHECK", checked)
    program = [bench.compile("one_memory")]
    own = bench.run(4, program, preloaded=False)
    assert (own.returncode == 0) == (bench.mpi.flavour == "openmpi")
    run = bench.run(4, program, min_bytes="1", collectives="all")
    assert (run.returncode == 0, run.stdout == "ok\n") == (own.returncode == 0, own.stdout == "ok\n")


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("listed", ["", "all"])
def test_after_a_failed_gather_the_program_ends_as_without(bench: Bench, ranks: int, listed: str) -> None:
    """Messages that no rank has received neither reach the statistics nor stop MPI_Finalize."""
    run = bench.check(ranks, "failed_gather", min_bytes="1", collectives=listed)
    assert run.stats is not None
    assert run.stats["not_planned"].get("MPI_Gather", 0) == (0 if listed else 1)


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_rank_without_memory_for_blocks_of_unequal_length(bench: Bench, ranks: int) -> None:
    bench.check(ranks, "starved_unequal", min_bytes="1", collectives="all")


def test_the_trace_names_the_collective(bench: Bench, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    bench.check(2, "random_collectives", "60", "900", "1", min_bytes="1", collectives="all", trace=trace)
    names = {event["name"].split()[0] for event in json.loads(trace.read_text())["traceEvents"]}
    assert {"scatter", "gather", "allgather", "reduce", "reduce-scatter", "allreduce", "segment"} <= names
