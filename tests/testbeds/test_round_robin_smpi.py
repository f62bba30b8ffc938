"""Round-robin and best under SMPI: near the limit, and over the wire once a node with any number of ranks."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

import broadleaf as bl
from broadleaf import smpi
from broadleaf.formats.simgrid import write_simgrid

ROOT = Path(__file__).parents[2]
SMP_16 = ROOT / "platforms/smp-16.json"

pytestmark = pytest.mark.skipif(
    shutil.which("smpirun") is None,
    reason="SimGrid is not installed (Debian: apt-get install libsimgrid-dev)",
)


def seconds(
    program: Path,
    platform: Path,
    hosts: list[str] | None,
    size: int,
    planner: str,
) -> list[float]:
    """Simulated seconds of two broadcasts from the first rank, one rank for each of `hosts`."""
    folder = program.parent
    xml, all_hosts = write_simgrid(bl.Platform.load(str(platform)), folder)
    if hosts is not None:
        all_hosts = folder / "hosts"
        all_hosts.write_text("".join(f"{host}\n" for host in hosts))
    variables = {"BROADLEAF_PLATFORM": str(platform), "BROADLEAF_PLANNER": planner}
    arguments = [str(program), str(size), "2", "0", "shared"]
    printed = smpi.simulate(xml, all_hosts, arguments, variables=variables, timeout_s=120)
    found = re.findall(r"seconds=([0-9.]+)", printed)
    assert len(found) == 2, printed
    return [float(taken) for taken in found]


@pytest.mark.parametrize("planner", ["round-robin", "best"])
def test_16_hosts_and_240_mb(program: Path, planner: str) -> None:
    size = 240_000_000
    limit_s = size / 125e6
    for taken in seconds(program, SMP_16, None, size, planner):
        assert limit_s < taken <= 1.05 * limit_s


def write_cluster(path: Path, nodes: int) -> Path:
    """One switch, 1 Gb/s a node each way."""
    names = [f"n{at}" for at in range(nodes)]
    link = {"latency_s": 5e-5, "bandwidth_bytes_per_s": 1.25e8}
    document = {"format": "broadleaf-platform/1", "name": "smp", "port_model": "one-port"}
    document |= {"nodes": [{"id": name} for name in names], "meshes": [{"nodes": names, "link": link}]}
    path.write_text(json.dumps(document))
    return path


def dealt_to(nodes: int, each: int, dealt: str) -> list[str]:
    """The host of every rank."""
    names = [f"n{at}" for at in range(nodes)]
    return [name for name in names for _ in range(each)] if dealt == "in blocks" else each * names


@pytest.mark.parametrize("planner", ["round-robin", "circulant", "best"])
@pytest.mark.parametrize("dealt", ["in blocks", "in turn"])
def test_the_wire_is_crossed_once_a_node(program: Path, planner: str, dealt: str, tmp_path: Path) -> None:
    """16 ranks on four nodes: a node that got the message twice over its 1 Gb/s would take 2 t."""
    platform = write_cluster(tmp_path / "smp-4.json", 4)
    hosts = dealt_to(4, 4, dealt)
    size = 1 << 26
    limit_s = size / 125e6
    for taken in seconds(program, platform, hosts, size, planner):
        assert limit_s < taken <= 1.1 * limit_s


@pytest.fixture(scope="module")
def gathering(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """testbeds/allgather.c, which calls broadleaf_allgather."""
    return smpi.planned_program(
        ROOT / "testbeds/allgather.c", tmp_path_factory.mktemp("gathering") / "allgather"
    )


@pytest.mark.parametrize(
    ("nodes", "each", "dealt", "planner"),
    [
        (8, 1, "in blocks", "round-robin"),
        (5, 1, "in blocks", "round-robin"),
        (8, 1, "in blocks", "ring"),
        (4, 4, "in blocks", "round-robin"),
        (4, 4, "in turn", "ring"),
    ],
)
def test_an_all_gather_is_near_its_limit(
    gathering: Path,
    nodes: int,
    each: int,
    dealt: str,
    planner: str,
    tmp_path: Path,
) -> None:
    """(n - 1) / n of the time of all contributions together, n ranks; every byte is compared."""
    platform = write_cluster(tmp_path / "net.json", nodes)
    xml, _ = write_simgrid(bl.Platform.load(str(platform)), tmp_path)
    hosts = tmp_path / "hosts"
    hosts.write_text("".join(f"{host}\n" for host in dealt_to(nodes, each, dealt)))
    size = 1 << 20
    printed = smpi.simulate(
        xml,
        hosts,
        [str(gathering), str(size), "2"],
        variables={"BROADLEAF_PLATFORM": str(platform), "BROADLEAF_PLANNER": planner},
        timeout_s=120,
    )
    found = re.findall(r"seconds=([0-9.]+) wrong_bytes=0$", printed, re.MULTILINE)
    assert len(found) == 2, printed
    limit_s = (nodes * each - 1) * size / 125e6
    # The first broadcast also sends its plan to all ranks.
    assert all(limit_s < float(taken) <= 1.05 * limit_s for taken in found), printed


def test_short_transfers_of_several_blocks_wait_for_one_latency(gathering: Path, tmp_path: Path) -> None:
    """Three exchanges of one, two and four blocks, 50 µs each; receives that wait for frames double them."""
    platform = write_cluster(tmp_path / "net.json", 8)
    xml, hosts = write_simgrid(bl.Platform.load(str(platform)), tmp_path)
    variables = {"BROADLEAF_PLATFORM": str(platform), "BROADLEAF_PLANNER": "recursive-doubling"}
    printed = smpi.simulate(
        xml,
        hosts,
        [str(gathering), "64", "2"],
        variables=variables | {"BROADLEAF_MIN_BYTES": "1"},
        timeout_s=120,
    )
    found = re.findall(r"seconds=([0-9.]+) wrong_bytes=0$", printed, re.MULTILINE)
    assert len(found) == 2, printed
    assert 150e-6 < float(found[1]) <= 1.2 * 150e-6, printed
