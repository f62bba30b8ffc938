//! Several ranks a node: plans go across nodes and then inside, so the wire is crossed once a node.

use broadleaf::budget::Budget;
use broadleaf::execute::threads;
use broadleaf::plan::Programs;
use broadleaf::planners::{supports, Instance, PLANNERS};
use broadleaf::platform::{LinkClass, Mesh, NodeId, PlatformBuilder, PortModel};
use broadleaf_mpi::rank_plan::inner_tree::inner_tree;
use broadleaf_mpi::rank_plan::{expand, Inside};
use broadleaf_mpi::topology::placement::{memory_link, Placement};
use std::collections::HashSet;

/// Four nodes with 3, 1, 2 and 4 ranks, dealt so that no node's ranks stand together.
const NODE_OF_RANK: [u32; 10] = [3, 0, 2, 3, 1, 0, 3, 2, 0, 3];

#[test]
fn every_plan_enters_each_node_once_a_tree() {
    let mut builder = PlatformBuilder::new("smp", PortModel::OnePort);
    let nodes: Vec<_> = (0..4).map(|node| builder.add_host(format!("n{node}")).unwrap()).collect();
    let class = builder.add_class(LinkClass::affine(50e-6, 125e6));
    builder.add_mesh(Mesh { nodes, class }).unwrap();
    let platform = builder.build().unwrap();
    let node_of_rank = NODE_OF_RANK.map(NodeId);
    let Placement { handled, ranks, .. } = Placement::on(&platform, &node_of_rank).unwrap();
    let message: Vec<u8> = (0..60_000u32).map(|at| (at * 7 + at / 256) as u8).collect();
    let mut plans = 0;
    for root in [0u32, 4, 9] {
        let bytes = message.len() as u64;
        let instance = Instance::new(&handled, node_of_rank[root as usize], bytes).unwrap().segmented(5000);
        for planner in PLANNERS.iter().filter(|planner| supports(**planner, &instance).is_ok()) {
            // A search may give up.
            let Ok(plan) = planner.plan(&instance, &Budget::UNLIMITED) else { continue };
            let inner = |count: usize| inner_tree(count, bytes, plan.segment_bytes);
            let inside = Inside { tree: &inner, link: &memory_link(), served: &|_| false };
            let ranked = expand(&plan, &handled, &ranks, root, &inside, false).unwrap();
            let name = planner.card().name;
            for tree in &ranked.plan.trees {
                let node = |rank: NodeId| node_of_rank[rank.index()];
                let across = tree.edges().filter(|&(from, to)| node(from) != node(to));
                let entered: Vec<NodeId> = across.map(|(_, to)| node(to)).collect();
                let distinct: HashSet<NodeId> = entered.iter().copied().collect();
                assert_eq!((entered.len(), distinct.len()), (3, 3), "{name} from rank {root}: {entered:?}");
            }
            let received = threads::run(&Programs::for_ranks(ranked.plan), &message).unwrap();
            assert!(received.iter().all(|buffer| *buffer == message), "{name} from rank {root}");
            plans += 1;
        }
    }
    assert!(plans > 60, "{plans} plans");
}
