//! The whole measurement against simulated networks.

use super::fake_network::FakeNetwork;
use super::{Probe, ProbeSettings};
use crate::platform::{GapTable, LinkClass, NodeId, Platform, TransferTime};

mod accesses;
mod artefacts;
mod assumed_pipes;
mod company;
mod doubts;
mod pairs;
mod ports;
mod refusals;
mod unfinished;

/// The relative error that a measurement may have (the issue's figure for pipes; the noise is 1 %).
const CLOSE: f64 = 0.05;

fn truth(text: &str) -> Platform {
    Platform::from_json(text).expect("a platform")
}

fn probe(network: &FakeNetwork) -> Probe {
    // The fake network's time is free: enough of it that no table is cut short.
    let settings = ProbeSettings { budget_s: Some(200.0), ..ProbeSettings::new("measured") };
    Probe::new(&network.hosts, settings).expect("a probe")
}

fn measured(network: &mut FakeNetwork) -> Platform {
    let found = network.measure(&mut probe(network));
    // The written document can be read.
    Platform::from_json(&found.to_json().to_string()).expect("a platform file")
}

fn class(platform: &Platform, from: usize, to: usize) -> &LinkClass {
    let link = platform.link(NodeId(from as u32), NodeId(to as u32)).expect("a link");
    platform.class(link)
}

#[track_caller]
fn assert_close(found: f64, truth: f64, what: &str) {
    // No gap is given as less than 1 ns, and that error is in each gap once more.
    assert!((found - truth).abs() <= CLOSE * truth + 2e-9, "{what}: {found:e} where {truth:e} is true");
}

/// L and g(m) of one pair at all sizes from 1 byte to the end of the table and beyond.
#[track_caller]
fn assert_same_link(found: &Platform, truth: &Platform, from: usize, to: usize) {
    let (ours, theirs) = (class(found, from, to), class(truth, from, to));
    assert_close(ours.latency_s, theirs.latency_s, &format!("latency {from} to {to}"));
    for power in 0..24 {
        for bytes in [1 << power, 3 << power] {
            let what = format!("gap of {bytes} bytes from {from} to {to}");
            assert_close(ours.time.seconds(bytes), theirs.time.seconds(bytes), &what);
        }
    }
}

/// The latency of one pair, and the time of a message of each size from end to end. On a long path, the g of short
/// messages is a hundredth of this time, and no more accurate under noise.
#[track_caller]
fn assert_same_transfers(found: &Platform, truth: &Platform, from: usize, to: usize) {
    let (ours, theirs) = (class(found, from, to), class(truth, from, to));
    assert_close(ours.latency_s, theirs.latency_s, &format!("latency {from} to {to}"));
    for power in 0..24 {
        for bytes in [1 << power, 3 << power] {
            let takes = |class: &LinkClass| class.latency_s + class.time.seconds(bytes);
            assert_close(takes(ours), takes(theirs), &format!("{bytes} bytes from {from} to {to}"));
        }
    }
}

fn table(rows: &[(u64, f64)]) -> String {
    let rows: Vec<String> = rows.iter().map(|(bytes, seconds)| format!("[{bytes}, {seconds:e}]")).collect();
    format!("[{}]", rows.join(", "))
}

/// Nodes 0 … k−1 in cluster A, the others in B; `links` is the rest of the file.
fn two_clusters(a: usize, b: usize, wan: &str, links: &str) -> Platform {
    let node =
        |cluster: &str, index: usize| format!(r#"{{"id": "{cluster}{index}", "cluster": "{cluster}"}}"#);
    let nodes: Vec<String> = (0..a).map(|i| node("A", i)).chain((0..b).map(|i| node("B", i))).collect();
    let names = |cluster: &str, count: usize| {
        (0..count).map(|i| format!("\"{cluster}{i}\"")).collect::<Vec<_>>().join(", ")
    };
    // A bends twice: at 3,000 bytes, where g(m) jumps, and at 200,000, from where on a byte costs more.
    let bent = table(&[(1, 8e-6), (2900, 2.6e-5), (3100, 5e-5), (200_000, 1.62e-3), (8_000_000, 0.095)]);
    let straight = table(&[(1, 1e-5), (8_000_000, 0.064)]);
    truth(&format!(
        r#"{{"format": "broadleaf-platform/1", "name": "truth", "port_model": "one-port",
            "nodes": [{}],
            "meshes": [{{"nodes": [{}], "link": {{"latency_s": 4e-5, "gap": {bent},
                         "os": [[1, 1e-6], [1000000, 1e-4]], "or": [[1, 2e-6], [1000000, 3e-4]]}}}},
                       {{"nodes": [{}], "link": {{"latency_s": 9e-5, "gap": {straight}}}}}],
            {wan} {links}}}"#,
        nodes.join(", "),
        names("A", a),
        names("B", b),
    ))
}

const FREE_WAN: &str = r#""bridges": [{"from_cluster": "A", "to_cluster": "B", "both_ways": true,
    "link": {"latency_s": 5e-3, "startup_s": 1.5e-5, "bandwidth_bytes_per_s": 1e8}}]"#;

#[test]
fn clusters_tables_and_overheads_are_recovered() {
    for seed in 1..=5 {
        let mut network = FakeNetwork::new(two_clusters(5, 4, FREE_WAN, ""));
        (network.noise, network.random) = (0.002, seed);
        network.rendezvous_bytes = 65536;
        let found = measured(&mut network);
        let sizes: Vec<usize> = found.clusters().iter().map(|cluster| cluster.members.len()).collect();
        assert_eq!(sizes, [5, 4]);
        assert!(found.shared().is_empty() && found.explicit_links().is_empty());
        assert_eq!((found.meshes().len(), found.bridges().len()), (2, 2));
        for (from, to) in [(0, 1), (3, 2), (5, 8), (0, 5), (8, 4)] {
            assert_same_link(&found, &network.truth, from, to);
        }
        let overheads = class(&found, 0, 1);
        assert_close(overheads.send_overhead.as_ref().unwrap().seconds(500_000), 5.05e-5, "os");
        assert_close(overheads.receive_overhead.as_ref().unwrap().seconds(500_000), 1.51e-4, "or");
        assert_eq!(found.node(NodeId(0)).host(), "A0");
    }
}

#[test]
fn sizes_are_added_where_g_bends_and_only_there() {
    let mut network = FakeNetwork::new(two_clusters(2, 2, FREE_WAN, ""));
    let found = measured(&mut network);
    let sizes = |from, to| match &class(&found, from, to).time {
        TransferTime::Gap(gap) => gap.rows().iter().map(|row| row.0).collect::<Vec<u64>>(),
        other => panic!("{other:?}"),
    };
    let doubled: Vec<u64> = std::iter::once(1).chain((10..=22).map(|power| 1 << power)).collect();
    assert_eq!(sizes(2, 3), doubled, "a straight gap needs no more");
    let added: Vec<u64> = sizes(0, 1).into_iter().filter(|size| !doubled.contains(size)).collect();
    assert!(added.iter().any(|size| (2048..4096).contains(size)), "the jump at 3,000 bytes: {added:?}");
    assert!(added.iter().any(|size| (131_072..262_144).contains(size)), "the kink at 200,000: {added:?}");
    assert!(added.len() <= 10, "{added:?}");
}

#[test]
fn a_spread_is_kept_at_every_size() {
    let mut network = FakeNetwork::new(two_clusters(3, 1, FREE_WAN, ""));
    network.noise = 0.01;
    let found = measured(&mut network);
    let class = class(&found, 0, 2);
    let spread = class.spread.as_ref().expect("a spread");
    let TransferTime::Gap(gap) = &class.time else { panic!("no gap table") };
    assert_eq!(spread.rows().len(), gap.rows().len());
    // Delays are uniform in 0 … 2 % with few exceptions, so half of the samples lie within about 1 %.
    assert!((0.002..0.05).contains(&spread.seconds(4 << 20)), "{spread:?}");
}

fn piped_wan(there: f64, back: f64) -> String {
    format!(
        r#""shared": [{{"id": "there", "bandwidth_bytes_per_s": {there:e}}}, {{"id": "back", "bandwidth_bytes_per_s": {back:e}}}],
           "bridges": [{{"from_cluster": "A", "to_cluster": "B", "link":
                         {{"latency_s": 5e-3, "startup_s": 2e-5, "bandwidth_bytes_per_s": 1e8, "uses": ["there"]}}}},
                       {{"from_cluster": "B", "to_cluster": "A", "link":
                         {{"latency_s": 5e-3, "bandwidth_bytes_per_s": 1e8, "uses": ["back"]}}}}]"#
    )
}

#[test]
fn a_shared_pipe_is_found_with_its_total() {
    // There: two and a half pairs' worth, seen with four pairs only. Back: no limit for four.
    let mut network = FakeNetwork::new(two_clusters(5, 4, &piped_wan(2.5e8, 1e9), ""));
    network.noise = 0.005;
    let found = measured(&mut network);
    assert_eq!(found.shared().len(), 1, "{:?}", found.shared());
    assert_eq!(found.shared()[0].id, "c0-to-c1");
    assert_close(found.shared()[0].bandwidth_bytes_per_s, 2.5e8, "pipe");
    assert_eq!((class(&found, 0, 5).uses.len(), class(&found, 5, 0).uses.len()), (1, 0));
    assert_same_link(&found, &network.truth, 0, 5);
}

#[test]
fn a_pipe_that_takes_many_pairs_to_fill_is_found() {
    // There: five and a half pairs' worth, seen with the eight that there are. Back: no limit for them.
    let mut network = FakeNetwork::new(two_clusters(9, 8, &piped_wan(5.5e8, 1e9), ""));
    network.noise = 0.005;
    let found = measured(&mut network);
    assert_eq!(found.shared().len(), 1, "{:?}", found.shared());
    assert_eq!(found.shared()[0].id, "c0-to-c1");
    assert_close(found.shared()[0].bandwidth_bytes_per_s, 5.5e8, "pipe");
}

/// The bytes in flight are a hundred times those of a burst: the pairs wait for answers most of the time.
#[test]
fn a_long_and_wide_pipe_is_found_with_its_total() {
    let wan = r#""shared": [{"id": "wan", "bandwidth_bytes_per_s": 2e9}],
        "bridges": [{"from_cluster": "A", "to_cluster": "B", "link":
                     {"latency_s": 0.1, "bandwidth_bytes_per_s": 1e9, "uses": ["wan"]}},
                    {"from_cluster": "B", "to_cluster": "A", "link":
                     {"latency_s": 0.1, "bandwidth_bytes_per_s": 1e9}}]"#;
    let found = measured(&mut FakeNetwork::new(two_clusters(4, 4, wan, "")));
    assert_eq!(found.shared().len(), 1, "{:?}", found.shared());
    assert_close(found.shared()[0].bandwidth_bytes_per_s, 2e9, "pipe");
}

#[test]
fn a_pipe_that_one_pair_fills_is_found_and_the_directions_are_two() {
    let mut network = FakeNetwork::new(two_clusters(4, 4, &piped_wan(4e7, 6e7), ""));
    network.noise = 0.005;
    let found = measured(&mut network);
    let pipes: Vec<(&str, f64)> =
        found.shared().iter().map(|pipe| (pipe.id.as_str(), pipe.bandwidth_bytes_per_s)).collect();
    assert_eq!(pipes.len(), 2, "{pipes:?}");
    assert_eq!((pipes[0].0, pipes[1].0), ("c0-to-c1", "c1-to-c0"));
    assert_close(pipes[0].1, 4e7, "there");
    assert_close(pipes[1].1, 6e7, "back");
}

#[test]
fn a_half_duplex_pipe_is_one_resource() {
    let wan = r#""shared": [{"id": "wan", "bandwidth_bytes_per_s": 1.5e8}],
        "bridges": [{"from_cluster": "A", "to_cluster": "B", "both_ways": true, "link":
                     {"latency_s": 5e-3, "bandwidth_bytes_per_s": 1e8, "uses": ["wan"]}}]"#;
    let mut network = FakeNetwork::new(two_clusters(4, 5, wan, ""));
    network.noise = 0.005;
    let found = measured(&mut network);
    assert_eq!(found.shared().len(), 1, "{:?}", found.shared());
    assert_eq!(found.shared()[0].id, "c0-c1");
    assert_close(found.shared()[0].bandwidth_bytes_per_s, 1.5e8, "pipe");
    assert_eq!(class(&found, 0, 4).uses, class(&found, 4, 0).uses);
}

#[test]
fn slower_pairs_of_equal_latency_get_links_of_their_own() {
    let slow = r#", "links": [
        {"from": "A0", "to": "A3", "latency_s": 4e-5, "bandwidth_bytes_per_s": 2e7, "startup_s": 8e-6},
        {"from": "A2", "to": "A1", "latency_s": 4e-5, "bandwidth_bytes_per_s": 5e6, "startup_s": 8e-6}]"#;
    let mut network = FakeNetwork::new(two_clusters(5, 1, FREE_WAN, slow));
    network.noise = 0.005;
    let found = measured(&mut network);
    let links: Vec<(u32, u32)> = found.explicit_links().iter().map(|link| (link.from.0, link.to.0)).collect();
    assert_eq!(links, [(0, 3), (2, 1)]);
    for (from, to) in [(0, 3), (2, 1), (3, 0), (1, 2), (4, 0)] {
        assert_same_link(&found, &network.truth, from, to);
    }
}

/// Eight ranks on one machine of two processors, whose total rate is that of two pairs.
fn one_machine(ranks: usize) -> FakeNetwork {
    let nodes: Vec<String> = (0..ranks).map(|i| format!(r#"{{"id": "n{i}", "host": "here"}}"#)).collect();
    let names: Vec<String> = (0..ranks).map(|i| format!("\"n{i}\"")).collect();
    let platform = truth(&format!(
        r#"{{"format": "broadleaf-platform/1", "name": "truth", "port_model": "one-port", "nodes": [{}],
            "shared": [{{"id": "memory", "bandwidth_bytes_per_s": 6e9}}],
            "meshes": [{{"nodes": [{}], "link": {{"latency_s": 3e-7, "startup_s": 2e-7,
                         "bandwidth_bytes_per_s": 4e9, "uses": ["memory"]}}}}]}}"#,
        nodes.join(", "),
        names.join(", "),
    ));
    let mut network = FakeNetwork::new(platform);
    network.hosts.iter_mut().for_each(|rank| rank.cores = 2);
    network
}

#[test]
fn ranks_of_one_machine_are_one_cluster_with_its_memory_as_a_pipe() {
    let mut network = one_machine(8);
    network.noise = 0.05;
    let found = measured(&mut network);
    assert_eq!(found.clusters().len(), 1);
    assert!(found.explicit_links().is_empty(), "noise must not make links");
    assert_eq!(
        found.ids().as_slice(),
        ["here-0", "here-1", "here-2", "here-3", "here-4", "here-5", "here-6", "here-7"]
    );
    assert_eq!(found.shared()[0].id, "inside-here");
    // A noise of 5 % delays by 5 % on average.
    assert!((5.2e9..6.1e9).contains(&found.shared()[0].bandwidth_bytes_per_s), "{:?}", found.shared());
    assert_eq!(class(&found, 3, 4).uses.len(), 1);
    let alone = |pair: &(u32, u32)| &network.seen[&(NodeId(pair.0), NodeId(pair.1))];
    assert!(alone(&(0, 7)).iter().all(|&tasks| tasks == 1), "pairs of a machine are measured one at a time");
}

#[test]
fn pairs_of_a_switch_are_measured_together_and_those_of_a_hub_one_at_a_time() {
    let mut network = FakeNetwork::new(two_clusters(6, 1, FREE_WAN, ""));
    let switched = measured(&mut network);
    assert!(switched.shared().is_empty());
    assert!(network.seen.iter().any(|((from, to), tasks)| from.0 < 6 && to.0 < 6 && tasks.contains(&3)));

    let hub = r#""shared": [{"id": "hub", "bandwidth_bytes_per_s": 1.3e8}],
        "meshes": [{"nodes": ["A0", "A1", "A2", "A3"], "link":
                    {"latency_s": 4e-5, "bandwidth_bytes_per_s": 1e8, "uses": ["hub"]}}]"#;
    let names: Vec<String> = (0..4).map(|i| format!(r#"{{"id": "A{i}"}}"#)).collect();
    let document = format!(
        r#"{{"format": "broadleaf-platform/1", "name": "hub", "port_model": "one-port", "nodes": [{}], {hub}}}"#,
        names.join(", ")
    );
    let mut network = FakeNetwork::new(truth(&document));
    let found = measured(&mut network);
    assert_eq!(found.shared()[0].id, "inside-c0");
    assert_close(found.shared()[0].bandwidth_bytes_per_s, 1.3e8, "hub");
    assert_same_link(&found, &network.truth, 2, 1);
}

#[test]
fn in_a_large_cluster_a_slow_node_is_found_from_a_few_rounds() {
    let names: Vec<String> = (0..40).map(|i| format!("\"n{i}\"")).collect();
    let nodes: Vec<String> = names.iter().map(|name| format!(r#"{{"id": {name}}}"#)).collect();
    // Node 7 sends at a fifth of the others' rate.
    let slow: Vec<String> = names
        .iter()
        .filter(|name| *name != "\"n7\"")
        .map(|name| {
            format!(r#"{{"from": "n7", "to": {name}, "latency_s": 4e-5, "bandwidth_bytes_per_s": 2e7}}"#)
        })
        .collect();
    let document = format!(
        r#"{{"format": "broadleaf-platform/1", "name": "t", "port_model": "one-port", "nodes": [{}],
            "meshes": [{{"nodes": [{}], "link": {{"latency_s": 4e-5, "bandwidth_bytes_per_s": 1e8}}}}],
            "links": [{}]}}"#,
        nodes.join(", "),
        names.join(", "),
        slow.join(", "),
    );
    let mut network = FakeNetwork::new(truth(&document));
    network.noise = 0.005;
    let found = network.measure(&mut Probe::new(&network.hosts, ProbeSettings::new("large")).unwrap());
    assert_eq!(found.explicit_links().len(), 39);
    assert!(found.explicit_links().iter().all(|link| link.from == NodeId(7)));
    for other in [0, 6, 8, 39] {
        let seconds = class(&found, 7, other).time.seconds(1 << 20);
        assert_close(seconds, f64::from(1 << 20) / 2e7, "slow sender");
        let seconds = class(&found, other, 7).time.seconds(1 << 20);
        assert_close(seconds, f64::from(1 << 20) / 1e8, "slow sender receiving");
    }
    assert!(network.now_s < 120.0, "{} s are more than the usual time for 40 machines", network.now_s);
}

#[test]
fn when_time_is_short_the_needed_tables_are_still_there() {
    let mut network = FakeNetwork::new(two_clusters(6, 6, FREE_WAN, ""));
    let mut probe =
        Probe::new(&network.hosts, ProbeSettings { budget_s: Some(0.05), ..ProbeSettings::new("hurry") })
            .unwrap();
    let found = network.measure(&mut probe);
    for (from, to) in [(0, 1), (4, 2), (7, 11), (2, 9), (9, 2)] {
        let ratio = class(&found, from, to).time.seconds(1 << 20)
            / class(&network.truth, from, to).time.seconds(1 << 20);
        // Extrapolated from 256 KiB, just behind a kink in cluster A.
        assert!((0.7..1.2).contains(&ratio), "{from} to {to}: {ratio}");
    }
    let unhurried = {
        measured(&mut network);
        network.rounds
    };
    assert!(network.rounds <= unhurried);
    assert_eq!(probe.shortfalls(), ["the search for shared pipes in 2 places"]);
}

#[test]
fn one_node_and_two() {
    let mut network = one_machine(1);
    let found = measured(&mut network);
    assert_eq!((found.node_count(), network.rounds), (1, 0));
    assert_eq!(found.ids()[0], "here");
    let mut network = one_machine(2);
    let found = measured(&mut network);
    assert_same_link(&found, &network.truth, 1, 0);
}

#[test]
fn the_same_samples_give_the_same_platform() {
    let run = || {
        let mut network = one_machine(6);
        network.noise = 0.02;
        measured(&mut network).digest().to_string()
    };
    assert_eq!(run(), run());
}

/// A gap table that is not monotone stays as it is where the fall is real.
#[test]
fn a_real_fall_of_the_gap_is_kept() {
    let falling = GapTable::new(vec![(1, 1e-5), (65_000, 1e-3), (66_000, 4e-4), (8_000_000, 0.05)]);
    let document = format!(
        r#"{{"format": "broadleaf-platform/1", "name": "t", "port_model": "one-port",
            "nodes": [{{"id": "a"}}, {{"id": "b"}}],
            "links": [{{"from": "a", "to": "b", "both_ways": true, "latency_s": 4e-5, "gap": {}}}]}}"#,
        table(falling.rows())
    );
    let mut network = FakeNetwork::new(truth(&document));
    network.noise = 0.005;
    let found = measured(&mut network);
    let TransferTime::Gap(gap) = &class(&found, 0, 1).time else { panic!("no gap table") };
    assert!(gap.rows().windows(2).any(|rows| rows[1].1 < 0.7 * rows[0].1), "{gap:?}");
}
