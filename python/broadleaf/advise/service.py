"""The advisor's loop: reads notes, lets the core decide, plans on one core, gives plans."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from broadleaf._core import Plan, PlanRequest, Platform
from broadleaf.advise.monitor import Monitor, Probed
from broadleaf.advise.network import NOBODY, Network
from broadleaf.advise.state import Say, State
from broadleaf.errors import PlatformError

# Between two reads of the inbox. A note waits for half of it on average; an idle read takes 20 us.
PERIOD_S = 0.05
# A failure is reported again after this time.
SILENCE_S = 300.0

FAULTS = (KeyError, TypeError, ValueError, OverflowError)


class Speaker:
    """Reports each event at most once in SILENCE_S, however often it happens."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._said: dict[str, float] = {}

    def __call__(self, line: str) -> None:
        now_s = time.monotonic()
        if now_s - self._said.get(line, -SILENCE_S) >= SILENCE_S:
            if len(self._said) > 1000:
                self._said.clear()
            self._said[line] = now_s
            self._say(line)


def serve(
    state: State,
    *,
    platform: Path | None,
    monitor: Monitor | None,
    linger_s: float | None,
    stop: threading.Event,
    say: Say,
    planner: str | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, Any]:
    """Advises programs until `stop`, or with `linger_s` until no job has run for that long.

    `planner` makes all plans, by default the advisor's own search.

    The state must be locked. Plans for `platform` are prepared before any program has run. Returns a
    summary."""
    os.nice(19)
    # Of the planners' threads: the programs need the other cores.
    os.environ.setdefault("RAYON_NUM_THREADS", "1")
    service = Service(state, monitor, Speaker(say), planner)
    if platform is not None:
        service.prepare(platform)
    if monitor is not None:
        monitor.start()
    alone_since_s: float | None = None
    try:
        while not stop.wait(PERIOD_S):
            now_s = clock()
            service.turn(now_s)
            if linger_s is not None:
                alone_since_s = None if state.has_jobs() else alone_since_s or now_s
                if alone_since_s is not None and now_s >= alone_since_s + linger_s:
                    break
    finally:
        service.end()
    return service.summary()


class Service:
    """The connection of the state directory and the core."""

    def __init__(self, state: State, monitor: Monitor | None, say: Say, planner: str | None = None) -> None:
        self._state = state
        self._monitor = monitor
        self._say = say
        self._planner_name = planner
        self._networks: dict[str, Network] = {}
        self._version = state.last_version()
        self._planner = ThreadPoolExecutor(1, "plan")
        self._planning: deque[tuple[Network, int, Future[Plan]]] = deque()
        self._calls = 0
        self._samples = 0
        self._given = 0

    def end(self) -> None:
        """Stops the planner's thread and the monitor."""
        if self._monitor is not None:
            self._monitor.stop()
        self._planner.shutdown(wait=False, cancel_futures=True)

    def summary(self) -> dict[str, Any]:
        """Notes read, plans given, and the final estimates of links."""
        believed = [drift for network in self._networks.values() for drift in network.believed()]
        return {"calls": self._calls, "samples": self._samples, "plans": self._given, "believed": believed}

    def prepare(self, path: Path) -> None:
        """Prepares plans for a platform before the first program starts."""
        measured = Platform.load(path)
        key = measured.digest.removeprefix("sha256:")[:16]
        if self._network(key) is None:
            self._networks[key] = self._new_network(measured.handled())

    def turn(self, now_s: float) -> None:
        """Reads new notes and acts on them."""
        for document in self._state.notes(self._say):
            self._hear(document, now_s)
        self._take_plans()
        if self._monitor is not None:
            for probed in self._monitor.results():
                self._take_probe(probed, now_s)
        for key, network in self._networks.items():
            try:
                network.settle(now_s)
                advice = network.advisor.tick(now_s)
            except ValueError as error:
                self._say(f"platform {key}: {error}; its plans stay as they are")
                continue
            for item in advice:
                self._follow(key, network, item, now_s)

    def _hear(self, document: dict[str, Any], now_s: float) -> None:
        process = document.get("process")
        for kind, hear in (("calls", self._hear_call), ("samples", self._hear_sample)):
            notes = document.get(kind, [])
            for note in notes if isinstance(notes, list) else []:
                try:
                    hear(note, now_s)
                except FAULTS as error:
                    self._say(f"a note of {process} in {kind} makes no sense ({error}); it is left out")

    def _hear_call(self, call: dict[str, Any], now_s: float) -> None:
        network = self._network(str(call["platform"]))
        if network is not None:
            network.called(call, now_s)
            self._calls += 1

    def _hear_sample(self, sample: dict[str, Any], now_s: float) -> None:
        communicator = int(sample["communicator"], 16)
        for network in self._networks.values():
            if network.knows(communicator):
                network.timed(sample, now_s)
                self._samples += 1

    def _network(self, key: str) -> Network | None:
        if key not in self._networks:
            if not key.isalnum():
                raise ValueError(f"{key!r} names no platform")
            path = self._state.folder / "platforms" / f"{key}.json"
            if not path.exists():
                return None
            try:
                self._networks[key] = self._new_network(Platform.load(path))
            except PlatformError as error:
                self._state.set_aside(path, str(error), self._say)
                return None
        return self._networks[key]

    def _new_network(self, platform: Platform) -> Network:
        if self._monitor is not None:
            self._monitor.watch(platform)
        return Network(
            platform,
            has_monitor=self._monitor is not None,
            resume_after=self._version,
            planner=self._planner_name,
        )

    def _follow(self, key: str, network: Network, item: tuple[Any, ...], now_s: float) -> None:
        match item:
            case ("probe", source, target):
                if self._monitor is None or not self._monitor.ask(network.platform, source, target):
                    network.advisor.not_probed(source, target, now_s)
            case ("plan", number, order):
                self._order(network, number, order)
            case ("publish", communicator, root, size_class, version, chosen):
                document = {
                    "format": "broadleaf-advice/1",
                    "version": version,
                    "believed": network.believed(),
                    "plan": chosen.to_dict(),
                }
                name = f"{key}-{communicator:016x}-{root}-{size_class}"
                self._given += self._state.publish(name, document, self._say)

    def _order(self, network: Network, number: int, order: PlanRequest) -> None:
        # One thread plans, so orders of several platforms wait for each other.
        self._planning.append((network, number, self._planner.submit(order.plan)))

    def _take_plans(self) -> None:
        while self._planning and self._planning[0][2].done():
            network, number, future = self._planning.popleft()
            try:
                made: Plan | None = future.result()
            except ValueError as error:
                self._say(f"no plan ({error}); programs go on with the ones they have")
                made = None
            network.advisor.planned(number, made)

    def _take_probe(self, probed: Probed, now_s: float) -> None:
        """Reports every platform that has both ends."""
        for network in self._networks.values():
            source, target = network.index.get(probed.source), network.index.get(probed.target)
            if source is None or target is None:
                continue
            if not probed.samples:
                network.advisor.not_probed(source, target, now_s)
            for size, seconds in probed.samples:
                network.probed(source, target, size, seconds, now_s)
            if probed.latency_s is not None:
                network.advisor.found_latency(source, target, probed.latency_s, now_s)


__all__ = ["NOBODY", "Service", "serve"]
