//! Calls that go the MPI's own way without being announced.
//!
//! Where the MPI's own broadcast has proved the quickest way of a host, an announcement before it only costs time:
//! 4 to 8 % of what 64 KiB take. So the leader that announces such a call lets the next few of that length go the
//! same way unannounced. Who leads and who takes find out by themselves that a call is one of them.
//!
//! A rank with another length than the root's must not wait for ever, so each side shows what it does. A leader that
//! does announce looks whether a rank has gone ahead; if so all go after it with that length first, for nothing,
//! and then make the call as announced. A rank that waits for an announcement sees that the leader made none.

use std::sync::atomic::{fence, AtomicU64, Ordering};

/// Calls that follow one announced. With that one they are fewer than the calls whose times are kept.
const LEASED: u64 = 12;

/// Beside a longer message an announcement takes next to nothing.
const LONGEST: u64 = 1 << 20;

/// What one rank knows of the current one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lease {
    bytes: u64,
    /// The first call, counted from 0, that is not of it.
    until: u64,
}

/// The last call, counted from 1, in which somebody did something.
#[repr(C, align(64))]
#[derive(Default)]
pub struct LastCall(AtomicU64);

impl LastCall {
    pub fn set(&self, call: u64) {
        self.0.store(call + 1, Ordering::Release);
    }

    /// The same before this thread looks at what others set so.
    fn set_before_looking(&self, call: u64) {
        self.set(call);
        fence(Ordering::SeqCst);
    }

    pub fn is(&self, call: u64) -> bool {
        self.0.load(Ordering::Acquire) == call + 1
    }
}

/// What the ranks of a host show each other of a call.
#[repr(C, align(64))]
#[derive(Default)]
pub struct Shown {
    /// Its leader goes ahead without announcing it.
    pub leader_ahead: LastCall,
    /// Its leader will announce it.
    pub announces: LastCall,
}

impl Lease {
    /// Whether calls of that length may be of one.
    pub fn may_cover(bytes: u64) -> bool {
        bytes <= LONGEST
    }

    /// After a call of that length.
    pub fn after(call: u64, bytes: u64) -> Lease {
        Lease { bytes, until: call + 1 + LEASED }
    }

    fn covers(self, call: u64, bytes: u64) -> bool {
        call < self.until && bytes == self.bytes
    }

    /// Whether the leader goes ahead.
    pub fn lead(self, call: u64, bytes: u64, shown: &Shown) -> bool {
        let ahead = self.covers(call, bytes);
        if ahead {
            shown.leader_ahead.set(call);
        }
        ahead
    }

    /// Whether another rank, which shows that in `own`, goes ahead.
    pub fn take(self, call: u64, bytes: u64, shown: &Shown, own: &LastCall) -> bool {
        if !self.covers(call, bytes) {
            return false;
        }
        own.set_before_looking(call);
        !shown.announces.is(call)
    }

    /// To the leader of a call that it would announce: the length with which one of the others has gone ahead.
    pub fn gone_ahead<'a>(
        self,
        call: u64,
        shown: &Shown,
        mut others: impl Iterator<Item = &'a LastCall>,
    ) -> Option<u64> {
        if call >= self.until {
            return None;
        }
        shown.announces.set_before_looking(call);
        others.any(|other| other.is(call)).then_some(self.bytes)
    }

    /// To a rank that has gone ahead: whether the leader has not, and all have only gone after it.
    pub fn was_wrong(call: u64, shown: &Shown) -> bool {
        shown.announces.is(call)
    }

    /// To a rank that waits for a call's announcement: the length with which the leader has gone ahead.
    pub fn led_ahead(self, call: u64, shown: &Shown) -> Option<u64> {
        (call < self.until && shown.leader_ahead.is(call)).then_some(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_next_calls_of_that_length_are_leased() {
        let (lease, shown, own) = (Lease::after(7, 100), Shown::default(), LastCall::default());
        let ahead: Vec<u64> = (0..40).filter(|&call| lease.lead(call, 100, &shown)).collect();
        assert_eq!(ahead.last(), Some(&(7 + LEASED)));
        let taken: Vec<u64> = (8..40).filter(|&call| lease.take(call, 100, &shown, &own)).collect();
        assert_eq!(taken, (8..=7 + LEASED).collect::<Vec<_>>());
        assert!(!lease.lead(9, 101, &shown) && !lease.take(9, 99, &shown, &own));
        assert!(!Lease::default().lead(0, 0, &shown), "nothing is leased at first");
        assert_eq!((lease.led_ahead(7 + LEASED, &shown), lease.led_ahead(9, &shown)), (Some(100), None));
    }

    /// A leader with another length and a rank that may go ahead: the leader never announces what nobody hears.
    #[test]
    fn a_leader_that_announces_and_a_rank_that_went_ahead_see_each_other() {
        let (shown, own) = (Shown::default(), LastCall::default());
        for call in 0..20_000 {
            let lease = Lease { bytes: 100, until: call + 1 };
            let (ahead, late) = std::thread::scope(|scope| {
                let leader = scope.spawn(|| lease.gone_ahead(call, &shown, std::iter::once(&own)));
                (lease.take(call, 100, &shown, &own), leader.join().unwrap())
            });
            assert!(!ahead || late == Some(100), "call {call}: gone ahead, and the leader does not know");
        }
    }
}
