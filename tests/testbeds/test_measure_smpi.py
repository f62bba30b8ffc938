"""The probe in simulated time, where the truth is known to the digit: L, g(m), clusters, shared pipes."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import broadleaf as bl
from beds import ROOT, script
from broadleaf import smpi

PROBE = ROOT / "crates/broadleaf-mpi/probe"
# SMPI puts that many bytes before every message.
HEADER_BYTES = 16

pytestmark = pytest.mark.skipif(
    shutil.which("smpirun") is None,
    reason="SimGrid is not installed (Debian: apt-get install libsimgrid-dev)",
)


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The probe, built by smpicc."""
    library = script(ROOT / "crates/broadleaf-mpi/build_runtimes.py").build_staticlib()
    program = tmp_path_factory.mktemp("smpi") / "probe"
    sources = sorted(map(str, PROBE.glob("*.c")))
    system = ["-lpthread", "-ldl", "-lm", "-lgcc_s", "-Wl,--strip-debug"]
    subprocess.run(["smpicc", "-O2", *sources, str(library), *system, "-o", str(program)], check=True)
    return program


def measured(
    probe: Path, platform: bl.Platform, hosts: list[str], folder: Path, budget_s: float
) -> bl.Platform:
    """The platform that the probe finds between some hosts of one that is known."""
    xml, _ = smpi.write_simgrid(platform, folder)
    (folder / "hosts").write_text("".join(f"{host}\n" for host in hosts))
    # Without spaces: smpirun is a shell script that cuts arguments at them.
    settings = json.dumps({"name": "measured", "budget_s": budget_s}, separators=(",", ":"))
    out = smpi.simulate(xml, folder / "hosts", [str(probe), settings])
    events = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    assert [event for event in events if event["event"] in ("shortfall", "error")] == []
    return bl.Platform.from_dict(events[-1]["document"])


def test_three_clusters_of_grid5000(probe: Path, tmp_path: Path) -> None:
    truth = bl.Platform.load(ROOT / "platforms/grid5000-88.json")
    hosts = [f"c{cluster}-{index}" for cluster in (0, 2, 5) for index in range(4)]
    found = measured(probe, truth, hosts, tmp_path, budget_s=300)
    assert found.nodes == hosts
    document = found.to_dict()
    assert [node["cluster"] for node in document["nodes"]] == ["c0"] * 4 + ["c1"] * 4 + ["c2"] * 4
    assert "links" not in document
    for source, target in [("c0-0", "c0-3"), ("c2-1", "c2-0"), ("c0-1", "c5-2"), ("c5-0", "c2-3")]:
        ours, theirs = found.link(source, target), truth.link(source, target)
        assert ours is not None
        assert theirs is not None
        assert ours["latency_s"] == pytest.approx(theirs["latency_s"], rel=0.02)
        for size in (1, 1000, 30_000, 1 << 20, 3_000_000, 16 << 20):
            expected_s = truth.transfer_s(source, target, size + HEADER_BYTES)
            assert found.transfer_s(source, target, size) == pytest.approx(expected_s, rel=0.02, abs=2e-9)
    # One pair of nodes fills the 1 Gb/s between two sites; each direction has its own.
    pipes = {pipe["id"]: pipe["bandwidth_bytes_per_s"] for pipe in document["shared"]}
    assert pipes == {
        f"c{a}-to-c{b}": pytest.approx(125e6, rel=0.05) for a in range(3) for b in range(3) if a != b
    }
