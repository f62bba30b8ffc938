//! Reserve memory for the runtime: under a limit of address space (`ulimit -v`, many batch systems) a broadcast that
//! succeeds with the MPI alone must not end the program.
//!
//! Allocations go to the system. One that fails is satisfied from a reserve in the library's own data segment,
//! untouched until then, so that it costs address space but no memory. When the reserve is exhausted as well, Rust
//! ends the process.

use linked_list_allocator::Heap;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr::{null_mut, NonNull};
use std::sync::{Mutex, PoisonError};

/// Enough for a plan over a few hundred ranks and the executor's state. Every process that preloads the library loses
/// this much address space.
const RESERVE_BYTES: usize = 4 << 20;

#[repr(align(4096))]
struct Memory(UnsafeCell<[u8; RESERVE_BYTES]>);

// SAFETY: only the heap behind the lock hands parts of it out, each to one owner.
unsafe impl Sync for Memory {}

static MEMORY: Memory = Memory(UnsafeCell::new([0; RESERVE_BYTES]));
/// None until the first allocation that fails.
static HEAP: Mutex<Option<Heap>> = Mutex::new(None);

fn reserved(layout: Layout) -> *mut u8 {
    let mut heap = HEAP.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the memory is static and used by this heap only.
    let heap = heap.get_or_insert_with(|| unsafe { Heap::new(MEMORY.0.get().cast(), RESERVE_BYTES) });
    heap.allocate_first_fit(layout).map_or(null_mut(), NonNull::as_ptr)
}

fn is_reserved(address: *mut u8) -> bool {
    let first = MEMORY.0.get() as usize;
    (first..first + RESERVE_BYTES).contains(&(address as usize))
}

/// The system's allocator with the reserve behind it.
pub(crate) struct WithReserve;

// SAFETY: each allocation comes whole from one of two allocators, and goes back to the one that its address names.
unsafe impl GlobalAlloc for WithReserve {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match System.alloc(layout) {
            refused if refused.is_null() => reserved(layout),
            address => address,
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let address = System.alloc_zeroed(layout);
        if !address.is_null() {
            return address;
        }
        let address = reserved(layout);
        if !address.is_null() {
            address.write_bytes(0, layout.size());
        }
        address
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        if !is_reserved(address) {
            return System.dealloc(address, layout);
        }
        let mut heap = HEAP.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(heap), Some(address)) = (heap.as_mut(), NonNull::new(address)) {
            heap.deallocate(address, layout);
        }
    }

    unsafe fn realloc(&self, address: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if !is_reserved(address) {
            let grown = System.realloc(address, layout, bytes);
            if !grown.is_null() {
                return grown;
            }
        }
        // SAFETY: the caller's `bytes` make a valid layout.
        let grown = self.alloc(Layout::from_size_align_unchecked(bytes, layout.align()));
        if !grown.is_null() {
            grown.copy_from_nonoverlapping(address, layout.size().min(bytes));
            self.dealloc(address, layout);
        }
        grown
    }
}

/// The length, stored in front of memory that C gets.
const HEADER_BYTES: usize = 16;

fn with_header(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.checked_add(HEADER_BYTES)?, HEADER_BYTES).ok()
}

/// `realloc` for C, with the reserve behind it: null as argument allocates, null as result means no memory.
///
/// # Safety
/// `address` is null or came from here and has not been released.
pub(crate) unsafe fn resize(address: *mut u8, bytes: usize) -> *mut u8 {
    let Some(layout) = with_header(bytes) else { return null_mut() };
    let start = if address.is_null() {
        WithReserve.alloc(layout)
    } else {
        let start = address.sub(HEADER_BYTES);
        let before = Layout::from_size_align_unchecked(start.cast::<usize>().read(), HEADER_BYTES);
        WithReserve.realloc(start, before, layout.size())
    };
    if start.is_null() {
        return start;
    }
    start.cast::<usize>().write(layout.size());
    start.add(HEADER_BYTES)
}

/// `free` for what [`resize`] gave.
///
/// # Safety
/// As there.
pub(crate) unsafe fn release(address: *mut u8) {
    if address.is_null() {
        return;
    }
    let start = address.sub(HEADER_BYTES);
    let layout = Layout::from_size_align_unchecked(start.cast::<usize>().read(), HEADER_BYTES);
    WithReserve.dealloc(start, layout);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Allocations from the reserve are disjoint, and can be reused after release.
    #[test]
    fn the_reserve_lends_and_takes_back() {
        let layout = |bytes| Layout::from_size_align(bytes, 16).unwrap();
        for _ in 0..100 {
            let parts: Vec<*mut u8> = (1..40).map(|at| reserved(layout(1000 * at))).collect();
            for (at, &part) in parts.iter().enumerate() {
                assert!(is_reserved(part) && (part as usize).is_multiple_of(16));
                // SAFETY: as long as was asked for.
                unsafe { part.write_bytes(at as u8, 1000 * (at + 1)) };
            }
            for (at, &part) in parts.iter().enumerate() {
                // SAFETY: as above; given back with the layout it was taken with.
                unsafe {
                    let bytes = std::slice::from_raw_parts(part, 1000 * (at + 1));
                    assert!(bytes.iter().all(|&byte| byte == at as u8));
                    WithReserve.dealloc(part, layout(1000 * (at + 1)));
                }
            }
        }
        assert!(reserved(layout(RESERVE_BYTES + 1)).is_null(), "more than there is");
    }

    #[test]
    fn what_grows_out_of_the_reserve_keeps_its_bytes() {
        let layout = Layout::from_size_align(100, 8).unwrap();
        let small = reserved(layout);
        // SAFETY: used within its length, given back once.
        unsafe {
            small.write_bytes(7, 100);
            let large = WithReserve.realloc(small, layout, 5000);
            assert!(!is_reserved(large), "the system has memory");
            assert!(std::slice::from_raw_parts(large, 100).iter().all(|&byte| byte == 7));
            WithReserve.dealloc(large, Layout::from_size_align(5000, 8).unwrap());
        }
    }

    #[test]
    fn what_c_is_given_keeps_its_bytes_as_it_grows() {
        // SAFETY: used within its length, released once.
        unsafe {
            let mut bytes = resize(null_mut(), 1);
            bytes.write(7);
            for length in [10, 100, 100_000] {
                bytes = resize(bytes, length);
                bytes.add(length - 1).write(9);
            }
            assert_eq!((bytes.read(), bytes.add(9).read(), bytes.add(99).read()), (7, 9, 9));
            release(bytes);
            release(null_mut());
            assert!(resize(null_mut(), usize::MAX - 3).is_null());
        }
    }
}
