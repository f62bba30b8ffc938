//! The flat tree: the root serves every node itself, in id order; in a scatter, the longest on their way first.
//!
//! A scatter ends when the last block has arrived, some after the port has sent it. So the blocks with the longest
//! latencies leave first, which is optimal for one port (Jackson's rule: largest delivery time first). Where a block would
//! wait for a pipe, another one leaves meanwhile, and a pipe with much to carry counts as a long way: list scheduling. A
//! gather needs no order: the nearest block comes first.
//!
//! In an all-gather every node sends its block to all others itself, beginning with the next one, and no node waits for a
//! turn or passes anything on. So one latency counts, and n − 1 start-ups. Only where ports serve several transfers at
//! once: elsewhere `round-robin` takes as long, and keeps two senders from one receiver.
//!
//! Reference: Barchet-Steffenel and Mounié, *Fast tuning of intra-cluster collective communications*,
//! table 1 (flat tree; segmented: segment by segment to every node); the inter-cluster strategy of ECO and
//! MagPIe in *Scheduling heuristics for efficient broadcast operations on grid environments*, section 2.
//! Cost: (n − 1)·T(m) + latency on a homogeneous one-port network. Complexity: O(n).
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{LinkClass, Mesh, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("three", PortModel::OnePort);
//! let nodes: Vec<_> = ["a", "b", "c"].iter().map(|id| builder.add_host(*id).unwrap()).collect();
//! let class = builder.add_class(LinkClass::affine(0.5, 100.0));
//! builder.add_mesh(Mesh { nodes: nodes.clone(), class }).unwrap();
//! let platform = builder.build().unwrap();
//! let plan = find("flat").unwrap().plan(&Instance::new(&platform, nodes[0], 200).unwrap(), &Budget::UNLIMITED).unwrap();
//! let trace = broadleaf::simulate::simulate(&platform, &plan, false).unwrap();
//! // Two transfers of 2 s each, one after the other, the second half a second on its way.
//! assert_eq!(trace.finish_s, [0.0, 2.5, 4.5]);
//! ```

use crate::budget::Budget;
use crate::model::{occupation, Resource};
use crate::plan::{Collective, Plan, PlanError, Tree, TreeBuilder};
use crate::planners::time_needed::of_block_trees_s;
use crate::planners::{Card, Instance, Planner, Profile, Segmentation, Unsupported};
use crate::platform::{Hop, LinkClassId, NodeId, PortModel, SharedId};
use std::collections::{HashMap, VecDeque};

/// An all-gather has n² edges; with more hosts they would not fit in a few hundred megabytes.
const MOST_HOSTS: usize = 1024;

pub struct Flat;

static CARD: Card = Card {
    name: "flat",
    summary: "every block's root sends to every node itself, in id order; a scatter's longest ways first",
    reference:
        "Barchet-Steffenel and Mounié, Fast tuning of intra-cluster collective communications, table 1",
    objective: "makespan of very few nodes",
    guarantee: "none",
    complexity: "O(n); O(n²) for an all-gather",
    profile: Profile {
        least_s: of_block_trees_s,
        segments: Segmentation::Guided { whole: |_, count| count, modelled: segments_of_a_block },
        ..Profile::QUICK
    },
};

/// Of an all-gather's block, which is not passed on. Segments of four blocks or more in turn take about as long on a pipe of
/// the model as transfers that share it.
const SEGMENTS_OF_A_BLOCK: u64 = 4;

fn segments_of_a_block(instance: &Instance, most: u64, _: &Budget) -> Option<u64> {
    (instance.collective == Collective::Allgather).then_some(most.min(SEGMENTS_OF_A_BLOCK))
}

impl Planner for Flat {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        if instance.collective != Collective::Allgather {
            return Ok(());
        }
        if instance.platform.port_model() != PortModel::MultiPort {
            return Err(Unsupported("ports serve one transfer at a time; see round-robin".to_string()));
        }
        match instance.platform.hosts().count() {
            hosts if hosts > MOST_HOSTS => Err(Unsupported(format!("{hosts} hosts; at most {MOST_HOSTS}"))),
            _ => Ok(()),
        }
    }

    fn collectives(&self) -> &'static [Collective] {
        &[Collective::Bcast, Collective::Scatter, Collective::Allgather]
    }

    fn plan(&self, instance: &Instance, _: &Budget) -> Result<Plan, PlanError> {
        let mut tree = TreeBuilder::new(instance.platform.node_count());
        if instance.collective == Collective::Allgather {
            return Ok(Plan { trees: trees_of_all(instance).into(), ..instance.tree_plan(CARD.name, tree) });
        }
        let receivers = match instance.collective {
            Collective::Scatter => longest_first(instance),
            _ => instance.receivers().collect(),
        };
        receivers.into_iter().for_each(|receiver| {
            tree.add(instance.root, receiver);
        });
        Ok(instance.tree_plan(CARD.name, tree))
    }
}

/// A tree from every host to the others, in id order from the next one on, so that no two begin with the same receiver.
fn trees_of_all(instance: &Instance) -> Vec<Tree> {
    let hosts: Vec<NodeId> = instance.platform.hosts().collect();
    let from = |place: usize| {
        let mut tree = TreeBuilder::new(instance.platform.node_count()).root(hosts[place]);
        for &receiver in hosts[place + 1..].iter().chain(&hosts[..place]) {
            tree.add(hosts[place], receiver);
        }
        tree.build()
    };
    (0..hosts.len()).map(from).collect()
}

/// Receivers whose blocks take alike, by id.
struct Alike {
    waiting: VecDeque<NodeId>,
    port_s: f64,
    /// How long a block holds each shared resource of the link.
    pipes: Vec<(SharedId, f64)>,
    arrival_s: f64,
}

impl Alike {
    /// When the next block can leave, by when the pipes are free.
    fn start_s(&self, pipe_free_s: &[f64]) -> f64 {
        self.pipes.iter().map(|(pipe, _)| pipe_free_s[pipe.index()]).fold(0.0, f64::max)
    }

    /// How long after the next block's start the last block of the busiest pipe arrives, by what pipes have to carry.
    fn rest_s(&self, backlog_s: &[f64]) -> f64 {
        let behind_s = self.pipes.iter().map(|&(pipe, held_s)| backlog_s[pipe.index()] - held_s);
        behind_s.fold(0.0, f64::max) + self.arrival_s
    }
}

/// The receivers in the order in which a scatter's root serves them: of those that can leave first, the one with the
/// longest rest.
fn longest_first(instance: &Instance) -> Vec<NodeId> {
    let mut groups = alike(instance);
    let mut backlog_s = vec![0.0; instance.platform.shared().len()];
    for group in &groups {
        for &(pipe, held_s) in &group.pipes {
            backlog_s[pipe.index()] += held_s * group.waiting.len() as f64;
        }
    }
    let mut pipe_free_s = vec![0.0; backlog_s.len()];
    let mut port_free_s = 0.0f64;
    let mut order = Vec::new();
    loop {
        let next = groups.iter_mut().filter(|group| !group.waiting.is_empty()).min_by(|one, other| {
            let start_s = |group: &Alike| group.start_s(&pipe_free_s).max(port_free_s);
            let rest_s = |group: &Alike| group.rest_s(&backlog_s);
            let by_id = one.waiting[0].cmp(&other.waiting[0]);
            start_s(one).total_cmp(&start_s(other)).then(rest_s(other).total_cmp(&rest_s(one))).then(by_id)
        });
        let Some(group) = next else { return order };
        let start_s = group.start_s(&pipe_free_s).max(port_free_s);
        port_free_s = start_s + group.port_s;
        for &(pipe, held_s) in &group.pipes {
            pipe_free_s[pipe.index()] = start_s + held_s;
            backlog_s[pipe.index()] -= held_s;
        }
        order.extend(group.waiting.pop_front());
    }
}

/// The receivers by link and length of their blocks. Without a link of its own, a transfer takes the quickest path, whose
/// latency alone counts.
fn alike(instance: &Instance) -> Vec<Alike> {
    let Instance { platform, root, message_bytes, weights, .. } = *instance;
    let path_s = platform.distances(root, |class| platform.class(class).latency_s);
    let mut groups: Vec<Alike> = Vec::new();
    let mut known: HashMap<(Option<LinkClassId>, u64, u64), usize> = HashMap::new();
    for receiver in instance.receivers() {
        let weight = weights.map_or(1.0, |weights| weights[receiver.index()]);
        let bytes = (message_bytes as f64 * weight).round() as u64;
        let link = platform.link(root, receiver);
        let far_s = if link.is_some() { 0.0 } else { path_s[receiver.index()] };
        let place = *known.entry((link, bytes, far_s.to_bits())).or_insert(groups.len());
        if place == groups.len() {
            let mut group =
                Alike { waiting: VecDeque::new(), port_s: 0.0, pipes: Vec::new(), arrival_s: far_s };
            if let Some(class) = link {
                let taken = occupation(platform, Hop { from: root, to: receiver, class }, bytes);
                for window in taken.windows {
                    match window.resource {
                        Resource::Out(node) if node == root => group.port_s = window.duration_s,
                        Resource::Shared(pipe) => group.pipes.push((pipe, window.duration_s)),
                        _ => {}
                    }
                }
                group.arrival_s = taken.arrival_s;
            }
            groups.push(group);
        }
        groups[place].waiting.push_back(receiver);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::check;
    use crate::planners::plan_with;
    use crate::platform::Platform;
    use crate::simulate::estimate;

    /// Four hosts that send at 200 B/s over links of 100 B/s, 1 s apart.
    fn four(port_model: &str) -> Platform {
        let hosts: Vec<_> = "abcd"
            .chars()
            .map(|id| serde_json::json!({"id": id.to_string(), "out_bytes_per_s": 200.0, "in_bytes_per_s": 200.0}))
            .collect();
        let document = serde_json::json!({
            "format": "broadleaf-platform/1", "name": "four", "port_model": port_model, "nodes": hosts,
            "meshes": [{"nodes": ["a", "b", "c", "d"], "link": {"bandwidth_bytes_per_s": 100.0, "latency_s": 1.0}}]
        });
        Platform::from_json(&document.to_string()).unwrap()
    }

    #[test]
    fn an_all_gather_takes_one_latency_and_no_turns() {
        let platform = four("multi-port");
        let instance = Instance::new(&platform, NodeId(0), 100).unwrap();
        let instance = Instance { collective: Collective::Allgather, ..instance };
        let plan = plan_with(&Flat, &instance, &Budget::UNLIMITED).unwrap();
        assert!(check::faults(&platform, &plan).is_empty());
        // Three blocks of 0.5 s in each port, the last of which is on its link for 1 s and on its way for 1 s.
        assert_eq!(estimate(&platform, &plan).unwrap(), 3.0);
        assert!(Flat.supports(&Instance { platform: &four("one-port"), ..instance }).is_err());
    }
}
