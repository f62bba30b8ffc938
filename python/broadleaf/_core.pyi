# The compiled core's types. tests/python/test_stub.py compares this file with the module itself.
import os
from collections.abc import Mapping, Sequence
from typing import Any, SupportsIndex, final

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Advisor",
    "Card",
    "Choice",
    "Comparison",
    "Forecast",
    "Optimum",
    "Order",
    "Plan",
    "Platform",
    "Trace",
    "Tried",
    "__version__",
    "annealing_progress",
    "check",
    "compare",
    "grid",
    "grid_makespans",
    "grid_schedule",
    "makespan_bound_s",
    "optimum",
    "plan",
    "planners",
    "random_graph",
    "replay",
    "simulate",
    "throughput",
    "tiers",
    "trace_events",
    "tune",
    "tuning_rules",
    "unloaded_plans",
]
__version__: str

@final
class Advisor:
    def __new__(
        cls, platform: Platform, patience_s: float, idle_after_s: float, roots: Sequence[int]
    ) -> Advisor: ...
    def resume_after(self, version: int) -> None: ...
    def called(self, at_s: float, communicator: int, root: int, message_bytes: int) -> None: ...
    def in_use(self, communicator: int, root: int, message_bytes: int, plan: Plan) -> None: ...
    def sampled(
        self,
        source: int,
        target: int,
        message_bytes: int,
        seconds: float,
        expected_s: float | None,
        at_s: float,
        is_active: bool,
    ) -> None: ...
    def found_latency(self, source: int, target: int, latency_s: float, at_s: float) -> None: ...
    def not_probed(self, source: int, target: int, now_s: float) -> None: ...
    def planned(self, number: int, plan: Plan | None) -> None: ...
    def tick(self, now_s: float) -> list[tuple[Any, ...]]: ...
    def drifts(self) -> list[tuple[int, int, float, float]]: ...

@final
class Order:
    def plan(self) -> Plan: ...
    @property
    def message_bytes(self) -> int: ...

@final
class Card:
    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def reference(self) -> str: ...
    @property
    def objective(self) -> str: ...
    @property
    def guarantee(self) -> str: ...
    @property
    def complexity(self) -> str: ...

@final
class Platform:
    @staticmethod
    def load(path: str | os.PathLike[str]) -> Platform: ...
    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> Platform: ...
    @staticmethod
    def from_networkx(graph: nx.Graph[Any]) -> Platform: ...
    @staticmethod
    def from_node_link(document: Mapping[str, Any]) -> Platform: ...
    @staticmethod
    def load_csv(path: str | os.PathLike[str]) -> Platform: ...
    @staticmethod
    def from_matrices(
        latency_s: ArrayLike,
        bandwidth_bytes_per_s: ArrayLike,
        *,
        ids: Sequence[str] | None = None,
        links: ArrayLike | None = None,
        name: str = "matrices",
        port_model: str = "one-port",
    ) -> Platform: ...
    def save(self, path: str | os.PathLike[str]) -> None: ...
    def to_dict(self) -> dict[str, Any]: ...
    def save_csv(
        self, path: str | os.PathLike[str], *, at_bytes: SupportsIndex | None = None
    ) -> list[str]: ...
    def to_node_link(self) -> dict[str, Any]: ...
    def to_networkx(self) -> nx.DiGraph[str]: ...
    @property
    def name(self) -> str: ...
    @property
    def port_model(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def nodes(self) -> list[str]: ...
    @property
    def hosts(self) -> list[str]: ...
    def link(self, source: str, target: str) -> dict[str, Any] | None: ...
    def successors(self, node: str) -> list[str]: ...
    def transfer_s(self, source: str, target: str, message_bytes: SupportsIndex) -> float: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Plan:
    @staticmethod
    def load(path: str | os.PathLike[str]) -> Plan: ...
    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> Plan: ...
    def save(self, path: str | os.PathLike[str]) -> None: ...
    def to_dict(self) -> dict[str, Any]: ...
    @property
    def platform(self) -> str: ...
    @property
    def platform_digest(self) -> str: ...
    @property
    def collective(self) -> str: ...
    @property
    def root(self) -> str: ...
    @property
    def message_bytes(self) -> int: ...
    @property
    def segment_bytes(self) -> int: ...
    @property
    def planner(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def makespan_s(self) -> float | None: ...
    @property
    def makespan_interval_s(self) -> tuple[float, float] | None: ...
    @property
    def bound_s(self) -> float | None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Trace:
    @property
    def makespan_s(self) -> float: ...
    @property
    def makespan_interval_s(self) -> tuple[float, float] | None: ...
    @property
    def nodes(self) -> list[str]: ...
    @property
    def finish_s(self) -> NDArray[np.float64]: ...
    @property
    def transfers(self) -> np.recarray[Any, Any]: ...
    @property
    def busy_s(self) -> dict[str, float]: ...

@final
class Tried:
    @property
    def planner(self) -> str: ...
    @property
    def segment_bytes(self) -> int: ...
    @property
    def makespan_s(self) -> float: ...
    @property
    def makespan_interval_s(self) -> tuple[float, float] | None: ...
    @property
    def is_simulated(self) -> bool: ...
    @property
    def throughput_bytes_per_s(self) -> float: ...

@final
class Comparison:
    @property
    def plan(self) -> Plan: ...
    @property
    def tried(self) -> list[Tried]: ...
    @property
    def passed_over(self) -> dict[str, str]: ...

def plan(
    platform: Platform,
    root: str,
    message_bytes: SupportsIndex,
    planner: str = "best",
    collective: str = "bcast",
    segment_bytes: SupportsIndex | None = None,
    seed: SupportsIndex = 0,
    time_limit_s: float | None = None,
    protocol: str = "eager",
) -> Plan: ...
def compare(
    platform: Platform,
    root: str,
    message_bytes: SupportsIndex,
    planner: str = "best",
    collective: str = "bcast",
    segment_bytes: SupportsIndex | None = None,
    seed: SupportsIndex = 0,
    time_limit_s: float | None = None,
    protocol: str = "eager",
) -> Comparison: ...
def random_graph(
    nodes: SupportsIndex,
    density: float,
    *,
    seed: SupportsIndex = 0,
    port_model: str = "one-port",
    mean_bytes_per_s: float = 100000000.0,
    deviation_bytes_per_s: float = 20000000.0,
) -> Platform: ...
def tiers(
    nodes: SupportsIndex,
    density: float,
    *,
    seed: SupportsIndex = 0,
    wan_nodes: SupportsIndex | None = None,
    mans: SupportsIndex | None = None,
    man_nodes: SupportsIndex | None = None,
    lans_per_man: SupportsIndex | None = None,
    port_model: str = "one-port",
    mean_bytes_per_s: float = 100000000.0,
    deviation_bytes_per_s: float = 20000000.0,
) -> Platform: ...
def grid(
    clusters: SupportsIndex,
    *,
    seed: SupportsIndex = 0,
    latency_s: tuple[float, float] = (0.001, 0.015),
    gap_s: tuple[float, float] = (0.1, 0.6),
    local_broadcast_s: tuple[float, float] = (0.02, 3.0),
    gaps: str = "min",
    local_start: str = "after-last-send",
) -> Platform: ...
def annealing_progress(
    bandwidth_bytes_per_s: list[list[float]],
    message_bytes: SupportsIndex,
    *,
    seconds: float = 10.0,
    moves: SupportsIndex | None = None,
    seed: SupportsIndex = 0,
) -> list[tuple[int, float, float, bool]]: ...
def replay(
    platform: Platform,
    root: str,
    calls: list[tuple[float, int]],
    links: list[tuple[str, str, list[tuple[float, float]]]],
    pipes: list[tuple[str, list[tuple[float, float]]]],
    way: str,
    *,
    planner: str = "best",
    first: Sequence[Plan] = (),
    monitor_s: float = 300.0,
    robust: bool = False,
    latencies: Sequence[tuple[str, str, list[tuple[float, float]]]] = (),
) -> list[tuple[float, Plan, bool, bool]]: ...
def trace_events(
    processes: list[str],
    lanes: list[str],
    slices: list[tuple[int, int, str, int, int, str]],
    transfers: list[tuple[int, int]],
    forwards: list[tuple[int, int]],
    loads: list[tuple[str, int, int, float]],
    about: str,
) -> str: ...
def unloaded_plans(
    platform: Platform, root: str, calls: list[tuple[float, int]], *, robust: bool = False
) -> list[Plan]: ...
def grid_makespans(
    clusters: SupportsIndex,
    draws: SupportsIndex,
    strategies: list[str],
    *,
    gaps: str = "min",
    local_start: str = "after-last-send",
    seed: SupportsIndex = 0,
    time_limit_s: float | None = None,
) -> list[list[float]]: ...
def grid_schedule(
    gap_s: ArrayLike,
    latency_s: ArrayLike,
    local_broadcast_s: Sequence[float],
    root: SupportsIndex = 0,
    strategy: str = "makespan",
    *,
    local_start: str = "after-last-send",
    seed: SupportsIndex = 0,
    time_limit_s: float | None = None,
) -> tuple[float, list[tuple[int, int]]]: ...

@final
class Optimum:
    @property
    def throughput_bytes_per_s(self) -> float: ...
    @property
    def upper_bound_bytes_per_s(self) -> float: ...
    @property
    def gap(self) -> float: ...
    @property
    def bound_only(self) -> str | None: ...
    @property
    def trees(self) -> list[dict[str, Any]]: ...
    @property
    def link_load(self) -> dict[tuple[str, str], float]: ...
    @property
    def prices(self) -> dict[str, float]: ...
    def throughput_by_trees(self) -> dict[int, float]: ...
    def equal_trees(self, count: SupportsIndex) -> list[dict[str, Any]]: ...

def makespan_bound_s(platform: Platform, root: str, message_bytes: SupportsIndex) -> float: ...
def optimum(platform: Platform, root: str, segment_bytes: SupportsIndex, gap: float = 1e-4) -> Optimum: ...

@final
class Forecast:
    @property
    def algorithm(self) -> str: ...
    @property
    def planner(self) -> str: ...
    @property
    def protocol(self) -> str: ...
    @property
    def formula(self) -> str: ...
    @property
    def segment_bytes(self) -> int: ...
    @property
    def is_segmented(self) -> bool: ...
    @property
    def printed_s(self) -> float: ...
    @property
    def printed_is_bound(self) -> bool: ...
    @property
    def corrected_s(self) -> float: ...
    @property
    def simulated_s(self) -> float | None: ...
    @property
    def expected_s(self) -> float: ...

@final
class Choice:
    @property
    def collective(self) -> str: ...
    @property
    def nodes(self) -> int: ...
    @property
    def message_bytes(self) -> int: ...
    @property
    def forecasts(self) -> list[Forecast]: ...
    @property
    def chosen(self) -> Forecast: ...
    @property
    def chosen_as_printed(self) -> Forecast: ...

def tune(
    platform: Platform,
    nodes: Sequence[int],
    sizes: Sequence[int],
    *,
    root: str | None = None,
    collective: str = "bcast",
) -> list[Choice]: ...
def tuning_rules(choices: Sequence[Choice], mpi: str) -> tuple[str, list[dict[str, Any]]]: ...
def planners() -> list[Card]: ...
def check(platform: Platform, plan: Plan) -> None: ...
def simulate(platform: Platform, plan: Plan) -> Trace: ...
def throughput(platform: Platform, plan: Plan) -> float: ...
