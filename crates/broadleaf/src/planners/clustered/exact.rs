//! The shortest makespan between clusters, proved by branch and bound.
//!
//! Complexity: exponential in theory; on the paper's draws well under a millisecond at 12 clusters and some
//! milliseconds at 20. Guarantee: optimal in the pLogP model of paper 2 (unsegmented, given the T_i).
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::clustered::{makespan_s, solve, Grid, ECEF};
//! use broadleaf::platform::LocalStart;
//!
//! // ECEF serves the near cluster 1 first; cluster 2, which has a long broadcast of its own, has to wait.
//! let gap_s = [0.0, 1.0, 2.0, 1.0, 0.0, 2.0, 2.0, 2.0, 0.0];
//! let grid = Grid::from_matrices(&gap_s, &[0.0; 9], &[0.0, 0.0, 5.0], 0, LocalStart::OnArrival).unwrap();
//! assert_eq!(makespan_s(&grid, &ECEF.sends(&grid)), 8.0);
//! let proof = solve(&grid, 0, &Budget::UNLIMITED).unwrap();
//! assert!(proof.proved);
//! assert_eq!(makespan_s(&grid, &proof.sends), 7.0);
//! ```

use super::branch_and_bound::{prove, Proof, MOST_CLUSTERS};
use super::grid::Grid;
use super::heuristic::supports;
use super::makespan_search::{annealed, best_heuristic};
use super::units::Units;
use crate::budget::Budget;
use crate::plan::{Plan, PlanError};
use crate::planners::{Card, Instance, Pace, Planner, Profile, Segmentation, Unsupported};

pub(crate) struct Exact;

static CARD: Card = Card {
    name: "exact",
    summary: "the shortest makespan between clusters, proved by branch and bound",
    reference:
        "own; the problem is that of Barchet-Steffenel and Mounié, Scheduling heuristics for efficient \
                broadcast operations on grid environments, section 3",
    objective: "makespan of one message between clusters, then inside them",
    guarantee: "optimal in the pLogP model: unsegmented, clusters one after the other as the paper has them",
    complexity: "exponential; milliseconds at 20 clusters of the paper's draws",
    profile: Profile { pace: |_| Pace::Slow, segments: Segmentation::Fixed, ..Profile::QUICK },
};

/// Moves per cluster of the annealed start: it should cost no more than the proof.
const START_MOVES: u64 = 200;

/// Steps without a time limit: well under a second.
const MOST_STEPS: u64 = 50_000;

/// Platforms of more units are refused at once rather than after a long search.
const SUPPORTED_CLUSTERS: usize = 16;

fn at_most(most: usize, instance: &Instance) -> Result<(), Unsupported> {
    match Units::count(instance) {
        clusters if clusters > most => Err(Unsupported(format!(
            "{clusters} clusters are more than the {most} it can prove; use makespan"
        ))),
        _ => Ok(()),
    }
}

/// The best sends and whether they are proved; `None` for more clusters than branch and bound takes (64).
pub fn solve(grid: &Grid, seed: u64, budget: &Budget) -> Option<Proof> {
    if grid.len() > MOST_CLUSTERS {
        return None;
    }
    let start = best_heuristic(grid, budget);
    if grid.len() < 3 {
        return Some(Proof { sends: start, proved: true, steps: 0 });
    }
    let start = annealed(grid, &start, START_MOVES * grid.len() as u64, seed, budget);
    // A time limit is a limit of its own; without one the number of steps is, so that results repeat.
    let steps = if budget.is_limited() { u64::MAX } else { MOST_STEPS };
    Some(prove(grid, &start, steps, budget))
}

impl Planner for Exact {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        supports(instance)?;
        at_most(MOST_CLUSTERS, instance)
    }

    fn plan(&self, instance: &Instance, budget: &Budget) -> Result<Plan, PlanError> {
        let unsupported = |reason: String| PlanError::Unsupported { planner: CARD.name.to_string(), reason };
        // With a time limit somebody is ready to wait.
        if !budget.is_limited() {
            at_most(SUPPORTED_CLUSTERS, instance).map_err(|Unsupported(reason)| unsupported(reason))?;
        }
        // Segments would overlap what the model has one after the other, and the proof would be void.
        let instance = &instance.segmented(instance.message_bytes);
        let units = Units::new(instance);
        let proof = solve(&units.grid, instance.seed, budget)
            .ok_or_else(|| unsupported(format!("more than {MOST_CLUSTERS} clusters; use makespan")))?;
        if !proof.proved {
            return Err(unsupported(format!(
                "no proof for {} clusters after {} steps; give it more time or use makespan",
                units.grid.len(),
                proof.steps
            )));
        }
        Ok(instance.tree_plan(CARD.name, units.graft(instance, &proof.sends)))
    }
}
