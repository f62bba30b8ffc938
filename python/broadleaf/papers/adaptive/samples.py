"""The lines of paper 3's experiment, what one of their broadcasts took, and how much one line gains."""

from __future__ import annotations

from dataclasses import dataclass

# Line: how its plans are made (see `replay`), and its planner.
MPICH_G2, MATEESCU, ANNEALING, STATIC, ADAPTIVE = (
    "mpich-g2", "mateescu", "annealing", "broadleaf, static", "broadleaf, adaptive",
)  # fmt: skip
LINES = {
    MPICH_G2: ("fixed", "mpich-g2"),
    MATEESCU: ("monitored", "mateescu"),
    ANNEALING: ("monitored", "annealing"),
    STATIC: ("static", "best"),
    ADAPTIVE: ("advised", "best"),
}


@dataclass(frozen=True)
class Travel:
    """The tree or plan that goes to the hosts with a broadcast."""

    message_bytes: int
    # How much later the last host has the data.
    seconds: float
    # The same if it were broadcast by itself, before the data.
    apart_s: float


@dataclass(frozen=True)
class Sample:
    """One broadcast of one line."""

    kind: str
    seed: int
    line: str
    call: int
    message_bytes: int
    # The load's share at that time; 0: no load.
    taken: float
    # Until the last host has the message; its travel is a part of that.
    seconds: float
    is_stale: bool
    is_unaware: bool
    travel: Travel


def improvements(samples: list[Sample], line: str, over: str, least: float, most: float = 1.0) -> list[float]:
    """The time saved by `line` against `over`, per cent, for each broadcast under loads in this range."""
    times: dict[tuple[str, int, int], dict[str, float]] = {}
    for s in samples:
        if least <= s.taken <= most:
            times.setdefault((s.kind, s.seed, s.call), {})[s.line] = s.seconds
    return [100 * (1 - by_line[line] / by_line[over]) for by_line in times.values()]


def times_faster(samples: list[Sample], line: str, over: str, least: float, most: float = 1.0) -> float:
    """Total time of the broadcasts under loads in this range, the paper's over Broadleaf's."""
    these = [s for s in samples if least <= s.taken <= most]
    of = {name: [s.seconds for s in these if s.line == name] for name in (line, over)}
    return sum(of[over]) / sum(of[line]) if of[line] else float("nan")
