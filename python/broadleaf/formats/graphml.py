"""GraphML through NetworkX; lists and objects of the platform format become JSON text."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import networkx as nx

from broadleaf._core import Platform
from broadleaf.errors import PlatformError
from broadleaf.files import NO_XML, read_regular, write_whole

Attributes = dict[str, Any]

# Fields whose values are lists or objects; GraphML's attributes are numbers, truth values or text.
STRUCTURED = ("shared", "provenance", "gap", "uses", "os", "or", "bulk", "spread", "delayed")
# Fields with the time of a link; an edge with none of them is refused, since other fields have unknown units.
TIMES = ("bandwidth_bytes_per_s", "gap", "latency_s")
# The Internet Topology Zoo's rate of a link, bit/s.
LINK_SPEED = "LinkSpeedRaw"


def save_graphml(platform: Platform, path: Path) -> None:
    """Writes one directed edge a link, meshes and bridges expanded.

    Raises PlatformError for a name that XML cannot hold.
    """
    graph = platform.to_networkx()
    for attributes in attributes_of(graph):
        for name in STRUCTURED:
            if name in attributes:
                attributes[name] = json.dumps(attributes[name])
        # NetworkX would declare an attribute twice that is an integer on one edge and a float on another.
        for name, value in attributes.items():
            if type(value) is int:
                attributes[name] = float(value)
    document = io.BytesIO()
    nx.write_graphml_xml(graph, document, infer_numeric_types=True)
    if found := NO_XML.search(document.getvalue().decode()):
        raise PlatformError(
            f"{path}: XML cannot hold the character {found[0]!r} of a name; rename it, or write NAME.nx.json"
        )
    write_whole(path, document.getvalue() + b"\n")


def load_graphml(path: Path) -> Platform:
    """Reads what `save_graphml` writes, or any GraphML whose edges have the platform format's fields or the
    Topology Zoo's `LinkSpeedRaw`.

    Raises PlatformError, naming the file and where it can the line, for anything else.
    """
    text = read_regular(path)
    try:
        graph = nx.read_graphml(io.BytesIO(text))
    except ParseError as error:
        raise PlatformError(f"{path}: no XML ({error}); export the graph again") from None
    except Exception as error:  # NetworkX documents no list of its exceptions
        raise PlatformError(
            f"{path}: no GraphML that can be read ({error}); export the graph again"
        ) from None
    try:
        for attributes in attributes_of(graph):
            for name in set(STRUCTURED) & set(attributes):
                attributes[name] = structured(name, attributes[name])
        for source, target, attributes in graph.edges(data=True):
            give_rate(f"edge {source} to {target}", attributes)
        if "name" not in graph.graph:
            graph.graph["name"] = path.stem
        return Platform.from_networkx(graph)
    except PlatformError as error:
        raise PlatformError(f"{path}: {error}") from None


def attributes_of(graph: Any) -> list[Attributes]:
    nodes = [attributes for _, attributes in graph.nodes(data=True)]
    return [graph.graph, *nodes, *(attributes for _, _, attributes in graph.edges(data=True))]


def give_rate(edge: str, attributes: Attributes) -> None:
    """Sets the edge's rate in the platform format's field; raises PlatformError where none is known."""
    if set(TIMES) & set(attributes):
        return
    if LINK_SPEED not in attributes:
        has = ", ".join(sorted(map(str, attributes))) or "nothing"
        raise PlatformError(
            f"{edge}: an edge without {', '.join(TIMES)} or {LINK_SPEED}, and with {has}; "
            f"give it bandwidth_bytes_per_s, or {LINK_SPEED} in bit/s"
        )
    try:
        attributes["bandwidth_bytes_per_s"] = float(attributes[LINK_SPEED]) / 8
    except (ValueError, OverflowError):
        raise PlatformError(
            f"{edge}: {LINK_SPEED} is {attributes[LINK_SPEED]!r} and no number; write it in bit/s"
        ) from None


def structured(name: str, text: object) -> Any:
    try:
        return json.loads(str(text))
    except (ValueError, RecursionError):
        raise PlatformError(f"{name}: {text!r} is no JSON; write it as in the platform format") from None
