//! Effects of real networks on samples: delayed acknowledgements, bulk transmission, noise, too few samples.

use super::super::fake_network::{FakeNetwork, Stall};
use super::*;

/// A probe with time for samples of which half take forty times as long as the others.
fn patient(network: &FakeNetwork) -> Probe {
    let settings = ProbeSettings { budget_s: Some(2000.0), ..ProbeSettings::new("measured") };
    Probe::new(&network.hosts, settings).expect("a probe")
}

/// Linux holds back some acknowledgements for 40 ms; the fit must ignore them, and the file and the remarks must report
/// them.
#[test]
fn delayed_acknowledgements_are_reported_and_do_not_spoil_the_fit() {
    for (share, seed) in [0.1, 0.3, 0.45].into_iter().flat_map(|share| (1..=6).map(move |seed| (share, seed)))
    {
        let mut network = FakeNetwork::new(two_clusters(4, 3, FREE_WAN, ""));
        (network.noise, network.random) = (0.005, seed);
        network.stalls = vec![Stall { below_bytes: 131_072, share, delay_s: 0.04 }];
        let mut probe = patient(&network);
        let found = network.measure(&mut probe);
        let sizes: Vec<usize> = found.clusters().iter().map(|cluster| cluster.members.len()).collect();
        assert_eq!(sizes, [4, 3]);
        assert!(found.explicit_links().is_empty() && found.shared().is_empty(), "share {share}");
        for (from, to) in [(0, 1), (3, 2), (4, 6), (0, 5), (6, 1)] {
            if from < 4 && to < 4 || from >= 4 && to >= 4 {
                assert_same_link(&found, &network.truth, from, to);
            } else {
                assert_same_transfers(&found, &network.truth, from, to);
            }
            let delayed = &class(&found, from, to).delayed;
            assert!(delayed.len() >= 5, "{delayed:?}");
            for row in delayed {
                assert!(row.bytes < 131_072, "{row:?}");
                assert!((0.038..0.046).contains(&row.delay_s), "{row:?}");
            }
            let seen = delayed.iter().map(|row| row.share).sum::<f64>() / delayed.len() as f64;
            assert!((seen - share).abs() < 0.15, "{seen} for {share}: {delayed:?}");
        }
        let remarks = probe.remarks();
        assert_eq!(remarks.len(), 1);
        assert!(remarks[0].contains("took about 40 ms longer"), "{remarks:?}");
    }
}

fn two_hosts(bytes_per_s: f64) -> Platform {
    truth(&format!(
        r#"{{"format": "broadleaf-platform/1", "name": "truth", "port_model": "one-port",
            "nodes": [{{"id": "a"}}, {{"id": "b"}}],
            "links": [{{"from": "a", "to": "b", "both_ways": true, "latency_s": 2e-6,
                       "startup_s": 2e-6, "bandwidth_bytes_per_s": {bytes_per_s:e}}}]}}"#
    ))
}

/// As in network namespaces shaped by HTB, and on network cards of clouds.
#[test]
fn a_shaper_with_credit_that_passes_messages_in_lumps_is_seen_through() {
    for (credit_bytes, seed) in [(16 << 10, 1), (20 << 10, 2), (24 << 10, 3)] {
        let mut network = FakeNetwork::new(two_hosts(25e6));
        (network.credit_bytes, network.noise, network.random) = (credit_bytes, 0.005, seed);
        let found = network.measure(&mut patient(&network));
        // A byte never uses the credit up.
        for ((from, to), power) in
            [(0, 1), (1, 0)].into_iter().flat_map(|pair| (10..23).map(move |power| (pair, power)))
        {
            let gap_s = |platform: &Platform| class(platform, from, to).time.seconds(1 << power);
            let (ours, theirs) = (gap_s(&found), gap_s(&network.truth));
            assert!(
                (ours / theirs - 1.0).abs() < 0.05,
                "2^{power} bytes, credit {credit_bytes}: {ours:e} for {theirs:e}"
            );
        }
    }
}

/// As above in little time and without lumps: the samples on credit are a part of the first visit's, most of them or
/// few.
#[test]
fn short_messages_on_credit_do_not_decide_in_a_hurry() {
    for credit_bytes in (6 << 10..20 << 10).step_by(1 << 10) {
        let mut network = FakeNetwork::new(two_hosts(6.25e6));
        (network.credit_bytes, network.lumps, network.noise) = (credit_bytes, [1.0; 3], 0.005);
        let settings =
            ProbeSettings { budget_s: Some(4.0), largest_bytes: 1 << 20, ..ProbeSettings::new("hurry") };
        let found = network.measure(&mut Probe::new(&network.hosts, settings).unwrap());
        for (from, to, bytes) in [(0, 1, 1 << 10), (1, 0, 1 << 10), (0, 1, 2 << 10), (1, 0, 4 << 10)] {
            let gap_s = |platform: &Platform| class(platform, from, to).time.seconds(bytes);
            assert_close(
                gap_s(&found),
                gap_s(&network.truth),
                &format!("{bytes} bytes, credit {credit_bytes}"),
            );
        }
    }
}

#[test]
fn two_timers_are_told_apart() {
    let mut network = FakeNetwork::new(two_clusters(2, 2, FREE_WAN, ""));
    network.noise = 0.005;
    // One is visible with small messages, the other with larger ones only.
    network.stalls = vec![
        Stall { below_bytes: 6000, share: 0.3, delay_s: 0.04 },
        Stall { below_bytes: 131_072, share: 0.3, delay_s: 0.2 },
    ];
    let mut probe = patient(&network);
    let found = network.measure(&mut probe);
    assert_same_link(&found, &network.truth, 0, 1);
    assert_same_link(&found, &network.truth, 0, 2);
    let remarks = probe.remarks();
    assert!(remarks.len() == 1 && remarks[0].contains("about 40 ms or 200 ms longer"), "{remarks:?}");
}

#[test]
fn without_stalls_there_is_nothing_to_remark() {
    for noise in [0.0, 0.005, 0.05] {
        let mut network = FakeNetwork::new(two_clusters(3, 3, FREE_WAN, ""));
        network.noise = noise;
        let mut probe = probe(&network);
        let found = network.measure(&mut probe);
        assert!(found.classes().iter().all(|class| class.delayed.is_empty()));
        assert!(probe.remarks().is_empty(), "{:?}", probe.remarks());
    }
}

/// Paper 4, §4.2: messages sent one after the other take less each than one alone.
#[test]
fn the_bulk_gap_is_a_number_of_its_own() {
    let single = table(&[(1, 5e-5), (8_000_000, 0.08)]);
    // The effect is not visible for small messages: g(0) is from saturation, and all gaps are based on it.
    let bulk = table(&[(1, 5e-5), (8_000_000, 0.06)]);
    let document = format!(
        r#"{{"format": "broadleaf-platform/1", "name": "t", "port_model": "one-port",
            "nodes": [{{"id": "a"}}, {{"id": "b"}}, {{"id": "c"}}],
            "meshes": [{{"nodes": ["a", "b", "c"],
                         "link": {{"latency_s": 2e-7, "gap": {single}, "bulk": {bulk}}}}}]}}"#
    );
    let mut network = FakeNetwork::new(truth(&document));
    network.noise = 0.002;
    let found = measured(&mut network);
    let (ours, theirs) = (class(&found, 0, 2), class(&network.truth, 0, 2));
    let bulk = |class: &LinkClass, bytes| class.bulk.as_ref().expect("measured").seconds(bytes);
    for bytes in [1, 1000, 30_000, 1 << 20, 3 << 20] {
        assert_close(ours.time.seconds(bytes), theirs.time.seconds(bytes), &format!("gap of {bytes} bytes"));
        assert_close(bulk(ours, bytes), bulk(theirs, bytes), &format!("bulk gap of {bytes} bytes"));
    }
}

/// Where there is no such effect, both numbers are the same.
#[test]
fn without_a_bulk_effect_the_bulk_gap_is_the_gap() {
    let mut network = FakeNetwork::new(two_clusters(3, 2, FREE_WAN, ""));
    network.rendezvous_bytes = 65536;
    let found = measured(&mut network);
    for (from, to) in [(0, 1), (3, 4), (0, 3)] {
        let class = class(&found, from, to);
        let bulk = class.bulk.as_ref().expect("measured");
        for &(bytes, seconds) in bulk.rows() {
            assert_close(seconds, class.time.seconds(bytes), &format!("{bytes} bytes from {from} to {to}"));
        }
    }
}

/// The same quiet network, measured twice with other noise.
#[test]
fn two_runs_agree() {
    let run = |noise, seed| {
        let mut network = FakeNetwork::new(two_clusters(3, 2, FREE_WAN, ""));
        (network.noise, network.random) = (noise, seed);
        measured(&mut network)
    };
    let pairs = [(0, 1), (3, 4), (1, 4), (4, 0)];
    let (one, other) = (run(0.003, 1), run(0.003, 2));
    for (from, to) in pairs {
        assert_same_link(&one, &other, from, to);
    }
    // Where the noise of a round trip is many times a small message's gap, the whole transfer still agrees.
    let (one, other) = (run(0.015, 1), run(0.015, 2));
    for ((from, to), power) in pairs.into_iter().flat_map(|pair| (0..23).map(move |power| (pair, power))) {
        let transfer_s = |found: &Platform| {
            let class = class(found, from, to);
            class.latency_s + class.time.seconds(1 << power)
        };
        assert_close(transfer_s(&one), transfer_s(&other), &format!("2^{power} bytes from {from} to {to}"));
    }
}

/// Other programs keep the processors in most samples: the rest must give the result of a quiet machine.
#[test]
fn a_busy_machine_is_seen_through_and_reported() {
    for seed in 1..=12 {
        let mut network = FakeNetwork::new(two_clusters(3, 2, FREE_WAN, ""));
        (network.noise, network.busy, network.random) = (0.002, 0.7, seed);
        let mut probe = probe(&network);
        let found = network.measure(&mut probe);
        for (from, to) in [(0, 1), (3, 4)] {
            assert_same_link(&found, &network.truth, from, to);
        }
        for (from, to) in [(1, 4), (4, 0)] {
            assert_same_transfers(&found, &network.truth, from, to);
        }
        let remarks = probe.remarks();
        assert!(
            remarks.len() == 1 && remarks[0].starts_with("other programs kept the processors in "),
            "{remarks:?}"
        );
    }
}

#[test]
fn a_single_sample_is_a_platform_without_a_spread() {
    let mut network = FakeNetwork::new(two_clusters(2, 1, FREE_WAN, ""));
    network.most_samples = 1;
    let found = measured(&mut network);
    for (from, to) in [(0, 1), (0, 2), (2, 0)] {
        assert_same_link(&found, &network.truth, from, to);
    }
    // Between the clusters there is one table of single samples: nothing to take a spread from.
    assert_eq!(class(&found, 0, 2).spread, None);
}

/// A pair may be slow each time that its large message is timed, and not while its table is measured: the table is more
/// accurate.
#[test]
fn a_pairs_own_table_has_the_last_word() {
    let mut network = FakeNetwork::new(two_clusters(4, 1, FREE_WAN, ""));
    let mut probe = probe(&network);
    let pair = (NodeId(0), NodeId(2));
    loop {
        network.slow_pair = (probe.progress().stage != "tables").then_some((pair, 3.0));
        if !network.step(&mut probe) {
            break;
        }
    }
    let found = probe.platform().unwrap();
    assert!(found.explicit_links().is_empty(), "{:?}", found.explicit_links());
    assert_same_link(&found, &network.truth, 0, 2);
    // A pair that is slow each time gets its own link.
    let mut network = FakeNetwork::new(two_clusters(4, 1, FREE_WAN, ""));
    network.slow_pair = Some((pair, 3.0));
    assert_eq!(measured(&mut network).explicit_links().len(), 1);
}
