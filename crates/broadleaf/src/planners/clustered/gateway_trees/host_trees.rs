//! A tree over clusters as a tree over hosts: by whom a cluster is entered, who sends on to others, and who forwards
//! inside.

use super::class_network::{ClassNetwork, Hop};
use super::class_trees::ClassTrees;
use crate::plan::pattern::binomial;
use crate::plan::{Cluster, ClusterTrees, Entry, Inside};
use std::collections::BTreeMap;

/// The hosts among which the sender to another cluster is chosen, for each such cluster, besides one. Chosen.
const SENDERS: usize = 2;

/// The tree inside a cluster, over places in the order of the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Every host has one way in and one way out, whatever the turn: no two trees meet at a port.
    Chain,
    /// Few hops.
    Binomial,
}

impl Shape {
    /// The factor by which waiting at ports lengthens the busiest resource's time: transfers of different trees meet at
    /// the ports of a binomial tree. Chosen.
    pub fn waiting(self) -> f64 {
        match self {
            Shape::Chain => 1.07,
            Shape::Binomial => 1.5,
        }
    }

    fn children(self, place: usize, count: usize) -> Box<dyn Iterator<Item = usize>> {
        match self {
            Shape::Chain => Box::new((place + 1..count).take(1)),
            Shape::Binomial => Box::new(binomial::children(place, count)),
        }
    }

    fn edges(self, count: usize) -> Inside {
        let of_place =
            |place: usize| self.children(place, count).map(move |child| (place as u32, child as u32));
        (0..count).flat_map(of_place).collect()
    }

    /// By place, the time after the first place has a segment, seconds.
    fn arrivals_s(self, count: usize, hop: Hop) -> Vec<f64> {
        let mut arrival_s = vec![0.0; count];
        for place in 0..count {
            for (turn, child) in self.children(place, count).enumerate() {
                arrival_s[child] = arrival_s[place] + turn as f64 * hop.busy_s + hop.whole_s();
            }
        }
        arrival_s
    }
}

/// The gateways of one tree, by cluster: the place of the sender in the cluster that it comes from.
pub(super) struct Gateways {
    /// Clusters after the one that they are entered from.
    pub order: Vec<usize>,
    pub sender_place: Vec<usize>,
}

/// Lays trees over clusters out over hosts.
pub(super) struct Layout<'a> {
    pub network: &'a ClassNetwork,
    /// By cluster and host, the time of its sends to other clusters so far, seconds.
    sent_s: Vec<Vec<f64>>,
    /// By number of hosts in turn and cluster.
    arrivals_s: Vec<Vec<f64>>,
}

impl<'a> Layout<'a> {
    pub fn new(network: &'a ClassNetwork, shape: Shape) -> Layout<'a> {
        let groups = 0..network.groups.len();
        let sent_s = groups.clone().map(|group| vec![0.0; network.in_turn(group)]).collect();
        let arrivals_s =
            groups.map(|group| shape.arrivals_s(network.in_turn(group), network.inner[group])).collect();
        Layout { network, sent_s, arrivals_s }
    }

    /// The host at a place of a cluster in the tree of that number, as [`ClusterTrees`] has it.
    fn host(&self, group: usize, tree: usize, place: usize) -> usize {
        let hosts = self.network.in_turn(group);
        (place + hosts - tree % hosts) % hosts
    }

    /// Chooses who sends to each cluster: of the hosts near the entry, the one that has sent least so far, ties to the
    /// nearest.
    pub fn gateways(&mut self, tree: usize, entering: &[u32]) -> Gateways {
        let groups = self.network.groups.len();
        let mut children = vec![Vec::new(); groups];
        for (to, &edge) in entering.iter().enumerate().skip(1) {
            children[self.network.graph.from[edge as usize] as usize].push(to);
        }
        let mut gateways = Gateways { order: vec![0], sender_place: vec![0; groups] };
        let mut at = 0;
        while at < gateways.order.len() {
            let group = gateways.order[at];
            at += 1;
            let near = (SENDERS * children[group].len() + 1).min(self.network.in_turn(group));
            for &to in &children[group] {
                let sent_s = |place: &usize| self.sent_s[group][self.host(group, tree, *place)];
                let place = (0..near).min_by(|a, b| sent_s(a).total_cmp(&sent_s(b))).unwrap_or(0);
                let host = self.host(group, tree, place);
                self.sent_s[group][host] += self.network.between[entering[to] as usize].busy_s;
                gateways.sender_place[to] = place;
                gateways.order.push(to);
            }
        }
        gateways
    }

    /// When the last host has the tree's first segment, seconds.
    pub fn last_arrival_s(&self, entering: &[u32], gateways: &Gateways) -> f64 {
        let mut entered_s = vec![0.0; entering.len()];
        let mut last_s: f64 = 0.0;
        for &group in &gateways.order {
            if group == 0 {
                // The root's hop into its cluster.
                entered_s[0] =
                    if self.network.groups[0].len() > 1 { self.network.inner[0].whole_s() } else { 0.0 };
            } else {
                let edge = entering[group] as usize;
                let from = self.network.graph.from[edge] as usize;
                let sender_s = entered_s[from] + self.arrivals_s[from][gateways.sender_place[group]];
                entered_s[group] = sender_s + self.network.between[edge].whole_s();
            }
            let within_s = self.arrivals_s[group].iter().copied().fold(0.0, f64::max);
            last_s = last_s.max(entered_s[group] + within_s);
        }
        last_s
    }
}

/// The trees over hosts, of equal shares.
pub(super) fn host_trees(
    network: &ClassNetwork,
    trees: &ClassTrees,
    shape: Shape,
    nodes: usize,
) -> ClusterTrees {
    let mut layout = Layout::new(network, shape);
    let mut insides: Vec<Inside> = Vec::new();
    let mut inside_of = BTreeMap::new();
    let clusters = network.groups.iter().enumerate().map(|(group, hosts)| {
        let places = network.in_turn(group);
        let inside = *inside_of.entry(places).or_insert_with(|| {
            insides.push(shape.edges(places));
            insides.len() as u32 - 1
        });
        Cluster { hosts: hosts.clone(), inside }
    });
    let clusters = clusters.collect();
    let one = |(number, entering): (usize, &Vec<u32>)| {
        let gateways = layout.gateways(number, entering);
        let entry = |to: usize| Entry {
            from: network.graph.from[entering[to] as usize],
            place: gateways.sender_place[to] as u32,
        };
        (1..entering.len()).map(entry).collect()
    };
    let entries = trees.entering.iter().enumerate().map(one).collect();
    ClusterTrees::new(nodes, clusters, insides, entries)
}
