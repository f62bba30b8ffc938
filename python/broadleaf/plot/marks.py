"""The marks of a paper's printed values, distinct from measured ones."""

from __future__ import annotations

from typing import Any

# A star with a black edge, above every line; its colour is that of the line that it belongs to.
PRINTED: dict[str, Any] = {"markersize": 13, "markeredgecolor": "black", "zorder": 5}
