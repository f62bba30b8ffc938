//! Measuring a network: the experiments to run next, and the resulting platform.
//!
//! Nothing here sends a byte or reads a clock. A [`Probe`] returns the next [`Round`] of experiments,
//! takes the samples, and in the end gives a [`Platform`](crate::platform::Platform); the probe program of
//! `broadleaf-mpi` performs the rounds with real messages, the tests with a simulated network.
//!
//! The stages in order, one file each in `stages/`:
//!
//! 1. `latencies`: the empty round trip of every pair; `lowekamp` groups the nodes by it. `one_way` finds which pairs
//!    between the same clusters differ, and the two directions of a pair where both ends read one clock.
//! 2. `screening`: one large message per pair of a cluster, and (`screening_between`) for each node between two
//!    clusters. It finds the pairs
//!    that differ from the others (`outliers`), and checks whether pairs of the cluster disturb each other.
//! 3. `gap_tables`: pLogP's L, g(m), os(m), or(m), at sizes that `gap_table` picks where g bends. Of the typical pairs
//!    between two clusters only one is measured.
//! 4. `recheck`: impossible values (`doubts`) are measured again, and marked if confirmed.
//! 5. `bottlenecks`: several pairs at once, between clusters and inside hosts: where the rate per pair falls, they share a
//!    resource. `accesses`: pairs from one site to two others, or from two.
//!
//! 6. `ports`: a node sends to several others at once: where that is much faster than one after the other, the platform
//!    is multi-port.
//!
//! Stages 2, 3 and 5 measure pairs of many clusters at the same time where one at a time would take longer than their
//! share of the time (`pair_rounds`), and what company may have changed again alone.
//!
//! Of a network known by matrices only, `assumed_pipes` recovers clusters and shared pipes, and `assumed_wires` those
//! between switches.
//!
//! `assemble` makes nodes, meshes, bridges, links and shared resources from the findings.
//!
//! Results of stages are in `findings`; a measurement that is ended early is assembled from those so far
//! ([`Probe::so_far`]).
//!
//! The method is that of Kielmann, Bal, Verstoep, *Fast Measurement of LogP Parameters for Message Passing
//! Platforms*, 2000. pLogP describes a pair by the latency L and by three functions of the message's size m: the
//! gap g(m) for which a message occupies the network, and the overheads os(m), or(m) for which sending and
//! receiving occupy the processors.
//!
//! - g(0) is found by saturation: n empty messages back to back take n · g(0), whatever the latency is.
//! - All else by single round trips, a message of m bytes there and an empty one back: `L = (RTT(0) − 2 g(0)) / 2` and
//!   `g(m) = RTT(m) − RTT(0) + g(0)`. So saturation is only needed for g(0).
//! - os(m) is the time in the send call, or(m) that in the receive call of a message that has long arrived.
//! - m is doubled; where g(m) is not on the line through its neighbours, the interval is halved.
//!
//! Beyond the method: bursts where a round trip has waiting in it, and for the bulk effect (`gap_table`); samples in
//! which a side waited for a processor left out (`experiment`); groups of delayed samples kept apart (`delay_modes`);
//! medians whose confidence decides when to stop (`statistics`). The constants are in `settings`.

mod assemble;
mod assumed_pipes;
mod assumed_wires;
mod delay_modes;
mod doubts;
mod experiment;
mod findings;
mod gap_table;
mod groups;
mod hosts;
mod lowekamp;
mod one_way;
mod outliers;
mod pair_table;
mod probe;
mod rates;
mod remarks;
mod settings;
mod stages;
mod statistics;
mod tournament;

#[cfg(test)]
mod fake_network;
#[cfg(test)]
mod tests;

pub use assumed_pipes::{with_assumed_clusters, with_assumed_pipes};
pub use doubts::{Doubt, DoubtfulPair, Quality};
pub use experiment::{Round, Samples, Task, Trial};
pub use hosts::RankHost;
pub use lowekamp::clusters;
pub use probe::{MeasureError, Probe, Progress};
pub use settings::ProbeSettings;
