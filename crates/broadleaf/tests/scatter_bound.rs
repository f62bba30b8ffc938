//! The bound of scatters and gathers between near and far hosts.

use broadleaf::budget::Budget;
use broadleaf::optimum::collective_bound_s;
use broadleaf::plan::Collective;
use broadleaf::planners::{find, plan_with, Instance};
use broadleaf::platform::{NodeId, Platform};
use broadleaf::simulate::simulate;
use serde_json::json;

/// The root and one host are near, two hosts 5 s away. The root sends each block of 100 bytes in 1 s, so the second of the
/// far ones arrives after 7 s, whatever comes between. Without that order it is 8 s: the near one's, and 7 s.
#[test]
fn far_blocks_by_hand() {
    let document = json!({
        "format": "broadleaf-platform/1", "name": "far",
        "nodes": [{"id": "a", "cluster": "A"}, {"id": "b", "cluster": "A"}, {"id": "c", "cluster": "B"}, {"id": "d", "cluster": "B"}],
        "meshes": [
            {"nodes": ["a", "b"], "link": {"bandwidth_bytes_per_s": 100.0}},
            {"nodes": ["c", "d"], "link": {"bandwidth_bytes_per_s": 100.0}}
        ],
        "bridges": [{"from_cluster": "A", "to_cluster": "B", "both_ways": true,
            "link": {"latency_s": 5.0, "bandwidth_bytes_per_s": 100.0}}]
    });
    for model in ["one-port", "one-port-unidirectional", "multi-port"] {
        let mut document = document.clone();
        document["port_model"] = json!(model);
        let platform = Platform::from_json(&document.to_string()).unwrap();
        for collective in [Collective::Scatter, Collective::Gather] {
            let bound = |weights: Option<&[f64]>| {
                collective_bound_s(&platform, collective, NodeId(0), 100, weights, &Budget::UNLIMITED)
            };
            assert!((bound(None) - 7.0).abs() < 1e-8, "{model}, {collective}: {} s", bound(None));
            // One of the far hosts has no block: 1 s and 5 s.
            let without_one = bound(Some(&[1.0, 1.0, 1.0, 0.0]));
            assert!((without_one - 6.0).abs() < 1e-8, "{model}, {collective}: {without_one} s");
            let instance = Instance { collective, ..Instance::new(&platform, NodeId(0), 100).unwrap() };
            let plan = plan_with(find("flat").unwrap(), &instance, &Budget::UNLIMITED).unwrap();
            let makespan_s = simulate(&platform, &plan, false).unwrap().makespan_s;
            assert!(makespan_s >= bound(None), "{model}, {collective}: {makespan_s} s");
            if collective == Collective::Scatter {
                assert!((makespan_s - 7.0).abs() < 1e-8, "{model}: {makespan_s} s");
            }
        }
    }
}
