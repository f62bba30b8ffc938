//! The exchange between the heads of an all-reduce's trees.

use super::MOST_FAULTS;
use crate::plan::{Plan, Tree};
use crate::platform::{NodeId, Platform};
use std::collections::BTreeSet;

/// Each sends to all others; more would be slower than any tree.
const MOST_HEADS: usize = 1024;

/// Heads hang from the root on both ways, so that each gets every part of the sum once, and each has a link to every other
/// one.
pub(super) fn exchange_faults(platform: &Platform, plan: &Plan, faults: &mut Vec<String>) {
    let name = |node: NodeId| platform.node(node).id.as_str();
    for (index, tree) in plan.trees.iter().enumerate().filter(|(_, tree)| !tree.exchange.is_empty()) {
        let head = name(tree.exchange[0]);
        faults.push(format!(
            "tree {index}: \"{head}\" is in an exchange, which only an inward tree of an allreduce has"
        ));
    }
    for (index, (inward, outward)) in plan.inward.iter().zip(&plan.trees).enumerate() {
        let Some(&first) = inward.exchange.first() else { continue };
        if plan.period.is_some() {
            faults
                .push(format!("tree {index}: \"{}\" is in an exchange, which no period orders", name(first)));
        }
        if inward.exchange.len() >= MOST_HEADS {
            faults.push(format!(
                "tree {index}: more than {MOST_HEADS} hosts exchange what has come in to them"
            ));
            continue;
        }
        let root = plan.root_of(inward);
        let mut heads = BTreeSet::from([root]);
        let is_child =
            |tree: &Tree, head| tree.children(root).contains(&head) && !tree.via.contains_key(&head);
        for &head in &inward.exchange {
            if !heads.insert(head) {
                faults.push(format!("tree {index}: \"{}\" is in the exchange twice", name(head)));
            } else if !is_child(inward, head) || !is_child(outward, head) {
                faults.push(format!(
                    "tree {index}: \"{}\" is in the exchange, and no child of the root on both ways, without relays",
                    name(head)
                ));
            }
        }
        let pairs = heads.iter().flat_map(|&from| heads.iter().map(move |&to| (from, to)));
        let missing = pairs.filter(|&(from, to)| from != to && platform.link(from, to).is_none());
        for (from, to) in missing.take(MOST_FAULTS) {
            faults.push(format!("tree {index}: no link for the exchange ({:?}, {:?})", name(from), name(to)));
        }
    }
}
