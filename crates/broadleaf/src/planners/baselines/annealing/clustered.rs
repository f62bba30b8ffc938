//! `clusteredSA`: a driver in each pool, then over the pools' roots (the paper's figure 4).

use super::basic::Found;
use super::driver::{drive, Allowance};
use super::pools::{pools, Rule};
use super::tree::cost_s;
use crate::budget::Budget;
use crate::planners::baselines::Pairs;
use crate::random::Random;

/// Fewer hosts go straight to the driver; pool sets with a larger pool are dropped, unless all have one.
const SMALL: usize = 16;
/// Bandwidths of a pool's pairs are at least this part of the greatest, per cent: one pool set for each.
const PER_CENTS: [f64; 4] = [10.0, 25.0, 50.0, 75.0];

/// The best tree over all hosts.
pub fn search(
    pairs: &Pairs,
    root: usize,
    rule: Rule,
    (allowance, limit): (Allowance, &Budget),
    random: &mut Random,
) -> Found {
    let share = allowance.divided(drivers(pairs, rule));
    level(pairs, root, rule, (share, limit), random)
}

fn level(
    pairs: &Pairs,
    root: usize,
    rule: Rule,
    (share, limit): (Allowance, &Budget),
    random: &mut Random,
) -> Found {
    let mut best: Option<Found> = None;
    for set in pool_sets(pairs, rule) {
        let mut found: Vec<Found> = Vec::new();
        for pool in &set {
            // A pool without the root gets one of its own: the driver's random starts have random roots.
            let inside = pool.iter().position(|&host| host == root);
            found.push(in_terms_of(drive(&pairs.among(pool), inside, share, limit, random, |_| ()), pool));
        }
        let whole = if set.len() == 1 {
            found.pop().expect("one pool has one tree")
        } else {
            let heads: Vec<usize> = found.iter().map(|tree| tree.root).collect();
            let at = heads.iter().position(|&head| head == root).expect("the root heads its pool");
            let upper = level(&pairs.among(&heads), at, rule, (share, limit), random);
            combined(pairs, root, in_terms_of(upper, &heads), &found)
        };
        if best.as_ref().is_none_or(|best| whole.cost_s < best.cost_s) {
            best = Some(whole);
        }
    }
    best.expect("there is a pool set")
}

/// The sets of pools to try. Few hosts are one pool, and so are hosts that no threshold groups: a set of pools of
/// one host each would be the same problem again.
fn pool_sets(pairs: &Pairs, rule: Rule) -> Vec<Vec<Vec<usize>>> {
    let count = pairs.len();
    let whole = || vec![vec![(0..count).collect::<Vec<usize>>()]];
    if count < SMALL {
        return whole();
    }
    let of_rate = |at: usize| {
        let (from, to) = (at / count, at % count);
        if from == to {
            0.0
        } else {
            1.0 / pairs.gap_s(from, to)
        }
    };
    let bandwidth: Vec<f64> = (0..count * count).map(of_rate).collect();
    let mut sets: Vec<Vec<Vec<usize>>> = Vec::new();
    for per_cent in PER_CENTS {
        let set = pools(&bandwidth, count, per_cent, rule);
        if set.len() < count && !sets.contains(&set) {
            sets.push(set);
        }
    }
    let is_small = |set: &Vec<Vec<usize>>| set.iter().all(|pool| pool.len() <= SMALL);
    if sets.iter().any(is_small) {
        sets.retain(is_small);
    }
    if sets.is_empty() {
        whole()
    } else {
        sets
    }
}

/// How often a driver will run. The heads of the pools are not known yet; the first host of each is used instead.
fn drivers(pairs: &Pairs, rule: Rule) -> usize {
    let of_set = |set: &Vec<Vec<usize>>| {
        let heads: Vec<usize> = set.iter().map(|pool| pool[0]).collect();
        set.len() + if set.len() == 1 { 0 } else { drivers(&pairs.among(&heads), rule) }
    };
    pool_sets(pairs, rule).iter().map(of_set).sum()
}

/// A tree over some hosts, numbered as in the whole.
fn in_terms_of(found: Found, hosts: &[usize]) -> Found {
    let name = |node: u32| hosts[node as usize] as u32;
    let edges = found.edges.into_iter().map(|(parent, child)| (name(parent), name(child))).collect();
    Found { root: hosts[found.root], edges, ..found }
}

/// The upper tree, then each pool's below its head: the slow sends come first, since all others wait for them.
fn combined(pairs: &Pairs, root: usize, upper: Found, pools: &[Found]) -> Found {
    let mut edges = upper.edges;
    edges.extend(pools.iter().flat_map(|pool| pool.edges.iter().copied()));
    Found { cost_s: cost_s(pairs, root, &edges), root, edges }
}
