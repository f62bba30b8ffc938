//! A message that readers copy straight out of their leader's memory. Where the leader has a core, it also copies into
//! their memory, part by part, which is faster than one copy alone.

use super::copy::{copy_from_process, copy_to_process};
use super::layout::{Announcement, Area, Member};
use super::wait::Waiter;
use crate::error::CallError;
use std::sync::atomic::Ordering;

/// The parts of a message. A copy between processes takes about 0.4 µs plus a time per byte, so a short message has
/// two parts; a longer one has enough that leader and reader end at about the same time.
#[derive(Clone, Copy)]
struct Parts {
    bytes: u64,
    part_bytes: u64,
}

const LEAST_PART: u64 = 64 << 10;
const MOST_PART: u64 = 512 << 10;

impl Parts {
    fn of(bytes: u64) -> Parts {
        const PAGE: u64 = 4096;
        let part_bytes = (bytes / 8).clamp(LEAST_PART.min(bytes.div_ceil(2)), MOST_PART);
        Parts { bytes, part_bytes: part_bytes.next_multiple_of(PAGE) }
    }

    fn count(self) -> u64 {
        self.bytes.div_ceil(self.part_bytes)
    }

    /// Offset and length.
    fn range(self, part: u64) -> (u64, u64) {
        let start = part * self.part_bytes;
        (start, self.part_bytes.min(self.bytes - start))
    }
}

/// The state of a reader's parts.
#[derive(Debug, PartialEq, Eq)]
enum Claim {
    /// The reader has not reached this turn, or takes no part.
    NotThere,
    Part(u64),
    /// All have been claimed.
    Nothing,
}

/// In `Member::claims`, above the number of the next part: the turn, counted from 1.
fn mark(turn: u64) -> u64 {
    u64::from((turn as u32).wrapping_add(1)) << 32
}

/// Takes the next part of a reader's message, if there is one.
fn claim(reader: &Member, turn: u64, parts: Parts) -> Claim {
    let mut found = reader.claims.load(Ordering::Acquire);
    loop {
        if found >> 32 != mark(turn) >> 32 {
            return Claim::NotThere;
        }
        let part = found & u64::from(u32::MAX);
        if part >= parts.count() {
            return Claim::Nothing;
        }
        let taken =
            reader.claims.compare_exchange_weak(found, found + 1, Ordering::AcqRel, Ordering::Acquire);
        match taken {
            Ok(_) => return Claim::Part(part),
            Err(now) => found = now,
        }
    }
}

/// The leader's part: helps every reader as long as there is something left to copy, and signals each. False where it
/// could not.
///
/// # Safety
/// `message` holds `bytes` bytes.
pub unsafe fn help(
    area: &Area,
    readers: &[usize],
    turn: u64,
    message: *const u8,
    bytes: u64,
    looks: u32,
) -> bool {
    let parts = Parts::of(bytes);
    let mut left: u32 = looks;
    let mut failed = false;
    while left > 0 {
        let (mut has_worked, mut all_claimed) = (false, true);
        for &at in readers {
            let reader = area.member(at);
            match claim(reader, turn, parts) {
                Claim::NotThere => all_claimed = false,
                Claim::Nothing => {}
                Claim::Part(part) => {
                    let (start, length) = parts.range(part);
                    let to = reader.to.load(Ordering::Relaxed) + start;
                    let pid = reader.pid.load(Ordering::Relaxed);
                    if !copy_to_process(pid, message.add(start as usize), to, length) {
                        reader.help_failed.store(turn + 1, Ordering::Relaxed);
                        failed = true;
                    }
                    (has_worked, all_claimed) = (true, false);
                }
            }
        }
        if all_claimed || failed {
            break;
        }
        if has_worked {
            left = looks;
        } else {
            left -= 1;
            std::hint::spin_loop();
        }
    }
    for &at in readers {
        area.member(at).helped.set_for_one((turn as u32).wrapping_add(1));
    }
    !failed
}

/// The reader's part; `pid` is the leader's process id. False where parts of the message could not be copied.
///
/// # Safety
/// `to` holds the announced bytes, and nothing else touches them during the call.
pub unsafe fn take(
    own: &Member,
    pid: i32,
    announced: &Announcement,
    to: *mut u8,
    waiter: &Waiter,
) -> Result<bool, CallError> {
    let Announcement { turn, address: from, bytes, .. } = *announced;
    let parts = Parts::of(bytes);
    own.to.store(to as u64, Ordering::Relaxed);
    own.claims.store(mark(turn), Ordering::Release);
    let (mut copied, mut is_here) = (0, true);
    while let Claim::Part(part) = claim(own, turn, parts) {
        let (start, length) = parts.range(part);
        is_here &= copy_from_process(pid, from + start, to.add(start as usize), length);
        copied += 1;
    }
    if copied < parts.count() {
        // The leader writes here until it signals the end.
        waiter.wait(&own.helped, (turn as u32).wrapping_add(1))?;
        if own.help_failed.load(Ordering::Relaxed) == turn + 1 {
            is_here &= copy_from_process(pid, from, to, bytes);
        }
    }
    Ok(is_here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_a_message_once() {
        for bytes in [1, 4095, 65_536, 65_537, 131_072, 1_000_003, 16 << 20, (1 << 30) + 1] {
            let parts = Parts::of(bytes);
            let mut end = 0;
            for part in 0..parts.count() {
                let (start, length) = parts.range(part);
                assert_eq!(start, end);
                assert!(length > 0);
                end = start + length;
            }
            assert_eq!(end, bytes);
        }
        assert_eq!(Parts::of(65_536).count(), 2);
        assert_eq!(Parts::of(1 << 20).count(), 8);
    }

    #[test]
    fn two_claim_every_part_once_and_only_of_their_turn() {
        let area = Area::create(2).unwrap().0;
        let (reader, parts) = (area.member(1), Parts::of(16 << 20));
        assert_eq!(claim(reader, 7, parts), Claim::NotThere);
        reader.claims.store(mark(7), Ordering::Release);
        assert_eq!(claim(reader, 8, parts), Claim::NotThere);
        let all = |_| {
            let mut mine = Vec::new();
            while let Claim::Part(part) = claim(reader, 7, parts) {
                mine.push(part);
            }
            mine
        };
        let mut seen: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..2).map(|who| scope.spawn(move || all(who))).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        seen.sort_unstable();
        assert_eq!(seen, (0..parts.count()).collect::<Vec<_>>());
        assert_eq!(claim(reader, 7, parts), Claim::Nothing);
    }
}
