"""Planning through Python and the command line."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import broadleaf as bl
from documents import write
from outcome import Command, refused

GRID = Path(__file__).resolve().parents[2] / "platforms" / "grid5000-88.json"
ASK = ("--root", "a0", "--size", "1MiB")


def test_the_plan_is_the_fastest_that_was_tried(two_sites: dict[str, Any]) -> None:
    platform = bl.Platform.from_dict(two_sites)
    comparison = bl.compare(platform, "a0", 1 << 20)
    plan = comparison.plan
    bl.check(platform, plan)
    fastest = min(tried.makespan_s for tried in comparison.tried)
    assert plan.makespan_s == fastest
    assert bl.simulate(platform, plan).makespan_s == pytest.approx(fastest, rel=1e-9)
    assert plan.bound_s is not None
    assert 0.0 < plan.bound_s <= fastest
    names = {card.name for card in bl.planners()}
    assert {tried.planner for tried in comparison.tried} | comparison.passed_over.keys() == names
    assert bl.plan(platform, "a0", 1 << 20).to_dict() == plan.to_dict()


def test_one_planner_and_one_segment_size(two_sites: dict[str, Any]) -> None:
    platform = bl.Platform.from_dict(two_sites)
    plan = bl.plan(platform, root="a0", message_bytes=1 << 20, planner="chain", segment_bytes=4096, seed=7)
    assert (plan.planner, plan.segment_bytes, plan.seed) == ("chain", 4096, 7)
    assert plan.root == "a0"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"root": "zz"}, bl.PlatformError, '"zz"'),
        ({"root": "sw"}, bl.PlatformError, "switch"),
        ({"message_bytes": 0}, bl.PlanError, "0 bytes"),
        ({"message_bytes": -1}, ValueError, "message_bytes is -1"),
        ({"message_bytes": 1.5}, ValueError, "message_bytes is 1.5"),
        ({"message_bytes": 1 << 64}, ValueError, "message_bytes is 18446744073709551616"),
        ({"segment_bytes": 0}, bl.PlanError, "0 bytes"),
        ({"segment_bytes": -4}, ValueError, "segment_bytes is -4"),
        ({"planner": "luck"}, bl.PlanError, "luck"),
        ({"collective": "gossip"}, bl.PlanError, "gossip"),
        ({"weights": {"a0": 2}}, bl.PlanError, "bcast has no block for each host"),
        ({"weights": {"a0": -2}, "collective": "scatter"}, bl.PlanError, 'weight of "a0" is -2'),
        ({"weights": {"a0": float("nan")}, "collective": "scatter"}, bl.PlanError, 'weight of "a0" is NaN'),
        ({"weights": {"zz": 2}, "collective": "scatter"}, bl.PlatformError, '"zz"'),
        ({"weights": {"sw": 2}, "collective": "scatter"}, ValueError, '"sw" is a switch'),
        ({"weights": [1, 2], "collective": "scatter"}, ValueError, "no dict of hosts"),
        ({"seed": -1}, ValueError, "seed is -1"),
        ({"time_limit_s": -1.0}, ValueError, "time_limit_s is -1"),
        ({"time_limit_s": float("nan")}, ValueError, "time_limit_s is NaN"),
    ],
)
def test_python_refusals(
    arguments: dict[str, Any], error: type[ValueError], message: str, two_sites: dict[str, Any]
) -> None:
    platform = bl.Platform.from_dict(two_sites)
    with pytest.raises(error, match=message) as caught:
        bl.plan(platform, **{"root": "a0", "message_bytes": 1000, **arguments})
    assert "\n" not in str(caught.value)
    assert type(caught.value) is error


def test_unreachable_node(two_sites: dict[str, Any], command: Command) -> None:
    two_sites["nodes"].append({"id": "alone"})
    with pytest.raises(bl.PlatformError, match="alone"):
        bl.plan(bl.Platform.from_dict(two_sites), "a0", 1000)
    write("net.json", two_sites)
    refused(command("plan", "net.json", *ASK, "-o", "plan.json"), '"alone"', '"a0"')
    assert not Path("plan.json").exists()


def test_command_writes_the_plan_and_shows_the_table(command: Command, two_sites: dict[str, Any]) -> None:
    write("net.json", two_sites)
    outcome = command("plan", "net.json", *ASK, "-o", "plan.json", "--figure", "plan.png")
    assert (outcome.code, outcome.err) == (0, "")
    plan = bl.Plan.load("plan.json")
    rows = [line.split() for line in outcome.out.splitlines()]
    shown = [row[0] for row in rows if row and row[0] in {card.name for card in bl.planners()}]
    assert shown[0] == plan.planner
    assert len(shown) >= 7
    assert "bound" in outcome.out
    assert Path("plan.png").read_bytes().startswith(b"\x89PNG")
    assert command("check", "net.json", "plan.json").code == 0


def test_json_is_the_plan_itself(command: Command, two_sites: dict[str, Any]) -> None:
    write("net.json", two_sites)
    outcome = command("plan", "net.json", *ASK, "-o", "plan.json", "--json")
    document = outcome.document
    tried = document.pop("tried")
    assert document.pop("passed_over").keys().isdisjoint(row["planner"] for row in tried)
    assert document == bl.Plan.load("plan.json").to_dict()
    times = [row["makespan_s"] for row in tried]
    assert times == sorted(times)
    assert tried[0]["x_bound"] == pytest.approx(times[0] / document["predicted"]["bound_s"])
    Path("from-stdout.json").write_text(outcome.out)
    assert bl.Plan.load("from-stdout.json") == bl.Plan.load("plan.json")


def test_named_planner_and_segment(command: Command, two_sites: dict[str, Any]) -> None:
    write("net.json", two_sites)
    asked = ("--planner", "binomial", "--segment", "64KiB", "--json")
    document = command("plan", "net.json", *ASK, *asked).document
    assert (document["planner"], document["segment_bytes"]) == ("binomial", 65536)
    assert [row["planner"] for row in document["tried"]] == ["binomial"]


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        (["--root", "zz", "--size", "1MiB"], ['"zz"']),
        (["--root", "sw", "--size", "1MiB"], ['"sw"', "switch"]),
        (["--root", "a0", "--size", "0"], ["'0'", "1 byte"]),
        (["--root", "a0", "--size", "much"], ["much", "64KiB"]),
        (["--root", "a0"], ["--size"]),
        ([], ["--size"]),
        ([*ASK, "--planner", "zzzz"], ["'zzzz'", "planners"]),
        ([*ASK, "--collective", "gossip"], ['"gossip"', "bcast"]),
        ([*ASK, "--segment", "0"], ["'0'"]),
        ([*ASK, "--segment", "-1"], ["-1"]),
        ([*ASK, "--time-limit", "nan"], ["time_limit_s"]),
        ([*ASK, "--figure", "plan.txt"], ["plan.txt", ".png"]),
        ([*ASK, "--figure", "absent/plan.png"], ["absent/plan.png"]),
        ([*ASK, "-o", "absent/plan.json"], ["absent/plan.json"]),
        ([*ASK, "-o", "."], ["."]),
    ],
)
def test_command_refusals(
    arguments: list[str], fragments: list[str], command: Command, two_sites: dict[str, Any]
) -> None:
    write("net.json", two_sites)
    refused(command("plan", "net.json", *arguments), *fragments)
    assert [path.name for path in Path().iterdir()] == ["net.json"]


def test_an_interrupt_ends_long_work_at_once(tmp_path: Path) -> None:
    ring = np.array([[0 < (j - i) % 200 <= 40 for j in range(200)] for i in range(200)])
    rates = np.random.default_rng(1).uniform(1e6, 1e9, (200, 200))
    bl.Platform.from_matrices(np.full((200, 200), 1e-3), rates, links=ring).save(tmp_path / "net.json")
    asked = ["plan", "net.json", "--root", "n0", "--size", "1GiB", "-o", "plan.json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "broadleaf", *asked], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    try:
        time.sleep(3.0)
        assert process.poll() is None, "the work is too short to be interrupted"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=5)
    finally:
        process.kill()
    # The empty line is click's, for the terminal's ^C.
    assert (process.returncode, errors) == (130, "\nbroadleaf: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["net.json"]


def test_other_threads_run_while_a_plan_is_made() -> None:
    platform = bl.Platform.load(GRID)
    longest_s = 0.0
    done = threading.Event()

    def tick() -> None:
        nonlocal longest_s
        last = time.perf_counter()
        while not done.is_set():
            time.sleep(0.001)
            now = time.perf_counter()
            longest_s = max(longest_s, now - last)
            last = now

    ticking = threading.Thread(target=tick)
    ticking.start()
    begin = time.perf_counter()
    bl.plan(platform, "c0-0", 64 << 20, planner="grow")
    planning_s = time.perf_counter() - begin
    done.set()
    ticking.join()
    # With the interpreter locked, no tick would pass during the whole call.
    assert longest_s < planning_s / 2, (longest_s, planning_s)


def test_the_first_host_is_the_root_where_none_is_named(command: Command, two_sites: dict[str, Any]) -> None:
    write("net.json", two_sites)
    first = bl.Platform.from_dict(two_sites).hosts[0]
    command("plan", "net.json", "--size", "1M", "--planner", "chain", "-o", "plan.json")
    assert bl.Plan.load("plan.json").root == first
    assert bl.Plan.load("plan.json").message_bytes == 1 << 20
    bound = command("bound", "net.json", "--json")
    assert bound.code == 0
    assert f'"root": "{first}"' in bound.out


def test_a_misspelt_root_gets_a_suggestion(command: Command, two_sites: dict[str, Any]) -> None:
    write("net.json", two_sites)
    refused(command("plan", "net.json", "--root", "a9", "--size", "1MiB"), "'a9'", "did you mean 'a")
    refused(command("plan", "net.json", "--root", "xyzzy", "--size", "1MiB"), '"xyzzy"', 'ids of its "nodes"')
    # A sentence ends before the next one begins.
    refused(command("plan", "net.json", "--size", "1XB"), "plain bytes. See: broadleaf plan --help")


def test_a_misspelt_planner_gets_a_suggestion(command: Command, two_sites: dict[str, Any]) -> None:
    write("net.json", two_sites)
    refused(command("plan", "net.json", *ASK, "--planner", "optmal"), "optmal", "did you mean 'optimal'?")
    refused(command("plan", "net.json", *ASK, "--planner", "xyzzy"), "xyzzy", "see broadleaf planners")
    refused(command("planners", "best"), "no planner is called 'best'")
    shown = command("planners", "chain")
    assert re.search(r"^guarantee +optimal steady state", shown.out, re.MULTILINE)
    assert "flat" not in shown.out


def test_weights_make_unequal_blocks(command: Command, two_sites: dict[str, Any]) -> None:
    platform = bl.Platform.from_dict(two_sites)
    weights = {"a0": 0.0, "b0": 2.5}
    plan = bl.plan(platform, "a0", "1MiB", collective="gather", weights=weights)
    assert plan.weights is not None
    assert {host: weight for host, weight in plan.weights.items() if weight != 1} == weights
    assert bl.Plan.from_dict(plan.to_dict()) == plan
    assert bl.makespan_bound_s(platform, "a0", "1MiB", "gather", weights) == plan.bound_s
    assert plan.makespan_s == pytest.approx(bl.simulate(platform, plan).makespan_s)
    into_root = [t["bytes"] for t in bl.simulate(platform, plan).transfers if t["to"] == 0]
    hosts = [host for host in platform.hosts if host != "a0"]
    assert sum(into_root) == sum(round((1 << 20) * weights.get(host, 1.0)) for host in hosts)
    write("net.json", two_sites)
    write("weights.json", weights)
    for given in ("a0=0,b0=2.5", "weights.json"):
        asked = ("--root", "a0", "--size", "1MiB", "--collective", "gather", "--weights", given)
        assert command("plan", "net.json", *asked, "--json").document["weights"] == weights
    for given, part in (
        ("a0=x", "no host=number"),
        ("a0=1,a0=2", "two weights"),
        ("nothing.json", "nothing.json"),
        ("a0=-1", "weight of"),
        ("zz=1", "zz"),
    ):
        refused(command("plan", "net.json", *ASK, "--collective", "scatter", "--weights", given), part)
