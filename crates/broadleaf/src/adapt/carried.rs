//! The rate at which the links at one end of a cluster have carried data together, in one broadcast.
//!
//! Slow links of a cluster may share one slow pipe, or each be slow. Their samples do not tell which, since links of one
//! broadcast run at the same time. But a pipe carries at least what they carried together.

use super::pair::{End, Pair};
use std::collections::BTreeMap;

/// By end, bytes/s; since the last change of an estimate there.
#[derive(Clone, Debug, Default)]
pub(super) struct Carried(BTreeMap<End, f64>);

impl Carried {
    /// At both ends of a pair the rates have changed, so earlier data say nothing.
    pub fn forget(&mut self, pair: Pair) {
        for end in pair.ends() {
            self.0.remove(&end);
        }
    }

    /// Takes the rates of one broadcast's links, bytes/s; true if some end carried more than before, by `tolerance`.
    pub fn take(&mut self, rates: &[(Pair, f64)], tolerance: f64) -> bool {
        let mut together: BTreeMap<End, f64> = BTreeMap::new();
        for &(pair, rate) in rates.iter().filter(|(pair, _)| pair.from != pair.to) {
            for end in pair.ends() {
                *together.entry(end).or_default() += rate;
            }
        }
        let mut is_more = false;
        for (end, rate) in together {
            let known = self.0.entry(end).or_default();
            if rate > (1.0 + tolerance) * *known {
                *known = rate;
                is_more = true;
            }
        }
        is_more
    }

    /// Bytes/s; 0 if nothing is known.
    pub fn at(&self, end: End) -> f64 {
        self.0.get(&end).copied().unwrap_or_default()
    }
}
