//! The proved shortest makespan, the searched one and the bound, against brute force and each other.

use broadleaf::budget::Budget;
use broadleaf::planners::clustered::{
    bound_s, flat_sends, makespan_s, search, solve, ClusterSend, Grid, SearchEffort, HEURISTICS,
};
use broadleaf::planners::{find, Instance};
use broadleaf::platform::generate::GapDraw;
use broadleaf::platform::{LocalStart, Platform};
use broadleaf::simulate::simulate;
use broadleaf_experiments::cluster_draws::{Draws, Strategy};
use serde_json::{json, Value};

const STARTS: [LocalStart; 2] = [LocalStart::AfterLastSend, LocalStart::OnArrival];

/// The least makespan of all send sequences.
fn brute_force_s(grid: &Grid) -> f64 {
    let others = (0..grid.len() as u32).filter(|&j| j as usize != grid.root()).collect();
    let mut best_s = f64::INFINITY;
    every_sequence(grid, &mut Vec::new(), &mut vec![grid.root() as u32], others, &mut best_s);
    best_s
}

fn every_sequence(
    grid: &Grid,
    sends: &mut Vec<ClusterSend>,
    holders: &mut Vec<u32>,
    waiting: Vec<u32>,
    best_s: &mut f64,
) {
    if waiting.is_empty() {
        *best_s = best_s.min(makespan_s(grid, sends));
        return;
    }
    for &to in &waiting {
        let rest: Vec<u32> = waiting.iter().copied().filter(|&other| other != to).collect();
        for at in 0..holders.len() {
            sends.push(ClusterSend { from: holders[at], to });
            holders.push(to);
            every_sequence(grid, sends, holders, rest.clone(), best_s);
            holders.pop();
            sends.pop();
        }
    }
}

fn draws(clusters: usize, seed: u64) -> impl Iterator<Item = Draws> {
    GapDraw::ALL
        .into_iter()
        .flat_map(move |gaps| STARTS.map(|local_start| Draws { clusters, gaps, local_start, seed }))
}

#[test]
fn exact_equals_brute_force() {
    for clusters in 1..=6 {
        let count = if clusters == 6 { 6 } else { 20 };
        for draws in draws(clusters, 17) {
            for index in 0..count {
                let grid = draws.grid(index);
                let proof = solve(&grid, 0, &Budget::UNLIMITED).unwrap();
                let (found_s, wanted_s) = (makespan_s(&grid, &proof.sends), brute_force_s(&grid));
                assert!(proof.proved);
                assert!((found_s - wanted_s).abs() < 1e-9, "{draws:?} {index}: {found_s}, not {wanted_s}");
                assert!(bound_s(&grid) <= wanted_s, "{draws:?} {index}");
            }
        }
    }
}

/// Equal links and whole numbers: many optima, ties in every bound.
#[test]
fn exact_equals_brute_force_where_everything_ties() {
    for clusters in 2..=6 {
        for variant in 0..12u32 {
            let number = |at: usize, most: u32| f64::from((at as u32 * 7 + variant * 5) % (most + 1));
            let gap: Vec<f64> = (0..clusters * clusters).map(|at| number(at, variant % 3)).collect();
            let latency: Vec<f64> = (0..clusters * clusters).map(|at| number(at + 1, variant % 2)).collect();
            let local: Vec<f64> = (0..clusters).map(|at| number(at, 4)).collect();
            for start in STARTS {
                let grid = Grid::from_matrices(&gap, &latency, &local, clusters - 1, start).unwrap();
                let proof = solve(&grid, 0, &Budget::UNLIMITED).unwrap();
                assert_eq!(makespan_s(&grid, &proof.sends), brute_force_s(&grid));
                assert!(proof.proved && bound_s(&grid) <= brute_force_s(&grid));
            }
        }
    }
}

#[test]
fn search_is_close_to_exact_and_never_behind_a_heuristic() {
    for clusters in [4, 7, 10, 16] {
        let (mut behind, mut proved) = (0.0, 0);
        for draws in draws(clusters, 23) {
            for index in 0..8 {
                let grid = draws.grid(index);
                let found =
                    search(&grid, &SearchEffort::usual(clusters, 0, &Budget::UNLIMITED), &Budget::UNLIMITED);
                let found_s = makespan_s(&grid, &found);
                assert_eq!(
                    found,
                    search(&grid, &SearchEffort::usual(clusters, 0, &Budget::UNLIMITED), &Budget::UNLIMITED),
                    "the same seed"
                );
                let proof = solve(&grid, 0, &Budget::UNLIMITED).unwrap();
                if proof.proved {
                    let least_s = makespan_s(&grid, &proof.sends);
                    behind += found_s / least_s - 1.0;
                    proved += 1;
                    assert!(found_s >= least_s * (1.0 - 1e-9));
                }
                assert!(bound_s(&grid) <= found_s);
            }
        }
        // The mark is for up to 10 clusters, on average.
        assert!(proved >= 90, "{clusters} clusters: {proved} proofs of 96");
        assert!(behind / f64::from(proved) <= 0.002, "{clusters} clusters: {behind} in {proved}");
    }
}

#[test]
fn search_beats_the_papers_seven_at_50_clusters() {
    let paper = Strategy::of_the_paper();
    assert_eq!(paper.len(), 7);
    // The marks, on a few draws with a third of the usual effort and a fixed seed.
    for (local_start, mark) in STARTS.into_iter().zip([0.06, 0.04]) {
        let draws = Draws { clusters: 50, gaps: GapDraw::Pair, local_start, seed: 1 };
        let mut gains = Vec::new();
        for index in 0..10 {
            let grid = draws.grid(index);
            let effort = SearchEffort { moves: 50_000, ..SearchEffort::usual(50, 0, &Budget::UNLIMITED) };
            let found_s = makespan_s(&grid, &search(&grid, &effort, &Budget::UNLIMITED));
            let best_s =
                paper.iter().map(|strategy| (strategy.makespan_s)(&grid)).fold(f64::INFINITY, f64::min);
            for heuristic in HEURISTICS {
                assert!(found_s <= makespan_s(&grid, &heuristic.sends(&grid)), "{}", heuristic.name());
            }
            assert!(found_s <= makespan_s(&grid, &flat_sends(&grid)) && bound_s(&grid) <= found_s);
            gains.push(1.0 - found_s / best_s);
        }
        let mean = gains.iter().sum::<f64>() / gains.len() as f64;
        assert!(mean >= mark, "{local_start:?}: {mean}");
    }
}

/// Draws are the paper's: the means that were found for "min" when the paper was read, within sampling error.
#[test]
fn draws_give_the_means_that_were_found_before() {
    let draws =
        Draws { clusters: 50, gaps: GapDraw::Min, local_start: LocalStart::AfterLastSend, seed: 2006 };
    let strategies = Strategy::of_the_paper();
    let rows = draws.makespans_s(400, &strategies);
    let wanted_s =
        [("flat", 15.353), ("fef", 7.361), ("ecef", 3.783), ("ecef-lat-max", 3.756), ("bottom-up", 4.377)];
    for (name, wanted_s) in wanted_s {
        let at = strategies.iter().position(|strategy| strategy.name == name).unwrap();
        let mean_s = rows.iter().map(|row| row[at]).sum::<f64>() / rows.len() as f64;
        assert!((mean_s / wanted_s - 1.0).abs() < 0.03, "{name}: {mean_s}, not {wanted_s}");
    }
}

/// A platform whose nodes stand for the clusters of a grid.
fn platform(grid: &Grid) -> Platform {
    let id = |cluster: usize| format!("c{cluster}");
    let nodes: Vec<Value> = (0..grid.len())
        .map(|cluster| json!({"id": id(cluster), "local_broadcast_s": grid.local_s(cluster)}))
        .collect();
    let mut links = Vec::new();
    for i in 0..grid.len() {
        for j in (0..grid.len()).filter(|&j| j != i) {
            links.push(json!({"from": id(i), "to": id(j), "latency_s": grid.latency_s(i, j),
                "gap": [[1, grid.gap_s(i, j)]]}));
        }
    }
    let document = json!({"format": "broadleaf-platform/1", "name": "grid", "port_model": "one-port",
        "local_start": grid.local_start().name(), "nodes": nodes, "links": links});
    Platform::from_json(&document.to_string()).unwrap()
}

#[test]
fn plans_take_as_long_as_the_model_says() {
    for clusters in [2, 5, 9] {
        for draws in draws(clusters, 3) {
            let grid = draws.grid(0);
            let platform = platform(&grid);
            let root = platform.find("c0").unwrap();
            let instance = Instance::new(&platform, root, 4 << 20).unwrap();
            let least_s = makespan_s(&grid, &solve(&grid, 0, &Budget::UNLIMITED).unwrap().sends);
            for name in ["exact", "makespan"] {
                let plan = find(name).unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
                let found_s = simulate(&platform, &plan, false).unwrap().makespan_s;
                assert!((found_s - least_s).abs() < 1e-9, "{name}: {found_s}, not {least_s}");
            }
        }
    }
}

#[test]
fn exact_declines_what_it_cannot_prove() {
    let grid =
        Draws { clusters: 60, gaps: GapDraw::Pair, local_start: LocalStart::AfterLastSend, seed: 1 }.grid(0);
    let platform = platform(&grid);
    let root = platform.find("c0").unwrap();
    let instance = Instance::new(&platform, root, 1 << 20).unwrap();
    let exact = find("exact").unwrap();
    let reason = exact.plan(&instance, &Budget::UNLIMITED).unwrap_err().to_string();
    assert!(reason.contains("60 hosts are more than the 16"), "{reason}");
    // With a time limit it runs, and reports if the time is too short.
    let hurried = Budget::within(std::time::Duration::ZERO);
    assert!(exact.supports(&instance).is_ok());
    let error = exact.plan(&instance, &hurried).unwrap_err().to_string();
    assert!(error.contains("no proof for 60 hosts") && error.contains("more time"), "{error}");
    assert!(solve(
        &Draws { clusters: 65, gaps: GapDraw::Pair, local_start: LocalStart::OnArrival, seed: 1 }.grid(0),
        0,
        &Budget::UNLIMITED
    )
    .is_none());
}
