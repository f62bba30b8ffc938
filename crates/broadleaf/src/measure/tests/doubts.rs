//! Samplers with injected faults: impossible values are measured again, and marked if they persist.

use super::super::doubts::{Doubt, DoubtfulPair, Quality};
use super::super::fake_network::FakeNetwork;
use super::*;

/// Two hosts 2 µs apart, a byte a 100 MB/s.
fn two_hosts() -> FakeNetwork {
    FakeNetwork::new(truth(
        r#"{"format": "broadleaf-platform/1", "name": "truth", "port_model": "one-port",
            "nodes": [{"id": "a"}, {"id": "b"}],
            "links": [{"from": "a", "to": "b", "both_ways": true, "latency_s": 2e-6,
                       "startup_s": 1e-6, "bandwidth_bytes_per_s": 1e8}]}"#,
    ))
}

/// Measures while `disturb` changes the network, depending on the current stage.
fn measured_while(
    network: &mut FakeNetwork,
    disturb: impl Fn(&mut FakeNetwork, &str),
) -> (Platform, Quality) {
    let mut probe = probe(network);
    loop {
        disturb(network, probe.progress().stage);
        if !network.step(&mut probe) {
            break;
        }
    }
    (probe.platform().expect("finished"), probe.quality())
}

const PAIR: (NodeId, NodeId) = (NodeId(0), NodeId(1));

/// The observed case: a transient load gave L = 1786 µs instead of 0.25 µs.
#[test]
fn a_latency_above_a_round_trip_that_was_seen_is_measured_again() {
    for seed in 1..=5 {
        let mut network = two_hosts();
        (network.noise, network.random) = (0.002, seed);
        let (found, quality) = measured_while(&mut network, |network, stage| {
            network.held_pair = (stage == "tables").then_some((PAIR, 3.6e-3));
        });
        assert_same_link(&found, &network.truth, 0, 1);
        assert_same_link(&found, &network.truth, 1, 0);
        assert_eq!((quality.word(), quality.doubtful.len()), ("good", 0), "{quality:?}");
    }
}

#[test]
fn what_stays_impossible_is_marked() {
    let mut network = two_hosts();
    let (_, quality) = measured_while(&mut network, |network, stage| {
        network.held_pair = (stage != "latencies").then_some((PAIR, 3.6e-3));
    });
    assert_eq!(quality.word(), "doubtful");
    let pairs: Vec<(u32, u32)> =
        quality.doubtful.iter().map(|each| (each.pair.0 .0, each.pair.1 .0)).collect();
    assert_eq!(pairs, [(0, 1), (1, 0)]);
    let Doubt::AboveRoundTrip { latency_s, round_trip_s } = quality.doubtful[0].doubt else {
        panic!("{quality:?}")
    };
    assert!((latency_s - 1.8e-3).abs() < 1e-5 && (round_trip_s - 6e-6).abs() < 1e-6, "{quality:?}");
    assert!(quality.doubtful[0]
        .doubt
        .to_string()
        .starts_with("a latency of 1.8 ms, where a round trip took "));
}

/// The values of one pair of a mesh stay impossible: the other pairs decide.
#[test]
fn a_doubtful_table_is_no_part_of_what_others_share() {
    let mut network = FakeNetwork::new(two_clusters(4, 1, FREE_WAN, ""));
    let (found, quality) = measured_while(&mut network, |network, stage| {
        network.held_pair = ["tables", "recheck"].contains(&stage).then_some((PAIR, 3.6e-3));
    });
    assert_same_link(&found, &network.truth, 0, 1);
    assert_same_link(&found, &network.truth, 2, 3);
    assert_eq!(quality.doubtful, [], "nothing of it is in the platform");
}

/// Proof by longer messages: a row with a transient error of any length is detected by its longer neighbours.
#[test]
fn gaps_that_longer_messages_contradict_are_measured_again_and_marked() {
    let gap = |rows: &[(u64, f64)]| {
        let gap = table(rows);
        FakeNetwork::new(truth(&format!(
            r#"{{"format": "broadleaf-platform/1", "name": "truth", "port_model": "one-port",
                "nodes": [{{"id": "a"}}, {{"id": "b"}}],
                "links": [{{"from": "a", "to": "b", "both_ways": true, "latency_s": 2e-6, "gap": {gap}}}]}}"#
        )))
    };
    // Short messages that take a multiple of long ones.
    let mut high = gap(&[(0, 1e-6), (1, 4.14e-4), (1024, 4.14e-4), (4096, 2e-5), (4 << 20, 0.04)]);
    let (_, quality) = measured_while(&mut high, |_, _| ());
    assert!(matches!(quality.doubtful[0].doubt, Doubt::AboveLonger { bytes: 1, .. }), "{quality:?}");
    // Bytes that are a hundred times as fast as those of all longer messages.
    let mut low = gap(&[(1, 1e-6), (16384, 2e-6), (32768, 6.4e-3), (4 << 20, 0.82)]);
    let (_, quality) = measured_while(&mut low, |_, _| ());
    assert!(matches!(quality.doubtful[0].doubt, Doubt::BelowLonger { .. }), "{quality:?}");
    // A protocol that changes, and a window's worth of a long way, are not in doubt.
    let mut usual = gap(&[(1, 1e-6), (4096, 8e-6), (4097, 4e-6), (4 << 20, 0.004)]);
    let (_, quality) = measured_while(&mut usual, |_, _| ());
    assert_eq!(quality.doubtful, []);
    assert_eq!(
        measured_while(&mut FakeNetwork::new(two_clusters(3, 2, FREE_WAN, "")), |_, _| ()).1.word(),
        "good"
    );
}

/// A bad cable is a true value, and still marked; a transient load on the pair is neither.
#[test]
fn a_pair_of_a_switch_apart_by_orders_of_magnitude_is_marked_if_it_stays() {
    let mut network = FakeNetwork::new(two_clusters(4, 1, FREE_WAN, ""));
    network.slow_pair = Some((PAIR, 30.0));
    let (found, quality) = measured_while(&mut network, |_, _| ());
    assert_eq!(found.explicit_links().len(), 1);
    let is_apart = |each: &DoubtfulPair| matches!(each.doubt, Doubt::Apart { slowness } if (25.0..35.0).contains(&slowness));
    assert!(quality.doubtful.iter().any(|each| each.pair == PAIR && is_apart(each)), "{quality:?}");
    let (found, quality) = measured_while(&mut network, |network, stage| {
        network.slow_pair = (stage == "screening").then_some((PAIR, 30.0));
    });
    assert!(found.explicit_links().is_empty() && quality.doubtful.is_empty(), "{quality:?}");
}

/// Round trips that are too long compared with a third node are measured again before clustering.
#[test]
fn a_round_trip_ten_times_that_over_a_third_node_is_made_again() {
    let mut network = FakeNetwork::new(two_clusters(4, 1, FREE_WAN, ""));
    let (found, quality) = measured_while(&mut network, |network, stage| {
        // Only the first visit of each pair; that of the held one is long and steady, and would do without the doubt.
        let is_first = stage == "latencies" && network.rounds < 5;
        network.held_pair = is_first.then_some((PAIR, 4e-3));
    });
    let sizes: Vec<usize> = found.clusters().iter().map(|cluster| cluster.members.len()).collect();
    assert_eq!((sizes, quality.word()), (vec![4, 1], "good"));
    // If it persists, the pair is marked.
    let (_, quality) = measured_while(&mut network, |network, _| network.held_pair = Some((PAIR, 4e-3)));
    let detours = quality.doubtful.iter().filter(|each| matches!(each.doubt, Doubt::AboveDetour { .. }));
    assert_eq!(detours.count(), 1, "{quality:?}");
}
