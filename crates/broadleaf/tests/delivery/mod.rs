//! Each host's data before a plan, and its required data after it. Sums are computed by definition.

use broadleaf::plan::{Collective, Programs};
use broadleaf::platform::NodeId;
use std::ops::Range;

/// Byte `at` of the message for all hosts, without combining.
pub fn shared_byte(at: usize) -> u8 {
    (at * 167 % 251) as u8
}

/// Byte `at` of what a host contributes to a reduction.
fn own_byte(host: NodeId, at: usize) -> u8 {
    (at * 167 % 251) as u8 ^ (host.0 as u8).wrapping_mul(73)
}

fn block_of(programs: &Programs, node: NodeId) -> Range<usize> {
    let transfers = programs.transfers();
    let bytes = |node: usize| {
        let weight = transfers.weights.as_ref().map_or(1.0, |weights| weights[node]);
        (transfers.message_bytes as f64 * weight).round() as usize
    };
    let hosts = (0..programs.node_count()).filter(|&node| programs.is_host(NodeId(node as u32)));
    let start = hosts.take_while(|&before| before < node.index()).map(bytes).sum();
    start..start + bytes(node.index())
}

/// A node's contribution; elsewhere bytes that differ from the required ones.
pub fn initial(programs: &Programs, node: NodeId) -> Vec<u8> {
    let count = programs.total_bytes() as usize;
    let is_root = programs.node(node).is_root;
    let given = match programs.transfers().collective {
        Collective::Reduce | Collective::ReduceScatter | Collective::Allreduce => {
            return (0..count).map(|at| own_byte(node, at)).collect();
        }
        Collective::Bcast | Collective::Scatter if is_root => 0..count,
        Collective::Bcast | Collective::Scatter => 0..0,
        Collective::Allgather | Collective::Gather => block_of(programs, node),
    };
    let byte = |at| if given.contains(&at) { shared_byte(at) } else { !shared_byte(at) };
    (0..count).map(byte).collect()
}

/// The place of a node's result, and its bytes; empty without a result.
pub fn wanted(programs: &Programs, hosts: &[NodeId], node: NodeId) -> (Range<usize>, Vec<u8>) {
    let (all, is_root) = (0..programs.total_bytes() as usize, programs.node(node).is_root);
    let place = match programs.transfers().collective {
        Collective::Bcast | Collective::Allgather | Collective::Allreduce => all,
        Collective::Scatter | Collective::ReduceScatter => block_of(programs, node),
        Collective::Gather | Collective::Reduce if is_root => all,
        Collective::Gather | Collective::Reduce => 0..0,
    };
    let combines = programs.transfers().collective.combines();
    let sum = |at| hosts.iter().fold(0u8, |sum, &host| sum.wrapping_add(own_byte(host, at)));
    let bytes = place.clone().map(|at| if combines { sum(at) } else { shared_byte(at) }).collect();
    (place, bytes)
}
