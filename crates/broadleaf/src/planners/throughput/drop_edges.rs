//! Deleting edges while every host stays reachable from the root: the common part of the pruning planners.

use super::graph::{Edge, Graph};
use crate::platform::NodeId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A graph that loses edges but never a node.
///
/// It keeps one spanning tree of the remaining edges: an edge outside it can be dropped at once, one inside it only
/// if its target is reached by another way, which then enters the tree. An edge that must stay once must always stay,
/// since later there are only fewer ways; so each edge is tried once.
pub struct Pruning<'a> {
    graph: &'a Graph<'a>,
    is_left: Vec<bool>,
    left: usize,
    /// The edges into each node that may remain; dropped ones are removed when met.
    into: Vec<Vec<u32>>,
    /// The edge by which the spanning tree reaches a node.
    reached_by: Vec<Option<u32>>,
    /// Which search last saw a node, and whether it hangs below the node searched for.
    seen: Vec<u32>,
    below: Vec<bool>,
    /// Which search last came to a node backwards.
    opened: Vec<u32>,
    search: u32,
}

impl<'a> Pruning<'a> {
    pub fn new(graph: &'a Graph<'a>) -> Self {
        let mut into = vec![Vec::new(); graph.node_count()];
        for (index, edge) in graph.edges.iter().enumerate() {
            into[edge.to.index()].push(index as u32);
        }
        let mut reached_by = vec![None; graph.node_count()];
        let mut open = vec![graph.root()];
        while let Some(node) = open.pop() {
            for index in graph.out_edges(node) {
                let to = graph.edges[index].to;
                if to != graph.root() && reached_by[to.index()].is_none() {
                    reached_by[to.index()] = Some(index as u32);
                    open.push(to);
                }
            }
        }
        Pruning {
            graph,
            is_left: vec![true; graph.edges.len()],
            left: graph.edges.len(),
            into,
            reached_by,
            seen: vec![0; graph.node_count()],
            below: vec![false; graph.node_count()],
            opened: vec![0; graph.node_count()],
            search: 0,
        }
    }

    /// Whether only a tree is left: n − 1 edges.
    pub fn is_tree(&self) -> bool {
        self.left == self.graph.host_count() - 1
    }

    /// Drops the edge if every host stays reachable without it; false if it must stay.
    pub fn drop_edge(&mut self, edge: usize) -> bool {
        let to = self.graph.edges[edge].to;
        if self.reached_by[to.index()] == Some(edge as u32) && !self.replace(edge, to) {
            return false;
        }
        self.is_left[edge] = false;
        self.left -= 1;
        true
    }

    /// Finds another way to `target` than by `edge`, backwards from it to any node that does not hang
    /// below it, and puts that way into the tree.
    fn replace(&mut self, edge: usize, target: NodeId) -> bool {
        self.search += 1;
        self.note(target, true);
        self.note(self.graph.root(), false);
        // (node, the edge on from it, where in `open` that edge leads).
        let mut open: Vec<(NodeId, u32, usize)> = vec![(target, u32::MAX, 0)];
        self.opened[target.index()] = self.search;
        let mut at = 0;
        while at < open.len() {
            let node = open[at].0;
            let mut place = 0;
            while let Some(&into) = self.into[node.index()].get(place) {
                if !self.is_left[into as usize] {
                    self.into[node.index()].swap_remove(place);
                    continue;
                }
                place += 1;
                let from = self.graph.edges[into as usize].from;
                if into as usize == edge || self.opened[from.index()] == self.search {
                    continue;
                }
                if !self.hangs_below(from) {
                    self.reached_by[node.index()] = Some(into);
                    while open[at].0 != target {
                        let (_, onward, next) = open[at];
                        self.reached_by[open[next].0.index()] = Some(onward);
                        at = next;
                    }
                    return true;
                }
                self.opened[from.index()] = self.search;
                open.push((from, into, at));
            }
            at += 1;
        }
        false
    }

    fn note(&mut self, node: NodeId, below: bool) {
        self.seen[node.index()] = self.search;
        self.below[node.index()] = below;
    }

    /// Whether the spanning tree reaches the node through the search's target.
    fn hangs_below(&mut self, node: NodeId) -> bool {
        let mut way = Vec::new();
        let mut up = node;
        while self.seen[up.index()] != self.search {
            way.push(up);
            let by = self.reached_by[up.index()].expect("every host is reached");
            up = self.graph.edges[by as usize].from;
        }
        let below = self.below[up.index()];
        way.into_iter().for_each(|passed| self.note(passed, below));
        below
    }

    /// The edges of the tree that is left.
    pub fn into_tree(self) -> Vec<usize> {
        assert!(self.is_tree(), "edges were given up that could go");
        (0..self.is_left.len()).filter(|&edge| self.is_left[edge]).collect()
    }
}

/// Drops the edges in this order where possible, until a tree is left.
pub fn prune_in_order(graph: &Graph, order: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut pruning = Pruning::new(graph);
    for edge in order {
        if pruning.is_tree() {
            break;
        }
        pruning.drop_edge(edge);
    }
    pruning.into_tree()
}

/// The load of a node's remaining edges.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutLoad {
    pub times_s: f64,
    pub sends_s: f64,
    pub longest_s: f64,
}

/// Algorithm 2 for any measure of a node: drops an edge of the node whose `period_s` is the longest,
/// heaviest first; of the next node when none of its edges can go.
pub fn prune_busiest(graph: &Graph, period_s: impl Fn(OutLoad) -> f64) -> Vec<usize> {
    let ticks = graph.ticks();
    let mut pruning = Pruning::new(graph);
    let mut nodes: Vec<Outgoing> = graph.platform().nodes().map(|node| Outgoing::of(graph, node)).collect();
    // Greatest first; a node's entry is replaced whenever its load changes, so entries are always current.
    let mut queue: BinaryHeap<(i64, Reverse<NodeId>)> = graph
        .platform()
        .nodes()
        .map(|node| (ticks.count(period_s(nodes[node.index()].load(graph))), Reverse(node)))
        .collect();
    while !pruning.is_tree() {
        let (_, Reverse(node)) = queue.pop().expect("an edge can go while more than a tree is left");
        let outgoing = &mut nodes[node.index()];
        // A node without a droppable edge never gets one again, and leaves the queue.
        if outgoing.drop_heaviest(graph, &mut pruning) {
            queue.push((ticks.count(period_s(outgoing.load(graph))), Reverse(node)));
        }
    }
    pruning.into_tree()
}

/// The edges out of one node, heaviest first.
struct Outgoing {
    edges: Vec<usize>,
    /// How many of `edges` were tried.
    asked: usize,
    times_s: f64,
    sends_s: f64,
    /// The heaviest edge that must stay, seconds.
    kept_s: f64,
}

impl Outgoing {
    fn of(graph: &Graph, node: NodeId) -> Outgoing {
        let edges = heaviest_first(graph, graph.out_edges(node).collect());
        let sum = |time: fn(&Edge) -> f64| edges.iter().map(|&edge| time(&graph.edges[edge])).sum();
        Outgoing {
            times_s: sum(|edge| edge.time_s),
            sends_s: sum(|edge| edge.send_s),
            edges,
            asked: 0,
            kept_s: 0.0,
        }
    }

    fn load(&self, graph: &Graph) -> OutLoad {
        let next_s = self.edges.get(self.asked).map_or(0.0, |&edge| graph.edges[edge].time_s);
        OutLoad { times_s: self.times_s, sends_s: self.sends_s, longest_s: self.kept_s.max(next_s) }
    }

    fn drop_heaviest(&mut self, graph: &Graph, pruning: &mut Pruning) -> bool {
        while let Some(&edge) = self.edges.get(self.asked) {
            self.asked += 1;
            let Edge { time_s, send_s, .. } = graph.edges[edge];
            if pruning.drop_edge(edge) {
                self.times_s -= time_s;
                self.sends_s -= send_s;
                return true;
            }
            self.kept_s = self.kept_s.max(time_s);
        }
        false
    }
}

/// The edges by falling T; of edges that tie the larger goes first.
pub fn heaviest_first(graph: &Graph, mut edges: Vec<usize>) -> Vec<usize> {
    let ticks = graph.ticks();
    edges.sort_by_cached_key(|&edge| Reverse((ticks.count(graph.edges[edge].time_s), edge)));
    edges
}
