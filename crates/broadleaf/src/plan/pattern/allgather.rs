//! The all-gathers that round-robin's global data exchange is measured against.
//!
//! Reference: Thakur, Rabenseifner and Gropp, *Optimization of collective communication operations in MPICH*,
//! section 4.1.

use super::{bine, Layout, Move};

/// The most hosts of a ring whose segments follow each other one hop apart. Beyond, the waiting for the last lags
/// would take longer than a block.
pub(crate) const MOST_FOLLOWING: usize = 256;

/// Every node forwards to its right-hand neighbour, or `leftwards`, the block that it last got from the other one: a
/// segment one period after it came, so that no segment waits for the rest of its block.
pub(super) fn ring(hosts: usize, leftwards: bool) -> Layout {
    let rounds = 0..hosts.saturating_sub(1);
    let follow = hosts <= MOST_FOLLOWING;
    let step = if leftwards { hosts - 1 } else { 1 };
    let moves = rounds.flat_map(|round| {
        (0..hosts).map(move |from| Move {
            position: ((from + (hosts - step) * round) % hosts) as u32,
            from: from as u32,
            to: ((from + step) % hosts) as u32,
            lag: if follow { round as u32 } else { 0 },
        })
    });
    Layout::of_own_trees(hosts, moves.collect())
}

/// In each round every node sends its own contribution a number of places ahead, and so receives from as many places
/// behind: n − 1 rounds for any n. A number and its opposite follow each other, so that a receiver sends back in the
/// next round.
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
    butterfly(hosts, |bit, node| node ^ 1 << bit)
}

/// In round i, node r exchanges all it has with the node [`bine::partner`] places away: the distances alternate in sign and
/// stay a third shorter than recursive doubling's.
pub(super) fn bine(hosts: usize) -> Layout {
    butterfly(hosts, |round, node| bine::partner(hosts, round, node))
}

/// All-gather among a power of two of hosts, which exchange all that they have with one partner in each round.
fn butterfly(hosts: usize, partner: impl Fn(u32, usize) -> usize) -> Layout {
    let mut moves = Vec::with_capacity(hosts * hosts);
    // Each host's contributions, newest first: the transfer waits for the newest and then takes them all.
    let mut held: Vec<Vec<usize>> = (0..hosts).map(|host| vec![host]).collect();
    for round in 0..hosts.trailing_zeros() {
        let mut then = Vec::with_capacity(hosts);
        for from in 0..hosts {
            let to = partner(round, from);
            let (sender, receiver) = (from as u32, to as u32);
            let each = |&owner: &usize| Move { position: owner as u32, from: sender, to: receiver, lag: 0 };
            moves.extend(held[from].iter().map(each));
            let (mut newest, mut older) = (held[to].clone(), held[from].clone());
            newest.sort_unstable();
            older.sort_unstable();
            then.push([newest, older].concat());
        }
        held = then;
    }
    Layout::of_own_trees(hosts, moves)
}

/// In round i every node gets from the one `held[i]` places ahead the first contributions that are missing: it then has
/// `held[i + 1]` of them in a row, from its own on.
///
/// [`doubled`] makes it Bruck's all-gather, [`halved`] Träff's on a circulant graph.
pub(super) fn dissemination(hosts: usize, held: &[usize]) -> Layout {
    let mut moves = Vec::with_capacity(hosts * hosts);
    for (round, pair) in held.windows(2).enumerate() {
        let (ahead, wanted) = (pair[0], pair[1] - pair[0]);
        // The contributions that the sender got in the round before go first, as in a butterfly.
        let newest = if round == 0 { 0 } else { held[round - 1].min(wanted) };
        for to in 0..hosts {
            let from = (to + ahead) % hosts;
            let order = (newest..wanted).chain(0..newest);
            let (sender, receiver) = (from as u32, to as u32);
            moves.extend(order.map(|place| Move {
                position: ((from + place) % hosts) as u32,
                from: sender,
                to: receiver,
                lag: 0,
            }));
        }
    }
    Layout::of_own_trees(hosts, moves)
}

/// 1, 2, 4 … contributions, and all in the end.
pub(super) fn doubled(hosts: usize) -> Vec<usize> {
    let mut held: Vec<usize> =
        std::iter::successors(Some(1), |held| Some(held * 2)).take_while(|&held| held < hosts).collect();
    held.push(hosts);
    held
}

/// All, half of them rounded up, half of that …, in reverse order.
pub(super) fn halved(hosts: usize) -> Vec<usize> {
    let mut held: Vec<usize> =
        std::iter::successors(Some(hosts), |&held| (held > 1).then_some(held.div_ceil(2))).collect();
    held.reverse();
    held
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Definition: every contribution reaches every node once, from a node that already has it, in ceil(log2 n) rounds
    /// in which each node has one partner to send to and one to receive from.
    #[test]
    fn exchanges_bring_everything_to_everyone_once() {
        for hosts in 1..40usize {
            let mut layouts =
                vec![dissemination(hosts, &doubled(hosts)), dissemination(hosts, &halved(hosts))];
            if hosts.is_power_of_two() {
                layouts.extend([recursive_doubling(hosts), bine(hosts)]);
            }
            for layout in layouts {
                let mut held: HashSet<(u32, u32)> = (0..hosts as u32).map(|host| (host, host)).collect();
                let mut pairs: HashSet<(u32, u32)> = HashSet::new();
                for at in &layout.moves {
                    assert!(held.contains(&(at.from, at.position)), "{hosts} hosts: not there yet");
                    assert!(held.insert((at.to, at.position)), "{hosts} hosts: twice");
                    pairs.insert((at.from, at.to));
                }
                assert_eq!(held.len(), hosts * hosts);
                let rounds = hosts.next_power_of_two().trailing_zeros() as usize;
                assert_eq!(pairs.len(), hosts * rounds, "{hosts} hosts");
            }
        }
    }

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
