//! All-reduce between sites: trees that go around slow pipes and divide the fast ones among them.
//!
//! Below its head, each cluster has a tree as in `site-trees`, or a binomial one. The head is the host with
//! the fewest children so far: ports share the work, and trees one after the other mostly have other heads.
//! Each tree grows from a root site over
//! the hop on which the pipe or the ports that it loads most are held for the least time, counting all earlier trees; of equal
//! ones over the hop that is nearest to the root, and no site is farther from the root than the limit. What takes less time
//! than a message through a host's port counts as equal, since each host receives a whole message on both ways. Every site is
//! tried as the root of each tree.
//!
//! The two ways of an all-reduce follow each other, a pipe or a port of one way is busy while the other's latencies pass, and so
//! the time is about that of the way in and out of one segment, and the longest time for which one way holds anything; or
//! the longest time for which both hold it. Of two limits, that of the star of least latency and a quarter more, the one
//! that promises less is taken.
//!
//! `site-packing` has sixteen trees, which are binary inside the clusters. `site-packing-binomial` has 64, binomial ones: with
//! many trees all hosts of a cluster have as much to do, and a segment has fewer hops than in a binary tree, while
//! each head has more children. It is faster for long messages. No plan has more trees than segments.
//!
//! Reference: chosen for this work, after the packing of trees in Nash-Williams, *Edge-disjoint spanning trees of finite
//! graphs*, 1961: ways that each tree loads equally permit the most. Cost: as above. Complexity: O(g⁴ + n) for g sites.
//! Guarantee: in each tree, each site is entered and left once.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::plan::Collective;
//! use broadleaf::planners::{find, plan_with, Instance};
//! use broadleaf::platform::Platform;
//!
//! // The pipe between a and c is slow; the way over b takes as long as the star around a.
//! let link = |from: &str, to: &str, rate: u32, latency_s: u32| format!(
//!     r#"{{"from_cluster": "{from}", "to_cluster": "{to}", "both_ways": true,
//!         "link": {{"latency_s": {latency_s}, "bandwidth_bytes_per_s": {rate}}}}}"#);
//! let platform = Platform::from_json(&format!(r#"{{"format": "broadleaf-platform/1", "name": "three sites",
//!     "port_model": "one-port", "nodes": [{{"id": "a", "cluster": "A"}}, {{"id": "b", "cluster": "B"}},
//!         {{"id": "c", "cluster": "C"}}], "bridges": [{}, {}, {}]}}"#,
//!     link("A", "B", 100, 1), link("B", "C", 100, 1), link("A", "C", 1, 2))).unwrap();
//! let a = platform.hosts().next().unwrap();
//! let instance = Instance { collective: Collective::Allreduce, ..Instance::new(&platform, a, 100).unwrap() };
//! let plan = plan_with(find("site-packing").unwrap(), &instance, &Budget::UNLIMITED).unwrap();
//! let c = platform.hosts().last().unwrap();
//! assert!(plan.trees.iter().flat_map(|tree| tree.edges()).all(|(from, to)| (from, to) != (a, c) && (from, to) != (c, a)));
//! ```

use super::site_promise::{has_sites, latencies_s, quickest, sites};
use super::site_trees::{along, Clusters, Heads, InCluster, IN_ONE_SITE};
use crate::budget::Budget;
use crate::model::{occupation, Resource};
use crate::plan::{Collective, Plan, PlanError};
use crate::planners::{Card, Instance, Planner, Profile, Unsupported};
use crate::platform::{Hop, NodeId, Platform};
use std::collections::HashMap;

/// Sets of ways between sites: more divide pipes more finely.
const WAYS: usize = 16;
/// Among this many binomial trees, each host of a cluster is at the top, in the middle and at the bottom about equally often.
const BINOMIAL_TREES: usize = 64;
/// How far a site may be from the root, in times of the least distance from which a site reaches all others.
const LIMITS: [f64; 2] = [1.0, 1.25];
/// Holds up to this many times that of a message through a port count as equal.
const EQUAL_HOLDS: f64 = 1.05;
/// More sites take more than some milliseconds.
const MOST_SITES: usize = 24;

pub(crate) struct SitePacking {
    card: &'static Card,
    trees: usize,
    in_cluster: InCluster,
}

pub(crate) static SITE_PACKING: SitePacking =
    SitePacking { card: &CARD, trees: WAYS, in_cluster: IN_ONE_SITE };
pub(crate) static SITE_PACKING_BINOMIAL: SitePacking =
    SitePacking { card: &BINOMIAL_CARD, trees: BINOMIAL_TREES, in_cluster: InCluster::Binomial };

static CARD: Card = Card {
    name: "site-packing",
    summary: "all-reduce along trees that go around slow pipes between sites and divide the fast ones",
    reference: "Nash-Williams, Edge-disjoint spanning trees of finite graphs, 1961; Kielmann et al., MagPIe, PPoPP 1999",
    objective: "makespan of all-reduces between sites whose pipes differ in rate",
    guarantee: "in each tree, each site is entered and left once",
    complexity: "O(g⁴ + n) for g sites",
    profile: Profile::QUICK,
};

static BINOMIAL_CARD: Card = Card {
    name: "site-packing-binomial",
    summary: "all-reduce as by site-packing, along more trees, which are binomial inside the clusters",
    objective: "makespan of long all-reduces between sites whose pipes differ in rate",
    ..CARD
};

impl Planner for SitePacking {
    fn card(&self) -> &'static Card {
        self.card
    }

    fn collectives(&self) -> &'static [Collective] {
        &[Collective::Allreduce]
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        has_sites(instance)?;
        match sites(instance.platform).len() {
            count if count > MOST_SITES => {
                Err(Unsupported(format!("{count} sites are more than {MOST_SITES}")))
            }
            _ => Ok(()),
        }
    }

    fn plan(&self, instance: &Instance, _: &Budget) -> Result<Plan, PlanError> {
        let Instance { platform, root, message_bytes, segment_bytes, seed, collective, .. } = *instance;
        let count = (self.trees as u64).min(message_bytes.div_ceil(segment_bytes).max(1)) as usize;
        let sites = sites(platform);
        let between = Between::of(platform, &sites, message_bytes);
        let packings = LIMITS.iter().filter_map(|&limit| between.packed(limit));
        let best = packings.min_by(|one, other| one.promised_s().total_cmp(&other.promised_s()));
        let best = best.ok_or_else(|| {
            let reason = "two sites have no links to each other".to_string();
            PlanError::Unsupported { planner: self.card.name.to_string(), reason }
        })?;
        let set = |clusters: Clusters| {
            let heads = (clusters, Heads::LeastBusy);
            let shape = (count, self.in_cluster);
            along(platform, &sites, shape, heads, |tree| best.trees[tree % WAYS].clone())
        };
        let mut sets = Clusters::BOTH.map(set);
        // Nothing is promised where a hop inside a site passes switches.
        let quickest = quickest(self.card.name, instance, &sets, &[true, false]).map_or(0, |(_, at)| at);
        let trees = std::mem::take(&mut sets[quickest]);
        let inward = trees.clone();
        let plan = Plan::bcast(platform, self.card.name, root, message_bytes, segment_bytes, trees);
        Ok(Plan { collective, inward: inward.into(), skip_busy: true, seed, ..plan })
    }
}

/// Something that one transfer at a time can hold.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Held {
    /// The ports of a site's hosts together, sending or receiving.
    Ports {
        site: usize,
        sends: bool,
    },
    Pipe(Resource),
}

/// A hop between two sites that a tree may take, both ways.
struct Link {
    latency_s: f64,
    /// By number of what is held, for how long by a whole message, seconds: on the way in, then on the way out.
    held_s: [Vec<(usize, f64)>; 2],
}

/// The sites, and what a whole message takes inside and between them.
struct Between {
    /// From parent to child.
    links: Vec<Vec<Option<Link>>>,
    /// By number of what is held: the seconds of one way inside the sites.
    inside_s: Vec<f64>,
    /// Less than this counts as equal, seconds.
    equal_s: f64,
}

/// Ways between the sites for each tree.
struct Packing {
    /// By tree, its hops from parent to child, each parent's before its children's.
    trees: Vec<Vec<(usize, usize)>>,
    farthest_s: f64,
    /// The longest for which one way holds anything, and both ways, seconds.
    one_way_s: f64,
    both_ways_s: f64,
}

impl Packing {
    fn promised_s(&self) -> f64 {
        self.both_ways_s.max(2.0 * self.farthest_s + self.one_way_s)
    }
}

/// By way and number of what is held, seconds.
type Loads = [Vec<f64>; 2];

/// One tree's ways.
struct Grown {
    hops: Vec<(usize, usize)>,
    farthest_s: f64,
    /// The longest hold, seconds; at least what counts as equal.
    held_s: f64,
    loads: Loads,
}

impl Between {
    fn of(platform: &Platform, sites: &[Vec<Vec<NodeId>>], message_bytes: u64) -> Between {
        let latency_s = latencies_s(platform, sites);
        let sizes: Vec<f64> =
            sites.iter().map(|site| site.iter().map(Vec::len).sum::<usize>() as f64).collect();
        let mut numbers: HashMap<Held, usize> = HashMap::new();
        let mut number = |held: Held| {
            let next = numbers.len();
            *numbers.entry(held).or_insert(next)
        };
        let windows = |from: NodeId, to: NodeId| {
            let class = platform.link(from, to);
            class.map(|class| occupation(platform, Hop { from, to, class }, message_bytes).windows)
        };
        let mut inside = Vec::new();
        let mut equal_s: f64 = 0.0;
        for (site, clusters) in sites.iter().enumerate() {
            let mut hosts = clusters.iter().flatten();
            let (first, second) = (hosts.next(), hosts.next());
            let (Some(&first), Some(&second)) = (first, second) else { continue };
            for window in windows(first, second).into_iter().flatten() {
                let sends = match window.resource {
                    Resource::Out(_) => true,
                    Resource::In(_) => false,
                    _ => continue,
                };
                equal_s = equal_s.max(EQUAL_HOLDS * window.duration_s);
                let part = (sizes[site] - 1.0) / sizes[site];
                inside.push((number(Held::Ports { site, sends }), part * window.duration_s));
            }
        }
        let mut held = |from: usize, to: usize| {
            let windows = windows(sites[from][0][0], sites[to][0][0])?;
            let held = windows.into_iter().map(|window| match window.resource {
                Resource::Out(_) => {
                    (number(Held::Ports { site: from, sends: true }), window.duration_s / sizes[from])
                }
                Resource::In(_) => {
                    (number(Held::Ports { site: to, sends: false }), window.duration_s / sizes[to])
                }
                pipe => (number(Held::Pipe(pipe)), window.duration_s),
            });
            Some(held.collect::<Vec<_>>())
        };
        let mut link = |parent: usize, child: usize| {
            let held_s = [held(child, parent)?, held(parent, child)?];
            Some(Link { latency_s: latency_s[parent][child].max(latency_s[child][parent]), held_s })
        };
        let all = 0..sites.len();
        let links = all.clone().map(|parent| {
            let other = |child: usize| if child == parent { None } else { link(parent, child) };
            all.clone().map(other).collect()
        });
        let links = links.collect();
        let mut inside_s = vec![0.0; numbers.len()];
        inside.into_iter().for_each(|(at, held_s)| inside_s[at] += held_s);
        Between { links, inside_s, equal_s }
    }

    /// Trees of at most `limit` times the least distance from which a site reaches all others.
    fn packed(&self, limit: f64) -> Option<Packing> {
        let all = 0..self.links.len();
        let star_s = |root: usize| {
            let others = all.clone().filter(|&site| site != root);
            let latency_s =
                |site: usize| self.links[root][site].as_ref().map_or(f64::INFINITY, |link| link.latency_s);
            others.map(latency_s).fold(0.0, f64::max)
        };
        let limit_s = limit * all.clone().map(star_s).fold(f64::INFINITY, f64::min);
        let mut loads: Loads = [self.inside_s.clone(), self.inside_s.clone()];
        let (mut trees, mut farthest_s) = (Vec::new(), 0.0_f64);
        for _ in 0..WAYS {
            let grown = all.clone().filter_map(|root| self.grown(root, limit_s, &loads));
            let best = grown.min_by(|one, other| {
                let keys = |tree: &Grown| (tree.held_s, tree.farthest_s);
                keys(one).partial_cmp(&keys(other)).expect("times are numbers")
            })?;
            farthest_s = farthest_s.max(best.farthest_s);
            loads = best.loads;
            trees.push(best.hops);
        }
        let one_way_s = loads.iter().flatten().copied().fold(0.0, f64::max);
        let both = loads[0].iter().zip(&loads[1]).map(|(way_in, way_out)| way_in + way_out);
        Some(Packing { trees, farthest_s, one_way_s, both_ways_s: both.fold(0.0, f64::max) })
    }

    /// A tree from that root; `None` where a site is out of reach.
    fn grown(&self, root: usize, limit_s: f64, loads: &Loads) -> Option<Grown> {
        let count = self.links.len();
        let mut away_s: Vec<Option<f64>> = vec![None; count];
        away_s[root] = Some(0.0);
        let mut tree =
            Grown { hops: Vec::new(), farthest_s: 0.0, held_s: self.equal_s, loads: loads.clone() };
        while tree.hops.len() + 1 < count {
            let mut next: Option<(f64, f64, usize, usize)> = None;
            for parent in 0..count {
                let Some(parent_s) = away_s[parent] else { continue };
                for child in (0..count).filter(|&child| away_s[child].is_none()) {
                    let Some(link) = &self.links[parent][child] else { continue };
                    let child_s = parent_s + link.latency_s;
                    if child_s > limit_s * (1.0 + f64::EPSILON) {
                        continue;
                    }
                    let held_s = tree.held_with(link).max(tree.held_s);
                    if next.is_none_or(|(least_s, nearest_s, ..)| (held_s, child_s) < (least_s, nearest_s)) {
                        next = Some((held_s, child_s, parent, child));
                    }
                }
            }
            let (held_s, child_s, parent, child) = next?;
            away_s[child] = Some(child_s);
            tree.held_s = held_s;
            tree.farthest_s = tree.farthest_s.max(child_s);
            tree.hops.push((parent, child));
            let link = self.links[parent][child].as_ref().expect("the hop was taken");
            for (way, held_s) in link.held_s.iter().enumerate() {
                held_s.iter().for_each(|&(at, held_s)| tree.loads[way][at] += held_s / WAYS as f64);
            }
        }
        Some(tree)
    }
}

impl Grown {
    /// The longest for which anything on that link would be held with this tree, seconds.
    fn held_with(&self, link: &Link) -> f64 {
        let ways = link.held_s.iter().zip(&self.loads);
        let held_s = ways
            .flat_map(|(held_s, loads)| held_s.iter().map(|&(at, held_s)| loads[at] + held_s / WAYS as f64));
        held_s.fold(0.0, f64::max)
    }
}
