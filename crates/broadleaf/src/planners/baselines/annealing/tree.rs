//! A tree under annealing, in which a move updates only the nodes that it affects.
//!
//! Every node holds the time from its parent's arrival to its own, and from its own to that of the last node below
//! it. Moving a subtree changes the first of its later siblings (old and new) and the second of its ancestors, up to
//! the first whose value stays; nothing inside the subtree changes.

use crate::planners::baselines::Pairs;

const NONE: u32 = u32::MAX;

/// An ordered tree over the hosts of [`Pairs`].
#[derive(Clone, Debug)]
pub struct AnnealedTree<'a> {
    pairs: &'a Pairs,
    root: u32,
    parent: Vec<u32>,
    /// Siblings in serving order.
    first: Vec<u32>,
    last: Vec<u32>,
    next: Vec<u32>,
    before: Vec<u32>,
    /// From the parent's arrival to the end of its send to this child, seconds.
    sent_s: Vec<f64>,
    /// When this node is reached after its parent was, seconds.
    reached_s: Vec<f64>,
    /// When the last node below is reached after this one, seconds.
    height_s: Vec<f64>,
}

/// Where a subtree hung.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    parent: u32,
    before: u32,
}

impl<'a> AnnealedTree<'a> {
    /// The tree with these edges, parents before their children.
    pub fn new(pairs: &'a Pairs, root: usize, edges: &[(u32, u32)]) -> AnnealedTree<'a> {
        let count = pairs.len();
        let none = vec![NONE; count];
        let zero = vec![0.0; count];
        let mut tree = AnnealedTree {
            pairs,
            root: root as u32,
            parent: none.clone(),
            first: none.clone(),
            last: none.clone(),
            next: none.clone(),
            before: none,
            sent_s: zero.clone(),
            reached_s: zero.clone(),
            height_s: zero,
        };
        for &(parent, child) in edges {
            tree.link(child, Spot { parent, before: tree.last[parent as usize] });
            tree.time_from(child);
        }
        for &(parent, _) in edges.iter().rev() {
            tree.height_s[parent as usize] = tree.highest(parent).0;
        }
        tree
    }

    /// When the last node is reached, seconds.
    pub fn cost_s(&self) -> f64 {
        self.height_s[self.root as usize]
    }

    /// The edges, parents before their children, siblings in serving order.
    pub fn edges(&self) -> Vec<(u32, u32)> {
        let mut edges = Vec::with_capacity(self.pairs.len());
        let mut nodes = vec![self.root];
        let mut at = 0;
        while at < nodes.len() {
            let node = nodes[at];
            let mut child = self.first[node as usize];
            while child != NONE {
                edges.push((node, child));
                nodes.push(child);
                child = self.next[child as usize];
            }
            at += 1;
        }
        edges
    }

    /// The way to the node that is reached last, the root left out, into `way`.
    pub fn critical(&self, way: &mut Vec<u32>) {
        way.clear();
        let mut node = self.root;
        loop {
            let child = self.highest(node).1;
            if child == NONE {
                return;
            }
            way.push(child);
            node = child;
        }
    }

    /// Whether `node` is `top` or below it.
    pub fn is_below(&self, mut node: u32, top: u32) -> bool {
        while node != top {
            if node == self.root {
                return false;
            }
            node = self.parent[node as usize];
        }
        true
    }

    /// Makes `node`, not the root, the last child of `parent`, which must not be below it; returns where it was.
    pub fn hang(&mut self, node: u32, parent: u32) -> Spot {
        let was = self.unhang(node);
        self.attach(node, Spot { parent, before: self.last[parent as usize] });
        was
    }

    /// Puts `node` back to where it was.
    pub fn put_back(&mut self, node: u32, spot: Spot) {
        self.unhang(node);
        self.attach(node, spot);
    }

    fn unhang(&mut self, node: u32) -> Spot {
        let at = node as usize;
        let (parent, before, next) = (self.parent[at], self.before[at], self.next[at]);
        match before {
            NONE => self.first[parent as usize] = next,
            before => self.next[before as usize] = next,
        }
        match next {
            NONE => self.last[parent as usize] = before,
            next => self.before[next as usize] = before,
        }
        self.time_from(next);
        self.raise(parent);
        Spot { parent, before }
    }

    fn attach(&mut self, node: u32, spot: Spot) {
        self.link(node, spot);
        self.time_from(node);
        self.raise(spot.parent);
    }

    fn link(&mut self, node: u32, Spot { parent, before }: Spot) {
        let at = node as usize;
        let next = match before {
            NONE => std::mem::replace(&mut self.first[parent as usize], node),
            before => std::mem::replace(&mut self.next[before as usize], node),
        };
        match next {
            NONE => self.last[parent as usize] = node,
            next => self.before[next as usize] = node,
        }
        (self.parent[at], self.before[at], self.next[at]) = (parent, before, next);
    }

    /// Computes when `node` and its later siblings are reached: sums in serving order, so that undoing a move
    /// restores exactly the same numbers.
    fn time_from(&mut self, mut node: u32) {
        if node == NONE {
            return;
        }
        let parent = self.parent[node as usize] as usize;
        let before = self.before[node as usize];
        let mut sent_s = if before == NONE { 0.0 } else { self.sent_s[before as usize] };
        while node != NONE {
            let at = node as usize;
            self.reached_s[at] = sent_s + self.pairs.edge_s(parent, at);
            sent_s += self.pairs.gap_s(parent, at);
            self.sent_s[at] = sent_s;
            node = self.next[at];
        }
    }

    /// The height of a node and the child it is due to; 0 and none of a leaf.
    fn highest(&self, node: u32) -> (f64, u32) {
        let (mut height_s, mut due) = (0.0, NONE);
        let mut child = self.first[node as usize];
        while child != NONE {
            let at = child as usize;
            let end_s = self.reached_s[at] + self.height_s[at];
            if due == NONE || end_s > height_s {
                (height_s, due) = (end_s, child);
            }
            child = self.next[at];
        }
        (height_s, due)
    }

    /// Brings heights up to date from `node` upwards, up to the first that stays.
    fn raise(&mut self, mut node: u32) {
        loop {
            let height_s = self.highest(node).0;
            if height_s == self.height_s[node as usize] {
                return;
            }
            self.height_s[node as usize] = height_s;
            if node == self.root {
                return;
            }
            node = self.parent[node as usize];
        }
    }
}

/// The cost of a tree from its edges alone, seconds: each node's sends one after the other.
pub fn cost_s(pairs: &Pairs, root: usize, edges: &[(u32, u32)]) -> f64 {
    let mut reached_s = vec![0.0; pairs.len()];
    let mut ready_s = vec![0.0; pairs.len()];
    let mut cost_s: f64 = 0.0;
    debug_assert!(edges.iter().all(|&(_, child)| child as usize != root));
    for &(parent, child) in edges {
        let (parent, child) = (parent as usize, child as usize);
        reached_s[child] = ready_s[parent] + pairs.edge_s(parent, child);
        ready_s[parent] += pairs.gap_s(parent, child);
        ready_s[child] = reached_s[child];
        cost_s = cost_s.max(reached_s[child]);
    }
    cost_s
}

#[cfg(test)]
mod tests {
    use super::super::tests::drawn;
    use super::*;
    use crate::random::Random;

    #[test]
    fn moves_and_their_undoing_cost_what_the_whole_tree_says() {
        let mut random = Random::new(1);
        for _ in 0..50 {
            let count = 3 + random.below(20);
            let pairs = drawn(count, &mut random);
            let root = random.below(count);
            let others: Vec<u32> = (0..count as u32).filter(|&node| node != root as u32).collect();
            let star: Vec<(u32, u32)> = others.iter().map(|&node| (root as u32, node)).collect();
            let mut tree = AnnealedTree::new(&pairs, root, &star);
            for _ in 0..100 {
                let node = others[random.below(others.len())];
                let parent = random.below(count) as u32;
                if tree.is_below(parent, node) {
                    continue;
                }
                let (was_s, edges) = (tree.cost_s(), tree.edges());
                let spot = tree.hang(node, parent);
                let now_s = tree.cost_s();
                assert!((now_s / cost_s(&pairs, root, &tree.edges()) - 1.0).abs() < 1e-12);
                let mut way = Vec::new();
                tree.critical(&mut way);
                let steps_s: f64 = way.iter().map(|&node| tree.reached_s[node as usize]).sum();
                assert!((steps_s / now_s - 1.0).abs() < 1e-12, "the critical way takes as long as all");
                if random.chance(0.5) {
                    tree.put_back(node, spot);
                    assert_eq!((tree.cost_s(), tree.edges()), (was_s, edges), "undone to the last bit");
                }
            }
        }
    }
}
