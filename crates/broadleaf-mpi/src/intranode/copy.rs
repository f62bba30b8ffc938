//! Copies between ranks of one host: into and out of shared memory, and straight out of another rank's memory.

/// How bytes are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// Into the cache, for what is read again soon.
    Cached,
    /// Past the cache: a large message would evict everything else, and every line would be read before it is
    /// written.
    Streamed,
}

/// Copies `bytes` bytes that do not overlap.
///
/// # Safety
/// Both ranges are valid.
pub unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize, writes: Writes) {
    #[cfg(target_arch = "x86_64")]
    if writes == Writes::Streamed && std::arch::is_x86_feature_detected!("avx") {
        return stream(from, to, bytes);
    }
    let _ = writes;
    std::ptr::copy_nonoverlapping(from, to, bytes);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
unsafe fn stream(from: *const u8, to: *mut u8, bytes: usize) {
    use std::arch::x86_64::{__m256i, _mm256_loadu_si256, _mm256_stream_si256, _mm_sfence};
    const LINE: usize = 64;
    let before = to.align_offset(LINE).min(bytes);
    std::ptr::copy_nonoverlapping(from, to, before);
    let whole = (bytes - before) / LINE * LINE;
    let mut at = before;
    while at < before + whole {
        let (source, target) = (from.add(at).cast::<__m256i>(), to.add(at).cast::<__m256i>());
        let halves = (_mm256_loadu_si256(source), _mm256_loadu_si256(source.add(1)));
        _mm256_stream_si256(target, halves.0);
        _mm256_stream_si256(target.add(1), halves.1);
        at += LINE;
    }
    _mm_sfence();
    std::ptr::copy_nonoverlapping(from.add(at), to.add(at), bytes - at);
}

/// A system call that moves bytes between processes.
type Transfer = unsafe extern "C" fn(
    libc::pid_t,
    *const libc::iovec,
    libc::c_ulong,
    *const libc::iovec,
    libc::c_ulong,
    libc::c_ulong,
) -> libc::ssize_t;

/// Copies from the memory of another process; false where the system does not permit it (another user or
/// container, a security module) or the memory cannot be read so.
///
/// # Safety
/// `to` holds `bytes` bytes. The other process may change its memory meanwhile; the copy then has mixed content.
pub unsafe fn copy_from_process(pid: i32, from: u64, to: *mut u8, bytes: u64) -> bool {
    transfer(libc::process_vm_readv, pid, to, from, bytes)
}

/// Copies into the memory of another process; false as in [`copy_from_process`].
///
/// # Safety
/// `from` holds `bytes` bytes, and the other process keeps that much memory for them.
pub unsafe fn copy_to_process(pid: i32, from: *const u8, to: u64, bytes: u64) -> bool {
    transfer(libc::process_vm_writev, pid, from.cast_mut(), to, bytes)
}

unsafe fn transfer(call: Transfer, pid: i32, own: *mut u8, other: u64, bytes: u64) -> bool {
    /// The bytes of one call; Linux moves at most 2 GiB.
    const MOST: u64 = 1 << 30;
    let mut done = 0;
    while done < bytes {
        let length = (bytes - done).min(MOST) as usize;
        let local = libc::iovec { iov_base: own.add(done as usize).cast(), iov_len: length };
        let remote = libc::iovec { iov_base: (other + done) as *mut libc::c_void, iov_len: length };
        match call(pid, &local, 1, &remote, 1, 0) {
            count if count > 0 => done += count as u64,
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_and_alignment_is_copied_and_nothing_else() {
        let from: Vec<u8> = (0..400u32).map(|at| (at * 7 + 1) as u8).collect();
        for writes in [Writes::Cached, Writes::Streamed] {
            for (bytes, offset) in (0..260).flat_map(|bytes| [0, 1, 31, 63].map(|offset| (bytes, offset))) {
                let mut to = vec![0xA5u8; 400];
                // SAFETY: at most 63 + 259 bytes of 400.
                unsafe { copy(from.as_ptr().add(3), to.as_mut_ptr().add(offset), bytes, writes) };
                assert_eq!(to[offset..offset + bytes], from[3..3 + bytes], "{bytes} at {offset}");
                let rest = to[..offset].iter().chain(&to[offset + bytes..]);
                assert!(rest.copied().all(|byte| byte == 0xA5), "{bytes} at {offset}");
            }
        }
    }

    #[test]
    fn memory_of_nobody_is_neither_read_nor_written() {
        let (own, mut to) = ([1u8, 2, 3], [0u8; 3]);
        let pid = std::process::id() as i32;
        // SAFETY: three bytes each; address 16 is unmapped, so the call must fail.
        unsafe {
            assert!(copy_from_process(pid, own.as_ptr() as u64, to.as_mut_ptr(), 3));
            assert_eq!(to, own);
            assert!(!copy_from_process(pid, 16, to.as_mut_ptr(), 3));
            assert!(copy_to_process(pid, [7, 8, 9].as_ptr(), to.as_ptr() as u64, 3));
            assert!(!copy_to_process(pid, own.as_ptr(), 16, 3));
        }
        assert_eq!(to, [7, 8, 9]);
    }
}
