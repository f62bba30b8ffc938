//! The best algorithm and segment for a number of nodes and a message size.

use super::algorithm::Algorithm;
use super::cluster::UniformCluster;
use super::error::TuneError;
use super::plogp::PLogP;
use super::segment::{best_segment, least_segment};
use crate::budget::Budget;
use crate::parallel;
use crate::plan::{Collective, Plan};
use crate::planners::{find, plan_with, Instance};
use crate::platform::{NodeId, Platform};
use crate::simulate::estimate_from;

/// An algorithm is simulated if its model's time is within this factor of the best; the others keep their corrected
/// model. Models are exact if all links are equal; else they only separate times that are far apart.
const WORTH_SIMULATING: f64 = 1.5;
/// If links differ, the models are inexact, and all algorithms are simulated.
const WORTH_SIMULATING_UNLIKE: f64 = f64::INFINITY;

/// Segments that are simulated of a longer plan; its steady state gives the rest.
const SIMULATED_SEGMENTS: u64 = 64;

/// The predictions for one algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Segment size, bytes; the whole message for an algorithm without segments.
    pub segment_bytes: u64,
    /// The paper's model, seconds.
    pub printed_s: f64,
    /// The corrected model, seconds. Both are for the models' best segment size.
    pub corrected_s: f64,
    /// The event simulation of the plan, seconds; `None` if the model excluded the algorithm, and for scatters if the
    /// bulk effect was measured, which no plan models.
    pub simulated_s: Option<f64>,
}

impl Forecast {
    /// The event simulation's time or, without one, the corrected model's, seconds.
    pub fn expected_s(&self) -> f64 {
        self.simulated_s.unwrap_or(self.corrected_s)
    }
}

/// All algorithms for one number of nodes and one size.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The collective.
    pub collective: Collective,
    /// Number of nodes, the root included.
    pub nodes: u64,
    /// Message size; for a scatter, that of one node's block.
    pub message_bytes: u64,
    /// In the order of the tables.
    pub forecasts: Vec<Forecast>,
    chosen: usize,
}

impl Choice {
    /// The least expected time; of equal ones the first of the table.
    pub fn chosen(&self) -> &Forecast {
        &self.forecasts[self.chosen]
    }

    /// The choice by the printed models alone; the binary tree's bound counts as its time.
    pub fn chosen_as_printed(&self) -> &Forecast {
        self.fastest_of(|forecast| Some(forecast.printed_s)).unwrap_or(self.chosen())
    }

    /// The least expected time of those for which `allows` holds.
    pub fn chosen_among(&self, allows: impl Fn(Algorithm) -> bool) -> Option<&Forecast> {
        self.fastest_of(|forecast| allows(forecast.algorithm).then_some(forecast.expected_s()))
    }

    fn fastest_of(&self, seconds: impl Fn(&Forecast) -> Option<f64>) -> Option<&Forecast> {
        let timed = self.forecasts.iter().filter_map(|forecast| Some((seconds(forecast)?, forecast)));
        timed
            .reduce(|best, next| if is_faster(next.0, best.0) { next } else { best })
            .map(|(_, forecast)| forecast)
    }
}

/// Times that differ by rounding only are equal.
fn is_faster(a_s: f64, b_s: f64) -> bool {
    a_s < b_s * (1.0 - 1e-9)
}

/// The best of a collective's algorithms on `nodes` nodes of the cluster.
///
/// # Errors
/// No models for the collective, more nodes than there are, or an empty message.
pub fn choose(
    cluster: &UniformCluster,
    collective: Collective,
    nodes: u64,
    message_bytes: u64,
) -> Result<Choice, TuneError> {
    let (platform, root) = cluster.of_nodes(nodes)?;
    choose_on(cluster, &platform, root, collective, nodes, message_bytes)
}

/// [`choose`] for every pair of `nodes` and `sizes`, in their order, nodes first.
///
/// # Errors
/// As [`choose`].
pub fn survey(
    cluster: &UniformCluster,
    collective: Collective,
    nodes: &[u64],
    sizes: &[u64],
) -> Result<Vec<Choice>, TuneError> {
    let platforms = nodes.iter().map(|&nodes| cluster.of_nodes(nodes)).collect::<Result<Vec<_>, _>>()?;
    let cells: Vec<(usize, u64)> =
        (0..nodes.len()).flat_map(|at| sizes.iter().map(move |&bytes| (at, bytes))).collect();
    let choices = parallel::map(&cells, |&(at, bytes)| {
        let (platform, root) = &platforms[at];
        choose_on(cluster, platform, *root, collective, nodes[at], bytes)
    });
    choices.into_iter().collect()
}

fn choose_on(
    cluster: &UniformCluster,
    platform: &Platform,
    root: NodeId,
    collective: Collective,
    nodes: u64,
    message_bytes: u64,
) -> Result<Choice, TuneError> {
    // Refuses an empty message and hosts out of reach before any model is evaluated.
    Instance::new(platform, root, message_bytes)?;
    let network = cluster.network();
    let mut forecasts: Vec<Forecast> = Algorithm::of(collective)
        .map(|algorithm| {
            let (segment_bytes, corrected_s) = best_segment(algorithm, network, nodes, message_bytes);
            let printed_s = algorithm.printed_s(network, nodes, message_bytes, segment_bytes);
            Forecast { algorithm, segment_bytes, printed_s, corrected_s, simulated_s: None }
        })
        .collect();
    if forecasts.is_empty() {
        return Err(TuneError::BadRequest(format!("no models for {collective}; tune bcast or scatter")));
    }
    let promised_s = forecasts.iter().map(|forecast| forecast.corrected_s).fold(f64::INFINITY, f64::min);
    let worth = if cluster.models_are_exact() { WORTH_SIMULATING } else { WORTH_SIMULATING_UNLIKE };
    // The event simulation has no bulk effect; if all links are equal, the models decide without it.
    let models_decide = collective == Collective::Scatter && network.bulk.is_some() && cluster.is_uniform();
    for forecast in &mut forecasts {
        if models_decide || forecast.corrected_s > promised_s * worth {
            continue;
        }
        let is_searched = forecast.algorithm.is_segmented() && !cluster.models_are_exact();
        let sizes =
            if is_searched { around(network, forecast.segment_bytes, message_bytes) } else { Vec::new() };
        for segment_bytes in std::iter::once(forecast.segment_bytes).chain(sizes) {
            let plan = plan_of(platform, root, forecast.algorithm, message_bytes, segment_bytes)?;
            let simulated_s = estimate_from(platform, &plan, SIMULATED_SEGMENTS, &Budget::UNLIMITED)?;
            if forecast.simulated_s.is_none_or(|least_s| simulated_s < least_s) {
                (forecast.simulated_s, forecast.segment_bytes) = (Some(simulated_s), segment_bytes);
            }
        }
    }
    let mut chosen = 0;
    for at in 1..forecasts.len() {
        if is_faster(forecasts[at].expected_s(), forecasts[chosen].expected_s()) {
            chosen = at;
        }
    }
    Ok(Choice { collective, nodes, message_bytes, forecasts, chosen })
}

/// Segment sizes to try besides the model's, which is for one link only.
fn around(network: &PLogP, segment_bytes: u64, message_bytes: u64) -> Vec<u64> {
    let sizes = [segment_bytes / 4, segment_bytes.saturating_mul(4), segment_bytes.saturating_mul(16)];
    let least = least_segment(network, message_bytes);
    let mut sizes = sizes.map(|size| size.clamp(least, message_bytes)).to_vec();
    sizes.dedup();
    sizes.retain(|&size| size != segment_bytes);
    sizes
}

/// The plan of an algorithm.
fn plan_of(
    platform: &Platform,
    root: NodeId,
    algorithm: Algorithm,
    message_bytes: u64,
    segment_bytes: u64,
) -> Result<Plan, TuneError> {
    let instance = Instance::new(platform, root, message_bytes)?.segmented(segment_bytes);
    let instance =
        Instance { collective: algorithm.collective(), protocol: algorithm.protocol(), ..instance };
    Ok(plan_with(find(algorithm.planner())?, &instance, &Budget::UNLIMITED)?)
}
