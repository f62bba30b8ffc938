"""SimGrid platform files: plain ones by hand and as SimGrid reads them, all zones as SimGrid times them."""

from __future__ import annotations

import shutil
import subprocess
from itertools import permutations
from pathlib import Path

import pytest

import broadleaf as bl
from broadleaf.formats.simgrid import load_simgrid
from broadleaf.formats.simgrid.ask import ask_simgrid
from broadleaf.formats.simgrid.plain import read_plain
from outcome import Command, refused

HERE = Path(__file__).parent
PLAIN = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="z" routing="Full">
    <prop id="note" value="nothing"/>
    <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/> <host id="c" speed="1Gf" core="2"/>
    <link id="up" bandwidth="1Gbps" latency="50us" sharing_policy="SPLITDUPLEX"/>
    <link id="wan" bandwidth="10MBps" latency="5ms"/>
    <link id="free" bandwidth="1e9" latency="1e-3" sharing_policy="FATPIPE"/>
    <route src="a" dst="b"><link_ctn id="up" direction="UP"/><link_ctn id="wan"/></route>
    <route src="a" dst="c"><link_ctn id="wan"/><link_ctn id="free"/></route>
    <route src="b" dst="c" symmetrical="NO"><link_ctn id="free"/></route>
    <route src="a" dst="a"><link_ctn id="free"/></route>
  </zone>
</platform>
"""
needs_simgrid = pytest.mark.skipif(
    shutil.which("smpicc") is None, reason="SimGrid is missing (Debian: apt-get install libsimgrid-dev)"
)


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    path = tmp_path / "plain.xml"
    path.write_text(PLAIN)
    return path


def test_plain_by_hand(plain: Path, command: Command) -> None:
    assert command("convert", str(plain), "-o", "net.json").code == 0
    platform = bl.Platform.load("net.json")
    assert (platform.name, platform.port_model, platform.hosts) == ("plain", "one-port", ["a", "b", "c"])
    # a-b: 50 us + 5 ms, and 10 MB/s; the wan is used by all of a's transfers, in both directions.
    assert platform.link("a", "b") == {
        "latency_s": 50e-6 + 5e-3,
        "bandwidth_bytes_per_s": 1e7,
        "uses": ["wan"],
    }
    assert platform.link("b", "a") == platform.link("a", "b")
    assert platform.link("c", "a") == {
        "latency_s": 5e-3 + 1e-3,
        "bandwidth_bytes_per_s": 1e7,
        "uses": ["wan"],
    }
    # A FATPIPE limits each transfer alone; the route is there in one direction only.
    assert platform.link("b", "c") == pytest.approx({"latency_s": 1e-3, "bandwidth_bytes_per_s": 1e9})
    assert platform.link("c", "b") is None
    assert platform.to_dict()["shared"] == [{"id": "wan", "bandwidth_bytes_per_s": 1e7}]
    assert "plain.xml" in platform.to_dict()["provenance"]["source"]


def star(*rates: str) -> str:
    """Hosts that meet in one switch, with cards of these rates."""
    count = range(len(rates))
    hosts = "".join(f'<host id="h{at}" speed="1Gf"/>' for at in count)
    links = "".join(
        f'<link id="nic{at}" bandwidth="{rates[at]}" sharing_policy="SPLITDUPLEX"/>' for at in count
    )
    routes = "".join(
        f'<route src="h{a}" dst="h{b}" symmetrical="NO">'
        f'<link_ctn id="nic{a}" direction="UP"/><link_ctn id="nic{b}" direction="DOWN"/></route>'
        for a, b in permutations(count, 2)
    )
    return f'<platform version="4.1"><zone id="z" routing="Full">{hosts}{links}{routes}</zone></platform>'


def test_a_port_of_one_host_is_no_shared_resource(tmp_path: Path, command: Command) -> None:
    (tmp_path / "nics.xml").write_text(star("1MBps", "1MBps", "1MBps"))
    assert command("convert", "nics.xml", "-o", "net.json").code == 0
    document = bl.Platform.load("net.json").to_dict()
    # All pairs are alike: one mesh, and nothing that two hosts share.
    assert document["meshes"] == [
        {"nodes": ["h0", "h1", "h2"], "link": {"latency_s": 0.0, "bandwidth_bytes_per_s": 1e6}}
    ]
    assert "links" not in document
    assert "shared" not in document


@needs_simgrid
def test_plain_files_mean_what_simgrid_takes_them_for(plain: Path) -> None:
    own, theirs = read_plain(plain), ask_simgrid(plain, "")
    assert own.hosts == theirs.hosts
    assert set(own.routes) <= set(theirs.routes)
    for pair, route in own.routes.items():
        other = theirs.routes[pair]
        assert route.latency_s == pytest.approx(other.latency_s)
        assert [own.links[at] for at in route.links] == [theirs.links[at] for at in other.links]


def simulated(xml: str, folder: Path) -> list[tuple[str, str, float]]:
    """From, to and seconds of a megabyte between every two hosts, one after the other, as SimGrid has it."""
    program = folder / "times"
    subprocess.run(
        ["c++", "-std=c++17", "-o", program, HERE / "times.cpp", "-lsimgrid"], check=True, timeout=300
    )
    # The clean model: latency + bytes / rate, as testbeds/smpi/run.py has it.
    clean = {
        "weight-S": "0",
        "crosstraffic": "0",
        "TCP-gamma": "1e12",
        "bandwidth-factor": "1",
        "latency-factor": "1",
    }
    settings = [f"--cfg=network/{name}:{value}" for name, value in clean.items()]
    command = [str(program), xml, "1000000", *settings, "--log=root.thres:error"]
    text = subprocess.check_output(command, cwd=folder, text=True, timeout=300)
    rows = [line.split() for line in text.splitlines()]
    return [(source, target, float(seconds)) for source, target, seconds in rows]


@needs_simgrid
def test_all_zone_types_take_as_long_as_simgrid_simulates(tmp_path: Path, command: Command) -> None:
    shutil.copy(HERE / "all-zones.xml", tmp_path)
    rows = simulated("all-zones.xml", tmp_path)
    assert command("convert", "all-zones.xml", "-o", "net.json").code == 0
    platform = bl.Platform.load("net.json")
    assert len(rows) == 38 * 37
    zones = {name.split("-")[0] for name, _, _ in rows}
    assert zones == {
        *["full", "floyd", "dijkstra", "cache", "flat", "pipe", "torus", "tree", "fly", "vivaldi"]
    }
    for source, target, seconds in rows:
        link = platform.link(source, target)
        assert link is not None, (source, target)
        taken_s = link["latency_s"] + platform.transfer_s(source, target, 1_000_000)
        assert taken_s == pytest.approx(seconds, rel=1e-9), (source, target)
    # Hosts of one cluster are one mesh over the backbone, which all of them share.
    document = platform.to_dict()
    flat = next(mesh for mesh in document["meshes"] if mesh["nodes"][0] == "flat-0")
    assert flat["link"]["uses"] == ["flat_backbone"]
    assert flat["nodes"] == [f"flat-{at}" for at in range(4)]


@needs_simgrid
def test_what_simgrid_refuses_is_one_line(tmp_path: Path, command: Command) -> None:
    text = PLAIN.replace('routing="Full"', 'routing="Floyd"').replace(
        '<link_ctn id="wan"/></route>', "</route>"
    )
    (tmp_path / "bad.xml").write_text(text.replace('id="up" direction', 'id="absent" direction'))
    refused(command("convert", "bad.xml", "-o", "net.json"), "bad.xml: SimGrid refuses it", "absent")


@needs_simgrid
def test_of_a_huge_cluster_some_hosts_are_taken(tmp_path: Path, command: Command) -> None:
    cluster = '<cluster id="c" prefix="n" suffix="" radical="0-8191" speed="1Gf" bw="125MBps" lat="50us"/>'
    (tmp_path / "huge.xml").write_text(
        f'<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
        f'<platform version="4.1"><zone id="z" routing="Full">{cluster}</zone></platform>'
    )
    refused(command("convert", "huge.xml", "-o", "net.json"), "huge.xml: 8192 hosts", "--hosts")
    (tmp_path / "chosen").write_text("n8191\nn7\n")
    assert command("convert", "huge.xml", "--hosts", "chosen", "-o", "net.json").code == 0
    platform = bl.Platform.load(tmp_path / "net.json")
    assert platform.hosts == ["n8191", "n7"]
    # Up one host's link and down the other's.
    link = platform.link("n7", "n8191")
    assert link is not None
    assert link["latency_s"] == pytest.approx(2 * 50e-6)


def test_what_a_route_crosses_twice_is_used_twice(plain: Path, command: Command) -> None:
    plain.write_text(
        PLAIN.replace('<link_ctn id="wan"/><link_ctn id="free"/>', '<link_ctn id="wan"/><link_ctn id="wan"/>')
    )
    assert command("convert", str(plain), "-o", "net.json").code == 0
    platform = bl.Platform.load("net.json")
    # 10 MB/s there and back: a byte takes 0.2 us, and so long it holds the wan.
    link = platform.link("a", "c")
    assert link == {"latency_s": 10e-3, "bandwidth_bytes_per_s": 5e6, "uses": ["wan", "wan"]}
    tree = {"share": 1.0, "children": {"a": ["c", "b"]}}
    document = {"format": "broadleaf-plan/1", "platform": "plain", "collective": "bcast", "root": "a"}
    plan = bl.Plan.from_dict({**document, "message_bytes": 10**6, "segment_bytes": 10**6, "trees": [tree]})
    # a to c until 0.2 s; then a to b for 0.1 s, and 5.05 ms on the way.
    finish = bl.simulate(platform, plan).finish_s
    assert finish.tolist() == pytest.approx([0.0, 0.2 + 0.1 + 5.05e-3, 0.2 + 10e-3])


def test_hosts_are_chosen_and_ports_shared(tmp_path: Path, command: Command) -> None:
    (tmp_path / "nics.xml").write_text(star("1MBps", "2MBps", "3MBps", "4MBps"))
    (tmp_path / "chosen").write_text("h3:2\n\nh1\nh0\n")
    arguments = ("convert", "nics.xml", "--hosts", "chosen", "--port-model", "multi-port", "-o", "net.json")
    assert command(*arguments).code == 0
    document = bl.Platform.load("net.json").to_dict()
    assert document["port_model"] == "multi-port"
    rates = {node["id"]: (node["out_bytes_per_s"], node["in_bytes_per_s"]) for node in document["nodes"]}
    assert rates == {"h3": (4e6, 4e6), "h1": (2e6, 2e6), "h0": (1e6, 1e6)}
    assert "shared" not in document
    (tmp_path / "chosen").write_text("h1\nnobody\n")
    refused(command(*arguments), 'chosen: no host "nobody" in nics.xml')
    (tmp_path / "chosen").write_text("\n")
    refused(command(*arguments), "chosen: no host in it")
    refused(command("convert", "net.json", "--hosts", "chosen", "-o", "other.json"), "--hosts is for SimGrid")


NEAR_AND_FAR = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="z" routing="Full">
    <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/> <host id="c" speed="1Gf"/>
    <link id="la" bandwidth="10MBps" latency="1us" sharing_policy="SPLITDUPLEX"/>
    <link id="lb" bandwidth="10MBps" latency="1us" sharing_policy="SPLITDUPLEX"/>
    <link id="lc" bandwidth="10MBps" latency="1us" sharing_policy="SPLITDUPLEX"/>
    <link id="way" bandwidth="4MBps" latency="FAR" sharing_policy="FATPIPE"/>
    <route src="a" dst="b"><link_ctn id="la" direction="UP"/><link_ctn id="lb" direction="DOWN"/></route>
    <route src="a" dst="c">
      <link_ctn id="la" direction="UP"/><link_ctn id="way"/><link_ctn id="lc" direction="DOWN"/></route>
    <route src="b" dst="c">
      <link_ctn id="lb" direction="UP"/><link_ctn id="way"/><link_ctn id="lc" direction="DOWN"/></route>
  </zone>
</platform>
"""


@pytest.mark.parametrize(
    ("far", "send_s_per_byte"),
    [
        # Beside a transfer to b, 2 us away, one to c gets 2 of 2,004 parts of 10 MB/s, and needs 4 MB/s.
        ("2ms", 1 / 4e6),
        # 2 of 4.5 parts, 4.4 MB/s, are enough.
        ("500ns", None),
    ],
)
def test_a_slow_link_that_yields_to_nearer_ones_holds_the_port(
    tmp_path: Path, command: Command, far: str, send_s_per_byte: float | None
) -> None:
    (tmp_path / "net.xml").write_text(NEAR_AND_FAR.replace("FAR", far))
    assert command("convert", "net.xml", "--port-model", "multi-port", "-o", "net.json").code == 0
    platform = bl.Platform.load("net.json")
    near, slow = platform.link("a", "b"), platform.link("a", "c")
    assert near is not None
    assert slow is not None
    assert "send_s_per_byte" not in near
    assert slow.get("send_s_per_byte") == send_s_per_byte
    # All of c's links are as far.
    assert "recv_s_per_byte" not in slow


CABLES = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="z" routing="Full">
    <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/> <host id="c" speed="1Gf"/>
    <link id="ab" bandwidth="10MBps" latency="0us" sharing_policy="SPLITDUPLEX"/>
    <link id="ac" bandwidth="30MBps" latency="0us" sharing_policy="SPLITDUPLEX"/>
    <route src="a" dst="b"><link_ctn id="ab" direction="UP"/></route>
    <route src="a" dst="c"><link_ctn id="ac" direction="UP"/></route>
    <route src="b" dst="c"><link_ctn id="ab" direction="DOWN"/><link_ctn id="ac" direction="UP"/></route>
  </zone>
</platform>
"""


# Each row and each column of four is a ring, so a route takes one of its two ways round half of the ring.
TORUS = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="world" routing="Full">
    <cluster id="net" prefix="h-" suffix="" radical="0-15" speed="1Gf" bw="125MBps" lat="10us"
      sharing_policy="SPLITDUPLEX" topology="TORUS" topo_parameters="4,4"/>
  </zone>
</platform>
"""


def test_a_host_sends_over_all_its_cables_at_a_time(tmp_path: Path, command: Command) -> None:
    (tmp_path / "net.xml").write_text(CABLES)
    assert command("convert", "net.xml", "--port-model", "multi-port", "-o", "net.json").code == 0
    platform = bl.Platform.load("net.json")
    nodes = {node["id"]: node for node in platform.to_dict()["nodes"]}
    assert nodes["a"]["out_bytes_per_s"] == nodes["a"]["in_bytes_per_s"] == 40e6
    assert nodes["b"]["out_bytes_per_s"] == 10e6
    flat = bl.plan(platform, "a", 3 * 10**6, "flat", segment_bytes=3 * 10**6)
    # A send to either holds a's port for 75 ms; over their cables they take 300 and 100 ms.
    assert sorted(bl.simulate(platform, flat).finish_s.tolist()) == pytest.approx([0.0, 0.175, 0.3])
    # All that b receives comes over one cable.
    assert flat.predicted.bound_s == pytest.approx(0.3, rel=1e-6)


@needs_simgrid
def test_a_cable_of_one_sender_limits_its_transfers_together(tmp_path: Path, command: Command) -> None:
    hosts = tmp_path / "torus.hosts"
    hosts.write_text("".join(f"h-{at}\n" for at in range(16)))
    (tmp_path / "torus.xml").write_text(TORUS)
    told = command(
        "convert", "torus.xml", "--hosts", str(hosts), "--port-model", "multi-port", "-o", "net.json"
    )
    assert told.code == 0
    torus = bl.Platform.load("net.json").to_dict()
    # 32 cables, both ways apart. Over the one to h-3 only h-0 sends: to h-3, h-7, h-11 and h-15.
    assert len(torus["shared"]) == 64
    uses = {(link["from"], link["to"]): set(link["uses"]) for link in torus["links"]}
    wrap = uses["h-0", "h-3"]
    assert len(wrap) == 1
    assert [pair for pair, used in uses.items() if used & wrap] == [
        ("h-0", f"h-{at}") for at in (3, 7, 11, 15)
    ]


@needs_simgrid
def test_wifi_stations_have_the_first_rate(tmp_path: Path, command: Command) -> None:
    text = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="world" routing="Floyd">
    <zone id="air" routing="WIFI">
      <prop id="access_point" value="ap"/>
      <host id="s0" speed="1Gf"/> <host id="s1" speed="1Gf"/>
      <router id="ap"/>
      <link id="radio" sharing_policy="WIFI" bandwidth="54Mbps,36Mbps" latency="0ms"/>
    </zone>
    <zone id="wired" routing="Full"><host id="w0" speed="1Gf"/></zone>
    <link id="wan" bandwidth="100MBps" latency="10ms"/>
    <zoneRoute src="air" dst="wired" gw_src="ap" gw_dst="w0"><link_ctn id="wan"/></zoneRoute>
  </zone>
</platform>
"""
    (tmp_path / "wifi.xml").write_text(text)
    assert command("convert", "wifi.xml", "-o", "net.json").code == 0
    platform = bl.Platform.load("net.json")
    for source, target, seconds in simulated("wifi.xml", tmp_path):
        link = platform.link(source, target)
        assert link is not None, (source, target)
        taken_s = link["latency_s"] + platform.transfer_s(source, target, 1_000_000)
        assert taken_s == pytest.approx(seconds, rel=1e-9), (source, target)
    # From station to station the air is crossed twice; all three hosts send over the air and the wan.
    near, far = platform.link("s0", "s1"), platform.link("s0", "w0")
    assert near is not None
    assert far is not None
    assert near["uses"] == ["radio", "radio"]
    assert far["uses"] == ["radio", "wan"]
    assert near["bandwidth_bytes_per_s"] == pytest.approx(54e6 / 8 / 2)


def test_without_simgrid_it_is_said_what_is_missing(
    plain: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    plain.write_text(PLAIN.replace('routing="Full"', 'routing="Floyd"'))
    outcome = command("convert", str(plain), "-o", "net.json")
    refused(outcome, "plain.xml", 'line 4 has a zone with routing "Floyd"', "install it")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("</platform>", "", "line 16: no XML"),
        ('<platform version="4.1">', '<platform version="3">', 'line 3: platform version "3" is unknown'),
        ('bandwidth="10MBps"', "", 'line 8: <link> without "bandwidth"'),
        ('bandwidth="10MBps"', 'bandwidth="10 apples"', 'line 8: bandwidth "10 apples" is no number'),
        ('bandwidth="10MBps"', 'bandwidth="0Bps"', 'line 8: link "wan" has a bandwidth of 0'),
        ('bandwidth="10MBps"', 'bandwidth="nanBps"', "line 8: bandwidth"),
        ('latency="5ms"', 'latency="-5ms"', 'line 8: latency "-5ms" is no number'),
        ('<host id="b"', '<host id="a"', 'line 6: a second host "a"'),
        ('<link id="free"', '<link id="wan"', 'line 9: a second link "wan"'),
        ('src="a" dst="b"', 'src="a" dst="x"', 'line 10: a route of the unknown host "x"'),
        (
            '<link_ctn id="wan"/></route>',
            '<link_ctn id="x"/></route>',
            "line 10: a route over the unknown link",
        ),
        ('id="up" direction="UP"', 'id="up"', 'line 10: the SPLITDUPLEX link "up" without a direction'),
        ('src="b" dst="c" symmetrical="NO"', 'src="b" dst="c"', ""),
        ('src="a" dst="c"', 'src="b" dst="a"', 'line 11: a second route from "b" to "a"'),
        ('symmetrical="NO"><link_ctn id="free"/>', 'symmetrical="NO">', "line 12: a route without"),
    ],
)
def test_faults_name_their_line(old: str, new: str, told: str, plain: Path, command: Command) -> None:
    text = PLAIN.replace(old, new, 1)
    assert text != PLAIN
    if not told:
        plain.write_text(text)
        assert command("convert", str(plain), "-o", "net.json").code == 0
        assert bl.Platform.load("net.json").link("c", "b") is not None
        return
    plain.write_text(text)
    refused(command("convert", str(plain), "-o", "net.json"), "plain.xml", told)


def test_other_xml_is_refused(tmp_path: Path, command: Command) -> None:
    (tmp_path / "page.xml").write_text("<html></html>")
    refused(command("convert", "page.xml", "-o", "net.json"), "line 1: <html> is no SimGrid platform")
    (tmp_path / "empty.xml").write_text('<platform version="4.1"><zone id="z" routing="Full"/></platform>')
    refused(command("convert", "empty.xml", "-o", "net.json"), "the platform has no host")
    refused(command("convert", "absent.xml", "-o", "net.json"), "absent.xml")


@needs_simgrid
@pytest.mark.parametrize("message_bytes", [8, 1024])
def test_the_bound_of_an_all_reduce_on_a_dragonfly_is_found(tmp_path: Path, message_bytes: int) -> None:
    """So many equal links that the pivots of its linear program went round for ever, or took minutes."""
    xml = tmp_path / "platform.xml"
    xml.write_text(
        '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        '<platform version="4.1"><zone id="world" routing="Full">'
        '<cluster id="net" prefix="h-" suffix="" radical="0-71" speed="1Gf" bw="125MBps" lat="10us"'
        ' sharing_policy="SPLITDUPLEX" topology="DRAGONFLY" topo_parameters="3,4;4,3;3,1;2"/>'
        "</zone></platform>\n"
    )
    network = load_simgrid(xml, port_model="multi-port").to_dict()
    for link in network["links"]:
        link["startup_s"] = 1e-6
    platform = bl.Platform.from_dict(network)
    both, inward = (
        bl.plan(platform, platform.hosts[0], message_bytes, "binomial", collective).bound_s
        for collective in ("allreduce", "reduce")
    )
    assert both is not None
    assert inward is not None
    assert both >= inward > 0
