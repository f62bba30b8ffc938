//! The partner of each node over time, if it can have only one at a time.
//!
//! Under one-port-same-partner a node sends and receives at once only with one and the same partner. Its two ports are
//! in the calendars as under one-port; this module keeps windows with different partners apart.

use super::calendar::same_until;
use crate::platform::NodeId;

/// Windows of one node with its partner.
#[derive(Clone, Debug, Default)]
struct PartnerWindows {
    /// (start, end, partner), sorted by start; windows of the same partner may overlap.
    windows: Vec<(f64, f64, NodeId)>,
}

/// The partners of all nodes.
#[derive(Clone, Debug)]
pub(super) struct Partners {
    of: Vec<PartnerWindows>,
}

impl Partners {
    pub fn new(nodes: usize) -> Partners {
        Partners { of: vec![PartnerWindows::default(); nodes] }
    }

    /// The earliest time ≥ `from_s` from which `node` has no partner but `partner` for `duration_s`.
    pub fn earliest(&self, node: NodeId, partner: NodeId, from_s: f64, duration_s: f64) -> f64 {
        let mut start_s = from_s;
        // Windows are sorted by start, but an earlier one may end later.
        loop {
            let in_the_way = |&&(begin, end, other): &&(f64, f64, NodeId)| {
                other != partner
                    && begin < start_s + duration_s
                    && same_until(begin) < start_s + duration_s
                    && same_until(start_s) < end
            };
            match self.of[node.index()].windows.iter().find(in_the_way) {
                None => return start_s,
                Some(&(_, end, _)) => start_s = end,
            }
        }
    }

    /// `node` has `partner` from `start_s`; windows that ended by `now_s` are dropped.
    pub fn take(&mut self, node: NodeId, partner: NodeId, now_s: f64, start_s: f64, duration_s: f64) {
        let windows = &mut self.of[node.index()].windows;
        windows.retain(|&(_, end, _)| end > now_s);
        let at = windows.partition_point(|&(begin, ..)| begin <= start_s);
        windows.insert(at, (start_s, start_s + duration_s, partner));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partners_take_turns_and_one_partner_sends_both_ways() {
        let [a, b, c] = [0, 1, 2].map(NodeId);
        let mut partners = Partners::new(3);
        partners.take(a, b, 0.0, 0.0, 2.0);
        assert_eq!(partners.earliest(a, b, 0.0, 2.0), 0.0);
        assert_eq!(partners.earliest(a, c, 0.0, 2.0), 2.0);
        assert_eq!(partners.earliest(b, c, 0.0, 2.0), 0.0);
        partners.take(a, c, 0.0, 3.0, 1.0);
        // One second is free before the window with c, two are not.
        assert_eq!(partners.earliest(a, b, 1.0, 2.0), 1.0);
        assert_eq!(partners.earliest(a, b, 1.0, 2.5), 4.0);
        partners.take(a, b, 5.0, 5.0, 1.0);
        assert_eq!(partners.of[0].windows, [(5.0, 6.0, b)]);
    }
}
