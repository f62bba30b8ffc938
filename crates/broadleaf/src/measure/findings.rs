//! The findings of the stages; each reads the earlier ones' part and adds its own.

use super::delay_modes::Modes;
use super::hosts::{Hosts, NodePair};
use super::pair_table::PairTable;
use super::settings::ProbeSettings;
use super::statistics::{lower_quartile, upper_quartile};
use crate::platform::NodeId;
use std::collections::{BTreeMap, HashMap};

/// A resource that several links share, and its measured total.
#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    pub place: BottleneckPlace,
    pub bytes_per_s: f64,
    /// Interquartile range of the rate over the rate.
    pub spread: f64,
}

/// A node that sent to several others at once; rates in bytes/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fan {
    pub sender: NodeId,
    /// Of the sender's fastest link alone.
    pub fastest: f64,
    /// Of all links at once.
    pub together: f64,
    /// The time one after the other over that at once.
    pub gain: f64,
}

/// The links of a [`Bottleneck`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BottleneckPlace {
    /// From one cluster to another.
    OneWay(usize, usize),
    /// Between two clusters, both directions together; the smaller cluster first.
    BothWays(usize, usize),
    /// Among the nodes of a machine.
    InsideHost(usize),
    /// Among the nodes of a cluster.
    InsideCluster(usize),
    /// From the clusters of a site to all others, or from all others to them.
    Access { site: Vec<usize>, is_out: bool },
}

/// A cluster and another, or the same: all ordered pairs of nodes from one to the other.
pub type ClusterPair = (usize, usize);

#[derive(Clone)]
pub struct Findings {
    pub settings: ProbeSettings,
    pub hosts: Hosts,
    /// Samples of the empty round trip, by (smaller, larger) node, seconds.
    pub round_trips: HashMap<NodePair, Vec<f64>>,
    /// The fastest empty round trip of any repeat of any stage, by (smaller, larger) node, seconds.
    pub least_round_trip_s: HashMap<NodePair, f64>,
    /// The share of the round trip that is the time from the smaller to the larger node, with a common clock.
    pub one_way_shares: HashMap<NodePair, Vec<f64>>,
    /// The usual empty round trip inside each machine, seconds.
    pub host_round_trip_s: Vec<Option<f64>>,
    pub clusters: Vec<Vec<NodeId>>,
    pub cluster_of: Vec<usize>,
    /// Whether pairs of a cluster can be measured at the same time.
    pub independent: Vec<bool>,
    /// The size of a large message, bytes.
    pub large_bytes: HashMap<ClusterPair, u64>,
    /// The gap of a large message, one value for each pass, seconds.
    pub large_gaps: BTreeMap<NodePair, Vec<f64>>,
    pub tables: BTreeMap<NodePair, PairTable>,
    pub bottlenecks: Vec<Bottleneck>,
    pub fans: Vec<Fan>,
    /// The number of places without time for a search for bottlenecks.
    pub untried_bottlenecks: usize,
    /// The number of samples so far, and of those that other programs disturbed.
    pub samples: usize,
    pub disturbed: usize,
}

impl Findings {
    pub fn new(settings: ProbeSettings, hosts: Hosts) -> Findings {
        Findings {
            host_round_trip_s: vec![None; hosts.members().len()],
            settings,
            hosts,
            round_trips: HashMap::new(),
            least_round_trip_s: HashMap::new(),
            one_way_shares: HashMap::new(),
            clusters: Vec::new(),
            cluster_of: Vec::new(),
            independent: Vec::new(),
            large_bytes: HashMap::new(),
            large_gaps: BTreeMap::new(),
            tables: BTreeMap::new(),
            bottlenecks: Vec::new(),
            fans: Vec::new(),
            untried_bottlenecks: 0,
            samples: 0,
            disturbed: 0,
        }
    }

    /// The empty round trip on a quiet network, seconds; 0 before the first sample.
    ///
    /// Pairs of one machine all count as the machine's usual pair: they differ by the processors that the scheduler
    /// chose, not by the network.
    pub fn round_trip_s(&self, (a, b): NodePair) -> f64 {
        let usual_s =
            if self.hosts.same_host(a, b) { self.host_round_trip_s[self.hosts.of(a)] } else { None };
        usual_s
            .or_else(|| self.round_trips.get(&(a.min(b), a.max(b))).map(|samples| lower_quartile(samples)))
            .unwrap_or(0.0)
    }

    /// The lower quartile as above, and the upper one without those that a timer delayed.
    pub fn round_trip_range_s(&self, (a, b): NodePair) -> [f64; 2] {
        let low_s = self.round_trip_s((a, b));
        let samples = self.round_trips.get(&(a.min(b), a.max(b)));
        let own = samples.filter(|_| !self.hosts.same_host(a, b));
        [low_s, own.map_or(low_s, |samples| upper_quartile(&Modes::of(samples).usual))]
    }

    /// Keeps the fastest empty round trip, with further samples.
    pub fn note_round_trips(&mut self, (a, b): NodePair, seconds: &[f64]) {
        let fastest_s = seconds.iter().copied().fold(f64::INFINITY, f64::min);
        let least_s = self.least_round_trip_s.entry((a.min(b), a.max(b))).or_insert(f64::INFINITY);
        *least_s = least_s.min(fastest_s);
    }

    /// Inside the clusters first, then between them, in order of the clusters.
    pub fn cluster_pairs(&self) -> impl Iterator<Item = ClusterPair> {
        let count = self.clusters.len();
        let between = (0..count).flat_map(move |from| (0..count).map(move |to| (from, to)));
        (0..count).map(|cluster| (cluster, cluster)).chain(between.filter(|(from, to)| from != to))
    }

    pub fn cluster_pair_of(&self, (from, to): NodePair) -> ClusterPair {
        (self.cluster_of[from.index()], self.cluster_of[to.index()])
    }

    /// Whether a pair's transfers go through it.
    pub fn is_on_way(&self, place: &BottleneckPlace, pair: NodePair) -> bool {
        let (from, to) = self.cluster_pair_of(pair);
        match *place {
            BottleneckPlace::OneWay(a, b) => (from, to) == (a, b),
            BottleneckPlace::BothWays(a, b) => (from, to) == (a, b) || (from, to) == (b, a),
            BottleneckPlace::InsideHost(host) => {
                self.hosts.of(pair.0) == host && self.hosts.of(pair.1) == host
            }
            BottleneckPlace::InsideCluster(cluster) => (from, to) == (cluster, cluster),
            BottleneckPlace::Access { ref site, is_out } => {
                let (near, far) = if is_out { (from, to) } else { (to, from) };
                site.contains(&near) && !site.contains(&far)
            }
        }
    }

    pub fn pairs_of(&self, (from, to): ClusterPair) -> impl Iterator<Item = NodePair> + '_ {
        let pairs =
            self.clusters[from].iter().flat_map(move |&a| self.clusters[to].iter().map(move |&b| (a, b)));
        pairs.filter(|(a, b)| a != b)
    }
}
