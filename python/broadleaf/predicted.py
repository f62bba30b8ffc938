"""A planner's prediction for its plan."""

from __future__ import annotations

from dataclasses import dataclass

from broadleaf.units import rate, seconds


@dataclass(frozen=True, repr=False)
class Predicted:
    """A planner's prediction for its plan; fields are None where there is none, as in a plan written by
    hand.

    `makespan_s` is the time at which the last host has the message. Plans are compared by `handled_s`, the
    same with the hosts' time to handle each message; of a reduce-scatter under multi-port, it is the time of
    its trees turned round. `makespan_interval_s` (low, high) is the makespan's interval from rehearsed
    broadcasts, `throughput_bytes_per_s` the steady state. No plan for this message is faster than `bound_s`,
    and none has a higher steady state than `bound_bytes_per_s`."""

    makespan_s: float | None
    handled_s: float | None
    makespan_interval_s: tuple[float, float] | None
    throughput_bytes_per_s: float | None
    bound_s: float | None
    bound_bytes_per_s: float | None

    @property
    def x_bound(self) -> float | None:
        """The makespan over the bound; 1.0 is optimal."""
        if self.makespan_s is None or not self.bound_s:
            return None
        return self.makespan_s / self.bound_s

    def __repr__(self) -> str:
        above = "" if self.x_bound is None else f", {self.x_bound:.3f} x the bound {seconds(self.bound_s)}"
        return f"<Predicted: {seconds(self.makespan_s)}{above}, {rate(self.throughput_bytes_per_s)}>"
