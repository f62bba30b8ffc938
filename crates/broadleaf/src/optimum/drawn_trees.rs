//! Equal-share trees that use every edge about as often as in a cover.
//!
//! Each tree is the cheapest arborescence under clocks: edge e rings after a random time of mean 1 / due_e, where due_e
//! is the cover's number of uses of e so far, less the actual number. At each vertex the first ring comes from e with
//! probability proportional to due_e, and the arborescence differs only where the first rings close a cycle.
//! [`super::balance_loads`] then evens the loads.

use super::arborescence::Arborescence;
use super::column_generation::{Entering, PriceBound};
use super::occupation_table::OccupationTable;

const NONE: u32 = u32::MAX;
/// Least due of an edge, so that overused edges keep a chance.
const LEAST_DUE: f64 = 1e-4;
/// The additional time of an edge's clock for each mean price that it costs above the cheapest.
const DEAR: f64 = 100.0;

/// W trees on all vertices; sets of trees are bits.
pub(crate) struct DrawnTrees {
    pub count: usize,
    words: usize,
    vertices: usize,
    /// The entering edge of `vertex` in `slot` at `slot * vertices + vertex`; `NONE` while it is outside.
    entering: Vec<u32>,
    /// The slots in which an edge is used.
    used: Vec<u64>,
}

/// Deterministic pseudo-random numbers (splitmix64).
struct Dice(u64);

impl Dice {
    /// In (0, 1].
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

/// The distribution of drawn trees.
pub(crate) struct Draw {
    fraction: Vec<f64>,
    /// The time that an edge's price adds to its clock; 0 for the cheapest edge into its vertex.
    delay: Vec<f64>,
    /// The edges into each vertex.
    pub into: Vec<Vec<u32>>,
}

impl Draw {
    pub fn new(table: &OccupationTable, fraction: Vec<f64>, bound: &PriceBound) -> Draw {
        let vertices = table.graph.vertices;
        let mut into = vec![Vec::new(); vertices];
        for edge in 0..table.edge_count() {
            into[table.graph.to[edge] as usize].push(edge as u32);
        }
        let mut delay: Vec<f64> =
            (0..table.edge_count()).map(|edge| table.weight(edge, &bound.prices)).collect();
        for edges in &into {
            let least = edges.iter().map(|&edge| delay[edge as usize]).fold(f64::INFINITY, f64::min);
            for &edge in edges {
                // In units of the mean price of a vertex.
                delay[edge as usize] = DEAR * (delay[edge as usize] - least) * bound.rate * vertices as f64;
            }
        }
        Draw { fraction, delay, into }
    }

    /// `count` trees that use every edge about `fraction` · `count` times.
    pub fn slots(&self, table: &OccupationTable, count: usize, seed: u64) -> DrawnTrees {
        let edges = table.edge_count();
        let mut slots = DrawnTrees::empty(table, count);
        let mut dice = Dice(seed);
        let mut solver = Arborescence::default();
        let mut due = vec![0.0; edges];
        let mut weights = vec![0.0; edges];
        for slot in 0..count {
            for edge in 0..edges {
                due[edge] += self.fraction[edge];
                weights[edge] = self.delay[edge] - dice.unit().ln() / f64::max(due[edge], LEAST_DUE);
            }
            let (entering, _) = solver.cheapest(&table.graph, &weights);
            for (vertex, &edge) in entering.iter().enumerate().skip(1) {
                due[edge as usize] -= 1.0;
                slots.enter(slot, vertex, edge);
            }
        }
        slots
    }
}

impl DrawnTrees {
    /// Trees without edges, to be filled by [`DrawnTrees::enter`].
    pub fn empty(table: &OccupationTable, count: usize) -> DrawnTrees {
        let (vertices, words) = (table.graph.vertices, count.div_ceil(64));
        let (entering, used) = (vec![NONE; count * vertices], vec![0; table.edge_count() * words]);
        DrawnTrees { count, words, vertices, entering, used }
    }

    pub fn tree(&self, slot: usize) -> Entering {
        self.entering[slot * self.vertices..][..self.vertices].to_vec()
    }

    pub fn entering(&self, slot: usize, vertex: usize) -> u32 {
        self.entering[slot * self.vertices + vertex]
    }

    /// The slots that use an edge.
    pub fn users(&self, edge: usize) -> impl Iterator<Item = usize> + '_ {
        let words = self.used[edge * self.words..][..self.words].iter().enumerate();
        words.flat_map(|(word, &bits)| Bits(bits).map(move |bit| word * 64 + bit))
    }

    /// Enters `vertex` by `edge` in `slot`, in place of any earlier edge.
    pub fn enter(&mut self, slot: usize, vertex: usize, edge: u32) {
        let place = slot * self.vertices + vertex;
        let before = std::mem::replace(&mut self.entering[place], edge);
        let bit = 1u64 << (slot % 64);
        if before != NONE {
            self.used[before as usize * self.words + slot / 64] &= !bit;
        }
        self.used[edge as usize * self.words + slot / 64] |= bit;
    }

    /// Whether `vertex` lies on the path from the root to `below` in `slot`.
    pub fn is_above(&self, table: &OccupationTable, slot: usize, vertex: usize, below: usize) -> bool {
        let mut at = below;
        while at != 0 {
            if at == vertex {
                return true;
            }
            at = table.graph.from[self.entering(slot, at) as usize] as usize;
        }
        false
    }
}

/// The positions of the one bits, lowest first.
struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(bit)
    }
}
