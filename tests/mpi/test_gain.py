"""The gain of planning: native calls are timed, alternate with planned ones, and are predicted."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

import broadleaf as bl

if TYPE_CHECKING:
    from conftest import Bench, Run

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 12
long = pytest.mark.skipif(
    "BROADLEAF_SOAK" not in os.environ, reason="every program in every mode: run by make soak"
)
# Communicator, ranks, root and bytes of the broadcasts of kinds.c in each round; both halves have a row.
KINDS = [
    ("MPI_COMM_WORLD", 4, 0, 200_000),
    ("MPI_COMM_WORLD", 4, 3, 70_000),
    ("beside", 4, 0, 70_000),
    ("half", 2, 0, 70_000),
    ("half", 2, 0, 70_000),
]


def write_platform(path: Path, hosts: list[str]) -> Path:
    nodes = [f"n{at}" for at in range(len(hosts))]
    document = {
        "format": "broadleaf-platform/1",
        "name": "even",
        "port_model": "one-port",
        "nodes": [{"id": node, "host": host} for node, host in zip(nodes, hosts, strict=True)],
        "meshes": [{"nodes": nodes, "link": {"latency_s": 1e-5, "bandwidth_bytes_per_s": 1e9}}],
    }
    path.write_text(json.dumps(document))
    return path


def rows(run: Run) -> list[dict[str, Any]]:
    """One row for each of KINDS, in that order; every field is in the schema."""
    assert run.stats is not None
    schema = json.loads((ROOT / "docs/schemas/stats.schema.json").read_text())
    Draft202012Validator(schema).validate(run.stats)
    found = run.stats["broadcasts"]
    for row in found:
        assert row.keys() <= schema["properties"]["broadcasts"]["items"]["properties"].keys()
    assert run.stats.keys() <= schema["properties"].keys()
    assert [(row["communicator"], row["ranks"], row["root"], row["bytes"]) for row in found] == KINDS
    return list(found)


def said(run: Run) -> str:
    """The last line of the summary."""
    assert run.stats is not None
    line: str = run.stats["gain"]["summary"][-1]
    return line


def test_planned_and_native_calls_of_each_kind_alternate(each_kind: Bench) -> None:
    # By messages and, with one of the kinds, through shared memory.
    memory = "1" if each_kind.mpi.flavour == "openmpi" else "0"
    run = each_kind.check(4, "kinds", str(ROUNDS), mode="compare", shared_memory=memory)
    for row in rows(run):
        assert (row["planned"], row["passed_through"]) == (ROUNDS // 2, {"compared": ROUNDS // 2})
        assert len(row["native_s"]) == ROUNDS // 2 - 1
        # Where a better plan took over in mid run, its samples alone count.
        assert len(row["planned_s"]) == ROUNDS // 2 - 1 or row["plan_version"] > 0
        speedup = row["speedup"]
        assert speedup is None or 0 < speedup["low"] <= speedup["median"] <= speedup["high"]
    assert run.stats is not None
    compared = len(KINDS) * ROUNDS // 2
    # In both halves, of which rank 0 is in one.
    assert run.stats["passed_through"] == {"compared": compared, "one-rank": ROUNDS, "zero-bytes": ROUNDS}
    total = 2 * (compared + ROUNDS)
    assert re.match(
        rf"{compared} of {total} broadcasts planned, {compared} native for comparison: ", said(run)
    )
    assert re.search("faster|slower", said(run))


# Results that follow from the samples alone are the same with every MPI.
one_mpi = pytest.mark.parametrize("bench", ["openmpi"], indirect=True)


@one_mpi
def test_a_plan_that_is_slower_is_called_so(bench: Bench, tmp_path: Path, host: str) -> None:
    platform = bl.Platform.load(write_platform(tmp_path / "net.json", [host] * 3))
    plans = tmp_path / "plans"
    plans.mkdir()
    # A plan that no planner would make: 70,000 messages over each link.
    plan = bl.plan(platform, root="n0", message_bytes=280_000, planner="chain", segment_bytes=4)
    plan.save(plans / "tiny.json")
    settings = {"platform": tmp_path / "net.json", "plan_dir": plans, "shared_memory": "0"}
    # On a busy machine the interval of few calls reaches 1.
    run = bench.check(3, "lengths", "48", "280000", mode="compare", **settings)
    assert run.stats is not None
    (row,) = run.stats["broadcasts"]
    assert row["segment_bytes"] == 4
    assert row["speedup"]["high"] < 1
    assert run.stats["gain"]["saved_s"] < 0
    kind, total = run.stats["gain"]["summary"]
    assert re.fullmatch(
        r"bcast on MPI_COMM_WORLD of 3 ranks, root 0, 280000 bytes: "
        r"planned ones [0-9.]+ (±|\() ?[0-9.]+.* slower",
        kind,
    )
    assert re.search(r" slower; planning all 48 compared ones would add about .* to ", total)


@one_mpi
def test_without_a_file_for_statistics_rank_0_says_what_was_found(bench: Bench) -> None:
    run = bench.check(2, "lengths", "6", "70000", mode="compare", stats="")
    assert run.stats is None
    (line,) = run.reports
    assert line.startswith("broadleaf: 3 of 6 broadcasts planned, 3 native for comparison: too few")


def test_an_observed_program_runs_without_plans(hosts_of: Bench, tmp_path: Path) -> None:
    platform = write_platform(tmp_path / "net.json", [f"host{at}" for at in range(4)])
    run = hosts_of.check(4, "kinds", str(ROUNDS), mode="observe", platform=platform, min_bytes="64KiB")
    link_s = {200_000: 2e-4, 70_000: 7e-5}
    for row in rows(run):
        assert (row["planned"], row["passed_through"]) == (0, {"observed": ROUNDS})
        assert len(row["native_s"]) == ROUNDS - 1
        # Once over a link, and no longer than one host after the other.
        assert link_s[row["bytes"]] <= row["predicted_s"] <= 3 * link_s[row["bytes"]] + 1e-3
    assert run.stats is not None
    gain = run.stats["gain"]
    calls_s = [(row["native_s"], ROUNDS * row["predicted_s"]) for row in run.stats["broadcasts"]]
    native_s = sum(ROUNDS * sum(samples) / len(samples) for samples, _ in calls_s)
    assert gain["native_s"] == pytest.approx(native_s)
    assert gain["saved_s"] == pytest.approx(native_s - sum(plan_s for _, plan_s in calls_s))
    assert re.match(r"0 of \d+ broadcasts planned, 60 timed: .* in them; plans are predicted to ", said(run))
    assert run.reports == []


def test_the_other_collectives_are_observed(hosts_of: Bench, tmp_path: Path) -> None:
    platform = write_platform(tmp_path / "net.json", [f"host{at}" for at in range(4)])
    run = hosts_of.check(
        4, "unequal", str(ROUNDS), mode="observe", platform=platform, min_bytes="1", collectives="all"
    )
    assert run.stats is not None
    observed = run.stats["broadcasts"]
    assert {row["collective"] for row in observed} == {"gather", "allgather", "reduce-scatter"}
    for row in observed:
        assert (row["planned"], row["passed_through"]) == (0, {"observed": ROUNDS})
        assert len(row["native_s"]) == ROUNDS - 1
        # Three of four blocks go through one port, of 1 GB/s, one after the other.
        assert 0.75 * row["bytes"] / 1e9 <= row["predicted_s"] <= row["bytes"] / 1e9 + 1e-3
    assert run.stats["not_planned"] == {}
    assert re.match(r"0 of \d+ collectives planned, .*; plans are predicted to ", said(run))


@one_mpi
def test_what_cannot_be_predicted_says_why(bench: Bench, tmp_path: Path, host: str) -> None:
    platform = write_platform(tmp_path / "net.json", [host] * 2)
    run = bench.check(2, "lengths", "3", "70000", mode="observe", platform=platform)
    assert said(run).endswith("predicted: ranks of one host share its memory, which no plan predicts")


def test_disabled_calls_are_timed(bench: Bench) -> None:
    run = bench.check(4, "kinds", str(ROUNDS), disable="1")
    for row in rows(run):
        assert (row["planned"], row["passed_through"]) == (0, {"disabled": ROUNDS})
        assert len(row["native_s"]) == ROUNDS - 1
    assert re.match(r"0 of \d+ broadcasts planned, 60 timed: .* in them$", said(run))


@long
def test_a_fortran_program_is_compared(bench: Bench) -> None:
    if bench.mpi.flavour == "mpich":
        pytest.skip("MPICH's Fortran layer calls MPI_Bcast, which is caught anyway")
    run = bench.check(2, "fortran_names", mode="compare")
    assert run.stats is not None
    assert run.stats["planned"] + run.stats["passed_through"]["compared"] == 4


@long
@pytest.mark.parametrize("mode", ["compare", "observe"])
@pytest.mark.parametrize(
    "program", [("communicators", "20"), ("spawn",), ("many", "60", "500000", "5")], ids=lambda p: p[0]
)
def test_what_holds_for_planned_calls_holds_in_every_mode(
    bench: Bench, mode: str, program: tuple[str, ...]
) -> None:
    run = bench.run(4, [bench.compile(program[0]), *program[1:]], mode=mode)
    assert run.returncode == 0, run.stderr


@long
@pytest.mark.parametrize("mode", ["compare", "observe"])
def test_a_program_that_dies_ends(bench: Bench, mode: str) -> None:
    assert bench.run(4, [bench.compile("killed")], mode=mode).returncode != 0
