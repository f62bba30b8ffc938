//! The end of a pipeline down a tree: the formula for messages in segments.
//!
//! In a tree whose nodes serve their children segment by segment, segment t is at child c of v at a_c + t·R_c: a_c =
//! a_v + the gaps up to c + L, and R_c the larger of R_v and v's period P_v: the sum of its gaps, or longer where all
//! sends through a shared resource of its own hold that resource for longer. The last of k segments is everywhere
//! after the largest a + (k − 1)·R. Exact where no resource is shared.

use super::grid::Grid;
use super::sends::ClusterSend;
use crate::platform::LocalStart;

/// A resource that several sends share is never fully busy: each send waits until its other resources are free as
/// well. Tuned on wide-area pipes.
const SHARING_LOSS: f64 = 1.25;

/// The formula, with its working memory.
pub(super) struct Pipeline<'g> {
    pub grid: &'g Grid,
    segments: f64,
    children: Vec<Vec<u32>>,
    order: Vec<u32>,
    period_s: Vec<f64>,
    pace_s: Vec<f64>,
    /// From a node's first segment to the end of all below it, its own broadcast included.
    remaining_s: Vec<f64>,
    /// By shared resource, how long it is held per segment, and by how many sends.
    pipe_busy_s: Vec<(f64, u32)>,
}

impl<'g> Pipeline<'g> {
    pub fn new(grid: &'g Grid, segments: u64) -> Self {
        let n = grid.len();
        Pipeline {
            grid,
            segments: segments as f64,
            children: vec![Vec::new(); n],
            order: Vec::with_capacity(n),
            period_s: vec![0.0; n],
            pace_s: vec![0.0; n],
            remaining_s: vec![0.0; n],
            pipe_busy_s: vec![(0.0, 0); grid.pipe_count()],
        }
    }

    /// The makespan of a tree with every node's children in the best order, which `children` holds afterwards.
    ///
    /// Periods do not depend on the order. So, as with whole messages, the child with the largest remaining time goes
    /// first.
    pub fn makespan_s(&mut self, parents: &[u32]) -> f64 {
        let Pipeline { grid, segments, children, order, period_s, pace_s, remaining_s, pipe_busy_s } = self;
        let (whole, root) = (*segments, grid.root());
        let has_pipes = !pipe_busy_s.is_empty();
        children.iter_mut().for_each(Vec::clear);
        period_s.fill(0.0);
        pipe_busy_s.fill((0.0, 0));
        let pipes = |from: usize, to: usize| grid.pipes(grid.kind(from), grid.kind(to));
        for (node, &parent) in parents.iter().enumerate().filter(|&(node, _)| node != root) {
            let parent = parent as usize;
            children[parent].push(node as u32);
            period_s[parent] += grid.gap_s(parent, node) / whole;
            if has_pipes {
                for &(pipe, held_s) in pipes(parent, node) {
                    let (busy_s, sends) = &mut pipe_busy_s[pipe as usize];
                    *busy_s += held_s / whole;
                    *sends += 1;
                }
            }
        }
        if has_pipes {
            for (node, &parent) in parents.iter().enumerate().filter(|&(node, _)| node != root) {
                for &(pipe, _) in pipes(parent as usize, node) {
                    let period = &mut period_s[parent as usize];
                    let (busy_s, sends) = pipe_busy_s[pipe as usize];
                    *period = period.max(if sends > 1 { SHARING_LOSS * busy_s } else { busy_s });
                }
            }
        }
        order.clear();
        order.push(root as u32);
        let mut at = 0;
        while let Some(&node) = order.get(at) {
            let node = node as usize;
            let pace = pace_s[node].max(period_s[node]);
            for &child in &children[node] {
                pace_s[child as usize] = pace;
                order.push(child);
            }
            at += 1;
        }
        for &node in order.iter().rev() {
            let node = node as usize;
            let tail_s = |child: u32| grid.latency_s(node, child as usize) + remaining_s[child as usize];
            children[node].sort_unstable_by(|&a, &b| tail_s(b).total_cmp(&tail_s(a)).then(a.cmp(&b)));
            let mut free_s = 0.0;
            let mut latest_s = 0.0f64;
            for &child in &children[node] {
                free_s += grid.gap_s(node, child as usize) / whole;
                latest_s = latest_s.max(free_s + tail_s(child));
            }
            let held_s = (whole - 1.0) * pace_s[node];
            let own_s = match grid.local_start() {
                LocalStart::AfterLastSend => (whole - 1.0) * pace_s[node].max(period_s[node]) + free_s,
                LocalStart::OnArrival => held_s,
            };
            let own_s = if grid.local_s(node) > 0.0 { own_s + grid.local_s(node) } else { held_s };
            remaining_s[node] = latest_s.max(own_s);
        }
        remaining_s[root]
    }

    /// The edges of the tree evaluated last, each sender's in serving order, senders before receivers.
    pub fn sends(&self) -> Vec<ClusterSend> {
        let of_sender =
            |&from: &u32| self.children[from as usize].iter().map(move |&to| ClusterSend { from, to });
        self.order.iter().flat_map(of_sender).collect()
    }
}
