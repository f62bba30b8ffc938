//! Paper 2's strategies by the book: every choice looked for among all pairs.

use broadleaf::planners::clustered::{ClusterSend, Grid};
use broadleaf::platform::LocalStart;
use broadleaf::random::Random;

/// The matrices of paper 2, plainly.
pub struct Slow {
    pub gap: Vec<Vec<f64>>,
    pub latency: Vec<Vec<f64>>,
    pub local: Vec<f64>,
    pub root: usize,
    pub start: LocalStart,
}

impl Slow {
    pub fn len(&self) -> usize {
        self.local.len()
    }

    pub fn edge(&self, i: usize, j: usize) -> f64 {
        self.gap[i][j] + self.latency[i][j]
    }

    pub fn grid(&self) -> Grid {
        Grid::from_matrices(&self.gap.concat(), &self.latency.concat(), &self.local, self.root, self.start)
            .unwrap()
    }

    /// F_j of section 4.4, 5.1 and 5.2 by name.
    pub fn ahead(&self, name: &str, j: usize, a: &[usize], b: &[usize]) -> f64 {
        let rest: Vec<usize> = b.iter().copied().filter(|&k| k != j).collect();
        if rest.is_empty() {
            return 0.0;
        }
        let done = |k: usize| self.edge(j, k) + self.local[k];
        match name {
            "ecef" | "fnf" => 0.0,
            "ecef-la" => rest.iter().map(|&k| self.edge(j, k)).fold(f64::INFINITY, f64::min),
            "ecef-lat-min" => rest.iter().map(|&k| done(k)).fold(f64::INFINITY, f64::min),
            "ecef-lat-max" => rest.iter().map(|&k| done(k)).fold(0.0, f64::max),
            "ecef-la-average" => rest.iter().map(|&k| self.edge(j, k)).sum::<f64>() / rest.len() as f64,
            "ecef-la-senders" => {
                let senders = a.iter().copied().chain([j]);
                let sum: f64 = senders.flat_map(|i| rest.iter().map(move |&k| self.edge(i, k))).sum();
                sum / ((a.len() + 1) * rest.len()) as f64
            }
            _ => panic!("no look-ahead is called {name}"),
        }
    }

    /// All pairs, compared one by one: sends in order.
    pub fn sends(&self, name: &str) -> Vec<ClusterSend> {
        if name == "mixed" {
            return self.sends(if self.len() <= 10 { "ecef-la" } else { "ecef-lat-max" });
        }
        let mut ready = vec![f64::NAN; self.len()];
        ready[self.root] = 0.0;
        let mut a = vec![self.root];
        let mut b: Vec<usize> = (0..self.len()).filter(|&j| j != self.root).collect();
        let mut sends = Vec::new();
        while !b.is_empty() {
            let (i, j) = self.next(name, &ready, &a, &b);
            ready[j] = ready[i] + self.edge(i, j);
            ready[i] += self.gap[i][j];
            a.push(j);
            a.sort_unstable();
            b.retain(|&k| k != j);
            sends.push(ClusterSend { from: i as u32, to: j as u32 });
        }
        sends
    }

    pub fn next(&self, name: &str, ready: &[f64], a: &[usize], b: &[usize]) -> (usize, usize) {
        let arrival = |i: usize, j: usize| ready[i] + self.edge(i, j);
        // Pairs in the order that ties prefer: smallest j, then smallest i.
        let least = |weight: &dyn Fn(usize, usize) -> f64, js: &[usize]| {
            let mut best = (f64::INFINITY, (0, 0));
            for &j in js {
                for &i in a {
                    if weight(i, j) < best.0 {
                        best = (weight(i, j), (i, j));
                    }
                }
            }
            best.1
        };
        let last = |earliest: &dyn Fn(usize, usize) -> f64| {
            let done =
                |j: usize| a.iter().map(|&i| earliest(i, j)).fold(f64::INFINITY, f64::min) + self.local[j];
            let mut chosen = b[0];
            for &j in b {
                if done(j) > done(chosen) {
                    chosen = j;
                }
            }
            least(earliest, &[chosen])
        };
        match name {
            "fef" => least(&|i, j| self.latency[i][j], b),
            "fef-gap" => least(&|i, j| self.edge(i, j), b),
            "bottom-up" => last(&arrival),
            "bottom-up-as-printed" => last(&|i, j| self.edge(i, j)),
            "fnf" => {
                let outgoing = |j: usize| {
                    let others = (0..self.len()).filter(|&k| k != j);
                    others.map(|k| self.edge(j, k)).sum::<f64>() / (self.len() - 1) as f64
                };
                let mut chosen = b[0];
                for &j in b {
                    if outgoing(j) < outgoing(chosen) {
                        chosen = j;
                    }
                }
                least(&arrival, &[chosen])
            }
            _ => {
                let ahead: Vec<f64> = (0..self.len())
                    .map(|j| if b.contains(&j) { self.ahead(name, j, a, b) } else { 0.0 })
                    .collect();
                least(&|i, j| arrival(i, j) + ahead[j], b)
            }
        }
    }

    /// When everything is over, from the text: a cluster starts after its last send, or on arrival.
    pub fn makespan(&self, sends: &[ClusterSend]) -> f64 {
        let mut latest = 0.0f64;
        let mut arrival = vec![0.0; self.len()];
        for cluster in self.tree_order(sends) {
            let mut clock = arrival[cluster];
            for send in sends.iter().filter(|send| send.from as usize == cluster) {
                arrival[send.to as usize] = clock + self.edge(cluster, send.to as usize);
                clock += self.gap[cluster][send.to as usize];
            }
            let start = if self.start == LocalStart::OnArrival { arrival[cluster] } else { clock };
            latest = latest.max(start + self.local[cluster]);
        }
        latest
    }

    pub fn tree_order(&self, sends: &[ClusterSend]) -> Vec<usize> {
        std::iter::once(self.root).chain(sends.iter().map(|send| send.to as usize)).collect()
    }
}

/// Draws of several characters: the paper's, integers full of ties, equal links, gaps of 0, and one gap a cluster, of
/// which the smaller counts.
pub fn draw(random: &mut Random, n: usize) -> Slow {
    let character = random.below(6);
    let mut number = |low: f64, high: f64| match character {
        0 | 5 => random.between(low, high),
        1 => (1 + random.below(3)) as f64,
        2 => 1.0,
        3 => random.below(3) as f64,
        _ => (random.between(low, high) * 64.0).round() / 64.0,
    };
    let mut gap: Vec<Vec<f64>> = (0..n).map(|_| (0..n).map(|_| number(0.1, 0.6)).collect()).collect();
    if character == 5 {
        let own: Vec<f64> = (0..n).map(|i| gap[i][i]).collect();
        gap = own.iter().map(|i| own.iter().map(|j| i.min(*j)).collect()).collect();
    }
    let latency = (0..n).map(|_| (0..n).map(|_| number(0.001, 0.015)).collect()).collect();
    let local = (0..n).map(|_| number(0.02, 3.0)).collect();
    let start = if random.chance(0.5) { LocalStart::OnArrival } else { LocalStart::AfterLastSend };
    Slow { gap, latency, local, root: random.below(n), start }
}
