//! What the runtime changes of a plan that the models like, because a real port or processor says otherwise.

use broadleaf::plan::{Plan, PlanError};
use broadleaf::planners::{make, Effort, Instance, Outcome, SegmentChoice};
use broadleaf::platform::{Platform, PortModel};
use broadleaf::simulate::estimate;

/// Under multi-port a rank that waits for its turn also waits for latencies that the model does not show: a plan
/// without turns is as good where it is predicted to take hardly longer.
pub fn without_turns(instance: &Instance, best: Outcome) -> Result<Plan, PlanError> {
    if best.plan.period.is_none() || instance.platform.port_model() != PortModel::MultiPort {
        return Ok(best.plan);
    }
    let mut tried = best.tried;
    tried.sort_by(|a, b| a.makespan_s.total_cmp(&b.makespan_s));
    let most_s = tried.first().map_or(0.0, |first| first.makespan_s * WORTH_TURNS);
    for other in tried.iter().skip(1).take_while(|other| other.makespan_s <= most_s) {
        let segment = SegmentChoice::Bytes(other.segment_bytes);
        let plan = make(instance, other.name, segment, Effort::Quick)?.plan;
        if plan.period.is_none() {
            return Ok(plan);
        }
    }
    Ok(best.plan)
}

/// A plan with turns is predicted to be quicker by this factor, or not used.
const WORTH_TURNS: f64 = 1.05;

/// Where a port sends to several peers at once, waiting for one slow link holds up all that stands behind it in a
/// period; without one, every link goes at its own pace. Whichever simulates quicker.
pub fn without_period(platform: &Platform, plan: Plan) -> Result<Plan, PlanError> {
    if plan.period.is_none() || plan.pattern.is_some() || platform.port_model() != PortModel::MultiPort {
        return Ok(plan);
    }
    let free = Plan { period: None, ..plan.clone() };
    let is_quicker = estimate(platform, &free)? < WORTH_LEAVING * estimate(platform, &plan)?;
    Ok(if is_quicker { free } else { plan })
}

/// A period is given up for that part of its time, or less.
const WORTH_LEAVING: f64 = 0.9;

/// Of segment sizes predicted alike the largest: every segment takes a processor's time at both its ends, and where
/// ranks share processors that is what runs out first.
pub fn coarsened(platform: &Platform, plan: Plan) -> Result<Plan, PlanError> {
    if plan.period.is_some() || plan.pattern.is_some() {
        return Ok(plan);
    }
    let most_s = ALIKE * estimate(platform, &plan)?;
    let most_bytes = MOST_COARSENED_BYTES.min(plan.message_bytes);
    let mut coarsest = plan.segment_bytes;
    for segment_bytes in std::iter::successors(Some(2 * coarsest), |bytes| Some(2 * bytes)) {
        if segment_bytes > most_bytes {
            break;
        }
        if estimate(platform, &Plan { segment_bytes, ..plan.clone() })? <= most_s {
            coarsest = segment_bytes;
        }
    }
    Ok(Plan { segment_bytes: coarsest, ..plan })
}

/// Times that far apart are alike; beyond that many bytes a segment's handling is nothing beside its bytes.
const ALIKE: f64 = 1.03;
const MOST_COARSENED_BYTES: u64 = 32 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf::plan::Period;
    use broadleaf::platform::NodeId;

    fn four_hosts() -> Platform {
        let text = r#"{"format": "broadleaf-platform/1", "name": "four", "port_model": "multi-port",
            "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "d"}],
            "meshes": [{"nodes": ["a", "b", "c", "d"], "link": {"bandwidth_bytes_per_s": 25e6, "startup_s": 1e-6}}]}"#;
        Platform::from_json(text).unwrap()
    }

    fn chain(platform: &Platform, bytes: u64, segment_bytes: u64) -> Plan {
        let instance = Instance::new(platform, NodeId(0), bytes).unwrap();
        make(&instance, "chain", SegmentChoice::Bytes(segment_bytes), Effort::Quick).unwrap().plan
    }

    #[test]
    fn segments_grow_as_long_as_the_prediction_hardly_does() {
        let platform = four_hosts();
        for (bytes, segment_bytes) in [(16 << 20, 512), (1 << 20, 512), (100_000, 100), (5000, 4000)] {
            let plan = chain(&platform, bytes, segment_bytes);
            let coarse = coarsened(&platform, plan.clone()).unwrap();
            let ratio = estimate(&platform, &coarse).unwrap() / estimate(&platform, &plan).unwrap();
            assert!(ratio <= ALIKE, "{bytes} bytes: {ratio}");
            let grown = coarse.segment_bytes / segment_bytes;
            assert!(coarse.segment_bytes <= bytes.min(MOST_COARSENED_BYTES) && grown.is_power_of_two());
            assert_eq!(grown > 1, bytes > 5000, "{bytes} bytes in {}", coarse.segment_bytes);
            assert_eq!(Plan { segment_bytes, ..coarse }, plan, "nothing else changes");
        }
    }

    #[test]
    fn a_timetable_keeps_the_segments_it_was_made_for() {
        let platform = four_hosts();
        let plan = Plan { period: Some(Period::default()), ..chain(&platform, 16 << 20, 512) };
        assert_eq!(coarsened(&platform, plan.clone()).unwrap(), plan);
    }
}
