"""BROADLEAF_TRACE: the observed sends and receives of the ranks, in a file that Perfetto reads."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from playwright.sync_api import Browser

import broadleaf as bl

if TYPE_CHECKING:
    from conftest import Bench

ROOT = Path(__file__).resolve().parents[2]
BYTES = 1_000_000
SEGMENT_BYTES = 1 << 16
SEGMENTS = -(-BYTES // SEGMENT_BYTES)
CALLS = 3
EXAMPLE = [sys.executable, str(ROOT / "examples/bcast_model.py"), str(BYTES), str(CALLS)]

sys.path.insert(0, str(ROOT / "tests/python"))


def traced(bench: Bench, folder: Path, ranks: int, **settings: str | Path) -> list[dict[str, Any]]:
    """The events of a traced run, checked for a viewer."""
    from test_perfetto import valid

    run = bench.run(ranks, EXAMPLE, trace=folder / "seen.json", shared_memory="0", **settings)
    assert run.returncode == 0, run.stderr
    document = json.loads((folder / "seen.json").read_text())
    schema = json.loads((ROOT / "docs/schemas/trace.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(document)
    assert document["otherData"]["ranks"] == ranks
    return valid(document)


def plan_of(folder: Path, name: str, ranks: int, **fields: Any) -> Path:
    """A folder with a plan for `ranks` ranks, in which each receives the message from the previous one."""
    children = {f"rank{rank}": [f"rank{rank + 1}"] for rank in range(ranks - 1)}
    document = {
        "format": "broadleaf-plan/1",
        "platform": "ranks",
        "collective": "bcast",
        "root": "rank0",
        "message_bytes": BYTES,
        "segment_bytes": SEGMENT_BYTES,
        "trees": [{"share": 1.0, "children": children}],
        **fields,
    }
    plans = folder / name
    plans.mkdir()
    (plans / "chain.json").write_text(json.dumps(document))
    return plans


@pytest.mark.parametrize("fields", [{}, {"combine": True}, {"protocol": "rendezvous"}])
def test_every_segment_is_followed(bench: Bench, tmp_path: Path, host: str, fields: dict[str, Any]) -> None:
    ranks = 4
    link = {"latency_s": 1e-6, "bandwidth_bytes_per_s": 1e9}
    names = [f"rank{rank}" for rank in range(ranks)]
    platform = bl.Platform.from_dict(
        {
            "format": "broadleaf-platform/1",
            "name": "ranks",
            "port_model": "one-port",
            "nodes": [{"id": name, "host": host} for name in names],
            "meshes": [{"nodes": names, "link": link}],
        }
    )
    platform.save(tmp_path / "net.json")
    plans = plan_of(tmp_path, "plans", ranks, **fields)
    events = traced(bench, tmp_path, ranks, platform=tmp_path / "net.json", plan_dir=plans)
    slices = [event for event in events if event["ph"] == "X" and event["cat"] == "transfer"]
    sent = [event["args"] for event in slices if "to_rank" in event["args"]]
    received = [event["args"] for event in slices if "from_rank" in event["args"]]
    # Each of three hops carries every byte of every call once.
    for side in (sent, received):
        assert sum(args["bytes"] for args in side) == (ranks - 1) * CALLS * BYTES
        assert sum(args["transfers"] for args in side) == (ranks - 1) * CALLS * SEGMENTS
    assert {(event["pid"], event["args"]["to_rank"]) for event in slices if "to_rank" in event["args"]} == {
        (0, 1),
        (1, 2),
        (2, 3),
    }
    arrows = Counter(event["name"] for event in events if event["ph"] == "s")
    if not fields.get("combine"):
        assert arrows["transfer"] == (ranks - 1) * CALLS * SEGMENTS
        assert arrows["forward"] == (ranks - 2) * CALLS * SEGMENTS
    calls = [event for event in events if event["ph"] == "X" and event["cat"] == "broadcast"]
    assert Counter(event["pid"] for event in calls) == dict.fromkeys(range(ranks), CALLS)
    counters = {event["name"] for event in events if event["ph"] == "C"}
    assert counters == {f"MPI_COMM_WORLD: {rank} → {rank + 1}" for rank in range(ranks - 1)}


def test_in_the_viewers_themselves(bench: Bench, tmp_path: Path, browser: Browser, screenshots: Path) -> None:
    """Whatever plan is made without a platform; the times are those of the clock."""
    from viewers import check_in_both

    traced(bench, tmp_path, 3)
    picture = screenshots / f"perfetto-run-{bench.mpi.flavour}.png"
    check_in_both(browser, tmp_path / "seen.json", picture)


def test_a_file_that_cannot_be_written_is_one_line(bench: Bench, tmp_path: Path) -> None:
    missing = tmp_path / "no" / "seen.json"
    run = bench.run(2, EXAMPLE, trace=missing)
    assert run.returncode == 0
    assert [line for line in run.reports if "BROADLEAF_TRACE" in line] == run.reports
    assert len(run.reports) == 1
    assert str(missing) in run.reports[0]
    assert "name a file in a writable directory" in run.reports[0]


def test_without_the_variable_nothing_is_kept(bench: Bench, tmp_path: Path) -> None:
    assert bench.run(2, EXAMPLE).reports == []
    assert list(tmp_path.iterdir()) == []
