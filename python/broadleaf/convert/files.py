"""Which form a file is in, by what it says and, for output, by its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from broadleaf._core import Platform
from broadleaf.convert.csv_files import load_matrices, save_matrices
from broadleaf.errors import PlatformError
from broadleaf.files import write_whole

# The forms `convert` writes and the file names that stand for them; the first match counts.
FORMS = {"networkx": ".nx.json", "platform": ".json", "csv": ".csv"}


def load_any(path: Path) -> Platform:
    """Reads a platform in any form: `.csv` is a pair of matrices, JSON says itself what it is."""
    if path.suffix == ".csv":
        return load_matrices(path)
    document = node_link_document(path)
    return Platform.load(path) if document is None else load_node_link(path, document)


def node_link_document(path: Path) -> dict[str, Any] | None:
    """The document if it is NetworkX's; all other JSON, broken too, is the platform reader's to judge."""
    try:
        document = json.loads(path.read_text())
    except ValueError:
        return None
    if isinstance(document, dict) and "format" not in document and {"directed", "nodes"} <= set(document):
        return document
    return None


def load_node_link(path: Path, document: dict[str, Any]) -> Platform:
    import networkx as nx

    # NetworkX called the list "links" before 3.4 and "edges" since.
    edges = "edges" if "edges" in document else "links"
    try:
        graph = nx.node_link_graph(document, edges=edges)
    except (KeyError, TypeError, nx.NetworkXException) as error:
        reason = f"{type(error).__name__} {error}"
        raise PlatformError(f"{path}: not a node-link document ({reason}); write node_link_data's") from None
    try:
        return Platform.from_networkx(graph)
    except PlatformError as error:
        raise PlatformError(f"{path}: {error}") from None


def form_of(path: Path) -> str:
    """The form that a file name stands for; raises ValueError where it stands for none."""
    for form, suffix in FORMS.items():
        if path.name.endswith(suffix):
            return form
    known = ", ".join(f"NAME{suffix}" for suffix in FORMS.values())
    raise ValueError(f"{path}: the name says no form; use {known} or --to")


def save_any(platform: Platform, path: Path, form: str, at_bytes: int | None) -> list[Path]:
    """Writes the platform in a form of FORMS and returns the paths of the files."""
    if form == "csv":
        return save_matrices(platform, path, at_bytes)
    if form == "networkx":
        write_whole(path, json.dumps(node_link_data(platform), indent=1, allow_nan=False) + "\n")
    else:
        platform.save(path)
    return [path]


def node_link_data(platform: Platform) -> dict[str, Any]:
    import networkx as nx

    document: dict[str, Any] = nx.node_link_data(platform.to_networkx(), edges="edges")
    return document
