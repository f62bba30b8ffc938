//! Trees between sites that divide the pipes (`site-packing`).

use broadleaf::budget::Budget;
use broadleaf::plan::{check, Collective};
use broadleaf::planners::{find, plan_with, Instance};
use broadleaf::platform::{NodeId, Platform};
use std::collections::BTreeMap;

/// Four sites of eight hosts, between each two a pipe each way that is much slower than a port. A tree of three hops takes
/// three of the twelve pipes each way, so a fourth of the message through each is the least.
#[test]
fn packed_trees_divide_equal_pipes() {
    let platform = sites_of_eight(|_, _| 10.0);
    for carried in carried_each_way(&platform) {
        assert_eq!(carried.len(), 12);
        carried.values().for_each(|share| assert!((0.1..=0.3126).contains(share), "{carried:?}"));
    }
}

/// The same with one pipe of a tenth of the rate, from site 0 to site 1. All other ways are one hop, so the trees that do not
/// need the pipe, on either way, are the stars from sites 2 and 3: half of the message through each of their pipes.
#[test]
fn packed_trees_go_around_a_slow_pipe() {
    let platform = sites_of_eight(|from, to| if (from, to) == (0, 1) { 1.0 } else { 10.0 });
    for carried in carried_each_way(&platform) {
        assert!(!carried.contains_key(&[0, 1]), "{carried:?}");
        carried.values().for_each(|share| assert!((share - 0.5).abs() < 1e-9, "{carried:?}"));
    }
}

/// Some heads hand a segment on to other sites, too. No host has more children than another of
/// its site by more than two heads have, and segments, which take the trees in turn, do not meet the same head twice.
#[test]
fn hosts_of_a_site_share_the_work_of_heads() {
    let platform = sites_of_eight(|_, _| 10.0);
    let plan = plan_with(find("site-packing").unwrap(), &allreduce(&platform), &Budget::UNLIMITED).unwrap();
    let site_of = |node: NodeId| node.index() / 8;
    let (mut children, mut most, mut last_heads) = ([0_usize; 32], 0, [usize::MAX; 4]);
    for tree in &plan.trees {
        let mut heads = [0; 4];
        let mut of_tree = [0_usize; 32];
        let root = tree.root.unwrap();
        heads[site_of(root)] = root.index();
        for (parent, child) in tree.edges() {
            of_tree[parent.index()] += 1;
            if site_of(parent) != site_of(child) {
                heads[site_of(child)] = child.index();
            }
        }
        heads.iter().zip(&last_heads).for_each(|(head, last)| assert_ne!(head, last));
        last_heads = heads;
        most = most.max(*of_tree.iter().max().unwrap());
        children.iter_mut().zip(&of_tree).for_each(|(all, one)| *all += one);
    }
    for site in children.chunks(8) {
        let spread = site.iter().max().unwrap() - site.iter().min().unwrap();
        assert!(spread <= 2 * most, "{children:?}, at most {most} in a tree");
    }
}

/// With eight hosts a cluster's head has three children inside it, and 64 trees give all hosts about as many.
#[test]
fn hosts_of_a_site_share_binomial_trees() {
    let platform = sites_of_eight(|_, _| 10.0);
    let planner = find("site-packing-binomial").unwrap();
    let plan = plan_with(planner, &allreduce(&platform), &Budget::UNLIMITED).unwrap();
    assert_eq!(plan.trees.len(), 64);
    assert_eq!(check::faults(&platform, &plan), [""; 0]);
    let mut children = [0_usize; 32];
    for tree in &plan.trees {
        let mut inside = [0_usize; 32];
        for (parent, child) in tree.edges() {
            children[parent.index()] += 1;
            inside[parent.index()] += usize::from(parent.index() / 8 == child.index() / 8);
        }
        for site in inside.chunks_mut(8) {
            site.sort_unstable();
            assert_eq!(*site, [0, 0, 0, 0, 1, 1, 2, 3]);
        }
    }
    for site in children.chunks(8) {
        let (most, least) = (site.iter().max().unwrap(), site.iter().min().unwrap());
        assert!(most - least <= 6, "{children:?}");
    }
}

#[test]
fn no_tree_is_without_a_segment() {
    let platform = sites_of_eight(|_, _| 10.0);
    let instance = Instance::new(&platform, NodeId(0), 1000).unwrap();
    let instance = Instance { collective: Collective::Allreduce, ..instance };
    for (name, segment_bytes, trees) in
        [("site-packing", 300, 4), ("site-packing-binomial", 100, 10), ("site-packing-binomial", 1, 64)]
    {
        let planned = plan_with(find(name).unwrap(), &instance.segmented(segment_bytes), &Budget::UNLIMITED);
        assert_eq!(planned.unwrap().trees.len(), trees, "{name}");
    }
}

/// Sites that one site reaches only in one direction: no tree goes both ways.
#[test]
fn sites_without_a_way_back_are_not_packed() {
    let text = r#"{"format": "broadleaf-platform/1", "name": "one way", "port_model": "one-port",
        "nodes": [{"id": "a", "cluster": "A"}, {"id": "b", "cluster": "B"}, {"id": "c", "cluster": "C"}],
        "links": [{"from": "a", "to": "b", "both_ways": true, "bandwidth_bytes_per_s": 1},
            {"from": "b", "to": "c", "bandwidth_bytes_per_s": 1}, {"from": "c", "to": "a", "bandwidth_bytes_per_s": 1}]}"#;
    let platform = Platform::from_json(text).unwrap();
    let instance = allreduce(&platform);
    let refused = plan_with(find("site-packing").unwrap(), &instance, &Budget::UNLIMITED).unwrap_err();
    assert!(refused.to_string().contains("no links to each other"), "{refused}");
}

/// A cluster of four hosts and two of one host in a site, and another site. Below the four hosts, the two would each add
/// a quarter of a message to those hosts' ports, which one of them can do for the other. A short message has one hop less
/// if both hang from the four.
#[test]
fn small_clusters_hang_below_each_other_where_ports_are_slower_than_a_hop() {
    let cluster = |name: &str, hosts: usize| {
        let site = if name == "D" { "far" } else { "near" };
        let node = |at: usize| format!(r#"{{"id": "{name}{at}", "cluster": "{name}", "site": "{site}"}}"#);
        (0..hosts).map(node).collect::<Vec<_>>().join(", ")
    };
    let nodes = [("A", 4), ("B", 1), ("C", 1), ("D", 4)].map(|(name, hosts)| cluster(name, hosts)).join(", ");
    let mesh = |name: &str| {
        let link = r#"{"latency_s": 0.01, "bandwidth_bytes_per_s": 1000}"#;
        format!(r#"{{"nodes": ["{name}0", "{name}1", "{name}2", "{name}3"], "link": {link}}}"#)
    };
    let bridge = |(from, to, latency_s): (&str, &str, f64)| {
        let link = format!(r#"{{"latency_s": {latency_s}, "bandwidth_bytes_per_s": 1000}}"#);
        format!(r#"{{"from_cluster": "{from}", "to_cluster": "{to}", "both_ways": true, "link": {link}}}"#)
    };
    let pairs = [
        ("A", "B", 0.6),
        ("A", "C", 0.6),
        ("B", "C", 0.6),
        ("A", "D", 1.0),
        ("B", "D", 1.0),
        ("C", "D", 1.0),
    ];
    let text = format!(
        r#"{{"format": "broadleaf-platform/1", "name": "clusters of one host", "port_model": "one-port",
            "nodes": [{nodes}], "meshes": [{}, {}], "bridges": [{}]}}"#,
        mesh("A"),
        mesh("D"),
        pairs.map(bridge).join(", ")
    );
    let platform = Platform::from_json(&text).unwrap();
    let cluster_of = |node: NodeId| platform.node(node).id.chars().next().unwrap();
    for planner in ["site-trees", "site-packing", "site-packing-binomial"] {
        for (message_bytes, above) in [(4000, 'B'), (1, 'A')] {
            let instance = Instance::new(&platform, NodeId(0), message_bytes).unwrap().segmented(10);
            let instance = Instance { collective: Collective::Allreduce, ..instance };
            let plan = plan_with(find(planner).unwrap(), &instance, &Budget::UNLIMITED).unwrap();
            assert_eq!(check::faults(&platform, &plan), [""; 0]);
            for tree in &plan.trees {
                let (parent, _) = tree.edges().find(|&(_, child)| cluster_of(child) == 'C').unwrap();
                assert_eq!(cluster_of(parent), above, "{planner}, {message_bytes} bytes");
            }
        }
    }
}

/// Four sites; ports and meshes of 1000 bytes/s, and pipes of the rates given.
fn sites_of_eight(rate: impl Fn(usize, usize) -> f64) -> Platform {
    let nodes =
        (0..32).map(|host| format!(r#"{{"id": "h{host}", "cluster": "C{0}", "site": "S{0}"}}"#, host / 8));
    let mesh = |site: usize| {
        let hosts: Vec<String> = (0..8).map(|host| format!(r#""h{}""#, 8 * site + host)).collect();
        format!(r#"{{"nodes": [{}], "link": {{"bandwidth_bytes_per_s": 1000}}}}"#, hosts.join(", "))
    };
    let pairs: Vec<(usize, usize)> =
        (0..4).flat_map(|from| (0..4).filter(move |&to| to != from).map(move |to| (from, to))).collect();
    let pipe = |&(from, to): &(usize, usize)| {
        format!(r#"{{"id": "{from}-{to}", "bandwidth_bytes_per_s": {}}}"#, rate(from, to))
    };
    let bridge = |(from, to): &(usize, usize)| {
        format!(
            r#"{{"from_cluster": "C{from}", "to_cluster": "C{to}",
                "link": {{"bandwidth_bytes_per_s": 1000, "latency_s": 1, "uses": ["{from}-{to}"]}}}}"#
        )
    };
    let list = |items: Vec<String>| items.join(", ");
    let text = format!(
        r#"{{"format": "broadleaf-platform/1", "name": "four sites", "port_model": "one-port", "nodes": [{}],
            "shared": [{}], "meshes": [{}], "bridges": [{}]}}"#,
        list(nodes.collect()),
        list(pairs.iter().map(pipe).collect()),
        list((0..4).map(mesh).collect()),
        list(pairs.iter().map(bridge).collect())
    );
    Platform::from_json(&text).unwrap()
}

fn allreduce(platform: &Platform) -> Instance<'_> {
    let instance = Instance::new(platform, NodeId(0), 4000).unwrap().segmented(10);
    Instance { collective: Collective::Allreduce, ..instance }
}

/// Of `site-packing`'s trees, for the way in and the way out: the part of the message from one site to another, by both.
fn carried_each_way(platform: &Platform) -> [BTreeMap<[usize; 2], f64>; 2] {
    let planner = find("site-packing").unwrap();
    let plan = plan_with(planner, &allreduce(platform), &Budget::UNLIMITED).unwrap();
    assert_eq!(check::faults(platform, &plan), [""; 0]);
    [(true, &plan.inward), (false, &plan.trees)].map(|(is_inward, trees)| {
        let mut carried = BTreeMap::new();
        for tree in trees.iter() {
            for (parent, child) in tree.edges() {
                let (from, to) = if is_inward { (child, parent) } else { (parent, child) };
                let ends = [from, to].map(|node| node.index() / 8);
                if ends[0] != ends[1] {
                    *carried.entry(ends).or_default() += tree.share;
                }
            }
        }
        carried
    })
}
