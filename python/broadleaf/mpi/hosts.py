"""Host files: one format for every MPI.

A line is `name`, `name slots=4` or `name:4`; the rest of a line after `#` is ignored. So Open MPI's and
MPICH's own host files can be used as they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from broadleaf.files import read_text

LINE = re.compile(r"(?P<name>[^\s:#]+)(?::(?P<after>\d{1,9})|\s+slots\s*=\s*(?P<slots>\d{1,9}))?$")


class HostsFileError(ValueError):
    """A host file that is refused, in one line."""


@dataclass(frozen=True)
class Host:
    """A machine and how many ranks it takes."""

    name: str
    slots: int


def read_hosts(path: Path) -> list[Host]:
    """The hosts of a file in its order; the slots of a repeated name are added."""
    try:
        text = read_text(path)
    except (OSError, ValueError) as error:
        raise HostsFileError(f"cannot read {path}: {error}") from None
    slots: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        match = LINE.match(line)
        count = int(match["after"] or match["slots"] or 1) if match else 0
        if not match or count < 1:
            raise HostsFileError(
                f"{path} line {number}: {line!r} is not a host; write `name` or `name slots=4`"
            )
        slots[match["name"]] = slots.get(match["name"], 0) + count
    if not slots:
        raise HostsFileError(f"{path}: no hosts; write a line `name slots=4` for each")
    return [Host(name, count) for name, count in slots.items()]
