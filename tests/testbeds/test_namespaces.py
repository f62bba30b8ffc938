"""testbeds/namespaces: real MPI over shaped TCP, and nothing left behind whatever happens."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import broadleaf as bl
from beds import ROOT, can_make_namespaces, prefix
from broadleaf.mpi import find_mpi

RUN = ROOT / "testbeds/namespaces/run.py"
PROGRAM = ROOT / "testbeds/bcast.c"
MPIS = ["openmpi", "mpich"]
MEBIBYTE = 1 << 20


pytestmark = pytest.mark.skipif(not can_make_namespaces(), reason="network namespaces need root and iproute2")


def bed(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(RUN), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def left_behind(name: str) -> list[str]:
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    spaces = [line.split()[0] for line in listed.splitlines() if line.startswith(f"{name}-")]
    return spaces + [path.name for path in Path("/etc/netns").glob(f"{name}-*")]


@pytest.fixture
def name() -> str:
    """Of this test's namespaces; a bed of another test run is not disturbed."""
    return f"bltest{os.getpid()}"


def two_hosts(folder: Path, **link: Any) -> Path:
    path = folder / "two-hosts.json"
    document = {
        "format": "broadleaf-platform/1",
        "name": "two-hosts",
        "port_model": "multi-port",
        "nodes": [{"id": "left", "out_bytes_per_s": 1.25e7}, {"id": "right"}],
        "links": [
            {"from": "left", "to": "right", "bandwidth_bytes_per_s": 2.5e7},
            {"from": "right", "to": "left", **{"bandwidth_bytes_per_s": 2.5e6, **link}},
        ],
    }
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("mpi", MPIS)
def test_transfers_take_the_shaped_rate(mpi: str, name: str, tmp_path: Path) -> None:
    """Left to right the NIC limits (12.5 MB/s), right to left the pair (2.5 MB/s)."""
    platform, size = two_hosts(tmp_path), 4 * MEBIBYTE
    for root, bytes_per_s in (("0", 1.25e7), ("1", 2.5e6)):
        done = bed(
            *("run", platform, "--name", name, "--mpi", prefix(mpi), "--"), *(PROGRAM, str(size), "2", root)
        )
        assert done.returncode == 0, done.stderr
        seconds = [float(s) for s in re.findall(r"ranks=2 .* seconds=([0-9.]+) wrong_bytes=0", done.stdout)]
        assert len(seconds) == 2, done.stdout
        # Never faster than the wire but for a burst; slower by TCP's headers, and by what else runs here.
        assert all(0.97 * size / bytes_per_s < taken < 2.0 * size / bytes_per_s for taken in seconds), seconds
    assert left_behind(name) == []


@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize("ranks", [3, 11])
def test_any_number_of_ranks(mpi: str, ranks: int, name: str) -> None:
    platform = ROOT / "testbeds/namespaces/two-clusters.json"
    done = bed(
        *("run", platform, "--name", name, "--mpi", prefix(mpi), "-n", str(ranks), "--"),
        *(PROGRAM, "100000", "1", str(ranks - 1)),
    )
    assert f"ranks={ranks} bytes=100000" in done.stdout, done.stderr
    assert "wrong_bytes=0" in done.stdout
    assert left_behind(name) == []


def test_a_rate_changes_while_the_network_stands(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The same transfer before and after its pair is slowed from 25 (the NIC: 12.5) to 1.25 MB/s."""
    monkeypatch.syspath_prepend(str(RUN.parent))
    names = ("launch", "network", "run")
    for module in names:
        # Another bed has modules of these names too.
        monkeypatch.delitem(sys.modules, module, raising=False)
    launch, network, run = map(importlib.import_module, names)
    rates = network.rates_of(bl.Platform.load(two_hosts(tmp_path)))
    mpi = prefix("mpich")
    program = [str(run.build(PROGRAM, mpi, tmp_path)), str(MEBIBYTE)]
    with network.Network(name, rates) as bed:
        agent = launch.write_agent(bed, tmp_path)

        def fastest_s() -> float:
            """Of three: a busy machine only ever adds to the time."""
            command, environment = launch.command_of(mpi, bed, agent, 2, [], program)
            for _ in range(3):
                assert run.bounded(command, environment, 60) == 0
            return min(map(float, re.findall(r"seconds=([0-9.]+)", capfd.readouterr().out)))

        before = fastest_s()
        bed.set_pair_rate("left", "right", 1.25e6)
        after = fastest_s()
    assert 0.97 * MEBIBYTE / 1.25e7 < before < 0.5
    assert 0.97 * MEBIBYTE / 1.25e6 < after < 1.7
    assert left_behind(name) == []


def test_the_statistics_show_a_rate_that_is_halved_in_mid_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the receiver sees it: the root has handed everything to TCP long before."""
    monkeypatch.syspath_prepend(str(RUN.parent))
    names = ("changing", "launch", "network", "run")
    for module in names:
        # Another bed has modules of these names too.
        monkeypatch.delitem(sys.modules, module, raising=False)
    changing, launch, network, run = map(importlib.import_module, names)
    platform, stats, mpi = two_hosts(tmp_path), tmp_path / "stats.json", prefix("openmpi")
    variables = {
        "LD_PRELOAD": str(find_mpi("openmpi").runtime),
        "BROADLEAF_PLATFORM": str(platform),
        "BROADLEAF_STATS": str(stats),
    }
    line = ["env", *(f"{name}={value}" for name, value in variables.items())]
    line += [str(run.build(PROGRAM, mpi, tmp_path)), str(MEBIBYTE), "6", "1"]
    with network.Network(name, network.rates_of(bl.Platform.load(platform))) as bed:
        agent = launch.write_agent(bed, tmp_path)
        command, environment = launch.command_of(mpi, bed, agent, 2, [], line)
        environment["TMPDIR"] = str(tmp_path)

        def change() -> None:
            bed.set_pair_rate("right", "left", 1.25e6)

        printed = changing.run_changing(command, environment, 3, change, 100)
    assert len(printed) == 6
    (row,) = json.loads(stats.read_text())["broadcasts"]
    assert row["planned"] == 6
    latest = row["latest_s"]
    # A busy machine only adds to the time. The fourth may have begun before the change.
    before, after = min(latest[1:3]), min(latest[4:])
    assert 0.97 * MEBIBYTE / 2.5e6 < before < 0.95 * after, latest
    assert after > 0.97 * MEBIBYTE / 1.25e6, latest
    assert left_behind(name) == []


def test_nothing_is_left_after_a_failing_program_and_its_code_is_kept(name: str, tmp_path: Path) -> None:
    failing = tmp_path / "failing.c"
    failing.write_text("#include <stdlib.h>\nint main(void) { exit(7); }\n")
    done = bed("run", two_hosts(tmp_path), "--name", name, "--mpi", prefix("openmpi"), "--", failing)
    assert done.returncode == 7
    assert left_behind(name) == []


def test_nothing_is_left_after_the_time_limit(name: str, tmp_path: Path) -> None:
    done = bed(
        *("run", two_hosts(tmp_path), "--name", name, "--mpi", prefix("mpich"), "--timeout", "3"),
        *("--", "/bin/sleep", "77"),
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("namespaces: the program still runs after 3 s")
    assert left_behind(name) == []
    assert not running("/bin/sleep 77")


def test_nothing_is_left_after_a_signal(name: str, tmp_path: Path) -> None:
    command = [sys.executable, str(RUN), "run", str(two_hosts(tmp_path)), "--name", name]
    command += ["--mpi", str(prefix("openmpi"))]
    with subprocess.Popen([*command, "--", "/bin/sleep", "78"], stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 30
        while not running("/bin/sleep 78") and time.monotonic() < deadline:
            time.sleep(0.1)
        assert running("/bin/sleep 78")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 128 + signal.SIGTERM
    assert left_behind(name) == []
    assert not running("/bin/sleep 78")


def running(command: str) -> bool:
    """Whether a process has exactly that command line."""
    found = subprocess.run(["pgrep", "-fx", command], capture_output=True)
    return found.returncode == 0


def test_up_and_down(name: str, tmp_path: Path) -> None:
    platform = two_hosts(tmp_path)
    try:
        assert bed("up", platform, "--name", name).stdout.startswith(f"up: {name}-0")
        ping = ["ip", "netns", "exec", f"{name}-0", "ping", "-c1", "-W5", "10.77.0.2"]
        if shutil.which("ping"):
            assert subprocess.run(ping, capture_output=True).returncode == 0
        again = bed("up", platform, "--name", name)
        assert again.returncode == 2
        assert "exists; take it down first" in again.stderr
        assert len(left_behind(name)) == 5, "the refused second one must not take the first down"
    finally:
        assert bed("down", "--name", name).stdout == "down: 3 namespaces\n"
    assert left_behind(name) == []
    assert bed("down", "--name", name).stdout == "down: 0 namespaces\n"


ECHO = """
import socket
end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end.bind(("", 7777))
print("bound", flush=True)
while True:
    packet, sender = end.recvfrom(100)
    end.sendto(packet, sender)
"""

ROUND_TRIPS = """
import socket, sys, time
end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end.settimeout(float(sys.argv[1]))
for number in range(100):
    began_s = time.monotonic()
    end.sendto(b"%d" % number, ("10.77.0.2", 7777))
    try:
        while end.recv(100) != b"%d" % number:
            pass
        print(time.monotonic() - began_s)
    except TimeoutError:
        pass
"""


@pytest.mark.skipif(not Path("/dev/net/tun").exists(), reason="the relay of packets needs /dev/net/tun")
@pytest.mark.parametrize(
    ("law", "delay_s", "arriving"), [("delay", 0.01, 1.0), ("jitter", 0.003, 1.0), ("loss", 0.0, 0.9**4)]
)
def test_cables_delay_and_lose_packets(
    law: str, delay_s: float, arriving: float, name: str, tmp_path: Path
) -> None:
    try:
        value = str(delay_s or 0.1)
        up = bed("up", two_hosts(tmp_path), "--name", name, f"--{law}", value)
        assert up.returncode == 0, up.stderr
        inside = [["ip", "netns", "exec", f"{name}-{host}", sys.executable, "-c"] for host in range(2)]
        with subprocess.Popen([*inside[1], ECHO], stdout=subprocess.PIPE) as echo:
            assert echo.stdout is not None
            echo.stdout.readline()
            # A busy machine may keep a packet for a while; only a lost one is waited for in vain.
            patience_s = "0.3" if law == "loss" else "10"
            command = [*inside[0], ROUND_TRIPS, patience_s]
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
            finally:
                echo.kill()
    finally:
        bed("down", "--name", name)
    assert left_behind(name) == []
    round_trips_s = [float(line) for line in done.stdout.split()]
    # There and back, two cables each; 100 packets, with five standard deviations.
    mean_s = sum(round_trips_s) / len(round_trips_s)
    assert mean_s >= 4 * delay_s * (0.75 if law == "jitter" else 1.0)
    if law == "delay":
        assert min(round_trips_s) >= 4 * delay_s
    assert abs(len(round_trips_s) - 100 * arriving) <= 5 * (100 * arriving * (1 - arriving)) ** 0.5


@pytest.mark.parametrize(("option", "value"), [("--delay", "-1"), ("--jitter", "nan"), ("--loss", "1")])
def test_an_impossible_disturbance_is_one_line(option: str, value: str, name: str, tmp_path: Path) -> None:
    done = bed("up", two_hosts(tmp_path), "--name", name, option, value)
    assert done.returncode == 2
    assert "give times from 0 on and a probability below 1" in done.stderr
    assert left_behind(name) == []


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ({"latency_s": 0.01}, "this bed adds no latency"),
        ({"bandwidth_bytes_per_s": None}, "is unlimited"),
        ({"bandwidth_bytes_per_s": None, "gap": [[1, 1]]}, "has a gap table"),
        ({"to": "nobody"}, "unknown node id"),
    ],
)
def test_what_cannot_be_shaped_is_one_line(
    link: dict[str, Any], message: str, name: str, tmp_path: Path
) -> None:
    done = bed("up", two_hosts(tmp_path, **link), "--name", name)
    assert done.returncode == 2
    assert done.stderr.startswith("namespaces: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
    assert left_behind(name) == []


def test_a_folder_without_mpi_is_one_line(name: str, tmp_path: Path) -> None:
    done = bed("run", two_hosts(tmp_path), "--name", name, "--mpi", tmp_path, "--", "/bin/true")
    assert done.returncode == 2
    assert "holds neither Open MPI nor MPICH" in done.stderr
    assert left_behind(name) == []
