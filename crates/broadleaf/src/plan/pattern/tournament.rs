//! The round-robin tournament, and paper 5's two uses of it: a pipelined broadcast and an all-gather.
//!
//! Reference: Axida, Viet and Yoshinaga, *Pipelined round-robin broadcast*, sections 4.1, 4.2 and 5.2.

use super::{Layout, Move};

/// n − 1 trees root → destination → all others. In each round of a tournament the root gives its partner the
/// next segment (figure 5), while destinations exchange what the root gave them in the tournament before
/// (figure 4).
///
/// Back and forth, every second tournament is played from its last round to its first. In one tournament every node
/// has n − 1 partners, so n − 2 changes are the minimum; between two tournaments there are then none.
///
/// `lookahead` is the age, in tournaments, of the exchanged segments: 1 in the paper. With more, no node waits for a
/// segment that has only just been sent to it. With 0, a node exchanges the last segment that the root gave it, in this
/// tournament if it has already met the root in it: this wait keeps a node's sends and receives in the same round.
/// (Back and forth excludes 0: the pairs of the last round of one tournament meet again in the first of the next, with
/// the same segments.)
pub(super) fn broadcast(hosts: usize, back_and_forth: bool, lookahead: u32) -> Layout {
    let rounds = tournament(hosts);
    let receivers = hosts as u32 - 1;
    // The segment of a tournament that each destination gets from the root: the order of the root's matches.
    let mut turn = vec![0u32; hosts];
    let with_root = rounds.iter().flatten().filter(|(first, _)| *first == 0);
    with_root.zip(0..).for_each(|(&(_, opponent), at)| turn[opponent] = at);
    let directions = if back_and_forth { 2 } else { 1 };
    let position = |destination: usize, direction: u32| match direction {
        0 => turn[destination],
        _ => 2 * receivers - 1 - turn[destination],
    };
    let mut moves = Vec::with_capacity((directions * receivers * receivers) as usize);
    for direction in 0..directions {
        // The position of the segment that a node exchanges, and its age in periods.
        let in_hand = |giver: usize, tournaments_ago: u32| {
            let given = i64::from(direction) - i64::from(tournaments_ago);
            let lag = -given.div_euclid(i64::from(directions)) as u32;
            (position(giver, given.rem_euclid(i64::from(directions)) as u32), lag)
        };
        let mut has_met_root = vec![false; hosts];
        let mut play = |matches: &[(usize, usize)]| {
            for &(first, second) in matches {
                let (a, b) = (first as u32, second as u32);
                if first == 0 {
                    has_met_root[second] = true;
                    moves.push(Move { position: position(second, direction), from: a, to: b, lag: 0 });
                    continue;
                }
                for (giver, from, to) in [(first, a, b), (second, b, a)] {
                    let ago = if lookahead == 0 { u32::from(!has_met_root[giver]) } else { lookahead };
                    let (position, lag) = in_hand(giver, ago);
                    moves.push(Move { position, from, to, lag });
                }
            }
        };
        match direction {
            0 => rounds.iter().for_each(|matches| play(matches)),
            _ => rounds.iter().rev().for_each(|matches| play(matches)),
        }
    }
    let tree_of = (0..directions)
        .flat_map(|direction| {
            (0..receivers).map(move |at| if direction == 0 { at } else { receivers - 1 - at })
        })
        .collect();
    Layout { moves, tree_of }
}

/// Section 4.2: in each round of the tournament the pairs exchange their own contributions.
pub(super) fn exchange(hosts: usize) -> Layout {
    let matches = tournament(hosts).into_iter().flatten();
    let moves = matches.flat_map(|(a, b)| {
        let (a, b) = (a as u32, b as u32);
        [Move { position: a, from: a, to: b, lag: 0 }, Move { position: b, from: b, to: a, lag: 0 }]
    });
    Layout::of_own_trees(hosts, moves.collect())
}

/// The matches of every round of a tournament of `players`, by the rotation of figure 3 with player 0 fixed;
/// with an odd number of players the match against the virtual one is left out.
///
/// The others are on a circle of places 0 … N − 2. In round r, players meet whose places sum to N − 3 − 2r (modulo N −
/// 1), and player 0 meets the one whose place, doubled, is that number.
fn tournament(players: usize) -> Vec<Vec<(usize, usize)>> {
    let even = players.next_multiple_of(2);
    let circle = even - 1;
    let real = |player: usize| player < players;
    (0..circle)
        .map(|round| {
            let meets = |place: usize| (2 * circle + even - 3 - (2 * round) % circle - place) % circle;
            let fixed = even - 2 - round;
            let mut matches = vec![(0, fixed + 1)];
            let pairs = (0..circle).map(|place| (place + 1, meets(place) + 1));
            matches.extend(pairs.filter(|(first, second)| first < second));
            matches.retain(|&(first, second)| real(first) && real(second));
            matches
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Figure 3: 14 participants, the matches of rounds 1, 2, 3 and 13.
    #[test]
    fn rotates_as_figure_3() {
        let rounds = tournament(14);
        let printed = |top: [usize; 7], bottom: [usize; 7]| -> HashSet<(usize, usize)> {
            top.into_iter().zip(bottom).map(|(a, b)| (a.min(b) - 1, a.max(b) - 1)).collect()
        };
        for (round, top, bottom) in [
            (1, [1, 2, 3, 4, 5, 6, 7], [14, 13, 12, 11, 10, 9, 8]),
            (2, [1, 14, 2, 3, 4, 5, 6], [13, 12, 11, 10, 9, 8, 7]),
            (3, [1, 13, 14, 2, 3, 4, 5], [12, 11, 10, 9, 8, 7, 6]),
            (13, [1, 3, 4, 5, 6, 7, 8], [2, 14, 13, 12, 11, 10, 9]),
        ] {
            let ours: HashSet<(usize, usize)> = rounds[round - 1].iter().copied().collect();
            assert_eq!(ours, printed(top, bottom), "round {round}");
        }
    }

    /// All 13 rounds by an explicit clockwise rotation, and the plan's slots round by round.
    #[test]
    fn the_plans_timetable_is_figure_3s() {
        let (mut top, mut bottom) = ((0..7).collect::<Vec<u32>>(), (7..14).rev().collect::<Vec<u32>>());
        let layout = broadcast(14, false, 1);
        let mut moves = layout.moves.iter();
        for round in 1..=13 {
            let pairs: HashSet<(u32, u32)> = top.iter().copied().zip(bottom.iter().copied()).collect();
            // One from the root, and two for each of the six other matches.
            let slots: Vec<&Move> = moves.by_ref().take(13).collect();
            let met: HashSet<(u32, u32)> =
                slots.iter().map(|at| (at.from.min(at.to), at.from.max(at.to))).collect();
            let printed: HashSet<(u32, u32)> = pairs.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect();
            assert_eq!(met, printed, "round {round}");
            // The first of the bottom row becomes the second of the top row, and the last of the top row goes to the
            // end of the bottom row.
            top.insert(1, bottom.remove(0));
            bottom.extend(top.pop());
        }
        assert!(moves.next().is_none());
    }

    #[test]
    fn everyone_meets_everyone_once() {
        for players in 2..20 {
            let rounds = tournament(players);
            let mut met = HashSet::new();
            for matches in &rounds {
                let busy: HashSet<usize> = matches.iter().flat_map(|&(a, b)| [a, b]).collect();
                assert_eq!(busy.len(), 2 * matches.len(), "nobody plays twice in a round");
                assert!(matches.iter().all(|pair| met.insert(*pair)));
            }
            assert_eq!(met.len(), players * (players - 1) / 2);
        }
    }

    /// How often `host` changes partners in one period, including from its last match to the next period's first.
    fn changes_of_partner(moves: &[Move], host: u32) -> usize {
        let met = moves.iter().filter_map(|at| match at {
            Move { from, to, .. } if *from == host => Some(*to),
            Move { from, to, .. } if *to == host => Some(*from),
            _ => None,
        });
        let mut met: Vec<u32> = met.collect();
        met.extend(met.first().copied());
        met.windows(2).filter(|pair| pair[0] != pair[1]).count()
    }

    /// n − 1 different partners a tournament make n − 2 changes at least; between two tournaments a change is
    /// avoidable.
    #[test]
    fn back_and_forth_changes_partners_least() {
        for hosts in [4usize, 5, 6, 7, 9, 14, 15, 16] {
            for (back_and_forth, fewest) in [(false, hosts - 1), (true, 2 * (hosts - 2))] {
                let layout = broadcast(hosts, back_and_forth, 1);
                for host in 0..hosts as u32 {
                    let changes = changes_of_partner(&layout.moves, host);
                    assert_eq!(changes, fewest, "{hosts} hosts, host {host}, {back_and_forth}");
                }
            }
        }
    }
}
