//! A planner in one file: the guide "add a planner" in CONTRIBUTING.md, and a program that runs it.
//!
//! The Fibonacci tree: a node serves its first child, then both begin serving; every subtree is as large as
//! the two next smaller ones together, which suits a latency of about one transfer (the postal model with
//! λ = 2).
//!
//! Reference: Bar-Noy and Kipnis, *Designing broadcasting algorithms in the postal model for message-passing
//! systems*, 1992. Cost: about 1.44·log2(n) transfers. Complexity: O(n).
//!
//! Run it with `cargo run -p broadleaf --example own_planner`.

use broadleaf::budget::Budget;
use broadleaf::plan::{Plan, PlanError, TreeBuilder};
use broadleaf::planners::{Card, Instance, Planner, Profile, Unsupported};
use broadleaf::platform::NodeId;

pub struct Fibonacci;

static CARD: Card = Card {
    name: "fibonacci",
    summary: "every subtree is as large as the two next smaller ones together",
    reference: "Bar-Noy and Kipnis, Designing broadcasting algorithms in the postal model, 1992",
    objective: "makespan of short messages whose latency is about one transfer",
    guarantee: "optimal in the postal model with a latency of two sends",
    complexity: "O(n)",
    profile: Profile::QUICK,
};

impl Planner for Fibonacci {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, _: &Instance) -> Result<(), Unsupported> {
        Ok(())
    }

    fn plan(&self, instance: &Instance, _: &Budget) -> Result<Plan, PlanError> {
        let hosts = instance.hosts_from_root();
        // sizes[i] nodes can be reached within i sends.
        let mut sizes = vec![1, 1];
        while sizes[sizes.len() - 1] < hosts.len() {
            sizes.push(sizes[sizes.len() - 1] + sizes[sizes.len() - 2]);
        }
        let mut tree = TreeBuilder::new(instance.platform.node_count());
        serve(&mut tree, &sizes, &hosts);
        Ok(instance.tree_plan(CARD.name, tree))
    }
}

/// Hands the last of `nodes` to a child for as long as the first of them has some left.
fn serve(tree: &mut TreeBuilder, sizes: &[usize], nodes: &[NodeId]) {
    let mut left = nodes;
    let mut step = sizes.len() - 1;
    while left.len() > 1 {
        step -= 1;
        // By the time the child has its copy and begins, two sends have gone by, one for the parent itself.
        let kept = sizes[step].min(left.len() - 1);
        let (own, child) = left.split_at(kept);
        tree.add(nodes[0], child[0]);
        serve(tree, &sizes[..step], child);
        left = own;
    }
}

#[allow(dead_code)] // The conformance test takes the planner without the program.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = r#"{"format": "broadleaf-platform/1", "name": "eight", "port_model": "one-port",
        "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "d"}, {"id": "e"}],
        "meshes": [{"nodes": ["a", "b", "c", "d", "e"],
            "link": {"latency_s": 1e-4, "bandwidth_bytes_per_s": 1e7}}]}"#;
    let platform = broadleaf::platform::Platform::from_json(text)?;
    let root = platform.find("a").ok_or("no node a")?;
    let plan = Fibonacci.plan(&Instance::new(&platform, root, 1000)?, &Budget::UNLIMITED)?;
    let trace = broadleaf::simulate::simulate(&platform, &plan, false)?;
    println!("{}: {:.6} s", plan.planner, trace.makespan_s);
    Ok(())
}
