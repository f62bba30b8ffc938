//! Records of the runtime's calls: statistics, traces, and notes for the advisor.

pub mod advice;
pub mod call_times;
pub mod destination;
mod gain;
pub mod predictions;
mod recent_calls;
pub mod row_key;
mod samples;
mod speedup;
pub mod stats;
pub mod trace;
mod turns;
