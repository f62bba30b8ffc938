//! Open MPI's `coll_tuned_dynamic_rules_filename`, in the form that 4.0 to 5.0 read.
//!
//! Numbers separated by white space, `#` to the end of a line is a comment: how many collectives; for each its id and
//! how many communicator sizes; for each of those the size and how many message sizes; for each of those the size in
//! bytes, the algorithm's number, its fan-out, and its segment size (0: none). The rule of the largest size that is not
//! above a communicator's applies, and likewise for messages; the first message size must be 0.

use super::algorithm::Algorithm;
use super::rule::{by_nodes, Rule};
use crate::plan::Collective;
use std::fmt::Write;

/// A rule's content: the algorithm's number, fan-out, and segment size, bytes.
pub(super) fn method(algorithm: Algorithm, segment_bytes: u64) -> Option<(u32, u32, u64)> {
    use Algorithm::*;
    // Its segment sizes are C ints.
    let segment = segment_bytes.min(i32::MAX as u64);
    match algorithm {
        Flat => Some((1, 0, 0)),
        Chain => Some((3, 0, 0)),
        SegmentedChain => Some((3, 0, segment)),
        Binary => Some((5, 0, 0)),
        Binomial => Some((6, 0, 0)),
        SegmentedBinomial => Some((6, 0, segment)),
        FlatScatter => Some((1, 0, 0)),
        BinomialScatter => Some((2, 0, 0)),
        // Rendezvous is the transport's decision; the linear broadcast has no segments; scatter has no chain.
        FlatRendezvous | SegmentedFlat | ChainRendezvous | BinomialRendezvous | ChainScatter => None,
    }
}

/// Open MPI's numbers of the collectives.
fn number(collective: Collective) -> u32 {
    match collective {
        Collective::Allgather => 0,
        Collective::Allreduce => 2,
        Collective::Bcast => 7,
        Collective::Gather => 9,
        Collective::Reduce => 11,
        Collective::ReduceScatter => 12,
        Collective::Scatter => 15,
    }
}

pub(super) fn text(rules: &[Rule]) -> String {
    let tables: Vec<(Collective, Vec<&[Rule]>)> = [Collective::Bcast, Collective::Scatter]
        .into_iter()
        .map(|collective| (collective, by_nodes(rules, collective)))
        .filter(|(_, table)| !table.is_empty())
        .collect();
    let mut text = String::from("# Rules for Open MPI, made by broadleaf tune.\n");
    text.push_str(
        "# --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename THIS_FILE\n",
    );
    let mut line = |numbers: String, comment: &str| {
        writeln!(text, "{numbers} # {comment}").expect("writing to a string does not fail");
    };
    line(tables.len().to_string(), "collectives");
    for (collective, table) in tables {
        line(number(collective).to_string(), collective.name());
        line(table.len().to_string(), "communicator sizes");
        for rules in table {
            line(rules[0].nodes.to_string(), "nodes from");
            line(rules.len().to_string(), "message sizes");
            for rule in rules {
                let (algorithm, fan_out, segment) =
                    method(rule.algorithm, rule.segment_bytes).expect("rules name only what the MPI has");
                let comment = match rule.segment_bytes {
                    0 => rule.algorithm.name().to_string(),
                    segment => format!("{} in segments of {segment} bytes", rule.algorithm.name()),
                };
                line(format!("{} {algorithm} {fan_out} {segment}", rule.from_bytes), &comment);
            }
        }
    }
    text
}
