//! Platforms small enough to check every planner, one for each feature of platforms.

use broadleaf::platform::{Platform, PortModel};
use serde_json::{json, Value};

/// One of each kind under a port model.
pub fn small_platforms(model: PortModel) -> Vec<Platform> {
    let mut platforms: Vec<Platform> = [1, 2, 3, 7, 8].into_iter().map(|count| mesh(model, count)).collect();
    platforms.extend([
        two_clusters(model),
        ring(model),
        star(model),
        gaps(model),
        two_switches(model),
        clusters_as_nodes(model),
        one_way(model),
    ]);
    platforms
}

fn build(name: &str, model: PortModel, more: Value) -> Platform {
    let mut document = json!({"format": "broadleaf-platform/1", "name": name, "port_model": model.name()});
    for (field, value) in more.as_object().unwrap() {
        document[field] = value.clone();
    }
    Platform::from_json(&document.to_string()).unwrap_or_else(|fault| panic!("{name}: {fault}"))
}

fn hosts(ids: &[String]) -> Vec<Value> {
    ids.iter().map(|id| json!({"id": id})).collect()
}

fn named(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|index| format!("{prefix}{index}")).collect()
}

/// All alike.
pub fn mesh(model: PortModel, count: usize) -> Platform {
    let ids = named("n", count);
    let link = json!({"latency_s": 2e-4, "startup_s": 3e-5, "bandwidth_bytes_per_s": 1e7});
    build(
        &format!("mesh of {count}"),
        model,
        json!({"nodes": hosts(&ids), "meshes": [{"nodes": ids, "link": link}]}),
    )
}

/// Two clusters of two sites and a node of none, over one wide-area pipe.
fn two_clusters(model: PortModel) -> Platform {
    let (a, b) = (named("a", 3), named("b", 4));
    let member = |id: &String, cluster: &str, site: &str| json!({"id": id, "cluster": cluster, "site": site});
    let mut nodes: Vec<Value> = a.iter().map(|id| member(id, "A", "x")).collect();
    nodes.extend(b.iter().map(|id| member(id, "B", "y")));
    nodes.push(json!({"id": "lone"}));
    let near = json!({"latency_s": 5e-5, "bandwidth_bytes_per_s": 1e7});
    let far = json!({"latency_s": 5e-3, "bandwidth_bytes_per_s": 1e6, "uses": ["wan"]});
    build(
        "two clusters",
        model,
        json!({"nodes": nodes, "shared": [{"id": "wan", "bandwidth_bytes_per_s": 1.5e6}],
            "links": [{"from": "b1", "to": "lone", "both_ways": true, "latency_s": 1e-3,
                "bandwidth_bytes_per_s": 2e6}],
            "meshes": [{"nodes": a, "link": near}, {"nodes": b, "link": near}],
            "bridges": [{"from_cluster": "A", "to_cluster": "B", "both_ways": true, "link": far}]}),
    )
}

/// Links to the neighbours only, of different speeds, one of them in one direction.
fn ring(model: PortModel) -> Platform {
    let ids = named("n", 5);
    let link = |from: usize, to: usize, both_ways: bool| {
        json!({"from": ids[from], "to": ids[to], "both_ways": both_ways, "latency_s": 1e-4 * (1 + from) as f64,
            "bandwidth_bytes_per_s": 1e6 * (1 + to) as f64})
    };
    let links = [link(0, 1, true), link(1, 2, true), link(2, 3, true), link(3, 4, true), link(4, 0, false)];
    build("ring", model, json!({"nodes": hosts(&ids), "links": links}))
}

/// Two hosts that only receive.
fn one_way(model: PortModel) -> Platform {
    let ids = named("n", 5);
    let link = |from: usize, to: usize, both_ways: bool| {
        json!({"from": ids[from], "to": ids[to], "both_ways": both_ways, "latency_s": 1e-4,
            "bandwidth_bytes_per_s": 1e6})
    };
    let links = [link(0, 1, true), link(1, 2, true), link(0, 3, false), link(2, 4, false)];
    build("one way", model, json!({"nodes": hosts(&ids), "links": links}))
}

/// Hosts of different speeds around a switch.
fn star(model: PortModel) -> Platform {
    let ids = named("n", 4);
    let mut nodes: Vec<Value> = ids
        .iter()
        .enumerate()
        .map(|(index, id)| json!({"id": id, "out_bytes_per_s": 2e6 * (1 + index) as f64, "in_bytes_per_s": 4e6}))
        .collect();
    nodes.insert(1, json!({"id": "sw", "kind": "switch"}));
    let links: Vec<Value> = ids
        .iter()
        .enumerate()
        .map(|(index, id)| {
            json!({"from": id, "to": "sw", "both_ways": true, "latency_s": 1e-4,
                "bandwidth_bytes_per_s": 1e6 * (1 + index) as f64})
        })
        .collect();
    build("star", model, json!({"nodes": nodes, "links": links}))
}

/// Measured tables, a step in one of them, and a link that overrides the mesh.
fn gaps(model: PortModel) -> Platform {
    let ids = named("n", 4);
    let link =
        json!({"latency_s": 1e-4, "gap": [[1, 2e-5], [64, 3e-5], [65, 2e-4], [1024, 6e-4], [4096, 2e-3]]});
    let slow = json!({"from": "n0", "to": "n1", "latency_s": 1e-3, "gap": [[1, 1e-3]]});
    let parts = json!({"from": "n0", "to": "n2", "both_ways": true, "startup_s": 1e-5, "latency_s": 1e-4,
        "bandwidth_bytes_per_s": 1e7, "send_startup_s": 2e-6, "send_s_per_byte": 3e-8, "recv_startup_s": 1e-6,
        "recv_s_per_byte": 2e-7});
    build(
        "gaps",
        model,
        json!({"nodes": hosts(&ids), "links": [slow, parts], "meshes": [{"nodes": ids, "link": link}]}),
    )
}

/// Two switches with a trunk that all traffic between them shares.
fn two_switches(model: PortModel) -> Platform {
    let (left, right) = (named("l", 2), named("r", 3));
    let mut nodes = vec![json!({"id": "s", "kind": "switch"}), json!({"id": "t", "kind": "switch"})];
    nodes.extend(hosts(&left));
    nodes.extend(hosts(&right));
    let port = |id: &String, switch: &str| json!({"from": id, "to": switch, "both_ways": true, "latency_s": 1e-5, "bandwidth_bytes_per_s": 1e7});
    let mut links: Vec<Value> = left.iter().map(|id| port(id, "s")).collect();
    links.extend(right.iter().map(|id| port(id, "t")));
    links.push(json!({"from": "s", "to": "t", "both_ways": true, "latency_s": 1e-4,
        "bandwidth_bytes_per_s": 1e7, "uses": ["trunk"]}));
    build(
        "two switches",
        model,
        json!({"nodes": nodes, "links": links, "shared": [{"id": "trunk", "bandwidth_bytes_per_s": 4e6}]}),
    )
}

/// Nodes that stand for whole clusters.
fn clusters_as_nodes(model: PortModel) -> Platform {
    let ids = named("c", 5);
    let nodes: Vec<Value> = ids
        .iter()
        .enumerate()
        .map(|(index, id)| json!({"id": id, "cluster": id, "local_broadcast_s": 1e-3 * index as f64}))
        .collect();
    let link = json!({"latency_s": 3e-3, "gap": [[1, 1e-3], [4096, 6e-3]]});
    build("clusters as nodes", model, json!({"nodes": nodes, "meshes": [{"nodes": ids, "link": link}]}))
}
