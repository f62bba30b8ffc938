"""Arrows between parts of the source, and the circles among them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from itertools import count

# From a part to the parts that it uses, with a place where it does.
Arrows = dict[tuple[str, str], str]


def circles(arrows: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """The groups of parts that reach each other (Tarjan's strongly connected components of two or more)."""
    following: dict[str, set[str]] = defaultdict(set)
    for source, target in arrows:
        following[source].add(target)
    numbers = count()
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found: list[tuple[str, ...]] = []

    def visit(part: str) -> None:
        number[part] = lowest[part] = next(numbers)
        path.append(part)
        for after in sorted(following.get(part, ())):
            if after not in number:
                visit(after)
                lowest[part] = min(lowest[part], lowest[after])
            elif after in path:
                lowest[part] = min(lowest[part], number[after])
        if lowest[part] == number[part]:
            at = path.index(part)
            group = path[at:]
            del path[at:]
            if len(group) > 1:
                found.append(tuple(sorted(group)))

    for part in sorted(following):
        if part not in number:
            visit(part)
    return sorted(found)


def circles_in_folders(arrows: Arrows, separator: str) -> list[tuple[str, ...]]:
    """The circles on every level: among the direct entries of a folder, each with everything below it.

    A folder's own module and what it holds belong together, so nothing between those two counts.
    """
    levels: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for source, target in arrows:
        one, other = source.split(separator), target.split(separator)
        same = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
        if same is not None:
            level = separator.join(one[:same])
            levels[level].add((separator.join(one[: same + 1]), separator.join(other[: same + 1])))
    return sorted(circle for level in levels.values() for circle in circles(level))


def refused(arrows: Arrows, allowed: Mapping[str, Set[str]], separator: str) -> list[str]:
    """The arrows between top-level parts that are not among those allowed, each with its place."""
    lines = set()
    for (source, target), place in arrows.items():
        one, other = source.split(separator)[0], target.split(separator)[0]
        if one != other and other not in allowed.get(one, set()):
            lines.add(f"{one} -> {other}: {place}")
    return sorted(lines)
