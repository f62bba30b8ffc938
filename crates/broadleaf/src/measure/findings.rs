//! What the stages have learned so far; each reads the earlier ones' part and adds its own.

use super::fit::PairTable;
use super::hosts::{Hosts, Pair};
use super::modes::Step;
use super::statistic::{lower_quartile, median};
use super::Settings;
use crate::platform::NodeId;
use std::collections::{BTreeMap, HashMap};

/// A resource that several links share, and its measured total.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipe {
    pub place: PipePlace,
    pub bytes_per_s: f64,
    /// Interquartile range of the rate over the rate.
    pub spread: f64,
}

/// Which links a [`Pipe`] belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PipePlace {
    /// From one cluster to another.
    OneWay(usize, usize),
    /// Between two clusters, both directions together; the smaller cluster first.
    BothWays(usize, usize),
    /// Among the nodes of a machine.
    InsideHost(usize),
    /// Among the nodes of a cluster.
    InsideCluster(usize),
}

/// All ordered pairs from one cluster to another, or inside one.
pub type Stretch = (usize, usize);

#[derive(Clone)]
pub struct Findings {
    pub settings: Settings,
    pub hosts: Hosts,
    /// Samples of the empty round trip, by (smaller, larger) node, seconds.
    pub round_trips: HashMap<Pair, Vec<f64>>,
    /// The share of it that the way from the smaller to the larger node takes, where both ends read one clock.
    pub way_shares: HashMap<Pair, Vec<f64>>,
    /// The usual empty round trip inside each machine, seconds.
    pub host_round_trip_s: Vec<Option<f64>>,
    pub clusters: Vec<Vec<NodeId>>,
    pub cluster_of: Vec<usize>,
    /// Whether pairs of a cluster can be measured at the same time.
    pub quiet: Vec<bool>,
    /// What counts as a large message there, bytes.
    pub large_bytes: HashMap<Stretch, u64>,
    /// Seconds that one takes, one value a pass.
    pub large_gaps: BTreeMap<Pair, Vec<f64>>,
    pub tables: BTreeMap<Pair, PairTable>,
    pub pipes: Vec<Pipe>,
    /// Places in which there was no time to look for a pipe.
    pub untried_pipes: usize,
    /// Samples so far, and how many of them other programs disturbed.
    pub samples: usize,
    pub disturbed: usize,
}

/// Share of disturbed samples from which on the user is told.
const DISTURBED_SHARE: f64 = 0.1;

impl Findings {
    pub fn new(settings: Settings, hosts: Hosts) -> Findings {
        Findings {
            host_round_trip_s: vec![None; hosts.members().len()],
            settings,
            hosts,
            round_trips: HashMap::new(),
            way_shares: HashMap::new(),
            clusters: Vec::new(),
            cluster_of: Vec::new(),
            quiet: Vec::new(),
            large_bytes: HashMap::new(),
            large_gaps: BTreeMap::new(),
            tables: BTreeMap::new(),
            pipes: Vec::new(),
            untried_pipes: 0,
            samples: 0,
            disturbed: 0,
        }
    }

    /// The empty round trip on a quiet network, seconds; 0 where nothing is known yet.
    ///
    /// Pairs of one machine all count as the machine's usual pair: what differs there is which processor the
    /// scheduler had to spare, not the network.
    pub fn round_trip_s(&self, (a, b): Pair) -> f64 {
        let usual_s = if self.hosts.together(a, b) { self.host_round_trip_s[self.hosts.of(a)] } else { None };
        usual_s
            .or_else(|| self.round_trips.get(&(a.min(b), a.max(b))).map(|samples| lower_quartile(samples)))
            .unwrap_or(0.0)
    }

    /// Inside the clusters first, then between them, in order of the clusters.
    pub fn stretches(&self) -> impl Iterator<Item = Stretch> {
        let count = self.clusters.len();
        let between = (0..count).flat_map(move |from| (0..count).map(move |to| (from, to)));
        (0..count).map(|cluster| (cluster, cluster)).chain(between.filter(|(from, to)| from != to))
    }

    pub fn stretch_of(&self, (from, to): Pair) -> Stretch {
        (self.cluster_of[from.index()], self.cluster_of[to.index()])
    }

    pub fn pairs_of(&self, (from, to): Stretch) -> impl Iterator<Item = Pair> + '_ {
        let pairs =
            self.clusters[from].iter().flat_map(move |&a| self.clusters[to].iter().map(move |&b| (a, b)));
        pairs.filter(|(a, b)| a != b)
    }

    /// What time was too short for: a noun phrase each.
    pub fn shortfalls(&self) -> Vec<String> {
        let unlike = self.stretches().flat_map(|stretch| self.sorted_pairs(stretch).unlike);
        let scaled = unlike.filter(|other| !self.tables.contains_key(&other.pair)).count();
        let mut phrases = Vec::new();
        if scaled > 0 {
            phrases.push(format!("tables of their own for {scaled} pairs that are not like the others"));
        }
        match self.untried_pipes {
            0 => (),
            1 => phrases.push("the search for a shared pipe in 1 place".to_string()),
            places => phrases.push(format!("the search for shared pipes in {places} places")),
        }
        phrases
    }

    /// What a platform cannot do without and is not known yet: a noun phrase each.
    pub fn lacking(&self) -> Vec<String> {
        if self.clusters.is_empty() {
            return vec!["the latencies, and with them the clusters".to_string()];
        }
        let count = self.clusters.len();
        let has_table = |cluster: usize| {
            self.clusters[cluster].len() < 2
                || self
                    .sorted_pairs((cluster, cluster))
                    .alike
                    .iter()
                    .any(|pair| self.tables.contains_key(pair))
        };
        let inside = (0..count).filter(|&cluster| !has_table(cluster)).count();
        let pairs = self.stretches().filter(|(from, to)| from != to);
        let across =
            pairs.filter(|&stretch| !self.tables.contains_key(&self.representative(stretch))).count();
        let mut phrases = Vec::new();
        if inside > 0 {
            phrases.push(format!("the gaps inside {inside} of {count} clusters"));
        }
        if across > 0 {
            phrases.push(format!("the gaps between {across} of {} pairs of clusters", count * (count - 1)));
        }
        phrases
    }

    /// What the user should know about the samples, in one line each.
    pub fn remarks(&self) -> Vec<String> {
        let steps: Vec<Step> = self.tables.values().flat_map(|table| table.steps.values().copied()).collect();
        let mut lines = Vec::new();
        let share = self.disturbed as f64 / self.samples.max(1) as f64;
        if share > DISTURBED_SHARE {
            lines.push(format!(
                "other programs kept the processors in {:.0} % of the samples; those were left out where there were \
                 others, but measure again on quiet machines before believing the rest",
                100.0 * share
            ));
        }
        if steps.is_empty() {
            return lines;
        }
        let links = self.tables.values().filter(|table| !table.steps.is_empty()).count();
        let delayed: usize = steps.iter().map(|step| step.delayed).sum();
        let samples: usize = steps.iter().map(|step| step.samples).sum();
        let mut delays_ms: Vec<f64> = steps.iter().map(|step| step.delay_s * 1e3).collect();
        delays_ms.sort_by(f64::total_cmp);
        // Steps within a third of each other are of the same timer.
        let of_a_timer = delays_ms.chunk_by(|a, b| *b <= *a * 4.0 / 3.0);
        let timers: Vec<String> = of_a_timer.map(|same| format!("{:.0} ms", median(same))).collect();
        lines.push(format!(
            "{delayed} of {samples} samples, on {links} links, took about {} longer than the others, as delayed \
             acknowledgements do; they are in the file as \"delayed\" and not in the gaps",
            timers.join(" or ")
        ));
        lines
    }
}
