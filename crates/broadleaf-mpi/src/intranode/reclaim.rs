//! Rings that have not been used for a while return their memory: a program may make thousands of communicators,
//! and broadcast once on each.

use super::layout::Area;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Rings that a process has filled last and that keep their memory: half a MiB each.
const KEPT: usize = 8;

static RECENT: Mutex<VecDeque<Weak<Area>>> = Mutex::new(VecDeque::new());

/// Notes that this process has filled the ring.
pub fn used(area: &Arc<Area>) {
    let mut recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
    if recent.back().is_some_and(|last| last.as_ptr() == Arc::as_ptr(area)) {
        return;
    }
    recent.retain(|other| other.as_ptr() != Arc::as_ptr(area) && other.strong_count() > 0);
    recent.push_back(Arc::downgrade(area));
    if recent.len() > KEPT {
        if let Some(oldest) = recent.pop_front().and_then(|oldest| oldest.upgrade()) {
            oldest.give_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_few_rings_keep_their_memory() {
        let areas: Vec<Arc<Area>> = (0..3 * KEPT).map(|_| Arc::new(Area::create(2).unwrap().0)).collect();
        for area in &areas {
            assert!(area.claim_ring());
            // SAFETY: inside the slot, which no other rank uses yet.
            unsafe { area.slot(0).write_bytes(1, super::super::layout::SLOT_BYTES) };
            area.release_ring();
            used(area);
        }
        let held: Vec<bool> = areas.iter().map(|area| area.resident_bytes() > 0).collect();
        assert_eq!(held, (0..3 * KEPT).map(|at| at >= 2 * KEPT).collect::<Vec<_>>());
    }

    #[test]
    fn a_ring_in_use_is_left_alone() {
        let area = Arc::new(Area::create(2).unwrap().0);
        assert!(area.claim_ring() && !area.claim_ring());
        // SAFETY: as above.
        unsafe { area.slot(3).write(7) };
        area.give_back();
        // SAFETY: as above.
        assert_eq!(unsafe { area.slot(3).read() }, 7);
        area.release_ring();
        area.give_back();
        // SAFETY: as above.
        assert_eq!(unsafe { area.slot(3).read() }, 0);
    }
}
