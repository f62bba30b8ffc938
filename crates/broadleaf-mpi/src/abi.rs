//! The border with C, as `c/engine.h` has it. Everything unsafe about the border is here: the functions that C
//! calls, and [`Mpi`], through which this crate calls MPI.

use crate::outcome::Outcome;
use crate::session::{Keeps, Session};
use crate::settings::{self, WorldSettings};
use crate::transport::CallError;
use crate::{report, stats, trace};
use std::ffi::{c_char, c_int, c_void, CStr};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// One finished request (`bl_done`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Done {
    pub request: u32,
    pub source: i32,
    pub bytes: u64,
    /// MPI error code.
    pub error: i32,
    reserved: u32,
}

/// The MPI operations lent by C (`bl_ops`).
#[repr(C)]
pub struct Ops {
    gather: extern "C" fn(*mut c_void, *const c_void, u64, *mut c_void) -> c_int,
    share: extern "C" fn(*mut c_void, *mut c_void, u64, c_int) -> c_int,
    isend: extern "C" fn(*mut c_void, *const c_void, u64, c_int, c_int, u32) -> c_int,
    irecv: extern "C" fn(*mut c_void, *mut c_void, u64, c_int, c_int, u32) -> c_int,
    wait_some: extern "C" fn(*mut c_void, *mut *const Done, *mut u32, c_int) -> c_int,
    withdraw: extern "C" fn(*mut c_void, u32, *mut c_int) -> c_int,
    progress: Option<extern "C" fn(*mut c_void) -> c_int>,
    wait_until: Option<extern "C" fn(f64) -> f64>,
    abandon: extern "C" fn(*mut c_void),
}

/// Settings that a whole world agrees on (`bl_config`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub min_bytes: u64,
    pub disabled: u32,
    pub bad_value: u32,
    pub stats: u32,
    pub has_platform: u32,
    pub trace: u32,
    reserved: u32,
}

/// `bl_outcome`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Verdict {
    verdict: u32,
    mpi_error: c_int,
}

/// An MPI error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MpiError(pub i32);

/// The private side of one communicator.
#[derive(Clone, Copy)]
pub struct Mpi {
    ops: &'static Ops,
    comm: *mut c_void,
}

fn checked(code: c_int) -> Result<(), MpiError> {
    match code {
        0 => Ok(()),
        code => Err(MpiError(code)),
    }
}

const ANY_RANK: c_int = -1;

/// Null for no bytes: the address of an empty vector is 1, which is Open MPI's `MPI_IN_PLACE`.
fn address(bytes: &mut [u8]) -> *mut u8 {
    if bytes.is_empty() {
        std::ptr::null_mut()
    } else {
        bytes.as_mut_ptr()
    }
}

impl Mpi {
    /// # Safety
    /// `comm` is what the functions of `ops` expect, and outlives this.
    pub(crate) unsafe fn new(ops: &'static Ops, comm: *mut c_void) -> Mpi {
        Mpi { ops, comm }
    }

    /// Every rank's `mine`, all of one length, in rank order; empty on all ranks but 0.
    pub fn gather(&self, mine: &[u8], size: usize, rank: usize) -> Result<Vec<u8>, MpiError> {
        let mut all = vec![0u8; if rank == 0 { mine.len() * size } else { 0 }];
        let (from, to) = (mine.as_ptr().cast(), address(&mut all).cast());
        checked((self.ops.gather)(self.comm, from, mine.len() as u64, to))?;
        Ok(all)
    }

    /// Rank 0's bytes to all.
    pub fn share(&self, bytes: &mut [u8]) -> Result<(), MpiError> {
        // SAFETY: the memory is ours for this call.
        unsafe { self.broadcast(bytes.as_mut_ptr(), bytes.len() as u64, 0) }
    }

    /// The root's bytes to all, by the MPI's own broadcast.
    ///
    /// # Safety
    /// `data` points to `bytes` bytes that nothing else touches meanwhile.
    pub unsafe fn broadcast(&self, data: *mut u8, bytes: u64, root: u32) -> Result<(), MpiError> {
        checked((self.ops.share)(self.comm, data.cast(), bytes, root as c_int))
    }

    /// The memory must stay as it is until the request is done.
    pub fn isend(
        &self,
        from: *const u8,
        bytes: u64,
        to: u32,
        tag: i32,
        request: u32,
    ) -> Result<(), MpiError> {
        checked((self.ops.isend)(self.comm, from.cast(), bytes, to as c_int, tag, request))
    }

    /// From one rank or any. The memory must stay untouched until the request is done.
    pub fn irecv(
        &self,
        to: *mut u8,
        bytes: u64,
        from: Option<u32>,
        tag: i32,
        request: u32,
    ) -> Result<(), MpiError> {
        let from = from.map_or(ANY_RANK, |rank| rank as c_int);
        checked((self.ops.irecv)(self.comm, to.cast(), bytes, from, tag, request))
    }

    /// Waits until something is done and appends it; only looks, if not `patient`.
    pub fn wait_some(&self, events: &mut Vec<Done>, patient: bool) -> Result<(), MpiError> {
        let mut done = std::ptr::null();
        let mut count = 0;
        checked((self.ops.wait_some)(self.comm, &mut done, &mut count, patient.into()))?;
        if count > 0 {
            // SAFETY: C has just filled `count` entries there and keeps them until the next operation.
            events.extend_from_slice(unsafe { std::slice::from_raw_parts(done, count as usize) });
        }
        Ok(())
    }

    /// Takes back a receive under way; whether its message had come already.
    pub fn withdraw(&self, request: u32) -> Result<bool, MpiError> {
        let mut has_come = 0;
        checked((self.ops.withdraw)(self.comm, request, &mut has_come))?;
        Ok(has_come != 0)
    }

    /// Whether ranks of one host may share memory under this MPI.
    pub fn shares_memory(&self) -> bool {
        self.ops.progress.is_some()
    }

    /// Lets the MPI move on, for a rank that waits for something else.
    pub fn progress(&self) -> Result<(), MpiError> {
        self.ops.progress.map_or(Ok(()), |progress| checked(progress(self.comm)))
    }

    /// Whether all messages under way share a port from their first byte on, instead of following each other.
    pub fn shares_port(&self) -> bool {
        self.ops.wait_until.is_some()
    }

    /// Waits until that time of the MPI's clock, s, where [`Self::shares_port`]; gives the time.
    pub fn wait_until(&self, seconds: f64) -> f64 {
        self.ops.wait_until.map_or(0.0, |wait_until| wait_until(seconds))
    }

    /// Receives exactly `to.len()` bytes, with nothing else under way; gives the sender.
    pub fn receive(&self, to: &mut [u8], from: Option<u32>, tag: i32) -> Result<u32, CallError> {
        self.irecv(to.as_mut_ptr(), to.len() as u64, from, tag, 0)?;
        let done = self.only()?;
        if done.bytes != to.len() as u64 {
            let sender = done.source;
            let fact = format!("rank {sender} sent {} bytes instead of {}", done.bytes, to.len());
            return Err(CallError::Internal(fact));
        }
        Ok(done.source as u32)
    }

    /// Sends bytes, with nothing else under way.
    pub fn send(&self, bytes: &[u8], to: u32, tag: i32) -> Result<(), CallError> {
        self.isend(bytes.as_ptr(), bytes.len() as u64, to, tag, 0)?;
        self.only().map(|_| ())
    }

    fn only(&self) -> Result<Done, CallError> {
        let mut events = Vec::with_capacity(1);
        self.wait_some(&mut events, true)?;
        match events[0] {
            done if done.error == 0 => Ok(done),
            done => Err(CallError::Mpi(done.error)),
        }
    }

    /// Gives up every request under way.
    pub fn abandon(&self) {
        (self.ops.abandon)(self.comm);
    }
}

impl From<Outcome> for Verdict {
    fn from(outcome: Outcome) -> Self {
        let (verdict, mpi_error) = match outcome {
            Outcome::Done => (0, 0),
            Outcome::Own => (1, 0),
            Outcome::WrongLength => (2, 0),
            Outcome::Mpi(code) => (3, code),
            Outcome::Internal => (4, 0),
            Outcome::BadValue => (5, 0),
        };
        Verdict { verdict, mpi_error }
    }
}

/// Nothing unwinds into C: a panic is our own fault, has been printed, and becomes an error.
pub(crate) fn guarded<T>(on_panic: T, work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(on_panic)
}

/// # Safety
/// `config` points to memory for one.
#[no_mangle]
pub unsafe extern "C" fn bl_config_read(config: *mut Config) {
    let disabled =
        Config { min_bytes: 0, disabled: 1, bad_value: 1, stats: 0, has_platform: 0, trace: 0, reserved: 0 };
    let read = guarded(disabled, || match WorldSettings::read(&settings::environment) {
        Ok(settings) => Config {
            min_bytes: settings.min_bytes,
            disabled: settings.disabled.into(),
            bad_value: 0,
            stats: settings.stats.into(),
            has_platform: settings.has_platform.into(),
            trace: settings.trace.into(),
            reserved: 0,
        },
        Err(bad) => {
            report::once(&bad.to_string());
            Config { stats: settings::environment("BROADLEAF_STATS").is_some().into(), ..disabled }
        }
    });
    *config = read;
}

/// # Safety
/// `ops` is a static table; `comm`, `name`, `host` and `outcome` are valid, the names zero-terminated; `comm`
/// outlives the session.
#[no_mangle]
pub unsafe extern "C" fn bl_session_open(
    ops: *const Ops,
    comm: *mut c_void,
    name: *const c_char,
    rank: c_int,
    size: c_int,
    host: *const c_char,
    host_index: u32,
    config: *const Config,
    outcome: *mut Verdict,
) -> *mut Session {
    let mpi = Mpi { ops: &*ops, comm };
    let text = |text: *const c_char| CStr::from_ptr(text).to_string_lossy().into_owned();
    let (name, host, config) = (text(name), text(host), &*config);
    let opened = guarded(Err(Outcome::Internal), || {
        let place = (host, host_index);
        let keeps = Keeps { stats: config.stats != 0, trace: config.trace != 0 };
        Session::open(mpi, &name, rank as u32, size as u32, place, keeps)
            .map_err(|error| Outcome::from_error(&error))
    });
    match opened {
        Ok(session) => {
            *outcome = Outcome::Done.into();
            Box::into_raw(Box::new(session))
        }
        Err(failed) => {
            *outcome = failed.into();
            std::ptr::null_mut()
        }
    }
}

/// # Safety
/// `session` is null or came from [`bl_session_open`] and is not used afterwards.
#[no_mangle]
pub unsafe extern "C" fn bl_session_close(session: *mut Session) {
    if !session.is_null() {
        guarded((), || drop(Box::from_raw(session)));
    }
}

/// # Safety
/// `packed` points to `bytes` bytes that nothing else touches during the call.
#[no_mangle]
pub unsafe extern "C" fn bl_session_broadcast(
    session: *mut Session,
    packed: *mut u8,
    bytes: u64,
    root: c_int,
) -> Verdict {
    let session = &mut *session;
    guarded(Outcome::Internal, || session.broadcast(packed, bytes, root as u32)).into()
}

/// # Safety
/// `bytes` is valid. The text stays to the end of the process, which has one thread in `MPI_Finalize`.
#[no_mangle]
pub unsafe extern "C" fn bl_stats_text(bytes: *mut u64) -> *const c_char {
    let (text, length) = guarded((std::ptr::null(), 0), stats::collected_text);
    *bytes = length as u64;
    // The address of an empty string is 1, which is Open MPI's `MPI_IN_PLACE`.
    if length == 0 {
        std::ptr::null()
    } else {
        text.cast()
    }
}

#[no_mangle]
pub extern "C" fn bl_trace_clock_s() -> f64 {
    trace::now_s()
}

/// # Safety
/// `host` is zero-terminated, `bytes` valid. The text stays to the end of the process, which has one thread
/// in `MPI_Finalize`.
#[no_mangle]
pub unsafe extern "C" fn bl_trace_text(
    rank: c_int,
    ranks: c_int,
    host: *const c_char,
    behind_s: f64,
    bytes: *mut u64,
) -> *const c_char {
    let (text, length) = guarded((std::ptr::null(), 0), || {
        let host = CStr::from_ptr(host).to_string_lossy();
        trace::collected_text(rank as u32, ranks as u32, &host, behind_s)
    });
    *bytes = length as u64;
    text.cast()
}

/// # Safety
/// `texts` is valid for its bytes.
#[no_mangle]
pub unsafe extern "C" fn bl_trace_write(texts: *const c_char, bytes: u64, is_spawned: c_int) {
    guarded((), || {
        let texts: &[u8] =
            if bytes == 0 { &[] } else { std::slice::from_raw_parts(texts.cast(), bytes as usize) };
        if let Err(line) = trace::write(&String::from_utf8_lossy(texts), is_spawned != 0) {
            report::once(&line);
        }
    });
}

/// What rank 0 of a world knows by itself (`bl_world`).
#[repr(C)]
pub struct WorldView {
    mpi: *const c_char,
    ranks: i32,
    is_spawned: i32,
    reasons: *const *const c_char,
    passed: *const u64,
    reason_count: u32,
    reserved: u32,
    min_bytes: u64,
}

/// # Safety
/// The pointers are valid for their counts; the names are zero-terminated.
#[no_mangle]
pub unsafe extern "C" fn bl_stats_write(texts: *const c_char, bytes: u64, world: *const WorldView) {
    guarded((), || {
        let world = &*world;
        let texts: &[u8] =
            if bytes == 0 { &[] } else { std::slice::from_raw_parts(texts.cast(), bytes as usize) };
        let text = |text: *const c_char| CStr::from_ptr(text).to_string_lossy().into_owned();
        let count = world.reason_count as usize;
        let reasons = std::slice::from_raw_parts(world.reasons, count);
        let passed = std::slice::from_raw_parts(world.passed, count);
        let world = stats::World {
            mpi: text(world.mpi),
            ranks: world.ranks as u32,
            min_bytes: world.min_bytes,
            is_spawned: world.is_spawned != 0,
            passed: reasons.iter().zip(passed).map(|(&reason, &count)| (text(reason), count)).collect(),
        };
        if let Err(line) = stats::write(&world, &String::from_utf8_lossy(texts)) {
            report::once(&line);
        }
    });
}
