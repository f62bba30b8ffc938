//! The cheapest spanning arborescence, with the cuts that prove it.
//!
//! Edmonds' algorithm in the path-growing form of Gabow, Galil, Spencer and Tarjan (*Efficient algorithms for finding
//! minimum spanning trees in undirected and directed graphs*, Combinatorica 1986): every set takes its cheapest
//! entering edge; a cycle of sets becomes one set. The price that each set paid is its dual value. The tree's weight is
//! the sum of these values, because every arborescence enters every set. Skew heaps with lazy subtraction hold the
//! entering edges: O(m log n).
//!
//! Where every vertex reaches every other, one contraction of the whole graph serves all roots: a set's cheapest entering
//! edge does not depend on the root, and an arborescence enters just the sets without its root (Tarjan, *Finding optimum
//! branchings*, Networks 1977). So a further root takes O(n).

const NONE: u32 = u32::MAX;

/// A digraph in which vertex 0 is the root and no edge enters it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Digraph {
    pub vertices: usize,
    pub from: Vec<u32>,
    pub to: Vec<u32>,
}

/// Scratch space, kept between calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arborescence {
    // Skew heap nodes are edges.
    left: Vec<u32>,
    right: Vec<u32>,
    key: Vec<f64>,
    owed: Vec<f64>,
    // Sets: the vertices, then one for each contracted cycle.
    heap: Vec<u32>,
    find: Vec<u32>,
    parent: Vec<u32>,
    entering: Vec<u32>,
    paid: Vec<f64>,
    state: Vec<State>,
    path: Vec<u32>,
    /// Sets that are not part of another.
    apart: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum State {
    #[default]
    New,
    OnPath,
    Rooted,
}

impl Arborescence {
    /// The entering edge of every vertex in a cheapest arborescence (`u32::MAX` for the root), and its weight as the
    /// sum of the dual values, so that it is a lower bound up to rounding.
    ///
    /// Weights are finite and ≥ 0, and every vertex can be reached. Ties go to the lower edge.
    pub fn cheapest(&mut self, graph: &Digraph, weight: &[f64]) -> (Vec<u32>, f64) {
        self.reset(graph, weight);
        self.state[0] = State::Rooted;
        for start in 1..graph.vertices as u32 {
            self.grow_from(start, graph);
        }
        self.entered_from(0, graph)
    }

    /// Contracts the whole graph, for [`Arborescence::entered_from`] any vertex. Every vertex reaches every other, and
    /// edges may enter vertex 0.
    pub fn contract_all(&mut self, graph: &Digraph, weight: &[f64]) {
        self.reset(graph, weight);
        if graph.vertices > 1 {
            self.grow_from(0, graph);
        }
    }

    /// The arborescence from `root` after [`Arborescence::contract_all`], as [`Arborescence::cheapest`] returns it:
    /// contracted sets are opened, outermost first, and where a set is entered, its part there gives up its own
    /// entering edge. No set with the root is entered.
    pub fn entered_from(&self, root: u32, graph: &Digraph) -> (Vec<u32>, f64) {
        let mut entering = self.entering.clone();
        let mut opened = vec![false; self.find.len()];
        let mut around = root;
        while around != NONE {
            opened[around as usize] = true;
            around = self.parent[around as usize];
        }
        let total =
            self.paid.iter().zip(&opened).filter(|(_, &has_root)| !has_root).map(|(paid, _)| paid).sum();
        for set in (0..self.find.len()).rev() {
            if opened[set] {
                continue;
            }
            let edge = entering[set];
            let mut part = graph.to[edge as usize];
            while part as usize != set {
                entering[part as usize] = edge;
                opened[part as usize] = true;
                part = self.parent[part as usize];
            }
        }
        entering.truncate(graph.vertices);
        entering[root as usize] = NONE;
        (entering, total)
    }

    /// The vertices of every contracted set that paid more than `least` in the last call.
    pub fn paying_sets(&self, vertices: usize, least: f64) -> Vec<Vec<u32>> {
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); self.parent.len() - vertices];
        for vertex in 1..vertices {
            let mut set = self.parent[vertex];
            while set != NONE {
                members[set as usize - vertices].push(vertex as u32);
                set = self.parent[set as usize];
            }
        }
        members
            .into_iter()
            .enumerate()
            .filter(|(at, _)| self.paid[vertices + at] > least)
            .map(|(_, set)| set)
            .collect()
    }

    fn reset(&mut self, graph: &Digraph, weight: &[f64]) {
        let (n, m) = (graph.vertices, graph.from.len());
        for (list, value) in [(&mut self.left, NONE), (&mut self.right, NONE)] {
            list.clear();
            list.resize(m, value);
        }
        self.key.clear();
        self.key.extend_from_slice(weight);
        self.owed.clear();
        self.owed.resize(m, 0.0);
        self.heap.clear();
        self.heap.resize(n, NONE);
        self.find.clear();
        self.find.extend(0..n as u32);
        self.parent.clear();
        self.parent.resize(n, NONE);
        self.entering.clear();
        self.entering.resize(n, NONE);
        self.paid.clear();
        self.paid.resize(n, 0.0);
        self.state.clear();
        self.state.resize(n, State::New);
        self.apart = n;
        // Melding a queue's front pair to its back builds a heap in linear time; edges that follow each
        // other into the same vertex are one queue.
        let mut queue = std::collections::VecDeque::new();
        let mut edge = 0;
        while edge < m {
            let to = graph.to[edge];
            queue.clear();
            queue.push_back(self.heap[to as usize]);
            while edge < m && graph.to[edge] == to {
                queue.push_back(edge as u32);
                edge += 1;
            }
            while let (Some(a), Some(b)) = (queue.pop_front(), queue.pop_front()) {
                let heap = self.meld(a, b);
                if queue.is_empty() {
                    self.heap[to as usize] = heap;
                    break;
                }
                queue.push_back(heap);
            }
        }
    }

    /// Follows cheapest entering edges backwards from `start` to the root's part, or until one set is left.
    fn grow_from(&mut self, start: u32, graph: &Digraph) {
        let mut set = self.root_of(start);
        if self.state[set as usize] == State::Rooted {
            return;
        }
        self.path.clear();
        self.path.push(set);
        self.state[set as usize] = State::OnPath;
        loop {
            let edge = self.pop_entering(set, graph);
            let before = self.root_of(graph.from[edge as usize]);
            match self.state[before as usize] {
                State::Rooted => break,
                State::New => {
                    self.state[before as usize] = State::OnPath;
                    self.path.push(before);
                    set = before;
                }
                State::OnPath => set = self.contract(before),
            }
            if self.apart == 1 {
                break;
            }
        }
        while let Some(set) = self.path.pop() {
            self.state[set as usize] = State::Rooted;
        }
    }

    /// Takes the cheapest edge from outside into `set`, and makes the others cheaper by its price.
    fn pop_entering(&mut self, set: u32, graph: &Digraph) -> u32 {
        loop {
            let top = self.heap[set as usize];
            assert_ne!(top, NONE, "every vertex can be reached from the root");
            self.settle(top);
            let key = self.key[top as usize];
            let rest = self.meld(self.left[top as usize], self.right[top as usize]);
            self.heap[set as usize] = rest;
            if self.root_of(graph.from[top as usize]) == set {
                continue;
            }
            if rest != NONE {
                self.owed[rest as usize] += key;
            }
            self.entering[set as usize] = top;
            self.paid[set as usize] = key.max(0.0);
            return top;
        }
    }

    /// Makes the sets on the path from `first` on, which form a cycle, one set.
    fn contract(&mut self, first: u32) -> u32 {
        let set = self.find.len() as u32;
        self.find.push(set);
        self.parent.push(NONE);
        self.entering.push(NONE);
        self.paid.push(0.0);
        self.state.push(State::OnPath);
        let mut heap = NONE;
        while let Some(part) = self.path.pop() {
            self.find[part as usize] = set;
            self.parent[part as usize] = set;
            heap = self.meld(heap, self.heap[part as usize]);
            self.apart -= 1;
            if part == first {
                break;
            }
        }
        self.apart += 1;
        self.heap.push(heap);
        self.path.push(set);
        set
    }

    fn root_of(&mut self, mut set: u32) -> u32 {
        while self.find[set as usize] != set {
            let above = self.find[set as usize];
            self.find[set as usize] = self.find[above as usize];
            set = above;
        }
        set
    }

    fn settle(&mut self, node: u32) {
        let at = node as usize;
        let owed = std::mem::take(&mut self.owed[at]);
        if owed != 0.0 {
            self.key[at] -= owed;
            for child in [self.left[at], self.right[at]] {
                if child != NONE {
                    self.owed[child as usize] += owed;
                }
            }
        }
    }

    /// Melds two skew heaps from the top down.
    fn meld(&mut self, mut a: u32, mut b: u32) -> u32 {
        let mut top = NONE;
        let mut above = NONE;
        while a != NONE && b != NONE {
            self.settle(a);
            self.settle(b);
            let (ka, kb) = (self.key[a as usize], self.key[b as usize]);
            if kb < ka || (kb == ka && b < a) {
                std::mem::swap(&mut a, &mut b);
            }
            let next = self.right[a as usize];
            self.right[a as usize] = self.left[a as usize];
            if above == NONE {
                top = a;
            } else {
                self.left[above as usize] = a;
            }
            above = a;
            a = next;
        }
        let rest = if a == NONE { b } else { a };
        if above == NONE {
            return rest;
        }
        self.left[above as usize] = rest;
        top
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The least weight over all choices of one entering edge a vertex that form no cycle.
    fn brute(graph: &Digraph, weight: &[f64]) -> f64 {
        fn choose(graph: &Digraph, weight: &[f64], vertex: u32, parent: &mut Vec<u32>, sum: f64) -> f64 {
            if vertex as usize == graph.vertices {
                let rooted = |mut at: u32| {
                    for _ in 0..graph.vertices {
                        if at == 0 {
                            return true;
                        }
                        at = parent[at as usize];
                    }
                    false
                };
                return if (1..vertex).all(rooted) { sum } else { f64::INFINITY };
            }
            let mut best = f64::INFINITY;
            for edge in 0..graph.to.len() {
                if graph.to[edge] == vertex {
                    parent[vertex as usize] = graph.from[edge];
                    best = best.min(choose(graph, weight, vertex + 1, parent, sum + weight[edge]));
                }
            }
            best
        }
        choose(graph, weight, 1, &mut vec![0; graph.vertices], 0.0)
    }

    proptest! {
        #[test]
        fn the_cheapest_of_all(
            n in 2usize..6,
            picks in prop::collection::vec((0u32..6, 1u32..6, 0u32..9), 0..18),
        ) {
            let mut graph = Digraph { vertices: n, ..Digraph::default() };
            let mut weight = Vec::new();
            for v in 1..n as u32 {
                graph.from.push(v - 1);
                graph.to.push(v);
                weight.push(7.0);
            }
            for (from, to, w) in picks {
                if (from as usize) < n && (to as usize) < n && from != to {
                    graph.from.push(from);
                    graph.to.push(to);
                    weight.push(f64::from(w));
                }
            }
            let mut solver = Arborescence::default();
            let (entering, total) = solver.cheapest(&graph, &weight);
            let sum: f64 = (1..n).map(|v| weight[entering[v] as usize]).sum();
            prop_assert_eq!(total, sum);
            prop_assert_eq!(total, brute(&graph, &weight));
            for v in 1..n {
                prop_assert_eq!(graph.to[entering[v] as usize] as usize, v);
                let mut at = v;
                for _ in 0..n {
                    if at != 0 {
                        at = graph.from[entering[at] as usize] as usize;
                    }
                }
                prop_assert_eq!(at, 0);
            }
        }

        /// One contraction serves every root.
        #[test]
        fn the_cheapest_from_every_vertex(
            n in 1usize..6,
            picks in prop::collection::vec((0u32..6, 0u32..6, 0u32..9), 0..18),
        ) {
            let cycle = (0..n as u32).map(|v| (v, (v + 1) % n as u32, 7));
            let is_edge = |&(from, to, _): &(u32, u32, u32)| from != to && from.max(to) < n as u32;
            let edges: Vec<_> = cycle.chain(picks).filter(is_edge).collect();
            let graph = Digraph {
                vertices: n,
                from: edges.iter().map(|edge| edge.0).collect(),
                to: edges.iter().map(|edge| edge.1).collect(),
            };
            let weight: Vec<f64> = edges.iter().map(|edge| f64::from(edge.2)).collect();
            let mut solver = Arborescence::default();
            solver.contract_all(&graph, &weight);
            for root in 0..n as u32 {
                let (entering, total) = solver.entered_from(root, &graph);
                let sum: f64 = entering.iter().filter(|&&edge| edge != NONE).map(|&edge| weight[edge as usize]).sum();
                prop_assert_eq!(total, sum);
                // With the root as vertex 0.
                let swapped = |v: u32| if v == 0 { root } else if v == root { 0 } else { v };
                let (mut rooted, mut weights) = (Digraph { vertices: n, ..Digraph::default() }, Vec::new());
                for &(from, to, weight) in edges.iter().filter(|edge| edge.1 != root) {
                    rooted.from.push(swapped(from));
                    rooted.to.push(swapped(to));
                    weights.push(f64::from(weight));
                }
                prop_assert_eq!(total, brute(&rooted, &weights));
                let above = |v: usize| entering[v] as usize;
                let leads_to = |v| (0..n).fold(v, |at, _| graph.from.get(above(at)).map_or(at, |&up| up as usize));
                prop_assert!((0..n).all(|v| leads_to(v) == root as usize));
            }
        }
    }
}
