//! Branch and bound over send sequences: always the sender that is ready first, which either sends to some cluster or
//! never sends again.
//!
//! Every schedule without idle senders is visited exactly once, and all later sends start no earlier than that
//! sender's ready time. Two bounds cut branches against the best makespan known:
//!
//! - *paths*: no waiting cluster is reached before the shortest path from the senders, and then it needs its T;
//! - *slots*: a send to a waiting cluster has a latest start, and senders offer a limited number of starts by then.
//!   Sorted, the k-th start offered (every sender at its smallest gaps, every receiver at once the best of senders)
//!   must not lie after the k-th latest start.

use super::flat_sends::flat_sends;
use super::grid::Grid;
use super::sends::{makespan_s, ClusterSend};
use crate::budget::Budget;
use crate::platform::LocalStart;

/// The size of the fixed arrays, beyond any grid that can be solved: 12 clusters take up to minutes.
pub(super) const MOST_CLUSTERS: usize = 64;

/// Makespans that differ by less than this part are equal: sums in another order differ by as much.
const SAME_MAKESPAN: f64 = 1e-12;

/// Steps between two checks of the budget, and the units of work that each counts.
const STEPS_PER_LOOK: u64 = 1024;
const STEP_UNITS: u64 = 3;

type Row = [f64; MOST_CLUSTERS];

/// A sender that may still send.
#[derive(Clone, Copy, Debug)]
struct Sender {
    ready_s: f64,
    cluster: usize,
}

struct Branching<'b> {
    after_last_send: bool,
    gap_s: [Row; MOST_CLUSTERS],
    edge_s: [Row; MOST_CLUSTERS],
    /// The shortest path into the first index from the second.
    path_s: [Row; MOST_CLUSTERS],
    local_s: Row,
    /// By sender, the others by rising gap.
    by_gap: [[u8; MOST_CLUSTERS]; MOST_CLUSTERS],
    /// By receiver, the others by rising g + L from them.
    by_edge_in: [[u8; MOST_CLUSTERS]; MOST_CLUSTERS],
    best_s: f64,
    best: Option<Vec<ClusterSend>>,
    sends: Vec<ClusterSend>,
    budget: &'b Budget,
    steps: u64,
    most_steps: u64,
    out_of_time: bool,
}

/// The result of a proof attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// Optimal if `proved`.
    pub sends: Vec<ClusterSend>,
    /// Whether the search was exhausted.
    pub proved: bool,
    /// Senders visited.
    pub steps: u64,
}

/// Improves `start` until nothing shorter is left, or the budget is spent.
pub(super) fn prove(grid: &Grid, start: &[ClusterSend], most_steps: u64, budget: &Budget) -> Proof {
    let mut branching = Branching::new(grid, makespan_s(grid, start), most_steps, budget);
    let mut senders = [Sender { ready_s: 0.0, cluster: 0 }; MOST_CLUSTERS];
    senders[0].cluster = grid.root();
    let waiting = (u64::MAX >> (64 - grid.len())) & !(1 << grid.root());
    branching.descend(&senders[..1], waiting, grid.local_s(grid.root()));
    Proof {
        sends: branching.best.unwrap_or_else(|| start.to_vec()),
        proved: !branching.out_of_time,
        steps: branching.steps,
    }
}

fn members(mask: u64) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let at = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            at
        })
    })
}

impl<'b> Branching<'b> {
    fn new(grid: &Grid, best_s: f64, most_steps: u64, budget: &'b Budget) -> Box<Self> {
        let n = grid.len();
        let zero = [[0.0; MOST_CLUSTERS]; MOST_CLUSTERS];
        let mut branching = Box::new(Branching {
            after_last_send: grid.local_start() == LocalStart::AfterLastSend,
            gap_s: zero,
            edge_s: zero,
            path_s: zero,
            local_s: [0.0; MOST_CLUSTERS],
            by_gap: [[NOBODY; MOST_CLUSTERS]; MOST_CLUSTERS],
            by_edge_in: [[NOBODY; MOST_CLUSTERS]; MOST_CLUSTERS],
            best_s,
            best: None,
            sends: Vec::with_capacity(n),
            budget,
            steps: 0,
            most_steps,
            out_of_time: false,
        });
        for i in 0..n {
            branching.local_s[i] = grid.local_s(i);
            for j in (0..n).filter(|&j| j != i) {
                branching.gap_s[i][j] = grid.gap_s(i, j);
                branching.edge_s[i][j] = grid.edge_s(i, j);
                branching.path_s[j][i] = grid.edge_s(i, j);
            }
            let by = |weight_s: &dyn Fn(usize) -> f64, list: &mut [u8; MOST_CLUSTERS]| {
                let mut order: Vec<u8> = (0..n as u8).filter(|&j| usize::from(j) != i).collect();
                order.sort_by(|&a, &b| weight_s(usize::from(a)).total_cmp(&weight_s(usize::from(b))));
                list[..n - 1].copy_from_slice(&order);
            };
            by(&|j| grid.gap_s(i, j), &mut branching.by_gap[i]);
            by(&|j| grid.edge_s(j, i), &mut branching.by_edge_in[i]);
        }
        for k in 0..n {
            for to in 0..n {
                for from in 0..n {
                    let over_s = branching.path_s[to][k] + branching.path_s[k][from];
                    branching.path_s[to][from] = branching.path_s[to][from].min(over_s);
                }
            }
        }
        branching
    }

    /// The limit below which a makespan counts as shorter.
    fn limit_s(&self) -> f64 {
        self.best_s * (1.0 - SAME_MAKESPAN)
    }

    /// `senders` sorted by ready time; `latest_s`: a lower limit of the makespan so far.
    fn descend(&mut self, senders: &[Sender], waiting: u64, latest_s: f64) {
        self.steps += 1;
        self.out_of_time |= self.steps >= self.most_steps;
        if self.steps.is_multiple_of(STEPS_PER_LOOK) {
            self.out_of_time |= self.budget.spend(STEPS_PER_LOOK * STEP_UNITS);
        }
        if waiting == 0 {
            self.best_s = latest_s;
            self.best = Some(self.sends.clone());
            return;
        }
        let [first, others @ ..] = senders else { return };
        let from = first.cluster;
        let mut next = [Sender { ready_s: 0.0, cluster: 0 }; MOST_CLUSTERS];
        // Clusters that take longest come first, so that good schedules are found early.
        let mut targets = [(0.0, 0usize); MOST_CLUSTERS];
        let mut count = 0;
        for to in members(waiting) {
            targets[count] = (self.edge_s[from][to], to);
            count += 1;
        }
        targets[..count].sort_by(|a, b| a.0.total_cmp(&b.0));
        for &(edge_s, to) in &targets[..count] {
            if self.out_of_time {
                return;
            }
            let arrival_s = first.ready_s + edge_s;
            let ready_s = first.ready_s + self.gap_s[from][to];
            let own_s = if self.after_last_send { ready_s + self.local_s[from] } else { 0.0 };
            let latest_s = latest_s.max(arrival_s + self.local_s[to]).max(own_s);
            if latest_s >= self.limit_s() {
                continue;
            }
            let still = waiting & !(1 << to);
            let mut len = 0;
            let mut put = |sender: Sender| {
                let mut at = len;
                while at > 0 && next[at - 1].ready_s > sender.ready_s {
                    next[at] = next[at - 1];
                    at -= 1;
                }
                next[at] = sender;
                len += 1;
            };
            others.iter().for_each(|&other| put(other));
            put(Sender { ready_s, cluster: from });
            put(Sender { ready_s: arrival_s, cluster: to });
            if self.may_beat(&next[..len], still) {
                self.sends.push(ClusterSend { from: from as u32, to: to as u32 });
                let (copy, length) = (next, len);
                self.descend(&copy[..length], still, latest_s);
                self.sends.pop();
            }
        }
        if !others.is_empty() && self.may_beat(others, waiting) {
            self.descend(others, waiting, latest_s);
        }
    }

    /// Whether the bounds leave room for a makespan below the best.
    fn may_beat(&self, senders: &[Sender], waiting: u64) -> bool {
        let limit_s = self.limit_s();
        let able = senders.iter().fold(waiting, |able, sender| able | 1 << sender.cluster);
        let mut latest_starts = [0.0f64; MOST_CLUSTERS];
        let mut jobs = 0;
        let (mut least_edge_s, mut least_gap_s, mut least_local_s) =
            (f64::INFINITY, f64::INFINITY, f64::INFINITY);
        for to in members(waiting) {
            let arrival_s = senders
                .iter()
                .map(|sender| sender.ready_s + self.path_s[to][sender.cluster])
                .fold(f64::INFINITY, f64::min);
            let due_s = limit_s - self.local_s[to];
            if arrival_s >= due_s {
                return false;
            }
            let nearest = first_in(&self.by_edge_in[to], able);
            let edge_s = nearest.map_or(f64::INFINITY, |from| self.edge_s[from][to]);
            let receiver = first_in(&self.by_gap[to], waiting);
            least_gap_s = least_gap_s.min(receiver.map_or(f64::INFINITY, |next| self.gap_s[to][next]));
            least_edge_s = least_edge_s.min(edge_s);
            least_local_s = least_local_s.min(self.local_s[to]);
            latest_starts[jobs] = due_s - edge_s;
            jobs += 1;
        }
        latest_starts[..jobs].sort_unstable_by(f64::total_cmp);
        // The next start of each machine: the real senders, with the place of their next smallest gap, then the
        // receivers.
        let mut starts = [f64::INFINITY; 2 * MOST_CLUSTERS];
        let mut places = [0u8; MOST_CLUSTERS];
        let mut machines = senders.len();
        for (machine, sender) in senders.iter().enumerate() {
            starts[machine] = self.next_start(sender, sender.ready_s, &mut places[machine], waiting, limit_s);
        }
        for &latest_s in &latest_starts[..jobs] {
            let mut first = 0;
            for machine in 1..machines {
                if starts[machine] < starts[first] {
                    first = machine;
                }
            }
            let start_s = starts[first];
            if start_s >= latest_s {
                return false;
            }
            starts[first] = match senders.get(first) {
                Some(sender) => {
                    let place = &mut places[first];
                    let gap_s = self.gap_s[sender.cluster]
                        [usize::from(self.by_gap[sender.cluster][usize::from(*place)])];
                    *place += 1;
                    self.next_start(sender, start_s + gap_s, place, waiting, limit_s)
                }
                None => self.offered(start_s + least_gap_s, least_gap_s, least_local_s, limit_s),
            };
            starts[machines] = self.offered(start_s + least_edge_s, least_gap_s, least_local_s, limit_s);
            machines += 1;
        }
        true
    }

    /// A start at which a receiver could still send and finish its own broadcast in time; else never.
    fn offered(&self, start_s: f64, gap_s: f64, local_s: f64, limit_s: f64) -> f64 {
        if self.after_last_send && start_s + gap_s + local_s >= limit_s {
            f64::INFINITY
        } else {
            start_s
        }
    }

    /// The start of a real sender's next send, its smallest gap from `place` on; never where that send would
    /// make its own broadcast late.
    fn next_start(&self, sender: &Sender, free_s: f64, place: &mut u8, waiting: u64, limit_s: f64) -> f64 {
        let from = sender.cluster;
        while let Some(&to) = self.by_gap[from].get(usize::from(*place)) {
            if to == NOBODY {
                break;
            }
            if waiting & (1 << to) != 0 {
                return self.offered(free_s, self.gap_s[from][usize::from(to)], self.local_s[from], limit_s);
            }
            *place += 1;
        }
        f64::INFINITY
    }
}

/// Marks the end of a list of clusters.
const NOBODY: u8 = u8::MAX;

/// The first of a list that is in a set.
fn first_in(list: &[u8; MOST_CLUSTERS], set: u64) -> Option<usize> {
    list.iter()
        .take_while(|&&cluster| cluster != NOBODY)
        .find(|&&cluster| set & (1 << cluster) != 0)
        .map(|&cluster| usize::from(cluster))
}

/// A time, in seconds, below which no schedule of the grid can end: the least time that the bounds permit; for more
/// than 64 clusters by shortest paths only.
pub fn bound_s(grid: &Grid) -> f64 {
    let root = grid.root();
    if grid.len() == 1 {
        return grid.local_s(root);
    }
    let others = || (0..grid.len()).filter(|&j| j != root);
    let first_send_s = others().map(|j| grid.gap_s(root, j)).fold(f64::INFINITY, f64::min);
    let own_s = match grid.local_start() {
        LocalStart::AfterLastSend => first_send_s + grid.local_s(root),
        LocalStart::OnArrival => grid.local_s(root),
    };
    if grid.len() > MOST_CLUSTERS {
        return own_s.max(paths_s(grid));
    }
    let flat_s = makespan_s(grid, &flat_sends(grid));
    let mut branching = Branching::new(grid, flat_s, 0, &Budget::UNLIMITED);
    let senders = [Sender { ready_s: 0.0, cluster: root }];
    let waiting = (u64::MAX >> (64 - grid.len())) & !(1 << root);
    let (mut low_s, mut high_s) = (own_s, flat_s);
    while high_s - low_s > BOUND_PRECISION * high_s {
        branching.best_s = (low_s + high_s) / 2.0;
        if branching.may_beat(&senders, waiting) {
            high_s = branching.best_s;
        } else {
            low_s = branching.best_s;
        }
    }
    // The refuted makespan is `low_s` minus the tolerance of comparisons.
    low_s * (1.0 - SAME_MAKESPAN)
}

/// The relative precision of the bound.
const BOUND_PRECISION: f64 = 1e-9;

/// The latest of shortest path and T over all clusters: Dijkstra without a heap, O(n²).
fn paths_s(grid: &Grid) -> f64 {
    let mut distance_s = vec![f64::INFINITY; grid.len()];
    let mut open: Vec<usize> = (0..grid.len()).collect();
    distance_s[grid.root()] = 0.0;
    let mut latest_s: f64 = 0.0;
    while !open.is_empty() {
        let at = (0..open.len()).min_by(|&a, &b| distance_s[open[a]].total_cmp(&distance_s[open[b]]));
        let near = open.swap_remove(at.expect("someone is open"));
        latest_s = latest_s.max(distance_s[near] + grid.local_s(near));
        for &far in &open {
            distance_s[far] = distance_s[far].min(distance_s[near] + grid.edge_s(near, far));
        }
    }
    latest_s
}
