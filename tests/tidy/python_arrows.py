"""Which Python module of a package imports which, inside functions and for types alone too."""

from __future__ import annotations

import ast
from pathlib import Path

from circles import Arrows


def python_arrows(package: Path, facade: str) -> Arrows:
    """Modules are named below the package; `facade` stands for its `__init__`, which re-exports names."""
    names: dict[str, Path] = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts) or facade] = path
    arrows: Arrows = {}
    native = {stub.stem: stub for stub in package.glob("*.pyi")}
    for name, path in names.items():
        for node in ast.walk(ast.parse(path.read_text())):
            for whole in imported(node, package.name):
                target = nearest(whole, names | native, facade)
                if target != name:
                    arrows.setdefault(
                        (name, target), f"{path.relative_to(package)}:{getattr(node, 'lineno', 0)}"
                    )
    return arrows


def imported(node: ast.AST, package: str) -> list[str]:
    """A node's imports from the package, below it."""
    if isinstance(node, ast.Import):
        wholes = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
        wholes = [f"{node.module}.{alias.name}" for alias in node.names]
    else:
        return []
    return [whole.partition(".")[2] for whole in wholes if whole.split(".")[0] == package]


def nearest(whole: str, names: dict[str, Path], facade: str) -> str:
    """The module that has a name: the longest part of it that is one."""
    parts = whole.split(".")
    return next(
        (found for end in range(len(parts), 0, -1) if (found := ".".join(parts[:end])) in names), facade
    )
