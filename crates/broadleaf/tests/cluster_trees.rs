//! Plans over clusters of hosts that take turns, stored by their construction.

use broadleaf::budget::Budget;
use broadleaf::plan::{check, Collective, Period, Plan, Programs, Trees};
use broadleaf::planners::{find, plan_with, Instance};
use broadleaf::platform::{NodeId, Platform};
use broadleaf::simulate::simulate;
use serde_json::{json, Value};
use std::sync::Arc;

/// Clusters of those sizes, each joined to the one before and to the root's.
fn network(sizes: &[usize]) -> Platform {
    let members = |cluster: usize| (0..sizes[cluster]).map(move |at| json!(format!("c{cluster}-{at}")));
    let clusters = 0..sizes.len();
    let nodes: Value = clusters
        .clone()
        .flat_map(|at| members(at).map(move |id| json!({"id": id, "cluster": format!("C{at}")})))
        .collect();
    let mesh = |at| json!({"nodes": members(at).collect::<Value>(), "link": {"bandwidth_bytes_per_s": 1e8}});
    let bridge = |from: usize, to: usize| {
        json!({"from_cluster": format!("C{from}"), "to_cluster": format!("C{to}"), "both_ways": true,
            "link": {"latency_s": 1e-3 * to as f64, "bandwidth_bytes_per_s": 3e7}})
    };
    let bridges = (1..sizes.len()).flat_map(|to| match to {
        1 => vec![bridge(0, 1)],
        _ => vec![bridge(0, to), bridge(to - 1, to)],
    });
    let document = json!({"format": "broadleaf-platform/1", "name": "clusters", "port_model": "one-port",
        "nodes": nodes, "meshes": clusters.map(mesh).collect::<Value>(), "bridges": bridges.collect::<Value>()});
    Platform::from_json(&document.to_string()).unwrap()
}

fn planned(platform: &Platform) -> Plan {
    let instance = Instance::new(platform, NodeId(0), 400_000).unwrap().segmented(1000);
    find("gateway-trees").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap()
}

#[test]
fn the_file_holds_the_construction_and_nothing_is_lost() {
    for sizes in [[40, 30, 20, 60, 1, 2], [1, 50, 50, 50, 50, 3], [2, 80, 40, 40, 1, 7]] {
        let platform = network(&sizes);
        let plan = planned(&platform);
        let file = plan.to_file_json();
        assert_eq!(file["pattern"]["name"], "cluster-trees");
        let (stored, whole) = (file.to_string(), plan.to_json().to_string());
        assert!(10 * stored.len() < whole.len(), "{} of {} bytes", stored.len(), whole.len());
        let read = Plan::from_json(&stored).unwrap();
        assert_eq!(read.to_json(), Plan::from_json(&whole).unwrap().bind(&platform).unwrap().to_json());
        let bound = read.bind(&platform).unwrap();
        assert!(bound == plan && bound.trees[..] == plan.trees[..]);
        assert_eq!(bound.to_file_json().to_string(), stored);
        assert!(check::faults(&platform, &read).is_empty());
        let found_s = simulate(&platform, &read, false).unwrap().makespan_s;
        assert_eq!(found_s, simulate(&platform, &plan, false).unwrap().makespan_s);
    }
}

/// A reduction has the same trees; the two ways of an all-reduce are listed, and so are trees with a timetable.
#[test]
fn files_of_other_collectives_can_be_read() {
    let platform = network(&[40, 30, 20, 60, 1, 2]);
    for (collective, is_stored) in [(Collective::Reduce, true), (Collective::Allreduce, false)] {
        let instance = Instance::new(&platform, NodeId(0), 400_000).unwrap().segmented(1000);
        let instance = Instance { collective, ..instance };
        let plan = plan_with(find("gateway-trees").unwrap(), &instance, &Budget::UNLIMITED).unwrap();
        assert!(plan.trees.clusters().is_some());
        let file = plan.to_file_json();
        assert_eq!(file.get("pattern").is_some(), is_stored, "{collective}");
        let read = Plan::from_json(&file.to_string()).unwrap();
        assert!(check::faults(&platform, &read).is_empty());
        assert!(read.bind(&platform).unwrap() == plan, "{collective}");
        let listed = Plan { trees: Trees::from(plan.trees.to_vec()), ..plan.clone() };
        let [own, listed] = [plan, listed].map(|plan| Programs::for_ranks(Arc::new(plan.into())));
        assert_eq!(own.node(NodeId(45)), listed.node(NodeId(45)), "{collective}");
    }
    let period = Period { segments: 1, slots: Vec::new() };
    let timed = Plan { period: Some(period), ..planned(&platform) };
    assert!(timed.to_file_json().get("pattern").is_none());
}

/// One cluster, clusters of one host, and the root alone in its cluster, in files of other hands.
#[test]
fn the_smallest_clusters_have_valid_trees() {
    for (clusters, insides, from) in [
        (json!([["a", "b", "c"]]), json!([[[0, 1]]]), json!([])),
        (json!([["a"]]), json!([[]]), json!([])),
        (json!([["a"], ["b"], ["c"]]), json!([[]]), json!([0, 1])),
        (json!([["a"], ["b", "c"]]), json!([[], [[0, 1]]]), json!([0])),
        (json!([["a", "b"], ["c"]]), json!([[]]), json!([0])),
    ] {
        let places = |hosts: &Value, at: usize| hosts.as_array().unwrap().len() - usize::from(at == 0);
        let lengths: Vec<usize> =
            insides.as_array().unwrap().iter().map(|inside| inside.as_array().unwrap().len() + 1).collect();
        let inside = |at: usize, hosts: &Value| {
            lengths.iter().position(|&length| length == places(hosts, at).max(1)).unwrap()
        };
        let listed: Vec<Value> = clusters.as_array().unwrap().clone();
        let clusters: Value = (0..)
            .zip(&listed)
            .map(|(at, hosts)| json!({"hosts": hosts, "inside": inside(at, hosts)}))
            .collect();
        let tree = json!({"from": from, "place": vec![0; listed.len() - 1]});
        let ids: Vec<&str> =
            listed.iter().flat_map(|hosts| hosts.as_array().unwrap()).filter_map(Value::as_str).collect();
        let document = json!({"format": "broadleaf-plan/1", "root": "a", "message_bytes": 12, "segment_bytes": 1,
            "pattern": {"name": "cluster-trees", "clusters": clusters, "insides": insides, "trees": [tree, tree, tree]}});
        let nodes: Value = ids.iter().map(|id| json!({"id": id})).collect();
        let platform = json!({"format": "broadleaf-platform/1", "name": "one mesh", "port_model": "one-port",
            "nodes": nodes, "meshes": [{"nodes": ids, "link": {"bandwidth_bytes_per_s": 1}}]});
        let platform = Platform::from_json(&platform.to_string()).unwrap();
        let plan = Plan::from_json(&document.to_string()).unwrap();
        assert_eq!(check::faults(&platform, &plan), Vec::<String>::new(), "{document}");
        assert!(
            simulate(&platform, &plan, false).unwrap().makespan_s >= if ids.len() > 1 { 12.0 } else { 0.0 }
        );
        let listed = Plan { trees: Trees::from(plan.trees.to_vec()), ..plan.clone() };
        let [own, listed] = [plan, listed].map(|plan| Programs::for_ranks(Arc::new(plan.into())));
        for rank in (0..ids.len() as u32).map(NodeId) {
            assert_eq!(own.node(rank), listed.node(rank), "{document}");
        }
    }
}

/// The hosts of a file need not be the platform's.
#[test]
fn hosts_that_the_platform_does_not_have_and_hosts_that_are_left_out_are_faults() {
    let platform = network(&[40, 30, 20, 60, 1, 2]);
    let mut file = planned(&platform).to_file_json();
    file["pattern"]["clusters"][1]["hosts"][3] = json!("nobody");
    let plan = Plan::from_json(&file.to_string()).unwrap();
    assert_eq!(check::faults(&platform, &plan)[0], "unknown node \"nobody\"");
    let larger = network(&[40, 30, 20, 60, 1, 3]);
    file["pattern"]["clusters"][1]["hosts"][3] = json!("c1-3");
    file["platform_digest"] = json!("");
    let plan = Plan::from_json(&file.to_string()).unwrap();
    let faults = check::faults(&larger, &plan);
    assert!(faults[0].ends_with("\"c5-2\" never gets the message"), "{faults:?}");
}

#[test]
fn a_rank_has_the_same_program_with_and_without_the_list() {
    for sizes in [[40, 30, 20, 60, 1, 2], [1, 5, 5, 5, 5, 3], [2, 3, 4, 4, 1, 7]] {
        let plan = planned(&network(&sizes));
        assert!(plan.trees.clusters().is_some());
        let listed = Plan { trees: Trees::from(plan.trees.to_vec()), ..plan.clone() };
        assert!(listed.trees.clusters().is_none() && listed == plan);
        let [own, listed] = [plan, listed].map(|plan| Programs::for_ranks(Arc::new(plan.into())));
        for rank in (0..own.node_count() as u32).map(NodeId) {
            assert_eq!(own.node(rank), listed.node(rank), "{rank:?} of {sizes:?}");
        }
        assert_eq!(own.segments(), listed.segments());
    }
}

/// A tree that is changed is no longer the construction's.
#[test]
fn changed_trees_are_written_out() {
    let mut plan = planned(&network(&[40, 30, 20, 60, 1, 2]));
    plan.trees[0].share *= 1.0;
    assert!(plan.trees.clusters().is_none());
    assert!(plan.to_file_json().get("pattern").is_none());
}

fn refusal(path: &[&str], value: Value) -> String {
    let mut document = json!({"format": "broadleaf-plan/1", "root": "a", "message_bytes": 10, "segment_bytes": 1,
        "pattern": {"name": "cluster-trees",
            "clusters": [{"hosts": ["a", "b", "c"], "inside": 0}, {"hosts": ["d", "e"], "inside": 0},
                {"hosts": ["f"], "inside": 1}],
            "insides": [[[0, 1]], []],
            "trees": [{"from": [0, 1], "place": [1, 0]}, {"from": [2, 0], "place": [0, 0]}]}});
    let read = Plan::from_json(&document.to_string()).unwrap();
    assert_eq!((read.trees.len(), read.trees[0].children(NodeId(0))), (2, &[NodeId(1)][..]));
    let place = path.iter().fold(&mut document, |place, step| match step.parse::<usize>() {
        Ok(index) => &mut place[index],
        Err(_) => &mut place[*step],
    });
    *place = value;
    let fault = Plan::from_json(&document.to_string()).unwrap_err();
    let line = fault.to_string();
    assert!(!line.contains('\n') && !fault.remedy.is_empty(), "{line}");
    line
}

#[test]
fn bad_constructions_are_refused_in_one_line() {
    let many: Value = (0..100_000).map(|_| json!({"from": [0, 0], "place": [0, 0]})).collect();
    let hosts: Value = (0..200).map(|at| json!(format!("n{at}"))).collect();
    for (path, value, place, fact) in [
        (vec!["collective"], json!("scatter"), "$.pattern", "in a plan for scatter"),
        (vec!["pattern", "name"], json!("rings"), "$.pattern.name", "unknown pattern"),
        (vec!["pattern", "clusters"], json!([]), "$.pattern.clusters", "no clusters"),
        (
            vec!["pattern", "clusters", "1", "hosts"],
            json!(["d", "a"]),
            "clusters[1].hosts[1]",
            "stands twice",
        ),
        (vec!["pattern", "clusters", "1", "hosts"], json!([]), "clusters[1].hosts", "without hosts"),
        (
            vec!["pattern", "clusters", "0", "hosts", "0"],
            json!("z"),
            "clusters[0].hosts",
            "not the plan's root",
        ),
        (vec!["pattern", "clusters", "1", "inside"], json!(1), "clusters[1].inside", "1 places for 2 hosts"),
        (vec!["pattern", "clusters", "1", "inside"], json!(7), "clusters[1].inside", "inner tree 7 of 2"),
        (vec!["pattern", "insides", "0"], json!([[1, 0]]), "insides[0][0]", "place 1 sends before"),
        (vec!["pattern", "insides", "0"], json!([[0, 2]]), "insides[0][0]", "place 2 of 2"),
        (vec!["pattern", "insides", "0"], json!([[0, 0]]), "insides[0][0]", "place 0 of 2"),
        (vec!["pattern", "insides", "0"], json!([[0]]), "insides[0][0]", "1 values"),
        (vec!["pattern", "trees"], json!([]), "$.pattern.trees", "0 trees"),
        (vec!["pattern", "trees", "0", "from"], json!([0]), "trees[0].from", "1 entries for 3 clusters"),
        (vec!["pattern", "trees", "0", "from"], json!([0, 3]), "trees[0].from[1]", "cluster 3 of 3"),
        (vec!["pattern", "trees", "0", "from"], json!([0, -1]), "trees[0].from[1]", "whole number"),
        (vec!["pattern", "trees", "1", "from"], json!([2, 1]), "trees[1].from", "cycle"),
        (vec!["pattern", "trees", "0", "from"], json!([1, 1]), "trees[0].from", "cycle"),
        (vec!["pattern", "trees", "0", "place"], json!([2, 0]), "trees[0].place[0]", "place 2 among 2"),
        (vec!["pattern", "trees", "0", "place"], json!([1, 4294967296u64]), "trees[0].place[1]", "too large"),
        (
            vec!["pattern"],
            json!({"name": "cluster-trees", "clusters": [{"hosts": ["a"], "inside": 0},
                {"hosts": hosts, "inside": 1}, {"hosts": ["f"], "inside": 0}],
                "insides": [[], (1..200).map(|at| json!([0, at])).collect::<Value>()], "trees": many}),
            "$.pattern.trees",
            "100000 trees of 202 hosts",
        ),
    ] {
        let line = refusal(&path, value);
        assert!(line.contains(place) && line.contains(fact), "{line}");
    }
}
