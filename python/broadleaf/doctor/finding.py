"""One examined item."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """The item, its state, and, only where that is an obstacle, the remedy."""

    subject: str
    found: str
    remedy: str | None = None

    def to_dict(self) -> dict[str, str | None]:
        return {"subject": self.subject, "found": self.found, "remedy": self.remedy}
