//! Paper 4, §4.2: the bulk effect in the scatters' models, against a walk down the tree, and in the choice.

use broadleaf::plan::Collective;
use broadleaf::platform::{GapTable, LinkClass, NodeId, Platform, TransferTime};
use broadleaf::tune::Algorithm::{BinomialScatter, ChainScatter, Flat, FlatScatter};
use broadleaf::tune::{choose, Algorithm, PLogP, UniformCluster};

fn network(class: &LinkClass) -> PLogP {
    PLogP::of("cluster", class).unwrap()
}

/// When the last of a binomial tree's nodes has its block: a node's first transfer takes g, each further one b.
fn binomial_scatter_by_walk(network: &PLogP, nodes: u64, block: u64, has_it_s: f64) -> f64 {
    let (mut now_s, mut last_s, mut rest) = (has_it_s, has_it_s, nodes);
    let mut half = nodes.next_power_of_two() / 2;
    let mut is_first = true;
    while rest > 1 {
        let child = rest - half;
        now_s += if is_first { network.g(child * block) } else { network.following(child * block) };
        let below_s = binomial_scatter_by_walk(network, child, block, now_s + network.latency_s);
        (last_s, rest, half, is_first) = (last_s.max(below_s), half, half / 2, false);
    }
    last_s
}

/// Paper 4, §4.2: where messages sent behind one another take less each, scatters are faster by that, whose root
/// serves many; a chain's nodes send once each.
#[test]
fn scatters_know_the_bulk_effect() {
    let gap = GapTable::new(vec![(1, 10e-6), (1 << 20, 0.01)]);
    let bulk = GapTable::new(vec![(1, 4e-6), (1 << 20, 0.006)]);
    let class = LinkClass {
        latency_s: 5e-5,
        time: TransferTime::Gap(gap),
        spread: Some(GapTable::new(vec![(1, 0.01)])),
        ..LinkClass::default()
    };
    let with_bulk = LinkClass { bulk: Some(bulk), ..class.clone() };
    let (alone, behind) = (network(&class), network(&with_bulk));
    for (nodes, block) in (2..40).flat_map(|nodes| [1, 1000, 1 << 16].map(|block| (nodes, block))) {
        let seconds =
            |algorithm: Algorithm, network: &PLogP| algorithm.corrected_s(network, nodes, block, block);
        let flat_s = behind.g(block) + (nodes - 2) as f64 * behind.following(block) + 5e-5;
        assert!((seconds(FlatScatter, &behind) / flat_s - 1.0).abs() < 1e-12);
        assert_eq!(seconds(ChainScatter, &behind), seconds(ChainScatter, &alone));
        for network in [&alone, &behind] {
            let walked_s = binomial_scatter_by_walk(network, nodes, block, 0.0);
            assert!((seconds(BinomialScatter, network) / walked_s - 1.0).abs() < 1e-12, "{nodes} nodes");
        }
        assert!(nodes == 2 || seconds(FlatScatter, &behind) < seconds(FlatScatter, &alone));
        // Broadcasts are as they were.
        assert_eq!(seconds(Flat, &behind), seconds(Flat, &alone));
    }
    // A bulk gap above the gap is a measurement's noise.
    let noisy = LinkClass { bulk: Some(GapTable::new(vec![(1, 1.0)])), ..class };
    assert_eq!(network(&noisy).following(1000), alone.g(1000));
}

/// What was measured decides: with the bulk effect the flat scatter overtakes the binomial one.
#[test]
fn the_bulk_effect_changes_the_choice() {
    let document = |bulk: &str| {
        format!(
            r#"{{"format": "broadleaf-platform/1", "name": "t", "port_model": "one-port",
                "nodes": [{{"id": "a"}}, {{"id": "b"}}, {{"id": "c"}}, {{"id": "d"}}],
                "meshes": [{{"nodes": ["a", "b", "c", "d"], "link": {{"latency_s": 1e-6,
                             "gap": [[1, 1e-4], [1048576, 1.1e-3]] {bulk}}}}}]}}"#
        )
    };
    let chosen = |bulk: &str| {
        let platform = Platform::from_json(&document(bulk)).unwrap();
        let cluster = UniformCluster::new(&platform, NodeId(0)).unwrap();
        let choice = choose(&cluster, Collective::Scatter, 4, 1000).unwrap();
        (choice.chosen().algorithm, choice.chosen().expected_s())
    };
    assert_eq!(chosen("").0, BinomialScatter);
    let (algorithm, expected_s) = chosen(r#", "bulk": [[1, 1e-5], [1048576, 1e-3]]"#);
    assert_eq!(algorithm, FlatScatter);
    assert!((1.2e-4..1.3e-4).contains(&expected_s), "{expected_s}");
}
