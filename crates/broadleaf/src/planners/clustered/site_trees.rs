//! All-reduce between sites: a few trees that enter each site once, with other inner hosts in each tree.
//!
//! A tree has a head in every site, and all other heads hang from that of one site. Below the head, each cluster of the
//! site has its own tree, of few children a host. The heads of a site's clusters all hang from that of its largest
//! cluster, or each from that of the cluster whose hosts have least to hand on, whichever promises more. A segment is
//! combined on its way up its tree, and goes out on the same one. The trees start at other hosts of each cluster, so that
//! the hosts' ports share the work. The roots are either all at the site that is nearest to all others, which keeps the way in and
//! out short, or at each site in turn, which shares the pipes: with g sites a pipe carries 2·(g − 1)/g messages then, the
//! least possible. Or the heads of all sites send their sums to each other: a contribution crosses one long link, and a
//! site is entered by every other one, which suits short messages; then a single tree may do. The plan that is quicker by
//! its busiest resource and its longest way is taken.
//!
//! A sender passes over busy receivers and pipes (`skip_busy`): else the heads, which wait for pipes, would keep their
//! sites waiting.
//!
//! Reference: Kielmann et al., *MagPIe* (one tree that crosses each wide-area link once), and Sanders, Speck and Träff,
//! *Two-tree algorithms for full bandwidth broadcast, reduction and scan* (other inner hosts in each tree). Cost: about
//! two messages through each port, or the pipes' part, and the latencies of both ways. Complexity: O(n · g). Guarantee: in
//! each tree, each site is entered and left once, or from and to each other site if heads exchange.
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
//! // Each sends its message to the other one: a second and the latency.
//! assert_eq!(trace.finish_s, [1.5, 1.5]);
//! ```

use super::site_promise::{has_sites, latencies_s, quickest, sites};
use crate::budget::Budget;
use crate::plan::{Collective, Plan, PlanError, Tree, TreeBuilder};
use crate::planners::exchange::is_worth_exchanging;
use crate::planners::{Card, Instance, Planner, Profile, Unsupported};
use crate::platform::{NodeId, Platform};

/// Trees whose roots are at one site. Two occupy the ports on average, but a head has one child more for each site or
/// cluster below it: of two trees its port takes half a message for each, of four a quarter.
const TREES_OF_ONE_SITE: usize = 4;
/// With more sites than this, not every site has a root.
const MOST_TREES: usize = 16;
/// The heads of more sites do not exchange what has come in: each would send it to all others.
const MOST_EXCHANGING: usize = 16;
/// Inside the clusters of those trees.
pub(super) const IN_ONE_SITE: InCluster = InCluster::Children(2);
/// A host has no more children than this unless it is a head; more lengthen the wait for the last one.
const MOST_CHILDREN: usize = 4;
pub(crate) struct SiteTrees;

static CARD: Card = Card {
    name: "site-trees",
    summary: "all-reduce along a few trees that enter each site once, with other inner hosts in each",
    reference: "Kielmann et al., MagPIe, PPoPP 1999; Sanders, Speck and Träff, Two-tree algorithms for full bandwidth \
                broadcast, reduction and scan",
    objective: "makespan of long all-reduces between sites",
    guarantee: "in each tree, each site is entered and left once, or once from and to each other site",
    complexity: "O(n g) for g sites",
    profile: Profile::QUICK,
};

impl Planner for SiteTrees {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn collectives(&self) -> &'static [Collective] {
        &[Collective::Allreduce]
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        has_sites(instance)
    }

    fn plan(&self, instance: &Instance, _: &Budget) -> Result<Plan, PlanError> {
        let Instance { platform, root, message_bytes, segment_bytes, seed, collective, .. } = *instance;
        let sites = sites(platform);
        let nearest = nearest_to_all(&latencies_s(platform, &sites));
        let star =
            |root: usize| (0..sites.len()).filter(|&site| site != root).map(|site| (root, site)).collect();
        let count = sites.len().min(MOST_TREES);
        let one = (TREES_OF_ONE_SITE, IN_ONE_SITE);
        let turns = (count, InCluster::Children(count.min(MOST_CHILDREN)));
        let set = |clusters: Clusters| {
            let heads = (clusters, Heads::Apart);
            let at_one = |shape| along(platform, &sites, shape, heads, |_| star(nearest));
            let exchanged = |shape| {
                let mut trees = at_one(shape);
                for tree in &mut trees {
                    let children = tree.children(tree.root.unwrap_or(root));
                    tree.exchange = children[..sites.len() - 1].to_vec();
                }
                trees
            };
            let through_roots = vec![at_one(one), along(platform, &sites, turns, heads, star)];
            let shapes = [one, (1, InCluster::Children(MOST_CHILDREN)), (1, InCluster::Children(usize::MAX))];
            let shapes = shapes.iter().filter(|_| sites.len() <= MOST_EXCHANGING);
            [through_roots, shapes.map(|&shape| exchanged(shape)).collect()]
        };
        let of_clusters = Clusters::BOTH.map(set);
        let of_way = |way: usize| of_clusters.iter().flat_map(|sets| sets[way].clone()).collect::<Vec<_>>();
        let [through_roots, exchanged] = [of_way(0), of_way(1)];
        let quickest_of = |sets: &[Vec<Tree>]| quickest(CARD.name, instance, sets, &[true, false]);
        let (promise, at) = quickest_of(&through_roots)?;
        let inward = match quickest_of(&exchanged) {
            Ok((other, at)) if is_worth_exchanging(promise.all_s(), other.all_s()) => exchanged[at].clone(),
            _ => through_roots[at].clone(),
        };
        let mut trees = inward.clone();
        trees.iter_mut().for_each(|tree| tree.exchange.clear());
        let plan = Plan::bcast(platform, CARD.name, root, message_bytes, segment_bytes, trees);
        Ok(Plan { collective, inward: inward.into(), skip_busy: true, seed, ..plan })
    }
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

/// The head from which those of a site's other clusters hang.
#[derive(Clone, Copy)]
pub(super) enum Clusters {
    /// That of the largest cluster: one hop.
    Star,
    /// That of the cluster whose hosts have the fewest children each: more hops, and ports that share the work.
    Spread,
}

impl Clusters {
    pub const BOTH: [Clusters; 2] = [Clusters::Star, Clusters::Spread];
}

/// Which hosts of a cluster are at the top of each tree.
#[derive(Clone, Copy)]
pub(super) enum Heads {
    /// Those that are a part of the cluster apart, so that a few trees have other inner hosts each.
    Apart,
    /// The host with the fewest children so far, so that many trees share the work that heads have between sites.
    LeastBusy,
}

/// The tree inside a cluster, below its first host.
#[derive(Clone, Copy)]
pub(super) enum InCluster {
    /// Level by level, at most this number of children a host; a head's heads count as its children.
    Children(usize),
    /// A binomial tree, the largest subtree first.
    Binomial,
}

/// `count` trees of equal share, each with its own hops between sites, from parent to child and from the root on.
pub(super) fn along(
    platform: &Platform,
    sites: &[Vec<Vec<NodeId>>],
    (count, in_cluster): (usize, InCluster),
    (clusters, heads): (Clusters, Heads),
    hops: impl Fn(usize) -> Vec<(usize, usize)>,
) -> Vec<Tree> {
    let mut children = vec![0; platform.node_count()];
    let mut rotated = sites.to_vec();
    let one = |number: usize| {
        let mut tree = SiteTree::new(platform);
        for (hosts, cluster) in rotated.iter_mut().flatten().zip(sites.iter().flatten()) {
            let size = cluster.len();
            match heads {
                Heads::Apart => {
                    hosts.clone_from(cluster);
                    hosts.rotate_left(number * size / count % size);
                }
                Heads::LeastBusy => {
                    // Of equal hosts, one that was not the last head.
                    hosts.rotate_left(usize::from(number > 0));
                    let of_host = |&at: &usize| children[hosts[at].index()];
                    let head = (0..size).min_by_key(of_host).expect("a cluster has hosts");
                    hosts.rotate_left(head);
                }
            }
        }
        let head = |site: usize| rotated[site][0][0];
        // The slowest ways first: between sites, between clusters, inside.
        let hops = hops(number);
        hops.iter().for_each(|&(parent, child)| tree.add(head(parent), head(child)));
        rotated.iter().for_each(|site| tree.join_clusters(site, clusters));
        rotated.iter().flatten().for_each(|cluster| tree.add_cluster(cluster, in_cluster));
        tree.children.iter().zip(&mut children).for_each(|(of_tree, all)| *all += of_tree);
        tree.edges.share(1.0 / count as f64).root(head(hops[0].0)).build()
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

    fn join_clusters(&mut self, site: &[Vec<NodeId>], clusters: Clusters) {
        for at in 1..site.len() {
            let children = |cluster: &Vec<NodeId>| {
                (self.children[cluster[0].index()] + cluster.len()) as f64 / cluster.len() as f64
            };
            let above = match clusters {
                Clusters::Star => 0,
                Clusters::Spread => (0..at)
                    .min_by(|&a, &b| children(&site[a]).total_cmp(&children(&site[b])))
                    .expect("the first cluster is there"),
            };
            self.add(site[above][0], site[at][0]);
        }
    }

    fn add_cluster(&mut self, hosts: &[NodeId], in_cluster: InCluster) {
        let mut above = 0;
        for child in 1..hosts.len() {
            above = match in_cluster {
                InCluster::Children(most) => {
                    let is_full = |at: usize| self.children[hosts[at].index()] >= most;
                    (above..child).find(|&at| !is_full(at)).unwrap_or(child - 1)
                }
                InCluster::Binomial => child - (1 << child.ilog2()),
            };
            self.add(hosts[above], hosts[child]);
        }
    }
}
