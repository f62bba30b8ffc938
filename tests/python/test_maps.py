"""Maps of hosts and switches: every form, every refusal, and a whole platform from a few measured hosts."""

from __future__ import annotations

import itertools
import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

import broadleaf as bl
from broadleaf.maps import HostlistError, Map, MapError, expanded, hostlist, map_of, read_map, representatives
from outcome import Command, refused


@pytest.mark.parametrize(
    ("text", "names"),
    [
        # The examples of topology.conf(5) and of `scontrol show hostnames`.
        ("tux[0-3,12,18-20]", ["tux0", "tux1", "tux2", "tux3", "tux12", "tux18", "tux19", "tux20"]),
        ("n01", ["n01"]),
        ("n[08-10]", ["n08", "n09", "n10"]),
        ("n[8-10]", ["n8", "n9", "n10"]),
        ("a,b[1-2],c", ["a", "b1", "b2", "c"]),
        ("r[1-2]n[01-02]", ["r1n01", "r1n02", "r2n01", "r2n02"]),
        ("n[1-2]-ib", ["n1-ib", "n2-ib"]),
    ],
)
def test_hostlists(text: str, names: list[str]) -> None:
    assert hostlist(text) == names


@pytest.mark.parametrize(
    "text",
    ["", "n[", "n]", "n[1-", "n[a-b]", "n[3-1]", "n[]", "n[1][", "a,,b", "n[0-9999999]", "n[0-999]m[0-9999]"],
)
def test_no_hostlist(text: str) -> None:
    with pytest.raises(HostlistError):
        hostlist(text)


CONF = """
# Switches of switches have no hosts of their own.
SwitchName=s0 Nodes=tux[0-2]
switchname=s1 \\
    nodes=tux3,tux[4-5] LinkSpeed=900
SwitchName=top Switches=s[0-1]
"""
BLOCKS = """
BlockName=s0 Nodes=tux[0-2]
BlockName=s1 Nodes=tux[3-5]
BlockSizes=3
"""
YAML = """
- topology: flat
  flat: true
- topology: other
  tree:
    switches: [{switch: x, nodes: "y[1-9]"}]
- topology: main
  cluster_default: true
  tree:
    switches:
      - switch: top
        children: s[0-1]
      - switch: s0
        nodes: tux[0-2]
      - switch: s1
        nodes: tux[3-5]
"""
YAML_BLOCKS = """
- topology: main
  block:
    block_sizes: [3]
    blocks:
      - {block: s0, nodes: "tux[0-2]"}
      - {block: s1, nodes: "tux[3-5]"}
"""


def listing() -> str:
    """As ibnetdiscover prints two leaf switches under one of the spine, tux2 with two adapters."""

    def switch(guid: str, name: str, ports: list[str]) -> str:
        head = f"vendid=0x2c9\ndevid=0xc738\nswitchguid=0x{guid}({guid})"
        line = f'Switch\t36 "S-{guid}"\t\t# "{name}" enhanced port 0 lid 5 lmc 0'
        return "\n".join([head, line, *ports]) + "\n"

    def port(at: int, number: int, adapter: str) -> str:
        guid = f"00000000000{number:x}{adapter[-1]}{at:03x}"
        return f'[{at}]\t"H-{guid}"[1]({guid}) \t\t# "tux{number} {adapter}" lid {at} 4xFDR'

    up = '[36]\t"S-00000000000000ff"[{}]\t\t# "spine" lid 9 4xFDR'
    one = [port(1, 0, "HCA-1"), port(2, 1, "HCA-1"), port(3, 2, "HCA-1"), up.format(1)]
    two = [
        port(1, 3, "mlx5_0"),
        port(2, 4, "mlx5_0"),
        port(3, 5, "mlx5_0"),
        port(4, 2, "mlx5_1"),
        up.format(2),
    ]
    adapters = (
        'vendid=0x2c9\ncaguid=0x1\nCa\t1 "H-0001"\t\t# "tux0 HCA-1"\n'
        '[1](2) \t"S-a1"[1]\t\t# lid 3 lmc 0 "s0" lid 5\n'
    )
    spine = [
        f'[{at}]\t"S-{guid}"[36]\t\t# "{name}" lid 5 4xFDR'
        for at, guid, name in ((1, "a1", "s0"), (2, "a2", "s1"))
    ]
    return "\n".join(
        [
            "# Topology file",
            switch("00ff", "spine", spine),
            switch("00a1", "s0", one),
            switch("00a2", "s1", two),
            adapters,
        ]
    )


# Legal, and unlike the examples of the manuals.
ODD_CONF = """
# A comment does not go on in the next line: \\
SwitchName = s0   Nodes = "tux[0-1],tux2"   # Nodes=tux9
SwitchName=s1 \\ \t
  LinkSpeed=900 \\
  Nodes=tux[3,4-5] # \\
SwitchName=top Switches=s[0-1]\r
"""
ODD_YAML = """
%YAML 1.1
---
[{"topology": small, cluster_default: no, block: {blocks: [{block: b, nodes: "x[1-2]"}]}},
 {cluster_default: yes, "topology": main,
  tree: {switches: [{switch: s0, nodes: [tux0, "tux[1-2]"]}, &one {switch: s1, nodes: "tux[3-4],tux5"}]}}]
"""
ODD_YAML_NAMES = """
- topology: main
  tree:
    switches:
      - switch: off
        nodes: 0012
      - switch: 010
        nodes: n[1-2]
"""
# An aggregation node in the switch, an adapter without a host's name, and both ports of tux3 and tux4.
ODD_LISTING = (
    listing()
    .replace(
        '[36]\t"S-00000000000000ff"[1]',
        '[35]\t"H-00a0"[1](a0) \t\t# "Mellanox Technologies Aggregation Node" lid 7 4xEDR\n'
        '[34]\t"H-00b0"[1](b0) \t\t# "MT4115 ConnectX4   Mellanox Technologies" lid 8 4xEDR\n'
        '[36]\t"S-00000000000000ff"[1]',
    )
    .replace(
        '[36]\t"S-00000000000000ff"[2]',
        '[31]\t"H-0000000000030003"[2](d3) \t\t# "tux3 mlx5_0" lid 31 4xFDR\n'
        '[32]\t"H-0000000000040004"[2](d4) \t\t# "tux4 mlx5_0" lid 32 4xFDR\n'
        '[36]\t"S-00000000000000ff"[2]',
    )
    .replace('# "s0"', '# "MF0;s0"')
    .replace('# "s1"', '# "MF0;s1"')
)

FORMS = {
    "odd conf": ODD_CONF,
    "odd yaml": ODD_YAML,
    "odd ibnetdiscover": ODD_LISTING,
    "conf": CONF,
    "blocks": BLOCKS,
    "yaml": YAML,
    "yaml blocks": YAML_BLOCKS,
    "ibnetdiscover": listing(),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_says_the_same(form: str, tmp_path: Path) -> None:
    file = tmp_path / "site.map"
    file.write_text(FORMS[form])
    found = read_map(file)
    assert found.name == "site"
    assert dict(found.hosts) == {"s0": ("tux0", "tux1", "tux2"), "s1": ("tux3", "tux4", "tux5")}


def test_numbers_and_words_of_yaml_are_names(tmp_path: Path) -> None:
    file = tmp_path / "topology.yaml"
    file.write_text(ODD_YAML_NAMES)
    assert dict(read_map(file).hosts) == {"off": ("0012",), "010": ("n1", "n2")}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no known map"),
        ("# a \\\n\nSwitchName=s0 \\\n Nodes=a[1-", "line 3: 'a[1-' is no hostlist"),
        ("SwitchName=s0 Nodes=a\ninclude other.conf", "line 2: an Include"),
        ("- topology: a\n  tree: {switches: [{switch: a, nodes: b}, {switch: a}]}", "a is named twice"),
        ("NodeName=a", "no known map"),
        ("SwitchName=s0 Nodes=a[1-", "line 1: 'a[1-' is no hostlist"),
        ("SwitchName=s0 Nodes=a\nSwitchName=s0 Nodes=b", "line 2: s0 is named twice"),
        ("SwitchName=s0 Nodes=a\nSwitchName=s1 Nodes=a", "a is named twice, on s0 and s1"),
        ("SwitchName=s0 Switches=s1", "no switch has a host"),
        ("- topology: a\n  flat: true", "no topology with tree or block"),
        ("- topology: [", "no YAML that can be read"),
        ("- topology: a\n  tree: {switches: [{nodes: a}]}", "an entry without `switch:`"),
    ],
)
def test_a_bad_map_is_refused_in_one_line(text: str, told: str, tmp_path: Path, command: Command) -> None:
    file = tmp_path / "site.map"
    file.write_text(text)
    with pytest.raises(MapError, match=re.escape(f"{file}: ")):
        read_map(file)
    refused(command("measure", "--map", str(file), "-o", "net.json"), told)


def machine(name: str, model: str = "EPYC", cores: int = 2, adapter: str = "[15b3:101b]") -> str:
    """As hwloc 2 writes a machine with a network adapter and a disk."""
    core = '<object type="Core"><object type="PU"/></object>'
    return (
        f'<object type="Machine"><info name="HostName" value="{name}"/>'
        f'<object type="Package"><info name="CPUModel" value="{model}"/>{core * cores}</object>'
        f'<object type="PCIDev" pci_type="0207 {adapter} [15b3:0006] 00" pci_link_speed="15.753846">'
        '<object type="OSDev" name="ib0" osdev_type="2"/></object>'
        f'<object type="PCIDev" pci_type="0108 [144d:{name[-1]}] [0:0] 00" pci_link_speed="3.9">'
        '<object type="OSDev" name="sda" osdev_type="0"/></object></object>'
    )


def hwloc(*machines: str) -> str:
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n'
    return f'{head}<topology version="2.0">\n{"".join(machines)}\n</topology>\n'


def test_hosts_of_equal_hardware_by_hwloc_are_one_group(tmp_path: Path) -> None:
    others = [machine("n3", "Xeon"), machine("n4", cores=4), machine("n5", adapter="[8086:24f0]")]
    every = [machine("n1"), machine("n2"), *others]
    for at, each in enumerate(every):
        (tmp_path / f"{at}.xml").write_text(hwloc(each))
    one = tmp_path / "all"
    one.write_text(hwloc(*every))
    found = read_map(tmp_path)
    assert list(found.hosts.values()) == [("n1", "n2"), ("n3",), ("n4",), ("n5",)]
    assert next(iter(found.hosts)) == "EPYC, 1 packages, 2 cores, [15b3:101b] at 15.753846 GB/s"
    assert read_map(one).hosts == found.hosts
    (tmp_path / "again.xml").write_text(hwloc(machine("n1", "Xeon")))
    with pytest.raises(MapError, match="n1 is named twice"):
        read_map(tmp_path)


def test_hosts_of_hwloc_1_are_told_apart_by_their_sockets(tmp_path: Path) -> None:
    for at, model in enumerate(("EPYC", "EPYC", "Xeon")):
        text = hwloc(machine(f"n{at}", model)).replace('"Package"', '"Socket"').replace(' version="2.0"', "")
        (tmp_path / f"{at}.xml").write_text(text.replace("hwloc2.dtd", "hwloc.dtd").replace("\n", ""))
    (tmp_path / "3.xml").write_text(hwloc(machine("n3")))
    assert list(read_map(tmp_path).hosts.values()) == [("n0", "n1", "n3"), ("n2",)]
    assert list(read_map(tmp_path / "2.xml").hosts.values()) == [("n2",)]


@pytest.mark.skipif(shutil.which("lstopo-no-graphics") is None, reason="there is no lstopo")
def test_the_file_of_lstopo_names_its_host(tmp_path: Path) -> None:
    file = tmp_path / "here.xml"
    subprocess.run(["lstopo-no-graphics", "--of", "xml", str(file)], check=True, timeout=60)
    assert list(read_map(file).hosts.values()) == [(socket.gethostname(),)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("<topology>\n<object", "bad.xml: no XML that can be read"),
        (hwloc(), "bad.xml: no machine"),
        (hwloc('<object type="Machine"/>'), "bad.xml: no HostName"),
    ],
)
def test_a_bad_file_of_hwloc_is_named(text: str, told: str, tmp_path: Path, command: Command) -> None:
    folder = tmp_path / "hosts"
    folder.mkdir()
    refused(command("measure", "--map", str(folder), "-o", "net.json"), "no .xml in the folder")
    (folder / "bad.xml").write_text(text)
    refused(command("measure", "--map", str(folder), "-o", "net.json"), told)


def test_measure_says_what_a_map_needs(tmp_path: Path, command: Command) -> None:
    file, hosts = tmp_path / "site.map", tmp_path / "hosts"
    file.write_text(CONF)
    refused(
        command("measure", "-n", "2", "--map", str(file), "-o", "net.json"), "either -n RANKS or --map FILE"
    )
    refused(command("measure", "--map", str(file), "-o", "net.json"), "no hosts to measure on", "--hosts")
    hosts.write_text("tux0\ntux1\ntux3\n")
    refused(
        command("measure", "--map", str(file), "--hosts", str(hosts), "-o", "net.json"),
        "s1 has 3 hosts",
        "of which 1",
    )
    hosts.write_text("tux0\nelsewhere\n")
    refused(
        command("measure", "--map", str(file), "--hosts", str(hosts), "-o", "net.json"),
        "elsewhere is on no switch",
    )


SITE = Map("site", {f"s{switch}": tuple(f"n{switch}{host}" for host in range(6)) for switch in range(3)})


def truth(hosts: list[str]) -> bl.Platform:
    """Three switches of their own rates, each pair of them with its own, the third pair through a pipe."""
    rates = {"s0": 1e9, "s1": 2e9, "s2": 4e9}
    on = SITE.switch_of()
    return bl.Platform.from_dict({
        "format": "broadleaf-platform/1",
        "name": "site",
        "port_model": "one-port",
        "nodes": [{"id": host, "cluster": on[host]} for host in hosts],
        "shared": [{"id": "pipe", "bandwidth_bytes_per_s": 1e8}],
        "meshes": [
            {"nodes": [host for host in hosts if on[host] == switch], "link": {"bandwidth_bytes_per_s": rate}}
            for switch, rate in rates.items()
        ],
        "bridges": [
            {
                "from_cluster": one, "to_cluster": other,
                "link": {"latency_s": 1e-4 * at, "bandwidth_bytes_per_s": 1e8, "uses": ["pipe"] * (at == 3)},
            }
            for at, (one, other) in enumerate(itertools.permutations(rates, 2), start=1)
        ],
    })  # fmt: skip


def test_a_few_hosts_of_each_switch_stand_for_all() -> None:
    every = list(SITE.switch_of())
    chosen = representatives(SITE, every)
    assert chosen == [host for host in every if int(host[-1]) < 4]
    whole = expanded(truth(chosen), SITE)
    assert sorted(whole.nodes) == sorted(every)
    expected = truth(every)
    for source, target in itertools.permutations(every, 2):
        assert whole.link(source, target) == expected.link(source, target), (source, target)
    assert map_of(whole) == {"name": "site", "measured_hosts": 12, "uneven": []}


@pytest.mark.parametrize(("in_map", "in_job"), [("", ".cluster.edu"), (".cluster.edu", "")])
def test_either_name_of_a_host_may_lack_its_domain(in_map: str, in_job: str) -> None:
    site = Map(
        "site", {switch: tuple(host + in_map for host in hosts) for switch, hosts in SITE.hosts.items()}
    )
    available = [host + in_job for host in SITE.switch_of()]
    chosen = representatives(site, available)
    assert chosen == [host for host in available if int(host[2]) < 4]
    document = truth([host.partition(".")[0] for host in chosen]).to_dict()
    for node, name in zip(document["nodes"], chosen, strict=True):
        node["host"] = name
    assert len(expanded(bl.Platform.from_dict(document), site).nodes) == 18
    for stranger in ("n99", f"n99{in_job}", "other.edu"):
        with pytest.raises(MapError, match=re.escape(f"{stranger} is on no switch")):
            representatives(site, [*available, stranger])


def test_a_short_name_of_two_hosts_is_none_of_them() -> None:
    site = Map("site", {"s": ("n1.a", "n1.b", "n2.a")})
    assert [site.host_of(name) for name in ("n1", "n1.b", "n2", "n2.b")] == [None, "n1.b", "n2.a", None]


def test_what_cannot_be_expanded_is_named() -> None:
    chosen = representatives(SITE, list(SITE.switch_of()), 2)
    document = truth(chosen).to_dict()
    # n00 is in another cluster than n01: nothing joins a third host of s0 to either.
    document["nodes"][0]["cluster"] = "s1"
    with pytest.raises(MapError, match="no two hosts of s0 are in one cluster"):
        expanded(bl.Platform.from_dict({**document, "meshes": document["meshes"][1:], "links": [
            {"from": "n00", "to": "n01", "both_ways": True}]}), SITE)  # fmt: skip
    # In one mesh with it, the third takes the links of the first; the switch is named.
    whole = expanded(bl.Platform.from_dict(document), SITE)
    found = map_of(whole)
    assert found is not None
    assert found["uneven"] == ["s0"]
    two = truth(chosen).to_dict()
    two["nodes"], two["meshes"], two["bridges"] = (
        two["nodes"][:4],
        two["meshes"][:2],
        [two["bridges"][0], two["bridges"][2]],
    )
    with pytest.raises(MapError, match="s2 has no measured host"):
        expanded(bl.Platform.from_dict(two), SITE)
