"""The outcome of a command, and the only permitted form of a refusal."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """The outcome of a command."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Standard output as the one JSON document it must be."""
        assert self.out, self.err
        return json.loads(self.out)


Command = Callable[..., Outcome]


@dataclass(frozen=True)
class PaperRun:
    """The output of `broadleaf paper`, and its folder."""

    document: Any
    folder: Path

    @property
    def sheets(self) -> dict[str, Any]:
        return {sheet["name"]: sheet for sheet in self.document["sheets"]}


def refused(outcome: Outcome, *fragments: str) -> None:
    """Asserts how every command refuses: exit 2, one line that names the trouble, no result."""
    assert outcome.code == 2, outcome
    assert outcome.out == ""
    assert outcome.err.startswith("broadleaf: ")
    assert outcome.err.count("\n") == 1, outcome.err
    for fragment in fragments:
        assert fragment in outcome.err
