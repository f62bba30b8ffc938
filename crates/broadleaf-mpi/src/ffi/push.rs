//! The push program's ranks, as `push/push.h` declares them.

use broadleaf_push::{push, Ranks};
use std::ffi::{c_char, c_int, c_void, CStr};
use std::io::Write;

/// `BL_PUSH_LOST`.
const LOST: c_int = 3;

/// `bl_push_job`.
#[repr(C)]
pub struct PushJob {
    rank: u32,
    ranks: u32,
    host: *const c_char,
    gather: extern "C" fn(*const c_void, u64, *mut c_void),
    broadcast: extern "C" fn(u32, *mut c_void, u64),
    group: extern "C" fn(u32) -> u32,
    tell: extern "C" fn(u64),
    hear: extern "C" fn(u32, *mut u32, *mut u64) -> u32,
}

/// Precedes the file of settings that are too long for an argument.
const IN_FILE: char = '@';

struct Lent<'a> {
    job: &'a PushJob,
    host: String,
}

impl Ranks for Lent<'_> {
    fn rank(&self) -> usize {
        self.job.rank as usize
    }

    fn size(&self) -> usize {
        self.job.ranks as usize
    }

    fn host(&self) -> &str {
        &self.host
    }

    fn gather_equal(&self, mine: &[u8]) -> Vec<u8> {
        let ranks = if self.job.rank == 0 { self.size() } else { 0 };
        let mut all = vec![0; mine.len() * ranks];
        (self.job.gather)(mine.as_ptr().cast(), mine.len() as u64, all.as_mut_ptr().cast());
        all
    }

    fn broadcast(&self, group: usize, data: &mut [u8]) {
        (self.job.broadcast)(group as u32, data.as_mut_ptr().cast(), data.len() as u64);
    }

    fn make_group(&self, is_member: bool) -> usize {
        (self.job.group)(is_member.into()) as usize
    }

    fn tell(&self, number: u64) {
        (self.job.tell)(number);
    }

    fn hear(&self, waits: bool) -> Option<(usize, u64)> {
        let (mut rank, mut number) = (0, 0);
        ((self.job.hear)(waits.into(), &mut rank, &mut number) != 0).then_some((rank as usize, number))
    }
}

/// # Safety
/// `job` and its `host` are valid, and so is `settings`, the texts zero-terminated.
#[no_mangle]
pub unsafe extern "C" fn bl_push_run(job: *const PushJob, settings: *const c_char) -> c_int {
    super::guarded(LOST, || {
        let job = &*job;
        let host = CStr::from_ptr(job.host).to_string_lossy().into_owned();
        let ranks = Lent { job, host };
        // The launcher notices a closed pipe.
        let mut say = |event: serde_json::Value| {
            let mut out = std::io::stdout().lock();
            let _ = writeln!(out, "{event}").and_then(|()| out.flush());
        };
        let mut settings = CStr::from_ptr(settings).to_string_lossy().into_owned();
        if let Some(file) = settings.strip_prefix(IN_FILE).filter(|_| job.rank == 0) {
            // What cannot be read is refused as settings.
            settings = std::fs::read_to_string(file).unwrap_or_default();
        }
        c_int::from(!push(&ranks, &settings, &mut say))
    })
}
