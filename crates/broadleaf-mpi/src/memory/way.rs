//! How a message gets to the other ranks of a host, chosen by trial.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// One of the ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Through the ring of slots, written into the readers' caches.
    Ring,
    /// Through the ring, written past them.
    StreamedRing,
    /// Every reader copies straight out of the leader's memory, which waits for them.
    Direct,
}

impl Way {
    pub const ALL: [Way; 3] = [Way::Ring, Way::StreamedRing, Way::Direct];

    pub fn name(self) -> &'static str {
        match self {
            Way::Ring => "ring",
            Way::StreamedRing => "ring-streamed",
            Way::Direct => "direct",
        }
    }

    /// Where nothing has been tried: messages beyond a core's own cache are written past it.
    pub fn untried(bytes: u64) -> Way {
        if bytes >= BEYOND_CACHE {
            Way::StreamedRing
        } else {
            Way::Ring
        }
    }
}

const BEYOND_CACHE: u64 = 8 << 20;

/// Smaller messages stay in the cache, where the program reads them next.
const LEAST_STREAMED: u64 = 1 << 20;

/// Times each way is tried; the shortest time counts, since whatever else the machine does only adds.
const TRIES: u32 = 4;

const CLASSES: usize = 64;

/// What was found so far for messages of 2^c to 2^(c+1) bytes. It lies in shared memory; the ranks that lead
/// use it one after the other.
#[repr(C)]
pub struct Trials {
    classes: [[Tried; Way::ALL.len()]; CLASSES],
}

#[repr(C)]
struct Tried {
    times: AtomicU32,
    /// ns + 1; 0 before the first try.
    shortest: AtomicU64,
    /// Started, so that tries whose times are lost come to an end as well.
    begun: AtomicU32,
}

impl Trials {
    /// The way for the next message, and whether its time is to be noted. `direct`: memory of other ranks can be
    /// read.
    pub fn choose(&self, bytes: u64, direct: bool) -> (Way, bool) {
        let class = &self.classes[bytes.ilog2() as usize];
        let allowed = |way: Way| match way {
            Way::Ring => true,
            Way::StreamedRing => bytes >= LEAST_STREAMED,
            Way::Direct => direct,
        };
        let first = Way::untried(bytes);
        let order =
            [first].into_iter().chain(Way::ALL.into_iter().filter(|&way| way != first && allowed(way)));
        for way in order.clone() {
            let tried = &class[way as usize];
            if tried.times.load(Ordering::Relaxed) < TRIES && tried.begun.load(Ordering::Relaxed) < 8 * TRIES
            {
                tried.begun.fetch_add(1, Ordering::Relaxed);
                return (way, true);
            }
        }
        let shortest = |way: &Way| match class[*way as usize].shortest.load(Ordering::Relaxed) {
            0 => u64::MAX,
            time => time,
        };
        (order.min_by_key(shortest).unwrap_or(first), false)
    }

    /// A message took that long.
    pub fn note(&self, bytes: u64, way: Way, ns: u64) {
        let tried = &self.classes[bytes.ilog2() as usize][way as usize];
        let shortest = tried.shortest.load(Ordering::Relaxed);
        if shortest == 0 || ns + 1 < shortest {
            tried.shortest.store(ns + 1, Ordering::Relaxed);
        }
        tried.times.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh() -> Box<Trials> {
        // SAFETY: as in new shared memory, all zeros, which these atomics may be.
        unsafe { Box::new(std::mem::zeroed()) }
    }

    #[test]
    fn the_quickest_way_is_kept() {
        let trials = fresh();
        let mut seen = Vec::new();
        for _ in 0..3 * TRIES {
            let (way, timed) = trials.choose(2 << 20, true);
            assert!(timed);
            seen.push(way);
            trials.note(2 << 20, way, if way == Way::StreamedRing { 10 } else { 20 });
        }
        assert!(Way::ALL.iter().all(|way| seen.contains(way)), "{seen:?}");
        assert_eq!(trials.choose(2 << 20, true), (Way::StreamedRing, false));
        // Another size class knows nothing of it.
        assert_eq!(trials.choose(70_000, true), (Way::Ring, true));
    }

    #[test]
    fn what_is_not_allowed_is_never_tried() {
        let trials = fresh();
        for _ in 0..100 {
            let (way, _) = trials.choose(100_000, false);
            assert_eq!(way, Way::Ring);
            trials.note(100_000, way, 5);
        }
    }

    #[test]
    fn tries_whose_times_are_lost_come_to_an_end() {
        let trials = fresh();
        let ways: Vec<Way> = (0..1000).map(|_| trials.choose(16 << 20, true).0).collect();
        assert_eq!(ways[999], Way::StreamedRing);
        assert!(ways.contains(&Way::Direct));
    }
}
