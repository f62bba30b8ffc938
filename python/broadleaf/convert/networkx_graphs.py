"""NetworkX graphs: a node, edge or graph attribute for each field of the platform format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broadleaf._core import Platform
from broadleaf.errors import PlatformError

if TYPE_CHECKING:
    import networkx as nx

# Written out, a mesh of 10,000 nodes is 100 million edges: more memory than any use of the graph is worth.
MOST_EDGES = 5_000_000


def platform_of_graph(graph: nx.Graph[Any], name: str | None, port_model: str | None) -> Platform:
    """The platform of a graph; `name` and `port_model` override those of the graph.

    A directed edge is a directed link, an undirected edge both directions. A node's id is its name as text.
    """
    if graph.is_multigraph():
        raise PlatformError("a multigraph has several links for a pair; merge them into a Graph or DiGraph")
    ids = {node: str(node) for node in graph.nodes}
    both_ways = {} if graph.is_directed() else {"both_ways": True}
    fields = {key: value for key, value in graph.graph.items() if key in ("shared", "local_start")}
    return Platform.from_dict(
        {
            "format": "broadleaf-platform/1",
            "name": name or graph.graph.get("name") or "networkx",
            "port_model": port_model or graph.graph.get("port_model", "one-port"),
            **fields,
            "nodes": [{**attributes, "id": ids[node]} for node, attributes in graph.nodes(data=True)],
            "links": [
                {**link_fields(attributes, ids[source], ids[target]), **both_ways}
                for source, target, attributes in graph.edges(data=True)
            ],
        }
    )


def link_fields(attributes: dict[str, Any], source: str, target: str) -> dict[str, Any]:
    """A link entry; of an edge with nothing but a `weight` we could only guess the unit."""
    if not attributes.keys() & {"latency_s", "bandwidth_bytes_per_s", "gap"}:
        raise PlatformError(
            f"the edge {source} to {target} has none of latency_s, bandwidth_bytes_per_s, gap; "
            "name its attributes as in the platform format"
        )
    return {**attributes, "from": source, "to": target}


def graph_of_platform(platform: Platform) -> nx.DiGraph[str]:
    """A directed graph with one edge a link, meshes and bridges written out."""
    import networkx as nx

    document = platform.to_dict()
    graph: nx.DiGraph[str] = nx.DiGraph(
        **{key: document[key] for key in ("name", "port_model", "local_start", "shared") if key in document}
    )
    for node in document["nodes"]:
        graph.add_node(node["id"], **{key: value for key, value in node.items() if key != "id"})
    for source in platform.nodes:
        for target in platform.successors(source):
            graph.add_edge(source, target, **(platform.link(source, target) or {}))
        if graph.number_of_edges() > MOST_EDGES:
            raise PlatformError(
                f"more than {MOST_EDGES} links once meshes and bridges are written out; "
                "keep the platform file, which holds them in a line each"
            )
    return graph
