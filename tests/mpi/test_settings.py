"""The environment of the runtime: platforms, planners, plan files, and bad values."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import broadleaf as bl

if TYPE_CHECKING:
    from conftest import Bench

SLOW = {"latency_s": 1e-3, "bandwidth_bytes_per_s": 1e7}
FAST = {"latency_s": 1e-5, "bandwidth_bytes_per_s": 1e9}


def write_platform(path: Path, host: str, nodes: int) -> Path:
    """Two clusters on this one machine, slow between them; odd nodes are far from even ones."""
    names = [f"n{node}" for node in range(nodes)]
    document: dict[str, Any] = {
        "format": "broadleaf-platform/1",
        "name": "halves",
        "port_model": "one-port",
        "nodes": [
            {"id": name, "host": host, "cluster": "even" if at % 2 == 0 else "odd"}
            for at, name in enumerate(names)
        ],
        "meshes": [
            {"nodes": members, "link": FAST} for members in (names[::2], names[1::2]) if len(members) > 1
        ],
    }
    if nodes > 1:
        bridge = {"from_cluster": "even", "to_cluster": "odd", "both_ways": True, "link": SLOW}
        document["bridges"] = [bridge]
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize(("ranks", "nodes"), [(4, 4), (7, 7), (3, 7), (7, 3), (4, 1), (7, 2)])
def test_ranks_take_the_nodes_of_their_host_in_turn(
    bench: Bench, tmp_path: Path, host: str, ranks: int, nodes: int
) -> None:
    platform = write_platform(tmp_path / "net.json", host, nodes)
    run = bench.check(ranks, "many", "60", "500000", "5", platform=platform, min_bytes="4KiB")
    assert run.stats is not None
    assert run.stats["planned"] > 10
    assert run.reports == []


@pytest.mark.parametrize("ranks", [2, 3, 4, 7])
def test_every_planner_runs_for_real(bench: Bench, tmp_path: Path, host: str, ranks: int) -> None:
    platform = write_platform(tmp_path / "net.json", host, ranks)
    planners = [card.name for card in bl.planners()]
    run = bench.check(
        ranks,
        "planners",
        *planners,
        "best",
        platform=platform,
        min_bytes="4KiB",
        plan="before",
        first_plan_ms="1000",
    )
    for planner in planners:
        rows = run.rows(communicator=planner)
        assert sum(row["intercepted"] for row in rows) == 5, planner
        planned = [row for row in rows if row["planned"]]
        assert {row["planner"] for row in planned} <= {planner}
        # A planner may not support a platform; then the MPI's own broadcast is used, and that is reported.
        refused = any(f"planner {planner} cannot" in line for line in run.reports)
        assert len(planned) == (0 if refused else len(rows)), planner
    assert all("the MPI's own broadcast is used" in line for line in run.reports)
    assert sum(row["planned"] for row in run.rows(communicator="best")) == 5


@pytest.mark.parametrize("ranks", [3, 4])
def test_nodes_with_several_ranks_are_served_inside(
    bench: Bench, tmp_path: Path, host: str, ranks: int
) -> None:
    platform = write_platform(tmp_path / "net.json", host, 2)
    for planner in ("chain", "van-de-geijn", "round-robin"):
        run = bench.check(
            ranks, "many", "30", "300000", "9", platform=platform, planner=planner, min_bytes="4KiB"
        )
        assert run.stats is not None
        assert run.stats["planned"] > 5


def test_a_plan_of_the_directory_is_run_as_it_stands(bench: Bench, tmp_path: Path, host: str) -> None:
    file = write_platform(tmp_path / "net.json", host, 4)
    plans = tmp_path / "plans"
    plans.mkdir()
    platform = bl.Platform.load(str(file))
    # A plan that no planner would make: a chain that crosses the slow links at every step, in odd segments.
    plan = bl.plan(platform, root="n0", message_bytes=400_000, planner="chain", segment_bytes=12_345)
    document = plan.to_dict()
    document["trees"] = [{"share": 1.0, "children": {"n0": ["n1"], "n1": ["n2"], "n2": ["n3"]}}]
    document["planner"] = "by-hand"
    (plans / "mine.json").write_text(json.dumps(document))
    run = bench.run(
        4, [bench.compile("many"), "60", "400000", "2"], platform=file, plan_dir=plans, min_bytes="4KiB"
    )
    assert run.returncode == 0, run.stderr
    by_hand = run.rows(planner="by-hand")
    assert by_hand
    assert {row["segment_bytes"] for row in by_hand} == {12_345}
    # It is for root n0 and messages of about its own size.
    assert {row["root"] for row in by_hand} == {0}
    assert all(200_000 <= row["bytes"] <= 800_000 for row in by_hand)


SHAPES: dict[str, dict[str, Any]] = {
    "rendezvous": {"protocol": "rendezvous"},
    "combined": {"combine": True},
    "combined rendezvous": {"combine": True, "protocol": "rendezvous"},
    "relayed by a host": {
        "trees": [
            {"share": 0.5, "children": {"n0": ["n2", "n1"], "n1": ["n3"]}, "via": {"n2": ["n3", "n1"]}},
            {"share": 0.5, "children": {"n0": ["n3"], "n3": ["n1", "n2"]}, "via": {"n1": ["n2"]}},
        ]
    },
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ranks", [4, 7])
def test_whatever_a_plan_file_asks_for_is_run(
    bench: Bench, tmp_path: Path, host: str, shape: str, ranks: int
) -> None:
    file = write_platform(tmp_path / "net.json", host, 4)
    plans = tmp_path / "plans"
    plans.mkdir()
    platform = bl.Platform.load(str(file))
    plan = bl.plan(platform, root="n0", message_bytes=300_000, planner="binary", segment_bytes=20_000)
    document = plan.to_dict() | SHAPES[shape] | {"planner": "by-hand"}
    (plans / "plan.json").write_text(json.dumps(document))
    run = bench.check(ranks, "steady", "300001", "1", platform=file, plan_dir=plans)
    row = run.rows(bytes=300_001)[0]
    assert row["planner"] == "by-hand"
    assert row["planned"] == row["intercepted"] > 1
    assert run.reports == []


def test_a_wrong_length_with_a_plan_of_its_own_is_found(bench: Bench, tmp_path: Path, host: str) -> None:
    """The rank waits for its parent in one plan, and hears of the call from its parent in the other."""
    file = write_platform(tmp_path / "net.json", host, 3)
    plans = tmp_path / "plans"
    plans.mkdir()
    platform = bl.Platform.load(str(file))
    for message_bytes, children in (
        (300_000, {"n0": ["n1"], "n1": ["n2"]}),
        (70_000, {"n0": ["n2"], "n2": ["n1"]}),
    ):
        plan = bl.plan(
            platform, root="n0", message_bytes=message_bytes, planner="chain", segment_bytes=20_000
        )
        document = plan.to_dict() | {"trees": [{"share": 1, "children": children}], "planner": "by-hand"}
        (plans / f"{message_bytes}.json").write_text(json.dumps(document))
    run = bench.check(3, "errors", platform=file, plan_dir=plans, shared_memory="0")
    assert len(run.rows(planner="by-hand", root=0)) >= 2
    assert run.reports == []


def test_a_better_plan_takes_over_while_the_program_runs(bench: Bench, tmp_path: Path, host: str) -> None:
    platform = write_platform(tmp_path / "net.json", host, 7)
    # Through shared memory there would be nothing to plan. No time for the first plan, so the search in the
    # background is bound to find a better one, which the program waits for.
    run = bench.check(7, "settled", "600000", platform=platform, first_plan_ms="0", shared_memory="0")
    row = run.rows(bytes=600_000, root=0)[0]
    assert row["plan_version"] >= 1, row


def test_short_messages_are_planned_where_the_platform_predicts_a_gain(
    bench: Bench, tmp_path: Path, host: str
) -> None:
    """In rank order the message goes a millisecond to rank 4, and another one back to rank 6."""
    path = write_platform(tmp_path / "net.json", host, 7)
    document = json.loads(path.read_text())
    names = [node["id"] for node in document["nodes"]]
    for at, node in enumerate(document["nodes"]):
        node["cluster"] = "even" if at in (0, 3, 6) else "odd"
    document["meshes"] = [{"nodes": nodes, "link": FAST} for nodes in (names[::3], names[1:3] + names[4:6])]
    path.write_text(json.dumps(document))
    settings = {"platform": path, "shared_memory": "0", "min_bytes": ""}
    run = bench.check(7, "lengths", "5", "1", **settings)
    assert run.rows(bytes=1, root=0)[0]["planned"] == 5
    assert run.stats is not None
    assert run.stats["min_bytes"] == 1
    assert bench.check(7, "lengths", "5", "1", **{**settings, "min_bytes": "2"}).rows(bytes=1) == []
    document["meshes"] = [{"nodes": names, "link": FAST}]
    del document["bridges"]
    path.write_text(json.dumps(document))
    assert bench.check(7, "lengths", "5", "1", **settings).rows(bytes=1) == []


def test_a_planner_that_takes_long_is_not_waited_for(bench: Bench, tmp_path: Path, host: str) -> None:
    platform = write_platform(tmp_path / "net.json", host, 8)
    # Between ports of one speed, which serve one transfer at a time, a timetable is searched for.
    document = json.loads(platform.read_text())
    document["bridges"][0]["link"]["bandwidth_bytes_per_s"] = FAST["bandwidth_bytes_per_s"]
    platform.write_text(json.dumps(document))
    settings = {"platform": platform, "planner": "optimal", "min_bytes": "4KiB", "shared_memory": "0"}
    beside = bench.check(8, "settled", "39936", first_plan_ms="0", **settings)
    row = beside.rows(bytes=39_936, root=0)[0]
    assert (row["planner"], row["plan_version"]) == ("optimal", 1), row
    before = bench.check(8, "settled", "39936", plan="before", **settings)
    row = before.rows(bytes=39_936, root=0)[0]
    assert (row["planner"], row["plan_version"]) == ("optimal", 0), row


def test_without_a_thread_to_be_had_broadcasts_are_planned(bench: Bench, tmp_path: Path, host: str) -> None:
    platform = write_platform(tmp_path / "net.json", host, 8)
    settings = {"platform": platform, "shared_memory": "0", "min_bytes": "4KiB"}
    best = bench.check(3, "no_threads", "5000", "100000", "3000000", **settings)
    assert best.stats is not None
    assert best.stats["planned"] == 9
    assert best.reports == []
    optimal = bench.check(3, "no_threads", "100000", planner="optimal", **settings)
    assert optimal.stats is not None
    assert optimal.stats["planned"] == 3
    assert all("no thread to plan beside the program" in line for line in optimal.reports)
    assert optimal.reports


BAD = {
    "no such file": ({"platform": "missing.json"}, "missing.json"),
    "truncated": ({"platform": "truncated.json"}, "truncated.json"),
    "other hosts": ({"platform": "elsewhere.json"}, "no node of platform"),
    "no number": ({"min_bytes": "plenty"}, "BROADLEAF_MIN_BYTES=plenty"),
    "no planner": ({"planner": "oracle"}, "BROADLEAF_PLANNER=oracle"),
    "no switch": ({"disable": "perhaps"}, "BROADLEAF_DISABLE=perhaps"),
    "no mode": ({"mode": "dream"}, "BROADLEAF_MODE=dream"),
    "no directory": ({"plan_dir": "nowhere"}, "BROADLEAF_PLAN_DIR="),
    "no plan time": ({"plan": "after"}, "BROADLEAF_PLAN=after"),
    "no time": ({"first_plan_ms": "soon"}, "BROADLEAF_FIRST_PLAN_MS=soon"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_value_is_told_once_and_the_program_runs_on(
    bench: Bench, tmp_path: Path, host: str, case: str
) -> None:
    settings, told = BAD[case]
    whole = write_platform(tmp_path / "whole.json", host, 3).read_text()
    (tmp_path / "truncated.json").write_text(whole[: len(whole) // 2])
    write_platform(tmp_path / "elsewhere.json", "another-machine", 3)
    settings = {
        name: str(tmp_path / value) if name in ("platform", "plan_dir") else value
        for name, value in settings.items()
    }
    run = bench.check(3, "many", "40", "300000", "4", **settings)
    assert len(run.reports) == 1, run.stderr
    assert told in run.reports[0]
    assert "the MPI's own broadcast is used" in run.reports[0].replace("The MPI", "the MPI")
    assert run.stats is not None
    assert run.stats["planned"] == 0


def test_a_bad_plan_file_is_told_and_not_run(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "torn.json").write_text('{"format": "broadleaf-plan/1", "platform"')
    run = bench.check(3, "many", "40", "300000", "4", plan_dir=tmp_path)
    assert any("torn.json" in line for line in run.reports), run.stderr
    assert run.stats is not None
    assert run.stats["planned"] == 0


MISLAID = {
    "the plan directory vanishes": ("plans", "gone", "BROADLEAF_PLAN_DIR="),
    "the platform vanishes": ("net.json", "gone.json", "net.json"),
    "the platform is replaced": ("other.json", "net.json", "not the platform that rank 0 read"),
}


@pytest.mark.parametrize("case", MISLAID)
def test_what_is_lost_in_mid_run_is_told_once(bench: Bench, tmp_path: Path, host: str, case: str) -> None:
    """Broadcasts with a plan keep it; later ones use the MPI's own broadcast."""
    before, after, told = MISLAID[case]
    platform = write_platform(tmp_path / "net.json", host, 3)
    slower = json.loads(platform.read_text())
    slower["bridges"][0]["link"]["bandwidth_bytes_per_s"] /= 2
    (tmp_path / "other.json").write_text(json.dumps(slower))
    plans = tmp_path / "plans"
    plans.mkdir()
    settings = {"plan_dir": plans} if before == "plans" else {}
    names = [str(tmp_path / before), str(tmp_path / after)]
    run = bench.check(3, "mislaid", *names, platform=platform, shared_memory="0", **settings)
    assert len(run.reports) == 1, run.stderr
    assert told in run.reports[0]
    assert "the MPI's own broadcast is used" in run.reports[0]
    rows = {row["root"]: row for row in run.rows(communicator="MPI_COMM_WORLD")}
    assert (rows[0]["intercepted"], rows[0]["planned"]) == (6, 6)
    assert (rows[1]["intercepted"], rows[1]["planned"]) == (3, 0)


def test_disabled_means_untouched(bench: Bench) -> None:
    run = bench.check(3, "many", "40", "300000", "4", disable="1")
    assert run.stats is not None
    assert run.stats["planned"] == 0
    assert all(row["planner"] is None for row in run.stats["broadcasts"])
    assert set(run.stats["passed_through"]) == {"disabled"}
    assert run.reports == []


def test_statistics_are_private_and_links_are_not_followed(bench: Bench, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("keep me")
    file = tmp_path / "stats.json"
    file.symlink_to(precious)
    run = bench.check(2, "many", "20", "300000", "4", stats=str(file))
    assert precious.read_text() == "keep me"
    assert run.stats is not None
    found = os.lstat(file)
    assert stat.S_ISREG(found.st_mode)
    assert stat.S_IMODE(found.st_mode) == 0o600
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["precious", "stats.json"]


def test_results_are_where_they_were_asked_for_whatever_the_program_does_meanwhile(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = bench.check(2, "wanders", stats="stats.json", trace="trace.json")
    assert run.stats is not None
    assert run.stats["planned"] == 2
    assert (tmp_path / "trace.json").is_file()


def test_statistics_that_cannot_be_written_harm_nothing(bench: Bench, tmp_path: Path) -> None:
    run = bench.check(2, "many", "20", "300000", "4", stats=str(tmp_path / "none" / "stats.json"))
    assert len(run.reports) == 1, run.stderr
    assert "BROADLEAF_STATS=" in run.reports[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
def test_a_full_disk_harms_nothing(bench: Bench, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "none", disk]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting is not permitted here")
    try:
        run = bench.check(3, "many", "60", "300000", "4", stats=str(disk / "stats.json"), min_bytes="1KiB")
        assert len(run.reports) == 1, run.stderr
        assert "No space left" in run.reports[0]
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", disk], check=True)


def test_devices_are_not_replaced(bench: Bench) -> None:
    run = bench.check(2, "many", "20", "300000", "4", stats="/dev/null")
    assert len(run.reports) == 1, run.stderr
    assert "not a regular file" in run.reports[0]
    assert not Path("/dev/null").is_file()
