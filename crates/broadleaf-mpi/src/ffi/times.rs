//! Times of planned and native calls, as `c/engine.h` declares them.

use super::guarded;
use crate::observe::call_times::CallTimes;
use crate::session::Session;
use crate::settings::{self, Mode, WorldSettings};
use std::ffi::{c_char, c_int, CStr};

/// # Safety
/// `name` is zero-terminated, `session` null or from `bl_session_open`, `config` valid.
#[no_mangle]
pub unsafe extern "C" fn bl_times_open(
    communicator: u64,
    name: *const c_char,
    rank: c_int,
    size: c_int,
    session: *const Session,
    config: *const WorldSettings,
) -> *mut CallTimes {
    let (name, config) = (CStr::from_ptr(name).to_string_lossy(), &*config);
    guarded(std::ptr::null_mut(), || {
        let mode = (!config.disabled).then_some(config.mode);
        let predicts = rank == 0 && mode == Some(Mode::Observe) && config.has_platform;
        let predictor = session.as_ref().filter(|_| predicts).map(Session::predictor);
        let times = CallTimes::new(communicator, &name, rank as u32, size as u32, mode, predictor);
        Box::into_raw(Box::new(times))
    })
}

/// # Safety
/// `times` is null or came from [`bl_times_open`] and is not used afterwards.
#[no_mangle]
pub unsafe extern "C" fn bl_times_close(times: *mut CallTimes) {
    if !times.is_null() {
        guarded((), || drop(Box::from_raw(times)));
    }
}

/// # Safety
/// `times` came from [`bl_times_open`].
#[no_mangle]
pub unsafe extern "C" fn bl_times_next_is_native(
    times: *mut CallTimes,
    collective: u32,
    bytes: u64,
    root: c_int,
) -> c_int {
    let times = &mut *times;
    guarded(0, || {
        let collective = settings::collective(collective).unwrap_or_default();
        times.next_is_native(collective, root as u32, bytes).into()
    })
}

/// # Safety
/// As [`bl_times_next_is_native`].
#[no_mangle]
pub unsafe extern "C" fn bl_times_native(
    times: *mut CallTimes,
    collective: u32,
    bytes: u64,
    root: c_int,
    seconds: f64,
) {
    let times = &mut *times;
    guarded((), || {
        let collective = settings::collective(collective).unwrap_or_default();
        times.native(collective, root as u32, bytes, seconds);
    });
}

/// # Safety
/// As [`bl_times_next_is_native`]; `session` came from `bl_session_open` and ran the call.
#[no_mangle]
pub unsafe extern "C" fn bl_times_planned(
    times: *const CallTimes,
    collective: u32,
    bytes: u64,
    root: c_int,
    seconds: f64,
    session: *const Session,
) {
    let (times, session) = (&*times, &*session);
    guarded((), || {
        let collective = settings::collective(collective).unwrap_or_default();
        times.planned(collective, root as u32, bytes, seconds, session.plan_version());
    });
}
