//! Paper 3's annealer: broadcast trees by simulated annealing, in pools of well connected hosts.
//!
//! `basicSA` anneals one tree: a random node on the way to the host that is reached last becomes the child of
//! another. `driverSA` calls it from random trees, then from the good ones that it found. `clusteredSA`, the planner,
//! calls that in pools of hosts by bandwidth (at least 10, 25, 50, 75 % of the greatest: four sets of pools), then
//! over the pools' roots. Trees are judged by Mateescu's model ([`Pairs`](super::Pairs)).
//!
//! Reference: *Adaptive broadcast trees by simulated annealing*, sections 2.2 to 2.4, figures 1, 2 and 4, with their
//! constants. Departures: temperatures are in per cent of the initial tree's cost, since in seconds everything would
//! be accepted; pools by every pair, since the text's average ([`Rule::Average`]) does not give its Table 1; at most
//! 64 good trees are kept; a move updates only the nodes that it affects, not the whole tree; without a time limit
//! the planner makes 32 moves for each pair of hosts, at most a million, where the paper makes 75 annealings for each
//! driver ([`Allowance::Runs`] with [`search`]). Cost of a tree: max over hosts of Σ edges on its way of (earlier
//! siblings' gaps + gap + latency). Complexity: O(depth · children) a move; at least one annealing of up to 1,680
//! moves for each pool. Guarantee: none.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{LinkClass, Mesh, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("four", PortModel::OnePort);
//! let nodes = ["a", "b", "c", "d"].map(|id| builder.add_host(id).unwrap());
//! let class = builder.add_class(LinkClass::affine(0.0, 100.0));
//! builder.add_mesh(Mesh { nodes: nodes.to_vec(), class }).unwrap();
//! let platform = builder.build().unwrap();
//! let plan = find("annealing").unwrap().plan(&Instance::new(&platform, nodes[0], 100).unwrap(), &Budget::UNLIMITED).unwrap();
//! // Two rounds are the least: a to x, then a and x to the others.
//! assert_eq!(plan.trees[0].children(nodes[0]).len(), 2);
//! ```

mod basic;
mod clustered;
mod driver;
mod pools;
mod tree;

pub use basic::Found;
pub use clustered::search;
pub use driver::{drive, Allowance, Progress};
pub use pools::{pools, Rule};
pub use tree::cost_s;

use super::mateescu;
use super::pairs;
use crate::budget::Budget;
use crate::plan::{Plan, PlanError};
use crate::planners::{Card, Instance, Pace, Planner, Profile, Unsupported};
use crate::random::Random;

/// Moves for each pair of hosts without a time limit: each host can be tried this often below each other.
const MOVES_A_PAIR: u64 = 32;
const MOST_MOVES: u64 = 1_000_000;

/// Moves in a unit of work.
pub const MOVES_PER_UNIT: u64 = 2;

/// The limit of a search among `hosts` hosts without a time limit.
fn usual_allowance(hosts: usize) -> Allowance {
    let pairs = (hosts as u64).pow(2);
    Allowance::Moves((MOVES_A_PAIR * pairs).min(MOST_MOVES))
}

pub(crate) struct Annealing;

static CARD: Card = Card {
    name: "annealing",
    summary: "simulated annealing of trees in pools of well connected hosts, then over the pools' roots",
    reference: "Adaptive broadcast trees by simulated annealing, sections 2.2 to 2.4 (basicSA, driverSA, clusteredSA)",
    objective: "makespan in the end-to-end model, which sees no shared pipes",
    guarantee: "none",
    complexity: "O(depth · children) a move, 32 n² moves, or as long as the time limit says",
    profile: Profile {
        // It runs for as long as it is given, and judges trees by a model without shared pipes.
        pace: |_| Pace::ByName,
        is_baseline: true,
        least_s: pairs::least_s,
        ..Profile::QUICK
    },
};

impl Planner for Annealing {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        pairs::supports(instance)
    }

    fn plan(&self, instance: &Instance, budget: &Budget) -> Result<Plan, PlanError> {
        Ok(pairs::plan(instance, CARD.name, |matrices, root| {
            let allowance = match budget.asked() {
                Some(_) => {
                    let left = budget.left();
                    budget.spend(left);
                    Allowance::Moves(left.saturating_mul(MOVES_PER_UNIT))
                }
                None => usual_allowance(matrices.len()),
            };
            let found =
                search(matrices, root, Rule::EveryPair, (allowance, budget), &mut Random::new(instance.seed));
            if !found.cost_s.is_finite() {
                // Where some pairs have no path, random trees may never avoid them; a tree grown from the root does.
                return mateescu::tree(matrices, root);
            }
            found.edges.iter().map(|&(parent, child)| (parent as usize, child as usize)).collect()
        }))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::planners::baselines::Pairs;

    /// Random matrices: gaps of 1 to 10 s, latencies of up to 2 s.
    pub fn drawn(count: usize, random: &mut Random) -> Pairs {
        let gap_s: Vec<f64> = (0..count * count).map(|_| random.between(1.0, 10.0)).collect();
        let edge_s = gap_s.iter().map(|gap| gap + random.between(0.0, 2.0)).collect();
        Pairs::new(count, gap_s, edge_s)
    }

    /// The least cost of all ordered trees, by trying every send that could come next.
    fn least_s(pairs: &Pairs, reached_s: &mut Vec<Option<f64>>, ready_s: &mut Vec<f64>, worst_s: f64) -> f64 {
        if reached_s.iter().all(Option::is_some) {
            return worst_s;
        }
        let mut least = f64::INFINITY;
        for from in 0..pairs.len() {
            for to in 0..pairs.len() {
                if reached_s[from].is_none() || reached_s[to].is_some() {
                    continue;
                }
                let (was_s, was_to) = (ready_s[from], ready_s[to]);
                let arrival_s = was_s + pairs.edge_s(from, to);
                ready_s[from] += pairs.gap_s(from, to);
                (reached_s[to], ready_s[to]) = (Some(arrival_s), arrival_s);
                least = least.min(least_s(pairs, reached_s, ready_s, worst_s.max(arrival_s)));
                (ready_s[from], ready_s[to], reached_s[to]) = (was_s, was_to, None);
            }
        }
        least
    }

    #[test]
    fn small_problems_are_solved_as_brute_force_does() {
        let mut random = Random::new(4);
        for _ in 0..20 {
            let count = 2 + random.below(4);
            let pairs = drawn(count, &mut random);
            let mut reached_s = vec![None; count];
            reached_s[0] = Some(0.0);
            let least = least_s(&pairs, &mut reached_s, &mut vec![0.0; count], 0.0);
            let found = search(
                &pairs,
                0,
                Rule::EveryPair,
                (Allowance::Runs, &Budget::UNLIMITED),
                &mut Random::new(1),
            );
            assert!((found.cost_s / cost_s(&pairs, 0, &found.edges) - 1.0).abs() < 1e-12);
            assert!((found.cost_s / least - 1.0).abs() < 1e-12, "{} against {least} s", found.cost_s);
        }
    }

    #[test]
    fn without_a_time_limit_moves_grow_with_the_pairs_of_hosts() {
        assert_eq!(
            [8, 64, 177, 2048].map(usual_allowance),
            [2048, 131_072, 1_000_000, 1_000_000].map(Allowance::Moves)
        );
    }

    #[test]
    fn without_any_time_there_is_one_annealing() {
        let pairs = drawn(12, &mut Random::new(9));
        let none = std::time::Duration::ZERO;
        for (allowance, limit) in
            [(Allowance::Time(none), Budget::UNLIMITED), (Allowance::Moves(1_000_000), Budget::within(none))]
        {
            let mut runs = 0;
            drive(&pairs, Some(0), allowance, &limit, &mut Random::new(7), |_| runs += 1);
            assert_eq!(runs, 1, "{allowance:?}");
        }
    }

    #[test]
    fn a_budget_of_moves_is_kept_and_repeats() {
        let pairs = drawn(40, &mut Random::new(9));
        let search = |moves| {
            let mut spent = 0;
            let found = drive(
                &pairs,
                Some(3),
                Allowance::Moves(moves),
                &Budget::UNLIMITED,
                &mut Random::new(7),
                |at| spent = at.moves,
            );
            (found, spent)
        };
        let (few, spent) = search(20_000);
        // The last annealing may run over: 21 levels of 80 moves.
        assert!((20_000..20_000 + 1680).contains(&spent), "{spent} moves");
        assert_eq!(few, search(20_000).0);
        assert!(search(400_000).0.cost_s <= few.cost_s);
    }

    #[test]
    fn good_trees_are_refined_and_never_for_the_worse() {
        let pairs = drawn(24, &mut Random::new(11));
        let mut seen: Vec<Progress> = Vec::new();
        let found = drive(&pairs, Some(0), Allowance::Runs, &Budget::UNLIMITED, &mut Random::new(2), |at| {
            seen.push(at)
        });
        assert_eq!(seen.iter().filter(|at| !at.is_refining).count(), 50);
        assert_eq!(seen.iter().filter(|at| at.is_refining).count(), 25);
        assert!(seen
            .windows(2)
            .all(|pair| pair[1].best_s <= pair[0].best_s && pair[1].moves > pair[0].moves));
        assert_eq!(seen.last().unwrap().best_s, found.cost_s);
    }

    #[test]
    fn every_host_is_reached_once_over_pools() {
        let mut random = Random::new(6);
        for count in [16, 17, 40, 64] {
            // Clusters of ten: fast inside.
            let gap_s: Vec<f64> = (0..count * count)
                .map(|at| if at / count / 10 == at % count / 10 { 1.0 } else { random.between(5.0, 20.0) })
                .collect();
            let pairs = Pairs::new(count, gap_s.clone(), gap_s);
            for rule in [Rule::EveryPair, Rule::Average] {
                let found = search(
                    &pairs,
                    5,
                    rule,
                    (Allowance::Moves(20_000), &Budget::UNLIMITED),
                    &mut Random::new(1),
                );
                let mut reached: Vec<u32> = found.edges.iter().map(|&(_, child)| child).collect();
                reached.push(5);
                reached.sort_unstable();
                assert_eq!(reached, (0..count as u32).collect::<Vec<u32>>());
            }
        }
    }
}
