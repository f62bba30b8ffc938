//! Pools of hosts that are well connected with each other (the paper's section 2.4).

/// When a host may join a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Its bandwidth with every member reaches the threshold, as in the paper's Table 1.
    EveryPair,
    /// The average over all pairs of the pool does: as in its text.
    Average,
}

/// Disjoint pools by bandwidths of at least `per_cent` of the greatest. `bandwidth` is an n × n matrix; its diagonal
/// counts for the greatest, as in Table 1, where only the diagonal has the 100 of which 70 % are taken.
///
/// Greedy in order of index: the first host that is in no pool starts one, and each later one joins if it may.
///
/// ```
/// use broadleaf::planners::baselines::annealing::{pools, Rule};
/// // Table 1 of the paper, Mb/s.
/// let mut table = vec![100.0; 64];
/// let row = |host: usize| match host { 0..=2 => 0, 3..=4 => 1, 5 => 2, _ => 3 };
/// let between = [[80., 60., 20., 10.], [60., 80., 40., 50.], [20., 40., 100., 30.], [10., 50., 30., 80.]];
/// for u in 0..8 {
///     for v in (0..8).filter(|&v| v != u) {
///         table[8 * u + v] = between[row(u)][row(v)];
///     }
/// }
/// assert_eq!(pools(&table, 8, 20.0, Rule::EveryPair), [vec![0, 1, 2, 3, 4, 5], vec![6, 7]]);
/// assert_eq!(pools(&table, 8, 70.0, Rule::EveryPair), [vec![0, 1, 2], vec![3, 4], vec![5], vec![6, 7]]);
/// // The text's average puts all eight into one pool.
/// assert_eq!(pools(&table, 8, 20.0, Rule::Average).len(), 1);
/// ```
pub fn pools(bandwidth: &[f64], count: usize, per_cent: f64, rule: Rule) -> Vec<Vec<usize>> {
    let both = |u: usize, v: usize| bandwidth[u * count + v].min(bandwidth[v * count + u]);
    let greatest = bandwidth.iter().copied().filter(|rate| rate.is_finite()).fold(0.0, f64::max);
    let least = per_cent / 100.0 * greatest;
    let mut left: Vec<usize> = (0..count).collect();
    let mut pools = Vec::new();
    while !left.is_empty() {
        let mut pool: Vec<usize> = Vec::new();
        let (mut sum, mut pairs) = (0.0, 0.0);
        left.retain(|&host| {
            let with: f64 = pool.iter().map(|&member| both(member, host)).sum();
            let more = pool.len() as f64;
            let joins = match rule {
                Rule::EveryPair => pool.iter().all(|&member| both(member, host) >= least),
                Rule::Average => sum + with >= least * (pairs + more),
            };
            if joins {
                pool.push(host);
                (sum, pairs) = (sum + with, pairs + more);
            }
            !joins
        });
        pools.push(pool);
    }
    pools
}
