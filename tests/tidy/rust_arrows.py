"""Which Rust module of a crate uses which: `use` declarations and paths that begin with crate or super.

A name that a module only hands on (`pub use`) leads to the module that has it. Tests in files do not count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from circles import Arrows

COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"', re.S)
USE = re.compile(r"^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.M)
CHILD = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;", re.M)
PATH = re.compile(r"\b(?:crate|super|self)(?:::\w+)+")


@dataclass
class Module:
    """One file."""

    name: tuple[str, ...]
    file: str
    code: str
    # Its re-exports: a name, and the path that it stands for.
    passed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # Modules all of whose names it re-exports.
    passed_whole: list[tuple[str, ...]] = field(default_factory=list)
    used: list[tuple[str, ...]] = field(default_factory=list)


def rust_arrows(sources: Path) -> Arrows:
    """Of the crate whose `src` this is; modules are named with `::`."""
    modules: dict[tuple[str, ...], Module] = {}
    for path in sorted(sources.rglob("*.rs")):
        parts = path.relative_to(sources).with_suffix("").parts
        name = parts[:-1] if parts[-1] in ("mod", "lib") else parts
        if "tests" not in parts:
            modules[name] = Module(name, path.relative_to(sources).as_posix(), bare(path.read_text()))
    for module in modules.values():
        read(module, modules)
    arrows: Arrows = {}
    for module in modules.values():
        for used in module.used:
            target = holder(used, modules)
            if target and target != module.name and module.name:
                arrows.setdefault(("::".join(module.name), "::".join(target)), module.file)
    return arrows


def bare(text: str) -> str:
    """The code without comments, strings and tests."""
    text = COMMENT.sub(lambda found: '""' if found[0][0] == '"' else "", text)
    while (at := text.find("#[cfg(test)]")) >= 0:
        end = min((place for mark in ";{" if (place := text.find(mark, at)) >= 0), default=len(text))
        if text[end : end + 1] == "{":
            end = closing(text, end)
        text = text[:at] + text[end + 1 :]
    return text


def closing(text: str, at: int) -> int:
    depth = 0
    for place in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return len(text)


def read(module: Module, modules: dict[tuple[str, ...], Module]) -> None:
    children = [name for name in CHILD.findall(module.code) if (*module.name, name) in modules]
    code = module.code
    for found in USE.finditer(module.code):
        code = code.replace(found[0], " ")
        for path, alias in leaves(found[2]):
            whole = absolute(path, module, children)
            if whole is None:
                continue
            if not found[1]:
                module.used.append(whole)
            elif alias == "*":
                module.passed_whole.append(whole[:-1])
            else:
                module.passed[alias] = whole
    module.used += [
        whole
        for path in PATH.findall(code)
        if (whole := absolute(path.split("::"), module, children)) is not None
    ]
    for name in children:
        if re.search(rf"(?<![\w:]){name}::", code):
            module.used.append((*module.name, name))
    module.used += [
        path for name, path in module.passed.items() if re.search(rf"(?<![\w:]){re.escape(name)}\b", code)
    ]


def leaves(tree: str) -> list[tuple[list[str], str]]:
    """The paths of a use tree, each with the name that it gives; `a::{b, c as d}` has two."""
    tree = tree.strip()
    head, brace, rest = tree.partition("{")
    if not brace:
        path, _, alias = (part.strip() for part in tree.partition(" as "))
        parts = [part.strip() for part in path.split("::")]
        return [(parts, alias or parts[-1])]
    before = [part.strip() for part in head.split("::") if part.strip()]
    found = []
    depth, start, inner = 0, 0, rest[: rest.rindex("}")]
    for at, mark in enumerate(inner + ","):
        depth += {"{": 1, "}": -1}.get(mark, 0)
        if mark == "," and depth == 0:
            piece = inner[start:at]
            start = at + 1
            if piece.strip():
                found += [
                    (before if path == ["self"] else before + path, before[-1] if path == ["self"] else alias)
                    for path, alias in leaves(piece)
                ]
    return found


def absolute(path: list[str], module: Module, children: list[str]) -> tuple[str, ...] | None:
    """A path from the crate's root; None for other crates and for names that the file has."""
    here = module.name
    if path[0] == "crate":
        return tuple(path[1:])
    if path[0] == "self":
        return (*here, *path[1:])
    if path[0] == "super":
        ups = next((at for at, part in enumerate(path) if part != "super"), len(path))
        return (*here[: max(0, len(here) - ups)], *path[ups:])
    return (*here, *path) if path[0] in children else None


def holder(
    path: tuple[str, ...], modules: dict[tuple[str, ...], Module], depth: int = 0
) -> tuple[str, ...] | None:
    """The module that defines a path's item, through any number of re-exports."""
    if depth > 20:
        return None
    known = next(path[:end] for end in range(len(path), -1, -1) if path[:end] in modules)
    rest = path[len(known) :]
    if not rest:
        return known
    module = modules[known]
    if rest[0] in module.passed:
        return holder((*module.passed[rest[0]], *rest[1:]), modules, depth + 1)
    if not re.search(rf"\b{re.escape(rest[0])}\b", module.code):
        for whole in module.passed_whole:
            found = holder((*whole, *rest), modules, depth + 1)
            if found is not None and re.search(rf"\b{re.escape(rest[0])}\b", modules[found].code):
                return found
    return known
