"""Rates of shared resources that change over simulated time: SimGrid's bandwidth profiles.

    {"access-anl-in": [[120.0, 0.2], [540.0, 1.0]]}

gives the pipe a fifth of its bandwidth from 120 s on, and all of it from 540 s on. Transfers under way
continue at the new rate, as in Broadleaf's own simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from broadleaf._core import Platform
from broadleaf.files import read_json

Steps = Sequence[tuple[float, float]]
Rates = Mapping[str, Steps]


class RatesError(ValueError):
    """Rates that SimGrid cannot represent; the message is one line."""


def read_rates(path: Path) -> dict[str, list[tuple[float, float]]]:
    """The file's rates: factors above 0 at rising times, by the id of a shared resource."""
    try:
        document = read_json(path)
    except ValueError as error:
        raise RatesError(str(error)) from None
    if not isinstance(document, dict):
        raise RatesError(f"{path} is no object; give steps [seconds, factor] by the id of a shared resource")
    return {str(pipe): steps_of(f"{path}: $.{pipe}", steps) for pipe, steps in document.items()}


def steps_of(place: str, steps: object) -> list[tuple[float, float]]:
    read: list[tuple[float, float]] = []
    for step in steps if isinstance(steps, list) else [None]:
        pair = step if isinstance(step, list) and len(step) == 2 else None
        if pair is None or not all(isinstance(number, int | float) for number in pair):
            raise RatesError(f"{place} holds {step!r}; give a list of [seconds, factor]")
        # Compared before they are converted: JSON has whole numbers that no float holds.
        if not all(0 <= number < 1 << 63 for number in pair):
            raise RatesError(f"{place} holds {step!r}; give a time of at least 0 and a factor above 0")
        time_s, factor = float(pair[0]), float(pair[1])
        if not 0.0 < factor < float("inf") or not 0.0 <= time_s < float("inf"):
            raise RatesError(f"{place} holds {step!r}; give a time of at least 0 and a factor above 0")
        if read and time_s <= read[-1][0]:
            raise RatesError(f"{place}: {time_s:g} s comes after {read[-1][0]:g} s; give rising times")
        read.append((time_s, factor))
    return read


def profiles_of(platform: Platform, rates: Rates, folder: Path) -> dict[str, str]:
    """Writes each pipe's profile into the folder of the XML; the XML's attributes for it, by id."""
    pipes = {pipe["id"]: pipe["bandwidth_bytes_per_s"] for pipe in platform.to_dict().get("shared", [])}
    attributes = {}
    for number, (pipe, steps) in enumerate(rates.items()):
        if pipe not in pipes:
            raise RatesError(
                f'{platform.name} has no shared resource "{pipe}"; give rates of one that it has'
            )
        path = folder / f"rates-{number}.txt"
        # Without a period: the last rate stays.
        lines = (f"{time_s!r} {pipes[pipe] * factor!r}\n" for time_s, factor in steps)
        path.write_text("".join(lines), encoding="utf-8")
        attributes[pipe] = f"bandwidth_file={quoteattr(path.name)}"
    return attributes
