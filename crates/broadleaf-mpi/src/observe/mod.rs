//! What the runtime notes of its calls: statistics, traces, and what the broadcast advisor is told.

pub mod advice;
mod recent_calls;
pub mod stats;
pub mod trace;
