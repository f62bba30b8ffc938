//! The network as currently estimated: the platform as measured, and the drift of its links.
//!
//! All links from one [`LinkEnd`](crate::platform::LinkEnd) to another count as equal (the paper measures one
//! representative of each cluster). A sample is the time for which one transfer kept its link busy; only probes measure
//! a link's latency. One deviating sample may be an outlier; a second consecutive one that agrees with it is the begin
//! or the end of a drift. Until then the link is *in doubt*. So are, after a drift, all other links at its two ends: a
//! load on one link of a cluster usually slows more of them, and a plan made before their probes would only move to the
//! next slow link. An active monitor probes links in doubt first; then slow links that no plan uses, since only a probe
//! can show the end of their load.

use super::belief::Belief;
use super::drift::{drifted, representatives};
use crate::platform::{NodeId, Platform};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use super::drift::{Drift, Origin, Pair, Sample};

/// Rates that differ by less than this share count as equal: time-sharing and measurement cause about this error, and
/// another plan would gain less.
const TOLERANCE: f64 = 0.2;

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
    version: u64,
    current: Arc<Platform>,
}

impl LinkEstimates {
    /// Estimates equal to `base`.
    pub fn new(base: Arc<Platform>) -> LinkEstimates {
        let pairs = pairs(&base);
        let current = Arc::clone(&base);
        LinkEstimates { base, pairs, beliefs: BTreeMap::new(), doubts: BTreeSet::new(), version: 0, current }
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

    /// The pair of groups that a link belongs to.
    pub fn pair(&self, from: NodeId, to: NodeId) -> Pair {
        Pair { from: self.base.group(from), to: self.base.group(to) }
    }

    /// All pairs between which there are links.
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
        self.version += 1;
        self.current = drifted(&self.base, self.drifts().collect());
        true
    }

    /// A link's measured latency, seconds.
    fn latency_s(&self, from: NodeId, to: NodeId) -> Option<f64> {
        let nodes = self.base.node_count();
        if from.index() >= nodes || to.index() >= nodes {
            return None;
        }
        Some(self.base.class(self.base.link(from, to)?).latency_s)
    }

    /// All pairs in the order in which a monitor should probe them: doubtful ones, slow ones that no plan uses, then
    /// the least recently probed.
    pub fn probe_order(&self, is_in_use: impl Fn(Pair) -> bool) -> Vec<Pair> {
        let mut order = self.pairs.clone();
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

/// All pairs of groups with a link between them, in order.
fn pairs(platform: &Platform) -> Vec<Pair> {
    let mut pairs = BTreeSet::new();
    for from in platform.hosts() {
        // One of a cluster stands for all, unless it is the one with fewer links.
        for (to, _) in platform.successors(from) {
            pairs.insert(Pair { from: platform.group(from), to: platform.group(to) });
        }
    }
    pairs.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::{Bridge, LinkClass, Mesh, Node, PlatformBuilder, PortModel};

    /// Three clusters of two at 100 bytes/s, one second apart.
    fn base() -> Arc<Platform> {
        let mut builder = PlatformBuilder::new("three", PortModel::OnePort);
        let class = builder.add_class(LinkClass::affine(1.0, 100.0));
        let clusters = ["A", "B", "C"].map(|name| builder.cluster(name));
        for cluster in clusters {
            let nodes = [0, 1].map(|at| {
                let id = format!("{cluster}-{at}");
                builder.add_node(Node { id, cluster: Some(cluster), ..Node::default() }).unwrap()
            });
            builder.add_mesh(Mesh { nodes: nodes.to_vec(), class }).unwrap();
        }
        for (from, to) in [(0, 1), (0, 2), (1, 2)] {
            let (from, to) = (clusters[from], clusters[to]);
            builder.add_bridge(Bridge { from, to, both_ways: true, class }).unwrap();
        }
        Arc::new(builder.build().unwrap())
    }

    fn sample(from: u32, to: u32, seconds: f64, at_s: f64) -> Sample {
        let (from, to) = (NodeId(from), NodeId(to));
        Sample { from, to, bytes: 1000, seconds, expected_s: None, at_s, origin: Origin::Passive }
    }

    #[test]
    fn a_drift_begins_and_ends_with_the_second_sample_that_agrees() {
        let mut links = LinkEstimates::new(base());
        assert!(!links.observe(&sample(0, 2, 11.0, 1.0)), "10 % is no drift");
        assert!(!links.observe(&sample(0, 2, 50.0, 2.0)), "one alone may be a hiccup");
        assert_eq!(links.doubts().len(), 1);
        assert!(!links.observe(&sample(0, 2, 10.0, 3.0)));
        assert_eq!((links.doubts().len(), links.version()), (0, 0), "it was one");
        assert!(!links.observe(&sample(0, 2, 50.0, 4.0)));
        assert!(links.observe(&sample(1, 3, 45.0, 5.0)), "another pair of nodes of the same clusters agrees");
        let pair = links.pair(NodeId(0), NodeId(2));
        // The geometric mean of 10/50 and 10/45.
        let factor = 10.0 / 2250.0f64.sqrt();
        assert!((links.factor(pair) - factor).abs() < 1e-12);
        let slow = links.platform();
        let class = slow.link(NodeId(0), NodeId(3)).unwrap();
        assert!((slow.transfer_s(class, 1000) - 10.0 / factor).abs() < 1e-9);
        assert_eq!(slow.shared().len(), 1, "its links are taken for one pipe");
        assert_eq!(slow.link(NodeId(2), NodeId(0)).map(|class| slow.transfer_s(class, 1000)), Some(10.0));
        assert!(!links.observe(&sample(0, 2, 10.0, 6.0)));
        assert!(links.observe(&sample(0, 2, 10.5, 7.0)));
        assert_eq!(links.drifts().count(), 0);
        assert!(Arc::ptr_eq(links.platform(), links.base()), "back to what was measured, exactly");
    }

    #[test]
    fn what_may_be_slow_too_is_probed_first_and_what_no_plan_uses_next() {
        let mut links = LinkEstimates::new(base());
        for at_s in [1.0, 2.0] {
            links.observe(&sample(0, 2, 100.0, at_s));
        }
        let slow = links.pair(NodeId(0), NodeId(2));
        // All pairs of different clusters touch A or B; the drifted one itself is settled.
        assert_eq!(links.doubts().len(), 5);
        let order = links.probe_order(|_| false);
        assert_eq!(order.len(), 9);
        assert!(order[..5].iter().all(|pair| pair.from != pair.to && *pair != slow));
        assert_eq!(order[5], slow);
        assert_ne!(links.probe_order(|pair| pair == slow)[5], slow, "the plan itself watches it");
        for pair in links.doubts().collect::<Vec<_>>() {
            let (from, to) = links.representatives(pair).unwrap();
            links.observe(&sample(from.0, to.0, 10.0, 3.0));
        }
        assert_eq!(links.doubts().len(), 0);
        assert_eq!(links.drifts().count(), 1);
    }

    #[test]
    fn a_latency_changes_and_comes_back_with_the_second_probe_that_agrees() {
        let mut links = LinkEstimates::new(base());
        let (from, to) = (NodeId(0), NodeId(2));
        // Measured: 1 s. Less than a fifth more is no change, and one probe may be an outlier.
        assert!(!links.observe_latency(from, to, 1.19, 1.0) && links.doubts().len() == 0);
        assert!(!links.observe_latency(from, to, 3.0, 2.0) && links.doubts().len() == 1);
        // A transfer at the usual rate is no evidence of it: the link stays in doubt.
        assert!(!links.observe(&sample(0, 2, 10.0, 2.5)) && links.doubts().len() == 1);
        assert!(links.observe_latency(from, to, 3.2, 3.0));
        let pair = links.pair(from, to);
        assert!((links.added_latency_s(pair) - 2.1).abs() < 1e-12 && links.factor(pair) == 1.0);
        assert!(links.drifts().all(|drift| drift.is_worse()));
        let long = links.platform();
        let class = long.link(NodeId(1), NodeId(3)).unwrap();
        assert!((long.class(class).latency_s - 3.1).abs() < 1e-12);
        assert_eq!((long.transfer_s(class, 1000), long.shared().len()), (10.0, 0), "its rate is what it was");
        // A load begins and ends; then the latency is the measured one again.
        assert!(!links.observe(&sample(0, 2, 50.0, 4.0)) && links.observe(&sample(0, 2, 50.0, 5.0)));
        assert_eq!(links.drifts().count(), 1);
        assert!(!links.observe(&sample(0, 2, 10.0, 6.0)) && links.observe(&sample(0, 2, 10.0, 7.0)));
        assert!(!links.observe_latency(from, to, 1.0, 8.0) && links.observe_latency(from, to, 1.0, 9.0));
        assert!(Arc::ptr_eq(links.platform(), links.base()));
        for latency_s in [f64::NAN, -1.0, f64::INFINITY] {
            assert!(!links.observe_latency(from, to, latency_s, 10.0));
        }
        assert!(
            !links.observe_latency(from, NodeId(99), 5.0, 10.0)
                && !links.observe_latency(from, from, 5.0, 10.0)
        );
    }

    #[test]
    fn one_pipe_stands_at_the_end_that_more_slow_links_share() {
        let mut links = LinkEstimates::new(base());
        for (from, to) in [(0, 4), (2, 4), (0, 4), (2, 4)] {
            links.observe(&sample(from, to, 50.0, 1.0));
        }
        let names: Vec<&str> = links.platform().shared().iter().map(|shared| shared.id.as_str()).collect();
        assert_eq!(names, ["slowed into C"]);
        assert_eq!(links.platform().shared()[0].bandwidth_bytes_per_s, 20.0);
    }

    #[test]
    fn what_says_nothing_is_left_out() {
        let mut links = LinkEstimates::new(base());
        let good = sample(0, 2, 100.0, 1.0);
        let bad = [
            Sample { seconds: 0.0, ..good },
            Sample { seconds: f64::NAN, ..good },
            Sample { seconds: -1.0, ..good },
            Sample { to: NodeId(0), ..good },
            Sample { to: NodeId(99), ..good },
            Sample { bytes: 0, ..good },
        ];
        for sample in bad.iter().chain(&bad) {
            assert!(!links.observe(sample), "{sample:?}");
        }
        assert_eq!((links.version(), links.doubts().len()), (0, 0));
    }
}
