//! From the findings to a platform: what is alike stands once, what is not stands by itself.

use super::findings::{Findings, PipePlace, Unlike};
use super::fit::{six_digits, PairTable};
use super::hosts::Pair;
use crate::json::Fault;
use crate::platform::{
    Bridge, ClusterId, ExplicitLink, Mesh, Node, NodeId, Platform, PlatformBuilder, PortModel, SharedId,
};
use std::collections::{BTreeMap, HashMap};

/// The measured platform. Its port model is bidirectional one-port: a rank that sends to two others at once
/// shares its processor and its network card between them.
pub fn platform(known: &Findings) -> Result<Platform, Fault> {
    let mut builder = PlatformBuilder::new(known.settings.name.as_str(), PortModel::OnePort);
    let ids = node_ids(known);
    for node in known.hosts.nodes() {
        let cluster = known.cluster_of.get(node.index()).map_or(0, |&cluster| cluster);
        let cluster = Some(builder.cluster(&cluster_name(cluster)));
        let host = Some(known.hosts.name(node).to_string());
        builder.add_node(Node { id: ids[node.index()].clone(), cluster, host, ..Node::default() })?;
    }
    let mut shared: HashMap<PipePlace, SharedId> = HashMap::new();
    for pipe in &known.pipes {
        let id = builder.add_shared(pipe_name(known, &pipe.place), six_digits(pipe.bytes_per_s))?;
        builder.shared_spread(id, six_digits(pipe.spread));
        shared.insert(pipe.place.clone(), id);
    }
    for cluster in 0..known.clusters.len() {
        add_cluster(known, cluster, &shared, &mut builder)?;
    }
    for from in 0..known.clusters.len() {
        for to in (0..known.clusters.len()).filter(|&to| to != from) {
            let pair = known.representative(from, to);
            let Some(table) = known.tables.get(&pair) else { continue };
            let class = builder.add_class(table.link_class(uses(known, pair, &shared)));
            let (from, to) = (cluster_id(&builder, from)?, cluster_id(&builder, to)?);
            builder.add_bridge(Bridge { from, to, both_ways: false, class })?;
        }
    }
    builder.build()
}

/// The links inside a cluster: a mesh of the pairs that are alike, and links for the others.
fn add_cluster(
    known: &Findings,
    cluster: usize,
    shared: &HashMap<PipePlace, SharedId>,
    builder: &mut PlatformBuilder,
) -> Result<(), Fault> {
    let members = &known.clusters[cluster];
    let sorted = known.sorted_pairs(cluster);
    let alike: Vec<&PairTable> = sorted.alike.iter().filter_map(|pair| known.tables.get(pair)).collect();
    if alike.is_empty() {
        return Ok(());
    }
    let table = PairTable::median_of(&alike);
    let mut add_mesh = |nodes: &[NodeId]| {
        let class = builder.add_class(table.link_class(uses(known, (nodes[0], nodes[1]), shared)));
        builder.add_mesh(Mesh { nodes: nodes.to_vec(), class })
    };
    // The mesh of a whole cluster uses what pairs on different machines use; a machine's own pairs follow
    // in a mesh of their own where that is something else, since the later of two meshes holds.
    let elsewhere = members.iter().find(|&&node| !known.hosts.together(node, members[0]));
    let mut nodes = members.clone();
    if let Some(&other) = elsewhere {
        nodes.retain(|&node| node != other);
        nodes.insert(1, other);
    }
    add_mesh(&nodes)?;
    if elsewhere.is_some() {
        for host in known.hosts.members() {
            let here: Vec<NodeId> = host.iter().copied().filter(|node| members.contains(node)).collect();
            if here.len() > 1 && shared.contains_key(&PipePlace::InsideHost(known.hosts.of(here[0]))) {
                add_mesh(&here)?;
            }
        }
    }
    let limit = 1.0 + known.settings.tolerance;
    let large_s = |table: &PairTable| table.at(known.large_bytes[cluster]).gap_s;
    let mut classes = BTreeMap::new();
    for &Unlike { pair, slowness, detours } in &sorted.unlike {
        let (table_of, factor) = nearest_table(known, &sorted.unlike, pair, slowness);
        let slower = match known.tables.get(&pair) {
            // The pair's own table is the closer look, and has the last word.
            Some(own) => large_s(own) / large_s(&table),
            None => slowness,
        };
        if slower <= limit && slower * limit >= 1.0 && !detours {
            continue;
        }
        let uses = uses(known, pair, shared);
        // Links with the same table and factor are of one class.
        let class = match classes.get(&(table_of, factor.to_bits(), uses.clone())) {
            Some(&class) => class,
            None => {
                let table = table_of.and_then(|pair| known.tables.get(&pair)).unwrap_or(&table);
                let class = builder.add_class(table.scaled(factor).link_class(uses.clone()));
                classes.insert((table_of, factor.to_bits(), uses), class);
                class
            }
        };
        builder.add_link(ExplicitLink { from: pair.0, to: pair.1, both_ways: false, class })?;
    }
    Ok(())
}

/// The pair's own table; else that of a pair of about the same slowness, or `None` for the usual one, and the
/// factor between them.
fn nearest_table(known: &Findings, unlike: &[Unlike], pair: Pair, slowness: f64) -> (Option<Pair>, f64) {
    if known.tables.contains_key(&pair) {
        return (Some(pair), 1.0);
    }
    let measured = unlike.iter().filter(|other| known.tables.contains_key(&other.pair));
    let choices =
        std::iter::once((None, 1.0)).chain(measured.map(|other| (Some(other.pair), other.slowness)));
    let distance = |other: f64| (other / slowness).ln().abs();
    let nearest = choices.min_by(|x, y| distance(x.1).total_cmp(&distance(y.1)));
    let (table_of, theirs) = nearest.expect("the usual table is among them");
    (table_of, slowness / theirs)
}

/// The pipes that a pair's transfers go through.
fn uses(known: &Findings, (from, to): Pair, shared: &HashMap<PipePlace, SharedId>) -> Vec<SharedId> {
    let (a, b) = (known.cluster_of[from.index()], known.cluster_of[to.index()]);
    let mut places = Vec::new();
    if known.hosts.together(from, to) {
        places.push(PipePlace::InsideHost(known.hosts.of(from)));
    }
    if a == b {
        places.push(PipePlace::InsideCluster(a));
    } else {
        places.extend([PipePlace::OneWay(a, b), PipePlace::BothWays(a.min(b), a.max(b))]);
    }
    places.iter().filter_map(|place| shared.get(place).copied()).collect()
}

/// A machine's name where it has one node; with the node's place on it where it has several.
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

fn pipe_name(known: &Findings, place: &PipePlace) -> String {
    match *place {
        PipePlace::OneWay(from, to) => format!("{}-to-{}", cluster_name(from), cluster_name(to)),
        PipePlace::BothWays(a, b) => format!("{}-{}", cluster_name(a), cluster_name(b)),
        PipePlace::InsideHost(host) => format!("inside-{}", known.hosts.name(known.hosts.members()[host][0])),
        PipePlace::InsideCluster(cluster) => format!("inside-{}", cluster_name(cluster)),
    }
}
