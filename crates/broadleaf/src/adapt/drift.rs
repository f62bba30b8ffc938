//! Deviations of links from their measurement, and the platform that results.

use super::carried::Carried;
use super::pair::{End, Pair};
use crate::platform::{LinkChange, NodeId, Platform};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes at which a link's rate is read from its class.
const RATE_BYTES: u64 = 1 << 20;

/// The source of a timed transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The executor, from the program's own messages.
    Passive,
    /// The monitor's probe.
    Active,
}

/// One timed transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// Length of the transfer.
    pub bytes: u64,
    /// The time for which it kept its link busy, without latency, seconds.
    pub seconds: f64,
    /// The time on the platform as measured, if the caller has a better value than T(bytes), such as the simulated time
    /// of a plan whose transfers share pipes.
    pub expected_s: Option<f64>,
    /// The time of its end, seconds.
    pub at_s: f64,
    /// Its source.
    pub origin: Origin,
}

/// A deviation from the measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// The links that drifted.
    pub pair: Pair,
    /// The estimated rate over the measured one.
    pub factor: f64,
    /// The estimated latency minus the measured one, seconds.
    pub added_latency_s: f64,
}

impl Drift {
    /// Whether the links are slower than measured.
    pub fn is_worse(&self) -> bool {
        self.factor < 1.0 || self.added_latency_s > 0.0
    }
}

/// The platform with its drifts; itself without any. Slow links of one cluster are modelled as one shared pipe, of the
/// rate at which they have carried data together: else a plan would enter a loaded cluster by several links at once that
/// share one load.
pub(super) fn drifted(base: &Arc<Platform>, drifts: Vec<Drift>, carried: &Carried) -> Arc<Platform> {
    let slow = |pair: &Pair, factor: f64| factor < 1.0 && pair.from != pair.to;
    let mut around: BTreeMap<End, usize> = BTreeMap::new();
    for Drift { pair, factor, .. } in &drifts {
        if slow(pair, *factor) {
            for end in pair.ends() {
                *around.entry(end).or_default() += 1;
            }
        }
    }
    let mut pipes: Vec<(String, f64)> = Vec::new();
    let mut pipe_of: BTreeMap<End, usize> = BTreeMap::new();
    let mut changes = Vec::new();
    for Drift { pair, factor, added_latency_s } in drifts {
        let mut pipe = None;
        let rate = rate_bytes_per_s(base, pair).map(|rate| rate * factor);
        if let (true, Some(rate)) = (slow(&pair, factor), rate) {
            let [out, into] = pair.ends();
            let end = if around[&out] > around[&into] { out } else { into };
            let index = *pipe_of.entry(end).or_insert_with(|| {
                let way = if end.0 { "into" } else { "out of" };
                pipes.push((format!("slowed {way} {}", base.group_name(end.1)), carried.at(end)));
                pipes.len() - 1
            });
            pipes[index].1 = pipes[index].1.max(rate);
            pipe = Some(index);
        }
        changes.push(LinkChange { from: pair.from, to: pair.to, factor, added_latency_s, pipe });
    }
    if changes.is_empty() {
        return Arc::clone(base);
    }
    Arc::new(base.changed(&changes, &pipes))
}

/// The measured rate of a pair's links; none where the rate is unlimited.
fn rate_bytes_per_s(base: &Platform, pair: Pair) -> Option<f64> {
    let (from, to) = representatives(base, pair)?;
    let class = base.link(from, to)?;
    let seconds = base.transfer_s(class, RATE_BYTES) - base.class(class).time.fixed_s();
    (seconds > 0.0).then(|| RATE_BYTES as f64 / seconds)
}

/// The first nodes of a pair's groups with a link between them.
pub(super) fn representatives(base: &Platform, pair: Pair) -> Option<(NodeId, NodeId)> {
    let (from, to) = (base.members(pair.from), base.members(pair.to));
    let pairs = from.iter().flat_map(|&u| to.iter().map(move |&v| (u, v)));
    pairs.into_iter().find(|&(u, v)| base.link(u, v).is_some())
}
