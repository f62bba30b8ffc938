//! Paper 2's experiment (section 6): random grids of clusters, and the makespan of every strategy on each.

use broadleaf::parallel;
use broadleaf::planners::clustered::{
    flat_sends, makespan_s, Grid, BOTTOM_UP, ECEF, ECEF_LA, ECEF_LAT_MAX, ECEF_LAT_MIN, FEF,
};
use broadleaf::platform::generate::{self, GapDraw};
use broadleaf::platform::LocalStart;
use broadleaf::random::Random;

/// Odd, so that different indices give different seeds, far apart.
const SCATTER: u64 = 0xd134_2543_de82_ef95;

/// Random grids of table 2, drawn as [`generate::grid`] does; the root is
/// cluster 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draws {
    /// ≥ 1.
    pub clusters: usize,
    pub gaps: GapDraw,
    pub local_start: LocalStart,
    pub seed: u64,
}

impl Draws {
    /// The `index`-th grid, independent of the other draws.
    ///
    /// Panics for 0 clusters or more than draws may have, 5,000.
    pub fn grid(&self, index: u64) -> Grid {
        let kind = generate::Grid { gaps: self.gaps, ..generate::Grid::new(self.clusters, self.seed) };
        let mut random = Random::new(self.seed ^ index.wrapping_add(1).wrapping_mul(SCATTER));
        let draw = kind.draw(&mut random).expect("the paper's ranges and a number of clusters in range");
        Grid::from_matrices(&draw.gap_s, &draw.latency_s, &draw.local_broadcast_s, 0, self.local_start)
            .expect("draws are finite and positive")
    }

    /// The makespans of `strategies` on draws 0 … `count` − 1, one row per draw, seconds.
    pub fn makespans_s(&self, count: u64, strategies: &[Strategy]) -> Vec<Vec<f64>> {
        let indices: Vec<u64> = (0..count).collect();
        parallel::map(&indices, |&index| {
            let grid = self.grid(index);
            strategies.iter().map(|strategy| (strategy.makespan_s)(&grid)).collect()
        })
    }
}

/// A named function from a grid to a makespan.
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
        let flat = Strategy::new("flat", |grid| makespan_s(grid, &flat_sends(grid)));
        let heuristics = [&FEF, &ECEF, &ECEF_LA, &ECEF_LAT_MIN, &ECEF_LAT_MAX, &BOTTOM_UP];
        let others = heuristics.map(|heuristic| {
            Strategy::new(heuristic.name(), move |grid| makespan_s(grid, &heuristic.sends(grid)))
        });
        std::iter::once(flat).chain(others).collect()
    }
}
