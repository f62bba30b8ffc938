//! All-reduces: known optima, the bound, and what the checker refuses; bounds of collectives with blocks.

use broadleaf::budget::Budget;
use broadleaf::execute::{FlowWindow, Kind, NodeExecutor, Receive};
use broadleaf::optimum::allreduce_bound_s;
use broadleaf::plan::{check, Collective, Plan, Programs};
use broadleaf::planners::{find, plan_with, Instance};
use broadleaf::platform::{LinkClass, Mesh, NodeId, Platform, PlatformBuilder, PortModel};
use broadleaf::portfolio::{make, Effort, SegmentChoice};
use broadleaf::simulate::simulate;

/// Equal hosts, 1 byte/s in each direction.
fn mesh(count: usize, latency_s: f64) -> Platform {
    let mut builder = PlatformBuilder::new("mesh", PortModel::OnePort);
    let nodes: Vec<NodeId> = (0..count).map(|index| builder.add_host(format!("n{index}")).unwrap()).collect();
    let class = builder.add_class(LinkClass::affine(latency_s, 1.0));
    builder.add_mesh(Mesh { nodes, class }).unwrap();
    builder.build().unwrap()
}

fn allreduce(platform: &Platform, message_bytes: u64) -> Instance<'_> {
    let instance = Instance::new(platform, NodeId(0), message_bytes).unwrap();
    Instance { collective: Collective::Allreduce, ..instance }
}

/// Patarasuk and Yuan: 2·(n − 1)/n messages through each port, a lower bound of all all-reduces.
#[test]
fn the_ring_and_recursive_halving_reach_the_bound() {
    for hosts in 2..=9 {
        let platform = mesh(hosts, 0.0);
        let message_bytes = 840 * hosts as u64;
        let wanted_s = 2.0 * (hosts - 1) as f64 * 840.0;
        let bound_s = allreduce_bound_s(&platform, NodeId(0), message_bytes, &Budget::UNLIMITED);
        assert!((bound_s / wanted_s - 1.0).abs() < 1e-6, "{hosts} hosts: {bound_s} s, not {wanted_s} s");
        for name in ["ring", "recursive-doubling", "bruck", "circulant", "bine"] {
            if ["recursive-doubling", "bine"].contains(&name) && !hosts.is_power_of_two() {
                continue;
            }
            let instance = allreduce(&platform, message_bytes);
            let plan = plan_with(find(name).unwrap(), &instance, &Budget::UNLIMITED).unwrap();
            let trace = simulate(&platform, &plan, false).unwrap();
            assert!((trace.makespan_s / wanted_s - 1.0).abs() < 1e-9, "{name}: {} s", trace.makespan_s);
        }
    }
}

/// Five hosts, blocks of 100 bytes at 1 byte/s, 50 s of latency. Whole blocks take four hops of 150 s. In two segments a host
/// sends without a pause, and the last segment, begun at 350 s, arrives at 450 s; no more segments end the hops sooner.
#[test]
fn a_ring_passes_on_one_segment_while_the_next_one_comes() {
    let platform = mesh(5, 50.0);
    let blocks = Instance { collective: Collective::Allgather, ..allreduce(&platform, 100) };
    for (segment_bytes, wanted_s) in [(100, 600.0), (50, 450.0)] {
        let plan = plan_with(find("ring").unwrap(), &blocks.segmented(segment_bytes), &Budget::UNLIMITED);
        let trace = simulate(&platform, &plan.unwrap(), false).unwrap();
        assert!((trace.makespan_s - wanted_s).abs() < 1e-9, "{segment_bytes}: {} s", trace.makespan_s);
    }
    let chosen = |instance: &Instance| {
        let made = make(instance, "ring", SegmentChoice::Auto, Effort::Quick, &Budget::UNLIMITED);
        made.unwrap().plan.segment_bytes
    };
    assert_eq!(chosen(&blocks), 50);
    // An all-reduce's segments are those of its blocks, a fifth of the message.
    assert_eq!(chosen(&allreduce(&platform, 500)), 50);
}

/// Beyond 256 hosts the lags of a round each would be longer than what they save.
#[test]
fn a_ring_of_many_hosts_passes_on_whole_blocks() {
    for (hosts, longest_lag) in [(256, 254), (257, 0)] {
        let platform = mesh(hosts, 1.0);
        let instance = Instance { collective: Collective::Allgather, ..allreduce(&platform, 1 << 10) };
        let made = make(&instance, "ring", SegmentChoice::Auto, Effort::Quick, &Budget::UNLIMITED).unwrap();
        let period = made.plan.period.as_ref().unwrap();
        assert_eq!(period.slots.iter().map(|slot| slot.lag).max(), Some(longest_lag));
        assert_eq!(check::faults(&platform, &made.plan), [""; 0]);
    }
}

/// `flat` plans all-gathers under multi-port only; elsewhere its all-reduce is a reduction and a broadcast.
#[test]
fn an_all_reduce_is_made_of_the_first_half_that_the_planner_supports() {
    for (port_model, trees, block_bytes) in [("multi-port", 4, Some(25)), ("one-port", 1, None)] {
        let text = mesh(4, 0.0).to_json().to_string().replace("one-port", port_model);
        let platform = Platform::from_json(&text).unwrap();
        let plan = plan_with(find("flat").unwrap(), &allreduce(&platform, 100), &Budget::UNLIMITED).unwrap();
        assert_eq!((plan.trees.len(), plan.block_bytes()), (trees, block_bytes), "{port_model}");
        assert_eq!(check::faults(&platform, &plan), [""; 0]);
    }
}

/// By hand: a host of four has a block from each of the others to combine, then one result from each to take. In a chain, an
/// inner host takes both from the beginning.
#[test]
fn results_are_taken_when_all_contributions_have_come_if_no_host_passes_anything_on() {
    let text = mesh(4, 0.0).to_json().to_string().replace("one-port", "multi-port");
    let platform = Platform::from_json(&text).unwrap();
    let started = |name: &str| {
        let plan = plan_with(find(name).unwrap(), &allreduce(&platform, 100), &Budget::UNLIMITED).unwrap();
        let programs = Programs::for_platform(&plan, &platform).unwrap();
        let window = FlowWindow { messages: 1, shares_port: false, feeds: 1, last_alone: false };
        let mut executor = NodeExecutor::new(&programs, NodeId(2), |_| window);
        executor.post_ahead(1);
        executor
    };
    let posted = |executor: &mut NodeExecutor| -> Vec<Receive> {
        std::iter::from_fn(|| executor.poll_receive()).collect()
    };
    let senders = |receives: &[Receive], combines: bool| -> Vec<u32> {
        let mut found: Vec<u32> = receives
            .iter()
            .filter(|receive| receive.item.combines == combines)
            .map(|receive| receive.from.0)
            .collect();
        found.sort_unstable();
        found
    };
    let mut flat = started("flat");
    let contributions = posted(&mut flat);
    assert_eq!((senders(&contributions, true), senders(&contributions, false)), (vec![0, 1, 3], vec![]));
    for (at, receive) in contributions.iter().enumerate() {
        assert_eq!(posted(&mut flat), [], "after {at} contributions");
        flat.handle_received(receive.from, Kind::Data, receive.item.tag, receive.item.segment);
    }
    let results = posted(&mut flat);
    assert_eq!((senders(&results, true), senders(&results, false)), (vec![], vec![0, 1, 3]));
    let mut chain = started("chain");
    let both = posted(&mut chain);
    assert_eq!((senders(&both, true), senders(&both, false)), (vec![3], vec![1]));
}

/// A chain in and out again: inner hosts send every segment both ways through one port, 2 s each; by tree order they wait for
/// each other at times.
#[test]
fn a_chain_goes_in_and_out_again() {
    let platform = mesh(4, 0.25);
    let instance = allreduce(&platform, 100).segmented(1);
    let plan = plan_with(find("chain").unwrap(), &instance, &Budget::UNLIMITED).unwrap();
    let trace = simulate(&platform, &plan, false).unwrap();
    assert!((200.0..300.0).contains(&trace.makespan_s), "{} s", trace.makespan_s);
    assert_eq!(trace.transfer_count, 600);
}

#[test]
fn best_plans_all_reduces_and_says_how_near_the_bound() {
    for hosts in [1, 2, 3, 8] {
        let platform = mesh(hosts, 0.01);
        let instance = allreduce(&platform, 100_000);
        let made =
            make(&instance, "best", SegmentChoice::Auto, Effort::Thorough, &Budget::UNLIMITED).unwrap();
        assert_eq!(check::faults(&platform, &made.plan), [""; 0]);
        let (makespan_s, bound_s) =
            (made.plan.predicted.makespan_s.unwrap(), made.plan.predicted.bound_s.unwrap());
        assert!(
            bound_s <= makespan_s && makespan_s <= bound_s * 1.01,
            "{hosts}: {makespan_s} s, {bound_s} s"
        );
        let read = Plan::from_json(&made.plan.to_json().to_string()).unwrap();
        assert_eq!(read.to_json(), made.plan.to_json());
    }
}

fn faults(inward: &str, outward: &str, rest: &str) -> String {
    let text = format!(
        r#"{{"format": "broadleaf-plan/1", "collective": "allreduce", "root": "n0", "message_bytes": 4,
            "segment_bytes": 1, "inward": {inward}, "outward": {outward}{rest}}}"#
    );
    check::faults(&mesh(3, 0.0), &Plan::from_json(&text).unwrap()).join("; ")
}

#[test]
fn halves_that_do_not_meet_are_faults() {
    let star = r#"[{"children": {"n0": ["n1", "n2"]}}]"#;
    let chain = r#"[{"children": {"n0": ["n1"], "n1": ["n2"]}}]"#;
    assert_eq!(faults(chain, star, ""), "");
    let lost = faults(r#"[{"children": {"n0": ["n1"]}}]"#, star, "");
    assert!(lost.contains("tree 0, inward: \"n2\" never gives its contribution"), "{lost}");
    let apart = faults(r#"[{"root": "n1", "children": {"n1": ["n0", "n2"]}}]"#, star, "");
    assert!(apart.contains("another root"), "{apart}");
    assert!(faults("[]", star, "").contains("0 inward trees beside 1"));
    let half = r#"[{"share": 0.5, "children": {"n0": ["n1", "n2"]}}]"#;
    assert!(faults(half, star, "").contains("has share 1, but 0.5 inward"));
    let order = r#", "period": {"segments": 1, "slots": [[0, "n2", "n1", 0], [0, "n1", "n0", 0], [1, "n0", "n1", 0],
        [1, "n0", "n2", 0]]}"#;
    assert_eq!(faults(chain, star, order), "");
    // The way out cannot come before the way in: n1 has one port, and takes what it waits for last.
    let circle = r#", "period": {"segments": 1, "slots": [[1, "n0", "n1", 0], [0, "n2", "n1", 0], [0, "n1", "n0", 0],
        [1, "n0", "n2", 0]]}"#;
    assert!(faults(chain, star, circle).contains("waits for ever"), "{}", faults(chain, star, circle));
    let inward_twice = r#", "period": {"segments": 1, "slots": [[0, "n2", "n1", 0], [0, "n1", "n0", 0]]}"#;
    assert!(faults(chain, star, inward_twice).contains("none of the trees"));
}

/// Two clusters of four, joined by a pipe of 1 byte/s: every block for the other side goes through it.
#[test]
fn blocks_cross_a_shared_pipe_one_by_one() {
    let text = r#"{"format": "broadleaf-platform/1", "name": "two clusters", "port_model": "one-port",
        "nodes": [{"id": "a0", "cluster": "A"}, {"id": "a1", "cluster": "A"}, {"id": "a2", "cluster": "A"},
            {"id": "a3", "cluster": "A"}, {"id": "b0", "cluster": "B"}, {"id": "b1", "cluster": "B"},
            {"id": "b2", "cluster": "B"}, {"id": "b3", "cluster": "B"}],
        "shared": [{"id": "east", "bandwidth_bytes_per_s": 1}, {"id": "west", "bandwidth_bytes_per_s": 1}],
        "meshes": [{"nodes": ["a0", "a1", "a2", "a3"], "link": {"bandwidth_bytes_per_s": 100}},
            {"nodes": ["b0", "b1", "b2", "b3"], "link": {"bandwidth_bytes_per_s": 100}}],
        "bridges": [{"from_cluster": "A", "to_cluster": "B", "link": {"bandwidth_bytes_per_s": 1, "uses": ["east"]}},
            {"from_cluster": "B", "to_cluster": "A", "link": {"bandwidth_bytes_per_s": 1, "uses": ["west"]}}]}"#;
    let platform = Platform::from_json(text).unwrap();
    for collective in Collective::ALL {
        let instance = Instance { collective, ..Instance::new(&platform, NodeId(1), 100).unwrap() };
        let made =
            make(&instance, "best", SegmentChoice::Auto, Effort::Quick, &Budget::UNLIMITED).unwrap().plan;
        let least_s = match collective {
            Collective::Bcast | Collective::Reduce | Collective::Allreduce => 100.0,
            _ => 400.0,
        };
        let (makespan_s, bound_s) = (made.predicted.makespan_s.unwrap(), made.predicted.bound_s.unwrap());
        assert!(bound_s >= least_s * (1.0 - 1e-6), "{collective}: {bound_s} s");
        assert!(makespan_s >= bound_s, "{collective}: {makespan_s} s, bound {bound_s} s");
    }
}

/// Three sites of four hosts. A byte of the result crosses to another site at least twice for each of two sites, so the
/// three pipes in carry 4/3 messages each at the least.
#[test]
fn roots_at_each_site_in_turn_share_the_pipes() {
    let ids = |site: usize| (0..4).map(|host| format!(r#""{site}-{host}""#)).collect::<Vec<_>>().join(", ");
    let nodes = (0..12).map(|host| {
        format!(
            r#"{{"id": "{}-{}", "cluster": "c{}", "site": "s{}"}}"#,
            host / 4,
            host % 4,
            host / 4,
            host / 4
        )
    });
    let pipe = |site: usize| format!(r#"{{"id": "into-{site}", "bandwidth_bytes_per_s": 10}}"#);
    let mesh =
        |site: usize| format!(r#"{{"nodes": [{}], "link": {{"bandwidth_bytes_per_s": 1000}}}}"#, ids(site));
    let pairs = (0..9).filter(|pair| pair / 3 != pair % 3);
    let bridge = |pair: usize| {
        format!(
            r#"{{"from_cluster": "c{}", "to_cluster": "c{}",
                "link": {{"bandwidth_bytes_per_s": 1000, "uses": ["into-{}"]}}}}"#,
            pair / 3,
            pair % 3,
            pair % 3
        )
    };
    let list = |items: Vec<String>| items.join(", ");
    let text = format!(
        r#"{{"format": "broadleaf-platform/1", "name": "three sites", "port_model": "one-port", "nodes": [{}],
            "shared": [{}], "meshes": [{}], "bridges": [{}]}}"#,
        list(nodes.collect()),
        list((0..3).map(pipe).collect()),
        list((0..3).map(mesh).collect()),
        list(pairs.map(bridge).collect())
    );
    let platform = Platform::from_json(&text).unwrap();
    let instance = allreduce(&platform, 3000).segmented(10);
    let plan = plan_with(find("site-trees").unwrap(), &instance, &Budget::UNLIMITED).unwrap();
    assert_eq!(check::faults(&platform, &plan), [""; 0]);
    let mut carried = [0.0; 3];
    for (is_inward, tree) in
        plan.inward.iter().map(|tree| (true, tree)).chain(plan.trees.iter().map(|tree| (false, tree)))
    {
        for (parent, child) in tree.edges() {
            let (from, to) = if is_inward { (child, parent) } else { (parent, child) };
            if from.index() / 4 != to.index() / 4 {
                carried[to.index() / 4] += tree.share;
            }
        }
    }
    carried.into_iter().for_each(|messages| assert!((messages - 4.0 / 3.0).abs() < 1e-9, "{messages}"));
    // 400 s less the second for which a pipe is held after the last arrival.
    let makespan_s = simulate(&platform, &plan, false).unwrap().makespan_s;
    assert!(
        (399.0..460.0).contains(&makespan_s),
        "{makespan_s} s for 4000 bytes through each pipe of 10 bytes/s"
    );
}

/// Five sites of eight hosts, 5 ms apart, so that all roots are at one site. A head there sends its tree to four other heads
/// and into its site: with two trees that is half of a message for each, three messages from one port.
#[test]
fn no_head_between_sites_sends_more_than_two_messages() {
    let nodes =
        (0..40).map(|host| format!(r#"{{"id": "h{host}", "cluster": "C{0}", "site": "S{0}"}}"#, host / 8));
    let mesh = |site: usize| {
        let hosts: Vec<String> = (0..8).map(|host| format!(r#""h{}""#, 8 * site + host)).collect();
        format!(
            r#"{{"nodes": [{}], "link": {{"bandwidth_bytes_per_s": 125e6, "latency_s": 5e-5}}}}"#,
            hosts.join(", ")
        )
    };
    let pairs = (0..5).flat_map(|from| (0..5).filter(move |&to| to != from).map(move |to| (from, to)));
    let bridge = |(from, to)| {
        format!(
            r#"{{"from_cluster": "C{from}", "to_cluster": "C{to}",
                "link": {{"bandwidth_bytes_per_s": 125e6, "latency_s": 5e-3}}}}"#
        )
    };
    let list = |items: Vec<String>| items.join(", ");
    let text = format!(
        r#"{{"format": "broadleaf-platform/1", "name": "five sites", "port_model": "one-port",
            "nodes": [{}], "meshes": [{}], "bridges": [{}]}}"#,
        list(nodes.collect()),
        list((0..5).map(mesh).collect()),
        list(pairs.map(bridge).collect())
    );
    let platform = Platform::from_json(&text).unwrap();
    let instance = allreduce(&platform, 1 << 20).segmented(4 << 10);
    let plan = plan_with(find("site-trees").unwrap(), &instance, &Budget::UNLIMITED).unwrap();
    assert_eq!(check::faults(&platform, &plan), [""; 0]);
    let roots: std::collections::HashSet<usize> =
        plan.trees.iter().map(|tree| plan.root_of(tree).index() / 8).collect();
    assert_eq!(roots.len(), 1);
    for host in platform.hosts() {
        let sent: f64 = plan.trees.iter().map(|tree| tree.share * tree.children(host).len() as f64).sum();
        assert!(sent <= 2.0 + 1e-9, "{host:?} sends {sent} messages outward");
    }
}
