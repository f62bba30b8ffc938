//! The paper's experiment (section 6): random grids, and what every strategy makes of each.

use super::instance::Grid;
use crate::platform::LocalStart;
use crate::random::Random;
use rayon::prelude::*;

/// How g_ij is drawn, which the paper does not say. Other than per pair, every cluster has one gap g_i.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// One for every ordered pair.
    Pair,
    /// min(g_i, g_j): all that the text claims comes out, so this is inferred to be the paper's way.
    Min,
    /// g_j.
    Receiver,
    /// g_i.
    Sender,
    /// (g_i + g_j) / 2.
    Mean,
    /// max(g_i, g_j).
    Max,
}

impl Gaps {
    pub const ALL: [Gaps; 6] = [Gaps::Pair, Gaps::Min, Gaps::Receiver, Gaps::Sender, Gaps::Mean, Gaps::Max];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Gaps::Pair => "pair",
            Gaps::Min => "min",
            Gaps::Receiver => "receiver",
            Gaps::Sender => "sender",
            Gaps::Mean => "mean",
            Gaps::Max => "max",
        }
    }

    pub fn from_name(name: &str) -> Option<Gaps> {
        Gaps::ALL.into_iter().find(|gaps| gaps.name() == name)
    }
}

/// Random grids of table 2: L in 1–15 ms per ordered pair, g in 100–600 ms, T in 20–3000 ms, all uniform; the
/// root is cluster 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draws {
    /// ≥ 1.
    pub clusters: usize,
    pub gaps: Gaps,
    pub local_start: LocalStart,
    pub seed: u64,
}

impl Draws {
    /// The `index`-th grid, whatever others are drawn; times in seconds.
    pub fn grid(&self, index: u64) -> Grid {
        let n = self.clusters;
        let mut random = Random::new(self.seed ^ index.wrapping_add(1).wrapping_mul(0xd134_2543_de82_ef95));
        let latency_s: Vec<f64> = (0..n * n).map(|_| random.between(0.001, 0.015)).collect();
        let local_s: Vec<f64> = (0..n).map(|_| random.between(0.020, 3.000)).collect();
        let mut gap = || random.between(0.100, 0.600);
        let gap_s: Vec<f64> = match self.gaps {
            Gaps::Pair => (0..n * n).map(|_| gap()).collect(),
            of_clusters => {
                let own: Vec<f64> = (0..n).map(|_| gap()).collect();
                (0..n * n).map(|pair| between(of_clusters, own[pair / n], own[pair % n])).collect()
            }
        };
        Grid::from_matrices(&gap_s, &latency_s, &local_s, 0, self.local_start).expect("draws are in range")
    }

    /// The makespans of `strategies` on draws 0 … `count` − 1, a row a draw, seconds.
    pub fn makespans_s(&self, count: u64, strategies: &[Strategy]) -> Vec<Vec<f64>> {
        (0..count)
            .into_par_iter()
            .map(|index| {
                let grid = self.grid(index);
                strategies.iter().map(|strategy| (strategy.makespan_s)(&grid)).collect()
            })
            .collect()
    }
}

/// Anything that makes a makespan of a grid, by name.
pub struct Strategy {
    pub name: &'static str,
    pub makespan_s: Box<dyn Fn(&Grid) -> f64 + Sync>,
}

impl Strategy {
    pub fn new(name: &'static str, makespan_s: impl Fn(&Grid) -> f64 + Sync + 'static) -> Self {
        Strategy { name, makespan_s: Box::new(makespan_s) }
    }

    /// The seven that the paper compares: flat, FEF, ECEF, ECEF-LA, ECEF-LAt, ECEF-LAT, BottomUp.
    pub fn of_the_paper() -> Vec<Strategy> {
        let flat = Strategy::new("flat", |grid| super::makespan_s(grid, &super::flat_sends(grid)));
        let heuristics = [
            &super::FEF,
            &super::ECEF,
            &super::ECEF_LA,
            &super::ECEF_LAT_MIN,
            &super::ECEF_LAT_MAX,
            &super::BOTTOM_UP,
        ];
        let others = heuristics.map(|heuristic| {
            Strategy::new(heuristic.name(), move |grid| super::makespan_s(grid, &heuristic.sends(grid)))
        });
        std::iter::once(flat).chain(others).collect()
    }
}

/// g_ij from the gaps of its clusters.
fn between(gaps: Gaps, from_s: f64, to_s: f64) -> f64 {
    match gaps {
        Gaps::Pair => unreachable!("pairs have gaps of their own"),
        Gaps::Min => from_s.min(to_s),
        Gaps::Receiver => to_s,
        Gaps::Sender => from_s,
        Gaps::Mean => (from_s + to_s) / 2.0,
        Gaps::Max => from_s.max(to_s),
    }
}
