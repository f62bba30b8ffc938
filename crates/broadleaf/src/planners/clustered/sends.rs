//! A send sequence and its end.

use super::grid::Grid;
use crate::platform::LocalStart;

/// One send between clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterSend {
    /// The sending cluster.
    pub from: u32,
    /// The receiving cluster.
    pub to: u32,
}

/// When each cluster receives the message, and when all of its hosts have it, seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    /// By cluster: when it has the message, seconds.
    pub arrival_s: Vec<f64>,
    /// Its own broadcast included.
    pub finish_s: Vec<f64>,
    /// When the last local broadcast has ended, seconds.
    pub makespan_s: f64,
}

/// Times sends that each start when their sender has the message and has finished its earlier sends.
///
/// Every sender must have received before, as in all sequences made here.
pub fn times(grid: &Grid, sends: &[ClusterSend]) -> Times {
    let mut arrival_s = vec![f64::INFINITY; grid.len()];
    arrival_s[grid.root()] = 0.0;
    // RT, when a cluster may send again.
    let mut ready_s = arrival_s.clone();
    for &ClusterSend { from, to } in sends {
        let (from, to) = (from as usize, to as usize);
        let arrival = ready_s[from] + grid.edge_s(from, to);
        ready_s[from] += grid.gap_s(from, to);
        arrival_s[to] = arrival;
        ready_s[to] = arrival;
    }
    let start_s = match grid.local_start() {
        LocalStart::AfterLastSend => &ready_s,
        LocalStart::OnArrival => &arrival_s,
    };
    let finish_s: Vec<f64> =
        start_s.iter().enumerate().map(|(cluster, &start)| start + grid.local_s(cluster)).collect();
    let makespan_s = finish_s.iter().copied().fold(0.0, f64::max);
    Times { arrival_s, finish_s, makespan_s }
}

/// The makespan of a send sequence, seconds.
pub fn makespan_s(grid: &Grid, sends: &[ClusterSend]) -> f64 {
    times(grid, sends).makespan_s
}
