"""The active monitor: probes between machines, for the links that no program uses.

Every period all clusters' representatives are measured against each other; in between, single links whose
state is in doubt. Both together take at most a given share of the time, and so of the network. A host that
does not answer is reported in one line and left out until the next period."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path

from broadleaf._core import Platform
from broadleaf.advise.state import Say
from broadleaf.errors import PlatformError
from broadleaf.mpi import Host, Start, launch_command

PERIOD_S = 300.0
SHARE = 0.02
# Sizes whose times give a link's rate; both must agree before a drift is accepted.
SIZES = (512 << 10, 1 << 20)
# The time of a probe between two hosts, seconds; a sweep gets what the share of the period allows.
PROBE_S = 1.0
# Extra time for starting the ranks on the other hosts.
START_S = 30.0


@dataclass(frozen=True)
class Probed:
    """A link's transfers, bytes and seconds, and its latency; both empty if it could not be probed."""

    source: str
    target: str
    samples: tuple[tuple[int, float], ...]
    latency_s: float | None = None


@dataclass(frozen=True)
class Ends:
    """A link to probe: the platform's nodes and their hosts."""

    source: str
    target: str
    hosts: tuple[str, str]


class Monitor:
    """Probes in a thread of its own."""

    def __init__(
        self,
        start: Start,
        hosts: Sequence[Host],
        say: Say,
        *,
        period_s: float = PERIOD_S,
        share: float = SHARE,
    ) -> None:
        self._mpi = start.mpi
        beside = start.launcher.dialect.beside
        self._launcher = replace(start.launcher, arguments=(*beside, *start.launcher.arguments))
        self._hosts = {host.name for host in hosts}
        self._say = say
        self._period_s = period_s
        self._share = share
        # Seconds of probing that may be spent now; a period's worth can be saved up.
        self._allowance_s = share * period_s
        self._filled_at_s = time.monotonic()
        self._asked: queue.SimpleQueue[Ends] = queue.SimpleQueue()
        self._waiting: set[Ends] = set()
        self._found: queue.SimpleQueue[Probed] = queue.SimpleQueue()
        self._platforms: dict[str, Platform] = {}
        self._unreachable: set[str] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="monitor", daemon=True)

    def start(self) -> None:
        """Begins; the first sweep comes after one period."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread, and a probe under way."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10)

    def watch(self, platform: Platform) -> None:
        """Sweeps over this platform too, from now on."""
        self._platforms[platform.digest] = platform

    def ask(self, platform: Platform, source: int, target: int) -> bool:
        """Requests a probe of one link; False if that is impossible."""
        ends = self._ends(platform, source, target)
        if ends is None:
            return False
        if ends not in self._waiting:
            self._waiting.add(ends)
            self._asked.put(ends)
        return True

    def results(self) -> list[Probed]:
        """The results since the last call."""
        found: list[Probed] = []
        while True:
            try:
                found.append(self._found.get_nowait())
            except queue.Empty:
                return found

    def _ends(self, platform: Platform, source: int, target: int) -> Ends | None:
        hosts = hosts_of(platform)
        names = platform.nodes[source], platform.nodes[target]
        ends = Ends(*names, (hosts[names[0]], hosts[names[1]]))
        reachable = all(host in self._hosts and host not in self._unreachable for host in ends.hosts)
        return ends if reachable and ends.hosts[0] != ends.hosts[1] else None

    def _work(self) -> None:
        sweep_at_s = time.monotonic() + self._period_s
        while not self._stop.is_set():
            if time.monotonic() >= sweep_at_s:
                sweep_at_s = time.monotonic() + self._period_s
                self._unreachable.clear()
                for platform in list(self._platforms.values()):
                    self._sweep(platform)
            try:
                ends = self._asked.get(timeout=min(0.5, self._period_s / 4))
            except queue.Empty:
                continue
            while not self._granted_s(PROBE_S) and not self._stop.wait(0.2):
                pass
            if not self._stop.is_set():
                self._probe([ends.hosts[0], ends.hosts[1]], [ends.source, ends.target], PROBE_S)
            self._waiting.discard(ends)

    def _granted_s(self, most_s: float) -> float:
        """Takes up to `most_s` from the allowance; 0 where too little is left to measure anything."""
        now_s = time.monotonic()
        grown_s = self._allowance_s + self._share * (now_s - self._filled_at_s)
        self._filled_at_s = now_s
        self._allowance_s = min(grown_s, max(self._share * self._period_s, PROBE_S))
        granted_s = min(most_s, self._allowance_s)
        if granted_s < PROBE_S:
            return 0.0
        self._allowance_s -= granted_s
        return granted_s

    def _sweep(self, platform: Platform) -> None:
        """All representatives at once, as long as the share allows."""
        hosts = hosts_of(platform)
        names = [name for name in representatives(platform) if hosts[name] in self._hosts]
        # Two on one host would measure its memory.
        by_host = {hosts[name]: name for name in reversed(names)}
        if len(by_host) > 1:
            budget_s = self._granted_s(max(self._share * self._period_s, PROBE_S))
            if budget_s:
                self._probe(list(by_host), list(by_host.values()), budget_s)

    def _probe(self, hosts: list[str], names: list[str], budget_s: float) -> None:
        """Measures between hosts and reports the results under the names of the platform's nodes."""
        measured = self._measured(hosts, budget_s)
        if measured is None:
            missing = self._missing(hosts)
            self._unreachable |= missing
            if missing:
                self._say(
                    f"the monitor cannot reach {', '.join(sorted(missing))}; "
                    "links to it are believed to be as they were, and are tried again with the next sweep"
                )
                rest = [(host, name) for host, name in zip(hosts, names, strict=True) if host not in missing]
                there = [name for _, name in rest]
                measured = self._measured([host for host, _ in rest], budget_s) if len(rest) > 1 else None
                if measured is not None:
                    self._tell(measured, there)
                    names = [*there, *(name for name in names if name not in there)]
                for source, target in permutations(names, 2):
                    if measured is None or not {source, target} <= set(there):
                        self._found.put(Probed(source, target, ()))
                return
            if not self._stop.is_set():
                self._say(
                    f"the monitor's measurement between {', '.join(hosts)} failed or took too long; "
                    "their links are believed to be as they were"
                )
            for source, target in permutations(names, 2):
                self._found.put(Probed(source, target, ()))
            return
        self._tell(measured, names)

    def _tell(self, measured: Platform, names: list[str]) -> None:
        for source, here in enumerate(measured.nodes):
            for target, there in enumerate(measured.nodes):
                if source != target:
                    times = tuple((size, measured.transfer_s(here, there, size)) for size in SIZES)
                    link = measured.link(here, there) or {}
                    self._found.put(Probed(names[source], names[target], times, link.get("latency_s")))

    def _measured(self, hosts: Sequence[str], budget_s: float) -> Platform | None:
        """The platform between those hosts, one rank each; None if the measurement failed."""
        with tempfile.TemporaryDirectory(prefix="broadleaf-monitor-") as scratch:
            folder = Path(scratch)
            (folder / "hosts").write_text("".join(f"{host} slots=1\n" for host in hosts))
            out = folder / "net.json"
            argv = [sys.executable, "-m", "broadleaf", "measure", "-n", str(len(hosts))]
            argv += ["--hosts", str(folder / "hosts"), "--time", str(budget_s), "--largest", str(SIZES[-1])]
            argv += ["--mpi", self._mpi.flavour, *self._launcher.options, "-o", str(out)]
            if not self._run(argv, 3 * budget_s + START_S) or not out.is_file():
                return None
            try:
                return Platform.load(out)
            except (OSError, PlatformError):
                return None

    def _missing(self, hosts: Sequence[str]) -> set[str]:
        """The hosts on which nothing can be started."""
        missing = set()
        for host in hosts:
            argv, environment = launch_command(
                self._mpi, 1, ["true"], launcher=self._launcher, hosts=[Host(host, 1)]
            )
            if not self._run(argv, START_S, environment) and not self._stop.is_set():
                missing.add(host)
        return missing

    def _run(self, argv: Sequence[str], limit_s: float, environment: dict[str, str] | None = None) -> bool:
        """Whether a command succeeds within its time; it ends with this process."""
        try:
            process = subprocess.Popen(
                argv,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError:
            return False
        deadline_s = time.monotonic() + limit_s
        while process.poll() is None and time.monotonic() < deadline_s and not self._stop.wait(0.05):
            pass
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            return False
        return process.returncode == 0


def hosts_of(platform: Platform) -> dict[str, str]:
    """The machine of every node."""
    return {node["id"]: node.get("host", node["id"]) for node in platform.to_dict()["nodes"]}


def representatives(platform: Platform) -> list[str]:
    """The first two hosts of every cluster, for the links between and inside them; every host without one."""
    seen: dict[str, int] = {}
    chosen = []
    for node in platform.to_dict()["nodes"]:
        if node.get("kind") == "switch":
            continue
        cluster = node.get("cluster") or node["id"]
        seen[cluster] = seen.get(cluster, 0) + 1
        if seen[cluster] <= 2:
            chosen.append(node["id"])
    return chosen
