//! The interval of a prediction, from a measured spread.

use super::estimate_within;
use crate::budget::Budget;
use crate::plan::{Interval, Plan, PlanError};
use crate::platform::Quartiles;

/// The makespan of a valid plan with all gaps at their lower and at their upper quartile.
///
/// The interval is widened to contain `makespan_s`, the prediction: with windows granted in the order of request, a
/// faster link may make a plan slower.
///
/// # Errors
/// Those of [`estimate_within`].
pub fn interval(
    quartiles: &Quartiles,
    plan: &Plan,
    makespan_s: f64,
    budget: &Budget,
) -> Result<Interval, PlanError> {
    let fast_s = estimate_within(&quartiles.fast, plan, budget)?;
    let slow_s = estimate_within(&quartiles.slow, plan, budget)?;
    Ok(Interval { low_s: fast_s.min(slow_s).min(makespan_s), high_s: fast_s.max(slow_s).max(makespan_s) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planners::Instance;
    use crate::platform::{NodeId, Platform};
    use crate::portfolio::{make, Effort, SegmentChoice};
    use crate::simulate::simulate;

    /// A chain of three nodes, 4 segments of 10 bytes: (4 + 1) gaps of 1 s and two latencies of 0.5 s are 6 s;
    /// with a spread of 20 % the gaps are 0.9 and 1.1 s.
    #[test]
    fn a_chain_by_hand() {
        let document = r#"{"format": "broadleaf-platform/1", "name": "t", "port_model": "one-port",
            "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
            "meshes": [{"nodes": ["a", "b", "c"],
                        "link": {"latency_s": 0.5, "gap": [[10, 1], [20, 2]], "spread": [[10, 0.2]]}}]}"#;
        let platform = Platform::from_json(document).unwrap();
        let instance = Instance::new(&platform, NodeId(0), 40).unwrap();
        let made =
            make(&instance, "chain", SegmentChoice::Bytes(10), Effort::Thorough, &Budget::UNLIMITED).unwrap();
        assert_eq!(simulate(&platform, &made.plan, false).unwrap().makespan_s, 6.0);
        let quartiles = Quartiles::of(&platform).unwrap();
        let Interval { low_s, high_s } = interval(&quartiles, &made.plan, 6.0, &Budget::UNLIMITED).unwrap();
        assert!((low_s - 5.5).abs() < 1e-12 && (high_s - 6.5).abs() < 1e-12, "{low_s} ... {high_s}");
        let predicted = made.plan.predicted.interval.unwrap();
        assert_eq!((predicted.low_s, predicted.high_s), (low_s, high_s));
        assert_eq!(made.tried[0].interval, Some(predicted));
        // `Effort::Quick` computes no interval.
        let quick =
            make(&instance, "chain", SegmentChoice::Bytes(10), Effort::Quick, &Budget::UNLIMITED).unwrap();
        assert_eq!(quick.plan.predicted.interval, None);
    }
}
