//! "Add a planner in one file": the example's planner is written outside the crate with its public API alone, and
//! passes all checks of the registry's planners.

#[path = "../../examples/own_planner.rs"]
mod own_planner;

use crate::judge::{judge, Verdict};
use crate::small_platforms::{mesh, small_platforms};
use broadleaf::budget::Budget;
use broadleaf::planners::{Instance, Planner, PLANNERS};
use broadleaf::platform::PortModel;
use broadleaf::simulate::simulate;
use own_planner::Fibonacci;

#[test]
fn a_planner_outside_the_registry_passes_its_judge() {
    assert!(PLANNERS.iter().all(|planner| planner.card().name != Fibonacci.card().name));
    for platform in PortModel::ALL.into_iter().flat_map(small_platforms) {
        for root in platform.hosts() {
            for segment_bytes in [4099, 500] {
                // A host that only receives cannot be the root, and a plan by the order of ids may need it to send.
                let is_one_way = platform.name() == "one way";
                let instance = match Instance::new(&platform, root, 4099) {
                    Ok(instance) => instance.segmented(segment_bytes),
                    Err(error) => {
                        assert!(is_one_way, "{error}");
                        continue;
                    }
                };
                assert!(judge(&Fibonacci, &instance) == Verdict::Planned || is_one_way);
            }
        }
    }
}

#[test]
fn its_guarantee_holds_where_latency_is_one_transfer() {
    // T = latency: a copy arrives two sends after it starts. By then 1, 1, 2, 3, 5, 8 … nodes have it.
    let document = |count: usize| {
        let ids: Vec<String> = (0..count).map(|index| format!("n{index}")).collect();
        let nodes: Vec<_> = ids.iter().map(|id| serde_json::json!({"id": id})).collect();
        serde_json::json!({"format": "broadleaf-platform/1", "name": "postal", "port_model": "one-port",
            "nodes": nodes, "meshes": [{"nodes": ids,
                "link": {"latency_s": 1.0, "bandwidth_bytes_per_s": 1.0}}]})
    };
    for (count, wanted_s) in [(1, 0.0), (2, 2.0), (3, 3.0), (5, 4.0), (8, 5.0), (13, 6.0), (21, 7.0)] {
        let platform = broadleaf::platform::Platform::from_json(&document(count).to_string()).unwrap();
        let root = platform.find("n0").unwrap();
        let plan = Fibonacci.plan(&Instance::new(&platform, root, 1).unwrap(), &Budget::UNLIMITED).unwrap();
        assert_eq!(simulate(&platform, &plan, false).unwrap().makespan_s, wanted_s, "{count} nodes");
    }
    assert_eq!(mesh(PortModel::OnePort, 8).hosts().count(), 8);
}
