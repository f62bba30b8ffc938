//! The all-gathers that round-robin's global data exchange is measured against.
//!
//! Reference: Thakur, Rabenseifner and Gropp, *Optimization of collective communication operations in MPICH*,
//! section 4.1.

use super::{Layout, Move};

/// Everyone passes on to its right-hand neighbour what it last got from the left.
pub(super) fn ring(hosts: usize) -> Layout {
    let rounds = 0..hosts.saturating_sub(1);
    let moves = rounds.flat_map(|round| {
        (0..hosts).map(move |from| Move {
            position: ((from + hosts - round) % hosts) as u32,
            from: from as u32,
            to: ((from + 1) % hosts) as u32,
            lag: 0,
        })
    });
    Layout::of_own_trees(hosts, moves.collect())
}

/// In round i, node r exchanges all it has with node r XOR 2^i.
pub(super) fn recursive_doubling(hosts: usize) -> Layout {
    let mut moves = Vec::with_capacity(hosts * hosts);
    for bit in 0..hosts.trailing_zeros() {
        for from in 0..hosts {
            let to = from ^ 1 << bit;
            // All of its group's, what it got in the round before first: the transfer waits for that and
            // then takes everything.
            let group_of = |node: usize, bit: u32| {
                let first = node >> bit << bit;
                first..first + (1 << bit)
            };
            let group = group_of(from, bit);
            let newest = match bit {
                0 => group.clone(),
                _ => group_of(from ^ 1 << (bit - 1), bit - 1),
            };
            let older = group.filter(|member| !newest.contains(member));
            let (from, to) = (from as u32, to as u32);
            let members = newest.clone().chain(older);
            moves.extend(members.map(|member| Move { position: member as u32, from, to, lag: 0 }));
        }
    }
    Layout::of_own_trees(hosts, moves)
}
