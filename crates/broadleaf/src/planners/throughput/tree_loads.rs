//! A graph for the search over trees: edges, and the seconds for which each occupies which resource.

/// No edge: the entry of the root and of nodes outside the tree.
pub const NO_EDGE: u32 = u32::MAX;

/// Sums of loads that differ by less than this part of the target differ by rounding.
pub const ROUNDING: f64 = 1e-9;

/// An edge's (from, to), and for how many seconds it occupies which resource.
pub type Using = ((u32, u32), Vec<(u32, f64)>);

/// The edges that a tree may have, and their loads by resource.
#[derive(Clone, Debug, Default)]
pub struct EdgeUses {
    pub nodes: usize,
    pub root: u32,
    pub resources: usize,
    /// (from, to) by edge.
    pub ends: Vec<(u32, u32)>,
    /// The edge the other way, where there is one.
    pub reverse: Vec<u32>,
    /// `uses[first_use[e] .. first_use[e + 1]]`: the resources edge e occupies, and for how long, seconds.
    first_use: Vec<u32>,
    uses: Vec<(u32, f64)>,
}

impl EdgeUses {
    /// `edges` are sorted by their ends; their resources are below `resources`.
    pub fn new(nodes: usize, root: u32, resources: usize, edges: &[Using]) -> Self {
        let mut first_use = vec![0];
        let mut uses = Vec::new();
        for (_, occupied) in edges {
            uses.extend_from_slice(occupied);
            first_use.push(uses.len() as u32);
        }
        let find =
            |ends| edges.binary_search_by_key(&ends, |&(ends, _)| ends).map_or(NO_EDGE, |at| at as u32);
        let reverse = edges.iter().map(|&((from, to), _)| find((to, from))).collect();
        let ends = edges.iter().map(|&(ends, _)| ends).collect();
        EdgeUses { nodes, root, resources, ends, reverse, first_use, uses }
    }

    fn uses_of(&self, edge: u32) -> &[(u32, f64)] {
        &self.uses[self.first_use[edge as usize] as usize..self.first_use[edge as usize + 1] as usize]
    }

    pub fn parent(&self, into: &[u32], node: u32) -> u32 {
        self.ends[into[node as usize] as usize].0
    }

    /// An edge's longest occupation of a resource, seconds.
    pub fn longest_s(&self, edge: u32) -> f64 {
        self.uses_of(edge).iter().map(|&(_, time_s)| time_s).fold(0.0, f64::max)
    }

    /// The period of the tree with these edges into the nodes, seconds.
    pub fn period_s(&self, into: &[u32]) -> f64 {
        Loaded::new(self, into.to_vec(), 0.0).load_s.into_iter().fold(0.0, f64::max)
    }

    /// A lower bound of every tree's period, seconds: every node needs an edge into it.
    pub fn lower_bound_s(&self) -> f64 {
        let mut least_s = vec![f64::INFINITY; self.nodes];
        for (edge, &(_, to)) in self.ends.iter().enumerate() {
            let least_s = &mut least_s[to as usize];
            *least_s = least_s.min(self.longest_s(edge as u32));
        }
        least_s[self.root as usize] = 0.0;
        least_s.into_iter().filter(|least_s| least_s.is_finite()).fold(0.0, f64::max)
    }
}

/// A spanning tree, its loads, and their excess over a target.
pub struct Loaded<'a> {
    pub network: &'a EdgeUses,
    /// The edge into each node.
    pub into: Vec<u32>,
    load_s: Vec<f64>,
    pub target_s: f64,
    /// The sum of the resources' loads beyond the target.
    pub excess_s: f64,
}

impl<'a> Loaded<'a> {
    pub fn new(network: &'a EdgeUses, into: Vec<u32>, target_s: f64) -> Self {
        let mut tree = Loaded { network, into, load_s: Vec::new(), target_s, excess_s: 0.0 };
        tree.aim(target_s);
        tree
    }

    /// Sets the target, and recomputes all loads, so that rounding does not accumulate.
    pub fn aim(&mut self, target_s: f64) {
        self.target_s = target_s;
        self.load_s.clear();
        self.load_s.resize(self.network.resources, 0.0);
        for &edge in self.into.iter().filter(|&&edge| edge != NO_EDGE) {
            for &(resource, time_s) in self.network.uses_of(edge) {
                self.load_s[resource as usize] += time_s;
            }
        }
        self.excess_s = self.load_s.iter().map(|load_s| (load_s - target_s).max(0.0)).sum();
    }

    pub fn is_within_target(&self) -> bool {
        self.excess_s <= ROUNDING * self.target_s
    }

    pub fn add(&mut self, edge: u32) {
        self.change(edge, 1.0);
    }

    pub fn remove(&mut self, edge: u32) {
        self.change(edge, -1.0);
    }

    fn change(&mut self, edge: u32, sign: f64) {
        let network = self.network;
        for &(resource, time_s) in network.uses_of(edge) {
            let load_s = &mut self.load_s[resource as usize];
            let before_s = (*load_s - self.target_s).max(0.0);
            *load_s += sign * time_s;
            self.excess_s += (*load_s - self.target_s).max(0.0) - before_s;
        }
    }
}
