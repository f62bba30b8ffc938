"""testbeds/smpi: simulated transfers have the platform's times, to ten nanoseconds."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
RUN = ROOT / "testbeds/smpi/run.py"
PROGRAM = ROOT / "testbeds/bcast.c"
MEBIBYTE = 1 << 20
# With the 16 bytes that SMPI puts before every message.
SENT_BYTES = MEBIBYTE + 16

pytestmark = pytest.mark.skipif(
    shutil.which("smpirun") is None,
    reason="SimGrid is not installed (Debian: apt-get install libsimgrid-dev)",
)


def smpi(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(RUN), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def second_broadcast_s(
    platform: Path, hosts: list[str], folder: Path, *options: str, size: int = MEBIBYTE
) -> float:
    """Simulated time of a broadcast of `size` bytes from the first of the hosts to the others."""
    (folder / "hosts").write_text("".join(f"{host}\n" for host in hosts))
    done = smpi(platform, "--hosts", folder / "hosts", *options, "--", PROGRAM, str(size), "2")
    assert done.returncode == 0, done.stderr
    found = re.findall(r"seconds=([0-9.]+) wrong_bytes=0$", done.stdout, re.MULTILINE)
    assert len(found) == 2, done.stdout
    return float(found[1])


def platform_file(folder: Path, **fields: Any) -> Path:
    path = folder / "platform-under-test.json"
    path.write_text(
        json.dumps({"format": "broadleaf-platform/1", "name": "t", "port_model": "one-port", **fields})
    )
    return path


# Between clusters as zones (the named platforms): latency + bytes / slowest rate on the way.
@pytest.mark.parametrize(
    ("name", "hosts", "seconds"),
    [
        ("grid5000-88", ["c0-0", "c0-30"], 47.56e-6 + SENT_BYTES / 125e6),
        ("grid5000-88", ["c4-0", "c3-0"], 242.47e-6 + SENT_BYTES / 125e6),
        ("grid5000-88", ["c5-19", "c1-0"], 5211.47e-6 + SENT_BYTES / 125e6),
        ("teragrid-64", ["c2-0", "c1-7"], 200e-6 + SENT_BYTES / 12.5e6),
        ("teragrid-64", ["c2-0", "c8-0"], 34.5e-3 + SENT_BYTES / 5e6),
    ],
)
def test_a_transfer_between_clusters(name: str, hosts: list[str], seconds: float, tmp_path: Path) -> None:
    simulated = second_broadcast_s(ROOT / f"platforms/{name}.json", hosts, tmp_path)
    assert simulated == pytest.approx(seconds, abs=1e-8)


def test_two_transfers_through_one_pipe_halve_its_rate(tmp_path: Path) -> None:
    """Both leave San Diego through its 5 MB/s; the hosts' NICs could carry more."""
    hosts = ["c1-0", "c7-0", "c8-0"]
    both = second_broadcast_s(ROOT / "platforms/teragrid-64.json", hosts, tmp_path, "--bcast", "flattree")
    assert both == pytest.approx(34.5e-3 + 2 * SENT_BYTES / 5e6, abs=1e-8)


def test_pairs_with_rates_of_their_own(tmp_path: Path) -> None:
    """No clusters, so every pair has a route: a slow pair, a NIC, an override, and a half-duplex pipe."""
    platform = platform_file(
        tmp_path,
        port_model="multi-port",
        nodes=[{"id": "a", "out_bytes_per_s": 4e7}, {"id": "b"}, {"id": "c"}],
        shared=[{"id": "pipe", "bandwidth_bytes_per_s": 2e6}],
        meshes=[{"nodes": ["a", "b", "c"], "link": {"latency_s": 1e-3, "bandwidth_bytes_per_s": 1e8}}],
        links=[
            {"from": "b", "to": "a", "latency_s": 2e-3, "bandwidth_bytes_per_s": 1e7},
            {"from": "b", "to": "c", "both_ways": True, "bandwidth_bytes_per_s": 1e8, "uses": ["pipe"]},
        ],
    )
    for hosts, seconds in [
        (["a", "b"], 1e-3 + SENT_BYTES / 4e7),
        (["b", "a"], 2e-3 + SENT_BYTES / 1e7),
        (["c", "a"], 1e-3 + SENT_BYTES / 1e8),
        (["c", "b"], SENT_BYTES / 2e6),
    ]:
        assert second_broadcast_s(platform, hosts, tmp_path) == pytest.approx(seconds, abs=1e-8), hosts


def test_a_whole_platform_runs_and_the_algorithm_matters(tmp_path: Path) -> None:
    hosts = [f"c0-{i}" for i in range(16)]
    smp = ROOT / "platforms/smp-16.json"
    flat = second_broadcast_s(smp, hosts, tmp_path, "--bcast", "flattree")
    # The root's NIC carries the message fifteen times.
    assert flat == pytest.approx(15 * SENT_BYTES / 125e6 + 50e-6, abs=1e-8)
    binomial = second_broadcast_s(smp, hosts, tmp_path, "--bcast", "binomial_tree")
    assert 4 * SENT_BYTES / 125e6 < binomial < 5 * SENT_BYTES / 125e6


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"links": [{"from": "a", "to": "b", "both_ways": True, "gap": [[1, 1]]}]}, "SimGrid has no gap"),
        ({"links": [{"from": "a", "to": "b", "latency_s": 1}]}, 'no link leads from "b" to "a"'),
        ({"nodes": [{"id": "a"}, {"id": "b", "kind": "switch"}]}, 'switch "b" cannot be simulated'),
        ({"nodes": [{"id": "a"}, {"id": "b", "local_broadcast_s": 1}]}, '"b" stands for a whole cluster'),
        ({"nodes": []}, "the platform has no host"),
    ],
)
def test_what_cannot_be_simulated_is_one_line(fields: dict[str, Any], message: str, tmp_path: Path) -> None:
    platform = platform_file(tmp_path, **{"nodes": [{"id": "a"}, {"id": "b"}], **fields})
    assert_refused(smpi(platform, "--", PROGRAM, "1"), message)


def test_other_bad_input_is_one_line(tmp_path: Path) -> None:
    smp = ROOT / "platforms/smp-16.json"
    broken = tmp_path / "broken.c"
    broken.write_text("int main(void) { return nothing; }\n")
    assert_refused(smpi(tmp_path / "none.json", "--", PROGRAM, "1"), "none.json")
    assert_refused(smpi(tmp_path / "some.xml", "--", PROGRAM, "1"), "needs --hosts")
    assert_refused(smpi(smp, "--", broken), "smpicc cannot build")
    assert_refused(smpi(smp, "--", tmp_path / "none", "1"), "none")
    assert_refused(smpi(smp, "--bcast", "nonesuch", "--", PROGRAM, "1"), "no algorithm 'nonesuch'")
    assert_refused(smpi(smp, "--cfg", "smpi", "--", PROGRAM, "1"), "KEY:VALUE")
    assert_refused(smpi(smp, "--timeout", "0.05", "--", PROGRAM, "1048576", "2"), "still runs after 0.05 s")


def assert_refused(done: subprocess.CompletedProcess[str], message: str) -> None:
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.startswith("smpi: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stdout == ""


def test_what_an_aborting_program_says_is_seen() -> None:
    done = smpi(ROOT / "platforms/smp-16.json", "-n", "2", "--", PROGRAM, "many")
    assert '"many" is not a list of sizes' in done.stderr


def test_a_rate_that_changes(tmp_path: Path) -> None:
    """Half of a pipe is gone from early on, and back before a later broadcast; both as in the profile."""
    rates = tmp_path / "rates.json"
    hosts = ["c2-0", "c8-0"]
    platform = ROOT / "platforms/teragrid-64.json"
    # Programs start half a second ahead; each broadcast takes less than a second.
    rates.write_text(json.dumps({"access-sdsc-out": [[0.1, 0.5]]}))
    slow = second_broadcast_s(platform, hosts, tmp_path, "--rates", rates)
    assert slow == pytest.approx(34.5e-3 + SENT_BYTES / 2.5e6, abs=1e-8)
    rates.write_text(json.dumps({"access-sdsc-out": [[0.1, 0.5], [1.2, 1.0]]}))
    back = second_broadcast_s(platform, hosts, tmp_path, "--rates", rates)
    assert back == pytest.approx(34.5e-3 + SENT_BYTES / 5e6, abs=1e-8)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"no-such-pipe": [[0, 0.5]]}, "no-such-pipe"),
        ({"access-sdsc-out": [[0, 0]]}, "factor above 0"),
        ({"access-sdsc-out": [[2, 0.5], [1, 0.5]]}, "rising times"),
        ({"access-sdsc-out": 3}, "[seconds, factor]"),
        ([], "no object"),
    ],
)
def test_rates_that_say_nothing_are_refused(document: Any, words: str, tmp_path: Path) -> None:
    rates = tmp_path / "rates.json"
    rates.write_text(json.dumps(document))
    done = smpi(ROOT / "platforms/teragrid-64.json", "--rates", rates, "--", PROGRAM, "8", "1")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert words in done.stderr
