//! Random graphs: any two nodes are linked with the same probability (paper 1, section 5.1).

use super::{Bandwidth, Generated};
use crate::json::Fault;
use crate::platform::PortModel;
use crate::random::Random;

/// A draw visits every pair of nodes, so more would take too long.
const MOST_NODES: usize = 100_000;

/// Parameters of [`random`].
#[derive(Clone, Debug, PartialEq)]
pub struct RandomGraph {
    /// Number of hosts.
    pub nodes: usize,
    /// The probability of a link between two nodes, 0 to 1.
    pub density: f64,
    /// Distribution of link rates.
    pub bandwidth: Bandwidth,
    /// Port model of the platform.
    pub port_model: PortModel,
    /// Seed of the draws.
    pub seed: u64,
}

impl RandomGraph {
    /// With the link rates of paper 1, one-port.
    pub fn new(nodes: usize, density: f64, seed: u64) -> Self {
        RandomGraph { nodes, density, bandwidth: Bandwidth::default(), port_model: PortModel::OnePort, seed }
    }
}

/// Nodes n0, n1, …; every pair is linked in both directions with probability `density`, with a separate draw of each
/// direction's rate; components are joined by random links until one is left.
///
/// ```
/// use broadleaf::platform::generate::{random, RandomGraph};
///
/// let drawn = random(&RandomGraph::new(20, 0.12, 1)).unwrap();
/// assert_eq!(drawn.platform.node_count(), 20);
/// assert!(random(&RandomGraph::new(20, 1.5, 1)).unwrap_err().to_string().starts_with("density: 1.5"));
/// ```
///
/// # Errors
/// Parameters outside their limits.
pub fn random(graph: &RandomGraph) -> Result<Generated, Fault> {
    let &RandomGraph { nodes, density, bandwidth, port_model, seed } = graph;
    if !(1..=MOST_NODES).contains(&nodes) {
        return Err(Fault::new("nodes", format!("{nodes} nodes"), format!("give from 1 to {MOST_NODES}")));
    }
    if !(0.0..=1.0).contains(&density) {
        let fact = format!("{density} is not a probability");
        return Err(Fault::new("density", fact, "give a number from 0 to 1"));
    }
    bandwidth.check()?;
    let mut random = Random::new(seed);
    let mut components = Components::new(nodes);
    let mut pairs = Vec::new();
    for u in 0..nodes {
        for v in u + 1..nodes {
            if random.chance(density) {
                pairs.push((u as u32, v as u32));
                components.join(u, v);
            }
        }
    }
    let drawn = pairs.len();
    while components.count > 1 {
        let (u, v) = (random.below(nodes), random.below(nodes));
        if components.join(u, v) {
            pairs.push((u as u32, v as u32));
        }
    }
    let ids = (0..nodes).map(|node| format!("n{node}")).collect();
    let name = format!("random-{nodes}-{density}-{seed}");
    let joined = pairs.len() - drawn;
    let platform = bandwidth.platform(name, port_model, ids, &pairs, joined, &mut random)?;
    Ok(Generated { platform, joined })
}

/// The connected components so far: union–find with path halving.
struct Components {
    parent: Vec<usize>,
    count: usize,
}

impl Components {
    fn new(nodes: usize) -> Self {
        Components { parent: (0..nodes).collect(), count: nodes }
    }

    fn representative(&mut self, mut node: usize) -> usize {
        while self.parent[node] != node {
            self.parent[node] = self.parent[self.parent[node]];
            node = self.parent[node];
        }
        node
    }

    /// Joins the components of two nodes; returns whether they were different.
    fn join(&mut self, u: usize, v: usize) -> bool {
        let (a, b) = (self.representative(u), self.representative(v));
        self.parent[a.max(b)] = a.min(b);
        self.count -= usize::from(a != b);
        a != b
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{occupation, Resource};
    use crate::platform::{Hop, NodeId, Platform};

    fn rates(platform: &Platform) -> Vec<f64> {
        let links = platform.explicit_links().iter();
        links.map(|link| 1e9 / platform.transfer_s(link.class, 1_000_000_000)).collect()
    }

    #[test]
    fn density_and_rates_are_those_asked_for() {
        let (mut links, mut joined, mut all) = (0, 0, Vec::new());
        for seed in 0..10 {
            let drawn = random(&RandomGraph::new(100, 0.12, seed)).unwrap();
            links += drawn.platform.explicit_links().len();
            joined += drawn.joined;
            all.extend(rates(&drawn.platform));
        }
        assert_eq!(joined, 0, "graphs this dense are connected");
        // 49,500 pairs: one standard error of the density is 0.0015, of the mean 0.2 MB/s.
        let density = links as f64 / (10.0 * 100.0 * 99.0);
        assert!((density - 0.12).abs() < 0.006, "density {density}");
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let deviation = (all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / all.len() as f64).sqrt();
        assert!((mean - 100e6).abs() < 0.9e6, "mean {mean}");
        assert!((deviation - 20e6).abs() < 0.65e6, "deviation {deviation}");
    }

    #[test]
    fn equal_seeds_give_equal_bytes() {
        let text = |seed| {
            let drawn = random(&RandomGraph::new(30, 0.08, seed)).unwrap();
            drawn.platform.to_json().to_string()
        };
        assert_eq!(text(5), text(5));
        assert_ne!(text(5), text(6));
    }

    #[test]
    fn every_draw_is_connected_both_ways_and_repairs_are_counted() {
        for nodes in [1, 2, 3, 10, 40] {
            for density in [0.0, 0.04, 1.0] {
                let Generated { platform, joined } = random(&RandomGraph::new(nodes, density, 3)).unwrap();
                assert!(platform.hosts().all(|root| platform.unreachable_from(root).is_empty()));
                let pairs = platform.explicit_links().len() / 2;
                match density {
                    0.0 => assert_eq!((pairs, joined), (nodes - 1, nodes - 1), "a tree of repairs"),
                    1.0 => assert_eq!((pairs, joined), (nodes * (nodes - 1) / 2, 0)),
                    _ => assert!(joined <= pairs),
                }
                let said = platform.to_json()["provenance"]["repaired"].as_str().map(str::to_string);
                let parts = joined + 1;
                let repaired = format!(
                    "drawn in {parts} parts that no link joined; {joined} random pairs linked both ways"
                );
                assert_eq!(said, (joined > 0).then_some(repaired));
                for link in platform.explicit_links() {
                    assert!(platform.link(link.to, link.from).is_some());
                }
            }
        }
    }

    #[test]
    fn a_sender_is_busy_for_four_fifths_of_its_quickest_link() {
        let multi_port = RandomGraph { port_model: PortModel::MultiPort, ..RandomGraph::new(12, 0.5, 1) };
        let platform = random(&multi_port).unwrap().platform;
        for from in platform.hosts() {
            let links = platform.successors(from);
            let quickest_s = links
                .iter()
                .map(|&(_, class)| platform.transfer_s(class, 1000))
                .fold(f64::INFINITY, f64::min);
            for (to, class) in links {
                let windows = occupation(&platform, Hop { from, to, class }, 1000).windows;
                let held =
                    |resource| windows.iter().find(|window| window.resource == resource).unwrap().duration_s;
                let relative = held(Resource::Out(from)) / (0.80 * quickest_s);
                assert!((relative - 1.0).abs() < 1e-12, "{relative}");
                assert_eq!(held(Resource::In(to)), platform.transfer_s(class, 1000));
            }
        }
        assert_eq!(platform.node(NodeId(0)).id, "n0");
    }

    #[test]
    fn what_cannot_be_drawn_is_refused_in_one_line() {
        let good = RandomGraph::new(10, 0.1, 0);
        let rate = |mean, deviation| Bandwidth { mean_bytes_per_s: mean, deviation_bytes_per_s: deviation };
        for (bad, place) in [
            (RandomGraph { nodes: 0, ..good.clone() }, "nodes"),
            (RandomGraph { nodes: usize::MAX, ..good.clone() }, "nodes"),
            (RandomGraph { density: -0.1, ..good.clone() }, "density"),
            (RandomGraph { density: f64::NAN, ..good.clone() }, "density"),
            (RandomGraph { bandwidth: rate(0.0, 1.0), ..good.clone() }, "mean_bandwidth"),
            (RandomGraph { bandwidth: rate(f64::INFINITY, 1.0), ..good.clone() }, "mean_bandwidth"),
            (RandomGraph { bandwidth: rate(1.0, -1.0), ..good.clone() }, "deviation"),
            (RandomGraph { bandwidth: rate(1.0, f64::NAN), ..good.clone() }, "deviation"),
        ] {
            let fault = random(&bad).unwrap_err();
            assert_eq!(fault.place, place);
            assert!(!fault.to_string().contains('\n'));
        }
    }
}
