//! The optimum of tiny platforms equals the best packing of all their arborescences.

use super::{optimum, SEGMENT};
use broadleaf::model::{occupation, Resource};
use broadleaf::plan::{throughput, Plan};
use broadleaf::platform::{ExplicitLink, Hop, LinkClass, Node, NodeId, Platform, PlatformBuilder, PortModel};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
/// All spanning arborescences as parents of nodes 1, 2 …, by trying every choice.
fn arborescences(platform: &Platform) -> Vec<Vec<NodeId>> {
    let mut all: Vec<Vec<NodeId>> = vec![Vec::new()];
    for node in platform.nodes().skip(1) {
        let parents = platform.predecessors(node);
        all = all
            .iter()
            .flat_map(|head| parents.iter().map(move |&(parent, _)| [&head[..], &[parent]].concat()))
            .collect();
    }
    all.retain(|parents| {
        (1..=parents.len()).all(|mut node| {
            for _ in 0..parents.len() {
                if node != 0 {
                    node = parents[node - 1].index();
                }
            }
            node == 0
        })
    });
    all
}

/// max Σ x with A x ≤ 1.
fn packing(columns: &[Vec<f64>]) -> f64 {
    tableau(columns, &vec![1.0; columns.len()], &vec![1.0; columns[0].len()])
}

/// max g·x with A x ≤ b, b ≥ 0, by the textbook tableau, Bland's rule.
pub(super) fn tableau(columns: &[Vec<f64>], gains: &[f64], most: &[f64]) -> f64 {
    let (rows, count) = (columns[0].len(), columns.len());
    let width = count + rows + 1;
    let mut tableau = vec![vec![0.0; width]; rows + 1];
    for row in 0..rows {
        for (at, column) in columns.iter().enumerate() {
            tableau[row][at] = column[row];
        }
        tableau[row][count + row] = 1.0;
        tableau[row][width - 1] = most[row];
    }
    (0..count).for_each(|at| tableau[rows][at] = -gains[at]);
    let mut basis: Vec<usize> = (count..count + rows).collect();
    while let Some(entering) = (0..width - 1).find(|&at| tableau[rows][at] < -1e-12) {
        let ratio = |row: usize| tableau[row][width - 1] / tableau[row][entering];
        let leaving = (0..rows)
            .filter(|&row| tableau[row][entering] > 1e-12)
            .min_by(|&a, &b| ratio(a).total_cmp(&ratio(b)).then(basis[a].cmp(&basis[b])))
            .unwrap();
        let by = tableau[leaving][entering];
        tableau[leaving].iter_mut().for_each(|entry| *entry /= by);
        let pivot = tableau[leaving].clone();
        for (row, line) in tableau.iter_mut().enumerate() {
            if row != leaving {
                let factor = line[entering];
                line.iter_mut().zip(&pivot).for_each(|(entry, by)| *entry -= factor * by);
            }
        }
        basis[leaving] = entering;
    }
    tableau[rows][width - 1]
}

/// Bytes/s of the best packing of all arborescences.
fn brute(platform: &Platform) -> f64 {
    let loads: Vec<BTreeMap<Resource, f64>> = arborescences(platform)
        .iter()
        .map(|parents| {
            let mut load = BTreeMap::new();
            for (at, &from) in parents.iter().enumerate() {
                let to = NodeId(at as u32 + 1);
                let hop = Hop { from, to, class: platform.link(from, to).unwrap() };
                for window in occupation(platform, hop, SEGMENT).windows {
                    *load.entry(window.resource).or_insert(0.0) += window.duration_s;
                }
            }
            load
        })
        .collect();
    let rows: BTreeSet<Resource> = loads.iter().flat_map(|load| load.keys().copied()).collect();
    let columns: Vec<Vec<f64>> = loads
        .iter()
        .map(|load| rows.iter().map(|row| load.get(row).copied().unwrap_or(0.0)).collect())
        .collect();
    packing(&columns) * SEGMENT as f64
}

fn port_model() -> impl Strategy<Value = PortModel> {
    prop::sample::select(PortModel::ALL.to_vec())
}

prop_compose! {
    /// Up to five hosts with every link present or not, some links sharing a pipe, NICs under multi-port.
    pub(super) fn tiny()(
        nodes in 2usize..6,
        port_model in port_model(),
        links in prop::collection::vec((0u32..3, 1u32..50, any::<bool>()), 25),
        pipe in 5u32..40,
        nics in prop::collection::vec(prop::option::of(5u32..80), 10),
    ) -> Platform {
        let mut builder = PlatformBuilder::new("tiny", port_model);
        for node in 0..nodes {
            let rate = |at: usize| nics[at].map(|rate| f64::from(rate) * 1000.0);
            let (out_bytes_per_s, in_bytes_per_s) = (rate(node), rate(node + 5));
            builder.add_node(Node { id: format!("n{node}"), out_bytes_per_s, in_bytes_per_s, ..Node::default() }).unwrap();
        }
        let shared = builder.add_shared("pipe", f64::from(pipe) * 1000.0).unwrap();
        for from in 0..nodes {
            for to in 0..nodes {
                let (present, bandwidth, uses) = links[from * 5 + to];
                if from != to && (present > 0 || to == from + 1) {
                    let uses = if uses { vec![shared] } else { Vec::new() };
                    let class = LinkClass { uses, ..LinkClass::affine(0.0, f64::from(bandwidth) * 1000.0) };
                    let class = builder.add_class(class);
                    let (from, to) = (NodeId(from as u32), NodeId(to as u32));
                    builder.add_link(ExplicitLink { from, to, both_ways: false, class }).unwrap();
                }
            }
        }
        builder.build().unwrap()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn equals_brute_force_under_every_port_model(platform in tiny()) {
        let exact = brute(&platform);
        let found = optimum(&platform, 1e-7);
        let close = |value: f64| (value - exact).abs() <= 2e-7 * exact;
        prop_assert!(close(found.throughput_bytes_per_s), "{} not {exact}", found.throughput_bytes_per_s);
        prop_assert!(close(found.upper_bound_bytes_per_s), "{} not {exact}", found.upper_bound_bytes_per_s);
        // The plan of those trees says the same as the solver.
        let trees = found.plan_trees();
        let plan = Plan::bcast(&platform, "optimal", NodeId(0), 1 << 40, SEGMENT, trees);
        let planned = throughput(&platform, &plan).unwrap();
        prop_assert!((planned / found.throughput_bytes_per_s - 1.0).abs() < 1e-9);
    }
}
