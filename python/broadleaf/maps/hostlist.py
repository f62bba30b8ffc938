"""Slurm's hostlist expressions: `tux[0-3,12]`, `r[1-2]n[01-16]`, several separated by commas."""

from __future__ import annotations

import re
from itertools import product

# As in slurm.conf: a longer list is a misprint.
MOST_HOSTS = 1_000_000
PART = re.compile(r"\[([^\[\]]*)\]")
RANGE = re.compile(r"(\d{1,12})(?:-(\d{1,12}))?$")
# A comma outside of brackets.
COMMA = re.compile(r",(?![^\[]*\])")


class HostlistError(ValueError):
    """An expression that is refused, in one line."""


def hostlist(text: str) -> list[str]:
    """The names of an expression, in its order; numbers keep their leading zeros.

    Raises HostlistError."""
    names: list[str] = []
    for entry in COMMA.split(text):
        names += entry_names(entry.strip())
        if len(names) > MOST_HOSTS:
            raise HostlistError(f"{text[:60]!r} stands for more than {MOST_HOSTS} names")
    return names


def entry_names(entry: str) -> list[str]:
    """The names of one entry: literal texts and bracketed ranges in turn."""
    fields = PART.split(entry)
    if not entry or re.search(r"[\[\]\s]", "".join(fields[::2])):
        raise HostlistError(f"{entry!r} is no hostlist; write tux[0-3,12]")
    count = 1
    choices: list[list[str]] = []
    for at, field in enumerate(fields):
        choices.append(numbers(field, entry) if at % 2 else [field])
        count *= len(choices[-1])
        if count > MOST_HOSTS:
            raise HostlistError(f"{entry!r} stands for more than {MOST_HOSTS} names")
    return ["".join(chosen) for chosen in product(*choices)]


def numbers(ranges: str, entry: str) -> list[str]:
    found: list[str] = []
    for each in ranges.split(","):
        match = RANGE.match(each.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if match is None or last < first or last - first >= MOST_HOSTS:
            raise HostlistError(f"{entry!r}: {each!r} is no range; write 0-3 or 12")
        found += [f"{number:0{len(match[1])}d}" for number in range(first, last + 1)]
    return found
