//! Networks of networks after Tiers (Calvert, Doar and Zegura, *Modeling Internet Topology*, IEEE
//! Communications Magazine, June 1997): one wide-area network, metropolitan networks on it, local ones on
//! those.
//!
//! Each network is a spanning tree (a local one a star, the others the shortest tree between random points of a square)
//! and is attached to one node of the level above. Redundancy links are then added level by level in turn, inside a
//! network the shortest first, until the given density is reached: the paper that draws such platforms gives only their
//! density.

use super::{Bandwidth, Generated};
use crate::json::Fault;
use crate::platform::PortModel;
use crate::random::Random;
use std::collections::{HashSet, VecDeque};

/// Parameters of [`tiers`].
#[derive(Clone, Debug, PartialEq)]
pub struct Tiers {
    /// All nodes; those outside the wide-area and metropolitan networks are spread evenly over the local networks.
    pub nodes: usize,
    /// Nodes of the wide-area network.
    pub wan_nodes: usize,
    /// Metropolitan networks.
    pub mans: usize,
    /// Nodes of each metropolitan network.
    pub man_nodes: usize,
    /// Local networks on each metropolitan one.
    pub lans_per_man: usize,
    /// Linked pairs / all pairs; no redundancy links where the trees alone have more.
    pub density: f64,
    /// Distribution of link rates.
    pub bandwidth: Bandwidth,
    /// Port model of the platform.
    pub port_model: PortModel,
    /// Seed of the draws.
    pub seed: u64,
}

impl Tiers {
    /// Levels in proportion to the number of nodes, with the link rates of paper 1, one-port: 30 nodes are
    /// 4 wide-area, 2 × 4 metropolitan, and 18 in 4 local networks; 65 are 6, 4 × 4, and 43 in 8.
    pub fn new(nodes: usize, density: f64, seed: u64) -> Self {
        let mans = ((nodes as f64 / 15.0).round() as usize).max(1);
        Tiers {
            nodes,
            wan_nodes: mans + 2,
            mans,
            man_nodes: 4,
            lans_per_man: 2,
            density,
            bandwidth: Bandwidth::default(),
            port_model: PortModel::OnePort,
            seed,
        }
    }

    fn lans(&self) -> usize {
        self.mans * self.lans_per_man
    }

    fn check(&self) -> Result<(), Fault> {
        let zero = [
            ("wan_nodes", self.wan_nodes),
            ("mans", self.mans),
            ("man_nodes", self.man_nodes),
            ("lans_per_man", self.lans_per_man),
        ];
        if let Some((place, _)) = zero.into_iter().find(|&(_, count)| count == 0) {
            return Err(Fault::new(place, "0 of a level", "give at least 1"));
        }
        let counts = [self.nodes, self.wan_nodes, self.mans, self.man_nodes, self.lans_per_man];
        if let Some(count) = counts.into_iter().find(|&count| count > MOST_NODES) {
            let fact = format!("{count} nodes or networks of a level");
            return Err(Fault::new("nodes", fact, format!("give at most {MOST_NODES}")));
        }
        let least = self.wan_nodes + self.mans * self.man_nodes + self.lans();
        if self.nodes < least {
            let fact = format!("{} nodes are too few for these levels", self.nodes);
            return Err(Fault::new("nodes", fact, format!("give at least {least}")));
        }
        if !(0.0..=1.0).contains(&self.density) {
            let fact = format!("{} is not a density", self.density);
            return Err(Fault::new("density", fact, "give a number from 0 to 1"));
        }
        self.bandwidth.check()
    }
}

/// Every pair inside a network is a candidate for redundancy, so more would not fit in memory.
const MOST_NODES: usize = 20_000;

/// Nodes wan-0 …, man0-0 …, lan0-0 … in that order, linked as the levels are, in both directions.
///
/// ```
/// use broadleaf::platform::generate::{tiers, Tiers};
///
/// let platform = tiers(&Tiers::new(30, 0.10, 1)).unwrap().platform;
/// // 0.10 of 30 · 29 ordered pairs, rounded to whole pairs.
/// assert_eq!((platform.node_count(), platform.explicit_links().len()), (30, 88));
/// ```
///
/// # Errors
/// Parameters outside their limits.
pub fn tiers(tiers: &Tiers) -> Result<Generated, Fault> {
    tiers.check()?;
    let mut random = Random::new(tiers.seed);
    let mut wiring = Wiring::default();
    let wan = wiring.network("wan".to_string(), tiers.wan_nodes);
    wiring.tree(Level::Wan, &wan, &mut random);
    let mut mans = Vec::new();
    for index in 0..tiers.mans {
        let man = wiring.network(format!("man{index}"), tiers.man_nodes);
        wiring.tree(Level::Man, &man, &mut random);
        wiring.attach(Level::ManToWan, &man, &wan, &mut random);
        mans.push(man);
    }
    let lan_nodes = tiers.nodes - wiring.ids.len();
    for index in 0..tiers.lans() {
        let size = lan_nodes / tiers.lans() + usize::from(index < lan_nodes % tiers.lans());
        let lan = wiring.network(format!("lan{index}"), size);
        wiring.star(&lan, &mut random);
        wiring.attach(Level::LanToMan, &lan, &mans[index / tiers.lans_per_man], &mut random);
    }
    let all_pairs = tiers.nodes as f64 * (tiers.nodes as f64 - 1.0) / 2.0;
    wiring.add_redundancy((tiers.density * all_pairs).round() as usize, &mut random)?;
    let name = format!("tiers-{}-{}-{}", tiers.nodes, tiers.density, tiers.seed);
    let Wiring { ids, pairs, .. } = wiring;
    let platform = tiers.bandwidth.platform(name, tiers.port_model, ids, &pairs, 0, &mut random)?;
    Ok(Generated { platform, joined: 0 })
}

/// The level of a redundancy link.
#[derive(Clone, Copy)]
enum Level {
    Wan,
    Man,
    ManToWan,
    LanToMan,
    Lan,
}

/// A linked or linkable pair of nodes, and how far apart they are in their network's square.
struct Candidate {
    distance: f64,
    pair: (u32, u32),
}

type Point = (f64, f64);

fn distance(a: Point, b: Point) -> f64 {
    (a.0 - b.0).hypot(a.1 - b.1)
}

/// The edges (a < b) of the spanning tree of least total length. Prim, O(points²).
fn shortest_tree(points: &[Point]) -> HashSet<(usize, usize)> {
    let mut tree = HashSet::new();
    // For each point outside the tree, the nearest one inside.
    let mut nearest: Vec<Option<usize>> = (0..points.len()).map(|point| (point > 0).then_some(0)).collect();
    let reach = |point: usize, nearest: &[Option<usize>]| {
        nearest[point].map(|inside| (distance(points[point], points[inside]), point, inside))
    };
    while let Some((_, point, inside)) =
        (0..points.len()).filter_map(|point| reach(point, &nearest)).min_by(|a, b| a.0.total_cmp(&b.0))
    {
        tree.insert((point.min(inside), point.max(inside)));
        nearest[point] = None;
        for (other, known) in nearest.iter_mut().enumerate() {
            if let Some(known) = known {
                if distance(points[other], points[point]) < distance(points[other], points[*known]) {
                    *known = point;
                }
            }
        }
    }
    tree
}

/// The graph while it grows: its linked pairs, and those that redundancy may still link, by level.
#[derive(Default)]
struct Wiring {
    ids: Vec<String>,
    pairs: Vec<(u32, u32)>,
    candidates: [Vec<Candidate>; 5],
}

impl Wiring {
    fn network(&mut self, name: String, size: usize) -> Vec<u32> {
        let first = self.ids.len();
        self.ids.extend((0..size).map(|node| format!("{name}-{node}")));
        (first as u32..self.ids.len() as u32).collect()
    }

    /// Links the nodes by the shortest tree between random points; other pairs become candidates.
    fn tree(&mut self, level: Level, nodes: &[u32], random: &mut Random) {
        let points: Vec<Point> = nodes.iter().map(|_| (random.unit(), random.unit())).collect();
        let tree = shortest_tree(&points);
        for a in 0..nodes.len() {
            for b in a + 1..nodes.len() {
                let pair = (nodes[a], nodes[b]);
                if tree.contains(&(a, b)) {
                    self.pairs.push(pair);
                } else {
                    let distance = distance(points[a], points[b]);
                    self.candidates[level as usize].push(Candidate { distance, pair });
                }
            }
        }
    }

    /// Links the first node, the local network's switch, with all others.
    fn star(&mut self, nodes: &[u32], random: &mut Random) {
        for (at, &a) in nodes.iter().enumerate().skip(1) {
            self.pairs.push((nodes[0], a));
            for &b in &nodes[at + 1..] {
                self.candidates[Level::Lan as usize]
                    .push(Candidate { distance: random.unit(), pair: (a, b) });
            }
        }
    }

    /// Links the first node of a network with a random one of the level above.
    fn attach(&mut self, level: Level, nodes: &[u32], above: &[u32], random: &mut Random) {
        let link = (nodes[0], above[random.below(above.len())]);
        self.pairs.push(link);
        for &a in nodes {
            for &b in above.iter().filter(|&&b| (a, b) != link) {
                self.candidates[level as usize].push(Candidate { distance: random.unit(), pair: (a, b) });
            }
        }
    }

    /// Links candidates until there are `wanted` pairs, one of each level in turn, the shortest first.
    fn add_redundancy(&mut self, wanted: usize, random: &mut Random) -> Result<(), Fault> {
        let most = self.pairs.len() + self.candidates.iter().map(Vec::len).sum::<usize>();
        if wanted > most {
            let fact = format!("{wanted} linked pairs wanted where these levels have {most}");
            return Err(Fault::new("density", fact, "give a smaller density or larger networks"));
        }
        let mut levels: Vec<VecDeque<Candidate>> = Vec::new();
        for mut level in std::mem::take(&mut self.candidates) {
            level.sort_by(|a, b| a.distance.total_cmp(&b.distance).then(a.pair.cmp(&b.pair)));
            levels.push(level.into());
        }
        // The first level is random; else the same levels would always get the remaining links.
        let first = random.below(levels.len());
        let mut turn = first;
        while self.pairs.len() < wanted {
            let level = turn % levels.len();
            self.pairs.extend(levels[level].pop_front().map(|candidate| candidate.pair));
            turn += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::Platform;

    fn draw(nodes: usize, density: f64, seed: u64) -> Platform {
        tiers(&Tiers::new(nodes, density, seed)).unwrap().platform
    }

    fn linked(platform: &Platform, of: &str, with: &str) -> usize {
        let is = |node, prefix: &str| platform.node(node).id.starts_with(prefix);
        let links = platform.explicit_links().iter();
        links.filter(|link| is(link.from, of) && is(link.to, with)).count()
    }

    #[test]
    fn no_other_spanning_tree_is_shorter() {
        let mut random = Random::new(3);
        for _ in 0..50 {
            let points: Vec<Point> = (0..5).map(|_| (random.unit(), random.unit())).collect();
            let edges: Vec<(usize, usize)> = (0..5).flat_map(|a| (a + 1..5).map(move |b| (a, b))).collect();
            let length = |tree: &mut dyn Iterator<Item = (usize, usize)>| -> f64 {
                tree.map(|(a, b)| distance(points[a], points[b])).sum()
            };
            // All sets of four of the ten edges; a set that is not a tree leaves a point out.
            let mut least = f64::INFINITY;
            for set in (0u32..1 << 10).filter(|set| set.count_ones() == 4) {
                let chosen = || (0..10).filter(|edge| set >> edge & 1 == 1).map(|edge| edges[edge]);
                let mut reached = [true, false, false, false, false];
                for _ in 0..4 {
                    for (a, b) in chosen() {
                        (reached[a], reached[b]) = (reached[a] | reached[b], reached[a] | reached[b]);
                    }
                }
                if reached == [true; 5] {
                    least = least.min(length(&mut chosen()));
                }
            }
            let found = length(&mut shortest_tree(&points).into_iter());
            assert!((found - least).abs() < 1e-12, "{found} against {least}");
        }
    }

    #[test]
    fn densities_of_the_paper_are_met_exactly_and_all_is_connected() {
        for (nodes, pairs) in [(30, 435.0), (65, 2080.0)] {
            for density in [0.0667, 0.10, 0.15] {
                for seed in 0..5 {
                    let platform = draw(nodes, density, seed);
                    let wanted = (density * pairs).round() as usize;
                    assert_eq!(platform.explicit_links().len(), 2 * wanted);
                    assert!(platform.hosts().all(|root| platform.unreachable_from(root).is_empty()));
                }
            }
        }
    }

    #[test]
    fn without_redundancy_every_level_is_a_tree_hung_on_the_one_above() {
        let platform = draw(65, 0.0, 2);
        assert_eq!(platform.explicit_links().len(), 2 * 64);
        assert_eq!(linked(&platform, "wan", "wan"), 2 * 5);
        assert_eq!(linked(&platform, "man", "man"), 2 * 4 * 3);
        assert_eq!(linked(&platform, "man", "wan"), 4);
        assert_eq!(linked(&platform, "lan", "man"), 8);
        assert_eq!(linked(&platform, "lan", "wan"), 0);
        assert_eq!(linked(&platform, "lan", "lan"), 2 * (43 - 8));
    }

    #[test]
    fn redundancy_is_spread_over_the_levels_and_never_skips_one() {
        let platform = draw(65, 0.06, 2);
        assert!(linked(&platform, "wan", "wan") > 2 * 5);
        assert!(linked(&platform, "man", "man") > 2 * 4 * 3);
        assert!(linked(&platform, "man", "wan") > 4);
        assert!(linked(&platform, "lan", "man") > 8);
        assert!(linked(&platform, "lan", "lan") > 2 * (43 - 8));
        assert_eq!(linked(&platform, "lan", "wan"), 0);
    }

    #[test]
    fn equal_seeds_give_equal_bytes() {
        assert_eq!(draw(30, 0.1, 4).digest(), draw(30, 0.1, 4).digest());
        assert_ne!(draw(30, 0.1, 4).digest(), draw(30, 0.1, 5).digest());
    }

    #[test]
    fn what_cannot_be_drawn_is_refused_in_one_line() {
        let good = Tiers::new(30, 0.1, 0);
        for (bad, place) in [
            (Tiers { nodes: 15, ..good.clone() }, "nodes"),
            (Tiers { nodes: usize::MAX, ..good.clone() }, "nodes"),
            (Tiers { mans: usize::MAX, ..good.clone() }, "nodes"),
            (Tiers { wan_nodes: 0, ..good.clone() }, "wan_nodes"),
            (Tiers { lans_per_man: 0, ..good.clone() }, "lans_per_man"),
            (Tiers { density: f64::NAN, ..good.clone() }, "density"),
            (Tiers { density: 0.9, ..good.clone() }, "density"),
        ] {
            let fault = tiers(&bad).unwrap_err();
            assert_eq!(fault.place, place, "{fault}");
            assert!(!fault.to_string().contains('\n'));
        }
        assert!(tiers(&Tiers { nodes: 16, ..good }).is_ok(), "4 + 8 + 4 nodes are just enough");
    }
}
