//! A tree between clusters with every sender's best order, and its makespan, updated while edges move.
//!
//! From j's arrival on, j and all below it need q_j. Sender i serves its children one after another; child c
//! keeps it busy for g_ic and is over L_ic + q_c after that. Largest L_ic + q_c first minimises the last end
//! (Jackson 1955), and i's own broadcast, after the last send or from the arrival on, is the same in every
//! order. So the tree alone is the solution, and a moved edge changes q only on the way to the root.

use super::grid::Grid;
use super::sends::ClusterSend;
use crate::platform::LocalStart;
use ordered_float::OrderedFloat;
use std::collections::BinaryHeap;

/// An edge that a move adds or removes: `child` under `parent`, finished `tail_s` after its send; `None`: removed.
#[derive(Clone, Copy, Debug)]
struct Change {
    parent: u32,
    child: u32,
    tail_s: Option<f64>,
}

/// A move to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// `child` with all below it goes under `parent`, which is not below it.
    Under { child: u32, parent: u32 },
    /// Two nodes with all below them swap places; neither is below the other.
    Exchange { one: u32, other: u32 },
}

#[derive(Clone, Debug)]
pub(super) struct OrderedTree<'g> {
    grid: &'g Grid,
    after_last_send: bool,
    parent: Vec<u32>,
    depth: Vec<u32>,
    /// In serving order: (L + q, child).
    children: Vec<Vec<(f64, u32)>>,
    /// q by node, seconds.
    remaining_s: Vec<f64>,
    /// Changes not yet propagated to the root, and those of the current node.
    pending: Vec<Change>,
    here: Vec<Change>,
}

const NOBODY: u32 = u32::MAX;

impl<'g> OrderedTree<'g> {
    /// The tree of a send sequence, in the best order.
    pub fn new(grid: &'g Grid, sends: &[ClusterSend]) -> Self {
        let mut tree = OrderedTree {
            grid,
            after_last_send: grid.local_start() == LocalStart::AfterLastSend,
            parent: vec![NOBODY; grid.len()],
            depth: vec![0; grid.len()],
            children: vec![Vec::new(); grid.len()],
            remaining_s: vec![0.0; grid.len()],
            pending: Vec::new(),
            here: Vec::new(),
        };
        for &ClusterSend { from, to } in sends {
            tree.parent[to as usize] = from;
            tree.depth[to as usize] = tree.depth[from as usize] + 1;
        }
        // Receivers before their senders.
        for &ClusterSend { from, to } in sends.iter().rev() {
            tree.remaining_s[to as usize] = tree.remaining(to);
            let tail_s = tree.tail_s(from, to);
            tree.insert(from, to, tail_s);
        }
        let root = grid.root() as u32;
        tree.remaining_s[root as usize] = tree.remaining(root);
        tree
    }

    /// The tree of every node's [`OrderedTree::parents`] entry.
    pub fn from_parents(grid: &'g Grid, parents: &[u32]) -> Self {
        let mut below = vec![Vec::new(); parents.len()];
        for (node, &parent) in parents.iter().enumerate().filter(|(_, &parent)| parent != NOBODY) {
            below[parent as usize].push(node as u32);
        }
        let mut order = vec![grid.root() as u32];
        let mut sends = Vec::with_capacity(parents.len());
        let mut at = 0;
        while let Some(&from) = order.get(at) {
            sends.extend(below[from as usize].iter().map(|&to| ClusterSend { from, to }));
            order.append(&mut below[from as usize]);
            at += 1;
        }
        OrderedTree::new(grid, &sends)
    }

    /// Opaque, for [`OrderedTree::from_parents`].
    pub fn parents(&self) -> &[u32] {
        &self.parent
    }

    pub fn makespan_s(&self) -> f64 {
        self.remaining_s[self.grid.root()]
    }

    pub fn parent(&self, node: u32) -> Option<u32> {
        let parent = self.parent[node as usize];
        (parent != NOBODY).then_some(parent)
    }

    /// In serving order.
    fn children(&self, node: u32) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.children[node as usize].iter().map(|&(_, child)| child)
    }

    /// The child served in that place.
    pub fn child(&self, node: u32, place: usize) -> u32 {
        self.children[node as usize][place].1
    }

    pub fn is_below(&self, node: u32, above: u32) -> bool {
        let mut at = node;
        while self.depth[at as usize] > self.depth[above as usize] {
            at = self.parent[at as usize];
        }
        at == above
    }

    /// The sends in the order of their starts, ties by sender.
    pub fn sends(&self) -> Vec<ClusterSend> {
        let mut sends = Vec::with_capacity(self.grid.len());
        let mut queue = BinaryHeap::new();
        let start = |node: u32, at_s: f64| std::cmp::Reverse((OrderedFloat(at_s), node, 0usize));
        queue.push(start(self.grid.root() as u32, 0.0));
        while let Some(std::cmp::Reverse((OrderedFloat(at_s), from, next))) = queue.pop() {
            let Some(&(_, to)) = self.children[from as usize].get(next) else { continue };
            sends.push(ClusterSend { from, to });
            queue.push(start(to, at_s + self.grid.edge_s(from as usize, to as usize)));
            let free_s = at_s + self.grid.gap_s(from as usize, to as usize);
            queue.push(std::cmp::Reverse((OrderedFloat(free_s), from, next + 1)));
        }
        sends
    }

    /// The nodes whose edges decide the makespan: from the root along the child that finishes last. At the last of
    /// them its own broadcast decides. With each node comes the number of its sends that count.
    pub fn critical_path(&self, path: &mut Vec<(u32, usize)>) {
        path.clear();
        let mut node = self.grid.root() as u32;
        loop {
            let children = &self.children[node as usize];
            let mut free_s = 0.0;
            let mut latest = (f64::NEG_INFINITY, 0);
            for (at, &(tail_s, child)) in children.iter().enumerate() {
                free_s += self.grid.gap_s(node as usize, child as usize);
                if free_s + tail_s > latest.0 {
                    latest = (free_s + tail_s, at);
                }
            }
            if latest.0 < self.own_s(node, free_s) {
                path.push((node, if self.after_last_send { children.len() } else { 0 }));
                return;
            }
            path.push((node, latest.1 + 1));
            node = children[latest.1].1;
        }
    }

    /// The makespan after a move, without making it.
    pub fn after(&mut self, step: Move) -> f64 {
        self.changes(step);
        self.carry(false)
    }

    /// Makes a move.
    pub fn make(&mut self, step: Move) {
        self.changes(step);
        self.carry(true);
        match step {
            Move::Under { child, parent } => self.adopt(child, parent),
            Move::Exchange { one, other } => {
                let (above_one, above_other) = (self.parent[one as usize], self.parent[other as usize]);
                self.adopt(one, above_other);
                self.adopt(other, above_one);
            }
        }
    }

    fn adopt(&mut self, child: u32, parent: u32) {
        self.parent[child as usize] = parent;
        let mut open = vec![child];
        while let Some(node) = open.pop() {
            self.depth[node as usize] = self.depth[self.parent[node as usize] as usize] + 1;
            open.extend(self.children(node));
        }
    }

    fn changes(&mut self, step: Move) {
        self.pending.clear();
        let gone =
            |tree: &Self, child: u32| Change { parent: tree.parent[child as usize], child, tail_s: None };
        let new =
            |tree: &Self, parent, child| Change { parent, child, tail_s: Some(tree.tail_s(parent, child)) };
        let changes = match step {
            Move::Under { child, parent } => {
                [Some(gone(self, child)), Some(new(self, parent, child)), None, None]
            }
            Move::Exchange { one, other } => {
                let (above_one, above_other) = (self.parent[one as usize], self.parent[other as usize]);
                [
                    Some(gone(self, one)),
                    Some(gone(self, other)),
                    Some(new(self, above_other, one)),
                    Some(new(self, above_one, other)),
                ]
            }
        };
        self.pending.extend(changes.into_iter().flatten());
    }

    /// Propagates the pending changes to the root, deepest node first, and returns the resulting makespan; keeps them
    /// if `keep`.
    fn carry(&mut self, keep: bool) -> f64 {
        let root = self.grid.root() as u32;
        let mut makespan_s = self.makespan_s();
        while let Some(deepest) =
            self.pending.iter().map(|change| change.parent).max_by_key(|&node| self.depth[node as usize])
        {
            let mut here = std::mem::take(&mut self.here);
            here.clear();
            self.pending.retain(|change| {
                if change.parent == deepest {
                    here.push(*change);
                }
                change.parent != deepest
            });
            if keep {
                let children = &mut self.children[deepest as usize];
                children.retain(|&(_, child)| here.iter().all(|change| change.child != child));
                for change in &here {
                    if let Some(tail_s) = change.tail_s {
                        self.insert(deepest, change.child, tail_s);
                    }
                }
            }
            let remaining_s =
                if keep { self.remaining(deepest) } else { self.remaining_with(deepest, &mut here) };
            self.here = here;
            let before_s = self.remaining_s[deepest as usize];
            if keep {
                self.remaining_s[deepest as usize] = remaining_s;
            }
            if deepest == root {
                makespan_s = remaining_s;
            } else if remaining_s != before_s {
                let parent = self.parent[deepest as usize];
                let tail_s = self.grid.latency_s(parent as usize, deepest as usize) + remaining_s;
                self.pending.push(Change { parent, child: deepest, tail_s: Some(tail_s) });
            }
        }
        makespan_s
    }

    /// L + q of a child.
    fn tail_s(&self, parent: u32, child: u32) -> f64 {
        self.grid.latency_s(parent as usize, child as usize) + self.remaining_s[child as usize]
    }

    fn insert(&mut self, parent: u32, child: u32, tail_s: f64) {
        let children = &mut self.children[parent as usize];
        let at = children.partition_point(|&(other_s, other)| before((other_s, other), (tail_s, child)));
        children.insert(at, (tail_s, child));
    }

    /// When the node's own broadcast ends if its sends do at `free_s`.
    fn own_s(&self, node: u32, free_s: f64) -> f64 {
        let local_s = self.grid.local_s(node as usize);
        if self.after_last_send {
            free_s + local_s
        } else {
            local_s
        }
    }

    /// q of a node from its children.
    fn remaining(&self, node: u32) -> f64 {
        let mut free_s = 0.0;
        let mut latest_s: f64 = 0.0;
        for &(tail_s, child) in &self.children[node as usize] {
            free_s += self.grid.gap_s(node as usize, child as usize);
            latest_s = latest_s.max(free_s + tail_s);
        }
        latest_s.max(self.own_s(node, free_s))
    }

    /// q of a node with some of its children changed.
    fn remaining_with(&self, node: u32, changes: &mut [Change]) -> f64 {
        // Remaining and added edges in serving order; removed ones sort last.
        let key = |change: &Change| (change.tail_s.unwrap_or(f64::NEG_INFINITY), change.child);
        if changes.len() > 1 && before(key(&changes[1]), key(&changes[0])) || changes.len() > 2 {
            changes.sort_unstable_by(|a, b| {
                if before(key(a), key(b)) {
                    std::cmp::Ordering::Less
                } else {
                    std::cmp::Ordering::Greater
                }
            });
        }
        let mut free_s = 0.0;
        let mut latest_s: f64 = 0.0;
        let mut serve = |tail_s: f64, child: u32| {
            free_s += self.grid.gap_s(node as usize, child as usize);
            latest_s = latest_s.max(free_s + tail_s);
        };
        let mut next = 0;
        for &(tail_s, child) in &self.children[node as usize] {
            if changes.iter().any(|change| change.child == child) {
                continue;
            }
            while let Some(change) = changes.get(next) {
                match change.tail_s {
                    Some(changed_s) if before((changed_s, change.child), (tail_s, child)) => {
                        serve(changed_s, change.child)
                    }
                    _ => break,
                }
                next += 1;
            }
            serve(tail_s, child);
        }
        for change in &changes[next..] {
            if let Some(tail_s) = change.tail_s {
                serve(tail_s, change.child);
            }
        }
        latest_s.max(self.own_s(node, free_s))
    }
}

/// The serving order: largest L + q first, ties to the smaller child.
fn before(one: (f64, u32), other: (f64, u32)) -> bool {
    one.0 > other.0 || one.0 == other.0 && one.1 < other.1
}

#[cfg(test)]
mod tests;
