//! All-reduce and all-gather between sites: trees that enter each site once, with other inner hosts in each tree.
//!
//! Of an all-gather, each host has a tree ([`site_blocks`](super::site_blocks)); of an all-reduce there are a few. Each of
//! these has a head in every site, and all other heads hang from that of one site. Below the head, each cluster of
//! the site has its own tree, of few children a host. A segment is combined on its way up its tree, and goes out on the
//! same one. The trees start at other hosts of each cluster, so that the hosts' ports share the work. Their roots are
//! either all at the site that is nearest to all others, which keeps the way in and out short, or at each site in turn,
//! which shares the pipes: with g sites a pipe carries 2·(g − 1)/g messages then, the least possible. The plan that is
//! quicker by its busiest resource and its longest way is taken.
//!
//! In an all-reduce a sender passes over busy receivers and pipes (`skip_busy`): else the heads, which wait for pipes,
//! would keep their sites waiting. In an all-gather the senders to a pipe are many, and ranks do not see each other's
//! messages there: all share it, and all blocks arrive when it has carried the last. That costs little while it takes
//! less time than the latencies; longer blocks, which would all be handed on only then, are refused.
//!
//! Reference: Kielmann et al., *MagPIe* (one tree that crosses each wide-area link once), and Sanders, Speck and Träff,
//! *Two-tree algorithms for full bandwidth broadcast, reduction and scan* (other inner hosts in each tree). Cost: about
//! two messages through each port, or the pipes' part, and the latencies of both ways; of an all-gather, all blocks
//! through the busiest port or pipe, and the latencies of one way. Complexity: O(n · g), of an all-gather O(n²).
//! Guarantee: in each tree, each site is entered and left once.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::plan::Collective;
//! use broadleaf::planners::{find, plan_with, Instance};
//! use broadleaf::platform::{Bridge, LinkClass, Node, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("two sites of one host", PortModel::OnePort);
//! let (here, there) = (builder.cluster("A"), builder.cluster("B"));
//! let mut add = |id: &str, cluster| {
//!     builder.add_node(Node { id: id.into(), cluster: Some(cluster), ..Node::default() }).unwrap()
//! };
//! let a = add("a", here);
//! add("b", there);
//! let far = builder.add_class(LinkClass::affine(0.5, 100.0));
//! builder.add_bridge(Bridge { from: here, to: there, both_ways: true, class: far }).unwrap();
//! let platform = builder.build().unwrap();
//! let instance = Instance::new(&platform, a, 100).unwrap();
//! let instance = Instance { collective: Collective::Allreduce, ..instance };
//! let plan = plan_with(find("site-trees").unwrap(), &instance, &Budget::UNLIMITED).unwrap();
//! let trace = broadleaf::simulate::simulate(&platform, &plan, false).unwrap();
//! // b's message takes a second and the latency, and so does the sum on its way back.
//! assert_eq!(trace.finish_s, [1.5, 3.0]);
//! ```

use super::groups::{by_cluster, by_site};
use super::site_blocks;
use crate::budget::Budget;
use crate::model::{occupation, Resource};
use crate::plan::{Collective, Plan, PlanError, Tree, TreeBuilder};
use crate::planners::{Card, Instance, Pace, Planner, Profile, Segmentation, Unsupported};
use crate::platform::{Hop, NodeId, Platform};
use std::collections::BTreeMap;

/// Trees whose roots are at one site: the two of the two-tree algorithm, which occupy each port fully already.
const TREES_OF_ONE_SITE: usize = 2;
/// With more sites than this, not every site has a root.
const MOST_TREES: usize = 16;
/// A host has no more children than this unless it is a head; more lengthen the wait for the last one.
const MOST_CHILDREN: usize = 4;
/// An all-gather of more hosts takes longer than a quick plan: n² transfers are simulated.
const QUICK_BLOCKS: usize = 128;

pub(crate) struct SiteTrees;

static CARD: Card = Card {
    name: "site-trees",
    summary: "all-reduce along a few trees that enter each site once, with other inner hosts in each; all-gather along \
              one for each host",
    reference: "Kielmann et al., MagPIe, PPoPP 1999; Sanders, Speck and Träff, Two-tree algorithms for full bandwidth \
                broadcast, reduction and scan",
    objective: "makespan of all-gathers and long all-reduces between sites",
    guarantee: "in each tree, each site is entered and left once",
    complexity: "O(n g) for g sites; O(n²) for an all-gather",
    profile: Profile {
        pace,
        segments: Segmentation::Guided { whole: |_, count| count, modelled: segments },
        ..Profile::QUICK
    },
};

fn pace(instance: &Instance) -> Pace {
    match instance.collective {
        Collective::Allgather => Pace::uncounted(instance, instance.platform.node_count() <= QUICK_BLOCKS),
        _ => Pace::Quick,
    }
}

/// The blocks of an all-gather go whole: they are short, and their own pipeline.
fn segments(instance: &Instance, _: u64, _: &Budget) -> Option<u64> {
    (instance.collective == Collective::Allgather).then_some(1)
}

impl Planner for SiteTrees {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn collectives(&self) -> &'static [Collective] {
        &[Collective::Allgather, Collective::Allreduce]
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        match sites(instance.platform).len() {
            0 | 1 => Err(Unsupported("all hosts are in one cluster of one site".to_string())),
            _ => Ok(()),
        }
    }

    fn plan(&self, instance: &Instance, _: &Budget) -> Result<Plan, PlanError> {
        let Instance { platform, root, message_bytes, segment_bytes, seed, collective, .. } = *instance;
        let sites = sites(platform);
        if collective == Collective::Allgather {
            let ways = site_blocks::ways(&latencies_s(platform, &sites));
            let trees = ways.map(|ways| site_blocks::trees(platform, &sites, &ways));
            let (promise, trees) = quickest(instance, trees, &[false])?;
            if promise.pipe_s > promise.longest_s {
                let reason = "the blocks take longer through a pipe than the latencies".to_string();
                return Err(PlanError::Unsupported { planner: CARD.name.to_string(), reason });
            }
            let plan = Plan::bcast(platform, CARD.name, root, message_bytes, segment_bytes, trees);
            return Ok(Plan { collective, seed, ..plan });
        }
        let nearest = nearest_to_all(&latencies_s(platform, &sites));
        let at_one = trees(platform, &sites, TREES_OF_ONE_SITE, |_| nearest);
        let in_turn = trees(platform, &sites, sites.len().min(MOST_TREES), |tree| tree);
        let (_, trees) = quickest(instance, [at_one, in_turn], &[true, false])?;
        let inward = trees.clone();
        let plan = Plan::bcast(platform, CARD.name, root, message_bytes, segment_bytes, trees);
        Ok(Plan { collective, inward: inward.into(), skip_busy: true, seed, ..plan })
    }
}

/// The trees that promise to be quickest; the first of equal ones.
fn quickest(
    instance: &Instance,
    sets: [Vec<Tree>; 2],
    ways: &[bool],
) -> Result<(Promise, Vec<Tree>), PlanError> {
    let promised = sets.map(|trees| promise(instance, &trees, ways).map(|promise| (promise, trees)));
    let quickest = promised.into_iter().flatten().min_by(|(a, _), (b, _)| a.all_s().total_cmp(&b.all_s()));
    quickest.ok_or_else(|| {
        let reason = "two heads of sites or clusters have no link between them".to_string();
        PlanError::Unsupported { planner: CARD.name.to_string(), reason }
    })
}

/// By site, its clusters, the largest first; where there is one site only, each cluster counts as a site.
fn sites(platform: &Platform) -> Vec<Vec<Vec<NodeId>>> {
    let hosts: Vec<NodeId> = platform.hosts().collect();
    let mut sites = by_site(platform, hosts.clone());
    if sites.len() == 1 {
        sites = by_cluster(platform, hosts);
    }
    let clusters = |site: Vec<NodeId>| {
        let mut clusters = by_cluster(platform, site);
        clusters.sort_by_key(|cluster| std::cmp::Reverse(cluster.len()));
        clusters
    };
    sites.into_iter().map(clusters).collect()
}

/// The latencies between the sites' first hosts, seconds; infinite where they have no link.
fn latencies_s(platform: &Platform, sites: &[Vec<Vec<NodeId>>]) -> Vec<Vec<f64>> {
    let first: Vec<NodeId> = sites.iter().map(|site| site[0][0]).collect();
    let latency_s = |from: NodeId, to: NodeId| match platform.link(from, to) {
        _ if from == to => 0.0,
        Some(class) => platform.class(class).latency_s,
        None => f64::INFINITY,
    };
    first.iter().map(|&from| first.iter().map(|&to| latency_s(from, to)).collect()).collect()
}

/// The site whose farthest other site is nearest.
fn nearest_to_all(latency_s: &[Vec<f64>]) -> usize {
    let count = latency_s.len();
    let farthest_s = |site: usize| {
        let others = (0..count).filter(|&other| other != site);
        others.map(|other| latency_s[site][other].max(latency_s[other][site])).fold(0.0, f64::max)
    };
    (0..count).min_by(|&a, &b| farthest_s(a).total_cmp(&farthest_s(b))).unwrap_or(0)
}

/// `count` trees of equal share, each with its root at the site that `root_site` gives it.
fn trees(
    platform: &Platform,
    sites: &[Vec<Vec<NodeId>>],
    count: usize,
    root_site: impl Fn(usize) -> usize,
) -> Vec<Tree> {
    let most_children = count.min(MOST_CHILDREN);
    let one = |number: usize| {
        let mut tree = SiteTree::new(platform);
        let rotated = |cluster: &Vec<NodeId>| {
            let mut hosts = cluster.clone();
            hosts.rotate_left(number * cluster.len() / count % cluster.len());
            hosts
        };
        let sites: Vec<Vec<Vec<NodeId>>> =
            sites.iter().map(|site| site.iter().map(rotated).collect()).collect();
        let root = sites[root_site(number)][0][0];
        // The slowest ways first: between sites, between clusters, inside.
        for site in &sites {
            if site[0][0] != root {
                tree.add(root, site[0][0]);
            }
        }
        for site in &sites {
            site[1..].iter().for_each(|cluster| tree.add(site[0][0], cluster[0]));
        }
        sites.iter().flatten().for_each(|cluster| tree.add_cluster(cluster, most_children));
        tree.edges.share(1.0 / count as f64).root(root).build()
    };
    (0..count).map(one).collect()
}

struct SiteTree {
    edges: TreeBuilder,
    /// By node, its children so far.
    children: Vec<usize>,
}

impl SiteTree {
    fn new(platform: &Platform) -> SiteTree {
        let nodes = platform.node_count();
        SiteTree { edges: TreeBuilder::new(nodes), children: vec![0; nodes] }
    }

    fn add(&mut self, parent: NodeId, child: NodeId) {
        self.edges.add(parent, child);
        self.children[parent.index()] += 1;
    }

    /// Hangs the hosts below their first one, level by level. A head's heads count as its children.
    fn add_cluster(&mut self, hosts: &[NodeId], most_children: usize) {
        let mut parent = 0;
        for child in 1..hosts.len() {
            while parent + 1 < child && self.children[hosts[parent].index()] >= most_children {
                parent += 1;
            }
            self.add(hosts[parent], hosts[child]);
        }
    }
}

/// What trees promise, seconds.
struct Promise {
    /// The time of the busiest resource, and of the busiest pipe.
    busiest_s: f64,
    pipe_s: f64,
    /// That of a segment by the longest way.
    longest_s: f64,
}

impl Promise {
    fn all_s(&self) -> f64 {
        self.busiest_s + self.longest_s
    }
}

/// `ways` states for each way of a segment whether it is inward. `None` where an edge of a tree has no link.
fn promise(instance: &Instance, trees: &[Tree], ways: &[bool]) -> Option<Promise> {
    let Instance { platform, message_bytes, segment_bytes, .. } = *instance;
    let segments = message_bytes.div_ceil(segment_bytes) as f64;
    let mut held_s: BTreeMap<Resource, f64> = BTreeMap::new();
    let mut longest_s: f64 = 0.0;
    for tree in trees {
        let mut way_s = 0.0;
        for &is_inward in ways {
            let mut at_s = vec![0.0; platform.node_count()];
            for parent in tree.breadth_first(tree.root.unwrap_or(instance.root)) {
                for &child in tree.children(parent) {
                    let (from, to) = if is_inward { (child, parent) } else { (parent, child) };
                    let class = platform.link(from, to)?;
                    let held = occupation(platform, Hop { from, to, class }, segment_bytes);
                    at_s[child.index()] = at_s[parent.index()] + held.arrival_s;
                    for window in held.windows {
                        *held_s.entry(window.resource).or_default() +=
                            window.duration_s * segments * tree.share;
                    }
                }
            }
            way_s += at_s.into_iter().fold(0.0, f64::max);
        }
        longest_s = longest_s.max(way_s);
    }
    let pipes = held_s.iter().filter(|(resource, _)| matches!(resource, Resource::Shared(_)));
    let pipe_s = pipes.map(|(_, &held_s)| held_s).fold(0.0, f64::max);
    Some(Promise { busiest_s: held_s.into_values().fold(0.0, f64::max), pipe_s, longest_s })
}
