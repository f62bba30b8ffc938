//! Paper 1's tree heuristics once more, written from the text on a matrix of times: after every deletion everything is
//! searched and sorted again, and every edge is checked at every step.

use broadleaf::platform::{Affine, ExplicitLink, LinkClass, NodeId, Platform, PlatformBuilder, PortModel};
use broadleaf::random::Random;

pub const SEGMENT: u64 = 1000;

/// Times of one segment between hosts; `None`: no link.
pub type Matrix = Vec<Vec<Option<f64>>>;

/// The edges (u, v) of a tree or of what is left of a graph.
pub type Edges = Vec<(usize, usize)>;

pub struct Drawn {
    pub platform: Platform,
    pub times: Matrix,
    pub sends: Matrix,
}

/// A connected random platform; whole numbers of seconds, so that many sums tie exactly, or Gaussian rates
/// as in the paper.
pub fn draw(random: &mut Random, nodes: usize, density: f64, ties: bool, model: PortModel) -> Drawn {
    let mut times: Matrix = vec![vec![None; nodes]; nodes];
    let mut link = |u: usize, v: usize, random: &mut Random| {
        let time = |random: &mut Random| {
            if ties {
                (1 + random.below(3)) as f64
            } else {
                SEGMENT as f64 / random.gaussian(100.0, 20.0).max(20.0)
            }
        };
        times[u][v] = Some(time(random));
        times[v][u] = Some(time(random));
    };
    for v in 1..nodes {
        let u = random.below(v);
        link(u, v, random);
    }
    for u in 0..nodes {
        for v in u + 1..nodes {
            if random.chance(density) {
                link(u, v, random);
            }
        }
    }
    let least = |u: usize| times[u].iter().flatten().copied().fold(f64::INFINITY, f64::min);
    // Equal T, send of half of it: ties between sums and maxima as well.
    let factor = if ties { 0.5 } else { 0.8 };
    let multi_port = model == PortModel::MultiPort;
    let sends: Matrix = (0..nodes)
        .map(|u| {
            let send = factor * least(u);
            times[u].iter().map(|time| time.map(|time| if multi_port { send } else { time })).collect()
        })
        .collect();
    let mut builder = PlatformBuilder::new("drawn", model);
    let ids: Vec<NodeId> = (0..nodes).map(|u| builder.add_host(format!("n{u}")).unwrap()).collect();
    for u in 0..nodes {
        for v in 0..nodes {
            let Some(time) = times[u][v] else { continue };
            let class = builder.add_class(LinkClass {
                send: multi_port.then(|| Affine { startup_s: sends[u][v].unwrap(), s_per_byte: 0.0 }),
                recv: multi_port.then_some(Affine { startup_s: 0.0, s_per_byte: 0.0 }),
                ..LinkClass::affine(0.0, SEGMENT as f64 / time)
            });
            builder.add_link(ExplicitLink { from: ids[u], to: ids[v], both_ways: false, class }).unwrap();
        }
    }
    Drawn { platform: builder.build().unwrap(), times, sends }
}

pub fn all_edges(times: &Matrix) -> Edges {
    let nodes = times.len();
    let pairs = (0..nodes).flat_map(|u| (0..nodes).map(move |v| (u, v)));
    pairs.filter(|&(u, v)| times[u][v].is_some()).collect()
}

pub fn is_connected(edges: &Edges, nodes: usize, root: usize) -> bool {
    let mut reached = vec![false; nodes];
    reached[root] = true;
    loop {
        let before = reached.clone();
        edges.iter().for_each(|&(u, v)| reached[v] |= reached[u]);
        if reached == before {
            return reached.iter().all(|&is| is);
        }
    }
}

pub fn without(edges: &Edges, gone: (usize, usize)) -> Edges {
    edges.iter().copied().filter(|&edge| edge != gone).collect()
}

/// Two values in the order of the text, equal where only rounding tells them apart. Times are around 10 s
/// and loads around 0.1 a second here.
pub fn compare(a: f64, b: f64) -> std::cmp::Ordering {
    if (a - b).abs() <= 1e-9 {
        std::cmp::Ordering::Equal
    } else {
        a.total_cmp(&b)
    }
}

/// Algorithms 1 and 6: repeat, over edges sorted so that the heaviest come first, deleting what can go.
pub fn slow_prune(times: &Matrix, root: usize, weight: impl Fn(usize, usize) -> f64) -> Edges {
    let mut left = all_edges(times);
    while left.len() > times.len() - 1 {
        let mut sorted = left.clone();
        sorted.sort_by(|a, b| compare(weight(b.0, b.1), weight(a.0, a.1)).then(b.cmp(a)));
        for edge in sorted {
            if is_connected(&without(&left, edge), times.len(), root) {
                left = without(&left, edge);
            }
        }
    }
    left
}

/// Algorithm 2, lines 4 to 12, for the one-port or the multi-port period of a node.
pub fn slow_refined(drawn: &Drawn, root: usize, multi_port: bool) -> Edges {
    let times = &drawn.times;
    let mut left = all_edges(times);
    'line4: while left.len() > times.len() - 1 {
        let period = |u: usize| {
            let out: Vec<usize> = left.iter().filter(|edge| edge.0 == u).map(|edge| edge.1).collect();
            if multi_port {
                let longest = out.iter().map(|&v| times[u][v].unwrap()).fold(0.0, f64::max);
                let sends = match out.first() {
                    Some(&v) if drawn.platform.port_model() == PortModel::MultiPort => {
                        out.len() as f64 * drawn.sends[u][v].unwrap()
                    }
                    // Without a send part of its own, T is the send part, and the product becomes a sum.
                    _ => out.iter().map(|&v| times[u][v].unwrap()).sum(),
                };
                sends.max(longest)
            } else {
                out.iter().map(|&v| times[u][v].unwrap()).sum()
            }
        };
        let mut nodes: Vec<usize> = (0..times.len()).collect();
        nodes.sort_by(|&a, &b| compare(period(b), period(a)).then(a.cmp(&b)));
        for u in nodes {
            let mut out: Edges = left.iter().copied().filter(|edge| edge.0 == u).collect();
            out.sort_by(|a, b| compare(times[b.0][b.1].unwrap(), times[a.0][a.1].unwrap()).then(b.cmp(a)));
            for edge in out {
                if is_connected(&without(&left, edge), times.len(), root) {
                    left = without(&left, edge);
                    continue 'line4;
                }
            }
        }
        panic!("nothing can go although more than a tree is left");
    }
    left
}

/// Algorithms 3, 5 and 7: the edge from inside to outside of least cost, recomputed over all edges.
pub fn slow_grow(times: &Matrix, root: usize, cost: impl Fn(&Edges, usize, usize) -> f64) -> Edges {
    let mut inside = vec![false; times.len()];
    inside[root] = true;
    let mut tree: Edges = Vec::new();
    while tree.len() < times.len() - 1 {
        let crossing = all_edges(times).into_iter().filter(|&(u, v)| inside[u] && !inside[v]);
        let (u, v) = crossing
            .min_by(|a, b| compare(cost(&tree, a.0, a.1), cost(&tree, b.0, b.1)).then(a.cmp(b)))
            .expect("a connected platform");
        inside[v] = true;
        tree.push((u, v));
    }
    tree
}

pub fn slow_tree(drawn: &Drawn, root: usize, planner: &str) -> Edges {
    let times = &drawn.times;
    let time = |u: usize, v: usize| times[u][v].unwrap();
    match planner {
        "prune-simple" => slow_prune(times, root, time),
        "prune-refined" => slow_refined(drawn, root, false),
        "prune-refined-multiport" => slow_refined(drawn, root, true),
        "grow" => slow_grow(times, root, |tree, u, v| {
            tree.iter().filter(|edge| edge.0 == u).map(|&(u, w)| time(u, w)).sum::<f64>() + time(u, v)
        }),
        "grow-multiport" => slow_grow(times, root, |tree, u, v| {
            let children: Vec<usize> = tree.iter().filter(|edge| edge.0 == u).map(|edge| edge.1).collect();
            let sends = match (children.len() + 1) as f64 {
                // Without a send part of its own, T is the send part, and the product becomes a sum.
                _ if drawn.platform.port_model() != PortModel::MultiPort => {
                    children.iter().map(|&w| time(u, w)).sum::<f64>() + time(u, v)
                }
                count => count * drawn.sends[u][v].unwrap(),
            };
            children.iter().map(|&w| time(u, w)).fold(time(u, v), f64::max).max(sends)
        }),
        _ => panic!("no slow version of {planner}"),
    }
}

/// The steady state by paper 1's definition of a node's period.
pub fn slow_throughput(drawn: &Drawn, tree: &Edges) -> f64 {
    let period = |node: usize| {
        let out: Vec<f64> =
            tree.iter().filter(|edge| edge.0 == node).map(|&(u, v)| drawn.times[u][v].unwrap()).collect();
        let received =
            tree.iter().find(|edge| edge.1 == node).map_or(0.0, |&(u, v)| drawn.times[u][v].unwrap());
        let sent = match drawn.platform.port_model() {
            PortModel::OnePort | PortModel::OnePortSamePartner => out.iter().sum::<f64>(),
            PortModel::OnePortUnidirectional => return out.iter().sum::<f64>() + received,
            PortModel::MultiPort => {
                let sends = tree.iter().filter(|edge| edge.0 == node);
                let sends: f64 = sends.map(|&(u, v)| drawn.sends[u][v].unwrap()).sum();
                out.iter().copied().fold(sends, f64::max)
            }
            PortModel::LinkCapacity => out.iter().copied().fold(0.0, f64::max),
        };
        sent.max(received)
    };
    let period = (0..drawn.times.len()).map(period).fold(0.0, f64::max);
    SEGMENT as f64 / period
}
