"""One thing that was looked at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """What was looked at, what it is, and, only where that stands in the way, what to do about it."""

    subject: str
    found: str
    remedy: str | None = None

    def to_dict(self) -> dict[str, str | None]:
        return {"subject": self.subject, "found": self.found, "remedy": self.remedy}
