"""How figures show what a paper prints: apart from all that was measured here."""

from __future__ import annotations

from typing import Any

# A star with a black edge, above every line; its colour is that of the line that it belongs to.
PRINTED: dict[str, Any] = {"markersize": 13, "markeredgecolor": "black", "zorder": 5}
