"""Real MPI programs in simulated time, under SimGrid's SMPI: the one place that builds and starts them.

A platform becomes SimGrid's XML (`formats.simgrid`, `profiles`), a C source becomes a program, with
Broadleaf's runtime or without (`programs`), and `start` runs it. The sources and the runtime's builder are
those of a checkout."""

from __future__ import annotations

from broadleaf.smpi.profiles import RatesError, profiles_of, read_rates
from broadleaf.smpi.programs import plain_program, planned_program
from broadleaf.smpi.start import (
    DEFAULT_MODEL,
    TIMEOUT_S,
    SmpiError,
    SmpiTimeoutError,
    algorithms,
    broadcast_algorithms,
    missing,
    need,
    simulate,
)

__all__ = [
    "DEFAULT_MODEL",
    "TIMEOUT_S",
    "RatesError",
    "SmpiError",
    "SmpiTimeoutError",
    "algorithms",
    "broadcast_algorithms",
    "missing",
    "need",
    "plain_program",
    "planned_program",
    "profiles_of",
    "read_rates",
    "simulate",
]
