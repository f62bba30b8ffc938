//! The earliest of times that change often: a tournament tree, in which no outdated time is left.

/// A time for each entry. Node `at` has the lesser of the times of nodes 2·`at` and 2·`at` + 1; the entries are the
/// second half, and index 0 is unused.
#[derive(Default)]
pub(super) struct Earliest {
    least_s: Vec<f64>,
}

impl Earliest {
    fn room(&self) -> usize {
        self.least_s.len() / 2
    }

    /// An infinite time is none.
    pub fn set(&mut self, entry: u32, time_s: f64) {
        let entry = entry as usize;
        if entry >= self.room() {
            self.grow((entry + 1).next_power_of_two());
        }
        let mut at = self.room() + entry;
        self.least_s[at] = time_s;
        while at > 1 {
            at /= 2;
            let least_s = self.least_s[2 * at].min(self.least_s[2 * at + 1]);
            if self.least_s[at] == least_s {
                break;
            }
            self.least_s[at] = least_s;
        }
    }

    fn grow(&mut self, room: usize) {
        let before = self.least_s.split_off(self.room());
        self.least_s = vec![f64::INFINITY; 2 * room];
        self.least_s[room..room + before.len()].copy_from_slice(&before);
        for at in (1..room).rev() {
            self.least_s[at] = self.least_s[2 * at].min(self.least_s[2 * at + 1]);
        }
    }

    /// The earliest time, seconds; infinite if there is none.
    pub fn time_s(&self) -> f64 {
        self.least_s.get(1).copied().unwrap_or(f64::INFINITY)
    }

    /// The entry with the earliest time, if that is not after `until_s`; of equal ones the lowest-numbered.
    pub fn until(&self, until_s: f64) -> Option<u32> {
        let earliest_s = self.time_s();
        if !(earliest_s.is_finite() && earliest_s <= until_s) {
            return None;
        }
        let mut at = 1;
        while at < self.room() {
            at *= 2;
            at += usize::from(self.least_s[at] != earliest_s);
        }
        Some((at - self.room()) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Beside a search of all times; a few values, so that many are equal.
    #[test]
    fn the_lowest_of_the_earliest_is_found_after_every_change() {
        let mut random = Random::new(5);
        for entries in [1, 2, 3, 8, 37] {
            let (mut earliest, mut times_s) = (Earliest::default(), vec![f64::INFINITY; entries]);
            assert_eq!((earliest.until(f64::INFINITY), earliest.time_s()), (None, f64::INFINITY));
            for _ in 0..400 {
                let entry = random.below(entries);
                let time_s = [f64::INFINITY, 1.0, 2.0, 3.0, 4.0][random.below(5)];
                times_s[entry] = time_s;
                earliest.set(entry as u32, time_s);
                let first =
                    (0..entries).min_by(|&one, &other| times_s[one].total_cmp(&times_s[other])).unwrap();
                assert_eq!(earliest.time_s(), times_s[first]);
                for until_s in [0.5, 2.0, 9.0, f64::INFINITY] {
                    let is_in_time = times_s[first] <= until_s && times_s[first].is_finite();
                    assert_eq!(earliest.until(until_s), is_in_time.then_some(first as u32));
                }
            }
        }
    }
}
