//! The bound of all-reduces between groups of hosts with a pipe into each, against all ways of four hosts.

use broadleaf::budget::Budget;
use broadleaf::optimum::allreduce_bound_s;
use broadleaf::plan::{Collective, Plan, Tree, TreeBuilder};
use broadleaf::platform::{
    Bridge, ExplicitLink, LinkClass, Mesh, Node, NodeId, Platform, PlatformBuilder, PortModel,
};
use broadleaf::simulate::simulate;
use std::collections::{HashSet, VecDeque};

const HOSTS: usize = 4;

/// A link inside a group, and one between groups that uses the pipe into its receiver's group.
struct Groups {
    of_host: Vec<usize>,
    latency_s: [f64; 2],
    rate: [f64; 2],
    pipe_rate: Vec<f64>,
}

impl Groups {
    fn platform(&self) -> Platform {
        let mut builder = PlatformBuilder::new("groups", PortModel::OnePort);
        let count = self.pipe_rate.len();
        let clusters: Vec<_> = (0..count).map(|group| builder.cluster(&format!("g{group}"))).collect();
        let mut members = vec![Vec::new(); count];
        for (host, &group) in self.of_host.iter().enumerate() {
            let cluster = Some(clusters[group]);
            let node = Node { id: format!("n{host}"), cluster, ..Node::default() };
            members[group].push(builder.add_node(node).unwrap());
        }
        for (to, &rate) in self.pipe_rate.iter().enumerate() {
            let pipe = builder.add_shared(format!("into-{to}"), rate).unwrap();
            let far = LinkClass::affine(self.latency_s[1], self.rate[1]);
            let far = builder.add_class(LinkClass { uses: vec![pipe], ..far });
            for from in (0..count).filter(|&from| from != to) {
                let (from, to) = (clusters[from], clusters[to]);
                builder.add_bridge(Bridge { from, to, both_ways: false, class: far }).unwrap();
            }
        }
        let near = builder.add_class(LinkClass::affine(self.latency_s[0], self.rate[0]));
        for nodes in members.into_iter().filter(|nodes| nodes.len() > 1) {
            builder.add_mesh(Mesh { nodes, class: near }).unwrap();
        }
        builder.build().unwrap()
    }

    fn bound_s(&self, message_bytes: u64) -> f64 {
        allreduce_bound_s(&self.platform(), NodeId(0), message_bytes, &Budget::UNLIMITED)
    }
}

/// The least number of steps after which all hosts know all contributions of one byte. A transfer takes a step, and one
/// between groups keeps the pipe into the receiver's group busy for `held` steps. Every schedule of whole steps is tried,
/// also those in which a host keeps what it has sent.
fn fewest_steps(of_host: [usize; HOSTS], held: &[u8]) -> usize {
    type State = ([u8; HOSTS], Vec<u8>);
    let mut known = [0; HOSTS];
    (0..HOSTS).for_each(|host| known[host] = 1 << host);
    let start: State = (known, vec![0; held.len()]);
    let mut seen = HashSet::from([start.clone()]);
    let mut waiting = VecDeque::from([(start, 0)]);
    while let Some(((known, pipes), steps)) = waiting.pop_front() {
        if known.iter().all(|&known| known == (1 << HOSTS) - 1) {
            return steps;
        }
        // By receiver, its sender; a host that names itself receives nothing.
        for choice in 0..HOSTS.pow(HOSTS as u32) {
            let senders: Vec<usize> = (0..HOSTS as u32).map(|to| choice / HOSTS.pow(to) % HOSTS).collect();
            let (mut next, mut busy) = (known, pipes.clone());
            let mut sent = [false; HOSTS];
            let is_free = senders.iter().enumerate().filter(|(to, from)| to != *from).all(|(to, &from)| {
                next[to] |= known[from];
                let pipe = of_host[to];
                let has_pipe = of_host[from] == pipe || busy[pipe] == 0;
                if of_host[from] != pipe {
                    busy[pipe] = held[pipe];
                }
                has_pipe && !std::mem::replace(&mut sent[from], true)
            });
            if !is_free {
                continue;
            }
            busy.iter_mut().for_each(|steps| *steps = steps.saturating_sub(1));
            if seen.insert((next, busy.clone())) {
                waiting.push_back(((next, busy), steps + 1));
            }
        }
    }
    unreachable!("everybody may always send")
}

#[test]
fn no_schedule_of_one_byte_is_faster() {
    let mut ratios = Vec::new();
    for of_host in [[0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 2], [0, 1, 2, 3]] {
        let groups = of_host[HOSTS - 1] + 1;
        for held in [[1, 1, 1, 1], [2, 2, 2, 2], [4, 4, 4, 4], [1, 3, 2, 3]] {
            let held = &held[..groups];
            let pipe_rate = held.iter().map(|&steps| 1.0 / f64::from(steps)).collect();
            let network =
                Groups { of_host: of_host.to_vec(), latency_s: [0.0; 2], rate: [1.0; 2], pipe_rate };
            let (bound_s, steps) = (network.bound_s(1), fewest_steps(of_host, held));
            assert!(bound_s <= steps as f64, "{of_host:?} {held:?}: {bound_s} s, but {steps} steps suffice");
            ratios.push(steps as f64 / bound_s);
        }
    }
    // Some are tight, and none is so low that a bound of 0 would do.
    assert!(ratios.iter().all(|&ratio| ratio < 2.1), "{ratios:?}");
    assert!(ratios.iter().any(|&ratio| ratio < 1.0 + 1e-6), "{ratios:?}");
}

/// Four pairs of hosts. Six times each byte enters a pair, through four pipes of 50 bytes/s, so each pipe carries 3/2
/// messages. A host passes on what came in by a pipe in half the time for which it held the pipe, and the link takes the
/// other half, so a pipe is free again when the last message is passed on.
#[test]
fn four_sites_share_their_pipes() {
    let of_host = vec![0, 0, 1, 1, 2, 2, 3, 3];
    let network = Groups { of_host, latency_s: [0.0; 2], rate: [100.0; 2], pipe_rate: vec![50.0; 4] };
    let bound_s = network.bound_s(1000);
    assert!((bound_s - 30.0).abs() < 1e-6, "{bound_s} s");
}

/// Every tree on the hosts, by its parents.
fn all_trees() -> Vec<(usize, Vec<Option<usize>>)> {
    let mut trees = Vec::new();
    for root in 0..HOSTS {
        for choice in 0..HOSTS.pow(HOSTS as u32) {
            let parents: Vec<Option<usize>> = (0..HOSTS)
                .map(|host| Some(choice / HOSTS.pow(host as u32) % HOSTS).filter(|_| host != root))
                .collect();
            let leads_up = (0..HOSTS).all(|host| {
                let way = std::iter::successors(Some(host), |&at| parents[at]);
                way.take(HOSTS).last() == Some(root)
            });
            // The root's digit is not used.
            if leads_up && (choice / HOSTS.pow(root as u32)).is_multiple_of(HOSTS) {
                trees.push((root, parents));
            }
        }
    }
    trees
}

fn tree(root: usize, parents: &[Option<usize>]) -> Tree {
    let mut edges = TreeBuilder::new(HOSTS);
    let mut level = vec![root];
    while let Some(parent) = level.pop() {
        for child in (0..HOSTS).filter(|&child| parents[child] == Some(parent)) {
            edges.add(NodeId(parent as u32), NodeId(child as u32));
            level.push(child);
        }
    }
    edges.root(NodeId(root as u32)).build()
}

/// Pipes that are held long after a message's arrival, and messages whole or in segments.
#[test]
fn no_two_trees_are_faster() {
    let trees = all_trees();
    assert_eq!(trees.len(), 64);
    let networks = [
        ([0, 0, 1, 1], [0.0, 0.0], [100.0, 100.0], vec![30.0, 30.0]),
        ([0, 0, 1, 1], [0.01, 0.3], [50.0, 100.0], vec![40.0, 20.0]),
        ([0, 0, 1, 2], [0.0, 0.1], [1000.0, 100.0], vec![25.0, 25.0, 50.0]),
        ([0, 1, 2, 3], [0.0, 0.02], [1.0, 100.0], vec![50.0, 20.0, 60.0, 90.0]),
    ];
    for (of_host, latency_s, rate, pipe_rate) in networks {
        let network = Groups { of_host: of_host.to_vec(), latency_s, rate, pipe_rate };
        let (platform, message_bytes) = (network.platform(), 12);
        let bound_s = network.bound_s(message_bytes);
        let mut fastest_s = f64::INFINITY;
        for (root, inward) in &trees {
            for (_, outward) in trees.iter().filter(|(other, _)| other == root) {
                for segment_bytes in [1, 4, 6, 12] {
                    let host = NodeId(*root as u32);
                    let out = vec![tree(*root, outward)];
                    let plan = Plan::bcast(&platform, "all", host, message_bytes, segment_bytes, out);
                    let inward = vec![tree(*root, inward)];
                    let plan = Plan { collective: Collective::Allreduce, inward: inward.into(), ..plan };
                    fastest_s = simulate(&platform, &plan, false).unwrap().makespan_s.min(fastest_s);
                }
            }
        }
        assert!(bound_s <= fastest_s, "{of_host:?}: {bound_s} s, but {fastest_s} s suffice");
        assert!(bound_s * 2.5 > fastest_s, "{of_host:?}: {bound_s} s is far below {fastest_s} s");
    }
}

/// Five hosts in a line, links of a second. From the middle every host is two links away, and from one end to the other
/// there are four; a byte takes a hundredth of a second more on each.
#[test]
fn a_central_root_does_not_lower_the_bound() {
    let mut builder = PlatformBuilder::new("line", PortModel::OnePort);
    let hosts: Vec<NodeId> = (0..5)
        .map(|host| builder.add_node(Node { id: format!("n{host}"), ..Node::default() }).unwrap())
        .collect();
    let link = builder.add_class(LinkClass::affine(1.0, 100.0));
    for pair in hosts.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        builder.add_link(ExplicitLink { from, to, both_ways: true, class: link }).unwrap();
    }
    let platform = builder.build().unwrap();
    for host in hosts {
        let bound_s = allreduce_bound_s(&platform, host, 1, &Budget::UNLIMITED);
        assert!((bound_s - 4.04).abs() < 1e-6, "from {host:?}: {bound_s} s");
    }
}
