//! The network as currently estimated: the platform as measured, and the drift of its links.
//!
//! All links from one cluster to another count as equal (the paper measures one representative of each cluster); inside a
//! cluster each link has an estimate of its own, for a slow host. A sample is the time for which one transfer kept its link
//! busy; only probes measure a link's latency. One deviating sample may be an outlier; a second consecutive one that agrees with it is the begin
//! or the end of a drift. Until then the link is *in doubt*. So are, after a drift, all other links at its two ends: a
//! load on one link of a cluster usually slows more of them, and a plan made before their probes would only move to the
//! next slow link. An active monitor probes links in doubt first; then slow links that no plan uses, since only a probe
//! can show the end of their load.

use super::belief::Belief;
use super::carried::Carried;
use super::drift::{drifted, representatives};
use crate::platform::{NodeId, Platform};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use super::drift::{Drift, Origin, Sample};
pub use super::pair::Pair;

/// Rates that differ by less than this share count as equal: time-sharing and measurement cause about this error, and
/// another plan would gain less.
pub const TOLERANCE: f64 = 0.2;

/// The smallest share of a transfer's time that its bytes must take for the sample to measure the rate.
const TELLING: f64 = 0.2;

/// Latencies that differ by less than this count as equal, seconds: a busy host delays its answer by as much.
const LATENCY_SLACK_S: f64 = 5e-4;

/// Limits of the factors.
const SLOWEST: f64 = 1e-3;
const FASTEST: f64 = 1e3;

/// The estimates of one pair's links.
#[derive(Clone, Copy, Debug)]
struct Beliefs {
    /// The present rate over the measured one.
    factor: Belief,
    added_latency_s: Belief,
    seen_at_s: f64,
}

impl Beliefs {
    fn is_settled(&self) -> bool {
        self.factor.is_settled() && self.added_latency_s.is_settled()
    }
}

/// The estimates of all links.
#[derive(Clone, Debug)]
pub struct LinkEstimates {
    base: Arc<Platform>,
    pairs: Vec<Pair>,
    beliefs: BTreeMap<Pair, Beliefs>,
    doubts: BTreeSet<Pair>,
    carried: Carried,
    version: u64,
    current: Arc<Platform>,
}

impl LinkEstimates {
    /// Estimates equal to `base`.
    pub fn new(base: Arc<Platform>) -> LinkEstimates {
        let pairs = pairs(&base);
        let current = Arc::clone(&base);
        let (beliefs, doubts) = (BTreeMap::new(), BTreeSet::new());
        LinkEstimates { base, pairs, beliefs, doubts, carried: Carried::default(), version: 0, current }
    }

    /// The platform as it was measured.
    pub fn base(&self) -> &Arc<Platform> {
        &self.base
    }

    /// The platform to plan for now; `base` itself without drifts.
    pub fn platform(&self) -> &Arc<Platform> {
        &self.current
    }

    /// Grows with every drift that begins or ends.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The pair that a link belongs to.
    pub fn pair(&self, from: NodeId, to: NodeId) -> Pair {
        Pair::of(&self.base, from, to)
    }

    /// All pairs of groups between which there are links, and one link inside each cluster.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// The estimated rate over the measured one.
    pub fn factor(&self, pair: Pair) -> f64 {
        self.beliefs.get(&pair).map_or(1.0, |beliefs| beliefs.factor.value())
    }

    /// The estimated latency minus the measured one, seconds.
    pub fn added_latency_s(&self, pair: Pair) -> f64 {
        self.beliefs.get(&pair).map_or(0.0, |beliefs| beliefs.added_latency_s.value())
    }

    /// The pairs whose rate or latency is not the measured one.
    pub fn drifts(&self) -> impl Iterator<Item = Drift> + '_ {
        self.beliefs
            .iter()
            .map(|(&pair, beliefs)| Drift {
                pair,
                factor: beliefs.factor.value(),
                added_latency_s: beliefs.added_latency_s.value(),
            })
            .filter(|drift| drift.factor != 1.0 || drift.added_latency_s != 0.0)
    }

    /// The pairs to probe before planning.
    pub fn doubts(&self) -> impl ExactSizeIterator<Item = Pair> + '_ {
        self.doubts.iter().copied()
    }

    /// Takes a sample; true if it changed an estimate. A sample without information (a link that does not exist, a time
    /// that is not positive, too few bytes) is ignored.
    pub fn observe(&mut self, sample: &Sample) -> bool {
        let Some(factor) = self.factor_of(sample) else { return false };
        let pair = self.pair(sample.from, sample.to);
        let mean = |a: f64, b: f64| (a * b).sqrt();
        let is_news = self.beliefs_of(pair, sample.at_s).factor.see(factor, 1.0, alike, mean);
        self.conclude(pair, is_news, sample.at_s)
    }

    /// Takes a probed latency of a link, seconds; true if it changed an estimate. One without information (a link that
    /// does not exist, a negative time) is ignored.
    pub fn observe_latency(&mut self, from: NodeId, to: NodeId, latency_s: f64, at_s: f64) -> bool {
        let Some(measured_s) = self.latency_s(from, to) else { return false };
        if !latency_s.is_finite() || latency_s < 0.0 {
            return false;
        }
        let pair = self.pair(from, to);
        let alike = |a: f64, b: f64| {
            let least_s = measured_s + a.min(b);
            (a - b).abs() <= TOLERANCE * least_s.max(0.0) + LATENCY_SLACK_S
        };
        let mean = |a: f64, b: f64| 0.5 * (a + b);
        let added_s = latency_s - measured_s;
        let is_news = self.beliefs_of(pair, at_s).added_latency_s.see(added_s, 0.0, alike, mean);
        self.conclude(pair, is_news, at_s)
    }

    fn beliefs_of(&mut self, pair: Pair, at_s: f64) -> &mut Beliefs {
        let start = Beliefs { factor: Belief::new(1.0), added_latency_s: Belief::new(0.0), seen_at_s: at_s };
        let beliefs = self.beliefs.entry(pair).or_insert(start);
        beliefs.seen_at_s = at_s;
        beliefs
    }

    fn conclude(&mut self, pair: Pair, is_news: bool, at_s: f64) -> bool {
        if self.beliefs[&pair].is_settled() {
            self.doubts.remove(&pair);
        } else {
            self.doubts.insert(pair);
        }
        if !is_news {
            return false;
        }
        self.doubt_around(pair, at_s);
        self.carried.forget(pair);
        self.change();
        true
    }

    /// Takes the rates of the links of one broadcast, bytes/s, after its samples: what slow links of a cluster carried
    /// together. Links that the platform lacks are ignored.
    pub fn observe_together(&mut self, rates: &[(NodeId, NodeId, f64)]) {
        let is_known = |&&(from, to, rate): &&(NodeId, NodeId, f64)| {
            self.latency_s(from, to).is_some() && rate.is_finite() && rate > 0.0
        };
        let rates: Vec<(Pair, f64)> =
            rates.iter().filter(is_known).map(|&(from, to, rate)| (self.pair(from, to), rate)).collect();
        if self.carried.take(&rates, TOLERANCE) && self.drifts().next().is_some() {
            self.change();
        }
    }

    fn change(&mut self) {
        self.version += 1;
        self.current = drifted(&self.base, self.drifts().collect(), &self.carried);
    }

    /// A link's measured latency, seconds.
    fn latency_s(&self, from: NodeId, to: NodeId) -> Option<f64> {
        let nodes = self.base.node_count();
        if from.index() >= nodes || to.index() >= nodes {
            return None;
        }
        Some(self.base.class(self.base.link(from, to)?).latency_s)
    }

    /// All pairs, and all other links that were sampled, in the order in which a monitor should probe them: doubtful ones,
    /// slow ones that no plan uses, then the least recently probed.
    pub fn probe_order(&self, is_in_use: impl Fn(Pair) -> bool) -> Vec<Pair> {
        let mut order = self.pairs.clone();
        order.extend(self.beliefs.keys().filter(|pair| self.pairs.binary_search(pair).is_err()));
        order.sort_by(|a, b| {
            let has_drifted = |pair: &Pair| self.factor(*pair) != 1.0 || self.added_latency_s(*pair) != 0.0;
            let rank = |pair: &Pair| match (self.doubts.contains(pair), has_drifted(pair)) {
                (true, _) => 0,
                (false, true) if !is_in_use(*pair) => 1,
                _ => 2,
            };
            let seen =
                |pair: &Pair| self.beliefs.get(pair).map_or(f64::NEG_INFINITY, |belief| belief.seen_at_s);
            rank(a).cmp(&rank(b)).then(seen(a).total_cmp(&seen(b))).then(a.cmp(b))
        });
        order
    }

    /// The two nodes to probe a pair with: the first of each group, the first two of one.
    pub fn representatives(&self, pair: Pair) -> Option<(NodeId, NodeId)> {
        representatives(&self.base, pair)
    }

    /// Marks the other links at both ends of a changed one as doubtful, unless they were sampled just now.
    fn doubt_around(&mut self, changed: Pair, now_s: f64) {
        for &pair in &self.pairs {
            let ends = [pair.from, pair.to];
            let touches =
                pair.from != pair.to && (ends.contains(&changed.from) || ends.contains(&changed.to));
            let is_fresh = self
                .beliefs
                .get(&pair)
                .is_some_and(|beliefs| beliefs.seen_at_s >= now_s && beliefs.is_settled());
            if pair != changed && touches && !is_fresh {
                self.doubts.insert(pair);
            }
        }
    }

    /// The sample's rate over the measured one.
    fn factor_of(&self, sample: &Sample) -> Option<f64> {
        let nodes = self.base.node_count();
        if sample.from.index() >= nodes || sample.to.index() >= nodes || !sample.seconds.is_finite() {
            return None;
        }
        let class = self.base.link(sample.from, sample.to)?;
        let fixed_s = self.base.class(class).time.fixed_s();
        let bytes_s = sample.expected_s.unwrap_or(self.base.transfer_s(class, sample.bytes)) - fixed_s;
        if sample.seconds <= 0.0 || bytes_s < TELLING * (bytes_s + fixed_s) || bytes_s <= 0.0 {
            return None;
        }
        Some((bytes_s / (sample.seconds - fixed_s).max(bytes_s / FASTEST)).clamp(SLOWEST, FASTEST))
    }
}

fn alike(a: f64, b: f64) -> bool {
    a.max(b) <= (1.0 + TOLERANCE) * a.min(b)
}

/// All pairs of groups with a link between them, and the first link inside each cluster, in order.
fn pairs(platform: &Platform) -> Vec<Pair> {
    let (mut pairs, mut inside) = (BTreeSet::new(), BTreeSet::new());
    for from in platform.hosts() {
        // One of a cluster stands for all, unless it is the one with fewer links.
        for (to, _) in platform.successors(from) {
            let group = platform.group(from);
            if group != platform.group(to) || inside.insert(group) {
                pairs.insert(Pair::of(platform, from, to));
            }
        }
    }
    pairs.into_iter().collect()
}

#[cfg(test)]
mod tests;
