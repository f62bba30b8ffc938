"""The measurements of a long experiment, saved in a file, so that an interrupted run can resume."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from broadleaf.papers.tuning.beds import Bed, Timed

FORMAT = "broadleaf-partial/1"


class Journal:
    """Times of plans on beds. With a file, each measurement is written before the next begins.

    A line for each plan; one that was cut off is left out. Measurements of another program, platform or
    setting are ignored, and the plan is measured again. Safe to use from several threads."""

    def __init__(self, path: Path | None = None) -> None:
        """Raises OSError where the file is there and cannot be read."""
        self.path = path
        self.known: dict[str, float] = {}
        self.lock = threading.Lock()
        if path is not None and path.exists():
            for line in path.read_text(errors="replace").splitlines():
                entry = read(line)
                if entry is not None:
                    self.known[entry[0]] = entry[1]
        self.found = len(self.known)

    def seconds(self, bed: Bed, nodes: int, plans: Sequence[Timed], care: int = 1) -> list[float]:
        """As [`Bed.seconds`][], which measures plans that are not in the journal. Raises BedError,
        OSError."""
        keys = [key_of(bed, nodes, plan, care) for plan in plans]
        with self.lock:
            missing = {key: plan for key, plan in zip(keys, plans, strict=True) if key not in self.known}
        if missing:
            times = bed.seconds(nodes, list(missing.values()), care)
            self.keep(dict(zip(missing, times, strict=True)))
        with self.lock:
            return [self.known[key] for key in keys]

    def keep(self, times: dict[str, float]) -> None:
        with self.lock:
            self.known |= times
            if self.path is not None:
                # The first line is empty, or it might continue one that was cut off.
                with self.path.open("a") as file:
                    file.write("\n")
                    for key, seconds in times.items():
                        entry = {"format": FORMAT, "of": key, "seconds": seconds}
                        file.write(json.dumps(entry) + "\n")

    def discard(self) -> None:
        """Removes the file: everything is in the results now."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def key_of(bed: Bed, nodes: int, plan: Timed, care: int) -> str:
    """The key of a measurement; a hash, since a plan's edges are long."""
    return hashlib.sha256(repr((bed.name, bed.fingerprint, nodes, plan.line, care)).encode()).hexdigest()[:32]


def read(line: str) -> tuple[str, float] | None:
    """A line's key and seconds; None where it is not whole."""
    try:
        entry: Any = json.loads(line)
    except json.JSONDecodeError:
        return None
    if not isinstance(entry, dict) or entry.get("format") != FORMAT:
        return None
    key, seconds = entry.get("of"), entry.get("seconds")
    return (key, float(seconds)) if isinstance(key, str) and isinstance(seconds, (int, float)) else None
