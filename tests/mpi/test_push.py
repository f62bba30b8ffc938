"""`broadleaf push` for real: ranks of this machine with several host names, and faults."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import broadleaf as bl
from broadleaf.mpi import Mpi, find_mpi
from broadleaf.mpi.job import termination_raises
from broadleaf.mpi.own_rank import OwnRank, own_rank
from broadleaf.pushing import owner_of
from broadleaf.pushing.job import lost_host

if TYPE_CHECKING:
    from conftest import Bench

TIMEOUT_S = 120
BLOCK = 4 << 20
# Three, and in one test four.
HOSTS = 3


def command(mpi: Mpi, *arguments: str) -> list[str]:
    launcher = ["--mpiexec", str(mpi.mpiexec)]
    return [sys.executable, "-m", "broadleaf", "push", *arguments, *launcher]


def push(bench: Bench, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    words = command(bench.mpi, *arguments)
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S)


def told(done: subprocess.CompletedProcess[str], code: int = 0) -> dict[str, Any]:
    assert done.returncode == code, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    assert document["complete"] == (code == 0)
    return document


def ranks_of(folder: Path) -> list[int]:
    """The push program's processes that work for a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if "broadleaf-push" in Path(words[0]).name and str(folder) in " ".join(words):
            found.append(int(entry.name))
    return found


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    assert condition()


@pytest.fixture
def targets(tmp_path: Path) -> Path:
    """A folder for each host, in which the push goes to `out`."""
    for host in range(HOSTS):
        (tmp_path / f"host{host}").mkdir()
    return tmp_path


def test_a_file_and_what_changes_in_it(
    hosts_of: Bench, targets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROADLEAF_STATS", str(targets / "stats.json"))
    source = targets / "source"
    data = bytearray(os.urandom(9 * BLOCK + 5))
    source.write_bytes(data)
    words = ("source", "--to", f"{targets}/{{host}}/out", "-n", str(HOSTS), "--json")
    document = told(push(hosts_of, targets, *words, "--mode", "640", "--verify"))
    assert [host["host"] for host in document["hosts"]] == ["host0", "host1", "host2"]
    assert document["bytes"] == len(data)
    assert {host["digest"] for host in document["hosts"]} == {document["digest"]}
    for host in range(HOSTS):
        out = targets / f"host{host}" / "out"
        assert out.read_bytes() == data
        assert out.stat().st_mode & 0o7777 == 0o640
        assert out.stat().st_mtime_ns == source.stat().st_mtime_ns
        assert [path.name for path in out.parent.iterdir()] == ["out"]
    # Windows of 8 MiB travel by a plan.
    assert json.loads((targets / "stats.json").read_text())["planned"] >= 4

    data[5 * BLOCK] ^= 1
    source.write_bytes(data)
    (targets / "host2" / "out").write_bytes(data)
    received = [host["written_bytes"] for host in told(push(hosts_of, targets, *words))["hosts"]]
    assert received == [BLOCK, BLOCK, 0]
    assert (targets / "host1" / "out").read_bytes() == data


def test_a_folder_to_full_disks_and_others(hosts_of: Bench, targets: Path) -> None:
    folder = targets / "source"
    (targets / "host3").mkdir()
    (folder / "deep").mkdir(parents=True)
    for number in range(200):
        (folder / "deep" / f"file{number}").write_bytes(os.urandom(10_000))
    words = command(hosts_of.mpi, "source", "--to", f"{targets}/{{host}}/out", "-n", "4", "--json")
    # One disk is too small from the beginning; on the other there is no room for the 51st file.
    small = f"mount -t tmpfs -o size=1m none {targets}/host1"
    small += f" && mount -t tmpfs -o size=64m,nr_inodes=50 none {targets}/host2"
    inside = ["unshare", "--mount", "/bin/sh", "-c", f'{small} && exec "$0" "$@"', *words]
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        pytest.skip("mount namespaces cannot be had here; run as root")
    done = subprocess.run(inside, cwd=targets, capture_output=True, text=True, timeout=TIMEOUT_S)
    hosts = told(done, 1)["hosts"]
    assert hosts[1]["fault"].startswith(f"{targets}/host1/out: 2000000 bytes are needed and ")
    assert hosts[1]["digest"] is None
    assert hosts[2]["fault"].startswith(f"{targets}/host2/out/deep/file")
    assert hosts[2]["fault"].endswith("No space left on device; free space there, and push again")
    assert hosts[2]["digest"] is None
    assert [hosts[0]["fault"], hosts[3]["fault"]] == [None, None]
    for number in (0, 199):
        wanted = (folder / "deep" / f"file{number}").read_bytes()
        assert (targets / "host3/out/deep" / f"file{number}").read_bytes() == wanted


def test_a_full_disk_with_an_older_version_is_not_left_full(hosts_of: Bench, targets: Path) -> None:
    data = os.urandom(3 * BLOCK)
    (targets / "source").write_bytes(data)
    (targets / "older").write_bytes(os.urandom(BLOCK) + data[BLOCK : 2 * BLOCK])
    words = command(hosts_of.mpi, "source", "--to", f"{targets}/{{host}}/out", "-n", "2", "--json")
    # No room for a copy of the block that the older version has.
    line = f"mount -t tmpfs -o size=10m none {targets}/host1 && cp older host1/out"
    line += ' && "$0" "$@"; code=$?; ls -A host1 >&2; exit $code'
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        pytest.skip("mount namespaces cannot be had here; run as root")
    inside = ["unshare", "--mount", "/bin/sh", "-c", line, *words]
    done = subprocess.run(inside, cwd=targets, capture_output=True, text=True, timeout=TIMEOUT_S)
    fault = told(done, 1)["hosts"][1]["fault"]
    assert fault == f"{targets}/host1/out: No space left on device; free space there, and push again"
    assert done.stderr.split() == ["out"]
    assert (targets / "host0/out").read_bytes() == data


def test_more_sources_than_one_argument_holds(bench: Bench, targets: Path) -> None:
    names = [f"{number:0200}" for number in range(800)]
    for name in names:
        (targets / name).write_text(name)
    done = push(bench, targets, *names, "--to", "host{rank}/out", "-n", "2", "--json")
    assert told(done)["files"] == len(names)
    assert (targets / "host1/out" / names[-1]).read_text() == names[-1]


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        (("none", "--to", "out", "-n", "2"), ["none: no such file or folder; name one"]),
        (("source", "--to", "out"), ["no hosts to push to", "-n"]),
        (("source", "--to", "out", "-n", "2", "--limit", "fast"), ["fast"]),
        (("source", "--to", "out", "-n", "2", "--mode", "9"), ["'9' is no mode"]),
        (("source", "--to", "out", "-n", "2", "--owner", "no such user"), ["no user 'no such user'"]),
        (("source", "--to", "out", "-n", "2", "--platform", "none.json"), ["none.json"]),
        (("source", "--to", "out", "-n", "2", "--report", "r.html"), ["a report needs the network"]),
        (("--to", "out", "-n", "2"), ["SOURCE"]),
        (("source", "--to", "", "-n", "2"), ["nowhere to push to; name a path with --to"]),
        (("source", "--to", os.fsdecode(b"\xff"), "-n", "2"), ["\\udcff: the name is no UTF-8 text"]),
        (("source", "hosts", "none", "--to", "out", "-n", "2"), ["none: no such file or folder; name one"]),
        (("source", "--to", "out", "-n", "2", "--hosts", "hosts"), ["2 hosts are asked for and 1 are named"]),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, arguments: tuple[str, ...], facts: list[str]) -> None:
    (tmp_path / "source").write_text("text")
    (tmp_path / "hosts").write_text("localhost\n")
    words = command(find_mpi("openmpi"), *arguments)
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert all(fact in done.stderr for fact in facts), done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("bench", ["openmpi"], indirect=True)
def test_several_files_and_a_report(hosts_of: Bench, targets: Path) -> None:
    for name in ("one", "two"):
        (targets / name).write_bytes(os.urandom(BLOCK))
    platform = targets / "net.json"
    nodes = [{"id": f"host{host}"} for host in range(HOSTS)]
    link = {"latency_s": 1e-5, "bandwidth_bytes_per_s": 1e9}
    mesh = {"nodes": [node["id"] for node in nodes], "link": link}
    document = {"format": "broadleaf-platform/1", "name": "net", "port_model": "multi-port"}
    platform.write_text(json.dumps({**document, "nodes": nodes, "meshes": [mesh]}))
    words = ["one", "two", "--to", f"{targets}/{{rank}}/out", "-n", str(HOSTS), "--json"]
    for rank in range(HOSTS):
        (targets / str(rank)).mkdir()
    more = ["--platform", "net.json", "--report", "push.html"]
    document = told(push(hosts_of, targets, *words, *more))
    assert [Path(source).name for source in document["sources"]] == ["one", "two"]
    for rank in range(HOSTS):
        for name in ("one", "two"):
            assert (targets / str(rank) / "out" / name).read_bytes() == (targets / name).read_bytes()
    page = (targets / "push.html").read_text()
    assert "host2" in page
    assert '"measured"' in page
    # Nothing is left to send, so there is nothing to draw.
    again = push(hosts_of, targets, *words, "--platform", "net.json", "--report", "again.html")
    assert "no broadcast was planned, so there is no report" in again.stderr
    assert not (targets / "again.html").exists()


def test_a_push_measures_its_network_and_keeps_the_platform(bench: Bench, targets: Path) -> None:
    (targets / "data").write_bytes(os.urandom(2 * BLOCK))
    arguments = ("data", "--to", "host{rank}/out", "-n", str(HOSTS), "--json")
    done = push(bench, targets, *arguments, "--save-platform", "net.json")
    assert len(told(done)["hosts"]) == HOSTS
    assert "measuring the network between 3 hosts" in done.stderr
    platform = bl.Platform.load(targets / "net.json")
    assert len(platform.hosts) == HOSTS
    assert "date" in platform.to_dict()["provenance"]["measured"]
    missing = push(bench, targets, *arguments, "--save-platform", "none/net.json")
    assert missing.returncode == 2
    assert missing.stderr.count("\n") == 1


def test_a_push_follows_its_network(hosts_of: Bench, targets: Path) -> None:
    (targets / "source").write_bytes(os.urandom(4 * BLOCK))
    words = ["source", "--to", f"{targets}/{{host}}/out", "-n", str(HOSTS), "--json"]
    # Long enough for the ranks to report, ten times a second.
    slow = [*words, "--limit", "20MB/s"]
    assert len(told(push(hosts_of, targets, *slow, "--adapt", "--state", "state"))["hosts"]) == HOSTS
    # The advisor has read what the ranks have reported.
    assert list((targets / "state" / "platforms").iterdir())
    refused = push(hosts_of, targets, *words, "--state", "state")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--state is for a program that follows the network; add --adapt" in refused.stderr


# In the terminal, and when that is closed.
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGHUP])
def test_an_interrupt_leaves_nothing_at_the_name_and_a_second_push_goes_on(
    hosts_of: Bench, targets: Path, how: signal.Signals
) -> None:
    data = os.urandom(10 * BLOCK)
    (targets / "source").write_bytes(data)
    words = ["source", "--to", f"{targets}/{{host}}/out", "-n", "2", "--json"]
    slow = command(hosts_of.mpi, *words, "--limit", "20MB/s")
    job = subprocess.Popen(
        slow,
        cwd=targets,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Under `nohup` the tests' processes ignore it.
        preexec_fn=lambda: signal.signal(how, signal.SIG_DFL),
    )
    left_over = targets / "host1/.out.broadleaf"
    # A window and more has been written.
    wait_for(lambda: left_over.exists() and left_over.stat().st_blocks * 512 >= 2 * BLOCK)
    job.send_signal(how)
    out, err = job.communicate(timeout=TIMEOUT_S)
    assert (job.returncode, out, err.strip()) == (130, "", "broadleaf: interrupted")
    wait_for(lambda: not ranks_of(targets), 30)
    assert [path.name for path in (targets / "host1").iterdir()] == [".out.broadleaf"]
    hosts = told(push(hosts_of, targets, *words))["hosts"]
    # Data that were written before are not sent again.
    assert 0 < hosts[1]["written_bytes"] <= 8 * BLOCK
    assert (targets / "host1/out").read_bytes() == data


def test_signals_that_are_ignored_stay_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with termination_raises():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


# MPICH 5.0.2 does not start between host names that share one network.
@pytest.mark.parametrize("bench", ["openmpi"], indirect=True)
def test_a_lost_host_costs_only_itself(bench: Bench, agent: Path) -> None:
    data = os.urandom(10 * BLOCK)
    (agent / "source").write_bytes(data)
    (agent / "hosts").write_text("localhost\nfirst\nsecond\n")
    words = ["source", "--to", f"{agent}/{{host}}-out", "--hosts", "hosts", "--json", "--limit", "20MB/s"]
    job = subprocess.Popen(
        command(bench.mpi, *words), cwd=agent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    left_over = agent / ".second-out.broadleaf"
    wait_for(lambda: left_over.exists() and left_over.stat().st_blocks * 512 >= 2 * BLOCK)
    (victim,) = (pid for pid in ranks_of(agent) if host_of(pid) == "second")
    os.kill(victim, signal.SIGKILL)
    out, err = job.communicate(timeout=TIMEOUT_S)
    assert "starting again" in err
    assert (agent / "first-out").read_bytes() == data
    hosts = {host["host"]: host for host in json.loads(out)["hosts"]}
    assert hosts["first"]["written_bytes"] < len(data)
    if "starting again without second" in err:
        assert job.returncode == 1
        assert re.search("on node second (exited on signal 9|disconnected)", hosts["second"]["fault"])
    else:
        # Nobody named a host that died.
        assert job.returncode == 0
        assert (agent / "second-out").read_bytes() == data


def host_of(pid: int) -> str:
    inside = ["nsenter", "--target", str(pid), "--uts", "hostname"]
    return subprocess.run(inside, capture_output=True, text=True).stdout.strip()


OPEN_MPI = """--------------------------------------------------------------------------
prterun noticed that process rank 2 with PID 24154 on node h2 exited on
signal 9 (Killed).
--------------------------------------------------------------------------
"""
MPICH = """=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 1234 RUNNING AT h2
=   EXIT CODE: 9
"""


# The launcher heard of the rank that aborted for the loss of its peer, and not of the peer.
PEER = """An MPI communication peer process has unexpectedly disconnected.  This
usually indicates a failure in the peer process.

  Local host: h1
  Local PID:  3847
  Peer host:  h2
--------------------------------------------------------------------------
prterun has exited due to process rank 1 with PID 3847 on node h1 calling
"abort".
An MPI communication peer process has unexpectedly disconnected.
  Peer host:  h1
"""


def test_the_first_peer_that_disconnects_is_the_host_that_died() -> None:
    assert lost_host(PEER) == ("h2", "the process on node h2 disconnected unexpectedly")
    assert lost_host(PEER.replace("Peer host", "Host")) == (None, "")


@pytest.mark.parametrize("complaint", [OPEN_MPI, MPICH, "srun: error: h2: task 1: Killed\n"])
def test_launchers_name_the_host_that_died(complaint: str) -> None:
    assert lost_host(complaint)[0] == "h2"
    # A rank that ended by itself, as those do that lose their connection.
    other = complaint.replace("signal 9", "code 1").replace("CODE: 9", "CODE: 1").replace("Killed", "Exited")
    assert lost_host(other)[0] is None


def test_owners_are_names_or_numbers() -> None:
    assert owner_of("root:0") == (0, 0)
    assert owner_of(":7") == (None, 7)


def under_the_launcher(bench: Bench, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`mpiexec -n 3 broadleaf push`: every task runs the command."""
    crowded = ["--oversubscribe"] if bench.mpi.flavour == "openmpi" else []
    words = [str(bench.mpi.mpiexec), "-n", str(HOSTS), *crowded, sys.executable, "-m", "broadleaf", "push"]
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return subprocess.run(
        [*words, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S
    )


def test_the_tasks_of_a_launcher_are_the_push(
    hosts_of: Bench, targets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROADLEAF_STATS", str(targets / "stats.json"))
    data = os.urandom(3 * BLOCK)
    (targets / "source").write_bytes(data)
    words = ("source", "--to", f"{targets}/{{rank}}-out", "--json")
    document = told(under_the_launcher(hosts_of, targets, *words))
    assert [host["rank"] for host in document["hosts"]] == [0, 1, 2]
    for rank in range(HOSTS):
        assert (targets / f"{rank}-out").read_bytes() == data
    assert json.loads((targets / "stats.json").read_text())["planned"] >= 2
    # The tasks that wait for the first one end with it.
    for wrong, fact in [
        (("none", "--owner", "0"), "none: no such file"),
        (("source", "--owner", "x y"), "no user 'x y'"),
        (("source", "--adapt"), "--adapt starts an advisor beside ranks of its own"),
    ]:
        refused = under_the_launcher(hosts_of, targets, *wrong, "--to", "out")
        assert refused.returncode != 0
        assert [line for line in refused.stderr.splitlines() if fact in line and "broadleaf: " in line]
    wait_for(lambda: not ranks_of(targets), 30)


@pytest.mark.parametrize(
    ("variables", "found"),
    [
        ({}, None),
        ({"PMI_RANK": "0", "PMI_SIZE": "1"}, None),
        ({"PMI_RANK": "2", "PMI_SIZE": "3"}, OwnRank(2, 3, "mpich", is_connected=True)),
        (
            {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "PMIX_RANK": "1"},
            OwnRank(1, 2, "openmpi", is_connected=True),
        ),
        # A job script has a rank, but no step.
        ({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2"}, None),
        (
            {"SLURM_PROCID": "1", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2"},
            OwnRank(1, 2, None, is_connected=False),
        ),
        (
            {"SLURM_PROCID": "1", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2", "PMIX_RANK": "1"},
            OwnRank(1, 2, None, is_connected=True),
        ),
    ],
)
def test_tasks_know_their_launcher(variables: dict[str, str], found: OwnRank | None) -> None:
    assert own_rank(variables) == found
