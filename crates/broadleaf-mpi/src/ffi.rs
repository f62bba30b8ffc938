//! The functions that C calls, as `c/engine.h` declares them.

mod push;
mod survey;
mod times;

use crate::mpi::{Mpi, Ops};
use crate::observe::advice::Mailbox;
use crate::observe::{destination, stats, trace};
use crate::outcome::Outcome;
use crate::session::{BlockBytes, Lack, Session};
use crate::settings::{self, WorldSettings};
use crate::topology::platform_file::load;
use crate::{report, reserve, smpi};
use std::ffi::{c_char, c_int, c_void, CStr};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;

/// `bl_outcome`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Verdict {
    verdict: u32,
    mpi_error: c_int,
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
            Outcome::NoMemory => (6, 0),
        };
        Verdict { verdict, mpi_error }
    }
}

/// No panic unwinds into C: it is a bug in Broadleaf, has been printed, and becomes an error.
fn guarded<T>(on_panic: T, work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(on_panic)
}

/// # Safety
/// As [`Mpi::new`].
unsafe fn lent(ops: *const Ops, comm: *mut c_void) -> Mpi {
    let mpi = Mpi::new(&*ops, comm);
    smpi::switch(&mpi);
    mpi
}

/// The opened object, which C keeps, or null with the outcome.
unsafe fn given<T>(opened: Result<T, Outcome>, outcome: *mut Verdict) -> *mut T {
    outcome.write(opened.as_ref().err().copied().unwrap_or(Outcome::Done).into());
    opened.map_or(std::ptr::null_mut(), |opened| Box::into_raw(Box::new(opened)))
}

/// Texts from C; empty for a null pointer.
unsafe fn lent_text<'a>(texts: *const c_char, bytes: u64) -> std::borrow::Cow<'a, str> {
    let texts: &[u8] =
        if bytes == 0 { &[] } else { std::slice::from_raw_parts(texts.cast(), bytes as usize) };
    String::from_utf8_lossy(texts)
}

/// # Safety
/// `config` points to memory for one.
#[no_mangle]
pub unsafe extern "C" fn bl_config_read(config: *mut WorldSettings) {
    let disabled = WorldSettings { disabled: true, bad_value: true, ..WorldSettings::default() };
    let read = guarded(disabled, || {
        destination::note();
        WorldSettings::read(&settings::environment).unwrap_or_else(|bad| {
            report::once(&bad.to_string());
            WorldSettings { stats: settings::environment("BROADLEAF_STATS").is_some(), ..disabled }
        })
    });
    config.write(read);
}

/// # Safety
/// `config` points to what [`bl_config_read`] has read.
#[no_mangle]
pub unsafe extern "C" fn bl_config_try(config: *mut WorldSettings) {
    let config = &mut *config;
    if config.disabled {
        return;
    }
    let named = |variable: &str| settings::environment(variable).map(PathBuf::from);
    let (is_bad, is_alone) = guarded((true, true), || {
        let platform = named("BROADLEAF_PLATFORM").map_or(Ok(()), |path| load(&path).map(drop));
        let advisor = named("BROADLEAF_ADVICE").map_or(Ok(()), |directory| Mailbox::may_be_at(&directory));
        if let Err(line) = &platform {
            report::once(&format!("{line}; the MPI's own broadcast is used"));
        }
        if let (Err(line), Ok(())) = (&advisor, &platform) {
            report::once(line);
        }
        (platform.is_err(), advisor.is_err())
    });
    config.without_advisor = is_alone;
    if is_bad {
        (config.disabled, config.bad_value, config.follows_platform) = (true, true, false);
    }
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
    config: *const WorldSettings,
    outcome: *mut Verdict,
) -> *mut Session {
    let mpi = lent(ops, comm);
    let text = |text: *const c_char| CStr::from_ptr(text).to_string_lossy().into_owned();
    let (name, host, config) = (text(name), text(host), &*config);
    let opened = guarded(Err(Outcome::Internal), || {
        let place = (host, host_index);
        Session::open(mpi, &name, rank as u32, size as u32, place, config)
            .map_err(|error| Outcome::from_error(&error))
    });
    given(opened, outcome)
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
/// `session` came from [`bl_session_open`].
#[no_mangle]
pub unsafe extern "C" fn bl_session_threshold(session: *const Session) -> u64 {
    (*session).threshold()
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
/// `packed` is null, or points to a block for every rank that nothing else touches during the call; each has `bytes`, or, where that
/// is not null, its length in `sizes`, the largest of which is `bytes`.
#[no_mangle]
pub unsafe extern "C" fn bl_session_exchange(
    session: *mut Session,
    collective: u32,
    packed: *mut u8,
    is_length_wrong: c_int,
    bytes: u64,
    sizes: *const u64,
    element_bytes: u64,
    root: c_int,
) -> Verdict {
    let session = &mut *session;
    let count = session.size() as usize;
    let sizes = (!sizes.is_null()).then(|| std::slice::from_raw_parts(sizes, count));
    let blocks = BlockBytes { largest: bytes, sizes, element: element_bytes };
    let packed = match (packed.is_null(), is_length_wrong != 0) {
        (false, _) => Ok(packed),
        (true, false) => Err(Lack::Memory),
        (true, true) => Err(Lack::Length),
    };
    guarded(Outcome::Internal, || match settings::collective(collective) {
        Some(collective) => session.exchange(collective, packed, blocks, root as u32),
        None => Outcome::Own,
    })
    .into()
}

/// # Safety
/// `session` came from `bl_session_open`.
#[no_mangle]
pub unsafe extern "C" fn bl_session_exchange_threshold(session: *const Session) -> u64 {
    (*session).exchange_threshold()
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
/// `ops` is a static table, `host` is zero-terminated, `bytes` valid. The text stays to the end of the process.
#[no_mangle]
pub unsafe extern "C" fn bl_trace_text(
    ops: *const Ops,
    rank: c_int,
    ranks: c_int,
    host: *const c_char,
    behind_s: f64,
    bytes: *mut u64,
) -> *const c_char {
    let (text, length) = guarded((std::ptr::null(), 0), || {
        let host = CStr::from_ptr(host).to_string_lossy();
        let process = lent(ops, std::ptr::null_mut()).process();
        trace::collected_text(process, (rank as u32, ranks as u32), &host, behind_s)
    });
    *bytes = length as u64;
    text.cast()
}

/// # Safety
/// `texts` is valid for its bytes.
#[no_mangle]
pub unsafe extern "C" fn bl_trace_write(texts: *const c_char, bytes: u64, is_spawned: c_int) {
    guarded((), || {
        if let Err(line) = trace::write(&lent_text(texts, bytes), is_spawned != 0) {
            report::once(&line);
        }
    });
}

/// Rank 0's own data (`bl_world`).
#[repr(C)]
pub struct WorldView {
    mpi: *const c_char,
    ranks: i32,
    is_spawned: i32,
    reasons: *const *const c_char,
    passed: *const u64,
    others: *const *const c_char,
    not_planned: *const u64,
    reason_count: u32,
    other_count: u32,
    min_bytes: u64,
    config: *const WorldSettings,
}

/// # Safety
/// The pointers are valid for their counts; the names are zero-terminated.
#[no_mangle]
pub unsafe extern "C" fn bl_stats_write(texts: *const c_char, bytes: u64, world: *const WorldView) {
    guarded((), || {
        let world = &*world;
        let text = |text: *const c_char| CStr::from_ptr(text).to_string_lossy().into_owned();
        let counts = |names, counts, count: u32| {
            let names: &[*const c_char] = std::slice::from_raw_parts(names, count as usize);
            let counts: &[u64] = std::slice::from_raw_parts(counts, count as usize);
            names.iter().zip(counts).map(|(&name, &count)| (text(name), count)).collect()
        };
        let config = &*world.config;
        let world = stats::World {
            mpi: text(world.mpi),
            mode: (!config.disabled).then_some(config.mode),
            has_platform: config.has_platform,
            ranks: world.ranks as u32,
            min_bytes: world.min_bytes,
            is_spawned: world.is_spawned != 0,
            passed: counts(world.reasons, world.passed, world.reason_count),
            not_planned: counts(world.others, world.not_planned, world.other_count),
        };
        if let Err(line) = stats::write(&world, &lent_text(texts, bytes)) {
            report::once(&line);
        }
    });
}

/// # Safety
/// `address` is null or came from here and has not been released.
#[no_mangle]
pub unsafe extern "C" fn bl_resize(address: *mut c_void, bytes: u64) -> *mut c_void {
    usize::try_from(bytes).map_or(std::ptr::null_mut(), |bytes| reserve::resize(address.cast(), bytes).cast())
}

/// # Safety
/// As [`bl_resize`].
#[no_mangle]
pub unsafe extern "C" fn bl_release(address: *mut c_void) {
    reserve::release(address.cast());
}
