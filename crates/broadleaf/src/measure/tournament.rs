//! Round-robin tournament: every pair once, in rounds of disjoint pairs (paper 5, §3; the circle method).

/// The rounds of `players` players; with an odd number one player pauses in each round.
///
/// Player 0 stays, the others rotate: `players − 1` rounds when even, `players` when odd. Each pair has its
/// smaller player first.
pub fn rounds(players: usize) -> Vec<Vec<(usize, usize)>> {
    let seats = players + players % 2;
    if players < 2 {
        return Vec::new();
    }
    let seated = |round: usize, seat: usize| match seat {
        0 => 0,
        _ => 1 + (seat - 1 + round) % (seats - 1),
    };
    let pair = |round: usize, seat: usize| {
        let (a, b) = (seated(round, seat), seated(round, seats - 1 - seat));
        (a.min(b), a.max(b))
    };
    (0..seats - 1)
        .map(|round| (0..seats / 2).map(|seat| pair(round, seat)).filter(|&(_, b)| b < players).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_pair_meets_once_and_nobody_plays_twice_in_a_round() {
        for players in 0..12usize {
            let rounds = rounds(players);
            let mut met = BTreeSet::new();
            for round in &rounds {
                let mut busy = BTreeSet::new();
                for &(a, b) in round {
                    assert!(a < b && b < players);
                    assert!(busy.insert(a) && busy.insert(b), "{players} players: {round:?}");
                    assert!(met.insert((a, b)), "{players} players: ({a}, {b}) twice");
                }
            }
            assert_eq!(met.len(), players * players.saturating_sub(1) / 2);
            let wanted = if players < 2 { 0 } else { players - 1 + players % 2 };
            assert_eq!(rounds.len(), wanted);
        }
    }
}
