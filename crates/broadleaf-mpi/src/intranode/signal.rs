//! Rising numbers in shared memory that ranks wait for.
//!
//! Ranks may outnumber cores, so a waiting rank soon yields its core, and after some turns sleeps. Meanwhile it
//! drives the MPI's progress: the rank that it waits for may need a message from it first.

use std::sync::atomic::{fence, AtomicU32, Ordering};

/// A number that only rises, modulo 2³². One rank at a time sets it.
#[repr(C)]
#[derive(Default)]
pub struct Signal {
    value: AtomicU32,
    /// Ranks that sleep until it rises.
    sleepers: AtomicU32,
    /// The value that the only sleeper waits for, where there can be only one.
    wanted: AtomicU32,
}

/// Looks at the signal for each call of the MPI's progress.
const LOOKS_PER_PROGRESS: u32 = 500;
const TURNS_PER_PROGRESS: u32 = 32;
/// The longest sleep between two calls of the MPI's progress.
const NAP_NS: libc::c_long = 200_000;

/// The time for which a waiting rank yields its core before it sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Looks before the first turn, a few ten nanoseconds each.
    looks: u32,
    turns: u32,
}

impl Patience {
    /// Where every rank has a core, no other rank needs the core of one that waits for 0.1 ms; a yield takes as long
    /// as copying 5 KiB, and waking up is slow. Where ranks outnumber cores, waiting takes time from ranks that work.
    pub fn of(ranks: usize, cores: usize) -> Patience {
        if ranks <= cores {
            Patience { looks: 4000, turns: 4000 }
        } else {
            Patience { looks: 0, turns: 24 }
        }
    }

    /// Looks before offering the core to others; 0 where ranks outnumber cores.
    pub fn looks(self) -> u32 {
        self.looks
    }
}

/// Whether `value` has reached `target`; both count modulo 2³².
pub fn has_reached(value: u32, target: u32) -> bool {
    value.wrapping_sub(target) < 1 << 31
}

impl Signal {
    pub fn value(&self) -> u32 {
        self.value.load(Ordering::Acquire)
    }

    /// Sets the value and wakes all sleepers.
    pub fn set(&self, value: u32) {
        self.value.store(value, Ordering::Release);
        // A sleeper registers before its last look, so either it sees the value or this rank sees the sleeper.
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) > 0 {
            self.wake();
        }
    }

    /// Sets the value and wakes the only rank that may sleep on it, if the value that it waits for is reached.
    pub fn set_for_one(&self, value: u32) {
        self.value.store(value, Ordering::Release);
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) > 0
            && has_reached(value, self.wanted.load(Ordering::Relaxed))
        {
            self.wake();
        }
    }

    /// Waits until the value has reached `target`. `idle` drives the MPI's progress; its argument is the number of
    /// sleeps in this wait.
    pub fn wait<E>(
        &self,
        target: u32,
        patience: Patience,
        mut idle: impl FnMut(u32) -> Result<(), E>,
    ) -> Result<(), E> {
        for turn in 0u32.. {
            let value = self.value();
            if has_reached(value, target) {
                break;
            }
            if turn < patience.looks {
                std::hint::spin_loop();
                if turn % LOOKS_PER_PROGRESS == LOOKS_PER_PROGRESS - 1 {
                    idle(0)?;
                }
                continue;
            }
            let turn = turn - patience.looks;
            let naps = turn.saturating_sub(patience.turns);
            if turn.is_multiple_of(TURNS_PER_PROGRESS) || turn >= patience.turns {
                idle(naps)?;
            }
            if turn < patience.turns {
                std::thread::yield_now();
            } else {
                self.sleep(value, target);
            }
        }
        Ok(())
    }

    fn sleep(&self, seen: u32, target: u32) {
        self.wanted.store(target, Ordering::Relaxed);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if self.value.load(Ordering::Relaxed) == seen {
            let nap = libc::timespec { tv_sec: 0, tv_nsec: NAP_NS };
            // SAFETY: the word is a valid futex for as long as `self` lives. Spurious and lost wake-ups are harmless:
            // the value decides, and the sleep has a limit.
            unsafe {
                libc::syscall(libc::SYS_futex, self.value.as_ptr(), libc::FUTEX_WAIT, seen, &nap, 0, 0);
            }
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    fn wake(&self) {
        // SAFETY: as in `sleep`.
        unsafe { libc::syscall(libc::SYS_futex, self.value.as_ptr(), libc::FUTEX_WAKE, i32::MAX, 0, 0, 0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_around_the_end() {
        assert!(has_reached(5, 5) && has_reached(6, 5) && !has_reached(4, 5));
        assert!(has_reached(2, u32::MAX) && !has_reached(u32::MAX, 2));
    }

    #[test]
    fn whoever_sleeps_is_woken() {
        let (signal, answer) = (Signal::default(), Signal::default());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1..=200 {
                    signal.wait(round, Patience::of(2, 2), |_| Ok::<(), ()>(())).unwrap();
                    answer.set_for_one(round);
                }
            });
            for round in 1..=200 {
                if round % 20 == 0 {
                    // Long enough for the other thread to fall asleep.
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
                signal.set(round);
                answer.wait(round, Patience::of(2, 2), |_| Ok::<(), ()>(())).unwrap();
            }
        });
    }

    #[test]
    fn an_mpi_that_fails_ends_the_wait() {
        assert_eq!(Signal::default().wait(1, Patience::of(2, 2), |_| Err("broken")), Err("broken"));
    }
}
