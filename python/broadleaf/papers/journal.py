"""The results of a long experiment's steps, saved in a file, so that an interrupted run can resume."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from broadleaf import _core

FORMAT = "broadleaf-partial/2"


def build(module: str) -> str:
    """A hash of what simulated results depend on: the compiled core, and the code beside a module's file."""
    digest = hashlib.sha256(Path(_core.__file__).read_bytes())
    for path in sorted(Path(module).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def key_of(*parts: object) -> str:
    """The key of a step; a hash, since what it depends on may be long."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


class Journal:
    """Values by key. With a file, each is written before the next step begins.

    A line for each value; one that was cut off is left out. A key contains all that its value depends on, so
    that values of another program, platform or setting are ignored. Safe to use from several threads."""

    def __init__(self, path: Path | None = None) -> None:
        """Raises OSError where the file is there and cannot be read."""
        self.path = path
        self.known: dict[str, Any] = {}
        self.lock = threading.Lock()
        if path is not None and path.exists():
            for line in path.read_text(errors="replace").splitlines():
                entry = read(line)
                if entry is not None:
                    self.known[entry[0]] = entry[1]
        self.found = len(self.known)

    def value(self, key: str, work: Callable[[], Any]) -> Any:
        """The value of a step as JSON has it: a tuple comes back as a list. Only what is missing is done."""
        with self.lock:
            if key in self.known:
                return self.known[key]
        value = json.loads(json.dumps(work()))
        self.keep({key: value})
        return value

    def keep(self, values: Mapping[str, Any]) -> None:
        with self.lock:
            self.known |= values
            if self.path is not None:
                # The first line is empty, or it might continue one that was cut off.
                with self.path.open("a") as file:
                    file.write("\n")
                    for key, value in values.items():
                        file.write(json.dumps({"format": FORMAT, "of": key, "value": value}) + "\n")

    def discard(self) -> None:
        """Removes the file: everything is in the results now."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def read(line: str) -> tuple[str, Any] | None:
    """A line's key and value; None where it is not whole."""
    try:
        entry: Any = json.loads(line)
    except json.JSONDecodeError:
        return None
    if not isinstance(entry, dict) or entry.get("format") != FORMAT or "value" not in entry:
        return None
    key = entry.get("of")
    return (key, entry["value"]) if isinstance(key, str) else None
