"""Messages under way share an SMPI port; paced, they follow each other, and a chain loses nothing."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import broadleaf as bl
from broadleaf import smpi
from broadleaf.benchmarks.collectives import Simulated, Way, ours
from broadleaf.benchmarks.limit import limit_s
from broadleaf.formats.simgrid import write_simgrid

ROOT = Path(__file__).parents[2]
SMP_16 = ROOT / "platforms/smp-16.json"
MEBIBYTE = 1 << 20

pytestmark = pytest.mark.skipif(
    shutil.which("smpirun") is None,
    reason="SimGrid is not installed (Debian: apt-get install libsimgrid-dev)",
)


# A segment takes 0.33, 0.66, 1.3 and 2.6 times as long as its way; unpaced, the shorter ones come in bunches.
@pytest.mark.parametrize("segment", [2048, 4096, 8192, 16384])
def test_a_chain_keeps_its_wires_busy(program: Path, segment: int, tmp_path: Path) -> None:
    platform = bl.Platform.load(SMP_16)
    xml, hosts = write_simgrid(platform, tmp_path)
    plan = bl.plan(platform, platform.hosts[0], MEBIBYTE, planner="chain", segment_bytes=segment)
    plan.save(tmp_path / "plan.json")
    printed = smpi.simulate(
        xml,
        hosts,
        [str(program), str(MEBIBYTE), "2"],
        variables={"BROADLEAF_PLATFORM": str(SMP_16), "BROADLEAF_PLAN_DIR": str(tmp_path)},
        timeout_s=120,
    )
    found = re.findall(r"seconds=([0-9.]+) wrong_bytes=0$", printed, re.MULTILINE)
    assert len(found) == 2, printed
    # The last of the segments leaves when all others have, and passes 14 more ports and 15 wires.
    ideal_s = (MEBIBYTE // segment + 14) * segment / 125e6 + 15 * 50e-6
    assert ideal_s < float(found[1]) <= 1.05 * ideal_s


def test_combined_blocks_follow_each_other(tmp_path: Path) -> None:
    """The root of a binomial scatter sends 8, 4, 2 and 1 blocks. The first child has its 8 after 8 blocks'
    time and passes on 7 in 7 more; if all four messages shared the port, it would have them after 15."""
    bed = Simulated.on("scatter", SMP_16, write_simgrid(bl.Platform.load(SMP_16), tmp_path), tmp_path)
    way = ours("scatter")
    binomial = Way(way.name, True, {**way.variables, "BROADLEAF_PLANNER": "binomial"})
    (taken_s,) = bed.samples(binomial, MEBIBYTE, 120)
    ideal_s = 15 * MEBIBYTE / 125e6
    assert ideal_s < taken_s <= 1.05 * ideal_s


@pytest.fixture
def five(tmp_path: Path) -> Simulated:
    """All-gathers of five hosts of 1 Gb/s at one switch, 50 us apart."""
    nodes = [f"h{at}" for at in range(5)]
    link = {"latency_s": 50e-6, "bandwidth_bytes_per_s": 125e6}
    document = {
        "format": "broadleaf-platform/1",
        "name": "five",
        "port_model": "one-port",
        "nodes": [{"id": node} for node in nodes],
        "meshes": [{"nodes": nodes, "link": link}],
    }
    platform = bl.Platform.from_dict(document)
    platform.save(tmp_path / "five.json")
    return Simulated.on("allgather", tmp_path / "five.json", write_simgrid(platform, tmp_path), tmp_path)


def test_a_rank_that_expects_blocks_does_not_wait_for_its_port(five: Simulated) -> None:
    """Blocks are exchanged in three rounds, the last of two blocks: four blocks' time, and a latency a round
    for what announces a message. If ranks waited for their ports, they would post no receives until then: six
    blocks' time."""
    way = ours("allgather")
    circulant = Way(way.name, True, {**way.variables, "BROADLEAF_PLANNER": "circulant"})
    (taken_s,) = five.samples(circulant, MEBIBYTE, 120)
    ideal_s = 4 * MEBIBYTE / 125e6
    assert ideal_s < taken_s <= 1.02 * ideal_s


@pytest.mark.parametrize("block", [1 << 10, 16 << 10, 64 << 10])
def test_an_all_gather_takes_no_plan_whose_blocks_are_announced(block: int, five: Simulated) -> None:
    """Each host sends its block to four others: four blocks' time and a latency. The combined blocks of
    circulant, which the model has as fast, take a latency more in each round where a frame announces them."""
    (taken_s,) = five.samples(ours("allgather"), block, 120)
    ideal_s = 4 * block / 125e6 + 50e-6
    assert ideal_s < taken_s <= 1.01 * ideal_s


def test_an_all_reduce_between_two_sites_takes_shorter_segments_than_planned(tmp_path: Path) -> None:
    """Two clusters of eight hosts, 10 ms apart; each pipe has the rate of a port. By the simulation on shared
    ports, segments half as long as the model's are the fastest; the model's take 1.24 times the bound."""
    members = [[f"{site}{at}" for at in range(8)] for site in "ab"]
    rate = {"bandwidth_bytes_per_s": 125e6}
    document = {
        "format": "broadleaf-platform/1",
        "name": "two sites",
        "port_model": "one-port",
        "nodes": [{"id": host, "cluster": hosts[0][0]} for hosts in members for host in hosts],
        "shared": [{"id": "there", **rate}, {"id": "back", **rate}],
        "meshes": [{"nodes": hosts, "link": {"latency_s": 50e-6, **rate}} for hosts in members],
        "bridges": [
            {"from_cluster": one, "to_cluster": other, "link": {"latency_s": 10e-3, "uses": [pipe], **rate}}
            for one, other, pipe in (("a", "b", "there"), ("b", "a", "back"))
        ],
    }
    platform = bl.Platform.from_dict(document)
    platform.save(tmp_path / "sites.json")
    bed = Simulated.on("allreduce", tmp_path / "sites.json", write_simgrid(platform, tmp_path), tmp_path)
    (taken_s,) = bed.samples(ours("allreduce"), MEBIBYTE, 120)
    limit = limit_s(platform, platform.hosts[0], MEBIBYTE, "allreduce")
    assert limit < taken_s < 1.22 * limit
