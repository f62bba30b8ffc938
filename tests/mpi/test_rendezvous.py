"""Paper 4's rendezvous under real MPI: each message of the ranks is recorded as it is sent."""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import broadleaf as bl

if TYPE_CHECKING:
    from conftest import Bench

PROGRAMS = Path(__file__).resolve().parent / "programs"
# The runtime's tags of the header, and of the data that follow.
FRAME, DATA = 1 << 13, (1 << 13) + 1
RANKS, BYTES, SEGMENT_BYTES = 5, 60_000, 20_000

# When a message was sent, s, by sender and receiver.
Sent = dict[tuple[int, int], list[float]]


@pytest.fixture
def tapped(bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bench:
    library = bench.folder / "messages.so"
    if not library.exists():
        assert bench.mpi.mpicc is not None
        flags = ["-std=c11", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-ldl"]
        command = [bench.mpi.mpicc, *flags, PROGRAMS / "messages.c", "-o", library]
        subprocess.run(command, check=True)
    (tmp_path / "messages").mkdir()
    monkeypatch.setenv("LD_PRELOAD", str(library))
    return bench


def sent(folder: Path) -> dict[int, Sent]:
    """Messages by tag."""
    found: dict[int, Sent] = {FRAME: defaultdict(list), DATA: defaultdict(list)}
    for rank in range(RANKS):
        file = folder / f"rank-{rank}"
        for line in file.read_text().splitlines() if file.exists() else []:
            at_s, to, tag, _ = line.split()
            if int(tag) in found:
                found[int(tag)][rank, int(to)].append(float(at_s))
    return found


@pytest.mark.parametrize("planner", ["flat", "chain", "binomial"])
def test_a_ready_message_precedes_each_transfer(
    tapped: Bench, tmp_path: Path, host: str, planner: str
) -> None:
    names = [f"n{at}" for at in range(RANKS)]
    document = {
        "format": "broadleaf-platform/1",
        "name": "here",
        "port_model": "one-port",
        "nodes": [{"id": name, "host": host} for name in names],
        "meshes": [{"nodes": names, "link": {"latency_s": 1e-6, "bandwidth_bytes_per_s": 1e9}}],
    }
    file = tmp_path / "net.json"
    file.write_text(json.dumps(document))
    plans = tmp_path / "plans"
    plans.mkdir()
    platform = bl.Platform.load(file)
    plan = bl.plan(platform, "n0", BYTES, planner, segment_bytes=SEGMENT_BYTES, protocol="rendezvous")
    plan.save(plans / "plan.json")
    run = tapped.check(
        RANKS,
        "steady",
        str(BYTES),
        "0",
        platform=file,
        plan_dir=plans,
        min_bytes="4KiB",
        test_messages=tmp_path / "messages",
    )
    assert run.rows(bytes=BYTES)[0]["planned"] == 1
    messages = sent(tmp_path / "messages")
    frames, data = messages[FRAME], messages[DATA]
    [tree] = plan.to_dict()["trees"]
    edges = {(int(a[1:]), int(b[1:])) for a, below in tree["children"].items() for b in below}
    assert set(data) == edges
    for (parent, child), times in data.items():
        # Downwards a question and an announcement for each transfer, upwards an answer.
        down, up = frames[parent, child], frames[child, parent]
        assert (len(times), len(up), len(down)) == (3, 3, 6)
        for at in range(3):
            # Before the answer come its request and all earlier messages.
            asked = sum(question < up[at] for question in down)
            assert asked > at, (planner, parent, child)
            assert up[at] < times[at], (planner, parent, child)
