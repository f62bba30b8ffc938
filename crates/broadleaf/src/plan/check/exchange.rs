//! The exchange between the heads of an all-reduce's trees.

use super::MOST_FAULTS;
use crate::plan::tree::MOST_HEADS;
use crate::plan::{Plan, Tree};
use crate::platform::{NodeId, Platform};
use std::collections::BTreeSet;

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
        if inward.exchange.is_empty() || faults.len() >= MOST_FAULTS {
            continue;
        }
        if plan.period.is_some() {
            faults.push(format!("tree {index}: an exchange, which a plan with a period cannot have"));
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
            let id = name(head);
            if head == root {
                faults
                    .push(format!("tree {index}: the exchange names the root \"{id}\", which is part of it"));
            } else if !heads.insert(head) {
                faults.push(format!("tree {index}: \"{id}\" is in the exchange twice"));
            } else if !is_child(inward, head) || !is_child(outward, head) {
                faults.push(format!(
                    "tree {index}: \"{id}\" is in the exchange, but not in both trees a child of the root without via"
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
