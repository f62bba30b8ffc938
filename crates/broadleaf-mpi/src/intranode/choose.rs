//! How a message gets to the other ranks of a host, chosen by trial.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// One of the ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyMethod {
    /// Through the ring of slots, written into the readers' caches.
    Ring,
    /// Through the ring, written past them.
    StreamedRing,
    /// Every reader copies straight out of the leader's memory, which waits for them.
    Direct,
    /// Out of the leader's memory as well, and the leader helps.
    Cooperative,
    /// By the MPI's own broadcast of the packed bytes, where all ranks of the communicator are on this host.
    Native,
}

impl CopyMethod {
    pub const ALL: [CopyMethod; 5] = [
        CopyMethod::Ring,
        CopyMethod::StreamedRing,
        CopyMethod::Direct,
        CopyMethod::Cooperative,
        CopyMethod::Native,
    ];

    pub fn name(self) -> &'static str {
        match self {
            CopyMethod::Ring => "ring",
            CopyMethod::StreamedRing => "ring-streamed",
            CopyMethod::Direct => "direct",
            CopyMethod::Cooperative => "cooperative",
            CopyMethod::Native => "native",
        }
    }

    /// Whether processes look into each other's memory.
    pub fn is_direct(self) -> bool {
        matches!(self, CopyMethod::Direct | CopyMethod::Cooperative)
    }

    /// Where nothing has been tried: messages beyond a core's own cache are written past it.
    pub fn untried(bytes: u64) -> CopyMethod {
        if bytes >= BEYOND_CACHE {
            CopyMethod::StreamedRing
        } else {
            CopyMethod::Ring
        }
    }
}

const BEYOND_CACHE: u64 = 8 << 20;

/// Smaller messages stay in the cache, where the program reads them next.
const LEAST_STREAMED: u64 = 1 << 20;

/// Larger ones are not given to the MPI's own broadcast, which may count bytes in an int.
const MOST_OWN: u64 = 1 << 30;

/// Each way is tried that often at the start, in turn with the others: single times differ by half where ranks
/// outnumber cores. But not one that takes this many times the quickest one's time: 5/4.
const TRIES: u32 = 5;
const HOPELESS: (u64, u64) = (5, 4);

/// After its n-th try, a way is tried again when this times 2^n calls have gone by: what is slow because of whatever
/// else the machine does must not be so forever, and what is slow in truth must not cost much.
const FIRST_PAUSE: u32 = 4;
const LONGEST_PAUSE: u32 = 1 << 14;

/// The last times of a way that are kept. The third shortest of so many counts: delays only add, so most say little,
/// but the very shortest is luck.
const KEPT: usize = 8;
const COUNTS: usize = 3;

const CLASSES: usize = 64;

/// What was found so far for messages of 2^c to 2^(c+1) bytes. It lies in shared memory; the ranks that lead
/// use it one after the other.
#[repr(C)]
pub struct Trials {
    classes: [Class; CLASSES],
}

#[repr(C)]
struct Class {
    calls: AtomicU32,
    ways: [Tried; CopyMethod::ALL.len()],
}

#[repr(C)]
struct Tried {
    /// ns + 1; 0 before the first time is known.
    usual: AtomicU64,
    /// The last ones, and how many there have been.
    times: [AtomicU64; KEPT],
    noted: AtomicU32,
    /// Started for the sake of trying.
    begun: AtomicU32,
    /// The call of this class from which on it is to be tried again.
    again: AtomicU32,
}

impl Tried {
    fn usual(&self) -> u64 {
        match self.usual.load(Ordering::Relaxed) {
            0 => u64::MAX,
            time => time,
        }
    }

    fn note(&self, ns: u64) {
        let noted = self.noted.load(Ordering::Relaxed);
        self.noted.store(noted.wrapping_add(1), Ordering::Relaxed);
        self.times[noted as usize % KEPT].store(ns + 1, Ordering::Relaxed);
        let mut times = [0; KEPT];
        let known = KEPT.min(noted as usize + 1);
        times.iter_mut().zip(&self.times).for_each(|(time, kept)| *time = kept.load(Ordering::Relaxed));
        times[..known].sort_unstable();
        self.usual.store(times[known / COUNTS], Ordering::Relaxed);
    }
}

/// Which of the ways that are not always there may be used.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    /// Memory of other ranks can be read.
    pub direct: bool,
    /// There is a core for each of them.
    pub together: bool,
    /// All ranks of the communicator are here.
    pub own: bool,
}

impl Allowed {
    /// Whether a message of that length may go that way.
    pub fn permits(self, way: CopyMethod, bytes: u64) -> bool {
        match way {
            CopyMethod::Ring => true,
            CopyMethod::StreamedRing => bytes >= LEAST_STREAMED,
            CopyMethod::Direct => self.direct,
            CopyMethod::Cooperative => self.direct && self.together,
            CopyMethod::Native => self.own && bytes <= MOST_OWN,
        }
    }
}

impl Trials {
    /// The way for the next message.
    pub fn choose(&self, bytes: u64, allowed: Allowed) -> CopyMethod {
        let class = &self.classes[bytes.ilog2() as usize];
        let call = class.calls.load(Ordering::Relaxed);
        class.calls.store(call.wrapping_add(1), Ordering::Relaxed);
        let first = CopyMethod::untried(bytes);
        let order = [first]
            .into_iter()
            .chain(CopyMethod::ALL.into_iter().filter(|&way| way != first && allowed.permits(way, bytes)));
        let time = |way: CopyMethod| class.ways[way as usize].usual();
        let quickest = order.clone().min_by_key(|&way| time(way)).unwrap_or(first);
        let begun = |way: CopyMethod| class.ways[way as usize].begun.load(Ordering::Relaxed);
        let is_due = |way: CopyMethod| match begun(way) {
            0 => true,
            // The first of all calls also makes the plan and touches memory for the first time.
            1 if way == first => true,
            tries => tries < TRIES && time(way) / HOPELESS.0 <= time(quickest) / HOPELESS.1,
        };
        let is_due_again = |way: CopyMethod| {
            way != quickest
                && begun(way) > 0
                && has_passed(call, class.ways[way as usize].again.load(Ordering::Relaxed))
        };
        let due = order.clone().filter(|&way| is_due(way)).min_by_key(|&way| begun(way));
        if let Some(way) = due.or_else(|| order.clone().find(|&way| is_due_again(way))) {
            let tries = begun(way) + 1;
            let tried = &class.ways[way as usize];
            tried.begun.store(tries, Ordering::Relaxed);
            let pause = (FIRST_PAUSE << tries.min(16)).min(LONGEST_PAUSE);
            tried.again.store(call.wrapping_add(pause), Ordering::Relaxed);
            return way;
        }
        quickest
    }

    /// A message took that long.
    pub fn note(&self, bytes: u64, way: CopyMethod, ns: u64) {
        self.classes[bytes.ilog2() as usize].ways[way as usize].note(ns);
    }
}

/// Whether a call has come; both count modulo 2³².
fn has_passed(call: u32, due: u32) -> bool {
    call.wrapping_sub(due) < 1 << 31
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Allowed = Allowed { direct: true, together: true, own: true };

    fn fresh() -> Box<Trials> {
        // SAFETY: as in new shared memory, all zeros, which these atomics may be.
        unsafe { Box::new(std::mem::zeroed()) }
    }

    /// How often each way was chosen in that many calls, if `time` says what each takes.
    fn chosen(trials: &Trials, bytes: u64, calls: u64, time: impl Fn(CopyMethod, u64) -> u64) -> [u64; 5] {
        let mut counts = [0; 5];
        for call in 0..calls {
            let way = trials.choose(bytes, EVERY);
            trials.note(bytes, way, time(way, call));
            counts[way as usize] += 1;
        }
        counts
    }

    #[test]
    fn the_quickest_way_is_kept_and_the_others_cost_little() {
        for best in CopyMethod::ALL {
            let trials = fresh();
            let counts = chosen(&trials, 2 << 20, 1000, |way, _| if way == best { 1000 } else { 2000 });
            assert!(counts[best as usize] > 960, "{best:?}: {counts:?}");
            assert!(counts.iter().all(|&count| count > 1), "{best:?}: {counts:?}");
        }
        // Another size class knows nothing of it.
        assert_eq!(fresh().choose(70_000, EVERY), CopyMethod::Ring);
    }

    #[test]
    fn bad_luck_at_the_start_is_forgotten() {
        let trials = fresh();
        let time = |way: CopyMethod, call| match way {
            CopyMethod::Direct if call < 20 => 1_000_000,
            CopyMethod::Direct => 1000,
            _ => 1500,
        };
        let counts = chosen(&trials, 2 << 20, 1000, time);
        assert!(counts[CopyMethod::Direct as usize] > 900, "{counts:?}");
    }

    #[test]
    fn what_becomes_slow_is_left() {
        let trials = fresh();
        let time = |way: CopyMethod, call| match way {
            CopyMethod::Direct if call < 500 => 1000,
            CopyMethod::Direct => 3000,
            _ => 2000,
        };
        let counts = chosen(&trials, 2 << 20, 1500, time);
        assert!((480..600).contains(&counts[CopyMethod::Direct as usize]), "{counts:?}");
    }

    #[test]
    fn what_is_not_allowed_is_never_tried() {
        let trials = fresh();
        for _ in 0..100 {
            let way = trials.choose(100_000, Allowed { direct: false, together: true, own: false });
            assert_eq!(way, CopyMethod::Ring);
            trials.note(100_000, way, 5);
        }
        let far = |_| trials.choose(MOST_OWN + 1, Allowed { direct: false, together: false, own: true });
        assert!((0..100).map(far).all(|way| way != CopyMethod::Native));
    }

    #[test]
    fn tries_whose_times_are_lost_come_to_an_end() {
        let trials = fresh();
        let ways: Vec<CopyMethod> = (0..1000).map(|_| trials.choose(16 << 20, EVERY)).collect();
        assert!(ways.iter().filter(|&&way| way == CopyMethod::StreamedRing).count() > 900);
        assert!(CopyMethod::ALL.iter().all(|way| ways.contains(way)));
    }
}
