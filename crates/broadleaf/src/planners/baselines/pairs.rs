//! The cost of a message between every two hosts: the end-to-end matrices of paper 3's planners.
//!
//! Mateescu's model, which the paper adopts: a host serves its children in order; each send occupies it for the
//! start-up and the size over the bandwidth, and arrives a latency later. Bandwidths are those of a benchmark between
//! the two hosts alone: a pipe on their way counts, but not that two sends may share it.

use crate::plan::{Plan, TreeBuilder};
use crate::planners::clustered::host_times::HostTimes;
use crate::planners::time_needed::of_searches_s;
use crate::planners::{Instance, Unsupported};
use crate::platform::{NodeId, SharedId};

/// Hosts beyond which the matrices take too much memory: two of 2,048² numbers are 64 MiB.
const MOST_HOSTS: usize = 2048;

/// Pairs whose costs are found in a second. Measured: 0.7 µs each on a sparse random network of 1,000 nodes
/// (`benches/time_limits.py random-1000`), less where hosts have links; two fifths are added for slower machines.
const PAIRS_PER_S: f64 = 1e6;

/// The matrices of one instance, or of some of its hosts. Hosts are numbered from 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    count: usize,
    /// Row by row, sender first, seconds; infinite where no path leads.
    gap_s: Vec<f64>,
    /// Gap and latency.
    edge_s: Vec<f64>,
}

impl Pairs {
    /// From matrices of the sender's occupation and the arrival of a send, seconds; the diagonals are ignored.
    pub fn new(count: usize, gap_s: Vec<f64>, edge_s: Vec<f64>) -> Pairs {
        assert!(gap_s.len() == count * count && edge_s.len() == count * count);
        Pairs { count, gap_s, edge_s }
    }

    /// Those of an instance, and its hosts in order of their ids.
    fn of(instance: &Instance) -> (Pairs, Vec<NodeId>) {
        let hosts: Vec<NodeId> = instance.platform.hosts().collect();
        let mut links = HostTimes::new(instance);
        let (mut gap_s, mut edge_s) = (Vec::new(), Vec::new());
        for &from in &hosts {
            for (cost, &to) in links.routed(from, &hosts).into_iter().zip(&hosts) {
                let gap_s_alone = cost.gap_s.max(pipes_s(instance, from, to));
                gap_s.push(gap_s_alone);
                edge_s.push(gap_s_alone + cost.latency_s);
            }
        }
        (Pairs::new(hosts.len(), gap_s, edge_s), hosts)
    }

    /// How many hosts there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How long a send occupies its sender, seconds.
    pub fn gap_s(&self, from: usize, to: usize) -> f64 {
        self.gap_s[from * self.count + to]
    }

    /// How long after its start a send has arrived, seconds.
    pub fn edge_s(&self, from: usize, to: usize) -> f64 {
        self.edge_s[from * self.count + to]
    }

    /// The matrices of some of the hosts, in the order given.
    pub fn among(&self, hosts: &[usize]) -> Pairs {
        let part = |matrix: &[f64]| {
            hosts.iter().flat_map(|&u| hosts.iter().map(move |&v| matrix[u * self.count + v])).collect()
        };
        Pairs { count: hosts.len(), gap_s: part(&self.gap_s), edge_s: part(&self.edge_s) }
    }
}

/// How long the narrowest pipe of a link is held by the whole message, seconds.
fn pipes_s(instance: &Instance, from: NodeId, to: NodeId) -> f64 {
    let platform = instance.platform;
    let Some(class) = platform.link(from, to) else { return 0.0 };
    let rate = |shared: &SharedId| platform.shared()[shared.index()].bandwidth_bytes_per_s;
    let seconds =
        platform.class(class).uses.iter().map(|shared| instance.message_bytes as f64 / rate(shared));
    seconds.fold(0.0, f64::max)
}

/// Whether the planners of these matrices support an instance.
pub(super) fn supports(instance: &Instance) -> Result<(), Unsupported> {
    let hosts = instance.platform.hosts().count();
    if hosts > MOST_HOSTS {
        return Err(Unsupported(format!(
            "its matrices of all pairs are for up to {MOST_HOSTS} hosts, not {hosts}; use makespan or best"
        )));
    }
    Ok(())
}

/// The time to find the paths and costs of all pairs, and the tree's paths: usually from half of the hosts; seconds.
pub(super) fn least_s(instance: &Instance) -> f64 {
    let hosts = instance.platform.hosts().count();
    of_searches_s(instance.platform, hosts + hosts / 2) + hosts.pow(2) as f64 / PAIRS_PER_S
}

/// The plan of the tree that `grow` returns for the matrices and the root: its edges (parent, child), each parent's
/// in serving order.
pub(super) fn plan(
    instance: &Instance,
    name: &str,
    grow: impl FnOnce(&Pairs, usize) -> Vec<(usize, usize)>,
) -> Plan {
    let (matrices, hosts) = Pairs::of(instance);
    let root = hosts.partition_point(|&host| host < instance.root);
    let mut tree = TreeBuilder::new(instance.platform.node_count());
    for (parent, child) in grow(&matrices, root) {
        tree.add(hosts[parent], hosts[child]);
    }
    instance.tree_plan(name, tree)
}
