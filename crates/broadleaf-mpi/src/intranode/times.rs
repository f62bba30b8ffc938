//! How long earlier calls took, for the choice of a way.

use super::choose::CopyMethod;
use super::layout::{Area, Stamp, TURNS};
use std::sync::atomic::Ordering;

/// Looks at the times of earlier turns, as far as all `ranks` have done with them: to the last one's end, from the
/// last one's arrival; or, where ranks outnumber cores, from the leader's, since what makes the others arrive
/// late there is often this very call, for whose sake they were not given a core. Only the leader of this
/// `turn` may.
pub fn judge(area: &Area, ranks: usize, turn: u64, is_crowded: bool) {
    let common = area.common();
    let first = common.unjudged.load(Ordering::Relaxed).max(turn.saturating_sub(u64::from(TURNS) - 1));
    let mut judged = first;
    for earlier in first..turn {
        let place = earlier as usize % TURNS as usize;
        // SAFETY: only leaders write there, and this rank is the only one that leads now.
        let announced = unsafe { common.announcements[place].get().read() };
        if announced.timed != 0 && announced.turn == earlier {
            let stamps = (0..ranks).map(|other| &area.member(other).stamps[place]);
            let Some((arrived, finished)) = last_ns(stamps, earlier) else { break };
            let leader = &area.member(announced.leader as usize).stamps[place];
            let start = if is_crowded { leader.arrived_ns.load(Ordering::Relaxed) } else { arrived };
            let ns = finished.saturating_sub(start);
            if let Some(&way) = CopyMethod::ALL.get(announced.way as usize) {
                common.trials.note(announced.bytes, way, ns);
            }
        }
        judged = earlier + 1;
    }
    common.unjudged.store(judged, Ordering::Relaxed);
}

/// When the last rank came and when the last one was done; `None`: some rank has not done with the turn.
fn last_ns<'a>(stamps: impl Iterator<Item = &'a Stamp>, turn: u64) -> Option<(u64, u64)> {
    let (mut arrived, mut finished) = (0, 0);
    for stamp in stamps {
        if stamp.turn.load(Ordering::Acquire) != turn + 1 {
            return None;
        }
        arrived = stamp.arrived_ns.load(Ordering::Relaxed).max(arrived);
        finished = stamp.finished_ns.load(Ordering::Relaxed).max(finished);
    }
    Some((arrived, finished))
}

pub fn now_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: memory for one result. All processes of a host share this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
