//! A measurement that ends early keeps its findings.

use super::*;

/// Rounds until the probe first has a platform, and the parts that it listed as missing before that.
fn until_usable(network: &mut FakeNetwork, probe: &mut Probe) -> (Platform, Vec<String>) {
    let mut lacking: Vec<String> = Vec::new();
    loop {
        assert!(network.step(probe), "finished without ever being usable");
        match probe.so_far() {
            (Some(platform), _) => return (platform, lacking),
            (None, missing) => {
                assert!(!missing.is_empty(), "no platform, and nothing said to be missing");
                lacking.extend(missing);
            }
        }
    }
}

#[test]
fn what_is_missing_is_said_until_there_is_a_platform() {
    let mut network = FakeNetwork::new(two_clusters(3, 3, &piped_wan(4e7, 6e7), ""));
    let mut probe = probe(&network);
    assert_eq!(probe.so_far().1, ["the latencies, and with them the clusters"]);
    let (early, lacking) = until_usable(&mut network, &mut probe);
    assert!(lacking.contains(&"the gaps between 2 of 2 pairs of clusters".to_string()), "{lacking:?}");
    assert!(lacking.contains(&"the gaps inside 1 of 2 clusters".to_string()), "{lacking:?}");
    assert!(early.shared().is_empty());
    let missing = probe.so_far().1;
    assert!(missing[0].starts_with("the tables of ") && missing[0].contains(" of 14 pairs"), "{missing:?}");
    assert_eq!(
        missing[1..],
        ["the search for shared pipes in 2 places", "the test of ports, which are taken as one-port"]
    );
    Platform::from_json(&early.to_json().to_string()).expect("a platform file");

    // With the pipes there, nothing is missing, and the end is the same as without having looked.
    while network.step(&mut probe) {
        assert!(probe.so_far().0.is_some(), "once usable, always usable");
    }
    let (last, missing) = probe.so_far();
    assert!(missing.is_empty(), "{missing:?}");
    let last = last.expect("usable");
    // Every pair's early link was one to be believed, beyond the sizes that had been measured too.
    for (from, to) in [(0, 1), (3, 5), (2, 4), (5, 0)] {
        let seconds = |platform| class(platform, from, to).time.seconds(1 << 20);
        let ratio = seconds(&early) / seconds(&last);
        assert!((0.7..1.2).contains(&ratio), "{from} to {to}: {ratio}");
    }
    assert_eq!(last.digest(), probe.platform().unwrap().digest());
    let mut undisturbed = FakeNetwork::new(two_clusters(3, 3, &piped_wan(4e7, 6e7), ""));
    assert_eq!(measured(&mut undisturbed).digest(), probe.platform().unwrap().digest());
}

#[test]
fn pipes_found_so_far_are_kept() {
    let mut network = FakeNetwork::new(two_clusters(4, 4, &piped_wan(4e7, 6e7), ""));
    let mut probe = probe(&network);
    let mut counts = Vec::new();
    while network.step(&mut probe) {
        counts.extend(probe.so_far().0.map(|platform| platform.shared().len()));
    }
    counts.dedup();
    assert_eq!(counts, [0, 1, 2]);
}

#[test]
fn two_ranks_are_usable_before_their_tables_are_complete() {
    let mut network = one_machine(2);
    network.noise = 0.02;
    let mut probe = probe(&network);
    let (early, _) = until_usable(&mut network, &mut probe);
    let rounds = network.rounds;
    let found = network.measure(&mut probe);
    assert!(rounds < network.rounds / 2, "{rounds} of {}", network.rounds);
    let seconds = |platform: &Platform| class(platform, 0, 1).time.seconds(1 << 20);
    assert!((seconds(&early) / seconds(&found) - 1.0).abs() < 0.1);
}
