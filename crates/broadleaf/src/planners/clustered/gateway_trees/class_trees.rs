//! Trees over clusters: cheap ones, which keep ports and pipes evenly busy, quick ones, which arrive early, or cheap ones
//! that arrive by a given time.

use super::class_network::ClassNetwork;
use crate::optimum::Arborescence;
use ordered_float::OrderedFloat;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The power of a load in the price of its resource: steep enough to spare the busiest ones. As in
/// `optimum/replaced_trees.rs`.
const STEEPNESS: i32 = 6;
/// The weight of a hop's time beside the prices, so that of equally loaded ways the shorter is taken. Chosen.
const DELAY: f64 = 0.1;
/// Passes over all trees; later ones change little. Chosen.
const PASSES: usize = 2;

/// What the trees over clusters are chosen for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Aim {
    /// Even loads of ports and pipes: each tree in turn is replaced by the cheapest one under prices that rise steeply
    /// with the loads of the others.
    Load,
    /// Early arrivals: each tree is the quickest one, where a transfer waits for the ones of the trees before.
    Arrival,
    /// Even loads of trees that reach every cluster within this many times the time of the quickest tree: each tree in turn
    /// is replaced by a cheap one among those.
    Within(f64),
}

/// The trees, and how busy they make each cluster's average host.
pub(super) struct ClassTrees {
    /// By tree, the entering edge of every cluster but the first.
    pub entering: Vec<Vec<u32>>,
    /// The busiest resource's time for one segment on every tree, seconds.
    pub busiest_s: f64,
}

/// The loads of the out-ports, the in-ports and the pipes, seconds.
struct Loads<'a> {
    network: &'a ClassNetwork,
    /// By edge, the resources of a segment and their times: of a port, the part of one of the hosts that take turns.
    uses: Vec<Vec<(usize, f64)>>,
    load: Vec<f64>,
}

impl<'a> Loads<'a> {
    fn new(network: &'a ClassNetwork, trees: usize) -> Loads<'a> {
        let groups = network.groups.len();
        let mut load = vec![0.0; 2 * groups + network.pipe_count];
        // Inside a cluster each tree has one transfer less than the cluster has hosts; a bridge brings the first.
        for group in 0..groups {
            let hosts = network.groups[group].len() as f64;
            let inner_s = trees as f64 * network.inner[group].busy_s * (hosts - 1.0) / hosts;
            load[2 * group..2 * group + 2].fill(inner_s);
        }
        let uses = (0..network.between.len()).map(|edge| {
            let (from, to) = (network.graph.from[edge] as usize, network.graph.to[edge] as usize);
            let busy_s = network.between[edge].busy_s;
            // With fewer trees than hosts, not all have a turn.
            let turns = |group: usize| network.in_turn(group).min(trees) as f64;
            let ports = [(2 * from, busy_s / turns(from)), (2 * to + 1, busy_s / turns(to))];
            let pipes = network.pipes[edge].iter().map(|&(pipe, held_s)| (2 * groups + pipe, held_s));
            ports.into_iter().chain(pipes).collect()
        });
        Loads { network, uses: uses.collect(), load }
    }

    fn add(&mut self, entering: &[u32], sign: f64) {
        for &edge in &entering[1..] {
            self.uses[edge as usize]
                .iter()
                .for_each(|&(resource, seconds)| self.load[resource] += sign * seconds);
        }
    }

    fn busiest_s(&self) -> f64 {
        self.load.iter().copied().fold(0.0, f64::max)
    }

    /// The weights of the edges for the cheapest tree beside the others.
    fn prices(&self, longest_s: f64, trees: usize) -> Vec<f64> {
        let allowed_s = self.busiest_s().max(f64::MIN_POSITIVE);
        let price = |&(resource, seconds): &(usize, f64)| {
            seconds * trees as f64 / allowed_s * ((self.load[resource] + seconds) / allowed_s).powi(STEEPNESS)
        };
        let weight = |edge: usize| {
            let delay = DELAY * self.network.between[edge].whole_s() / longest_s;
            self.uses[edge].iter().map(price).sum::<f64>() + delay
        };
        (0..self.uses.len()).map(weight).collect()
    }

    /// The tree by which a segment reaches each cluster first, if each hop waits for the trees before; ties to the
    /// lower edge.
    fn quickest(&self, out_edges: &[Vec<u32>]) -> Vec<u32> {
        let groups = self.network.groups.len();
        let mut arrival_s = vec![f64::INFINITY; groups];
        let mut entering = vec![u32::MAX; groups];
        let mut is_done = vec![false; groups];
        arrival_s[0] = 0.0;
        let mut queue = BinaryHeap::from([Reverse((OrderedFloat(0.0), 0usize))]);
        while let Some(Reverse((OrderedFloat(at_s), group))) = queue.pop() {
            if std::mem::replace(&mut is_done[group], true) {
                continue;
            }
            for &edge in &out_edges[group] {
                let to = self.network.graph.to[edge as usize] as usize;
                let waits_s: f64 =
                    self.uses[edge as usize].iter().map(|&(resource, _)| self.load[resource]).sum();
                let there_s = at_s + waits_s + self.network.between[edge as usize].whole_s();
                if there_s < arrival_s[to] {
                    (arrival_s[to], entering[to]) = (there_s, edge);
                    queue.push(Reverse((OrderedFloat(there_s), to)));
                }
            }
        }
        entering
    }
}

/// `count` trees for that aim.
pub(super) fn class_trees(network: &ClassNetwork, count: usize, aim: Aim) -> ClassTrees {
    let mut loads = Loads::new(network, count);
    let entering = match aim {
        Aim::Load => {
            let mut solver = Arborescence::default();
            even(network, &mut loads, count, |prices| solver.cheapest(&network.graph, prices).0)
        }
        Aim::Within(times) => {
            let out_edges = network.out_edges();
            let (_, least_s) = shallow(network, &out_edges, &vec![0.0; network.between.len()], 0.0);
            even(network, &mut loads, count, |prices| shallow(network, &out_edges, prices, times * least_s).0)
        }
        Aim::Arrival => {
            let out_edges = network.out_edges();
            let mut quickest = || {
                let entering = loads.quickest(&out_edges);
                loads.add(&entering, 1.0);
                entering
            };
            (0..count).map(|_| quickest()).collect()
        }
    };
    // The root sends every segment once into its cluster.
    let busiest_s = loads.busiest_s().max(count as f64 * network.inner[0].busy_s);
    ClassTrees { entering, busiest_s }
}

/// Trees of even load, each the `cheapest` by the edges' weights.
fn even(
    network: &ClassNetwork,
    loads: &mut Loads,
    count: usize,
    mut cheapest: impl FnMut(&[f64]) -> Vec<u32>,
) -> Vec<Vec<u32>> {
    let longest_s = network.between.iter().map(|hop| hop.whole_s()).fold(f64::MIN_POSITIVE, f64::max);
    let mut trees: Vec<Vec<u32>> = Vec::with_capacity(count);
    for pass in 0..PASSES {
        for at in 0..count {
            if pass > 0 {
                loads.add(&trees[at], -1.0);
            }
            let entering = cheapest(&loads.prices(longest_s, count));
            loads.add(&entering, 1.0);
            match pass {
                0 => trees.push(entering),
                _ => trees[at] = entering,
            }
        }
    }
    trees
}

/// A tree that takes the cheapest edge to a further cluster by which it is reached by `most_s`, or, where there is none, the
/// one by which it is reached first; and when the last cluster is reached, seconds. Ties to the lower edge.
fn shallow(network: &ClassNetwork, out_edges: &[Vec<u32>], prices: &[f64], most_s: f64) -> (Vec<u32>, f64) {
    let groups = network.groups.len();
    let mut arrival_s = vec![f64::INFINITY; groups];
    let mut entering = vec![u32::MAX; groups];
    // By cluster, the best edge into it: (is it late, its price or arrival, edge).
    let mut ways: Vec<Option<(bool, OrderedFloat<f64>, u32)>> = vec![None; groups];
    (arrival_s[0], entering[0]) = (0.0, 0);
    let mut group = 0;
    loop {
        for &edge in &out_edges[group] {
            let there_s = arrival_s[group] + network.between[edge as usize].whole_s();
            let is_late = there_s > most_s;
            let key = if is_late { there_s } else { prices[edge as usize] };
            let way = &mut ways[network.graph.to[edge as usize] as usize];
            let found = (is_late, OrderedFloat(key), edge);
            *way = Some(way.map_or(found, |known| known.min(found)));
        }
        let open = (1..groups).filter(|&to| arrival_s[to].is_infinite());
        let Some((_, _, edge)) = open.filter_map(|to| ways[to]).min() else { break };
        let from = network.graph.from[edge as usize] as usize;
        group = network.graph.to[edge as usize] as usize;
        (arrival_s[group], entering[group]) =
            (arrival_s[from] + network.between[edge as usize].whole_s(), edge);
    }
    (entering, arrival_s.into_iter().fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planners::Instance;
    use crate::platform::{NodeId, Platform};

    /// From A, C is 11 s away, or 5 s and 8 s by way of B.
    #[test]
    fn cheap_ways_are_taken_as_far_as_time_allows() {
        let platform = Platform::from_json(
            r#"{"format": "broadleaf-platform/1", "name": "three", "port_model": "one-port",
            "nodes": [{"id": "a", "cluster": "A"}, {"id": "b", "cluster": "B"}, {"id": "c", "cluster": "C"}],
            "bridges": [
                {"from_cluster": "A", "to_cluster": "B", "link": {"latency_s": 4, "bandwidth_bytes_per_s": 1}},
                {"from_cluster": "A", "to_cluster": "C", "link": {"latency_s": 10, "bandwidth_bytes_per_s": 1}},
                {"from_cluster": "B", "to_cluster": "C", "link": {"latency_s": 7, "bandwidth_bytes_per_s": 1}}]}"#,
        )
        .unwrap();
        let instance = Instance::new(&platform, NodeId(0), 9).unwrap().segmented(1);
        let network = ClassNetwork::new(&instance);
        let edge = |from: u32, to: u32| {
            let mut ends = network.graph.from.iter().zip(&network.graph.to);
            ends.position(|ends| ends == (&from, &to)).unwrap() as u32
        };
        let mut prices = vec![1.0; 3];
        prices[edge(0, 2) as usize] = 2.0;
        let tree = |prices: &[f64], most_s: f64| {
            let (entering, last_s) = shallow(&network, &network.out_edges(), prices, most_s);
            (entering[1..].to_vec(), last_s)
        };
        let (direct, relayed) = (vec![edge(0, 1), edge(0, 2)], vec![edge(0, 1), edge(1, 2)]);
        assert_eq!(tree(&prices, 13.0), (relayed, 13.0));
        assert_eq!(tree(&prices, 12.0), (direct.clone(), 11.0));
        assert_eq!(tree(&prices, 0.0), (direct, 11.0), "the quickest");
    }
}
