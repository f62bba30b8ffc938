"""Platform files in several forms: input is told apart by what it says, output by its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from broadleaf._core import Platform
from broadleaf.errors import PlatformError
from broadleaf.files import write_whole

# The forms `convert` writes and the file names that stand for them; the first match counts.
FORMS = {"networkx": ".nx.json", "platform": ".json", "csv": ".csv"}


def load_any(path: Path) -> Platform:
    """Reads a platform in any form: `.csv` is a pair of matrices, JSON says itself what it is."""
    if path.suffix == ".csv":
        return Platform.load_csv(path)
    document = node_link_document(path)
    if document is None:
        return Platform.load(path)
    try:
        return Platform.from_node_link(document)
    except PlatformError as error:
        raise PlatformError(f"{path}: {error}") from None


def node_link_document(path: Path) -> dict[str, Any] | None:
    """The document if it is NetworkX's; all other JSON, broken too, is the platform reader's to judge."""
    try:
        document = json.loads(path.read_text())
    except ValueError:
        return None
    if isinstance(document, dict) and "format" not in document and {"directed", "nodes"} <= set(document):
        return document
    return None


def form_of(path: Path) -> str:
    """The form that a file name stands for; raises ValueError where it stands for none."""
    for form, suffix in FORMS.items():
        if path.name.endswith(suffix):
            return form
    known = ", ".join(f"NAME{suffix}" for suffix in FORMS.values())
    raise ValueError(f"{path}: the name says no form; use {known} or --to")


def save_any(platform: Platform, path: Path, form: str, at_bytes: int | None) -> list[str]:
    """Writes the platform in a form of FORMS and returns the paths of the files."""
    if form == "csv":
        return platform.save_csv(path, at_bytes=at_bytes)
    if form == "networkx":
        document = platform.to_node_link()
        write_whole(path, json.dumps(document, indent=1, allow_nan=False) + "\n")
    else:
        platform.save(path)
    return [str(path)]
