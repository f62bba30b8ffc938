//! Träff's round-optimal broadcast of k segments on a circulant graph.
//!
//! In round i, with κ = i modulo q and q = ⌈log2 n⌉, place r sends to r + skip(κ) and receives from
//! r − skip(κ), modulo n, where skip(q) = n and each skip is half of the next, rounded up. In every q rounds a
//! place gets one segment of each residue modulo q, the new one that fits its first turn (its *base block*)
//! and q − 1 of the q rounds before. So the segments of a residue always take the same tree, and q trees repeat.
//!
//! Reference: Träff, *Optimal broadcast schedules in logarithmic time with applications to broadcast,
//! all-broadcast, reduction and all-reduction* (2024), algorithms 3 to 6, which improves on his
//! *(Poly)logarithmic time construction of round-optimal n-block broadcast schedules* (2022).

use super::{Layout, Move};

/// q = ⌈log2 n⌉, the rounds of a broadcast of one segment.
pub(super) fn rounds(hosts: usize) -> u32 {
    hosts.next_power_of_two().trailing_zeros()
}

/// q repeating trees; the first segment leaves in round `turn` of the first period.
pub(super) fn repeated(hosts: usize, turn: u32) -> Layout {
    let schedule = Schedule::new(hosts);
    let (rounds, turn) = (schedule.rounds() as i64, i64::from(turn));
    let mut moves = Vec::with_capacity(hosts * rounds as usize);
    for round in (0..rounds).map(|at| (at + turn) % rounds) {
        for to in 1..hosts {
            let shifted = schedule.receives(to)[round as usize] - turn;
            let lag = -i64::from(round < turn) - shifted.div_euclid(rounds);
            let position = shifted.rem_euclid(rounds) as u32;
            let from = schedule.sender(to, round as usize) as u32;
            moves.push(Move { position, from, to: to as u32, lag: lag as u32 });
        }
    }
    Layout::of_own_trees(rounds as usize, moves)
}

/// All of a message's segments in one period. A node that should get a segment beyond the last gets the last, if
/// it has not, so the root sends that one to several: ⌈log2 n⌉ − 1 + k rounds, and one tree more.
pub(super) fn once(hosts: usize, segments: u32) -> Layout {
    let schedule = Schedule::new(hosts);
    let rounds = schedule.rounds() as i64;
    let last = i64::from(segments) - 1;
    // The rounds in all are whole multiples of q, with as many left out at the beginning.
    let all = last + rounds;
    let idle = (rounds - all % rounds) % rounds;
    let mut moves = Vec::with_capacity(hosts * segments as usize);
    let mut has_last = vec![false; hosts];
    has_last[0] = true;
    for round in idle..all + idle {
        let (phase, round) = (round / rounds, (round % rounds) as usize);
        for (to, has_last) in has_last.iter_mut().enumerate().skip(1) {
            let segment = (schedule.receives(to)[round] + phase * rounds - idle).min(last);
            if segment < 0 || (segment == last && std::mem::replace(has_last, true)) {
                continue;
            }
            let from = schedule.sender(to, round) as u32;
            moves.push(Move { position: segment as u32, from, to: to as u32, lag: 0 });
        }
    }
    let trees = last.min(rounds) as u32;
    let tree_of = (0..segments - 1).map(|segment| segment % rounds as u32).chain([trees]).collect();
    Layout { moves, tree_of }
}

struct Schedule {
    /// skip(0) = 1 … skip(q) = n.
    skips: Vec<usize>,
    /// Of every place, the segment of each round relative to q rounds ago's first: ≥ 0 for its base block.
    receives: Vec<i64>,
}

impl Schedule {
    fn new(hosts: usize) -> Schedule {
        let mut skips = vec![hosts];
        while let Some(&skip) = skips.last().filter(|&&skip| skip > 1) {
            skips.push(skip.div_ceil(2));
        }
        skips.reverse();
        let mut receives = Vec::with_capacity(hosts * (skips.len() - 1));
        for place in 0..hosts {
            receives.extend(SkipSearch::new(&skips, place).receives());
        }
        Schedule { skips, receives }
    }

    fn rounds(&self) -> usize {
        self.skips.len() - 1
    }

    fn receives(&self, place: usize) -> &[i64] {
        &self.receives[place * self.rounds()..][..self.rounds()]
    }

    fn sender(&self, place: usize, round: usize) -> usize {
        let hosts = self.skips[self.rounds()];
        (place + hosts - self.skips[round]) % hosts
    }
}

/// The search for one place's receives: which base block's owner each round's segment comes from, found along
/// paths of falling skips that end ever nearer to the place. O(log n).
struct SkipSearch<'a> {
    skips: &'a [usize],
    /// n + r: paths of skips from the root to the place, once around the circle.
    place: usize,
    own: usize,
    /// The skips that are not used up, as a list from the largest; index q + 1 stands for both ends.
    next: Vec<usize>,
    before: Vec<usize>,
    found: Vec<usize>,
}

impl<'a> SkipSearch<'a> {
    fn new(skips: &'a [usize], place: usize) -> SkipSearch<'a> {
        let last = skips.len() - 1;
        let end = last + 1;
        // From `end` to the largest, q, and from the smallest, 0, to `end`.
        let next = (0..=end).map(|skip| skip.checked_sub(1).unwrap_or(end)).collect();
        let before = (0..=end).map(|skip| if skip == end { 0 } else { skip + 1 }).collect();
        let place_beyond = skips[last] + place;
        let own = base_block(skips, place);
        let mut search = SkipSearch { skips, place: place_beyond, own, next, before, found: Vec::new() };
        search.take_out(own);
        search
    }

    fn take_out(&mut self, skip: usize) {
        let (before, next) = (self.before[skip], self.next[skip]);
        self.next[before] = next;
        self.before[next] = before;
    }

    fn receives(mut self) -> Vec<i64> {
        let last = self.skips.len() - 1;
        self.follow(0, 2 * self.skips[last], last);
        let relative = |&block: &usize| match block == last {
            true => self.own as i64,
            false => block as i64 - last as i64,
        };
        self.found.iter().map(relative).collect()
    }

    /// Extends the path that has come to `at` by skips from `skip` down, to ends below `below`; returns the bound below
    /// which later paths must end.
    fn follow(&mut self, at: usize, mut below: usize, mut skip: usize) {
        let last = self.skips.len() - 1;
        let end = last + 1;
        while skip != end && self.found.len() < last {
            let to = at + self.skips[skip];
            if to <= self.place - self.skips[self.found.len()] && to < below {
                if to <= self.place - self.skips[self.found.len() + 1] {
                    self.follow(to, below, skip);
                }
                let is_past = |round: usize| round == last || at > self.place - self.skips[round + 1];
                if is_past(self.found.len()) {
                    return;
                }
                below = to;
                self.found.push(skip);
                self.take_out(skip);
            }
            skip = self.next[skip];
        }
    }
}

/// The smallest skip on the greedy way from 0 to `place`; q for the root itself.
fn base_block(skips: &[usize], place: usize) -> usize {
    let mut left = place;
    for (block, &skip) in skips.iter().enumerate().rev().skip(1) {
        if skip <= left {
            left -= skip;
            if left == 0 {
                return block;
            }
        }
    }
    skips.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Table 1 of the 2024 paper prints the receive schedule for 17 processors; these are small enough to
    /// follow by hand.
    #[test]
    fn four_and_five_by_hand() {
        let of = |hosts: usize| -> Vec<Vec<i64>> {
            let schedule = Schedule::new(hosts);
            (1..hosts).map(|place| schedule.receives(place).to_vec()).collect()
        };
        assert_eq!(of(2), [[0]]);
        assert_eq!(of(4), [[0, -1], [-2, 1], [-1, 0]]);
        assert_eq!(of(5), [[0, -1, -2], [-3, 1, -1], [-2, -3, 2], [-1, -2, 0]]);
    }

    /// Plays rounds of one send and one receive a host, from the moves of a layout alone.
    fn play(hosts: usize, layout: &Layout, segments: i64, rounds_a_period: usize) -> usize {
        let positions = layout.tree_of.len() as i64;
        let mut held: Vec<HashSet<i64>> = vec![HashSet::new(); hosts];
        held[0].extend(0..segments);
        let mut used = 0;
        for period in 0.. {
            // The moves of a round are those up to the next one in which a receiver repeats.
            let mut moves = layout.moves.iter().peekable();
            for round in 0..rounds_a_period {
                let mut received: Vec<(usize, i64)> = Vec::new();
                let mut busy = (HashSet::new(), HashSet::new());
                while let Some(&at) = moves.next_if(|at| !busy.1.contains(&at.to)) {
                    let segment = positions * (period - i64::from(at.lag)) + i64::from(at.position);
                    assert!(
                        busy.1.insert(at.to) && busy.0.insert(at.from),
                        "one send and one receive a round"
                    );
                    if (0..segments).contains(&segment) && period >= i64::from(at.lag) {
                        assert!(held[at.from as usize].contains(&segment), "only from a holder");
                        received.push((at.to as usize, segment));
                    }
                }
                for (to, segment) in received {
                    assert!(held[to].insert(segment), "every segment just once");
                    used = period as usize * rounds_a_period + round + 1;
                }
            }
            if held.iter().all(|held| held.len() as i64 == segments) {
                return used;
            }
            assert!(period < segments + 3, "all is received in the end");
        }
        unreachable!("the loop ends by a return or a panic")
    }

    #[test]
    fn every_host_gets_every_segment_once_from_a_holder() {
        for hosts in (2..=260).chain([511, 512, 513, 1000, 1023, 1025]) {
            let rounds = rounds(hosts) as usize;
            for turn in [0, rounds / 2, rounds - 1] {
                let layout = repeated(hosts, turn as u32);
                assert!(layout.moves.iter().all(|at| at.lag <= 2));
                // The last segment leaves in the last round of a phase.
                let segments = 2 * rounds + (rounds - turn) % rounds;
                let used = play(hosts, &layout, segments as i64, rounds);
                assert!(used <= segments + rounds, "{hosts} hosts, turn {turn}: {used} rounds");
            }
        }
    }

    /// The lower bound of all schedules is ⌈log2 n⌉ − 1 + k rounds. The moves of one round are consecutive, but rounds
    /// cannot be distinguished where hosts are idle, so they are counted by each host's dependencies.
    #[test]
    fn once_is_round_optimal() {
        for hosts in (2..=130).chain([200, 255, 256, 257]) {
            for segments in [1, 2, 3, 7, 20] {
                let layout = once(hosts, segments);
                assert_eq!(layout.moves.len(), (hosts - 1) * segments as usize);
                let mut held_after = vec![vec![usize::MAX; segments as usize]; hosts];
                held_after[0] = vec![0; segments as usize];
                let (mut sent, mut got) = (vec![0; hosts], vec![0; hosts]);
                let mut last = 0;
                for at in &layout.moves {
                    let (from, to, segment) = (at.from as usize, at.to as usize, at.position as usize);
                    assert_ne!(held_after[from][segment], usize::MAX, "only from a holder");
                    assert_eq!(held_after[to][segment], usize::MAX, "every segment just once");
                    let round = held_after[from][segment].max(sent[from]).max(got[to]) + 1;
                    (sent[from], got[to]) = (round, round);
                    held_after[to][segment] = round;
                    last = last.max(round);
                }
                assert_eq!(last, rounds(hosts) as usize - 1 + segments as usize, "{hosts}, {segments}");
            }
        }
    }
}
