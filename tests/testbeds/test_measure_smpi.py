"""The probe in simulated time, where the truth is known to the digit: L, g(m), clusters, shared pipes."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import subprocess
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import broadleaf as bl
from beds import ROOT, script
from broadleaf import smpi
from broadleaf.formats.simgrid import write_simgrid
from broadleaf.maps import Map, expanded, representatives

PROBE = ROOT / "crates/broadleaf-mpi/probe"
# The bytes that SMPI puts before every message.
HEADER_BYTES = 16
# SMPI charges for each look of a waiting rank, by default the more the more ranks have looked in vain.
STEADY_POLLS = {"smpi/grow-injected-times": "no"}
# Of real time.
LONGEST_S = 3600.0

pytestmark = pytest.mark.skipif(
    shutil.which("smpirun") is None,
    reason="SimGrid is not installed (Debian: apt-get install libsimgrid-dev)",
)


# Prints the simulated time at the end.
TIMED = """
#include <mpi.h>
#include <stdio.h>
int __real_PMPI_Finalize(void);
int __wrap_PMPI_Finalize(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("{\\"event\\": \\"ended\\", \\"seconds\\": %.9f}\\n", MPI_Wtime());
    return __real_PMPI_Finalize();
}
"""


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The probe, built by smpicc."""
    library = script(ROOT / "crates/broadleaf-mpi/build_runtimes.py").build_staticlib()
    program = tmp_path_factory.mktemp("smpi") / "probe"
    timed = program.with_name("timed.c")
    timed.write_text(TIMED)
    folders = (PROBE, PROBE.with_name("program"))
    sources = sorted(str(source) for folder in folders for source in folder.glob("*.c"))
    sources += [str(timed), "-Wl,--wrap=PMPI_Finalize", *(f"-I{folder}" for folder in folders)]
    system = ["-lpthread", "-ldl", "-lm", "-lgcc_s", "-Wl,--strip-debug"]
    subprocess.run(["smpicc", "-O2", *sources, str(library), *system, "-o", str(program)], check=True)
    return program


def measured(
    probe: Path, platform: bl.Platform, hosts: list[str], folder: Path, budget_s: float
) -> bl.Platform:
    """The platform that the probe finds between some hosts of one that is known."""
    xml, _ = write_simgrid(platform, folder)
    found, shortfalls = measured_xml(probe, xml, hosts, folder, budget_s)
    assert shortfalls == []
    return found


def measured_xml(
    probe: Path, xml: Path, hosts: list[str], folder: Path, budget_s: float
) -> tuple[bl.Platform, list[str]]:
    """The measured platform, and the results that the probe reports as missing."""
    events = events_of(probe, xml, hosts, folder, budget_s)
    shortfalls = [json.dumps(event) for event in events if event["event"] == "shortfall"]
    return platform_in(events), shortfalls


def platform_in(events: list[dict[str, Any]]) -> bl.Platform:
    [document] = [event["document"] for event in events if event["event"] == "platform"]
    return bl.Platform.from_dict(document)


def events_of(
    probe: Path, xml: Path, hosts: list[str], folder: Path, budget_s: float
) -> list[dict[str, Any]]:
    (folder / "hosts").write_text("".join(f"{host}\n" for host in hosts))
    # Without spaces: smpirun is a shell script that cuts arguments at them.
    settings = json.dumps({"name": "measured", "budget_s": budget_s}, separators=(",", ":"))
    out = smpi.simulate(
        *(xml, folder / "hosts", [str(probe), settings]), settings=STEADY_POLLS, timeout_s=LONGEST_S
    )
    events = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    assert [event for event in events if event["event"] == "error"] == []
    return events


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
    # As with `measure --map`: the other hosts of these clusters get what was measured, which is true of them.
    members = {
        f"c{cluster}": tuple(each for each in truth.nodes if each.startswith(f"c{cluster}-"))
        for cluster in (0, 2, 5)
    }
    site = Map("site", members)
    assert representatives(site, list(site.switch_of())) == hosts
    whole = expanded(found, site)
    assert set(whole.nodes) == set(site.switch_of())
    for source, target in [("c0-9", "c0-4"), ("c2-5", "c2-4"), ("c0-7", "c5-9"), ("c5-0", "c2-5")]:
        for size in (1000, 16 << 20):
            expected_s = truth.transfer_s(source, target, size + HEADER_BYTES)
            assert whole.transfer_s(source, target, size) == pytest.approx(expected_s, rel=0.02, abs=2e-9)
    # One pair of nodes fills the 1 Gb/s between two sites; each direction has its own.
    pipes = {pipe["id"]: pipe["bandwidth_bytes_per_s"] for pipe in document["shared"]}
    assert pipes == {
        f"c{a}-to-c{b}": pytest.approx(125e6, rel=0.05) for a in range(3) for b in range(3) if a != b
    }


# 1,000 hosts take minutes of processor time.
LONG = pytest.mark.skipif("BROADLEAF_SOAK" not in os.environ, reason="long; run by make soak")


# The time of 20 does not suffice for all pipes.
@pytest.mark.parametrize(
    ("clusters", "most_s", "least_share"), [(5, 90, 1.0), pytest.param(20, 300, 0.75, marks=LONG)]
)
def test_four_hosts_of_each_switch_stand_for_fifty(
    probe: Path, tmp_path: Path, clusters: int, most_s: float, least_share: float
) -> None:
    """Up to 1,000 hosts: clusters, each two joined by pipes of random rates and latencies of up to 15 ms."""
    each, budget_s = 50, 10.0 * clusters
    network = script(ROOT / "benches/smpi_beds.py").grid("map", [each] * clusters, random.Random(7), tmp_path)
    truth = bl.Platform.load(network.platform)
    site = Map("map", {f"s{at}": tuple(f"c{at}-{host}" for host in range(each)) for at in range(clusters)})
    hosts = representatives(site, list(site.switch_of()))
    assert len(hosts) == 4 * clusters
    events = events_of(probe, network.xml, hosts, tmp_path, budget_s)
    assert events[-1]["seconds"] < most_s
    whole = expanded(platform_in(events), site)
    assert len(whole.nodes) == each * clusters
    pipes = {pipe["id"]: pipe["bandwidth_bytes_per_s"] for pipe in truth.to_dict()["shared"]}
    found = {pipe["id"]: pipe["bandwidth_bytes_per_s"] for pipe in whole.to_dict()["shared"]}
    assert found == {name: pytest.approx(pipes[name], rel=0.05) for name in found}
    assert len(found) >= least_share * len(pipes)
    draw = random.Random(1)
    for _ in range(500):
        source, target = draw.sample(whole.nodes, 2)
        link, true = whole.link(source, target), truth.link(source, target)
        assert link is not None
        assert true is not None
        here, there = source.partition("-")[0], target.partition("-")[0]
        rate = min(125e6, pipes.get(f"{here}-to-{there}", math.inf))
        for size in (1, 1000, 1 << 20):
            expected_s = true["latency_s"] + (size + HEADER_BYTES) / rate
            ours_s = link["latency_s"] + whole.transfer_s(source, target, size)
            assert ours_s == pytest.approx(expected_s, rel=0.02), (source, target, size)


def five_sites(shares_accesses: bool) -> bl.Platform:
    """Three hosts each. A site shares one access each way, or each two sites have a pipe of that rate."""
    sites = [[f"s{site}-{host}" for host in range(3)] for site in range(5)]
    out = {f"out{site}": (30 + 8 * site) * 1e6 for site in range(5)}
    into = {f"in{site}": (34 + 8 * site) * 1e6 for site in range(5)}
    pairs = list(permutations(range(5), 2))
    own = {f"{a}-{b}": min(out[f"out{a}"], into[f"in{b}"]) for a, b in pairs}
    bridges = [
        {
            "from_cluster": f"S{a}",
            "to_cluster": f"S{b}",
            "link": {
                "latency_s": 2e-3 + 0.8e-3 * (a + b),
                "bandwidth_bytes_per_s": 125e6,
                "uses": [f"out{a}", f"in{b}"] if shares_accesses else [f"{a}-{b}"],
            },
        }
        for a, b in pairs
    ]
    return bl.Platform.from_dict(
        {
            "format": "broadleaf-platform/1",
            "name": "five-sites",
            "port_model": "one-port",
            "nodes": [{"id": host, "cluster": f"S{site}"} for site in range(5) for host in sites[site]],
            "shared": [
                {"id": name, "bandwidth_bytes_per_s": rate}
                for name, rate in ((out | into) if shares_accesses else own).items()
            ],
            "meshes": [
                {"nodes": hosts, "link": {"latency_s": 50e-6, "bandwidth_bytes_per_s": 125e6}}
                for hosts in sites
            ],
            "bridges": bridges,
        }
    )


@pytest.mark.parametrize("shares_accesses", [True, False])
def test_a_site_has_an_access_only_where_all_its_ways_share_one(
    probe: Path, tmp_path: Path, shares_accesses: bool
) -> None:
    """Pairs alone, and pairs of sites, are as fast with either."""
    truth = five_sites(shares_accesses)
    found = measured(probe, truth, list(truth.nodes), tmp_path, budget_s=150)
    pipes = {pipe["id"]: pipe["bandwidth_bytes_per_s"] for pipe in found.to_dict()["shared"]}
    true = {pipe["id"]: pipe["bandwidth_bytes_per_s"] for pipe in truth.to_dict()["shared"]}
    if shares_accesses:
        expected = {f"c{site}-{way}": true[f"{way}{site}"] for site in range(5) for way in ("out", "in")}
    else:
        expected = {f"c{a}-to-c{b}": true[f"{a}-{b}"] for a, b in permutations(range(5), 2)}
    assert pipes == {name: pytest.approx(rate, rel=0.03) for name, rate in expected.items()}


def written(body: str, folder: Path) -> Path:
    """A platform in SimGrid's own words."""
    path = folder / "platform.xml"
    doctype = '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
    path.write_text(f'<?xml version="1.0"?>\n{doctype}\n<platform version="4.1">{body}</platform>\n')
    return path


# Sends from every rank to every other, one at a time, and prints how long each message was in flight.
WAYS = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words)
{
    MPI_Init(&count, &words);
    int rank, ranks, sizes[] = {1, 30000, 3000000};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    char *buffer = malloc(3000000);
    for (int from = 0; from < ranks; from++)
        for (int to = 0; to < ranks; to++)
            for (int s = 0; from != to && s < 3; s++) {
                double began, now;
                MPI_Barrier(MPI_COMM_WORLD);
                if (rank == from) {
                    /* The receiver is ready, and the network empty. */
                    MPI_Recv(NULL, 0, MPI_BYTE, to, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                    began = MPI_Wtime();
                    MPI_Send(buffer, sizes[s], MPI_BYTE, to, 1, MPI_COMM_WORLD);
                    MPI_Send(&began, 1, MPI_DOUBLE, to, 2, MPI_COMM_WORLD);
                } else if (rank == to) {
                    MPI_Request request;
                    MPI_Irecv(buffer, sizes[s], MPI_BYTE, from, 1, MPI_COMM_WORLD, &request);
                    MPI_Send(NULL, 0, MPI_BYTE, from, 3, MPI_COMM_WORLD);
                    MPI_Wait(&request, MPI_STATUS_IGNORE);
                    now = MPI_Wtime();
                    MPI_Recv(&began, 1, MPI_DOUBLE, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                    printf("way %d %d %d %.12f\\n", from, to, sizes[s], now - began);
                }
            }
    MPI_Finalize();
}
"""

DRAGONFLY = (
    '<cluster id="d" topology="DRAGONFLY" topo_parameters="2,1;2,1;2,1;1" prefix="n" suffix="" '
    'radical="0-7" speed="1Gf" bw="125MBps" lat="10us"/>'
)
TORUS = (
    '<cluster id="t" topology="TORUS" topo_parameters="3,2" prefix="n" suffix="" '
    'radical="0-5" speed="1Gf" bw="125MBps" lat="10us"/>'
)


@pytest.mark.parametrize(("body", "count"), [(DRAGONFLY, 8), (TORUS, 6)], ids=["dragonfly", "torus"])
def test_every_pair_has_its_own_way(probe: Path, tmp_path: Path, body: str, count: int) -> None:
    """Where routes differ from pair to pair, or there and back, or meet: each pair as a message takes it."""
    xml = written(body, tmp_path)
    hosts = [f"n{index}" for index in range(count)]
    # Not all pairs of pipes are tried in so little time.
    found, _ = measured_xml(probe, xml, hosts, tmp_path, budget_s=8)
    (tmp_path / "ways.c").write_text(WAYS)
    program = smpi.plain_program(tmp_path / "ways.c", tmp_path / "ways")
    lines = smpi.simulate(xml, tmp_path / "hosts", [str(program)]).splitlines()
    ways = [line.split()[1:] for line in lines if line.startswith("way")]
    assert len(ways) == 3 * count * (count - 1)
    one_byte_s = {float(seconds) for _, _, size, seconds in ways if size == "1"}
    assert max(one_byte_s) > 1.4 * min(one_byte_s), "a bed in which all routes are alike shows nothing"
    for source, target, size, seconds in ways:
        link = found.link(hosts[int(source)], hosts[int(target)])
        assert link is not None
        ours_s = link["latency_s"] + found.transfer_s(hosts[int(source)], hosts[int(target)], int(size))
        assert ours_s == pytest.approx(float(seconds), rel=0.02), (source, target, size)


def test_unlike_cards_and_a_half_duplex_pipe(probe: Path, tmp_path: Path) -> None:
    """Eight hosts on two sites, one of each slower by a little or a lot, one pipe of 150 MB/s."""
    rates = {"a0": 100, "a1": 100, "a2": 90, "a3": 100, "b0": 100, "b1": 100, "b2": 100, "b3": 40}
    # Cards send and receive at once: each direction has a separate link.
    card = '<link id="l{0}" bandwidth="{1}MBps" latency="20us" sharing_policy="SPLITDUPLEX"/>'
    cards = "".join(f'<host id="{host}" speed="1Gf"/>' + card.format(host, rates[host]) for host in rates)
    wan = '<link id="wan" bandwidth="150MBps" latency="2ms" sharing_policy="SHARED"/>'
    routes = []
    for source, target in permutations(rates, 2):
        way = '<link_ctn id="wan"/>' if source[0] != target[0] else ""
        ends = f'<link_ctn id="l{source}" direction="UP"/>{way}<link_ctn id="l{target}" direction="DOWN"/>'
        routes.append(f'<route src="{source}" dst="{target}" symmetrical="NO">{ends}</route>')
    body = f'<zone id="w" routing="Full">{cards}{wan}{"".join(routes)}</zone>'
    found, _ = measured_xml(probe, written(body, tmp_path), list(rates), tmp_path, budget_s=20)
    pipes = {pipe["id"]: pipe["bandwidth_bytes_per_s"] for pipe in found.to_dict()["shared"]}
    assert pipes == {"c0-c1": pytest.approx(150e6, rel=0.05)}
    for source, target in permutations(rates, 2):
        link = found.link(source, target)
        assert link is not None
        latency_s = 40e-6 + (2e-3 if source[0] != target[0] else 0.0)
        assert link["latency_s"] == pytest.approx(latency_s, rel=0.02), (source, target)
        for size in (1000, 1 << 20):
            gap_s = (size + HEADER_BYTES) / (min(rates[source], rates[target]) * 1e6)
            assert found.transfer_s(source, target, size) == pytest.approx(gap_s, rel=0.02), (source, target)
