//! The optimal broadcast of a long message: a few trees and a period that keeps the busiest ports busy.
//!
//! Beaumont, Marchal and Robert, *Broadcast trees for heterogeneous platforms*, compute its value (program (2)) and
//! call it too complicated to build. [`solve`](crate::optimum::solve()) gives the trees and the bound; W trees of
//! equal share are drawn from them for several W, each set is laid out as a period of W segments ([`timetable`]),
//! each link's windows are assigned to segments ([`assign_windows()`]), it is simulated, and the set that ends first
//! is kept: more trees come nearer to the bound, fewer start up sooner. Where a transfer occupies its receiver's port
//! only long after its sender's, there is no period, and the trees share the ports.
//!
//! A [`scatter`] and an [`allgather`] have trees of their own; gathers and reduce-scatters are their mirrors.
//!
//! Complexity: the optimum's, then O(n · W · degree) for each W. Guarantee: the throughput of the plan's
//! trees is at most [`Predicted::bound_bytes_per_s`], which no plan exceeds for that segment size.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{ExplicitLink, LinkClass, PlatformBuilder, PortModel};
//!
//! // The root has 10 bytes/s to each of two nodes, which have 10 bytes/s to each other: each node gets half
//! // of the segments from the root and half from the other, in two trees.
//! let mut builder = PlatformBuilder::new("three", PortModel::OnePort);
//! let nodes: Vec<_> = ["a", "b", "c"].iter().map(|id| builder.add_host(*id).unwrap()).collect();
//! let class = builder.add_class(LinkClass::affine(0.0, 10.0));
//! for (from, to) in [(0, 1), (0, 2), (1, 2)] {
//!     builder.add_link(ExplicitLink { from: nodes[from], to: nodes[to], both_ways: true, class }).unwrap();
//! }
//! let platform = builder.build().unwrap();
//! let instance = Instance::new(&platform, nodes[0], 1000).unwrap().segmented(10);
//! let plan = find("optimal").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
//! let trace = broadleaf::simulate::simulate(&platform, &plan, false).unwrap();
//! // 100 segments of a second each, and one more second for the last one's second hop.
//! assert_eq!(trace.makespan_s, 101.0);
//! ```

mod allgather;
mod assign_windows;
mod balanced_trees;
mod by_child_order;
mod candidate;
mod in_turn;
mod period_layout;
mod positions;
mod scatter;
mod settings;
mod shorten_period;
mod timetable;
mod with_period;

use crate::budget::Budget;
use crate::optimum::{
    equal_trees, link_count, solve_within, Limits, Optimum, OptimumError, WeightedTree, MOST_LINKS,
};
use crate::plan::{Collective, Plan, PlanError, Predicted, Tree};
use crate::planners::{Card, Instance, Pace, Planner, Profile, Segmentation, Unsupported};
use crate::platform::{LinkClassId, Platform};
use balanced_trees::{balanced_trees, must_share};
pub use by_child_order::OptimalTrees;
use candidate::{soonest, Candidate};
use period_layout::Layout;
use positions::{as_dealt, merged};
use settings::{balance, blocks, sets, shortening};
pub use with_period::with_period;

pub struct Optimal;

/// Measured by `benches/time_limits.py clusters-2000`, a network of 670,000 links.
const LINKS_PER_S: f64 = 1e6;

static CARD: Card = Card {
    name: "optimal",
    summary: "a few trees near the throughput optimum, and the period in which they take turns",
    reference: "Beaumont, Marchal and Robert, Broadcast trees for heterogeneous platforms, program (2)",
    objective: "throughput of long messages on any platform",
    guarantee: "within the stated gap of the bound in throughput, before start-up and rounding to segments",
    complexity: "some cheapest arborescences of O(m log n), then O(n · W · degree) for W trees",
    profile: Profile {
        pace,
        least_s: |instance| link_count(instance.platform) as f64 / LINKS_PER_S,
        segments: Segmentation::Guided { whole: |_, count| count, modelled: segments },
        ..Profile::QUICK
    },
};

impl Planner for Optimal {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn collectives(&self) -> &'static [Collective] {
        &[Collective::Bcast, Collective::Scatter, Collective::Allgather]
    }

    /// Its broadcasts' trees share the message as evenly as an all-gather's, in fewer slots.
    fn all_reduce_from(&self) -> &'static [Collective] {
        &[Collective::Bcast]
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        let platform = instance.platform;
        let links = link_count(platform);
        if links > MOST_LINKS {
            return Err(Unsupported(format!(
                "{links} links; the optimum is computed for {MOST_LINKS} at most"
            )));
        }
        if instance.collective == Collective::Bcast {
            return Ok(());
        }
        let hosts = platform.hosts().count();
        if hosts < platform.node_count() || hosts < 2 {
            return Err(Unsupported(
                "its trees for blocks join two hosts or more, without switches".to_string(),
            ));
        }
        if instance.collective == Collective::Allgather {
            if hosts > blocks::MOST_HOSTS {
                return Err(Unsupported(format!(
                    "{hosts} hosts; at most {} for allgather",
                    blocks::MOST_HOSTS
                )));
            }
            let first = platform.hosts().next().expect("there are hosts");
            if let Some(&host) = platform.reversed().unreachable_from(first).first() {
                let id = |node| &platform.node(node).id;
                return Err(Unsupported(format!("\"{}\" cannot send to \"{}\"", id(host), id(first))));
            }
        }
        Ok(())
    }

    fn plan(&self, instance: &Instance, budget: &Budget) -> Result<Plan, PlanError> {
        match instance.collective {
            Collective::Scatter => return scatter::plan(instance, CARD.name, budget),
            Collective::Allgather => return allgather::plan(instance, CARD.name, budget),
            _ => {}
        }
        let Instance { platform, root, segment_bytes, .. } = *instance;
        // The remaining gap between throughput and bound is small beside the loss from rounding to segments.
        let gap = if platform.node_count() <= 1000 { 1e-3 } else { 2e-2 };
        let optimum = solve_within(platform, root, segment_bytes, gap, Limits::default(), &budget.divided(4))
            .map_err(refused)?;
        let is_rated = optimum.throughput_bytes_per_s.is_finite();
        let plan = if !is_rated {
            tree_plan(instance, CARD.name, optimum.plan_trees())
        } else if Layout::of(instance, &optimum.trees).is_spread() {
            sharing(instance, CARD.name, &optimum, budget)
        } else {
            periodic(instance, &optimum, budget)?
        };
        rated(platform, plan, &optimum)
    }
}

/// Quick among few nodes without a timetable.
fn pace(instance: &Instance) -> Pace {
    if instance.platform.node_count() <= balance::QUICK_NODES && must_share(instance) {
        Pace::First
    } else {
        Pace::of_optimum(instance)
    }
}

/// The number of segments of blocks; a broadcast's is searched.
fn segments(instance: &Instance, most: u64, budget: &Budget) -> Option<u64> {
    match instance.collective {
        Collective::Scatter => scatter::segments(instance, most, budget),
        Collective::Allgather => allgather::segments(instance, most, budget),
        _ => None,
    }
}

/// The one of these numbers of segments with the least time, seconds, of those timed until the budget is spent; the
/// first that has a time is always among them.
fn quickest(
    counts: impl Iterator<Item = u64>,
    budget: &Budget,
    time_s: impl Fn(u64) -> Option<f64>,
) -> Option<u64> {
    let mut best: Option<(f64, u64)> = None;
    for count in counts {
        if best.is_some() && budget.is_spent() {
            break;
        }
        let timed = time_s(count).map(|time_s| (time_s, count));
        best = timed.into_iter().chain(best).min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    }
    best.map(|(_, count)| count)
}

fn refused(error: OptimumError) -> PlanError {
    PlanError::BadRequest(error.to_string())
}

/// The plan with its throughput and the optimum's bound; an error where the program's precision left no tree.
fn rated(platform: &Platform, plan: Plan, optimum: &Optimum) -> Result<Plan, PlanError> {
    if plan.trees.is_empty() {
        // Seen where one link of several takes 1e18 s.
        return Err(PlanError::Unsupported {
            planner: plan.planner,
            reason: "the links' times differ too much for the throughput program's precision".to_string(),
        });
    }
    let finite = |rate: f64| Some(rate).filter(|rate| rate.is_finite());
    let predicted = Predicted {
        throughput_bytes_per_s: finite(crate::plan::throughput(platform, &plan)?),
        bound_bytes_per_s: finite(optimum.upper_bound_bytes_per_s),
        ..Predicted::default()
    };
    Ok(Plan { predicted, ..plan })
}

fn tree_plan(instance: &Instance, planner: &str, trees: Vec<Tree>) -> Plan {
    let Instance { platform, root, message_bytes, segment_bytes, seed, .. } = *instance;
    Plan { seed, ..Plan::bcast(platform, planner, root, message_bytes, segment_bytes, trees) }
}

/// The plan without a timetable: trees of even load, or the optimum's own.
fn sharing(instance: &Instance, planner: &str, optimum: &Optimum, budget: &Budget) -> Plan {
    let balanced = balanced_trees(instance, optimum, None, budget).map(|trees| merged(&trees));
    tree_plan(instance, planner, balanced.unwrap_or_else(|| optimum.plan_trees()))
}

/// The plan with the number of trees that ends first.
fn periodic(instance: &Instance, optimum: &Optimum, budget: &Budget) -> Result<Plan, PlanError> {
    let segments = instance.message_bytes.div_ceil(instance.segment_bytes);
    let least_s = instance.message_bytes as f64 / optimum.upper_bound_bytes_per_s;
    let mut laid_out: Vec<Candidate> = Vec::new();
    let mut best_s = f64::INFINITY;
    for (promised_s, trees) in ranked(instance, optimum, segments, &budget.divided(2))? {
        let is_over = !laid_out.is_empty() && budget.is_spent();
        if is_over || best_s <= least_s * sets::GOOD {
            break;
        }
        if promised_s >= best_s * sets::WORTHWHILE {
            continue;
        }
        let trees = as_dealt(&trees);
        let layout = Layout::of(instance, &trees);
        if layout.is_spread() {
            return Ok(sharing(instance, CARD.name, optimum, budget));
        }
        let candidate = Candidate::new(trees, layout, segments, budget);
        best_s = best_s.min(candidate.done_s);
        laid_out.push(candidate);
    }
    let best = soonest(laid_out, least_s, (shortening::SETS, shortening::EFFORT), budget)
        .expect("one segment a period always fits");
    let period = best.period();
    Ok(Plan { period, ..tree_plan(instance, CARD.name, merged(&best.trees)) })
}

/// Sets of equal trees, most promising first, with the time that each would need at its own rate, seconds.
fn ranked(
    instance: &Instance,
    optimum: &Optimum,
    segments: u64,
    budget: &Budget,
) -> Result<Vec<(f64, Vec<WeightedTree>)>, PlanError> {
    let nodes = instance.platform.node_count();
    let fits = |&width: &usize| {
        let is_short = width <= sets::ALWAYS || width as u64 * sets::LEAST_PERIODS <= segments;
        width == 1 || (width as u64 <= segments && width * nodes <= sets::MOST_TRANSFERS && is_short)
    };
    let start_up = |width: usize| 1.0 + sets::START_UP * width as f64 / segments as f64;
    let least_s = instance.message_bytes as f64 / optimum.upper_bound_bytes_per_s;
    let mut sets: Vec<(f64, f64, Vec<WeightedTree>)> = Vec::new();
    let mut add = |width: usize| -> Result<(f64, f64), PlanError> {
        let (trees, bytes_per_s) = equal_trees(instance.platform, optimum, width, budget).map_err(refused)?;
        let promised_s = instance.message_bytes as f64 / bytes_per_s * start_up(width);
        sets.push((promised_s, bytes_per_s, trees));
        Ok((promised_s, bytes_per_s))
    };
    let (mut soonest_s, mut most) = (f64::INFINITY, 0.0f64);
    let mut widths = sets::WIDTHS.to_vec();
    widths.extend(whole_width(instance, optimum.upper_bound_bytes_per_s));
    widths.sort_unstable();
    widths.dedup();
    for width in widths.into_iter().filter(fits) {
        // Even trees at the bound's rate would start up too late, and wider sets later still.
        let is_over = soonest_s.is_finite() && budget.is_spent();
        if is_over || least_s * start_up(width) > soonest_s * sets::HOPELESS {
            break;
        }
        let (promised_s, bytes_per_s) = add(width)?;
        soonest_s = soonest_s.min(promised_s);
        most = most.max(bytes_per_s);
    }
    if segments >= sets::LONG {
        let wanted = optimum.upper_bound_bytes_per_s * sets::LONG_RATE;
        for width in sets::WIDER.into_iter().filter(|width| width * nodes <= 2 * sets::MOST_TRANSFERS) {
            if most >= wanted || budget.is_spent() {
                break;
            }
            most = most.max(add(width)?.1);
        }
        sets.retain(|set| set.1 >= most.min(wanted));
    }
    let expected_s = |set: &(f64, f64, Vec<WeightedTree>)| set.0 * (1.0 + sets::LOSS * set.2.len() as f64);
    sets.sort_by(|a, b| expected_s(a).total_cmp(&expected_s(b)));
    Ok(sets.into_iter().map(|(promised_s, _, trees)| (promised_s, trees)).collect())
}

/// The least number of trees of which every link that is slower than all together carries a whole number; `None` if it
/// is large. A switched fabric's rates are often multiples of one.
fn whole_width(instance: &Instance, all_bytes_per_s: f64) -> Option<usize> {
    let Instance { platform, segment_bytes, .. } = *instance;
    let all_s = segment_bytes as f64 / all_bytes_per_s;
    let slower: Vec<f64> = (0..platform.classes().len() as u32)
        .map(|class| platform.transfer_s(LinkClassId(class), segment_bytes))
        .filter(|&each_s| each_s > all_s * (1.0 + sets::WHOLE))
        .map(|each_s| all_s / each_s)
        .collect();
    (1..=sets::MOST_WHOLE).find(|&width| {
        let trees = slower.iter().map(|part| part * width as f64);
        trees.into_iter().all(|trees| (trees - trees.round()).abs() <= sets::WHOLE * trees)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::time::Duration;

    #[test]
    fn a_spent_budget_times_one_number_of_segments() {
        let tried = Cell::new(0);
        let time_s = |count: u64| {
            tried.set(tried.get() + 1);
            (count > 1).then(|| 1.0 / count as f64)
        };
        let counts = || [1, 2, 4, 8].into_iter();
        assert_eq!(quickest(counts(), &Budget::UNLIMITED, time_s), Some(8));
        assert_eq!(tried.replace(0), 4);
        assert_eq!(quickest(counts(), &Budget::within(Duration::ZERO), time_s), Some(2));
        assert_eq!(tried.get(), 2, "the first has no time");
    }
}
