"""Mutated files: of their bytes, and of text in quotes, text between tags, and values."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Sequence
from typing import Any

# Values on which readers have failed: ends of ranges, other types, bytes that are no text.
NUMBERS = (0, -1, 1, 0.5, 1e308, -1e308, 5e-324, 2**32 - 1, 2**63, 2**64 - 1, 2**64, 10**400)
VALUES: tuple[Any, ...] = (
    *NUMBERS,
    None,
    True,
    [],
    {},
    "",
    "a",
    "\x00",
    "\x1b[2J",
    "[/a]",
    "\u202e",
    "9" * 400,
)
TOKENS = (*map(str, VALUES), "NaN", "inf", "1e999", "9" * 5000, "[" * 2000, "&lt;", "é")
# A number, a value in quotes, or text between tags.
TEXTS = re.compile(r'"[^"]*"|(?<=>)[^<]+(?=<)|-?\d[\d.eE+-]*')
TAGS = re.compile(r"<[^>]*>")


def mutated_text(draw: random.Random, corpus: Sequence[str]) -> bytes:
    """One of the texts with one to four changes."""
    text = draw.choice(corpus)
    for _ in range(draw.randint(1, 4)):
        text = changed_text(draw, text, corpus)
    content = bytearray(text.encode(errors="surrogatepass"))
    if content and draw.random() < 0.2:
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    return bytes(content)


def changed_text(draw: random.Random, text: str, corpus: Sequence[str]) -> str:
    start = draw.randint(0, len(text))
    end = min(len(text), start + draw.randint(0, 60))
    kind = draw.randrange(8)
    found = list((TAGS if kind in (2, 3) else TEXTS).finditer(text)) if kind < 5 else []
    if found:
        match = draw.choice(found)
        if kind == 2:
            return text[: match.start()] + match[0] * draw.choice((0, 2, 3, 500)) + text[match.end() :]
        if kind == 3:
            return text[: match.start()] + draw.choice(found)[0] + text[match.start() :]
        token = draw.choice(TOKENS)
        quoted = f'"{token}"' if match[0].startswith('"') else token
        return text[: match.start()] + quoted + text[match.end() :]
    match kind:
        case 5:
            return text[:start] + text[end:]
        case 6:
            other = draw.choice(corpus)
            at = draw.randint(0, len(other))
            return text[:start] + other[at : at + draw.randint(0, 200)] + text[end:]
        case _:
            return text[:start] + draw.choice(TOKENS) + text[start:]


def mutated_document(draw: random.Random, corpus: Sequence[Any]) -> Any:
    """One of the documents with one to four of its values changed."""
    document = copy.deepcopy(draw.choice(corpus))
    for _ in range(draw.randint(1, 4)):
        document = changed_value(draw, document, corpus)
    return document


def changed_value(draw: random.Random, document: Any, corpus: Sequence[Any]) -> Any:
    """The document with one value replaced, left out, or standing twice."""
    parent: Any = None
    key: Any = None
    place = document
    while isinstance(place, dict | list) and place and draw.random() < 0.85:
        keys = list(place) if isinstance(place, dict) else range(len(place))
        parent, key = place, draw.choice(keys)
        place = parent[key]
    drawn = draw.choice(VALUES)
    if draw.random() < 0.2:
        drawn = some_value(draw, draw.choice(corpus))
    if parent is None:
        return drawn
    match draw.randrange(6):
        case 0:
            del parent[key]
        case 1 if isinstance(parent, list):
            parent.insert(key, copy.deepcopy(place))
        case 2 if isinstance(place, int | float) and abs(place) < 1e100:
            parent[key] = place * 10.0 ** draw.randint(-12, 12)
        case 3 if isinstance(place, int | float) and abs(place) < 1e100:
            parent[key] = int(place) + draw.choice((-1, 1, 2**31))
        case _:
            parent[key] = copy.deepcopy(drawn)
    return document


def some_value(draw: random.Random, document: Any) -> Any:
    while isinstance(document, dict | list) and document and draw.random() < 0.8:
        document = draw.choice(list(document.values()) if isinstance(document, dict) else document)
    return document


def mutated_json(draw: random.Random, corpus: Sequence[Any], texts: Sequence[str]) -> bytes:
    """A mutation of the values in most cases, else of the text."""
    if draw.random() < 0.7:
        return json.dumps(mutated_document(draw, corpus)).encode()
    return mutated_text(draw, texts)
