//! Pairs that differ from the others of their cluster, or from the others between the same two clusters.

use super::*;

/// One cluster or several, every link by itself: `link(a, b)` is its JSON without the ends.
fn all_links(count: usize, rest: &str, link: impl Fn(usize, usize) -> String) -> Platform {
    let nodes: Vec<String> = (0..count).map(|node| format!(r#"{{"id": "n{node}"}}"#)).collect();
    let pairs = (0..count).flat_map(|a| (0..count).map(move |b| (a, b))).filter(|(a, b)| a != b);
    let links: Vec<String> =
        pairs.map(|(a, b)| format!(r#"{{"from": "n{a}", "to": "n{b}", {}}}"#, link(a, b))).collect();
    truth(&format!(
        r#"{{"format": "broadleaf-platform/1", "name": "t", "port_model": "one-port", "nodes": [{}], {rest}
            "links": [{}]}}"#,
        nodes.join(", "),
        links.join(", ")
    ))
}

#[track_caller]
fn assert_all_links(found: &Platform, truth: &Platform) {
    for from in 0..truth.node_count() {
        for to in (0..truth.node_count()).filter(|&to| to != from) {
            assert_same_link(found, truth, from, to);
        }
    }
}

/// A ring: each step is as short as the last, so that it is one cluster, and the far pairs are three steps apart.
#[test]
fn pairs_of_a_cluster_have_their_own_latencies() {
    let platform = all_links(6, "", |a, b| {
        let steps = a.abs_diff(b).min(6 - a.abs_diff(b));
        format!(r#""latency_s": {:e}, "bandwidth_bytes_per_s": 1e8, "startup_s": 1e-6"#, steps as f64 * 1e-5)
    });
    for noise in [0.0, 0.001] {
        let mut network = FakeNetwork::new(platform.clone());
        network.noise = noise;
        let found = measured(&mut network);
        assert_eq!(found.clusters().len(), 1);
        assert_all_links(&found, &platform);
        // Of fifteen pairs the usual ones, of one step or of two, stand once.
        assert_eq!(found.explicit_links().len(), 9, "noise {noise}");
    }
}

/// Routes may be asymmetric, which a common clock at both ends reveals.
#[test]
fn ways_there_and_back_differ_where_one_clock_tells_them_apart() {
    let wan = r#""bridges": [
        {"from_cluster": "A", "to_cluster": "B", "link": {"latency_s": 5e-3, "bandwidth_bytes_per_s": 1e8}},
        {"from_cluster": "B", "to_cluster": "A", "link": {"latency_s": 3e-3, "bandwidth_bytes_per_s": 1e8}}]"#;
    let mut network = FakeNetwork::new(two_clusters(3, 2, wan, ""));
    network.one_clock = true;
    let found = measured(&mut network);
    assert!(found.explicit_links().is_empty(), "{:?}", found.explicit_links());
    for (from, to) in [(0, 3), (3, 0), (2, 4), (4, 1), (0, 1), (4, 3)] {
        assert_same_link(&found, &network.truth, from, to);
    }
    network.one_clock = false;
    let found = measured(&mut network);
    for (from, to) in [(0, 3), (3, 0)] {
        assert_close(class(&found, from, to).latency_s, 4e-3, "half of the round trip");
    }
}

/// Of six nodes only 2 to 5 and 3 to 4 share a wire, and they meet in the second round of a tournament.
#[test]
fn routes_that_meet_in_one_round_only_do_not_make_slow_pairs() {
    let wire = r#""shared": [{"id": "wire", "bandwidth_bytes_per_s": 1e8}],"#;
    let platform = all_links(6, wire, |a, b| {
        let uses = if [(2, 5), (3, 4)].contains(&(a, b)) { r#", "uses": ["wire"]"# } else { "" };
        format!(r#""latency_s": 4e-5, "bandwidth_bytes_per_s": 1e8{uses}"#)
    });
    let mut network = FakeNetwork::new(platform);
    network.noise = 0.001;
    let found = measured(&mut network);
    assert!(found.explicit_links().is_empty(), "{:?}", found.explicit_links());
    assert_all_links(&found, &network.truth);
}

/// Rates 10 and 15 % apart are within the tolerance of 30 %, and far beyond the samples' noise.
#[test]
fn pairs_that_differ_by_a_little_have_gaps_of_their_own() {
    let rate = |node: usize| [1e8, 1e8, 1e8, 1e8, 9e7, 8.5e7][node];
    let platform = all_links(6, "", |a, b| {
        format!(r#""latency_s": 4e-5, "bandwidth_bytes_per_s": {:e}"#, f64::min(rate(a), rate(b)))
    });
    let mut network = FakeNetwork::new(platform);
    network.noise = 0.001;
    let found = measured(&mut network);
    for (from, to) in [(0, 1), (0, 4), (4, 2), (5, 4), (4, 5), (3, 5)] {
        let seconds = |platform| class(platform, from, to).time.seconds(1 << 20);
        let ratio = seconds(&found) / seconds(&network.truth);
        assert!((ratio - 1.0).abs() < 0.02, "{from} to {to}: {ratio}");
    }
}

/// Between two clusters, the last node of B receives at 40 MB/s from any sender.
#[test]
fn a_slow_node_behind_a_bridge_is_found() {
    let slow: Vec<String> = (0..4)
        .map(|a| {
            format!(r#"{{"from": "A{a}", "to": "B2", "latency_s": 5e-3, "bandwidth_bytes_per_s": 4e7, "startup_s": 1.5e-5}}"#)
        })
        .collect();
    let links = format!(r#", "links": [{}]"#, slow.join(", "));
    let mut network = FakeNetwork::new(two_clusters(4, 3, FREE_WAN, &links));
    network.noise = 0.001;
    let found = measured(&mut network);
    let links: Vec<(u32, u32)> = found.explicit_links().iter().map(|link| (link.from.0, link.to.0)).collect();
    assert_eq!(links, [(0, 6), (1, 6), (2, 6), (3, 6)]);
    for (from, to) in [(0, 6), (3, 6), (0, 5), (6, 0), (6, 3), (5, 6)] {
        assert_same_link(&found, &network.truth, from, to);
    }
}

/// Eight pairs there fill it, four there and four back hardly do.
#[test]
fn a_half_duplex_pipe_of_many_pairs_is_one_resource() {
    let wan = r#""shared": [{"id": "wan", "bandwidth_bytes_per_s": 6.5e8}],
        "bridges": [{"from_cluster": "A", "to_cluster": "B", "both_ways": true, "link":
                     {"latency_s": 2e-3, "bandwidth_bytes_per_s": 1e8, "uses": ["wan"]}}]"#;
    let mut network = FakeNetwork::new(two_clusters(8, 8, wan, ""));
    network.noise = 0.002;
    let found = measured(&mut network);
    assert_eq!(found.shared().len(), 1, "{:?}", found.shared());
    assert_eq!(found.shared()[0].id, "c0-c1");
    assert_close(found.shared()[0].bandwidth_bytes_per_s, 6.5e8, "pipe");
}
