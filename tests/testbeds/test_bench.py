"""`broadleaf bench`: rows for Broadleaf and for others, with a limit that none of them beats."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import broadleaf as bl
from broadleaf.benchmarks import OURS, BenchError
from broadleaf.benchmarks.collectives import COLLECTIVES, Way, local_collectives, timed, ways
from broadleaf.benchmarks.limit import limit_s
from broadleaf.benchmarks.local import starts_of
from broadleaf.benchmarks.namespaces import ADAPT_TREES, components, ways_by_component
from broadleaf.benchmarks.smpi import second_seconds
from broadleaf.formats.simgrid import load_simgrid, write_simgrid
from broadleaf.mpi import MpiNotFoundError, find_mpi, required_mpis

ROOT = Path(__file__).resolve().parents[2]

needs_smpi = pytest.mark.skipif(shutil.which("smpicc") is None, reason="no SimGrid: install libsimgrid-dev")


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "broadleaf", "bench", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def rows(*arguments: str) -> list[dict[str, Any]]:
    done = bench(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    return found


def test_local_ranks_are_timed_under_every_mpi() -> None:
    found = rows("local", "-n", "2", "--sizes", "64KiB,1MiB", "--repetitions", "4", "--rounds", "1")
    names = {row["algorithm"] for row in found}
    assert {"openmpi", "broadleaf on openmpi", "mpich", "broadleaf on mpich"} <= names
    for row in found:
        assert len(row["samples_s"]) == 4
        assert row["seconds"] > 0
        assert row["limit_s"] > 0


def test_a_collective_takes_as_long_as_its_pipes() -> None:
    def limits(pipe_bytes_per_s: float) -> list[float]:
        link = {"latency_s": 1.0, "bandwidth_bytes_per_s": 100.0, "uses": ["wan"]}
        network = {
            "format": "broadleaf-platform/1",
            "name": "two sites",
            "port_model": "one-port",
            "nodes": [{"id": name, "cluster": "A" if name == "a" else "B"} for name in "abc"],
            "shared": [{"id": "wan", "bandwidth_bytes_per_s": pipe_bytes_per_s}],
            "meshes": [{"nodes": ["b", "c"], "link": {"bandwidth_bytes_per_s": 100.0}}],
            "bridges": [{"from_cluster": "A", "to_cluster": "B", "both_ways": True, "link": link}],
        }
        return [
            limit_s(bl.Platform.from_dict(network), "a", 1000, name)
            for name in ("scatter", "gather", "bcast")
        ]

    # By hand: two blocks of 1000 bytes through the pipe, and one latency. In the model the second one arrives
    # 10 s after the pipe took it, at its link's rate.
    assert limits(10.0)[:2] == pytest.approx([201.0, 201.0], rel=1e-6)
    # A pipe that is no slower than the link changes nothing: the port takes as long.
    assert limits(100.0)[:2] == pytest.approx([21.0, 21.0], rel=1e-6)
    # Of a broadcast one block has to pass.
    assert limits(10.0)[2] == pytest.approx(101.0, rel=1e-6)


def test_a_platform_without_rates_limits_nothing() -> None:
    free = {"format": "broadleaf-platform/1", "name": "free", "port_model": "one-port"}
    free |= {"nodes": [{"id": "a"}, {"id": "b"}], "links": [{"from": "a", "to": "b"}]}
    with pytest.raises(BenchError, match="free: nothing bounds a collective there; give its links a rate"):
        limit_s(bl.Platform.from_dict(free), "a", 1000)


def test_who_delivers_wrong_bytes_has_no_time() -> None:
    def printed(wrong: int) -> str:
        return "".join(
            f"bcast ranks=16 bytes=1024 repetition={at} seconds=0.00{at + 1} wrong_bytes={wrong}\n"
            for at in range(2)
        )

    # As SMPI's SMP_linear does on 16 hosts: no time, and the table goes on without it.
    assert second_seconds(printed(16384), "SMP_linear") == []
    assert second_seconds(printed(0), "mpich") == [0.002]
    assert second_seconds(printed(-1), "mpich") == [0.002]
    with pytest.raises(BenchError, match="wrong bytes"):
        second_seconds(printed(1), OURS)


@needs_smpi
def test_simulated_time_is_never_below_the_limit(tmp_path: Path) -> None:
    # Four hosts of 1 MB/s behind NICs: a megabyte takes a second, whatever the algorithm.
    platform = bl.Platform.from_dict(
        {
            "format": "broadleaf-platform/1",
            "name": "four",
            "port_model": "multi-port",
            "nodes": [{"id": f"h{at}", "out_bytes_per_s": 1e6, "in_bytes_per_s": 1e6} for at in range(4)],
            "meshes": [
                {
                    "nodes": [f"h{at}" for at in range(4)],
                    "link": {"latency_s": 1e-3, "bandwidth_bytes_per_s": 1e6},
                }
            ],
        }
    )
    xml, hosts = write_simgrid(platform, tmp_path)
    found = rows(
        "smpi",
        "--platform",
        str(xml),
        "--hosts",
        str(hosts),
        "--sizes",
        "1000000",
        "--algorithms",
        "mpich,flattree",
    )
    by_name = {row["algorithm"]: row for row in found}
    assert set(by_name) == {"broadleaf", "mpich", "flattree"}
    for row in found:
        # By hand: 10^6 bytes at 10^6 bytes/s, and one latency; then other copies of the last byte.
        assert 1.001 < row["limit_s"] < 1.00101
        assert row["seconds"] > row["limit_s"]
    # The root sends to each of three in full.
    assert by_name["flattree"]["seconds"] == pytest.approx(3.0, rel=0.02)
    assert by_name["broadleaf"]["seconds"] < 1.2


@needs_smpi
def test_a_plan_without_a_timetable_takes_the_predicted_time() -> None:
    """Links slower than ports: both simulator and runtime pass over busy receivers (`skip_busy`)."""
    path = ROOT / "testbeds/namespaces/two-clusters.json"
    plan = bl.plan(bl.Platform.load(str(path)), root="a0", message_bytes="4MiB", planner="optimal")
    assert plan.to_dict()["skip_busy"]
    predicted_s = plan.to_dict()["predicted"]["makespan_s"]
    found = rows("smpi", "--platform", str(path), "--sizes", "4MiB", "--algorithms", "mpich")
    (ours,) = (row for row in found if row["algorithm"] == OURS)
    assert predicted_s == pytest.approx(ours["seconds"], rel=0.08)


@needs_smpi
def test_an_algorithm_that_smpi_has_not_is_named() -> None:
    platform = str(ROOT / "platforms" / "smp-16.json")
    done = bench("smpi", "--platform", platform, "--sizes", "1KiB", "--algorithms", "oracle")
    assert done.returncode == 2
    assert "no algorithm 'oracle'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_simgrid_platform_is_read_as_one_of_several_ports(tmp_path: Path) -> None:
    # Two hosts with a separate link each, one pipe between them: rates and latencies by hand.
    (tmp_path / "net.xml").write_text(
        """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="z" routing="Full">
<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><host id="c" speed="1Gf"/>
<link id="nic-a" bandwidth="8MBps" latency="1ms"/><link id="nic-b" bandwidth="8MBps" latency="1ms"/>
<link id="nic-c" bandwidth="4MBps" latency="1ms"/><link id="wan" bandwidth="2MBps" latency="10ms"/>
<route src="a" dst="b"><link_ctn id="nic-a"/><link_ctn id="nic-b"/></route>
<route src="a" dst="c"><link_ctn id="nic-a"/><link_ctn id="wan"/><link_ctn id="nic-c"/></route>
<route src="b" dst="c"><link_ctn id="nic-b"/><link_ctn id="wan"/><link_ctn id="nic-c"/></route>
</zone></platform>"""
    )
    (tmp_path / "hosts").write_text("a\nb\nc\n")
    platform = load_simgrid(tmp_path / "net.xml", tmp_path / "hosts", "multi-port")
    assert platform.hosts == ["a", "b", "c"]
    near, far = platform.link("a", "b"), platform.link("a", "c")
    assert near is not None
    assert far is not None
    assert (near["latency_s"], near["bandwidth_bytes_per_s"]) == pytest.approx((2e-3, 8e6))
    assert (far["latency_s"], far["bandwidth_bytes_per_s"]) == pytest.approx((12e-3, 2e6))
    assert "wan" in far["uses"]
    (tmp_path / "hosts").write_text("a\nnobody\n")
    with pytest.raises(bl.PlatformError, match='no host "nobody"'):
        load_simgrid(tmp_path / "net.xml", tmp_path / "hosts", "multi-port")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("local", "--sizes", "0"), "no bytes at all"),
        (("local", "--sizes", "many"), "many"),
        (("local", "-n", "1"), "x>=2"),
        (("smpi", "--platform", "none.json"), "none.json"),
        (("smpi", "--platform", "net.xml"), "--hosts"),
        (("namespaces", "--algorithms", "oracle", "--sizes", "1KiB"), "oracle"),
    ],
)
def test_wrong_use_is_one_line(arguments: tuple[str, ...], told: str) -> None:
    done = bench(*arguments)
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def test_open_mpi_has_the_parameters_of_its_components_broadcasts() -> None:
    """It runs its default where it does not know one."""
    try:
        mpi = find_mpi("openmpi")
    except MpiNotFoundError as error:
        pytest.skip(str(error))
    has = components(mpi)
    assert {"tuned", "adapt"} <= has
    found = ways_by_component(has)
    assert [name for name, _, _ in found if name.startswith("adapt ")] == [f"adapt {t}" for t in ADAPT_TREES]
    command = [mpi.mpiexec.with_name("ompi_info"), "--param", "coll", "all", "--level", "9", "--parsable"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    for name, words, _ in found:
        assert words[::3] == ["--mca"] * (len(words) // 3)
        for parameter in words[1::3]:
            assert f":param:{parameter}:value:" in listed, (name, parameter)
    (trees,) = (line for line in listed.splitlines() if "coll_adapt_bcast_algorithm:help" in line)
    assert trees.endswith(", ".join(f"{number}: {tree}" for number, tree in enumerate(ADAPT_TREES, start=1)))


def test_components_that_an_mpi_lacks_are_no_rivals() -> None:
    assert ways_by_component({"tuned", "han"}) == []
    assert [name for name, _, _ in ways_by_component({"acoll", "tuned"})] == ["acoll"]


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_local_collectives_are_timed_under_every_mpi(collective: str) -> None:
    found = local_collectives(collective, starts_of(), 3, [16 << 10], 1, 1, ["default"])
    # No platform has the rate of memory.
    assert [row.algorithm for row in found] == [
        f"{name} on {mpi}" for mpi in required_mpis() for name in (OURS, "default")
    ]
    assert all((row.seconds or 0) > 0 and row.limit_s is None and row.bytes == 16 << 10 for row in found)


def test_what_no_collective_is_called_is_refused() -> None:
    done = bench("smpi", "--collective", "allgather", "--platform", str(ROOT / "platforms/smp-16.json"),
                 "--hosts", "x")  # fmt: skip
    assert done.returncode == 2
    assert "bench smpi of allgather needs a platform; name its JSON file" in done.stderr
    with pytest.raises(BenchError, match="openmpi has no reduce 'turbo'; there are default, linear"):
        ways("openmpi", "reduce", ["turbo"])
    with pytest.raises(BenchError, match="no bench times 'gossip'; use bcast, scatter"):
        bl.bench("local", collective="gossip")


def test_an_all_gather_of_wrong_bytes_has_no_time() -> None:
    line = "allgather ranks=2 bytes=8 repetition={} seconds=0.00{} wrong_bytes={}\n"
    printed = line.format(0, 5, 0) + line.format(1, 2, 0)
    theirs, ours = Way("ring", False, {}), Way(f"{OURS} ring", True, {})
    assert timed(printed, theirs) == timed(printed, ours) == [0.002]
    spoilt = line.format(0, 5, 3) + line.format(1, 2, 0)
    assert timed(spoilt, theirs) == []
    with pytest.raises(BenchError, match="wrong bytes"):
        timed(spoilt, ours)


# What four hosts that send and receive at once need at least, in blocks (or vectors) of the slowest port.
LEAST = {"scatter": 3, "gather": 3, "allgather": 3, "reduce": 1, "reduce-scatter": 3, "allreduce": 1.5}


@needs_smpi
@pytest.mark.parametrize(("collective", "theirs"), [("allgather", "ring"), ("allreduce", "lr")])
def test_simulated_collectives_stand_beside_smpis_own(tmp_path: Path, collective: str, theirs: str) -> None:
    nodes = [f"h{at}" for at in range(4)]
    link = {"latency_s": 5e-5, "bandwidth_bytes_per_s": 1.25e8}
    document = {
        "format": "broadleaf-platform/1",
        "name": "four",
        "port_model": "one-port",
        "nodes": [{"id": node} for node in nodes],
        "meshes": [{"nodes": nodes, "link": link}],
    }
    (tmp_path / "four.json").write_text(json.dumps(document))
    argv = ["smpi", "--collective", collective, "--platform", str(tmp_path / "four.json")]
    found = {row["algorithm"]: row for row in rows(*argv, "--sizes", "1MiB", "--algorithms", theirs)}
    assert set(found) == {OURS, theirs}
    limit_s = found[theirs]["limit_s"]
    assert limit_s == pytest.approx(LEAST[collective] * (1 << 20) / 1.25e8, rel=0.02)
    assert limit_s < found[OURS]["seconds"] < 1.04 * limit_s
    assert found[OURS]["seconds"] <= found[theirs]["seconds"]


def test_the_rivals_need_their_sources(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "benches/smpi_rivals.py", tmp_path],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stderr == (
        f"smpi_rivals: no {tmp_path}/mpich/src/mpi/coll/bcast/bcast_intra_circ_graph.c; "
        "benches/rivals.py lists what to clone\n"
    )
