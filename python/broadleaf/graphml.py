"""GraphML through NetworkX; what is a list or an object in the platform format is JSON text there."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import networkx as nx

from broadleaf._core import Platform
from broadleaf.errors import PlatformError
from broadleaf.files import write_whole

Attributes = dict[str, Any]

# GraphML's attributes are numbers, truth values or text; these fields are none of them.
STRUCTURED = ("shared", "provenance", "gap", "uses", "os", "or", "bulk", "spread", "delayed")


def save_graphml(platform: Platform, path: Path) -> None:
    """Writes one directed edge a link, meshes and bridges written out."""
    graph = platform.to_networkx()
    for attributes in attributes_of(graph):
        for name in STRUCTURED:
            if name in attributes:
                attributes[name] = json.dumps(attributes[name])
        # A number that is whole in one edge and not in another would give two attributes of one name.
        for name, value in attributes.items():
            if type(value) is int:
                attributes[name] = float(value)
    document = io.BytesIO()
    nx.write_graphml_xml(graph, document, infer_numeric_types=True)
    write_whole(path, document.getvalue() + b"\n")


def load_graphml(path: Path) -> Platform:
    """Reads what `save_graphml` writes, or any GraphML whose edges have the platform format's fields.

    Raises PlatformError, naming the file and where it can the line, for anything else.
    """
    text = path.read_bytes()
    try:
        graph = nx.read_graphml(io.BytesIO(text))
    except ParseError as error:
        raise PlatformError(f"{path}: no XML ({error}); export the graph again") from None
    except (nx.NetworkXError, KeyError, ValueError, TypeError) as error:
        raise PlatformError(
            f"{path}: no GraphML that can be read ({error}); export the graph again"
        ) from None
    try:
        for attributes in attributes_of(graph):
            for name in set(STRUCTURED) & set(attributes):
                attributes[name] = structured(name, attributes[name])
        if "name" not in graph.graph:
            graph.graph["name"] = path.stem
        return Platform.from_networkx(graph)
    except PlatformError as error:
        raise PlatformError(f"{path}: {error}") from None


def attributes_of(graph: Any) -> list[Attributes]:
    nodes = [attributes for _, attributes in graph.nodes(data=True)]
    return [graph.graph, *nodes, *(attributes for _, _, attributes in graph.edges(data=True))]


def structured(name: str, text: object) -> Any:
    try:
        return json.loads(str(text))
    except ValueError:
        raise PlatformError(f"{name}: {text!r} is no JSON; write it as in the platform format") from None
