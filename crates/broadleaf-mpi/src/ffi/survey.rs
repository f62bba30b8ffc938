//! The measurement of the probe program, as `probe/survey.h` declares it.

use crate::probe::{say_error, Survey};
use broadleaf::measure::{RankHost, Round, Task, Trial};
use std::ffi::{c_char, c_int, CStr};

const HOST_BYTES: usize = 256;
const MOST_TRIALS: usize = 5;
const MOST_FAN: usize = 8;

/// Where a rank runs (`bl_seat`).
#[repr(C)]
pub struct Seat {
    host: [c_char; HOST_BYTES],
    cores: u32,
    load: f64,
}

/// `bl_trial`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct TrialOrder {
    kind: u32,
    repeats: u32,
    window: u32,
    reserved: u32,
    bytes: u64,
    pause_s: f64,
}

/// `bl_task`.
#[repr(C)]
pub struct TaskOrder {
    from: u32,
    to: u32,
    trial_count: u32,
    together: u32,
    fan: u32,
    reserved: u32,
    trials: [TrialOrder; MOST_TRIALS],
}

impl From<&Trial> for TrialOrder {
    fn from(trial: &Trial) -> Self {
        let order = TrialOrder { repeats: trial.repeats(), ..TrialOrder::default() };
        match *trial {
            Trial::PingPong { bytes, .. } => TrialOrder { kind: 0, bytes, ..order },
            Trial::Burst { bytes, window, .. } => TrialOrder { kind: 1, bytes, window, ..order },
            Trial::LateReceive { bytes, pause_s, .. } => TrialOrder { kind: 2, bytes, pause_s, ..order },
        }
    }
}

impl TaskOrder {
    fn new(task: &Task, round: &Round) -> Self {
        let fan = round.iter().filter(|other| other.from == task.from).count();
        assert!(fan <= MOST_FAN, "{fan} tasks of one sender");
        assert!(task.trials.len() <= MOST_TRIALS, "{} trials in a task", task.trials.len());
        let mut trials = [TrialOrder::default(); MOST_TRIALS];
        trials.iter_mut().zip(&task.trials).for_each(|(order, trial)| *order = trial.into());
        let trial_count = task.trials.len() as u32;
        // A sender of several tasks is alone in its round.
        let together = (fan < round.len()).into();
        TaskOrder {
            from: task.from.0,
            to: task.to.0,
            trial_count,
            together,
            fan: fan as u32,
            reserved: 0,
            trials,
        }
    }
}

/// As [`super::guarded`]; the panic is also reported on the probe's standard output.
fn guarded<T>(on_panic: T, work: impl FnOnce() -> T) -> T {
    super::guarded(None, || Some(work())).unwrap_or_else(|| {
        say_error("the probe has a fault of its own; please report the lines above");
        on_panic
    })
}

/// # Safety
/// `settings` is zero-terminated; `seats` has `count` entries with zero-terminated names.
#[no_mangle]
pub unsafe extern "C" fn bl_survey_open(
    settings: *const c_char,
    seats: *const Seat,
    count: u32,
) -> *mut Survey {
    guarded(std::ptr::null_mut(), || {
        let text = CStr::from_ptr(settings).to_string_lossy();
        let rank = |seat: &Seat| {
            let host = CStr::from_ptr(seat.host.as_ptr()).to_string_lossy().into_owned();
            RankHost { host, cores: seat.cores }
        };
        let seats = std::slice::from_raw_parts(seats, count as usize);
        let ranks: Vec<RankHost> = seats.iter().map(rank).collect();
        let loads: Vec<f64> = seats.iter().map(|seat| seat.load).collect();
        match Survey::open(&text, &ranks, &loads) {
            Ok(survey) => Box::into_raw(Box::new(survey)),
            Err(message) => {
                say_error(&message);
                std::ptr::null_mut()
            }
        }
    })
}

/// # Safety
/// `survey` is open; `tasks` has room for as many tasks as there are ranks.
#[no_mangle]
pub unsafe extern "C" fn bl_survey_next(survey: *mut Survey, now_s: f64, tasks: *mut TaskOrder) -> c_int {
    guarded(-1, || {
        let round = (*survey).next(now_s);
        for (index, task) in round.iter().enumerate() {
            tasks.add(index).write(TaskOrder::new(task, round));
        }
        round.len() as c_int
    })
}

/// # Safety
/// `survey` is open; `samples` is as in `survey.h`.
#[no_mangle]
pub unsafe extern "C" fn bl_survey_take(
    survey: *mut Survey,
    now_s: f64,
    samples: *const *const f64,
) -> c_int {
    guarded(1, || {
        (*survey).take(now_s, samples);
        0
    })
}

/// # Safety
/// `survey` is open, and is not used again.
#[no_mangle]
pub unsafe extern "C" fn bl_survey_close(survey: *mut Survey) -> c_int {
    guarded(1, || Box::from_raw(survey).close().into())
}
