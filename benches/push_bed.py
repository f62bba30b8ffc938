"""`broadleaf.push`, as a user calls it, from the first to all hosts of a shaped network of namespaces."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import broadleaf as bl
from broadleaf.benchmarks import BenchError
from broadleaf.benchmarks.namespaces import DEFAULT_PLATFORM, LUMP
from broadleaf.mpi import Mpi

ROOT = Path(__file__).resolve().parents[1]
BED = ROOT / "testbeds/namespaces"
sys.path.insert(0, str(BED))
from launch import launcher_words, on_first_host, write_agent  # noqa: E402
from network import Network, rates_of  # noqa: E402

TIMEOUT_S = 600.0

# Runs on the first host: a line of JSON for each progress, with its job's beginning, and one for the result.
PUSH = """
import json, sys, time
import broadleaf as bl
def told(done, total, seconds, slowest):
    print(json.dumps({"done": done, "total": total, "began_s": time.time() - seconds}), flush=True)
print(json.dumps(bl.push(**json.loads(sys.argv[1]), progress=told).to_dict()), flush=True)
"""


@dataclass
class Push:
    """One push: the wall-clock seconds of the whole call and of each job's ranks, and what they used."""

    # From the call to its end, with Python, the check of the hosts, and the start of MPI.
    call_s: float = 0.0
    # From the first rank's start of the push to its end, without the start of MPI; of the last job.
    ranks_s: float = 0.0
    # When each job's ranks began, in seconds from the call: a second one after a measurement or a lost host.
    began_s: list[float] = field(default_factory=list)
    # When a host's rank was ended, in seconds from the call.
    killed_s: float | None = None
    # The most memory of each host's rank, its program and libraries included.
    peak_bytes: dict[str, int] = field(default_factory=dict)
    hosts: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class PushBed:
    """The network, the folder for everyone's files, and the MPI."""

    network: Network
    folder: Path
    agent: Path
    # The file of the hosts' names.
    listed: Path
    mpi: Mpi

    def ranks(self) -> Iterator[tuple[str, int]]:
        """Each host's rank of the push program."""
        for host in self.network.rates.hosts:
            listed = subprocess.run(
                ["ip", "netns", "pids", self.network.namespace(host)], capture_output=True, text=True
            )
            for pid in map(int, listed.stdout.split()):
                try:
                    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
                if b"broadleaf-push" in words[0]:
                    yield host, pid

    def push(
        self,
        source: Path,
        *,
        lost: str | None = None,
        platform: Path | None = DEFAULT_PLATFORM,
        variables: Mapping[str, str] | None = None,
        told: Callable[[str], None] = lambda line: None,
    ) -> Push:
        """Pushes `source` to a file of each host; `lost`: the host whose rank is killed at half of it;
        `platform`: None for a push that measures on the way."""
        prefix = self.mpi.mpiexec.parent.parent
        hosts = self.network.rates.hosts
        for host in hosts:
            for name in (host, f".{host}.broadleaf"):
                (self.folder / name).unlink(missing_ok=True)
        words = {
            "source": str(source),
            "to": f"{self.folder}/{{host}}",
            "hosts": str(self.listed),
            "platform": None if platform is None else str(platform),
            "launcher": str(self.mpi.mpiexec),
            "launcher_args": shlex.join(launcher_words(prefix, self.agent)),
        }
        line = [sys.executable, "-c", PUSH, json.dumps(words)]
        command, environment = on_first_host(prefix, self.network, line)
        environment = {**environment, "TMPDIR": str(self.agent.parent), **(variables or {})}
        found, last = Push(), {}
        pids: dict[str, int] = {}
        began = time.time()
        with (
            tempfile.TemporaryFile("w+") as complaints,
            # A session of its own, so that the time limit ends all of it.
            subprocess.Popen(
                command,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
                start_new_session=True,
            ) as process,
        ):
            assert process.stdout is not None
            try:
                for text in process.stdout:
                    last = json.loads(text)
                    if "hosts" in last:
                        break
                    at = last["began_s"] - began
                    # The same beginning comes with every line of a job, within some milliseconds.
                    if not found.began_s or at > found.began_s[-1] + 1:
                        found.began_s.append(at)
                        pids = dict(self.ranks())
                    note_memory(found, pids)
                    if time.time() - began > TIMEOUT_S:
                        raise BenchError(f"the push still runs after {TIMEOUT_S:g} s")
                    if lost and found.killed_s is None and 2 * last["done"] >= last["total"]:
                        os.kill(pids[lost], signal.SIGKILL)
                        found.killed_s = time.time() - began
                        told(f"{lost}'s rank ended at {found.killed_s:.1f} s")
                process.wait(timeout=30)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
            complaints.seek(0)
            complaint = complaints.read()
        found.call_s = time.time() - began
        found.hosts = last.get("hosts", [])
        # MPICH's launcher does not always name the host that died; then the restarted job has all hosts.
        missing = set(hosts) - {host["host"] for host in found.hosts if not host["fault"]}
        if missing - {lost} or (lost is not None and len(found.began_s) != 2):
            raise BenchError(f"the push failed: {found.hosts} {complaint[-500:]}")
        found.ranks_s = found.hosts[0]["seconds"]
        return found


def note_memory(found: Push, pids: Mapping[str, int]) -> None:
    """Keeps the most memory that each rank has used so far."""
    for host, pid in pids.items():
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        used = [int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM:")]
        found.peak_bytes[host] = max([found.peak_bytes.get(host, 0), *used])


@contextmanager
def push_bed(mpi: Mpi, folder: Path) -> Iterator[PushBed]:
    """The network of two-clusters.json, taken down at the end."""
    rates = rates_of(bl.Platform.load(str(DEFAULT_PLATFORM)))
    with (
        tempfile.TemporaryDirectory(prefix="broadleaf-bench-", ignore_cleanup_errors=True) as made,
        Network(f"blpush{os.getpid()}", rates, LUMP) as network,
    ):
        listed = Path(made) / "hosts"
        listed.write_text("\n".join(rates.hosts) + "\n")
        yield PushBed(network, folder, write_agent(network, Path(made)), listed, mpi)
