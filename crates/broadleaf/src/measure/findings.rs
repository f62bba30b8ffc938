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

#[derive(Clone)]
pub struct Findings {
    pub settings: Settings,
    pub hosts: Hosts,
    /// Samples of the empty round trip, by (smaller, larger) node, seconds.
    pub round_trips: HashMap<Pair, Vec<f64>>,
    /// The usual empty round trip inside each machine, seconds.
    pub host_round_trip_s: Vec<Option<f64>>,
    pub clusters: Vec<Vec<NodeId>>,
    pub cluster_of: Vec<usize>,
    /// Whether pairs of a cluster can be measured at the same time.
    pub quiet: Vec<bool>,
    /// What counts as a large message in each cluster, bytes.
    pub large_bytes: Vec<u64>,
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
            clusters: Vec::new(),
            cluster_of: Vec::new(),
            quiet: Vec::new(),
            large_bytes: Vec::new(),
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

    /// What time was too short for: a noun phrase each.
    pub fn shortfalls(&self) -> Vec<String> {
        let unlike = (0..self.clusters.len()).flat_map(|cluster| self.sorted_pairs(cluster).unlike);
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
                || self.sorted_pairs(cluster).alike.iter().any(|pair| self.tables.contains_key(pair))
        };
        let inside = (0..count).filter(|&cluster| !has_table(cluster)).count();
        let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
        let across = pairs
            .filter(|&(from, to)| from != to && !self.tables.contains_key(&self.representative(from, to)))
            .count();
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

    /// The pair that stands for the link between two clusters: its first node on either side.
    pub fn representative(&self, from_cluster: usize, to_cluster: usize) -> Pair {
        (self.clusters[from_cluster][0], self.clusters[to_cluster][0])
    }

    /// The pairs of a cluster that are alike, and those that are not. Alike are gaps within the tolerance of the
    /// most common one; a pair that was tried several times is unlike the others only if it was each time, and
    /// in the same direction.
    pub fn sorted_pairs(&self, cluster: usize) -> SortedPairs {
        let members = &self.clusters[cluster];
        let limit = 1.0 + self.settings.tolerance;
        let known = self.known_gaps(members);
        let mut sorted = SortedPairs::default();
        if known.is_empty() {
            return sorted;
        }
        let usual_gap_s = most_common(known.iter().map(|&(_, gap_s)| gap_s).collect(), limit);
        let usual_trip_s =
            most_common(known.iter().map(|&(pair, _)| self.round_trip_s(pair)).collect(), limit);
        for (pair, gap_s) in known {
            let passes = self.large_gaps.get(&pair).map_or(std::slice::from_ref(&gap_s), Vec::as_slice);
            let is_slower = passes.iter().all(|&pass_s| pass_s > usual_gap_s * limit);
            let is_faster = passes.iter().all(|&pass_s| pass_s * limit < usual_gap_s);
            // Latencies in a cluster are about equal; one that is not counts where a large message feels it.
            let detour_s = (self.round_trip_s(pair) - usual_trip_s).abs() / 2.0;
            let detours = detour_s > self.settings.tolerance * usual_gap_s;
            if is_slower || is_faster || detours {
                sorted.unlike.push(Unlike { pair, slowness: gap_s / usual_gap_s, detours });
            } else {
                sorted.alike.push(pair);
            }
        }
        sorted
    }

    /// The large gap of every ordered pair of a cluster, seconds. A pair that was not tried (in a large
    /// cluster) is as slow as the slower of its ends was at its best.
    fn known_gaps(&self, members: &[NodeId]) -> Vec<(Pair, f64)> {
        let mut best_out: HashMap<NodeId, f64> = HashMap::new();
        let mut best_in: HashMap<NodeId, f64> = HashMap::new();
        let inside = |(a, b): Pair| self.cluster_of[a.index()] == self.cluster_of[b.index()];
        let here = self.cluster_of[members[0].index()];
        let tried: HashMap<Pair, f64> = self
            .large_gaps
            .iter()
            .filter(|(&pair, _)| inside(pair) && self.cluster_of[pair.0.index()] == here)
            .map(|(&pair, passes)| (pair, median(passes)))
            .collect();
        for (&(from, to), &gap_s) in &tried {
            let keep_least = |best: &mut f64| *best = best.min(gap_s);
            best_out.entry(from).and_modify(keep_least).or_insert(gap_s);
            best_in.entry(to).and_modify(keep_least).or_insert(gap_s);
        }
        let pairs = members.iter().flat_map(|&a| members.iter().map(move |&b| (a, b)));
        pairs
            .filter(|(a, b)| a != b)
            .filter_map(|pair| {
                let ends = || Some(best_out.get(&pair.0)?.max(*best_in.get(&pair.1)?));
                Some((pair, tried.get(&pair).copied().or_else(ends)?))
            })
            .collect()
    }
}

/// The ordered pairs of a cluster by whether they are like most others.
#[derive(Clone, Debug, Default)]
pub struct SortedPairs {
    pub alike: Vec<Pair>,
    pub unlike: Vec<Unlike>,
}

/// A pair that is not like most others of its cluster.
#[derive(Clone, Copy, Debug)]
pub struct Unlike {
    pub pair: Pair,
    /// Its large gap over the usual one.
    pub slowness: f64,
    /// Whether its latency differs, by as much as a large message feels.
    pub detours: bool,
}

/// The median of the largest group of values that lie within `limit`² of each other; of two equal groups
/// the smaller values.
///
/// Unlike the plain median it is never between two kinds of pairs.
fn most_common(mut values: Vec<f64>, limit: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let (mut best, mut first) = (0..0, 0);
    for last in 0..values.len() {
        while values[last] > values[first] * limit * limit {
            first += 1;
        }
        if last + 1 - first > best.len() {
            best = first..last + 1;
        }
    }
    median(&values[best])
}

#[cfg(test)]
mod tests {
    use super::most_common;

    #[test]
    fn the_most_common_value_is_never_between_two_kinds() {
        assert_eq!(most_common(vec![1.0, 10.0, 10.5, 1.0], 1.3), 1.0);
        assert_eq!(most_common(vec![1.0, 10.0, 10.5, 11.0], 1.3), 10.5);
        assert_eq!(most_common(vec![0.0, 0.0], 1.3), 0.0);
    }
}
