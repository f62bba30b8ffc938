//! The platforms in `platforms/`, against numbers worked out by hand from their sources.

use broadleaf::platform::{NodeId, Platform, PortModel};
use std::path::Path;

const MESSAGE_BYTES: u64 = 64 << 20;

fn load(name: &str) -> Platform {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../platforms");
    let platform = Platform::load(&folder.join(format!("{name}.json"))).unwrap();
    assert_eq!(platform.name(), name);
    assert_eq!(platform.port_model(), PortModel::OnePort);
    platform
}

fn id(platform: &Platform, id: &str) -> NodeId {
    platform.find(id).unwrap_or_else(|| panic!("no node {id}"))
}

/// Latency (s), seconds for 64 MiB, and the pipes of a link.
fn link<'a>(platform: &'a Platform, from: &str, to: &str) -> (f64, f64, Vec<&'a str>) {
    let class = platform.link(id(platform, from), id(platform, to)).unwrap();
    let uses = &platform.class(class).uses;
    let names = uses.iter().map(|shared| platform.shared()[shared.index()].id.as_str()).collect();
    (platform.class(class).latency_s, platform.transfer_s(class, MESSAGE_BYTES), names)
}

fn pipe_s(platform: &Platform, name: &str) -> f64 {
    let shared = platform.shared().iter().find(|shared| shared.id == name).unwrap();
    MESSAGE_BYTES as f64 / shared.bandwidth_bytes_per_s
}

/// Hosts, clusters, and a direct link for every ordered pair.
fn assert_complete(platform: &Platform, clusters: &[usize]) {
    let sizes: Vec<usize> = platform.clusters().iter().map(|cluster| cluster.members.len()).collect();
    assert_eq!(sizes, clusters);
    assert_eq!(platform.hosts().count(), clusters.iter().sum::<usize>());
    for root in platform.hosts() {
        assert_eq!(platform.unreachable_from(root), []);
        assert_eq!(platform.successors(root).len(), platform.node_count() - 1);
    }
}

#[test]
fn grid5000_has_table_3s_latencies_and_is_limited_by_its_hosts() {
    let platform = load("grid5000-88");
    assert_complete(&platform, &[31, 29, 6, 1, 1, 20]);
    let host_s = 0.536870912; // 2^26 bytes / 125e6 bytes/s
    assert_eq!(link(&platform, "c0-0", "c0-30"), (47.56e-6, host_s, vec![]));
    assert_eq!(link(&platform, "c5-19", "c5-0"), (27.53e-6, host_s, vec![]));
    assert_eq!(link(&platform, "c1-28", "c0-3"), (62.10e-6, host_s, vec!["lan-orsay-down"]));
    assert_eq!(link(&platform, "c2-5", "c3-0"), (60.08e-6, host_s, vec!["lan-idpot-up"]));
    assert_eq!(link(&platform, "c4-0", "c3-0"), (242.47e-6, host_s, vec!["lan-idpot-down"]));
    assert_eq!(link(&platform, "c0-0", "c4-0"), (12197.49e-6, host_s, vec!["wan-orsay-idpot"]));
    assert_eq!(link(&platform, "c4-0", "c1-0"), (12195.22e-6, host_s, vec!["wan-idpot-orsay"]));
    assert_eq!(link(&platform, "c5-0", "c2-0"), (5388.49e-6, host_s, vec!["wan-toulouse-idpot"]));
    assert_eq!(pipe_s(&platform, "wan-orsay-toulouse"), host_s);
    assert_eq!(pipe_s(&platform, "lan-idpot-down"), 0.0536870912);
    assert_eq!(platform.shared().len(), 10, "two LANs and three pairs of sites, each both ways");
}

#[test]
fn teragrid_is_limited_by_the_access_pipe_of_each_site() {
    let platform = load("teragrid-64");
    assert_complete(&platform, &[8; 8]);
    let site = |node: &str| platform.node(id(&platform, node)).site.clone().unwrap();
    assert_eq!(["c1-0", "c2-7", "c8-0"].map(|node| site(node).to_string()), ["sdsc", "sdsc", "psc"]);
    let host_s = 5.36870912; // 2^26 bytes / 12.5e6 bytes/s
    assert_eq!(link(&platform, "c2-0", "c2-1"), (60e-6, host_s, vec![]));
    assert_eq!(link(&platform, "c2-0", "c1-0"), (200e-6, host_s, vec!["lan-sdsc-down"]));
    assert_eq!(link(&platform, "c2-0", "c8-7"), (34.5e-3, host_s, vec!["access-sdsc-out", "access-psc-in"]));
    assert_eq!(pipe_s(&platform, "lan-psc-up"), 2.68435456);
    // Whatever enters a site passes its one access pipe: 2^26 bytes / 5e6 bytes/s.
    assert_eq!(pipe_s(&platform, "access-psc-in"), 13.4217728);
    for from in platform.hosts() {
        for (to, class) in platform.successors(from) {
            let (a, b) = (platform.node(from).site.clone().unwrap(), platform.node(to).site.clone().unwrap());
            let uses = platform.class(class).uses.iter();
            let names: Vec<&str> = uses.map(|pipe| platform.shared()[pipe.index()].id.as_str()).collect();
            let through = [format!("access-{a}-out"), format!("access-{b}-in")];
            assert_eq!(names == through, a != b, "{a} to {b} uses {names:?}");
        }
    }
}

#[test]
fn the_two_switched_clusters_are_complete_and_alike() {
    let cluster = load("cluster-50");
    assert_complete(&cluster, &[50]);
    assert_eq!(link(&cluster, "c0-49", "c0-0"), (60e-6, 5.36870912, vec![]));
    let smp = load("smp-16");
    assert_complete(&smp, &[16]);
    assert_eq!(link(&smp, "c0-0", "c0-15"), (50e-6, 0.536870912, vec![]));
}

#[test]
fn files_stay_small_by_meshes_and_bridges() {
    for name in ["grid5000-88", "teragrid-64", "cluster-50", "smp-16"] {
        let platform = load(name);
        assert!(platform.explicit_links().is_empty(), "{name}");
        let text = platform.to_json().to_string();
        assert!(text.len() < 16_000, "{name}: {} bytes", text.len());
        assert_eq!(Platform::from_json(&text).unwrap().digest(), platform.digest());
    }
}
