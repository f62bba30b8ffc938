//! Planning never starts rayon's global pool, which panics where the system grants no threads. A process has one such
//! pool, so the test has a process to itself.

use broadleaf::budget::Budget;
use broadleaf::parallel::on_all_cores;
use broadleaf::plan::Collective;
use broadleaf::planners::Instance;
use broadleaf::platform::{generate, Platform};
use broadleaf::portfolio::{make, Effort, SegmentChoice};
use broadleaf::tune::{survey, UniformCluster};

fn best(platform: &Platform) -> String {
    let root = platform.hosts().next().unwrap();
    let instance = Instance::new(platform, root, 1 << 20).unwrap();
    let made = make(&instance, "best", SegmentChoice::Auto, Effort::Thorough, &Budget::UNLIMITED).unwrap();
    format!("{made:?}")
}

#[test]
fn planning_uses_the_callers_threads_only() {
    let platform = generate::tiers(&generate::Tiers::new(12, 0.3, 1)).unwrap().platform;
    let alone = best(&platform);
    assert_eq!(alone, on_all_cores(|| best(&platform)), "the outcome depends on the threads");
    let mesh = r#"{"format": "broadleaf-platform/1", "name": "three", "port_model": "one-port",
        "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
        "meshes": [{"nodes": ["a", "b", "c"], "link": {"bandwidth_bytes_per_s": 1e8, "latency_s": 1e-5}}]}"#;
    let mesh = Platform::from_json(mesh).unwrap();
    let cluster = UniformCluster::new(&mesh, mesh.hosts().next().unwrap()).unwrap();
    survey(&cluster, Collective::Bcast, &[2, 3], &[1, 1 << 20]).unwrap();
    // The global pool has not been used yet: it can still be made.
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().unwrap();
}
