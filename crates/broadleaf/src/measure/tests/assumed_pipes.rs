//! Clusters, pipes and wires of networks of which only pairs are known.

use crate::measure::{with_assumed_clusters, with_assumed_pipes};
use crate::platform::{Matrices, NodeId, Platform, PortModel};
use std::collections::HashMap;

fn of_matrices(
    count: usize,
    latency_s: impl Fn(usize, usize) -> f64,
    rate: impl Fn(usize, usize) -> f64,
) -> Platform {
    let square = |value: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<Option<f64>>> {
        (0..count).map(|a| (0..count).map(|b| Some(value(a, b))).collect()).collect()
    };
    let ids = (0..count).map(|at| format!("n{at}")).collect();
    let matrices = Matrices::new(ids, &square(&latency_s), &square(&rate)).unwrap();
    Platform::from_matrices("m", PortModel::OnePort, &matrices).unwrap()
}

/// Hosts by site and switch: 20 µs behind one switch, 100 µs in a site, 5 ms between sites.
fn platform(places: &[(u32, u32)], rate: impl Fn(usize, usize) -> f64) -> Platform {
    let latency_s = |a: (u32, u32), b: (u32, u32)| match (a.0 == b.0, a == b) {
        (true, true) => 20e-6,
        (true, false) => 100e-6,
        (false, _) => 5e-3,
    };
    of_matrices(places.len(), |a, b| latency_s(places[a], places[b]), rate)
}

fn rates(found: &Platform) -> HashMap<String, f64> {
    found.shared().iter().map(|pipe| (pipe.id.clone(), pipe.bandwidth_bytes_per_s)).collect()
}

/// The names of the pipes from one host to another.
fn uses(found: &Platform, from: u32, to: u32) -> Vec<&str> {
    let class = found.class(found.link(NodeId(from), NodeId(to)).unwrap());
    class.uses.iter().map(|pipe| found.shared()[pipe.index()].id.as_str()).collect()
}

#[test]
fn sites_share_their_access_and_switches_their_uplink() {
    let places = [(0, 0), (0, 0), (0, 1), (0, 1), (1, 2), (1, 2), (2, 3), (2, 3)];
    let rate = |a: usize, b: usize| if places[a].0 == places[b].0 { 12e6 } else { 5e6 };
    let found = with_assumed_pipes(&platform(&places, rate)).unwrap();
    let rates = rates(&found);
    assert_eq!((rates["g0-out"], rates["g0.g1-in"]), (5e6, 12e6 * f64::sqrt(2.0)));
    assert_eq!(rates.len(), 2 * 3 + 2 * 2, "three sites, two switches in one of them");
    assert_eq!(uses(&found, 0, 1), [""; 0]);
    assert_eq!(uses(&found, 0, 2), ["g0.g0-out", "g0.g1-in"]);
    assert_eq!(uses(&found, 3, 5), ["g0-out", "g1-in", "g0.g1-out"]);
}

#[test]
fn rates_that_no_access_explains_belong_to_pairs_of_sites() {
    let places = [(0, 0), (0, 0), (1, 1), (1, 1), (2, 2), (2, 2)];
    // The slowest of three pairs of sites has two ends that are faster elsewhere.
    let rate = |a: usize, b: usize| [12e6, 1e6, 2e6, 3e6][(places[a].0 ^ places[b].0) as usize];
    let found = with_assumed_pipes(&platform(&places, rate)).unwrap();
    let rates = rates(&found);
    assert_eq!((rates.len(), rates["g2-to-g1"]), (6, 3e6));
    assert_eq!(uses(&found, 1, 2), ["g0-to-g1"]);
}

#[test]
fn near_pipes_are_wider_than_a_pair_where_ports_may_be_the_limit() {
    let out_rate = |places: [(u32, u32); 8], outside: f64| {
        let rate = |a: usize, b: usize| if places[a] == places[b] { 10e6 } else { outside };
        rates(&with_assumed_pipes(&platform(&places, rate)).unwrap())["g0-out"]
    };
    let switches = [(0, 0), (0, 0), (0, 0), (0, 0), (0, 1), (0, 1), (0, 1), (0, 1)];
    let sites = switches.map(|(_, switch)| (switch, switch));
    assert_eq!(out_rate(switches, 10e6), 20e6, "of one to four times 10 MB/s");
    assert_eq!(out_rate(switches, 5e6), 5e6, "what is slower outside is the pipe");
    assert_eq!(out_rate(sites, 10e6), 10e6, "a long-distance line");
}

#[test]
fn switches_in_a_ring_share_its_wires() {
    // Six switches of two hosts: 20 µs behind one, 10 µs more a hop.
    let hops = |a: usize, b: usize| (a / 2).abs_diff(b / 2).min(6 - (a / 2).abs_diff(b / 2));
    let latency_s = |a: usize, b: usize| 20e-6 + 10e-6 * hops(a, b) as f64;
    let found = with_assumed_pipes(&of_matrices(12, latency_s, |_, _| 1e6)).unwrap();
    assert_eq!(found.shared().len(), 12, "two wires from each switch");
    assert_eq!(uses(&found, 0, 1), [""; 0]);
    assert_eq!(uses(&found, 11, 2), ["g5-to-g0", "g0-to-g1"]);
    assert_eq!(uses(&found, 1, 7).len(), 3);
    // A way that is faster than those wires goes over others.
    let is_across = |a: usize, b: usize| hops(a, b) == 3;
    let faster = of_matrices(12, latency_s, |a, b| if is_across(a, b) { 2e6 } else { 1e6 });
    assert_eq!(uses(&with_assumed_pipes(&faster).unwrap(), 1, 7), ["g0-to-g3"]);
}

#[test]
fn clusters_of_equal_pairs_are_one_mesh_each() {
    let places = [(0, 0), (1, 1), (0, 0), (1, 1)];
    let found = with_assumed_pipes(&platform(&places, |_, _| 1e6)).unwrap();
    assert_eq!((found.explicit_links().len(), found.meshes().len(), found.bridges().len()), (0, 2, 2));
    assert!(found.provenance().unwrap()["assumed"].as_str().unwrap().starts_with("4 shared pipes"));
}

#[test]
fn nothing_is_assumed_of_one_switch_or_of_chance_pairs() {
    let one_switch = platform(&[(0, 0); 4], |_, _| 1e6);
    assert_eq!(with_assumed_pipes(&one_switch).unwrap().digest(), one_switch.digest());
    let mut places: Vec<(u32, u32)> = (0..10).map(|at| (at, at)).collect();
    places.push((0, 0));
    let scattered = platform(&places, |_, _| 1e6);
    assert_eq!(with_assumed_pipes(&scattered).unwrap().digest(), scattered.digest());
}

#[test]
fn one_cluster_of_all_hosts_names_none() {
    let latency_s = |a: usize, b: usize| if a / 2 == b / 2 { 20e-6 } else { 100e-6 };
    let plain = of_matrices(6, latency_s, |_, _| 1e6);
    let clusters = |platform: &Platform, names: &[&str]| {
        let mut document = platform.to_json();
        for (at, name) in names.iter().enumerate() {
            document["nodes"][at]["cluster"] = (*name).into();
        }
        let named = Platform::from_json(&document.to_string()).unwrap();
        with_assumed_clusters(&named).clusters().len()
    };
    assert_eq!(clusters(&plain, &[]), 3);
    assert_eq!(clusters(&plain, &["net"; 6]), 3);
    assert_eq!(clusters(&plain, &["a", "a", "a", "b", "b", "b"]), 2, "as the file says");
}
