//! MPICH's `MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE`, as 4.0 to 5.0 read it.
//!
//! A decision tree of nested objects, whose keys are conditions tried in order (`comm_size<8`,
//! `avg_msg_size<65536`, `…=any` last) and whose leaves are `algorithm=…` with its parameters. A collective that
//! is not in the file has no algorithm at all, so a whole file has every collective.

use super::algorithm::Algorithm;
use super::rule::{by_nodes, Rule};
use crate::plan::Collective;
use std::fmt::Write;

/// The algorithm's name and parameters; `most_nodes` is the largest communicator that the rule is for.
pub(super) fn method(
    algorithm: Algorithm,
    segment_bytes: u64,
    most_nodes: u64,
) -> Option<(&'static str, Vec<String>)> {
    use Algorithm::*;
    // Its sizes are C ints.
    let segment = segment_bytes.min(i32::MAX as u64);
    let tree = |kind: &str, degree: u64| vec![format!("tree_type={kind}"), format!("k={degree}")];
    let plain = |mut tree: Vec<String>| {
        tree.push("is_non_blocking=1".to_string());
        Some(("MPIR_Bcast_intra_tree", tree))
    };
    let pipelined = |mut tree: Vec<String>| {
        let rest = [format!("chunk_size={segment}"), "is_non_blocking=1".into(), "recv_pre_posted=1".into()];
        tree.extend(rest);
        Some(("MPIR_Bcast_intra_pipelined_tree", tree))
    };
    let star = most_nodes.saturating_sub(1).clamp(1, i32::MAX as u64);
    match (algorithm, segment_bytes) {
        (Flat, _) | (SegmentedFlat, 0) => plain(tree("kary", star)),
        (SegmentedFlat, _) => pipelined(tree("kary", star)),
        (Chain, _) | (SegmentedChain, 0) => plain(tree("kary", 1)),
        (SegmentedChain, _) => pipelined(tree("kary", 1)),
        (Binary, _) => plain(tree("kary", 2)),
        (Binomial, _) | (SegmentedBinomial, 0) => Some(("MPIR_Bcast_intra_binomial", Vec::new())),
        (SegmentedBinomial, _) => pipelined(tree("knomial_1", 2)),
        (BinomialScatter, _) => Some(("MPIR_Scatter_intra_binomial", Vec::new())),
        // Rendezvous is the transport's decision; it has no other scatter.
        (FlatRendezvous | ChainRendezvous | BinomialRendezvous | FlatScatter | ChainScatter, _) => None,
    }
}

/// A communicator larger than the tuned ones counts as at most this many times the largest.
const BEYOND: u64 = 4;

/// `{"collective=bcast": {"comm_type=intra": …}, …}`: MPICH reads keys in order, so this is text, not a map.
pub(super) fn text(rules: &[Rule]) -> String {
    let mut writer = Writer { text: String::from("{"), depth: 1 };
    for collective in [Collective::Bcast, Collective::Scatter] {
        let table = by_nodes(rules, collective);
        if table.is_empty() {
            continue;
        }
        writer.open(&format!("collective={}", collective.name()));
        writer.open("comm_type=intra");
        for (at, rules) in table.iter().enumerate() {
            let next = table.get(at + 1).map(|next| next[0].nodes);
            writer.open(&next.map_or("comm_size=any".to_string(), |next| format!("comm_size<{next}")));
            let most_nodes = next.map_or(rules[0].nodes * BEYOND, |next| next - 1);
            for (at, rule) in rules.iter().enumerate() {
                // Sizes beyond a C int cannot be written: the choice below them holds beyond, too.
                let next =
                    rules.get(at + 1).map(|next| next.from_bytes).filter(|&next| next <= i32::MAX as u64);
                let (name, parameters) = method(rule.algorithm, rule.segment_bytes, most_nodes)
                    .expect("rules name only what the MPI has");
                writer.open(
                    &next.map_or("avg_msg_size=any".to_string(), |next| format!("avg_msg_size<{next}")),
                );
                writer.open(&format!("algorithm={name}"));
                parameters.iter().for_each(|parameter| {
                    writer.open(parameter);
                    writer.close();
                });
                writer.close();
                writer.close();
                if next.is_none() {
                    break;
                }
            }
            writer.close();
        }
        writer.close();
        writer.close();
    }
    writer.text.push_str("\n}\n");
    writer.text
}

/// Nested objects, one key a line.
struct Writer {
    text: String,
    depth: usize,
}

impl Writer {
    fn open(&mut self, key: &str) {
        if !self.text.ends_with('{') {
            self.text.push(',');
        }
        let indent = " ".repeat(self.depth);
        write!(self.text, "\n{indent}\"{key}\": {{").expect("writing to a string does not fail");
        self.depth += 1;
    }

    fn close(&mut self) {
        self.depth -= 1;
        if !self.text.ends_with('{') {
            write!(self.text, "\n{}", " ".repeat(self.depth)).expect("writing to a string does not fail");
        }
        self.text.push('}');
    }
}
