//! Pairs of clusters measured at the same time, where there are too many to measure one at a time.

use super::*;
use std::collections::HashSet;

pub const CLUSTERS: usize = 8;

/// Clusters of two hosts, 10 ms from each other; `uses` names the pipes of a bridge.
pub fn far_apart(shared: &str, uses: impl Fn(usize, usize) -> String) -> Platform {
    let all = || (0..CLUSTERS).flat_map(|a| (0..CLUSTERS).map(move |b| (a, b))).filter(|(a, b)| a != b);
    let nodes: Vec<String> = (0..CLUSTERS)
        .flat_map(|at| [0, 1].map(|host| format!(r#"{{"id": "n{at}-{host}", "cluster": "C{at}"}}"#)))
        .collect();
    let near = r#"{"latency_s": 5e-5, "bandwidth_bytes_per_s": 1e8}"#;
    let meshes: Vec<String> =
        (0..CLUSTERS).map(|at| format!(r#"{{"nodes": ["n{at}-0", "n{at}-1"], "link": {near}}}"#)).collect();
    let bridges: Vec<String> = all()
        .map(|(a, b)| {
            let link = format!(
                r#"{{"latency_s": 0.01, "bandwidth_bytes_per_s": {}e6, "uses": [{}]}}"#,
                20 + a + 2 * b,
                uses(a, b)
            );
            format!(r#"{{"from_cluster": "C{a}", "to_cluster": "C{b}", "link": {link}}}"#)
        })
        .collect();
    truth(&format!(
        r#"{{"format": "broadleaf-platform/1", "name": "far", "port_model": "one-port", "shared": [{shared}],
            "nodes": [{}], "meshes": [{}], "bridges": [{}]}}"#,
        nodes.join(", "),
        meshes.join(", "),
        bridges.join(", ")
    ))
}

/// The network after a measurement within a budget, and the platform.
pub fn in_time(truth: Platform, budget_s: f64) -> (FakeNetwork, Platform) {
    let mut network = FakeNetwork::new(truth);
    let settings = ProbeSettings { budget_s: Some(budget_s), ..ProbeSettings::new("far") };
    let mut probe = Probe::new(&network.hosts, settings).unwrap();
    let found = network.measure(&mut probe);
    (network, found)
}

fn assert_right(found: &Platform, truth: &Platform) {
    for (a, b) in (0..CLUSTERS).flat_map(|a| (0..CLUSTERS).map(move |b| (a, b))).filter(|(a, b)| a != b) {
        assert_same_transfers(found, truth, 2 * a, 2 * b + 1);
    }
}

#[test]
fn disjoint_pairs_of_clusters_are_measured_at_the_same_time_when_time_is_short() {
    let (hurried, found) = in_time(far_apart("", |_, _| String::new()), 20.0);
    assert_right(&found, &hurried.truth);
    let (unhurried, _) = in_time(far_apart("", |_, _| String::new()), 2000.0);
    let in_company = |network: &FakeNetwork| {
        let clusters = network.in_company.iter().map(|(from, to)| (from.0 / 2, to.0 / 2));
        clusters.collect::<HashSet<_>>().len()
    };
    assert_eq!((in_company(&hurried), in_company(&unhurried)), (CLUSTERS * (CLUSTERS - 1), 0));
    assert!(2.0 * hurried.now_s < unhurried.now_s, "{} s and {} s", hurried.now_s, unhurried.now_s);
}

#[test]
fn pairs_that_share_a_pipe_are_measured_again_alone() {
    // Four pairs at once have a quarter of it each.
    let backbone = r#"{"id": "backbone", "bandwidth_bytes_per_s": 5e7}"#;
    let (network, found) = in_time(far_apart(backbone, |_, _| r#""backbone""#.to_string()), 20.0);
    assert_right(&found, &network.truth);
}
