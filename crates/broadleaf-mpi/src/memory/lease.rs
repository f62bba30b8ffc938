//! Calls that go the MPI's own way without being announced.
//!
//! Where the MPI's own broadcast has proved the quickest way of a host, an announcement before it only costs time:
//! 4 to 8 % of what 64 KiB take. So the leader that announces such a call lets the next few of that length go the
//! same way unannounced. Who leads and who takes find out by themselves that a call is one of them, before they
//! touch anything else: where ranks outnumber cores, each page of ours costs a broadcast another 0.1 µs.
//!
//! A rank with another length than the root's must not wait for ever, so each side shows what it does. A leader that
//! does announce looks whether a rank has gone ahead; if so all go after it with that length first, for nothing,
//! and then make the call as announced. A rank that waits for an announcement sees that the leader made none.

use super::area::{Common, TURNS};
use super::signal::has_reached;
use std::cell::Cell;
use std::sync::atomic::{fence, AtomicU64, Ordering};

/// Most calls that follow one announced: what has become slow is found out by those announced.
const MOST: u64 = 128;

/// Beside a longer message an announcement takes next to nothing.
pub const LONGEST: u64 = 1 << 20;

/// The last call, counted from 1, in which somebody did something.
#[repr(C, align(64))]
#[derive(Default)]
pub struct LastCall(AtomicU64);

impl LastCall {
    fn set(&self, call: u64) {
        self.0.store(call + 1, Ordering::Release);
    }

    /// The same before this thread looks at what others set so.
    fn set_before_looking(&self, call: u64) {
        self.set(call);
        fence(Ordering::SeqCst);
    }

    fn is(&self, call: u64) -> bool {
        self.0.load(Ordering::Acquire) == call + 1
    }

    fn is_or_later(&self, call: u64) -> bool {
        self.0.load(Ordering::Acquire) > call
    }
}

/// What the ranks of a host show each other of a call.
#[repr(C, align(64))]
#[derive(Default)]
pub struct Shown {
    /// Its leader goes ahead without announcing it.
    leader_ahead: LastCall,
    /// Its leader will announce it.
    announces: LastCall,
}

/// What one rank knows of the calls that are leased now. C holds a pointer to it.
pub struct Lease {
    /// The communicator's next call, and the announcements so far.
    next: Cell<u64>,
    turn: Cell<u64>,
    /// Calls before this one may go ahead with that many bytes.
    until: Cell<u64>,
    bytes: Cell<u64>,
    /// This rank has gone ahead in a call that its leader announces.
    went_wrong: Cell<bool>,
    common: *const Common,
    own: *const LastCall,
}

impl Lease {
    /// Nothing is leased yet. `own` shows what this rank does.
    ///
    /// # Safety
    /// Both outlive the lease.
    pub unsafe fn new(common: *const Common, own: *const LastCall) -> Lease {
        let (next, turn, until, bytes) = Default::default();
        Lease { next, turn, until, bytes, went_wrong: Cell::new(false), common, own }
    }

    fn common(&self) -> &Common {
        // SAFETY: promised to `new`.
        unsafe { &*self.common }
    }

    fn shown(&self) -> &Shown {
        &self.common().shown
    }

    /// Whether the announcement of this turn is there, and is of that call: its leader may be some calls further on.
    fn is_announced(&self, call: u64) -> bool {
        let (common, turn) = (self.common(), self.turn.get());
        has_reached(common.announced.value(), (turn as u32).wrapping_add(1)) && {
            let place = common.announcements[turn as usize % TURNS as usize].get();
            // SAFETY: it was written before it was announced, and stays until this rank has done with it.
            unsafe { (*place).call == call }
        }
    }

    /// How many calls of that length may follow one, where the MPI's own broadcast has been the quickest way in so
    /// many that were announced.
    pub fn length(bytes: u64, proved: u32) -> u64 {
        if bytes <= LONGEST {
            MOST.min((1 << (proved / 2).min(63)) - 1)
        } else {
            0
        }
    }

    /// Leases that many calls that follow one of that length.
    pub fn begin(&self, call: u64, bytes: u64, length: u64) {
        self.until.set(call + 1 + length);
        self.bytes.set(bytes);
    }

    pub fn next(&self) -> u64 {
        self.next.get()
    }

    pub fn set_next(&self, call: u64, turn: u64) {
        self.next.set(call);
        self.turn.set(turn);
    }

    /// Whether this rank makes its next call, of that length, by the MPI's own broadcast at once.
    #[inline]
    pub fn goes_ahead(&self, bytes: u64, leads: bool) -> bool {
        let call = self.next.get();
        if call >= self.until.get() || bytes != self.bytes.get() || self.went_wrong.get() {
            return false;
        }
        if leads {
            self.shown().leader_ahead.set(call);
            return true;
        }
        // SAFETY: promised to `new`.
        unsafe { &*self.own }.set_before_looking(call);
        let announces = &self.shown().announces;
        !announces.is_or_later(call) || !(announces.is(call) || self.is_announced(call))
    }

    /// After that broadcast: whether it was the call, which is over. If not, the leader has announced the call.
    #[inline]
    pub fn was_right(&self, leads: bool) -> bool {
        let call = self.next.get();
        let may_be = !leads && self.shown().announces.is_or_later(call);
        let was_right = !(may_be && self.is_announced(call));
        if was_right {
            self.next.set(call + 1);
        }
        self.went_wrong.set(!was_right);
        was_right
    }

    /// To a rank that hears of a call: whether it has gone ahead in it. Asked once.
    pub fn went_wrong(&self) -> bool {
        self.went_wrong.take()
    }

    /// To the leader of a call that it will announce: the length with which one of the others has gone ahead.
    pub fn gone_ahead<'a>(&self, call: u64, mut others: impl Iterator<Item = &'a LastCall>) -> Option<u64> {
        if call >= self.until.get() {
            return None;
        }
        self.shown().announces.set_before_looking(call);
        others.any(|other| other.is(call)).then_some(self.bytes.get())
    }

    /// To a rank that waits for a call's announcement: the length with which the leader has gone ahead in it. The leader
    /// may be some calls further on, and have announced one of those.
    pub fn led_ahead(&self, call: u64) -> Option<u64> {
        let is_past = call < self.until.get() && self.shown().leader_ahead.is_or_later(call);
        (is_past && !self.is_announced(call)).then_some(self.bytes.get())
    }
}

#[cfg(test)]
mod tests {
    use super::super::area::{Announcement, Area};
    use super::*;

    fn lease(area: &Area, next: u64) -> Lease {
        // SAFETY: the tests keep the area.
        let lease = unsafe { Lease::new(area.common(), &area.member(1).ahead) };
        lease.set_next(next, 0);
        lease
    }

    fn announce(area: &Area, call: u64) {
        let announcement = Announcement { call, ..Announcement::default() };
        // SAFETY: nobody looks before the signal is set.
        unsafe { area.common().announcements[0].get().write(announcement) };
        area.common().announced.set(1);
    }

    #[test]
    fn only_the_next_calls_of_that_length_are_leased() {
        let area = Area::create(2).unwrap().0;
        for leads in [true, false] {
            let lease = lease(&area, 0);
            assert!(!lease.goes_ahead(0, leads), "nothing is leased at first");
            lease.begin(7, 100, 20);
            lease.set_next(8, 0);
            assert!(!lease.goes_ahead(101, leads) && !lease.goes_ahead(99, leads));
            let mut ahead = 0;
            while lease.goes_ahead(100, leads) && lease.was_right(leads) {
                ahead += 1;
            }
            assert_eq!((ahead, lease.next()), (20, 28));
        }
    }

    #[test]
    fn leases_grow_with_what_speaks_for_them() {
        assert_eq!([0, 1, 2, 4, 10, 99].map(|proved| Lease::length(65_536, proved)), [0, 0, 1, 3, 31, MOST]);
        assert_eq!(Lease::length(LONGEST + 1, 99), 0);
    }

    /// However far the leader is by the time a rank looks, the rank finds out what became of its own call.
    #[test]
    fn a_rank_that_is_late_finds_what_its_leader_did() {
        // In calls 8, 9 and 10 the leader goes ahead, or announces.
        for (announced, further) in [(false, 0), (false, 1), (false, 2), (true, 0), (true, 1), (true, 2)] {
            let area = Area::create(2).unwrap().0;
            let (leader, other) = (lease(&area, 8), lease(&area, 8));
            leader.begin(7, 100, 20);
            other.begin(7, 100, 20);
            assert_eq!(other.led_ahead(8), None);
            if announced {
                assert_eq!(leader.gone_ahead(8, std::iter::empty()), None);
                announce(&area, 8);
            } else {
                assert!(leader.goes_ahead(100, true) && leader.was_right(true));
                if further == 2 {
                    leader.gone_ahead(9, std::iter::empty());
                    announce(&area, 9);
                }
            }
            leader.set_next(9 + further, 1);
            if further > 0 {
                assert!(leader.goes_ahead(100, true));
            }
            // A rank of another length, which waits for an announcement; and one that may go ahead.
            assert_eq!(other.led_ahead(8), (!announced).then_some(100), "{announced} {further}");
            assert_eq!(other.goes_ahead(100, false), !announced, "{announced} {further}");
            assert_eq!(other.was_right(false), !announced, "{announced} {further}");
        }
    }

    /// A leader with another length and a rank that may go ahead: the leader never announces what nobody hears.
    #[test]
    fn a_leader_that_announces_and_a_rank_that_went_ahead_see_each_other() {
        /// As processes use it.
        struct Shared(Area);
        // SAFETY: what lies in it is made to be used by several at once.
        unsafe impl Sync for Shared {}
        impl Shared {
            fn area(&self) -> &Area {
                &self.0
            }
        }
        let shared = Shared(Area::create(2).unwrap().0);
        let mut found = [0; 2];
        for call in 1..20_000 {
            let (ahead, seen) = std::thread::scope(|scope| {
                let leader = scope.spawn(|| {
                    let leader = lease(shared.area(), call);
                    leader.begin(call - 1, 100, 1);
                    leader.gone_ahead(call, std::iter::once(&shared.area().member(1).ahead))
                });
                let other = lease(shared.area(), call);
                other.begin(call - 1, 100, 1);
                (other.goes_ahead(100, false), leader.join().unwrap())
            });
            assert!(!ahead || seen == Some(100), "call {call}: gone ahead, and the leader does not know");
            found[usize::from(ahead)] += 1;
        }
        assert!(found[1] > 0, "{found:?}");
    }
}
