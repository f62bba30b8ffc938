//! One port or several links at once.

use super::{assert_close, class, measured, truth};
use crate::measure::fake_network::FakeNetwork;
use crate::platform::{NodeId, Platform, PortModel};

/// Two clusters of four hosts: 25 and 12.5 MB/s inside, 2.5 MB/s across; ports of 25 MB/s.
fn two_clusters(port_model: &str, port: &str) -> Platform {
    let node = |name: &str, cluster: &str| format!(r#"{{"id": "{name}", "cluster": "{cluster}"{port}}}"#);
    let names = |letter: &'static str| (0..4).map(move |at| format!("{letter}{at}"));
    let nodes: Vec<String> =
        names("A").map(|name| node(&name, "A")).chain(names("B").map(|name| node(&name, "B"))).collect();
    let mesh = |letter: &'static str, rate: &str| {
        let names: Vec<String> = names(letter).map(|name| format!("\"{name}\"")).collect();
        let link = format!(r#"{{"latency_s": 1e-4, "bandwidth_bytes_per_s": {rate}}}"#);
        format!(r#"{{"nodes": [{}], "link": {link}}}"#, names.join(", "))
    };
    truth(&format!(
        r#"{{"format": "broadleaf-platform/1", "name": "truth", "port_model": "{port_model}", "nodes": [{}],
            "meshes": [{}, {}], "bridges": [{{"from_cluster": "A", "to_cluster": "B", "both_ways": true,
            "link": {{"latency_s": 1e-3, "bandwidth_bytes_per_s": 2.5e6}}}}]}}"#,
        nodes.join(", "),
        mesh("A", "2.5e7"),
        mesh("B", "1.25e7")
    ))
}

#[test]
fn links_slower_than_the_port_make_a_platform_multi_port() {
    let port = r#", "out_bytes_per_s": 2.5e7, "in_bytes_per_s": 2.5e7"#;
    let mut network = FakeNetwork { noise: 0.01, ..FakeNetwork::new(two_clusters("multi-port", port)) };
    let found = measured(&mut network);
    assert_eq!(found.port_model(), PortModel::MultiPort);
    for node in found.nodes() {
        let properties = found.node(node);
        for rate in [properties.out_bytes_per_s, properties.in_bytes_per_s] {
            assert_close(rate.unwrap(), 2.5e7, &properties.id);
        }
    }
    let seconds = |from, to| class(&found, from, to).time.seconds(1 << 20);
    assert_close(seconds(0, 5), (1 << 20) as f64 / 2.5e6, "a link across");
    assert_close(seconds(6, 5), (1 << 20) as f64 / 1.25e7, "a link inside B");
}

#[test]
fn where_a_port_serves_one_at_a_time_it_stays_one_port() {
    let mut network = FakeNetwork { noise: 0.01, ..FakeNetwork::new(two_clusters("one-port", "")) };
    let found = measured(&mut network);
    assert_eq!(found.port_model(), PortModel::OnePort);
    assert_eq!(found.node(NodeId(0)).out_bytes_per_s, None);
    assert!(network.seen[&(NodeId(0), NodeId(7))].contains(&7), "seven receivers at once");
}

#[test]
fn one_disturbed_moment_does_not_make_it_one_port() {
    let mut network =
        FakeNetwork { is_disturbed: |burst| burst < 4, ..FakeNetwork::new(five_alike(1.5e7, 5e6)) };
    let found = measured(&mut network);
    assert_eq!(found.port_model(), PortModel::MultiPort);
    for node in found.nodes() {
        assert_close(found.node(node).out_bytes_per_s.unwrap(), 1.5e7, &found.node(node).id);
    }
}

/// Each node sends four bursts, of which the first is left out.
#[test]
fn one_undisturbed_burst_shows_multi_port() {
    let five = || FakeNetwork::new(five_alike(1.5e7, 5e6));
    let mut once = FakeNetwork { is_disturbed: |burst| burst != 6, ..five() };
    assert_eq!(measured(&mut once).port_model(), PortModel::MultiPort);
    let mut never = FakeNetwork { is_disturbed: |burst| burst != 4, ..five() };
    assert_eq!(measured(&mut never).port_model(), PortModel::OnePort);
}

#[test]
fn links_as_fast_as_the_port_stay_one_port() {
    assert_eq!(measured(&mut FakeNetwork::new(five_alike(1e8, 1e8))).port_model(), PortModel::OnePort);
}

/// Five hosts at a switch, with the rates of their ports and of each link.
fn five_alike(port: f64, link: f64) -> Platform {
    let names: Vec<String> = (0..5).map(|at| format!("\"n{at}\"")).collect();
    let port = format!(r#""out_bytes_per_s": {port}, "in_bytes_per_s": {port}"#);
    let nodes: Vec<String> = names.iter().map(|name| format!(r#"{{"id": {name}, {port}}}"#)).collect();
    truth(&format!(
        r#"{{"format": "broadleaf-platform/1", "name": "truth", "port_model": "multi-port", "nodes": [{}],
            "meshes": [{{"nodes": [{}], "link": {{"latency_s": 4e-5, "bandwidth_bytes_per_s": {link}}}}}]}}"#,
        nodes.join(", "),
        names.join(", ")
    ))
}
