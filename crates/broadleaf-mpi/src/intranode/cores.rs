//! The cores that the ranks of a host may run on. With a binding launcher each rank has its own core.

use std::mem::{size_of, zeroed};

/// A set of cores, by the numbers that the kernel gives them.
pub struct Cores {
    set: libc::cpu_set_t,
    /// The container's limit of processor time, in cores, where it is below the number of this rank's cores.
    allowance: Option<usize>,
}

impl Cores {
    pub const BYTES: usize = size_of::<libc::cpu_set_t>();

    /// This rank's own; empty where the host has more cores than a set can hold.
    pub fn own() -> Cores {
        // SAFETY: all zeroes are an empty set, which the kernel fills up to its size.
        let set = unsafe {
            let mut set = zeroed::<libc::cpu_set_t>();
            if libc::sched_getaffinity(0, Self::BYTES, &mut set) != 0 {
                set = zeroed();
            }
            set
        };
        let usable = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let own = Cores { set, allowance: None };
        let allowance = (usable < own.named() || own.named() == 0).then_some(usable);
        Cores { allowance, ..own }
    }

    pub fn bytes(&self) -> [u8; Cores::BYTES] {
        // SAFETY: a set is an array of integers, of which any bytes are values.
        unsafe { std::mem::transmute(self.set) }
    }

    /// Adds another rank's, as [`Cores::bytes`] returns them; bytes of another length add none.
    pub fn add(&mut self, bytes: &[u8]) {
        let Ok(bytes) = <[u8; Cores::BYTES]>::try_from(bytes) else { return };
        // SAFETY: as above; CPU_OR reads and writes sets only.
        unsafe {
            let other: libc::cpu_set_t = std::mem::transmute(bytes);
            for core in 0..8 * Self::BYTES {
                if libc::CPU_ISSET(core, &other) {
                    libc::CPU_SET(core, &mut self.set);
                }
            }
        }
    }

    /// How many ranks of the host can run at once.
    pub fn count(&self) -> usize {
        self.allowance.unwrap_or_else(|| self.named())
    }

    fn named(&self) -> usize {
        // SAFETY: reads a set.
        unsafe { libc::CPU_COUNT(&self.set) as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_bound_to_a_core_each_have_as_many_as_they_are() {
        let bound_to = |core: usize| {
            // SAFETY: an empty set, to which one core is added.
            let set = unsafe {
                let mut set = zeroed::<libc::cpu_set_t>();
                libc::CPU_SET(core, &mut set);
                set
            };
            Cores { set, allowance: None }
        };
        let mut all = bound_to(0);
        assert_eq!(all.count(), 1);
        all.add(&bound_to(900).bytes());
        all.add(&bound_to(1).bytes());
        all.add(&bound_to(0).bytes());
        assert_eq!(all.count(), 3);
        all.add(&[]);
        assert_eq!(all.count(), 3);
        // A container's share of time does not grow with the ranks.
        all.allowance = Some(2);
        assert_eq!(all.count(), 2);
        let own = Cores::own();
        assert_eq!(own.count(), std::thread::available_parallelism().unwrap().get());
    }
}
