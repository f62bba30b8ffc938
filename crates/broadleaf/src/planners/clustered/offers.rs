//! The senders that can reach a waiting kind: the best offer, and the few nearest senders.

/// The earliest known arrival at a kind, and its sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    pub arrival_s: f64,
    /// The sending kind.
    pub from: u32,
    /// Its first sender's ready time and id when this was computed; the offer is exact while they hold.
    pub ready_s: f64,
    pub sender: u32,
}

impl Offer {
    pub const NOWHERE: Offer =
        Offer { arrival_s: f64::INFINITY, from: u32::MAX, ready_s: 0.0, sender: u32::MAX };

    pub fn is_ahead_of(&self, other: &Offer) -> bool {
        self.arrival_s < other.arrival_s || self.arrival_s == other.arrival_s && self.sender < other.sender
    }
}

/// The number of sending kinds that are kept from each full comparison.
pub(super) const NEAR: usize = 4;

/// The sending kinds with the earliest arrivals in the last full comparison.
#[derive(Clone, Copy, Debug)]
pub(super) struct NearSenders {
    pub from: [u32; NEAR],
    /// Their earliest offers then or since; rising.
    pub arrival_s: [f64; NEAR],
    /// No other sending kind can be earlier than this: senders are only delayed.
    pub others_s: f64,
}

impl NearSenders {
    pub const NOBODY: NearSenders =
        NearSenders { from: [u32::MAX; NEAR], arrival_s: [f64::INFINITY; NEAR], others_s: f64::INFINITY };

    /// Inserts a kind's offer, also for a kind that is present: a new member may be ahead of its others.
    pub fn insert(&mut self, from: u32, arrival_s: f64) {
        let there = self.from.iter().position(|&known| known == from);
        let mut at = there.unwrap_or(NEAR - 1);
        if arrival_s >= self.arrival_s[at] {
            if there.is_none() {
                self.others_s = self.others_s.min(arrival_s);
            }
            return;
        }
        if there.is_none() {
            self.others_s = self.others_s.min(self.arrival_s[at]);
        }
        while at > 0 && arrival_s < self.arrival_s[at - 1] {
            (self.from[at], self.arrival_s[at]) = (self.from[at - 1], self.arrival_s[at - 1]);
            at -= 1;
        }
        (self.from[at], self.arrival_s[at]) = (from, arrival_s);
    }
}
