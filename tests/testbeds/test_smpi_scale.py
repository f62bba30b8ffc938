"""Many ranks under SMPI in one process: data identical on all ranks are kept once, others per rank."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

import broadleaf as bl
from broadleaf import smpi
from broadleaf.formats.simgrid import write_simgrid

ROOT = Path(__file__).resolve().parents[2]
PLATFORM = ROOT / "platforms/grid5000-88.json"
SIZES = (65536, 100000)

pytestmark = pytest.mark.skipif(
    shutil.which("smpicc") is None, reason="no SimGrid: install libsimgrid-dev (Debian)"
)


def test_ranks_of_one_process_share_a_plan_and_get_their_own_data(tmp_path: Path) -> None:
    """Two lengths of one size class share a plan but not the programs for it; both come twice."""
    program = smpi.planned_program(ROOT / "testbeds/bcast.c", tmp_path / "bcast")
    xml, hosts = write_simgrid(bl.Platform.load(PLATFORM), tmp_path)
    stats = tmp_path / "stats.json"
    variables = {
        "BROADLEAF_PLATFORM": str(PLATFORM),
        "BROADLEAF_PLANNER": "mpich-g2",
        "BROADLEAF_MIN_BYTES": "1",
        "BROADLEAF_STATS": str(stats),
    }
    lengths = ",".join(map(str, SIZES))
    text = smpi.simulate(xml, hosts, [str(program), lengths, "2"], variables=variables)
    seconds = re.findall(r"ranks=88 .* seconds=([0-9.]+) wrong_bytes=0$", text, re.MULTILINE)
    assert len(seconds) == 4, text
    rows = json.loads(stats.read_text())["broadcasts"]
    planned = {(row["bytes"], row["planner"]) for row in rows}
    assert planned == {(size, "mpich-g2") for size in SIZES}
    # The rank that ends last takes the time that the program measures, in the simulator's seconds.
    for size, second_call in zip(SIZES, seconds[1::2], strict=True):
        slowest_s = max(max(row["latest_s"]) for row in rows if row["bytes"] == size)
        assert slowest_s == pytest.approx(float(second_call), abs=1e-8)


def test_the_trace_of_simulated_ranks_has_all_of_them(program: Path, tmp_path: Path) -> None:
    """Their records are kept in one process, which collects each when its rank ends."""
    xml, hosts = write_simgrid(bl.Platform.load(PLATFORM), tmp_path)
    trace = tmp_path / "seen.json"
    variables = {
        "BROADLEAF_PLATFORM": str(PLATFORM),
        "BROADLEAF_MIN_BYTES": "1",
        "BROADLEAF_TRACE": str(trace),
    }
    text = smpi.simulate(xml, hosts, [str(program), str(SIZES[0]), "2"], variables=variables)
    assert text.count("wrong_bytes=0") == 2, text
    document = json.loads(trace.read_text())
    assert document["otherData"]["ranks"] == 88
    slices = [event for event in document["traceEvents"] if event["ph"] == "X"]
    received = Counter[int]()
    for event in slices:
        if "from_rank" in event["args"]:
            received[event["pid"]] += event["args"]["bytes"]
    assert received == dict.fromkeys(range(1, 88), 2 * SIZES[0])
    calls = Counter(event["pid"] for event in slices if event["cat"] == "broadcast")
    assert calls == dict.fromkeys(range(88), 2)
