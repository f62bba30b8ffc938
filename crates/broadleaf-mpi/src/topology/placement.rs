//! The platform node of each rank, and the part of the platform that a communicator's ranks span.

use crate::smpi;
use broadleaf::json::Fault;
use broadleaf::measure::with_assumed_clusters;
use broadleaf::plan::Collective;
use broadleaf::platform::{
    Bridge, ExplicitLink, LinkClass, Mesh, Node, NodeId, Platform, PlatformBuilder, PortModel, TransferTime,
    HANDLING_S,
};
use std::borrow::Cow;
use std::collections::HashMap;

/// The nodes of one communicator, and the node of each rank.
#[derive(Clone, Debug)]
pub struct Placement {
    pub platform: Platform,
    /// The platform with the cost of handling messages, and with clusters where it names none; plans are made for it.
    pub handled: Platform,
    /// As `handled`, with turns: each message begins when the one before has arrived, on short links.
    pub in_turn: Platform,
    /// The ranks of every node, ascending; none at a switch.
    pub ranks: Vec<Vec<u32>>,
    pub node_of_rank: Vec<NodeId>,
}

/// A host that the platform does not know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no node of platform \"{platform}\" has the host \"{host}\", where rank {rank} runs; add one, or a \"host\" to a node")]
pub struct MissingHost {
    pub platform: String,
    pub host: String,
    pub rank: usize,
}

/// The node of every rank: rank k of a host takes that host's k-th node, wrapping. `places` are each rank's
/// host name and its place k among the ranks of that host.
pub fn nodes_by_host(platform: &Platform, places: &[(String, u32)]) -> Result<Vec<NodeId>, MissingHost> {
    let mut of_host: HashMap<&str, Vec<NodeId>> = HashMap::new();
    for node in platform.hosts() {
        of_host.entry(platform.node(node).host()).or_default().push(node);
    }
    // A machine may call itself by its full name while the platform has the short one, or the reverse.
    let mut of_short: HashMap<&str, Vec<NodeId>> = HashMap::new();
    for node in platform.hosts() {
        of_short.entry(short(platform.node(node).host())).or_default().push(node);
    }
    let place = |(rank, (host, k)): (usize, &(String, u32))| {
        let nodes = of_host.get(host.as_str()).or_else(|| of_short.get(short(host)));
        let missing = || MissingHost { platform: platform.name().to_string(), host: host.clone(), rank };
        nodes.map(|nodes| nodes[*k as usize % nodes.len()]).ok_or_else(missing)
    };
    places.iter().enumerate().map(place).collect()
}

fn short(host: &str) -> &str {
    host.split('.').next().unwrap_or(host)
}

impl Placement {
    /// The ranks on the nodes of a platform; links between unused nodes are left out.
    pub fn on(platform: &Platform, node_of_rank: &[NodeId]) -> Result<Placement, Fault> {
        let mut used = vec![false; platform.node_count()];
        node_of_rank.iter().for_each(|node| used[node.index()] = true);
        let kept: Vec<NodeId> =
            platform.nodes().filter(|&node| used[node.index()] || !platform.node(node).is_host()).collect();
        if kept.len() == platform.node_count() {
            return Placement::of(platform.clone(), node_of_rank.to_vec());
        }
        let mut moved = vec![None; platform.node_count()];
        kept.iter().enumerate().for_each(|(at, node)| moved[node.index()] = Some(NodeId(at as u32)));
        let part = restrict(platform, &kept, &moved, LinkClass::clone)?;
        let node_of_rank = node_of_rank.iter().filter_map(|node| moved[node.index()]).collect();
        Placement::of(part, node_of_rank)
    }

    /// The platform that is assumed where none is given: ranks of one host communicate through its memory, hosts
    /// through one switch. `host_of_rank` numbers the hosts from 0.
    pub fn assumed(host_of_rank: &[u32]) -> Result<Placement, Fault> {
        let hosts = host_of_rank.iter().max().map_or(0, |&host| host + 1);
        // On a single host every rank is a node, so that all planners can work for it.
        let node_of_rank: Vec<NodeId> = if hosts == 1 {
            (0..host_of_rank.len() as u32).map(NodeId).collect()
        } else {
            host_of_rank.iter().map(|&host| NodeId(host)).collect()
        };
        let platform =
            if hosts == 1 { memory(host_of_rank.len() as u32)? } else { one_switch(hosts, network_link())? };
        Placement::of(platform, node_of_rank)
    }

    fn of(platform: Platform, node_of_rank: Vec<NodeId>) -> Result<Placement, Fault> {
        let mut ranks = vec![Vec::new(); platform.node_count()];
        for (rank, node) in node_of_rank.iter().enumerate() {
            ranks[node.index()].push(rank as u32);
        }
        let handled = with_handling(&with_assumed_clusters(&platform));
        let in_turn = with_links(&handled, with_latency)?;
        Ok(Placement { platform, handled, in_turn, ranks, node_of_rank })
    }

    /// The placement whose platforms a collective is planned for. In a scatter or gather, the root and relays have messages
    /// for all peers in flight, and one that waits for a pipe does not hold a port. Only broadcasts take near hosts for
    /// clusters: with them, an all-gather of 64 KiB on a dragonfly of 72 hosts took 1.7 times as long.
    pub fn for_collective(&self, collective: Collective) -> Result<Cow<'_, Placement>, String> {
        let handled = match collective {
            Collective::Scatter | Collective::Gather => self.platform.handled_at_once(assumed_s()),
            Collective::Bcast => return Ok(Cow::Borrowed(self)),
            _ if self.handled.clusters() == self.platform.clusters() => return Ok(Cow::Borrowed(self)),
            _ => with_handling(&self.platform),
        };
        let in_turn = with_links(&handled, with_latency).map_err(|fault| fault.to_string())?;
        Ok(Cow::Owned(Placement { handled, in_turn, ..self.clone() }))
    }

    /// As `platform` with the hosts' true cost of handling messages, for ports that messages share.
    pub fn at_once(&self) -> Platform {
        self.platform.handled_at_once(if smpi::is_on() { 0.0 } else { HANDLING_S })
    }

    /// As `handled`, where each message is announced by another one, which takes a latency more.
    pub fn announced(&self) -> Result<Platform, Fault> {
        with_links(&self.handled, |class| LinkClass { latency_s: 2.0 * class.latency_s, ..class.clone() })
    }

    /// As `in_turn`, for segments of that size: where several are in flight at once, they wait for less of the latency.
    /// `in_flight`: the most on a link, for a message that takes the seconds given.
    pub fn in_turn_at(
        &self,
        segment_bytes: u64,
        in_flight: impl Fn(&LinkClass, f64) -> u16,
    ) -> Result<Platform, Fault> {
        with_links(&self.handled, |class| {
            let message_s = class.time.seconds(segment_bytes);
            let in_flight = f64::from(in_flight(class, message_s));
            delayed(class, ((message_s + class.latency_s) / in_flight - message_s).max(0.0))
        })
    }
}

/// A message to a slower receiver does not keep the port from the others.
fn with_handling(platform: &Platform) -> Platform {
    match platform.has_links_slower_than_ports() {
        true => platform.handled_at_once(assumed_s()),
        false => platform.handled_assuming(assumed_s()),
    }
}

/// The ranks of one host as nodes that communicate through its memory.
pub fn memory(ranks: u32) -> Result<Platform, Fault> {
    one_switch(ranks, memory_link())
}

fn one_switch(nodes: u32, link: LinkClass) -> Result<Platform, Fault> {
    let mut builder = PlatformBuilder::new("assumed", PortModel::OnePort);
    for node in 0..nodes {
        builder.add_host(format!("node{node}"))?;
    }
    let class = builder.add_class(link);
    builder.add_mesh(Mesh { nodes: (0..nodes).map(NodeId).collect(), class })?;
    builder.build()
}

/// Where the platform gives no time to handle a message, s.
fn assumed_s() -> f64 {
    if smpi::is_on() {
        SIMULATED_HANDLING_S
    } else {
        HANDLING_S
    }
}

/// SMPI's hosts take no time to handle a message; with a little, fewer messages win where plans are equal otherwise, s.
const SIMULATED_HANDLING_S: f64 = 1e-6;

/// Longer latencies are filled with several messages, s.
const SHORT_S: f64 = 200e-6;

/// The latency occupies the link too.
fn with_latency(class: &LinkClass) -> LinkClass {
    delayed(class, if class.latency_s <= SHORT_S { class.latency_s } else { 0.0 })
}

/// That part of the latency occupies the link too.
fn delayed(class: &LinkClass, waits_s: f64) -> LinkClass {
    let time = match &class.time {
        TransferTime::Affine { startup_s, bandwidth_bytes_per_s } => TransferTime::Affine {
            startup_s: startup_s + waits_s,
            bandwidth_bytes_per_s: *bandwidth_bytes_per_s,
        },
        measured @ TransferTime::Gap(_) => measured.clone(),
    };
    LinkClass { time, latency_s: class.latency_s - waits_s, ..class.clone() }
}

/// Between ranks of one host, where nothing was measured: a few microseconds and one copy through memory.
pub fn memory_link() -> LinkClass {
    let time = TransferTime::Affine { startup_s: 2e-6, bandwidth_bytes_per_s: Some(4e9) };
    LinkClass { latency_s: 1e-6, time, ..LinkClass::default() }
}

/// Between hosts, where nothing was measured: 10 Gb/s Ethernet.
fn network_link() -> LinkClass {
    let time = TransferTime::Affine { startup_s: 5e-6, bandwidth_bytes_per_s: Some(1.25e9) };
    LinkClass { latency_s: 2e-5, time, ..LinkClass::default() }
}

/// The whole platform with its links changed.
fn with_links(platform: &Platform, changed: impl Fn(&LinkClass) -> LinkClass) -> Result<Platform, Fault> {
    let all: Vec<NodeId> = platform.nodes().collect();
    let same: Vec<Option<NodeId>> = platform.nodes().map(Some).collect();
    restrict(platform, &all, &same, changed)
}

/// The platform of the nodes in `kept` only, with its links changed; `moved` gives the new place of each old node.
fn restrict(
    platform: &Platform,
    kept: &[NodeId],
    moved: &[Option<NodeId>],
    changed: impl Fn(&LinkClass) -> LinkClass,
) -> Result<Platform, Fault> {
    let mut builder = PlatformBuilder::new(platform.name(), platform.port_model());
    builder.local_start(platform.local_start()).handling_s(platform.given_handling_s());
    let mut clusters = Vec::new();
    for &node in kept {
        let node = platform.node(node);
        let cluster = node.cluster.map(|cluster| {
            clusters.push(cluster);
            builder.cluster(&platform.clusters()[cluster.index()].name)
        });
        builder.add_node(Node { cluster, ..node.clone() })?;
    }
    for shared in platform.shared() {
        let copy = builder.add_shared(shared.id.clone(), shared.bandwidth_bytes_per_s)?;
        if let Some(spread) = shared.spread {
            builder.shared_spread(copy, spread);
        }
    }
    // Classes are added in their old order, so their ids stay.
    for class in platform.classes() {
        builder.add_class(changed(class));
    }
    for link in platform.explicit_links() {
        if let (Some(from), Some(to)) = (moved[link.from.index()], moved[link.to.index()]) {
            builder.add_link(ExplicitLink { from, to, ..*link })?;
        }
    }
    for mesh in platform.meshes() {
        let nodes: Vec<NodeId> = mesh.nodes.iter().filter_map(|node| moved[node.index()]).collect();
        if nodes.len() > 1 {
            builder.add_mesh(Mesh { nodes, class: mesh.class })?;
        }
    }
    for bridge in platform.bridges() {
        if clusters.contains(&bridge.from) && clusters.contains(&bridge.to) {
            let name = |cluster: broadleaf::platform::ClusterId| &platform.clusters()[cluster.index()].name;
            let (from, to) =
                (builder.find_cluster(name(bridge.from))?, builder.find_cluster(name(bridge.to))?);
            builder.add_bridge(Bridge { from, to, ..*bridge })?;
        }
    }
    builder.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_SITES: &str = r#"{"format": "broadleaf-platform/1", "name": "two", "port_model": "one-port",
        "nodes": [{"id": "a0", "cluster": "A", "host": "n1"}, {"id": "a1", "cluster": "A", "host": "n1"},
                  {"id": "b0", "cluster": "B", "host": "n2"}, {"id": "c0", "cluster": "C", "host": "n3.example.org"},
                  {"id": "sw", "kind": "switch"}],
        "shared": [{"id": "wan", "bandwidth_bytes_per_s": 1e6}],
        "links": [{"from": "a0", "to": "sw", "both_ways": true, "bandwidth_bytes_per_s": 1e8}],
        "meshes": [{"nodes": ["a0", "a1"], "link": {"bandwidth_bytes_per_s": 1e9}}],
        "bridges": [{"from_cluster": "A", "to_cluster": "B", "both_ways": true, "link": {"bandwidth_bytes_per_s": 1e7, "uses": ["wan"]}},
                    {"from_cluster": "A", "to_cluster": "C", "both_ways": true, "link": {"bandwidth_bytes_per_s": 2e7}}]}"#;

    fn places(hosts: &[(&str, u32)]) -> Vec<(String, u32)> {
        hosts.iter().map(|&(host, k)| (host.to_string(), k)).collect()
    }

    #[test]
    fn ranks_of_a_host_take_its_nodes_in_turn() {
        let platform = Platform::from_json(TWO_SITES).unwrap();
        let ranks = places(&[("n2", 0), ("n1", 0), ("n1", 1), ("n1", 2), ("n3", 0), ("n2", 1)]);
        let nodes = nodes_by_host(&platform, &ranks).unwrap();
        assert_eq!(nodes.iter().map(|node| node.0).collect::<Vec<_>>(), [2, 0, 1, 0, 3, 2]);
    }

    #[test]
    fn a_port_is_not_held_by_slower_receivers() {
        let placed = |text: &str| {
            let platform = Platform::from_json(text).unwrap();
            Placement::on(&platform, &platform.hosts().collect::<Vec<_>>()).unwrap()
        };
        let pipe = r#""shared": [{"id": "wan", "bandwidth_bytes_per_s": 1e6}],"#;
        let unequal = placed(&TWO_SITES.replace(pipe, "").replace(r#", "uses": ["wan"]"#, ""));
        assert_eq!(unequal.handled.port_model(), PortModel::MultiPort);
        let piped = placed(TWO_SITES);
        assert_eq!(piped.handled.port_model(), PortModel::OnePort);
        // In a scatter, a message that waits for the pipe does not hold it either.
        let scatter = piped.for_collective(Collective::Scatter).unwrap();
        assert_eq!(scatter.handled.port_model(), PortModel::MultiPort);
        assert!(matches!(piped.for_collective(Collective::Reduce).unwrap(), Cow::Borrowed(_)));
    }

    /// Two times two hosts, 50 µs from each other and 5 ms from the others, by links alone.
    #[test]
    fn clusters_that_a_file_of_links_lacks_are_those_of_near_hosts() {
        let place = |at: usize| at / 2;
        let mut builder = PlatformBuilder::new("links", PortModel::OnePort);
        let nodes: Vec<NodeId> = (0..4).map(|at| builder.add_host(format!("n{at}")).unwrap()).collect();
        for (from, to) in (0..4).flat_map(|from| (0..4).map(move |to| (from, to))).filter(|(a, b)| a != b) {
            let latency_s = if place(from) == place(to) { 5e-5 } else { 5e-3 };
            let class = builder.add_class(LinkClass::affine(latency_s, 1e8));
            builder
                .add_link(ExplicitLink { from: nodes[from], to: nodes[to], both_ways: false, class })
                .unwrap();
        }
        let placement = Placement::on(&builder.build().unwrap(), &nodes).unwrap();
        assert!(placement.platform.clusters().is_empty());
        for planned in [&placement.handled, &placement.in_turn] {
            let members: Vec<&[NodeId]> = planned.clusters().iter().map(|found| &found.members[..]).collect();
            assert_eq!(members, [&nodes[..2], &nodes[2..]]);
        }
        for other in [Collective::Allgather, Collective::Gather] {
            let placement = placement.for_collective(other).unwrap();
            assert!(placement.handled.clusters().is_empty() && placement.in_turn.clusters().is_empty());
        }
        // Named clusters stay.
        let named = Platform::from_json(TWO_SITES).unwrap();
        let placement = Placement::on(&named, &named.hosts().collect::<Vec<_>>()).unwrap();
        assert_eq!(placement.handled.clusters(), named.clusters());
    }

    #[test]
    fn an_unknown_host_is_named() {
        let platform = Platform::from_json(TWO_SITES).unwrap();
        let line = nodes_by_host(&platform, &places(&[("n1", 0), ("moon", 0)])).unwrap_err().to_string();
        assert!(line.contains("\"moon\"") && line.contains("rank 1"), "{line}");
    }

    #[test]
    fn a_part_keeps_its_links_and_drops_the_rest() {
        let platform = Platform::from_json(TWO_SITES).unwrap();
        let placement = Placement::on(&platform, &[NodeId(3), NodeId(1), NodeId(1)]).unwrap();
        let part = &placement.platform;
        assert_eq!(**part.ids(), ["a1", "c0", "sw"]);
        assert_eq!(placement.ranks, [vec![1, 2], vec![0], vec![]]);
        let (a1, c0) = (part.find("a1").unwrap(), part.find("c0").unwrap());
        let class = part.class(part.link(a1, c0).unwrap());
        assert_eq!(class.time.seconds(2_000_000), 0.1);
        assert_eq!(part.successors(a1).len(), 1);
    }

    #[test]
    fn the_whole_platform_stays_itself() {
        let platform = Platform::from_json(TWO_SITES).unwrap();
        let all: Vec<NodeId> = platform.hosts().collect();
        assert_eq!(Placement::on(&platform, &all).unwrap().platform.digest(), platform.digest());
    }

    #[test]
    fn without_a_platform_hosts_are_told_apart() {
        let one = Placement::assumed(&[0, 0, 0]).unwrap();
        assert_eq!(one.ranks, [[0], [1], [2]]);
        let several = Placement::assumed(&[0, 1, 0, 1, 2]).unwrap();
        assert_eq!(several.ranks, [vec![0, 2], vec![1, 3], vec![4]]);
    }
}
