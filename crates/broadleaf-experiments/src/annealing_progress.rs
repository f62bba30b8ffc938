//! Paper 3's figure 3: the best tree of `driverSA` after each annealing.

use broadleaf::budget::Budget;
use broadleaf::planners::baselines::annealing::{drive, Allowance, Progress};
use broadleaf::planners::baselines::Pairs;
use broadleaf::random::Random;

/// The progress after each annealing, from node 0 on a matrix of bandwidths (bytes/s, one row per sender; the diagonal
/// counts as well), for one message in one segment and no latencies, as in the figure.
///
/// # Errors
/// A matrix that is empty, not square, or has an entry that is not finite and above 0.
pub fn annealing_progress(
    bandwidth_bytes_per_s: &[Vec<f64>],
    message_bytes: u64,
    allowance: Allowance,
    seed: u64,
) -> Result<Vec<Progress>, String> {
    let count = bandwidth_bytes_per_s.len();
    let is_square = bandwidth_bytes_per_s.iter().all(|row| row.len() == count);
    let mut rates = bandwidth_bytes_per_s.iter().flatten();
    if count == 0 || !is_square || !rates.all(|&rate| rate.is_finite() && rate > 0.0) {
        return Err("the bandwidths are no square matrix of numbers above 0; give n rows of n".to_string());
    }
    let gap_s: Vec<f64> =
        bandwidth_bytes_per_s.iter().flatten().map(|rate| message_bytes as f64 / rate).collect();
    let pairs = Pairs::new(count, gap_s.clone(), gap_s);
    let mut seen = Vec::new();
    drive(&pairs, Some(0), allowance, &Budget::UNLIMITED, &mut Random::new(seed), |at| seen.push(at));
    Ok(seen)
}
