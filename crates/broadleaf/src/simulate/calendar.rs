//! The times at which a resource is taken.

/// Two times that differ by less than this part of them are equal: additions in another order may differ by this much,
/// and must not decide ties.
pub(super) const SAME_TIME: f64 = 1e-12;

/// The latest time that counts as equal to `time_s`.
pub(super) fn same_until(time_s: f64) -> f64 {
    time_s + time_s * SAME_TIME
}

/// The taken intervals of one resource: sorted, disjoint, adjacent ones merged.
#[derive(Clone, Debug, Default)]
pub(super) struct Calendar {
    taken: Vec<(f64, f64)>,
    /// Intervals before this index ended before every window still to come.
    past: usize,
}

impl Calendar {
    /// The earliest start ≥ `from_s` at which the resource is free for `duration_s`.
    pub fn earliest(&self, from_s: f64, duration_s: f64) -> f64 {
        let mut start = from_s;
        let live = &self.taken[self.past..];
        // Most windows come after all others.
        match live.last() {
            None => return start,
            Some(&(_, end)) if end <= same_until(start) => return start.max(end.min(same_until(start))),
            Some(_) => {}
        }
        let first = live.partition_point(|&(_, end)| end <= same_until(start));
        for &(begin, end) in &live[first..] {
            if start + duration_s <= same_until(begin) {
                break;
            }
            start = start.max(end);
        }
        start
    }

    /// `from_s` if the resource is free from then for `duration_s`, else the end of the first conflicting interval: the
    /// next start to try where durations depend on the start.
    pub fn next_try(&self, from_s: f64, duration_s: f64) -> f64 {
        let live = &self.taken[self.past..];
        let first = live.partition_point(|&(_, end)| end <= same_until(from_s));
        match live.get(first) {
            Some(&(begin, end)) if from_s + duration_s > same_until(begin) => end,
            _ => from_s,
        }
    }

    /// Takes `[start, start + duration]`, which [`Calendar::earliest`] found free.
    pub fn take(&mut self, start_s: f64, duration_s: f64) {
        let end = start_s + duration_s;
        let past_all = self.past == self.taken.len();
        match self.taken.last_mut() {
            None => return self.taken.push((start_s, end)),
            Some(last) if same_until(start_s) >= last.1 => {
                // Past intervals must stay past: only a live interval grows.
                if start_s <= same_until(last.1) && !past_all {
                    last.1 = end.max(last.1);
                } else {
                    self.taken.push((start_s, end));
                }
                return;
            }
            Some(_) => {}
        }
        let at = self.past + self.taken[self.past..].partition_point(|&(begin, _)| begin < start_s);
        let joins_before = at > self.past && start_s <= same_until(self.taken[at - 1].1);
        let joins_after = at < self.taken.len() && self.taken[at].0 <= same_until(end);
        match (joins_before, joins_after) {
            (true, true) => {
                self.taken[at - 1].1 = self.taken[at].1.max(end);
                self.taken.remove(at);
            }
            (true, false) => self.taken[at - 1].1 = self.taken[at - 1].1.max(end),
            (false, true) => self.taken[at].0 = start_s,
            (false, false) => self.taken.insert(at, (start_s, end)),
        }
    }

    /// Drops the intervals that ended by `time_s`: no later call is for a window before it.
    pub fn forget_before(&mut self, time_s: f64) {
        while self.past < self.taken.len() && self.taken[self.past].1 <= time_s {
            self.past += 1;
        }
        if self.past > 64 {
            self.taken.drain(..self.past);
            self.past = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_fill_gaps_in_order_of_request() {
        let mut calendar = Calendar::default();
        calendar.take(5.0, 2.0);
        assert_eq!(calendar.earliest(0.0, 5.0), 0.0);
        assert_eq!(calendar.earliest(0.0, 5.5), 7.0);
        assert_eq!(calendar.earliest(1.0, 4.5), 7.0);
        calendar.take(1.0, 1.0);
        calendar.take(2.0, 3.0);
        assert_eq!(calendar.taken, [(1.0, 7.0)]);
        assert_eq!(calendar.earliest(0.0, 1.0), 0.0);
        assert_eq!(calendar.earliest(0.5, 1.0), 7.0);
    }

    /// A slow list of unit cells is the oracle.
    #[test]
    fn agrees_with_cells() {
        let mut seed = 7u64;
        let mut next = |limit: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % limit
        };
        for _ in 0..200 {
            let mut calendar = Calendar::default();
            let mut cells = [false; 4000];
            let mut now = 0;
            for _ in 0..60 {
                now += next(3);
                calendar.forget_before(now as f64);
                let (from, duration) = (now + next(20), 1 + next(6));
                let fits = |start: &u64| (*start..start + duration).all(|cell| !cells[cell as usize]);
                let wanted = (from..).find(fits).unwrap();
                assert_eq!(calendar.earliest(from as f64, duration as f64), wanted as f64);
                calendar.take(wanted as f64, duration as f64);
                (wanted..wanted + duration).for_each(|cell| cells[cell as usize] = true);
            }
        }
    }
}
