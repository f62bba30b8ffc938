"""A platform as network namespaces of this machine: one a host, on one bridge, with shaped rates.

Each host's end of its cable is shaped to its NIC's outgoing rate, and below that to a rate for each
destination; the switch's end of the cable to the NIC's incoming rate. Cables may also delay and lose packets
(relay.c). Nothing leaves the namespaces. Needs root and iproute2, and changes nothing outside the namespaces
except their files in /etc/netns.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import broadleaf as bl

# The largest latency of a platform: latencies are the kernel's own, and none is added.
MOST_LATENCY_S = 5e-4

# Bytes a class may send at once after a pause: about a millisecond's worth at 100 Mb/s.
BURST_BYTES = 16384

# Deep enough that nothing is dropped by the windows of some hundred connections.
QUEUE_PACKETS = 5000

# Class ids: the NIC, traffic without a destination host (ARP), and 1:16 + destination.
NIC, OTHERS, FIRST_DESTINATION = "1:1", "1:2", 16

MOST_HOSTS = 200


class TestbedError(Exception):
    """An obstacle to the test bed, in one line."""


@dataclass(frozen=True)
class Rates:
    """The shapers' rates, bytes/s on the wire."""

    hosts: list[str]
    out: list[float]
    into: list[float]
    pairs: list[list[float]]


@dataclass(frozen=True)
class Disturbance:
    """What each cable does to the packets in either direction."""

    delay_s: float = 0.0
    # Mean of the further, exponentially distributed delay; packets keep their order.
    jitter_s: float = 0.0
    # Probability that a packet is lost.
    loss: float = 0.0
    seed: int = 1

    def __post_init__(self) -> None:
        if not (self.delay_s >= 0 and self.jitter_s >= 0 and 0 <= self.loss < 1):
            raise TestbedError(
                f"delay {self.delay_s} s, jitter {self.jitter_s} s, loss {self.loss}:"
                " give times from 0 on and a probability below 1"
            )


def rates_of(platform: bl.Platform) -> Rates:
    """Raises TestbedError for what shapers lack: switches, shared pipes, gap tables, added latency."""
    document = platform.to_dict()
    hosts = platform.hosts
    if not 2 <= len(hosts) <= MOST_HOSTS:
        raise TestbedError(f"{platform.name} has {len(hosts)} hosts; this bed takes 2 to {MOST_HOSTS}")
    if len(platform.nodes) != len(hosts):
        raise TestbedError(
            f"{platform.name} has switches, which this bed cannot lay out; give links by pairs"
        )
    if document.get("shared"):
        pipe = document["shared"][0]["id"]
        raise TestbedError(f'{platform.name}: shaped hosts share no pipe "{pipe}"; use testbeds/smpi for it')
    pairs = [[pair_rate(platform, one, other) for other in hosts] for one in hosts]
    columns = [[row[column] for row in pairs] for column in range(len(hosts))]
    nodes = document["nodes"]
    out = [node.get("out_bytes_per_s") or max(row) for node, row in zip(nodes, pairs, strict=True)]
    into = [node.get("in_bytes_per_s") or max(column) for node, column in zip(nodes, columns, strict=True)]
    return Rates(hosts, out, into, pairs)


def pair_rate(platform: bl.Platform, one: str, other: str) -> float:
    if one == other:
        return 0.0
    link: dict[str, Any] | None = platform.link(one, other)
    pair = f"{platform.name}: the link {one} to {other}"
    if link is None:
        raise TestbedError(f"{pair} is missing; MPI needs one for any two hosts")
    if link.get("gap") or link.get("startup_s"):
        raise TestbedError(
            f"{pair} has a gap table or start-up time; give it a bandwidth, which can be shaped"
        )
    if link.get("latency_s", 0.0) > MOST_LATENCY_S:
        raise TestbedError(
            f"{pair} asks for {link['latency_s']} s; this bed adds no latency, testbeds/smpi does"
        )
    if "bandwidth_bytes_per_s" not in link:
        raise TestbedError(f"{pair} is unlimited; give it a bandwidth to shape it to")
    return float(link["bandwidth_bytes_per_s"])


def tool(*command: str, lines: list[str] | None = None) -> str:
    """The output of an administrator's command; `lines` are its standard input."""
    text = None if lines is None else "\n".join(lines) + "\n"
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        package = "a C compiler" if command[0] == "cc" else "iproute2"
        raise TestbedError(f"{command[0]} is missing; install {package}") from None
    if done.returncode:
        said = (done.stderr.strip() or "no message").splitlines()[0]
        raise TestbedError(f"{' '.join(command)}: {said} (namespaces need root and CAP_NET_ADMIN)")
    return done.stdout


class Network:
    """The namespaces NAME-0, NAME-1, ... and NAME-switch; a context manager that removes them again."""

    def __init__(
        self, name: str, rates: Rates, lump: int = 1, disturbance: Disturbance | None = None
    ) -> None:
        """`lump` packets may pass a shaper as one: a pass takes time of processors that all hosts share."""
        self.name = name
        self.rates = rates
        self.lump = lump
        self.disturbance = disturbance
        self.relay: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Network:
        self.up()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        down(self.name)
        if self.relay is not None:
            self.relay.wait()

    def namespace(self, host: str) -> str:
        return f"{self.name}-{self.rates.hosts.index(host)}"

    def up(self) -> None:
        """Raises TestbedError, leaving nothing behind, if a namespace of that name exists or a step fails."""
        existing = namespaces(self.name)
        if existing:
            raise TestbedError(f"namespace {existing[0]} exists; take it down first or use another --name")
        try:
            self.lay_cables()
            for index in range(len(self.rates.hosts)):
                self.shape(index)
        except BaseException:
            down(self.name)
            raise

    def lay_cables(self) -> None:
        switch, hosts = f"{self.name}-switch", self.rates.hosts
        tool("ip", "netns", "add", switch)
        tool("ip", "-n", switch, "link", "add", "bridge0", "type", "bridge")
        tool("ip", "-n", switch, "link", "set", "bridge0", "up")
        names = ["127.0.0.1 localhost", *(f"{address(index)} {host}" for index, host in enumerate(hosts))]
        for index in range(len(hosts)):
            mine, port = f"{self.name}-{index}", f"port{index}"
            tool("ip", "netns", "add", mine)
            folder = Path("/etc/netns") / mine
            folder.mkdir(parents=True)
            (folder / "hosts").write_text("\n".join(names) + "\n")
            if self.disturbance is None:
                ends = ["e0", "netns", mine, "type", "veth", "peer", "name", port, "netns", switch]
                tool("ip", "link", "add", *ends)
        if self.disturbance is not None:
            self.relay = start_relay(self.name, len(hosts), self.disturbance)
        for index in range(len(hosts)):
            mine, port = f"{self.name}-{index}", f"port{index}"
            # One packet at a time, or a few: packets of 64 KiB would pass a shaper in lumps.
            segments = str(self.lump)
            tool("ip", "-n", mine, "link", "set", "e0", "gso_max_segs", segments)
            tool("ip", "-n", switch, "link", "set", port, "gso_max_segs", segments, "master", "bridge0", "up")
            tool("ip", "-n", mine, "addr", "add", f"{address(index)}/24", "dev", "e0")
            tool("ip", "-n", mine, "link", "set", "e0", "up")
            tool("ip", "-n", mine, "link", "set", "lo", "up")
            settings = [
                # The machine's default may pace by itself (bbr); a namespace may always choose reno.
                "net.ipv4.tcp_congestion_control=reno",
                "net.ipv4.tcp_slow_start_after_idle=0",
                "net.ipv4.tcp_no_metrics_save=1",
            ]
            tool("ip", "netns", "exec", mine, "sysctl", "-q", "-w", *settings)

    def shape(self, index: int) -> None:
        rates, mine = self.rates, f"{self.name}-{index}"
        lines = root_class("e0", rates.out[index])
        for other in range(len(rates.hosts)):
            if other != index:
                lines += destination_class("e0", other, rates.pairs[index][other])
        tool("ip", "netns", "exec", mine, "tc", "-batch", "-", lines=lines)
        port = root_class(f"port{index}", rates.into[index])
        tool("ip", "netns", "exec", f"{self.name}-switch", "tc", "-batch", "-", lines=port)

    def set_pair_rate(self, one: str, other: str, bytes_per_s: float) -> None:
        """Changes the rate from one host to another while programs run."""
        line = destination_rate("change", "e0", self.rates.hosts.index(other), bytes_per_s)
        tool("ip", "netns", "exec", self.namespace(one), "tc", "-batch", "-", lines=[line])

    def set_port_rate(self, host: str, bytes_per_s: float) -> None:
        """Changes the rate at which a host sends to all others together, while programs run."""
        line = port_rate("change", "e0", bytes_per_s)
        tool("ip", "netns", "exec", self.namespace(host), "tc", "-batch", "-", lines=[line])


def start_relay(name: str, hosts: int, disturbance: Disturbance) -> subprocess.Popen[bytes]:
    """Lays the cables of a network's namespaces as devices of a process, which ends with the network."""
    with tempfile.TemporaryDirectory(prefix="broadleaf-relay-") as folder:
        relay = Path(folder) / "relay"
        source = Path(__file__).with_name("relay.c")
        tool("cc", "-O2", str(source), "-o", str(relay), "-lm")
        laws = [disturbance.delay_s, disturbance.jitter_s, disturbance.loss, disturbance.seed]
        command = [str(relay), name, str(hosts), *map(str, laws)]
        # A separate session: an interrupt ends the programs first.
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
        assert process.stdout is not None
        with process.stdout:
            said = process.stdout.readline().decode().strip()
        if said != "ready":
            process.wait()
            raise TestbedError(f"the relay of packets did not start: {said} (it needs root and /dev/net/tun)")
    return process


def address(index: int) -> str:
    return f"10.77.0.{index + 1}"


def rate(bytes_per_s: float) -> str:
    return f"{max(1, round(bytes_per_s * 8))}bit"


def limits(least: str, most: str) -> str:
    return f"htb rate {least} ceil {most} burst {BURST_BYTES} cburst {BURST_BYTES} quantum 1514"


def root_class(device: str, bytes_per_s: float) -> list[str]:
    nic = rate(bytes_per_s)
    return [
        f"qdisc add dev {device} root handle 1: htb default {OTHERS.split(':')[1]}",
        port_rate("add", device, bytes_per_s),
        f"class add dev {device} parent {NIC} classid {OTHERS} {limits('1mbit', nic)}",
        f"qdisc add dev {device} parent {OTHERS} pfifo limit {QUEUE_PACKETS}",
    ]


def port_rate(verb: str, device: str, bytes_per_s: float) -> str:
    nic = rate(bytes_per_s)
    return f"class {verb} dev {device} parent 1: classid {NIC} {limits(nic, nic)}"


def destination_rate(verb: str, device: str, other: int, bytes_per_s: float) -> str:
    # All borrow from the NIC in equal parts, up to their own rate.
    classid = f"1:{FIRST_DESTINATION + other:x}"
    return f"class {verb} dev {device} parent {NIC} classid {classid} {limits('100kbit', rate(bytes_per_s))}"


def destination_class(device: str, other: int, bytes_per_s: float) -> list[str]:
    classid = f"1:{FIRST_DESTINATION + other:x}"
    match = f"u32 match ip dst {address(other)}/32 flowid {classid}"
    return [
        destination_rate("add", device, other, bytes_per_s),
        f"qdisc add dev {device} parent {classid} pfifo limit {QUEUE_PACKETS}",
        f"filter add dev {device} parent 1: protocol ip prio 1 {match}",
    ]


def namespaces(name: str) -> list[str]:
    """The namespaces of a network of that name."""
    listed = [line.split()[0] for line in tool("ip", "netns", "list").splitlines() if line.strip()]
    tails = [(entry, entry.removeprefix(f"{name}-")) for entry in listed if entry.startswith(f"{name}-")]
    return [entry for entry, tail in tails if tail == "switch" or tail.isdigit()]


def down(name: str) -> list[str]:
    """Ends all processes in the network's namespaces, removes these, and returns their names."""
    removed = namespaces(name)
    for entry in removed:
        end_processes(entry)
        tool("ip", "netns", "del", entry)
        shutil.rmtree(Path("/etc/netns") / entry, ignore_errors=True)
    return removed


def end_processes(namespace: str) -> None:
    """Ends all processes in a namespace, in which only this bed starts processes."""
    for kind in (signal.SIGTERM, signal.SIGKILL):
        pids = [int(pid) for pid in tool("ip", "netns", "pids", namespace).split()]
        for pid in pids:
            try:
                os.kill(pid, kind)
            except ProcessLookupError:
                continue
        if not pids:
            return
        time.sleep(0.2)
