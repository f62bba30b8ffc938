"""Platform files in several formats: input is recognised by its content, output by its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from broadleaf._core import Platform
from broadleaf.errors import PlatformError
from broadleaf.files import read_json, write_whole

# The forms that `convert` writes, by the ending of the file name; the first match counts.
FORMS = {"networkx": ".nx.json", "platform": ".json", "csv": ".csv", "graphml": ".graphml", "msccl": ".xml"}


def load_any(
    path: Path, hosts: Path | None = None, port_model: str | None = None, *, shared_pipes: bool = True
) -> Platform:
    """Reads a platform in any form: `.csv` a pair of matrices, `.xml` SimGrid's, JSON by its content.

    `hosts` and `port_model` are for SimGrid's files, see `load_simgrid`; `shared_pipes` is for matrices, see
    `Platform.load_csv`.
    """
    if path.suffix == ".xml":
        from broadleaf.formats.simgrid import load_simgrid

        return load_simgrid(path, hosts, port_model or "one-port")
    for option, value in (("--hosts", hosts), ("--port-model", port_model)):
        if value is not None:
            raise ValueError(f"{path}: {option} is for SimGrid's .xml files; leave it out")
    if path.suffix == ".csv":
        return Platform.load_csv(path, shared_pipes=shared_pipes)
    if path.suffix == ".graphml":
        from broadleaf.formats.graphml import load_graphml

        return load_graphml(path)
    document = node_link_document(path)
    if document is None:
        return Platform.load(path)
    try:
        return Platform.from_node_link(document)
    except PlatformError as error:
        raise PlatformError(f"{path}: {error}") from None


def node_link_document(path: Path) -> dict[str, Any] | None:
    """The document if it is NetworkX's; the platform reader handles all other JSON, malformed JSON too."""
    try:
        document = read_json(path)
    except ValueError:
        return None
    if isinstance(document, dict) and "format" not in document and {"directed", "nodes"} <= set(document):
        return document
    return None


def is_plan(path: Path) -> bool:
    """Whether a file is a plan; False for an unreadable file, which the platform reader refuses."""
    if path.suffix != ".json":
        return False
    try:
        document = read_json(path)
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and str(document.get("format", "")).startswith("broadleaf-plan/")


def form_of(path: Path) -> str:
    """The form of a file name's ending; raises ValueError for an unknown ending."""
    for form, suffix in FORMS.items():
        if path.name.endswith(suffix):
            return form
    known = ", ".join(f"NAME{suffix}" for suffix in FORMS.values())
    raise ValueError(f"{path}: the name has no known ending; use {known} or --to")


def save_any(platform: Platform, path: Path, form: str, at_bytes: int | None) -> list[str]:
    """Writes the platform in a form of FORMS and returns the paths of the files."""
    if form == "msccl":
        raise ValueError(f"{path}: MSCCL XML holds a plan and no platform; convert a plan, with --platform")
    if form == "graphml":
        from broadleaf.formats.graphml import save_graphml

        save_graphml(platform, path)
        return [str(path)]
    if form == "csv":
        return platform.save_csv(path, at_bytes=at_bytes)
    if form == "networkx":
        document = platform.to_node_link()
        write_whole(path, json.dumps(document, indent=1, allow_nan=False) + "\n")
    else:
        platform.save(path)
    return [str(path)]
