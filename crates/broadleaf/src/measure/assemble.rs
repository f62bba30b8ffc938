//! From the findings to a platform: typical pairs share an entry, outliers have their own.

use super::findings::{BottleneckPlace, ClusterPair, Fan, Findings};
use super::hosts::NodePair;
use super::one_way::OneWayLatencies;
use super::outliers::{Outlier, PairSplit};
use super::pair_table::{six_digits, PairTable};
use super::rates::{fastest_in, fastest_out, is_same_rate};
use super::settings::ports::GAIN;
use super::statistics::median;
use crate::json::Fault;
use crate::platform::{
    Bridge, ClusterId, ExplicitLink, Mesh, Node, NodeId, Platform, PlatformBuilder, PortModel, SharedId,
};
use ordered_float::OrderedFloat;
use std::collections::{BTreeMap, HashMap};

/// The measured platform. Its port model is bidirectional one-port (a rank that sends to two others at once shares its
/// processor and its network card between them), unless a node was much faster at sending to several at once.
pub fn platform(known: &Findings) -> Result<Platform, Fault> {
    let draft = one_port(known)?;
    match known.fans.iter().any(|fan| fan.gain >= GAIN) {
        true => build(known, Some(&draft)),
        false => Ok(draft),
    }
}

/// The measured platform as if ports served one transfer at a time.
pub fn one_port(known: &Findings) -> Result<Platform, Fault> {
    build(known, None)
}

/// The rates of a node's port, out and in, bytes/s, from the links of the one-port platform. A port is as many times
/// faster than the fastest link as those of the nodes tested that are alike (the median of these), or as that of the
/// most similar one.
fn port_rates(known: &Findings, draft: &Platform, node: NodeId) -> (Option<f64>, Option<f64>) {
    let (Some(out), Some(into)) = (fastest_out(draft, node), fastest_in(draft, node)) else {
        return (None, None);
    };
    let factor = |fan: &Fan| (fan.together / fan.fastest).max(1.0);
    let is_elsewhere = |fan: &Fan| known.cluster_of[fan.sender.index()] != known.cluster_of[node.index()];
    let alike: Vec<f64> = known
        .fans
        .iter()
        .filter(|fan| !is_elsewhere(fan) && is_same_rate(fan.fastest, out))
        .map(factor)
        .collect();
    let distance = |fan: &&Fan| (is_elsewhere(fan), OrderedFloat((fan.fastest / out).ln().abs()));
    let factor = match alike.is_empty() {
        true => known.fans.iter().min_by_key(distance).map_or(1.0, factor),
        false => median(&alike),
    };
    (Some(six_digits(factor * out)), Some(six_digits(factor * into)))
}

/// With `draft`, the one-port platform, a multi-port one.
fn build(known: &Findings, draft: Option<&Platform>) -> Result<Platform, Fault> {
    let model = if draft.is_some() { PortModel::MultiPort } else { PortModel::OnePort };
    let mut builder = PlatformBuilder::new(known.settings.name.as_str(), model);
    let ids = node_ids(known);
    for node in known.hosts.nodes() {
        let cluster = known.cluster_of.get(node.index()).map_or(0, |&cluster| cluster);
        let cluster = Some(builder.cluster(&cluster_name(cluster)));
        let host = Some(known.hosts.name(node).to_string());
        let (out_bytes_per_s, in_bytes_per_s) =
            draft.map_or((None, None), |draft| port_rates(known, draft, node));
        let id = ids[node.index()].clone();
        builder.add_node(Node { id, cluster, host, out_bytes_per_s, in_bytes_per_s, ..Node::default() })?;
    }
    let mut shared = Vec::new();
    for bottleneck in &known.bottlenecks {
        let id = builder
            .add_shared(bottleneck_name(known, &bottleneck.place), six_digits(bottleneck.bytes_per_s))?;
        builder.shared_spread(id, six_digits(bottleneck.spread));
        shared.push((bottleneck.place.clone(), id));
    }
    for cluster_pair in known.cluster_pairs() {
        add_cluster_pair(known, cluster_pair, &shared, &mut builder)?;
    }
    builder.build()
}

/// The links of a cluster pair: a mesh or a bridge for the typical pairs, links for the others.
fn add_cluster_pair(
    known: &Findings,
    cluster_pair @ (from, to): ClusterPair,
    shared: &[(BottleneckPlace, SharedId)],
    builder: &mut PlatformBuilder,
) -> Result<(), Fault> {
    if known.pairs_of(cluster_pair).next().is_none() {
        return Ok(());
    }
    let sorted = known.split_pairs(cluster_pair);
    let one_way = OneWayLatencies::of(known, cluster_pair);
    let usual = if from == to {
        let measured = known.believed(&sorted.typical);
        if measured.is_empty() {
            return Ok(());
        }
        let tables: Vec<&PairTable> = measured.iter().map(|&(_, table)| table).collect();
        // Each corrected to the usual one-way time.
        let at_usual =
            |&(pair, table): &(NodePair, &PairTable)| table.latency_s - excess_s(known, &one_way, pair);
        let latencies: Vec<f64> = measured.iter().map(at_usual).collect();
        PairTable { latency_s: median(&latencies).max(0.0), ..PairTable::median_of(&tables) }
    } else {
        let pair = known.representative(cluster_pair);
        let Some(table) = known.tables.get(&pair) else { return Ok(()) };
        let latency_s = (table.latency_s - excess_s(known, &one_way, pair)).max(0.0);
        PairTable { latency_s, ..table.clone() }
    };
    if from == to {
        add_meshes(known, from, &usual, shared, builder)?;
    } else {
        let class =
            builder.add_class(usual.link_class(uses(known, known.representative(cluster_pair), shared)));
        let (from, to) = (cluster_id(builder, from)?, cluster_id(builder, to)?);
        builder.add_bridge(Bridge { from, to, both_ways: false, class })?;
    }
    let own = own_links(known, cluster_pair, &sorted, &one_way, &usual);
    add_links(known, own, shared, builder)
}

/// The excess of a pair's one-way time over the usual one, seconds; 0 within the noise.
fn excess_s(known: &Findings, one_way: &OneWayLatencies, pair: NodePair) -> f64 {
    if one_way.differs(known, pair) {
        known.one_way_s(pair) - one_way.usual_s
    } else {
        0.0
    }
}

/// The mesh of a cluster, and one for each of its machines with its own bottleneck.
fn add_meshes(
    known: &Findings,
    cluster: usize,
    table: &PairTable,
    shared: &[(BottleneckPlace, SharedId)],
    builder: &mut PlatformBuilder,
) -> Result<(), Fault> {
    let members = &known.clusters[cluster];
    let mut add_mesh = |nodes: &[NodeId]| {
        let class = builder.add_class(table.link_class(uses(known, (nodes[0], nodes[1]), shared)));
        builder.add_mesh(Mesh { nodes: nodes.to_vec(), class })
    };
    // The mesh of a whole cluster uses the bottlenecks of pairs on different machines. If the pairs on one machine use
    // others, they get their own mesh after it, since the later of two meshes holds.
    let elsewhere = members.iter().find(|&&node| !known.hosts.same_host(node, members[0]));
    let mut nodes = members.clone();
    if let Some(&other) = elsewhere {
        nodes.retain(|&node| node != other);
        nodes.insert(1, other);
    }
    add_mesh(&nodes)?;
    if elsewhere.is_some() {
        for (host, nodes) in known.hosts.members().iter().enumerate() {
            let here: Vec<NodeId> = nodes.iter().copied().filter(|node| members.contains(node)).collect();
            let is_limited = shared.iter().any(|(place, _)| *place == BottleneckPlace::InsideHost(host));
            if here.len() > 1 && is_limited {
                add_mesh(&here)?;
            }
        }
    }
    Ok(())
}

/// The parts of a pair's link that is not the usual one: the pair whose table it takes (`None`: the usual table), a
/// factor on the table, and its latency.
#[derive(Clone, Copy, PartialEq)]
struct OwnLink {
    table_of: Option<NodePair>,
    factor: f64,
    latency_s: f64,
}

fn own_links(
    known: &Findings,
    cluster_pair: ClusterPair,
    sorted: &PairSplit,
    one_way: &OneWayLatencies,
    usual: &PairTable,
) -> BTreeMap<NodePair, (OwnLink, PairTable)> {
    let large_bytes = known.large_bytes.get(&cluster_pair).copied().unwrap_or(known.settings.largest_bytes);
    let large_s = |table: &PairTable| table.at(large_bytes).gap_s;
    let mut links = BTreeMap::new();
    let mut add = |pair: NodePair, own: OwnLink| {
        let table = own.table_of.and_then(|pair| known.tables.get(&pair)).unwrap_or(usual);
        links.insert(pair, (own, PairTable { latency_s: own.latency_s, ..table.scaled(own.factor) }));
    };
    let shifted_s = |pair: NodePair| (usual.latency_s + excess_s(known, one_way, pair)).max(0.0);
    for &pair in sorted.typical.iter().filter(|&&pair| one_way.differs(known, pair)) {
        add(pair, OwnLink { table_of: None, factor: 1.0, latency_s: shifted_s(pair) });
    }
    for &Outlier { pair, slowness } in &sorted.outliers {
        let (table_of, factor) = nearest_table(known, &sorted.outliers, pair, slowness);
        let own = known.tables.get(&pair);
        // The pair's own table is more accurate, and decides.
        let slower = own.map_or(slowness, |own| large_s(own) / large_s(usual));
        let is_local = known.hosts.same_host(pair.0, pair.1);
        let limit = if is_local { 1.0 + known.settings.tolerance } else { sorted.limit };
        if slower <= limit && slower * limit >= 1.0 {
            if one_way.differs(known, pair) {
                add(pair, OwnLink { table_of: None, factor: 1.0, latency_s: shifted_s(pair) });
            }
            continue;
        }
        let latency_s = own.map_or_else(|| shifted_s(pair), |own| own.latency_s);
        add(pair, OwnLink { table_of, factor, latency_s });
    }
    links
}

/// Links with equal parameters share one class, and one entry if they are the two directions of a pair.
fn add_links(
    known: &Findings,
    links: BTreeMap<NodePair, (OwnLink, PairTable)>,
    shared: &[(BottleneckPlace, SharedId)],
    builder: &mut PlatformBuilder,
) -> Result<(), Fault> {
    let mut classes = HashMap::new();
    for (&(from, to), (own, table)) in &links {
        let back = links.get(&(to, from)).is_some_and(|(back, _)| back == own);
        if back && to < from {
            continue;
        }
        let uses = uses(known, (from, to), shared);
        let made_of = (own.table_of, own.factor.to_bits(), own.latency_s.to_bits(), uses.clone());
        let class = *classes.entry(made_of).or_insert_with(|| builder.add_class(table.link_class(uses)));
        builder.add_link(ExplicitLink { from, to, both_ways: back, class })?;
    }
    Ok(())
}

/// The pair's own table; else that of a pair of about equal slowness, or `None` for the usual one; and the factor on
/// that table.
fn nearest_table(
    known: &Findings,
    outliers: &[Outlier],
    pair: NodePair,
    slowness: f64,
) -> (Option<NodePair>, f64) {
    if known.tables.contains_key(&pair) {
        return (Some(pair), 1.0);
    }
    let measured = outliers.iter().filter(|other| known.tables.contains_key(&other.pair));
    let choices =
        std::iter::once((None, 1.0)).chain(measured.map(|other| (Some(other.pair), other.slowness)));
    let distance = |other: f64| (other / slowness).ln().abs();
    let nearest = choices.min_by(|x, y| distance(x.1).total_cmp(&distance(y.1)));
    let (table_of, theirs) = nearest.expect("the usual table is among them");
    (table_of, slowness / theirs)
}

/// The bottlenecks that a pair's transfers go through.
fn uses(known: &Findings, pair: NodePair, shared: &[(BottleneckPlace, SharedId)]) -> Vec<SharedId> {
    shared.iter().filter(|(place, _)| known.is_on_way(place, pair)).map(|&(_, id)| id).collect()
}

/// The machine's name if it has one node, else the name and the node's index on it.
fn node_ids(known: &Findings) -> Vec<String> {
    let name = |node: NodeId| {
        let host = known.hosts.name(node);
        match known.hosts.members()[known.hosts.of(node)].len() {
            1 => host.to_string(),
            _ => format!("{host}-{}", known.hosts.place(node)),
        }
    };
    known.hosts.nodes().map(name).collect()
}

fn cluster_name(cluster: usize) -> String {
    format!("c{cluster}")
}

fn cluster_id(builder: &PlatformBuilder, cluster: usize) -> Result<ClusterId, Fault> {
    builder.find_cluster(&cluster_name(cluster))
}

fn bottleneck_name(known: &Findings, place: &BottleneckPlace) -> String {
    match *place {
        BottleneckPlace::OneWay(from, to) => format!("{}-to-{}", cluster_name(from), cluster_name(to)),
        BottleneckPlace::BothWays(a, b) => format!("{}-{}", cluster_name(a), cluster_name(b)),
        BottleneckPlace::InsideHost(host) => {
            format!("inside-{}", known.hosts.name(known.hosts.members()[host][0]))
        }
        BottleneckPlace::InsideCluster(cluster) => format!("inside-{}", cluster_name(cluster)),
        BottleneckPlace::Access { ref site, is_out } => {
            let clusters: Vec<String> = site.iter().map(|&cluster| cluster_name(cluster)).collect();
            format!("{}-{}", clusters.join("+"), if is_out { "out" } else { "in" })
        }
    }
}
