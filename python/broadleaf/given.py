"""Arguments given in more than one form: a platform or plan or its file, a size as a number or as text."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import SupportsIndex, TypeAlias

from broadleaf._core import Plan, Platform, planners
from broadleaf.errors import PlanError
from broadleaf.units import parse_size

# A file's name.
File: TypeAlias = str | os.PathLike[str]
# Bytes: a whole number, or text such as "64MiB".
Size: TypeAlias = SupportsIndex | str


def platform_of(platform: Platform | File) -> Platform:
    """The platform itself, or read from its file."""
    return platform if isinstance(platform, Platform) else Platform.load(platform)


def plan_of(plan: Plan | File) -> Plan:
    """The plan itself, or read from its file."""
    return plan if isinstance(plan, Plan) else Plan.load(plan)


def name_of(plan: Plan | File) -> str:
    """A plan's name in a list of plans: its file's name, or its planner."""
    return plan.planner if isinstance(plan, Plan) else Path(plan).stem


def bytes_of(size: Size) -> int:
    """Bytes of a whole number or of text; raises ValueError for anything else and for less than one byte.

    >>> bytes_of("64KiB"), bytes_of(17)
    (65536, 17)
    """
    if isinstance(size, str):
        return parse_size(size)
    try:
        return parse_size(str(size.__index__()))
    except AttributeError:
        raise ValueError(f"{size} is no size; give whole bytes, or text such as '64MiB'") from None


def sizes_of(sizes: Size | Iterable[Size]) -> list[int]:
    """Bytes of one size or several, each once and the smallest first; commas separate those in a text.

    >>> sizes_of("1MiB,64KiB"), sizes_of([3, "2k"])
    ([65536, 1048576], [3, 2048])
    """
    if isinstance(sizes, str):
        sizes = sizes.split(",")
    elif isinstance(sizes, SupportsIndex):
        sizes = [sizes]
    return sorted({bytes_of(size) for size in sizes})


def refuse_unknown_planner(name: str, *, with_best: bool = True) -> None:
    """Raises PlanError for an unknown planner, with a suggestion."""
    known = [*(["best"] if with_best else []), *(card.name for card in planners())]
    if name in known:
        return
    near = difflib.get_close_matches(name, known, n=1)
    meant = f"did you mean {near[0]!r}?" if near else "see broadleaf planners"
    raise PlanError(f"no planner is called {name!r}; {meant}")
