//! A plan's own trees with a period in which they take turns.
//!
//! Trees that only have an order of children serve first come, first served: a port that is nearly always busy then
//! often waits for a transfer whose other end is busy, and several trees stay far below their load bound. The period
//! of `optimal` corrects that for any trees. It repeats the trees as often as that helps: a longer period wastes less
//! of the ports' time, a shorter one starts up sooner. Short ones are laid out from several starts and with the trees in
//! several orders, and each is shortened: which becomes the shortest shows only then.

use super::candidate::{soonest, Candidate};
use super::period_layout::Layout;
use super::settings::{sets, shortening, timetables, turns};
use crate::budget::Budget;
use crate::optimum::WeightedTree;
use crate::plan::{throughput, Collective, Plan, PlanError, Predicted};
use crate::planners::Instance;
use crate::platform::Platform;
use crate::random::Random;
use std::collections::BTreeMap;

/// The broadcast `plan` with a period for its trees, made for its message; whatever period it had is dropped. A
/// single tree, and trees without a limit, need none.
///
/// # Errors
/// A plan that is no broadcast, whose trees pass relays, whose shares are no whole parts of a short period, or whose
/// transfers keep their receivers' ports busy only long after their senders' (multi-port on slow links).
pub fn with_period(platform: &Platform, plan: &Plan, budget: &Budget) -> Result<Plan, PlanError> {
    let refused = |reason: String| PlanError::Unsupported { planner: plan.planner.clone(), reason };
    if plan.collective != Collective::Bcast {
        return Err(refused(format!(
            "a period for its trees is laid out for a bcast, not for {}",
            plan.collective
        )));
    }
    let bytes_per_s = throughput(platform, plan)?;
    let plan = Plan { period: None, pattern: None, ..plan.bind(platform)?.routed(platform)? };
    if plan.trees.len() == 1 || bytes_per_s.is_infinite() {
        return Ok(plan);
    }
    if plan.trees.iter().any(|tree| !tree.via.is_empty()) {
        return Err(refused("its trees pass relays, for which no period is laid out".to_string()));
    }
    let shares: Vec<f64> = plan.trees.iter().map(|tree| tree.share).collect();
    let parts = whole_parts(&shares).ok_or_else(|| {
        refused(format!(
            "its shares are no whole parts of a period of at most {} segments",
            turns::MOST_PARTS
        ))
    })?;
    let trees = in_turn(&plan, &parts);
    let instance = Instance::new(platform, plan.root, plan.message_bytes)?.segmented(plan.segment_bytes);
    if Layout::of(&instance, &trees).is_spread() {
        return Err(refused("its receivers' ports are busy only long after its senders'".to_string()));
    }
    let least_s = plan.message_bytes as f64 / bytes_per_s;
    let laid_out = laid_out(&instance, &trees, least_s, budget);
    let period = soonest(laid_out, least_s, (turns::SETS, turns::THOROUGH * shortening::EFFORT), budget)
        .and_then(|best| best.period());
    Ok(Plan { period, skip_busy: false, predicted: Predicted::default(), ..plan })
}

/// The trees, in several orders, as periods in which they come one and more times over, until one is done within
/// [`sets::GOOD`] times `least_s`. Loose and dense starts are for the shortest periods: those in which the trees come once,
/// then longer ones in the order that was the best.
fn laid_out(instance: &Instance, trees: &[WeightedTree], least_s: f64, budget: &Budget) -> Vec<Candidate> {
    let segments = instance.message_bytes.div_ceil(instance.segment_bytes);
    let mut random = Random::new(0);
    let mut shuffled = trees.to_vec();
    let orders: Vec<Vec<WeightedTree>> = (0..turns::ORDERS)
        .map(|order| {
            if order > 0 {
                random.shuffle(&mut shuffled);
            }
            shuffled.clone()
        })
        .collect();
    let mut laid_out: Vec<Candidate> = Vec::new();
    let (mut best_order, mut best_s) = (0, f64::INFINITY);
    for times in turns::REPEATS {
        let width = trees.len() * times;
        let transfers = width * instance.platform.node_count();
        let fits = width as u64 <= segments && transfers <= sets::MOST_TRANSFERS;
        for (order, trees) in orders.iter().enumerate() {
            if !laid_out.is_empty() && (!fits || budget.is_spent()) {
                return laid_out;
            }
            let repeated: Vec<WeightedTree> = trees.iter().cycle().take(width).cloned().collect();
            let layout = Layout::of(instance, &repeated);
            laid_out.push(Candidate::new(repeated.clone(), layout, segments, budget));
            if transfers <= turns::MOST_LOOSE && (times == 1 || order == best_order) {
                shortened(instance, &repeated, segments, budget, &mut laid_out);
            }
            let done_s = laid_out.iter().map(|candidate| candidate.done_s).fold(f64::INFINITY, f64::min);
            if done_s <= least_s * sets::GOOD {
                return laid_out;
            }
            if done_s < best_s {
                (best_order, best_s) = (order, done_s);
            }
        }
    }
    laid_out
}

/// Adds periods from loose and from dense starts, each shortened: which start leads to the shortest period is not known
/// before.
fn shortened(
    instance: &Instance,
    trees: &[WeightedTree],
    segments: u64,
    budget: &Budget,
    laid_out: &mut Vec<Candidate>,
) {
    let layout = || Layout::of(instance, trees);
    let loose = turns::LOOSE
        .into_iter()
        .filter_map(|stretch| Candidate::loose(trees.to_vec(), layout(), segments, (stretch, turns::TRIES)));
    let urgencies = timetables::URGENCIES.into_iter();
    let dense = urgencies.map(|urgency| Candidate::dense(trees.to_vec(), layout(), segments, urgency));
    for mut candidate in loose.chain(dense) {
        if budget.is_spent() {
            break;
        }
        candidate.tighten(shortening::EFFORT, budget);
        laid_out.push(candidate);
    }
}

/// How many segments of the shortest period each share stands for; `None` where a short one has no whole numbers.
fn whole_parts(shares: &[f64]) -> Option<Vec<usize>> {
    (shares.len()..=turns::MOST_PARTS).find_map(|width| {
        let parts: Vec<f64> = shares.iter().map(|share| share * width as f64).collect();
        let is_whole = |part: &f64| *part > 0.5 && (part - part.round()).abs() <= turns::SHARE;
        parts.iter().all(is_whole).then(|| parts.iter().map(|part| part.round() as usize).collect())
    })
}

/// The trees in the order of a period's positions, those of larger parts spread over it.
fn in_turn(plan: &Plan, parts: &[usize]) -> Vec<WeightedTree> {
    let width: usize = parts.iter().sum();
    let mut positions: Vec<(f64, usize)> = Vec::with_capacity(width);
    for (tree, &part) in parts.iter().enumerate() {
        positions.extend((0..part).map(|at| ((at as f64 + 0.5) / part as f64, tree)));
    }
    positions.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let share = 1.0 / width as f64;
    let tree = |(_, tree): (f64, usize)| WeightedTree {
        share,
        parent: plan.trees[tree].parents(),
        via: BTreeMap::new(),
    };
    positions.into_iter().map(tree).collect()
}
