//! Trees over clusters as the `pattern` field of a plan file.

use super::{in_turn, Cluster, ClusterTrees, Entry, Inside};
use crate::json::{Fault, Place};
use crate::plan::{Collective, Plan};
use crate::platform::NodeId;
use serde_json::{json, Value};
use std::collections::HashSet;

/// Limit of the edges when listed, 8 bytes each; planners make 10 million.
const MOST_EDGES: usize = 1 << 24;
/// Trees with fewer edges are written out, for people who read the file.
const WORTH_A_PATTERN: usize = 10_000;

impl ClusterTrees {
    /// The name of the pattern.
    pub(in crate::plan) const NAME: &'static str = "cluster-trees";

    /// Whether a pattern has that name.
    pub(in crate::plan) fn is_named(place: &Place) -> bool {
        let name = place.optional("name").ok().flatten();
        name.is_some_and(|name| name.string() == Ok(ClusterTrees::NAME))
    }

    /// Whether a file may have trees over clusters: those of a reduction are a broadcast's, from the root.
    fn can_store(collective: Collective) -> bool {
        matches!(collective, Collective::Bcast | Collective::Reduce)
    }

    /// The construction of a plan's trees where its file is to have that instead.
    pub(in crate::plan) fn stored(plan: &Plan) -> Option<&ClusterTrees> {
        let clusters = plan.trees.clusters()?;
        let hosts: usize = clusters.clusters.iter().map(|cluster| cluster.hosts.len()).sum();
        let is_worth_it = clusters.tree_count() * hosts >= WORTH_A_PATTERN;
        (is_worth_it && ClusterTrees::can_store(plan.collective) && plan.period.is_none()).then_some(clusters)
    }

    pub(in crate::plan) fn to_json(&self, ids: &[String]) -> Value {
        let clusters = self.clusters.iter().map(|cluster| {
            let hosts: Vec<&str> = cluster.hosts.iter().map(|host| ids[host.index()].as_str()).collect();
            json!({"hosts": hosts, "inside": cluster.inside})
        });
        let trees = self.entries.iter().map(|entries| {
            let (from, place): (Vec<u32>, Vec<u32>) =
                entries.iter().map(|entry| (entry.from, entry.place)).unzip();
            json!({"from": from, "place": place})
        });
        json!({
            "name": ClusterTrees::NAME,
            "clusters": clusters.collect::<Value>(),
            "insides": self.insides,
            "trees": trees.collect::<Value>(),
        })
    }

    /// Reads the pattern of a plan for `collective` from `root`, whose nodes `id` numbers, over the nodes known by then.
    pub(in crate::plan) fn read(
        place: &Place,
        collective: Collective,
        root: NodeId,
        id: impl FnMut(&str) -> NodeId,
    ) -> Result<ClusterTrees, Fault> {
        if !ClusterTrees::can_store(collective) {
            let fact = format!("trees over clusters in a plan for {collective}");
            return Err(place.fault(fact, "write a bcast or reduce, or list its trees"));
        }
        let insides = place.required("insides")?;
        let insides = insides.items()?.map(|inside| read_inside(&inside)).collect::<Result<Vec<_>, _>>()?;
        let clusters = read_clusters(&place.required("clusters")?, root, &insides, id)?;
        let trees = place.required("trees")?;
        let listed = trees.items()?;
        let hosts: usize = clusters.iter().map(|cluster| cluster.hosts.len()).sum();
        if listed.len() == 0 || listed.len().saturating_mul(hosts) > MOST_EDGES {
            let fact = format!("{} trees of {hosts} hosts", listed.len());
            return Err(trees.fault(fact, format!("write 1 to {} trees", MOST_EDGES / hosts)));
        }
        let entries = listed.map(|tree| read_tree(&tree, &clusters)).collect::<Result<Vec<_>, _>>()?;
        let node_count =
            clusters.iter().flat_map(|cluster| &cluster.hosts).map(|host| host.index() + 1).max();
        Ok(ClusterTrees::new(node_count.unwrap_or(0), clusters, insides, entries))
    }
}

/// Place 0 is entered from outside; every other place stands behind its parent, once.
fn read_inside(place: &Place) -> Result<Inside, Fault> {
    let pairs: Vec<Place> = place.items()?.collect();
    let mut reached = vec![false; pairs.len() + 1];
    reached[0] = true;
    let mut inside = Vec::with_capacity(pairs.len());
    for pair in &pairs {
        let ends = numbers(pair)?;
        let [parent, child] = ends[..] else {
            return Err(pair.fault(format!("{} values in an edge", ends.len()), "write [parent, child]"));
        };
        if reached.get(parent as usize) != Some(&true) {
            let fact = format!("place {parent} sends before an edge has led to it");
            return Err(pair.fault(fact, "list each edge behind its parent's, from place 0"));
        }
        if reached.get(child as usize) != Some(&false) {
            let fact = format!("an edge to place {child} of {}", reached.len());
            return Err(pair.fault(fact, "write one edge to each place from 1 on"));
        }
        reached[child as usize] = true;
        inside.push((parent, child));
    }
    Ok(inside)
}

fn read_clusters(
    place: &Place,
    root: NodeId,
    insides: &[Inside],
    mut id: impl FnMut(&str) -> NodeId,
) -> Result<Vec<Cluster>, Fault> {
    let mut clusters = Vec::new();
    let mut seen = HashSet::new();
    for (at, cluster) in place.items()?.enumerate() {
        let list = cluster.required("hosts")?;
        let mut hosts = Vec::new();
        for host in list.items()? {
            let node = id(host.string()?);
            if !seen.insert(node) {
                return Err(host.fault(format!("\"{}\" stands twice", host.string()?), "name each host once"));
            }
            hosts.push(node);
        }
        if hosts.is_empty() {
            return Err(list.fault("a cluster without hosts", "leave it out"));
        }
        if at == 0 && hosts[0] != root {
            return Err(list.fault("the first host is not the plan's root", "write the root first"));
        }
        let inside = cluster.required("inside")?;
        let number = inside.whole()?;
        let places = in_turn(at, &hosts).len();
        match insides.get(number as usize).map(|inside| inside.len() + 1) {
            Some(count) if count == places => clusters.push(Cluster { hosts, inside: number as u32 }),
            Some(count) => {
                let fact = format!("an inner tree of {count} places for {places} hosts that take turns");
                return Err(inside.fault(fact, "write one of as many places"));
            }
            None => {
                let fact = format!("inner tree {number} of {}", insides.len());
                return Err(inside.fault(fact, "write a place in the list \"insides\""));
            }
        }
    }
    match clusters.is_empty() {
        true => Err(place.fault("no clusters", "write the root's first")),
        false => Ok(clusters),
    }
}

/// Every cluster but the first is entered from another, and all are below the first.
fn read_tree(place: &Place, clusters: &[Cluster]) -> Result<Vec<Entry>, Fault> {
    let (from_place, sender_place) = (place.required("from")?, place.required("place")?);
    let (from, places) = (numbers(&from_place)?, numbers(&sender_place)?);
    for (list, numbers) in [(&from_place, &from), (&sender_place, &places)] {
        if numbers.len() + 1 != clusters.len() {
            let fact = format!("{} entries for {} clusters", numbers.len(), clusters.len());
            return Err(list.fault(fact, "write one for each cluster but the first"));
        }
    }
    let entries: Vec<Entry> =
        from.into_iter().zip(places).map(|(from, place)| Entry { from, place }).collect();
    for (at, entry) in entries.iter().enumerate() {
        let Some(cluster) = clusters.get(entry.from as usize) else {
            let fact = format!("cluster {} of {}", entry.from, clusters.len());
            return Err(item(&from_place, at)?.fault(fact, "write a place in the list \"clusters\""));
        };
        let hosts = in_turn(entry.from as usize, &cluster.hosts).len();
        if entry.place as usize >= hosts {
            let fact = format!("place {} among {hosts} hosts that take turns", entry.place);
            return Err(item(&sender_place, at)?.fault(fact, "write a lower one"));
        }
    }
    // Each walk towards the first cluster ends at one that is known to be below it.
    let mut is_below = vec![false; clusters.len()];
    is_below[0] = true;
    for start in 1..clusters.len() {
        let mut path = vec![start];
        while let Some(&at) = path.last().filter(|&&at| !is_below[at]) {
            if path.len() > clusters.len() {
                let fact = format!("cluster {start} hangs on a cycle");
                return Err(from_place.fault(fact, "lead every cluster to the first"));
            }
            path.push(entries[at - 1].from as usize);
        }
        path.into_iter().for_each(|at| is_below[at] = true);
    }
    Ok(entries)
}

fn numbers(place: &Place) -> Result<Vec<u32>, Fault> {
    let number = |item: Place| {
        let number = item.whole()?;
        u32::try_from(number)
            .map_err(|_| item.fault(format!("{number} is too large"), "write less than 2^32"))
    };
    place.items()?.map(number).collect()
}

fn item<'a>(place: &'a Place, at: usize) -> Result<Place<'a>, Fault> {
    Ok(place.items()?.nth(at).expect("it has been read"))
}
