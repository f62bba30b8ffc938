"""Which C file calls a function, or uses a variable, that another one defines."""

from __future__ import annotations

import re
from pathlib import Path

from circles import Arrows

COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
# Definitions begin a line: a type, a name, and a body or a value.
FUNCTION = re.compile(r"^(?!static\b)[A-Za-z_][\w\s*]*?\b(\w+)\s*\([^;{}]*\)\s*\{", re.M)
VARIABLE = re.compile(
    r"^(?!static\b|extern\b|typedef\b|return\b)[A-Za-z_][\w\s*]*?\b(\w+)(?:\[[^\]]*\])?\s*(?:=[^;]*)?;", re.M
)


def c_arrows(folder: Path) -> Arrows:
    codes = {path.name: COMMENT.sub(" ", path.read_text()) for path in sorted(folder.glob("*.c"))}
    owner: dict[str, str] = {}
    for name, code in codes.items():
        for pattern in (FUNCTION, VARIABLE):
            for found in pattern.findall(code):
                owner.setdefault(found, name)
    arrows: Arrows = {}
    for name, code in codes.items():
        for used, holder in owner.items():
            if holder != name and re.search(rf"\b{used}\b", code):
                arrows.setdefault((name, holder), used)
    return arrows
