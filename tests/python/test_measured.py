"""The record of a platform's measurement, the commands that repeat it, and the changes between two."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

import broadleaf as bl
from broadleaf.changes import changes
from broadleaf.measured import measured_line, measured_of
from broadleaf.mpi import Host
from broadleaf.provenance import Asked, NotMeasuredError, asked_of, facts
from outcome import Command

ASKED = Asked(
    *(4, [Host("n01", 2), Host("n02", 2)], "openmpi", 0.3, 20.0, 1 << 20),
    launcher="srun",
    launcher_args="-N2 --mpi=pmix",
)
HOSTS = [
    {"name": "n01", "ranks": 2, "cores": 8, "load": 0.25},
    {"name": "n02", "ranks": 2, "cores": 8, "load": None},
]
DOUBTFUL = [{"from": "a", "to": "b", "why": f"reason {at}"} for at in range(5)]


def network(provenance: Any = None, latency_s: float = 5e-5, slow: float = 1.0) -> bl.Platform:
    """Four nodes in a mesh; one pair has a separate link, slower by a factor."""
    nodes = [{"id": name, "cluster": "c0", "host": name} for name in "abcd"]
    gap = [[1, 1e-5], [1 << 20, 0.01]]
    own = [[1, 1e-5], [1 << 20, 0.01 * slow]]
    spread = [[1, 0.02], [1 << 20, 0.02]]
    document: dict[str, Any] = {
        "format": "broadleaf-platform/1",
        "name": "net",
        "port_model": "one-port",
        "nodes": nodes,
        "links": [{"from": "a", "to": "b", "latency_s": 5e-5, "gap": own, "spread": spread}],
        "meshes": [{"nodes": list("abcd"), "link": {"latency_s": latency_s, "gap": gap, "spread": spread}}],
    }
    if provenance is not None:
        document["provenance"] = provenance
    return bl.Platform.from_dict(document)


def said(quality: str = "good", **more: Any) -> dict[str, Any]:
    found = {"quality": quality, "samples": 1000, "disturbed_share": 0.01, "doubtful": [], **more}
    command = ASKED.command("hosts file", "net.json")
    date = "2026-11-22T17:00:01+00:00"
    return facts(ASKED, command, date, 12.34, "openmpi 5.0.11", HOSTS, found, ["too little time for it"], ())


def test_the_facts_can_be_asked_for_again() -> None:
    provenance = said()
    assert provenance["measured"]["command"] == (
        "broadleaf measure -n 4 --hosts 'hosts file' --tolerance 0.3 --time 20.0 --largest 1048576 "
        "--mpi openmpi --launcher srun --launcher-args '-N2 --mpi=pmix' -o net.json"
    )
    assert asked_of(network(provenance), "net.json") == ASKED
    # Files of earlier versions have no launcher.
    for name in ("launcher", "launcher_args"):
        del provenance["measured"]["settings"][name]
    assert asked_of(network(provenance), "net.json").launcher is None
    provenance["measured"]["settings"]["launcher"] = 3
    with pytest.raises(NotMeasuredError):
        asked_of(network(provenance), "net.json")
    for platform in (network(), network({"source": "by hand"}), network({"measured": {"date": 3}})):
        with pytest.raises(NotMeasuredError, match=r"^net.json: \$.provenance.measured does not say how"):
            asked_of(platform, "net.json")


def test_the_line_says_when_where_and_how_well() -> None:
    assert measured_line(network(said())) == (
        "net measured 2026-11-22 17:00 on 2 hosts, load up to 0.25, quality good: too little time for it"
    )
    line = measured_line(network(said("doubtful", doubtful=DOUBTFUL)))
    assert line is not None
    assert line.endswith("quality doubtful: too little time for it (and 4 more)")
    warnings = (measured_of(network(said("doubtful", doubtful=DOUBTFUL))) or {})["warnings"]
    assert warnings[1:] == [
        "a to b: reason 0",
        "a to b: reason 1",
        "a to b: reason 2",
        "2 more pairs are in doubt",
    ]


def test_hosts_with_more_ranks_than_cores_are_named() -> None:
    hosts = [{"name": f"n{at}", "ranks": 8, "cores": 8 if at == 0 else 2, "load": 0.0} for at in range(6)]
    made = facts(ASKED, "", "2026-11-22T17:00", 1.0, "mpich 5", hosts, {"quality": "good"}, [], ())[
        "measured"
    ]
    assert made["quality"] == "oversubscribed"
    first, *_, last = made["warnings"]
    assert first == "n1: 8 ranks share 2 cores and are slower while all work"
    assert (len(made["warnings"]), last) == (4, "2 more hosts have fewer cores than ranks")
    assert said()["measured"]["quality"] == "good"
    worse = {"quality": "doubtful", "doubtful": DOUBTFUL}
    made = facts(ASKED, "", "2026-11-22T17:00", 1.0, "mpich 5", hosts, worse, [], ())["measured"]
    assert made["quality"] == "doubtful"


@pytest.mark.parametrize(
    "provenance",
    [None, "text", [1], {"measured": None},
     {"measured": {"date": "x", "quality": 1, "hosts": [], "warnings": []}},
     {"measured": {"date": "x", "quality": "good", "hosts": {}, "warnings": []}}],
)  # fmt: skip
def test_a_provenance_from_elsewhere_is_not_repeated(provenance: Any) -> None:
    assert measured_line(network(provenance)) is None


def test_odd_facts_do_not_stop_the_line() -> None:
    odd = said()
    odd["measured"].update(hosts=[3, {"load": "high"}], warnings=[])
    assert measured_line(network(odd)) == "net measured 2026-11-22 17:00 on 2 hosts, quality good"


def test_an_ended_measurement_is_incomplete() -> None:
    cut = facts(ASKED, "", "2026-11-22T17:00", 1.0, "mpich 5", HOSTS, {"quality": "good"}, [], ["the pipes"])
    assert cut["measured"]["quality"] == "incomplete"
    assert cut["measured"]["warnings"] == ["ended early, missing: the pipes"]
    assert asked_of(network(cut), "x").flavour == "mpich"


def test_plan_and_report_repeat_the_line(command: Command) -> None:
    network(said()).save("net.json")
    line = "net measured 2026-11-22 17:00 on 2 hosts"
    arguments = ["plan", "net.json", "--size", "1MiB", "--planner", "chain"]
    assert command(*arguments, "-o", "plan.json").out.count(line) == 1
    assert command(*arguments, "--json").document["measured"].startswith(line)
    bl.report("net.json", "plan.json", "page.html", sizes=[])
    assert line in Path("page.html").read_text()
    # Nothing is reported for platforms that were not measured.
    network().save("net.json")
    assert "measured 2" not in command(*arguments).out


def test_nothing_has_changed_within_the_noise() -> None:
    assert changes(network(), network()) == []
    # A busy moment changes times by 19 %, or those of a pair by twice the spread of its samples.
    assert changes(network(), network(latency_s=5.9e-5, slow=1.19)) == []


def test_what_has_changed_is_said_by_cluster_and_pair() -> None:
    lines = [str(change) for change in changes(network(), network(latency_s=2e-4, slow=30.0))]
    assert lines == [
        "c0 to c0, 11 of 12 pairs: latency 50 us before, 200 us now (4 times)",
        "a to b: 1 KiB takes 19.75 us before, 302.7 us now (15.3 times)",
        "a to b: 1 MiB takes 10 ms before, 300 ms now (30 times)",
    ]


def test_ports_that_have_changed() -> None:
    def with_ports(*rates: float) -> bl.Platform:
        document = {**network().to_dict(), "port_model": "multi-port"}
        nodes = zip(document["nodes"], rates, strict=True)
        document["nodes"] = [{**node, "out_bytes_per_s": rate} for node, rate in nodes]
        return bl.Platform.from_dict(document)

    before = with_ports(1e8, 1e8, 1e8, 1e8)
    assert list(map(str, changes(network(), before))) == ["ports: were one-port before, multi-port now"]
    assert changes(before, with_ports(1e8, 1.19e8, 0.9e8, 1e8)) == []
    assert list(map(str, changes(before, with_ports(1e8, 2e8, 1e8, 1e8)))) == [
        "port of b: send 100 MB/s before, 200 MB/s now (2 times)"
    ]
    assert list(map(str, changes(before, with_ports(5e7, 2e7, 1e8, 5e7)))) == [
        "ports of 3 nodes: send 100 MB/s before, 50 MB/s now (0.5 times)"
    ]


def test_nodes_clusters_and_pipes_that_come_and_go() -> None:
    before = network().to_dict()
    after = copy.deepcopy(before)
    after["nodes"] = [*after["nodes"], {"id": "e", "cluster": "c1"}]
    after["nodes"][0]["cluster"] = "c1"
    after["meshes"][0]["nodes"].append("e")
    after["shared"] = [{"id": "wan", "bandwidth_bytes_per_s": 1e8}]
    one, other = bl.Platform.from_dict(before), bl.Platform.from_dict(after)
    assert [str(change) for change in changes(one, other)] == [
        "nodes e: were not there before, there now",
        "clusters: in number 1 before, 2 now",
        "pipe wan: of none before, 100 MB/s now",
    ]
    assert str(changes(other, one)[0]) == "nodes e: were there before, gone now"
