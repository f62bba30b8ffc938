//! Many trees over clusters of equal hosts: each enters every cluster once, each by another host.
//!
//! One tree uses one gateway of each bridge at a time, while all other ports idle. Here a cluster is one vertex with as
//! many ports as it has hosts, and trees over the clusters share the bridges so that ports and pipes are evenly busy
//! ([`class_trees`]); sets of trees of several latencies are compared. Each tree is then laid out over hosts
//! ([`host_trees`]): the hosts of a cluster take turns at receiving from another cluster and at sending on, and inside the
//! cluster the segment goes round a ring, or down a binomial tree, from the host that it came in by. The network of clusters
//! is small, however many hosts they have.
//!
//! Reference: own; after Beaumont, Marchal and Robert, *Broadcast trees for heterogeneous platforms* (trees that share
//! the ports) on the clusters, and van de Geijn's scatter and ring inside them. Cost: the last host's first segment, and
//! the busiest resource's time of the others. Complexity: O(trees · (bridges · log + n)). Guarantee: none.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{Bridge, LinkClass, Mesh, Node, NodeId, PlatformBuilder, PortModel};
//!
//! // The root's way to each of the two hosts of B takes 2 s a segment, the one between them 1 s.
//! let mut builder = PlatformBuilder::new("one and two", PortModel::OnePort);
//! let (a, b) = (builder.cluster("A"), builder.cluster("B"));
//! let mut add = |id: &str, cluster| {
//!     builder.add_node(Node { id: id.into(), cluster: Some(cluster), ..Node::default() }).unwrap()
//! };
//! let hosts: Vec<NodeId> = [("r", a), ("x", b), ("y", b)].map(|(id, cluster)| add(id, cluster)).into();
//! let (far, near) = (LinkClass::affine(0.0, 0.5), LinkClass::affine(0.0, 1.0));
//! let (far, near) = (builder.add_class(far), builder.add_class(near));
//! builder.add_bridge(Bridge { from: a, to: b, both_ways: true, class: far }).unwrap();
//! builder.add_mesh(Mesh { nodes: hosts[1..].to_vec(), class: near }).unwrap();
//! let platform = builder.build().unwrap();
//! let instance = Instance::new(&platform, hosts[0], 4).unwrap().segmented(1);
//! let plan = find("gateway-trees").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
//! // x and y take turns at receiving from r, and pass on what they get.
//! assert_eq!(plan.trees[0].children(hosts[0]), [hosts[1]]);
//! assert_eq!(plan.trees[1].children(hosts[0]), [hosts[2]]);
//! // The root sends for 8 s, and the last segment has one more hop.
//! let trace = broadleaf::simulate::simulate(&platform, &plan, false).unwrap();
//! assert_eq!(trace.makespan_s, 9.0);
//! ```

mod class_network;
mod class_trees;
mod host_trees;

use crate::budget::Budget;
use crate::plan::{Collective, Plan, PlanError, Predicted};
use crate::planners::clustered::modelled_segments::SegmentCounts;
use crate::planners::{Card, Instance, Pace, Planner, Profile, Segmentation, Unsupported, LARGE_NODES};
use class_network::{are_classes, ClassNetwork};
use class_trees::{class_trees, Aim, ClassTrees};
use host_trees::{host_trees, Layout, Shape};

pub(crate) struct GatewayTrees;

static CARD: Card = Card {
    name: "gateway-trees",
    summary: "many trees over clusters of equal hosts, each of which enters a cluster by another host",
    reference: "own; after Beaumont, Marchal and Robert, Broadcast trees for heterogeneous platforms, between clusters",
    objective: "makespan of long messages over many clusters of equal hosts",
    guarantee: "none",
    complexity: "O(trees · (bridges · log + n))",
    profile: Profile {
        pace,
        segments: Segmentation::Guided { whole: |_, count| count, modelled: modelled_count },
        ..Profile::QUICK
    },
};

/// Trees at least, if the message has as many segments; a larger cluster has one for each of its hosts. Chosen: ports
/// are as even as with more.
const TREES: usize = 64;
/// Edges of all trees at most: 100 trees of 100,000 hosts.
const MOST_EDGES: usize = 10_000_000;
/// Edges of trees, over clusters and over hosts, per unit of work.
const EDGES_PER_UNIT: usize = 10;
/// As `ecef-pipelined`'s, but a simulation of more messages takes longer than planning may. Chosen.
const COUNTS: SegmentCounts =
    SegmentCounts { start: 256, worth_twice: 1.03, worth_many: 1.1, many_messages: 1_500_000 };
/// Among few nodes messages are no expense to the search, and shorter ones also wait less for each other's ports, which the
/// model leaves out.
const COUNTS_AMONG_FEW: SegmentCounts = SegmentCounts { worth_twice: 1.0, ..COUNTS };
/// What is tried for each number of segments: each shape with the trees of each aim.
const AIMS: [Aim; 2] = [Aim::Load, Aim::Arrival];
/// Among few nodes, in up to [`FEW_CLUSTERS`] clusters, also trees of limited latency: between the quickest trees, which share few
/// ports, and those of even load, which pass clusters in long chains. Chosen.
const WITHIN: [Aim; 6] = [
    Aim::Within(1.0),
    Aim::Within(1.2),
    Aim::Within(1.4),
    Aim::Within(1.7),
    Aim::Within(2.0),
    Aim::Within(3.0),
];
/// Clusters at most for which each set of trees takes some milliseconds. Chosen.
const FEW_CLUSTERS: usize = 64;
const SHAPES: [Shape; 2] = [Shape::Chain, Shape::Binomial];

impl Planner for GatewayTrees {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        if instance.collective != Collective::Bcast {
            return Err(Unsupported(format!("it plans bcast, not {}", instance.collective)));
        }
        are_classes(instance.platform)
    }

    fn plan(&self, instance: &Instance, budget: &Budget) -> Result<Plan, PlanError> {
        let network = ClassNetwork::new(instance);
        let Choice { makespan_s, trees, shape } = choose(instance, &network);
        let nodes = instance.platform.node_count();
        let edges = trees.entering.len() * (aims(&network).count() * network.between.len() + nodes);
        budget.spend((edges / EDGES_PER_UNIT) as u64);
        let trees = host_trees(&network, &trees, shape, nodes);
        let Instance { platform, root, message_bytes, segment_bytes, seed, .. } = *instance;
        let plan = Plan::bcast(platform, CARD.name, root, message_bytes, segment_bytes, trees);
        let predicted = Predicted { makespan_s: Some(makespan_s), ..Predicted::default() };
        Ok(Plan { predicted, seed, ..plan })
    }
}

/// The aims of the sets of trees that are compared.
fn aims(network: &ClassNetwork) -> impl Iterator<Item = Aim> {
    let hosts: usize = network.groups.iter().map(Vec::len).sum();
    let are_few = network.groups.len() <= FEW_CLUSTERS && hosts <= LARGE_NODES;
    let within = if are_few { &WITHIN[..] } else { &[] };
    AIMS.into_iter().chain(within.iter().copied())
}

/// The way that is quickest by the model.
struct Choice {
    makespan_s: f64,
    trees: ClassTrees,
    shape: Shape,
}

fn choose(instance: &Instance, network: &ClassNetwork) -> Choice {
    let segments = instance.message_bytes.div_ceil(instance.segment_bytes);
    let largest = network.groups.iter().map(Vec::len).max().unwrap_or(1);
    // Whole turns of the largest cluster.
    let wanted = TREES.next_multiple_of(largest).min(MOST_EDGES / instance.platform.node_count()).max(1);
    let count = wanted.min(usize::try_from(segments).unwrap_or(usize::MAX));
    let mut best: Option<Choice> = None;
    for aim in aims(network) {
        let trees = class_trees(network, count, aim);
        let modelled = SHAPES.map(|shape| (modelled_s(network, &trees, shape, segments), shape));
        let quickest = modelled.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
        let (makespan_s, shape) = quickest.expect("there are shapes");
        if best.as_ref().is_none_or(|best| makespan_s < best.makespan_s) {
            best = Some(Choice { makespan_s, trees, shape });
        }
    }
    best.expect("there are ways")
}

/// The latest first arrival, and the busiest resource's time of all segments but the first, seconds.
fn modelled_s(network: &ClassNetwork, trees: &ClassTrees, shape: Shape, segments: u64) -> f64 {
    let mut layout = Layout::new(network, shape);
    let arrivals_s = trees.entering.iter().enumerate().map(|(number, entering)| {
        let gateways = layout.gateways(number, entering);
        layout.last_arrival_s(entering, &gateways)
    });
    let first_s = arrivals_s.fold(0.0, f64::max);
    let others = (segments - 1) as f64 / trees.entering.len() as f64;
    first_s + others * trees.busiest_s * shape.waiting()
}

/// Among few nodes other planners are as likely to win, and are quicker.
fn pace(instance: &Instance) -> Pace {
    match instance.platform.node_count() > LARGE_NODES {
        true => Pace::Early,
        false => Pace::Slow,
    }
}

/// Of large plans no two can be simulated in time.
fn modelled_count(instance: &Instance, most: u64, budget: &Budget) -> Option<u64> {
    let modelled_s = |sized: &Instance, _| choose(sized, &ClassNetwork::new(sized)).makespan_s;
    let is_large = instance.platform.node_count() > LARGE_NODES;
    let counts = if is_large { COUNTS } else { COUNTS_AMONG_FEW };
    Some(counts.best(instance, most, budget, modelled_s))
}
