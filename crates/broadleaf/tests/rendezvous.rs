//! Plans whose receivers answer a request before each transfer.

use broadleaf::budget::Budget;
use broadleaf::plan::{Collective, Plan, PlanError, Protocol};
use broadleaf::planners::{find, plan_with, supports, Instance, PLANNERS};
use broadleaf::platform::{LinkClass, Mesh, NodeId, Platform, PlatformBuilder, PortModel};
use broadleaf::simulate::simulate;

/// Unit links.
fn mesh(nodes: usize, latency_s: f64) -> Platform {
    let mut builder = PlatformBuilder::new("mesh", PortModel::OnePort);
    let nodes = (0..nodes).map(|node| builder.add_host(format!("n{node}")).unwrap()).collect();
    let class = builder.add_class(LinkClass::affine(latency_s, 1.0));
    builder.add_mesh(Mesh { nodes, class }).unwrap();
    builder.build().unwrap()
}

fn makespan_s(platform: &Platform, plan: &Plan) -> Result<f64, PlanError> {
    Ok(simulate(platform, plan, false)?.makespan_s)
}

/// Each segment takes a request of a byte, an answer of a byte, and four bytes: the second request leaves at 7 s, the third
/// at 14 s, and the last byte arrives at 21.5 s.
#[test]
fn three_segments_take_three_handshakes() {
    let platform = mesh(2, 0.5);
    let instance = Instance::new(&platform, NodeId(0), 12).unwrap().segmented(4);
    let instance = Instance { protocol: Protocol::Rendezvous, ..instance };
    let plan = plan_with(find("round-robin").unwrap(), &instance, &Budget::UNLIMITED).unwrap();
    assert_eq!(makespan_s(&platform, &plan).unwrap(), 21.5);
}

/// With a period, a node that has sent ahead of its receiver's turn could not answer anybody.
#[test]
fn orders_do_not_block_each_other_over_several_periods() {
    let mut with_period = 0;
    for nodes in [2u32, 3, 4, 7, 8] {
        let platform = mesh(nodes as usize, 0.1);
        for (collective, planner) in
            Collective::ALL.into_iter().flat_map(|each| PLANNERS.iter().map(move |planner| (each, *planner)))
        {
            let instance = Instance::new(&platform, NodeId(nodes / 2), u64::from(3 * nodes + 2)).unwrap();
            let eager = Instance { collective, ..instance.segmented(1) };
            if supports(planner, &eager).is_err() {
                continue;
            }
            let name = planner.card().name;
            let asking = Instance { protocol: Protocol::Rendezvous, ..eager };
            let plan = plan_with(planner, &asking, &Budget::UNLIMITED).unwrap();
            let asking_s = makespan_s(&platform, &plan).unwrap_or_else(|error| panic!("{name}: {error}"));
            let eager_s =
                makespan_s(&platform, &plan_with(planner, &eager, &Budget::UNLIMITED).unwrap()).unwrap();
            assert!(asking_s > eager_s, "{name}, {nodes} nodes: {asking_s} s, without requests {eager_s} s");
            with_period += u32::from(plan.period.is_some() && plan.segment_count() > 1);
        }
    }
    assert!(with_period > 20, "{with_period} plans with a period");
}
