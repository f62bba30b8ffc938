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

/// In each round everyone sends its own contribution a number of places ahead, and so receives from as many places
/// behind: n − 1 rounds for any n. A number and its opposite follow each other, so that who was served serves in
/// the next round.
pub(super) fn shift(hosts: usize) -> Layout {
    let pairs = (1..=hosts / 2).map(|places| (places, hosts - places));
    let rounds = pairs.flat_map(|(ahead, back)| [Some(ahead), (back != ahead).then_some(back)]).flatten();
    let moves = rounds.flat_map(|places| {
        (0..hosts).map(move |from| Move {
            position: from as u32,
            from: from as u32,
            to: ((from + places) % hosts) as u32,
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_shift_serves_every_pair_once_and_keeps_everyone_busy() {
        for hosts in 1..12usize {
            let moves = shift(hosts).moves;
            let pairs: HashSet<(u32, u32)> = moves.iter().map(|at| (at.from, at.to)).collect();
            assert_eq!((pairs.len(), moves.len()), (hosts * (hosts - 1), hosts * (hosts - 1)));
            for round in moves.chunks(hosts) {
                let served: HashSet<u32> = round.iter().map(|at| at.to).collect();
                assert_eq!(served.len(), hosts);
                assert!(round.iter().all(|at| at.from != at.to && at.position == at.from));
            }
        }
    }
}
