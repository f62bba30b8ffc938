//! Measuring a network: which experiments to run next, and the platform that their samples add up to.
//!
//! Nothing here sends a byte or reads a clock. A [`Probe`] says which [`Round`] of experiments comes next,
//! takes the samples, and in the end is a [`Platform`](crate::platform::Platform); the probe program of
//! `broadleaf-mpi` performs the rounds with real messages, the tests with a network they know by heart.
//!
//! The order of things, one file each:
//!
//! 1. `latencies`: the empty round trip of every pair; `lowekamp` groups the nodes by it.
//! 2. `screening`: one large message per pair of a cluster finds the pairs that are not like the others,
//!    and whether pairs of the cluster disturb each other.
//! 3. `tables`: pLogP's L, g(m), os(m), or(m), at sizes that `growth` picks where g bends. Between
//!    clusters only representatives are measured.
//! 4. `pipes`: two and four pairs at once, between clusters and inside hosts: where the rate per pair
//!    falls, they share a pipe.
//! 5. `assemble`: nodes, meshes, bridges, links and shared resources.
//!
//! pLogP and its measurement: Kielmann, Bal, Verstoep, *Fast Measurement of LogP Parameters for Message
//! Passing Platforms*, 2000. With g(0) from saturation,
//! `L = (RTT(0) − 2 g(0)) / 2` and `g(m) = RTT(m) − RTT(0) + g(0)`.

mod assemble;
mod experiment;
mod findings;
mod fit;
mod growth;
mod hosts;
mod latencies;
mod lowekamp;
mod modes;
mod pipes;
mod probe;
mod screening;
mod statistic;
mod tables;
mod tournament;

#[cfg(test)]
mod fake_network;
#[cfg(test)]
mod tests;

pub use experiment::{Round, Samples, Task, Trial};
pub use hosts::RankHost;
pub use lowekamp::clusters;
pub use probe::{MeasureError, Probe, Progress, Settings};
