"""A plan's trees as Python's own values, and as NetworkX graphs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import permutations
from typing import TYPE_CHECKING

from broadleaf.errors import PlanError, visible

if TYPE_CHECKING:
    import networkx as nx

    from broadleaf._core import Plan


@dataclass(frozen=True, repr=False)
class Tree:
    """One tree of a plan. `share` is the part of the segments that it carries, above 0 and at most 1; `root`
    the node from which it grows; `children` the children of each node that has some, in serving order; `via`
    the relays of the transfer between a node and its parent, where the plan names them. Data go from parents
    to children or, where it `is_inward`, from children to parents. In an allreduce the root and its children
    in `exchange`, if there are any, are heads: on the way in each sends what it has combined to all others,
    and on the way out none sends to another.
    """

    share: float
    root: str
    children: Mapping[str, list[str]] = field(hash=False)
    via: Mapping[str, list[str]] = field(default_factory=dict, hash=False)
    is_inward: bool = False
    exchange: list[str] = field(default_factory=list, hash=False)

    @property
    def edges(self) -> list[tuple[str, str]]:
        """(parent, child) of every edge, a parent's in serving order, whichever way the data go."""
        return [(parent, child) for parent, below in self.children.items() for child in below]

    @property
    def hops(self) -> list[tuple[str, str]]:
        """(sender, receiver) of every transfer of a segment."""
        # A plan that nothing has checked may name a host twice.
        heads = dict.fromkeys([self.root, *self.exchange])
        apart = [(parent, child) for parent, child in self.edges if parent != self.root or child not in heads]
        exchanged = list(permutations(heads, 2)) if self.is_inward else []
        return [self.along(*pair) for pair in apart] + exchanged

    def to_networkx(self) -> nx.DiGraph[str]:
        """The tree's `hops` as a NetworkX DiGraph. A tree edge has `order`, the child's place among its
        parent's children, from 0; what else heads send each other has none.
        """
        import networkx as nx

        graph: nx.DiGraph[str] = nx.DiGraph(root=self.root, share=self.share)
        graph.add_node(self.root)
        graph.add_edges_from(self.hops)
        for parent, below in self.children.items():
            for at, child in enumerate(below):
                if graph.has_edge(*self.along(parent, child)):
                    graph.edges[self.along(parent, child)]["order"] = at
        return graph

    def along(self, parent: str, child: str) -> tuple[str, str]:
        """The ends of an edge, the sender first."""
        return (child, parent) if self.is_inward else (parent, child)

    def __repr__(self) -> str:
        way = "to" if self.is_inward else "from"
        return f'<Tree {way} "{visible(self.root)}": share {self.share:.3g}, {len(self.edges)} edges>'


def refuse_no_tree(tree: Tree) -> None:
    """Raises PlanError, naming the edge, where a node has two parents or is not below the root: the
    checker refuses such a plan, but a file may have it.
    """
    reached, open_nodes = {tree.root}, [tree.root]
    while open_nodes:
        node = open_nodes.pop()
        for child in tree.children.get(node, []):
            if child in reached:
                raise no_tree(node, child, "leads to a node that has the message already")
            reached.add(child)
            open_nodes.append(child)
    for parent, child in tree.edges:
        if parent not in reached:
            raise no_tree(parent, child, f'is not below the root "{tree.root}"')


def no_tree(parent: str, child: str, fact: str) -> PlanError:
    return PlanError(f'the edge ("{parent}", "{child}") {fact}; bl.check lists all faults')


def plan_graph(plan: Plan) -> nx.DiGraph[str]:
    """All trees in one graph, its edges in the direction of the data: an edge has the `share` that crosses it
    and the numbers of its `trees`. The two trees of a share of an allreduce have one number.
    """
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph(
        planner=plan.planner,
        collective=plan.collective,
        root=plan.root,
        message_bytes=plan.message_bytes,
        segment_bytes=plan.segment_bytes,
    )
    graph.add_node(plan.root)
    for number, tree in (*enumerate(plan.inward), *enumerate(plan.trees)):
        for ends in tree.hops:
            if not graph.has_edge(*ends):
                graph.add_edge(*ends, share=0.0, trees=[])
            edge = graph.edges[ends]
            edge["share"] += tree.share
            if number not in edge["trees"]:
                edge["trees"].append(number)
    return graph
