//! What the runtime notes of its calls: statistics, traces, and what the broadcast advisor is told.

pub mod advice;
pub mod call_times;
mod gain;
pub mod predictions;
mod recent_calls;
pub mod row_key;
mod samples;
mod speedup;
pub mod stats;
pub mod trace;
mod turns;
