//! The shortest makespan of a message sent whole, proved by branch and bound.
//!
//! Complexity: exponential in theory; on the paper's draws well under a millisecond at 12 clusters and a few
//! milliseconds at 20. Guarantee: no order of whole sends is shorter. Paper 2's clusters are nodes with a local
//! broadcast (T_i); the hosts of a cluster are nodes like any other. The search does not model senders that serve
//! several at once, shared pipes, nor senders that are busy after their message has arrived, which would delay their
//! own end; such platforms are not supported.
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
use super::host_times::HostTimes;
use super::makespan_search::{annealed, best_heuristic};
use super::units::Units;
use crate::budget::Budget;
use crate::plan::{Plan, PlanError};
use crate::planners::{Card, Instance, Pace, Planner, Profile, Segmentation, Unsupported};
use crate::platform::{NodeId, Platform, PortModel};

pub(crate) struct Exact;

static CARD: Card = Card {
    name: "exact",
    summary: "the shortest makespan of a message sent whole, proved by branch and bound",
    reference:
        "own; the problem is that of Barchet-Steffenel and Mounié, Scheduling heuristics for efficient \
                broadcast operations on grid environments, section 3",
    objective: "makespan of a message sent whole",
    guarantee:
        "no plan without segments is shorter; offered where each port serves one transfer after the other",
    complexity: "exponential; milliseconds at 20 nodes of the paper's draws",
    profile: Profile { pace: |_| Pace::Slow, segments: Segmentation::Fixed, ..Profile::QUICK },
};

/// Moves per cluster of the annealed start: it should cost no more than the proof.
const START_MOVES: u64 = 200;

/// Steps without a time limit: well under a second.
const MOST_STEPS: u64 = 50_000;

/// The difference of two equal times by rounding, relative to them.
const ROUNDING: f64 = 1e-12;

/// Platforms of more hosts are refused at once rather than after a long search.
const SUPPORTED_HOSTS: usize = 16;

fn at_most(most: usize, instance: &Instance) -> Result<(), Unsupported> {
    match instance.platform.hosts().count() {
        hosts if hosts > most => {
            Err(Unsupported(format!("{hosts} hosts are more than the {most} it can prove; use makespan")))
        }
        _ => Ok(()),
    }
}

/// Effects that the search does not model would void the proof.
fn is_in_its_model(platform: &Platform) -> Result<(), Unsupported> {
    let beyond = if platform.port_model() == PortModel::LinkCapacity {
        "where ports serve several transfers at once"
    } else if platform.classes().iter().any(|class| !class.uses.is_empty()) {
        "where transfers share a pipe"
    } else if platform.nodes().any(|node| !platform.node(node).is_host()) {
        "through switches"
    } else {
        return Ok(());
    };
    Err(Unsupported(format!("not exact {beyond}; use makespan")))
}

/// Such a sender would end after its last send, though every host may have the message before: a NIC that is slower
/// than a link, under multi-port.
fn has_senders_busy_after_arrival(instance: &Instance) -> bool {
    let hosts: Vec<NodeId> = instance.platform.hosts().collect();
    let mut times = HostTimes::new(&instance.segmented(instance.message_bytes));
    let mut is_busy_after = |from| {
        let of_all = times.routed(from, &hosts);
        of_all.into_iter().any(|send| send.latency_s < -ROUNDING * send.gap_s)
    };
    instance.platform.port_model() == PortModel::MultiPort && hosts.iter().any(|&from| is_busy_after(from))
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
    // With a time limit that is the only limit; without one the number of steps is, so that results repeat.
    let steps = if budget.is_timed() { u64::MAX } else { MOST_STEPS };
    Some(prove(grid, &start, steps, budget))
}

impl Planner for Exact {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        supports(instance)?;
        is_in_its_model(instance.platform)?;
        at_most(MOST_CLUSTERS, instance)?;
        if has_senders_busy_after_arrival(instance) {
            let reason = "not exact where a sender is busy after its message has arrived; use makespan";
            return Err(Unsupported(reason.into()));
        }
        Ok(())
    }

    fn plan(&self, instance: &Instance, budget: &Budget) -> Result<Plan, PlanError> {
        let unsupported = |reason: String| PlanError::Unsupported { planner: CARD.name.to_string(), reason };
        // With a time limit the caller accepts to wait.
        if !budget.is_timed() {
            at_most(SUPPORTED_HOSTS, instance).map_err(|Unsupported(reason)| unsupported(reason))?;
        }
        // Segments would overlap what the model has one after the other, and the proof would be void.
        let instance = &instance.segmented(instance.message_bytes);
        let units = Units::of_single_hosts(instance);
        let proof = solve(&units.grid, instance.seed, budget)
            .ok_or_else(|| unsupported(format!("more than {MOST_CLUSTERS} hosts; use makespan")))?;
        if !proof.proved {
            return Err(unsupported(format!(
                "no proof for {} hosts after {} steps; give it more time or use makespan",
                units.grid.len(),
                proof.steps
            )));
        }
        Ok(instance.tree_plan(CARD.name, units.graft(instance, &proof.sends)))
    }
}
