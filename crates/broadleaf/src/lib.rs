//! Broadleaf's core: pure and deterministic. No MPI, no global random state, no Python, and no clock except in the
//! [`budget`] that is passed in.
//!
//! The flow is [`platform`] → [`model`] → [`plan`] → [`planners`] → [`portfolio`], and a plan is run by the one
//! [`execute`]d state machine that the [`simulate`]d network, threads and MPI all drive.

#![deny(missing_docs)]

pub mod adapt;
pub mod budget;
pub mod execute;
pub mod files;
pub mod json;
pub mod measure;
pub mod model;
pub mod optimum;
pub mod parallel;
pub mod plan;
pub mod planners;
pub mod platform;
pub mod portfolio;
pub mod random;
pub mod simulate;
pub mod trace_events;
pub mod tune;
