//! Stage 5, accesses: bottlenecks between a site and all others.
//!
//! A pipe found between two sites may be the way of one of them to all others. So two hosts of a site send to two
//! other sites at once, then two receive, or as many as fill the pipes: where they lose more than a share of the pipes'
//! separate rates, the site has one access. It takes the place of the pipes that are as fast as it is.
//!
//! A site is an innermost group of clusters that are nearer to each other than to all others. Its clusters are tried one
//! by one where it has no access.

use super::bottleneck_search::{BottleneckSearch, TwoPipes};
use super::pair_rounds::across;
use crate::measure::experiment::{Samples, Task};
use crate::measure::findings::{BottleneckPlace, ClusterPair, Findings};
use crate::measure::groups::{groups, Group};
use crate::measure::hosts::NodePair;
use crate::measure::settings::bottlenecks::{MAX_BYTES, RATE_LOSS, RATE_LOSS_OF_DIRECTIONS};
use crate::platform::NodeId;
use std::collections::{HashMap, HashSet};

/// A search that is over, and the bottleneck's total, bytes/s.
type Found = (BottleneckSearch, f64);

/// The clusters of each site.
pub fn sites(known: &Findings) -> Vec<Vec<usize>> {
    let clusters: Vec<NodeId> = (0..known.clusters.len() as u32).map(NodeId).collect();
    let trip_s = |a: NodeId, b: NodeId| match a == b {
        true => 0.0,
        false => known.round_trip_s(known.representative((a.min(b).index(), a.max(b).index()))),
    };
    let trips_s: Vec<Vec<f64>> =
        clusters.iter().map(|&a| clusters.iter().map(|&b| trip_s(a, b)).collect()).collect();
    let all = groups(&clusters, known.settings.tolerance, |a, b| trips_s[a.index()][b.index()]);
    let sites = all.iter().flat_map(innermost);
    sites.map(|site| site.nodes.iter().map(|cluster| cluster.index()).collect()).collect()
}

/// The groups whose parts are single clusters.
fn innermost(group: &Group) -> Vec<&Group> {
    match group.parts.iter().all(|part| part.parts.is_empty()) {
        true => vec![group],
        false => group.parts.iter().flat_map(innermost).collect(),
    }
}

/// The searches for the accesses of `parts`, which are sites or clusters of them, if not behind one that is found.
pub fn searches(
    known: &Findings,
    found: &[Found],
    sites: &[Vec<usize>],
    parts: &[Vec<usize>],
) -> Vec<BottleneckSearch> {
    let pipes: HashMap<&BottleneckPlace, &Found> = found.iter().map(|pipe| (&pipe.0.place, pipe)).collect();
    let is_behind = |part: &[usize], out: bool| {
        let is_around = |place: &BottleneckPlace| match place {
            BottleneckPlace::Access { site, is_out } => {
                *is_out == out && part.iter().all(|one| site.contains(one))
            }
            _ => false,
        };
        found.iter().any(|(search, _)| is_around(&search.place))
    };
    let access = |part: &[usize], is_out: bool| match is_behind(part, is_out) {
        true => None,
        false => search(known, &pipes, sites, part, is_out),
    };
    parts.iter().flat_map(|part| [access(part, true), access(part, false)]).flatten().collect()
}

/// The rate of all pairs together without and with their waits for answers, bytes/s, while all of them send: near ones
/// get more of an access and end first. The others use it during half of a wait, about.
pub fn carried(known: &Findings, tests: &[(&Task, Vec<Samples>)]) -> [f64; 2] {
    let ends_s = |bursts: &Samples| -> Vec<f64> {
        let mut now_s = 0.0;
        let ends = bursts.seconds.iter().map(|burst_s| {
            now_s += burst_s;
            now_s
        });
        std::iter::once(0.0).chain(ends).collect()
    };
    let all_s: Vec<Vec<f64>> =
        tests.iter().map(|(_, trials)| trials.first().map(ends_s).unwrap_or_default()).collect();
    let until_s = all_s.iter().map(|ends_s| ends_s[ends_s.len() - 1]).fold(f64::INFINITY, f64::min);
    // The first bursts may include the set-up of connections.
    let first_s = all_s.iter().map(|ends_s| ends_s[1]).fold(0.0, f64::max);
    let from_s = if first_s < until_s { first_s } else { 0.0 };
    let mut total = [0.0; 2];
    for ((task, _), ends_s) in tests.iter().zip(&all_s) {
        let trip_s = known.round_trip_s((task.from, task.to));
        // Nothing is sent for the last round trip of a burst.
        let done = |now_s: f64| {
            let next = ends_s.partition_point(|&end_s| end_s <= now_s).min(ends_s.len() - 1);
            let (began_s, ends_s) = (ends_s[next - 1], ends_s[next]);
            (next - 1) as f64 + ((now_s - began_s) / (ends_s - began_s - trip_s)).clamp(0.0, 1.0)
        };
        let bursts = done(until_s) - done(from_s);
        let bytes = bursts * task.trials[0].bytes_per_repeat() as f64;
        total[0] += bytes / (until_s - from_s - bursts * trip_s / 2.0);
        total[1] += bytes / (until_s - from_s);
    }
    total
}

/// Whether the accesses found are what limits a pipe.
pub fn explain(known: &Findings, found: &[Found], (pipe, total): &Found) -> bool {
    let is_access = |place: &BottleneckPlace| {
        matches!(place, BottleneckPlace::Access { .. }) && known.is_on_way(place, pipe.pairs[0])
    };
    let accesses = found.iter().filter(|(search, _)| is_access(&search.place)).map(|&(_, rate)| rate);
    *total > (1.0 - RATE_LOSS_OF_DIRECTIONS) * accesses.fold(f64::INFINITY, f64::min)
}

/// What is known of the way between a cluster of the site and one of another.
struct Way {
    clusters: ClusterPair,
    /// The site's own.
    near: usize,
    /// The other site.
    far: usize,
    /// The pairs that fill it, or all that there are.
    pairs: usize,
    /// Of one pair and of all, bytes/s.
    alone: f64,
    total: f64,
}

impl Way {
    /// bytes/s
    fn rate(&self, pairs: usize) -> f64 {
        self.total.min(pairs as f64 * self.alone)
    }
}

/// `None` where two ways do not lead to different sites, where one carries all that the site's hosts can send, or where
/// the second is too slow for its loss to be noticed.
fn search(
    known: &Findings,
    pipes: &HashMap<&BottleneckPlace, &Found>,
    sites: &[Vec<usize>],
    part: &[usize],
    is_out: bool,
) -> Option<BottleneckSearch> {
    let machines = part.iter().flat_map(|&cluster| &known.clusters[cluster]);
    let machines = machines.map(|&node| known.hosts.of(node)).collect::<HashSet<_>>().len();
    let mut ways = Vec::new();
    for (far, site) in sites.iter().enumerate().filter(|(_, site)| !site.contains(&part[0])) {
        for (&near, &other) in part.iter().flat_map(|near| site.iter().map(move |other| (near, other))) {
            let clusters = if is_out { (near, other) } else { (other, near) };
            let pairs = across(known, clusters, &HashSet::new());
            let (pairs, alone, total) = match pipes.get(&BottleneckPlace::OneWay(clusters.0, clusters.1)) {
                Some((pipe, total)) if pipe.is_filled_by_one(*total) => (1, *total, *total),
                Some((pipe, total)) => (pipe.pairs.len(), pipe.alone[0], *total),
                None if pairs.len() >= machines => return None,
                None => {
                    let table = known.tables.get(&known.representative(clusters))?;
                    (pairs.len(), MAX_BYTES as f64 / table.at(MAX_BYTES).gap_s, f64::INFINITY)
                }
            };
            ways.push(Way { clusters, near, far, pairs: pairs.min(machines / 2), alone, total });
        }
    }
    ways.sort_by(|x, y| y.rate(y.pairs).total_cmp(&x.rate(x.pairs)));
    let first = ways.first().filter(|way| way.pairs > 0)?;
    let is_second = |way: &&Way| way.far != first.far && (part.len() == 1 || way.near != first.near);
    let two = [first, ways.iter().find(is_second)?];
    let (mut pairs, mut apart, mut slowest) = (Vec::<NodePair>::new(), 0.0, f64::INFINITY);
    for way in two {
        let busy = pairs.iter().flat_map(|&(from, to)| [from, to]).map(|node| known.hosts.of(node)).collect();
        let free = across(known, way.clusters, &busy);
        let count = Some(free.len().min(way.pairs)).filter(|&count| count > 0)?;
        pairs.extend(&free[..count]);
        apart += way.rate(count);
        slowest = way.rate(count).min(slowest);
    }
    if slowest < RATE_LOSS * apart {
        return None;
    }
    // The first pair decides how long all send.
    pairs.sort_by(|&x, &y| known.round_trip_s(y).total_cmp(&known.round_trip_s(x)));
    let fastest = two.map(|way| if way.total.is_finite() { way.total } else { way.rate(way.pairs) });
    let two = TwoPipes { apart, fastest: fastest[0].max(fastest[1]), carried: 0.0, loss: RATE_LOSS };
    let place = BottleneckPlace::Access { site: part.to_vec(), is_out };
    Some(BottleneckSearch::of_two_pipes(place, pairs, two, known))
}
