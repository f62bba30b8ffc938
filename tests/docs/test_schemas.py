"""The JSON Schemas against files that the program writes and files that it refuses."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

import broadleaf as bl
from broadleaf.formats.perfetto import trace_text
from broadleaf.mpi import Host
from broadleaf.provenance import Asked, date_now, facts
from documents import CHAIN, TWO_SITES, one_mesh
from pages import DOCS, ROOT

EXAMPLES = {path.stem: path for path in [*(ROOT / "platforms").glob("*.json"), DOCS / "small.json"]}


def schema(name: str) -> Draft202012Validator:
    document = json.loads((DOCS / "schemas" / f"{name}.schema.json").read_text())
    Draft202012Validator.check_schema(document)
    return Draft202012Validator(document)


@pytest.mark.parametrize("name", EXAMPLES)
def test_named_platforms(name: str) -> None:
    schema("platform").validate(json.loads(EXAMPLES[name].read_text()))
    schema("platform").validate(bl.Platform.load(EXAMPLES[name]).to_dict())


def test_the_provenance_of_a_measurement() -> None:
    host = {"name": "n01", "ranks": 2, "cores": 8, "load": None}
    doubtful = [{"from": "a0", "to": "a1", "why": "a latency of 1 ms, where a round trip took 0.5 ms"}]
    quality = {"quality": "doubtful", "samples": 9, "disturbed_share": 0.5, "doubtful": doubtful}
    asked = Asked(2, [Host("n01", 2)], "mpich", 0.3, None, None)
    said = facts(asked, asked.command(None, None), date_now(), 1.0, "mpich 5", [host], quality, [], ())
    document = bl.Platform.from_dict({**TWO_SITES, "provenance": said}).to_dict()
    schema("platform").validate(document)
    document["provenance"]["measured"]["quality"] = "splendid"
    with pytest.raises(ValidationError):
        schema("platform").validate(document)


def test_platforms_that_generators_and_tests_make() -> None:
    made = [bl.generate.random(12, 0.2), bl.generate.tiers(30, 0.1), bl.generate.grid(5)]
    for document in [*(platform.to_dict() for platform in made), TWO_SITES, CHAIN]:
        schema("platform").validate(document)


def test_plans_of_every_planner() -> None:
    platform = bl.Platform.load(DOCS / "small.json")
    validator = schema("plan")
    planned = set()
    for card in bl.planners():
        for collective in ("bcast", "scatter", "allgather", "allreduce"):
            try:
                plan = bl.plan(platform, "a0", 1 << 16, planner=card.name, collective=collective)
            except bl.PlanError:
                continue
            validator.validate(plan.to_dict())
            planned.add(card.name)
    # Nine hosts are no power of two, and `exact` does not support pipes.
    assert {card.name for card in bl.planners()} - planned == {"exact", "recursive-doubling", "bine"}


@pytest.mark.parametrize("collective", ["gather", "reduce", "reduce-scatter", "allreduce"])
def test_plans_of_inward_collectives(collective: str) -> None:
    platform = bl.Platform.load(DOCS / "small.json")
    plan = bl.plan(platform, "a0", 1 << 16, planner="best", collective=collective, time_limit_s=0.2)
    schema("plan").validate(plan.to_dict())
    bl.check(platform, plan)
    assert plan.bound_s is not None
    assert plan.bound_s <= bl.simulate(platform, plan).makespan_s


def test_a_plan_that_is_stored_by_its_pattern(tmp_path: Path) -> None:
    names = [f"n{at}" for at in range(256)]
    document = one_mesh("even", "one-port", names, 1e8)
    platform = bl.Platform.from_dict(document)
    bl.plan(platform, "n0", 1 << 20, planner="round-robin").save(tmp_path / "plan.json")
    stored = json.loads((tmp_path / "plan.json").read_text())
    assert "pattern" in stored
    schema("plan").validate(stored)


def test_statistics_of_a_real_run(tmp_path: Path) -> None:
    program = [sys.executable, str(ROOT / "examples" / "bcast_model.py"), "1000000", "2"]
    command = [sys.executable, "-m", "broadleaf", "run", "-n", "2", "--stats", str(tmp_path / "stats.json")]
    subprocess.run([*command, "--", *program], check=True, timeout=120, capture_output=True)
    stats = json.loads((tmp_path / "stats.json").read_text())
    assert stats["broadcasts"]
    schema("stats").validate(stats)


def test_traces() -> None:
    platform = bl.Platform.from_dict(TWO_SITES)
    trace = bl.simulate(platform, bl.plan(platform, "a0", 1 << 20, "chain", segment_bytes=1 << 14))
    for most in (10_000, 50):
        document = json.loads(trace_text(platform, trace, most)[0])
        schema("trace").validate(document)
        assert ("merged" in document["otherData"]) == (most == 50)


def changed(document: dict[str, Any], path: list[Any], value: Any) -> dict[str, Any]:
    """A copy with one value put in, or taken out where it is None."""
    copied = copy.deepcopy(document)
    inner: Any = copied
    for step in path[:-1]:
        inner = inner[step]
    if value is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return copied


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["format"], "broadleaf-platform/2"),
        (["format"], None),
        (["name"], 7),
        (["port_model"], "two-port"),
        (["nodes"], None),
        (["nodes", 0, "kind"], "router"),
        (["nodes", 0, "id"], None),
        (["links", 0, "latency_s"], -1),
        (["links", 0, "bandwidth_bytes_per_s"], 0),
        (["links", 0, "to"], None),
        (["links", 1, "startup_s"], 1.0),
        (["links", 1, "gap"], [[1]]),
        (["links", 1, "gap"], []),
        (["shared", 0, "bandwidth_bytes_per_s"], None),
        (["meshes", 0, "nodes"], ["a0", "a0"]),
        (["bridges", 0, "link"], None),
    ],
)
def test_platforms_that_both_refuse(path: list[Any], value: Any) -> None:
    document = changed(TWO_SITES, path, value)
    with pytest.raises(ValidationError):
        schema("platform").validate(document)
    with pytest.raises(bl.PlatformError):
        bl.Platform.from_dict(document)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["format"], "broadleaf-plan/9"),
        (["message_bytes"], -1),
        (["segment_bytes"], 0),
        (["segment_bytes"], None),
        (["collective"], "gossip"),
        (["root"], None),
        (["protocol"], "hope"),
        (["trees"], None),
        (["trees", 0, "share"], 0),
        (["trees", 0, "children"], None),
        (["period"], {"segments": 0, "slots": []}),
        (["period"], {"segments": 1, "slots": [[0, "a", "b"]]}),
        (["pattern"], {"name": "ring", "hosts": ["a", "b", "c"]}),
    ],
)
def test_plans_that_both_refuse(path: list[Any], value: Any) -> None:
    plan = bl.plan(bl.Platform.from_dict(CHAIN), "a", 3000, planner="chain").to_dict()
    document = changed(plan, path, value)
    with pytest.raises(ValidationError):
        schema("plan").validate(document)
    with pytest.raises(bl.PlanError):
        bl.Plan.from_dict(document)
