//! The tree along which each position of a period moves its segment.

use super::{flows, Collective, Flow, Period, Tree};
use crate::platform::NodeId;
use std::collections::HashMap;

/// By position, the tree whose edges are exactly those of the position's slots; the first tree if no tree matches (the
/// checker refuses such a plan). Trees with the same edges, which differ only in switches, take their positions in
/// turn, by their shares.
pub(crate) fn tree_of_positions(
    period: &Period,
    collective: Collective,
    trees: &[Tree],
    inward: &[Tree],
) -> Vec<u32> {
    // A sum of well-mixed edge marks (splitmix64) does not depend on the edges' order.
    let mark = |is_inward: bool, from: NodeId, to: NodeId| {
        let way = if is_inward { u64::from(u32::MAX) } else { 0 };
        let edge = (u64::from(from.0) << 32 | u64::from(to.0)) ^ way;
        let mut mixed = edge.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    };
    // Each tree with the positions that it is still owed.
    let mut alike: HashMap<u64, Vec<(f64, u32)>> = HashMap::new();
    let mut sums = vec![0u64; trees.len()];
    for Flow { index, tree, is_inward, .. } in flows(collective, trees, inward) {
        let sum = &mut sums[index as usize];
        *sum = tree.edges().fold(*sum, |sum, (from, to)| sum.wrapping_add(mark(is_inward, from, to)));
    }
    for (sum, index) in sums.into_iter().zip(0..) {
        alike.entry(sum).or_default().push((0.0, index));
    }
    let mut sums = vec![0u64; period.segments as usize];
    for slot in &period.slots {
        if let Some(sum) = sums.get_mut((slot.segment % period.segments.max(1)) as usize) {
            let is_inward = period.goes_inward(slot, collective);
            let (parent, child) = if is_inward { (slot.to, slot.from) } else { (slot.from, slot.to) };
            *sum = sum.wrapping_add(mark(is_inward, parent, child));
        }
    }
    let next_of = |sum: &u64| {
        let Some(owed) = alike.get_mut(sum) else { return 0 };
        let share = |tree: u32| trees[tree as usize].share;
        let total: f64 = owed.iter().map(|&(_, tree)| share(tree)).sum();
        owed.iter_mut().for_each(|(owed, tree)| *owed += share(*tree) / total);
        // The first of those that are owed most.
        let mut most = 0;
        for at in 1..owed.len() {
            if owed[at].0 > owed[most].0 {
                most = at;
            }
        }
        owed[most].0 -= 1.0;
        owed[most].1
    };
    sums.iter().map(next_of).collect()
}
