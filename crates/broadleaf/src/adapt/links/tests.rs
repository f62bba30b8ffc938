//! Estimates from samples worked by hand.

use super::*;
use crate::platform::{Bridge, LinkClass, Mesh, Node, PlatformBuilder, PortModel};

/// Three clusters of two at 100 bytes/s, one second apart.
fn base() -> Arc<Platform> {
    let mut builder = PlatformBuilder::new("three", PortModel::OnePort);
    let class = builder.add_class(LinkClass::affine(1.0, 100.0));
    let clusters = ["A", "B", "C"].map(|name| builder.cluster(name));
    for cluster in clusters {
        let nodes = [0, 1].map(|at| {
            let id = format!("{cluster}-{at}");
            builder.add_node(Node { id, cluster: Some(cluster), ..Node::default() }).unwrap()
        });
        builder.add_mesh(Mesh { nodes: nodes.to_vec(), class }).unwrap();
    }
    for (from, to) in [(0, 1), (0, 2), (1, 2)] {
        let (from, to) = (clusters[from], clusters[to]);
        builder.add_bridge(Bridge { from, to, both_ways: true, class }).unwrap();
    }
    Arc::new(builder.build().unwrap())
}

fn sample(from: u32, to: u32, seconds: f64, at_s: f64) -> Sample {
    let (from, to) = (NodeId(from), NodeId(to));
    Sample { from, to, bytes: 1000, seconds, expected_s: None, at_s, origin: Origin::Passive }
}

#[test]
fn a_drift_begins_and_ends_with_the_second_sample_that_agrees() {
    let mut links = LinkEstimates::new(base());
    assert!(!links.observe(&sample(0, 2, 11.0, 1.0)), "10 % is no drift");
    assert!(!links.observe(&sample(0, 2, 50.0, 2.0)), "one alone may be a hiccup");
    assert_eq!(links.doubts().len(), 1);
    assert!(!links.observe(&sample(0, 2, 10.0, 3.0)));
    assert_eq!((links.doubts().len(), links.version()), (0, 0), "it was one");
    assert!(!links.observe(&sample(0, 2, 50.0, 4.0)));
    assert!(links.observe(&sample(1, 3, 45.0, 5.0)), "another pair of nodes of the same clusters agrees");
    let pair = links.pair(NodeId(0), NodeId(2));
    // The geometric mean of 10/50 and 10/45.
    let factor = 10.0 / 2250.0f64.sqrt();
    assert!((links.factor(pair) - factor).abs() < 1e-12);
    let slow = links.platform();
    let class = slow.link(NodeId(0), NodeId(3)).unwrap();
    assert!((slow.transfer_s(class, 1000) - 10.0 / factor).abs() < 1e-9);
    assert_eq!(slow.shared().len(), 1, "its links are taken for one pipe");
    assert_eq!(slow.link(NodeId(2), NodeId(0)).map(|class| slow.transfer_s(class, 1000)), Some(10.0));
    assert!(!links.observe(&sample(0, 2, 10.0, 6.0)));
    assert!(links.observe(&sample(0, 2, 10.5, 7.0)));
    assert_eq!(links.drifts().count(), 0);
    assert!(Arc::ptr_eq(links.platform(), links.base()), "back to what was measured, exactly");
}

#[test]
fn what_may_be_slow_too_is_probed_first_and_what_no_plan_uses_next() {
    let mut links = LinkEstimates::new(base());
    for at_s in [1.0, 2.0] {
        links.observe(&sample(0, 2, 100.0, at_s));
    }
    let slow = links.pair(NodeId(0), NodeId(2));
    // All pairs of different clusters touch A or B; the drifted one itself is settled.
    assert_eq!(links.doubts().len(), 5);
    let order = links.probe_order(|_| false);
    assert_eq!(order.len(), 9);
    assert!(order[..5].iter().all(|pair| pair.from != pair.to && *pair != slow));
    assert_eq!(order[5], slow);
    assert_ne!(links.probe_order(|pair| pair == slow)[5], slow, "the plan itself watches it");
    for pair in links.doubts().collect::<Vec<_>>() {
        let (from, to) = links.representatives(pair).unwrap();
        links.observe(&sample(from.0, to.0, 10.0, 3.0));
    }
    assert_eq!(links.doubts().len(), 0);
    assert_eq!(links.drifts().count(), 1);
}

#[test]
fn a_latency_changes_and_comes_back_with_the_second_probe_that_agrees() {
    let mut links = LinkEstimates::new(base());
    let (from, to) = (NodeId(0), NodeId(2));
    // Measured: 1 s. Less than a fifth more is no change, and one probe may be an outlier.
    assert!(!links.observe_latency(from, to, 1.19, 1.0) && links.doubts().len() == 0);
    assert!(!links.observe_latency(from, to, 3.0, 2.0) && links.doubts().len() == 1);
    // A transfer at the usual rate is no evidence of it: the link stays in doubt.
    assert!(!links.observe(&sample(0, 2, 10.0, 2.5)) && links.doubts().len() == 1);
    assert!(links.observe_latency(from, to, 3.2, 3.0));
    let pair = links.pair(from, to);
    assert!((links.added_latency_s(pair) - 2.1).abs() < 1e-12 && links.factor(pair) == 1.0);
    assert!(links.drifts().all(|drift| drift.is_worse()));
    let long = links.platform();
    let class = long.link(NodeId(1), NodeId(3)).unwrap();
    assert!((long.class(class).latency_s - 3.1).abs() < 1e-12);
    assert_eq!((long.transfer_s(class, 1000), long.shared().len()), (10.0, 0), "its rate is what it was");
    // A load begins and ends; then the latency is the measured one again.
    assert!(!links.observe(&sample(0, 2, 50.0, 4.0)) && links.observe(&sample(0, 2, 50.0, 5.0)));
    assert_eq!(links.drifts().count(), 1);
    assert!(!links.observe(&sample(0, 2, 10.0, 6.0)) && links.observe(&sample(0, 2, 10.0, 7.0)));
    assert!(!links.observe_latency(from, to, 1.0, 8.0) && links.observe_latency(from, to, 1.0, 9.0));
    assert!(Arc::ptr_eq(links.platform(), links.base()));
    for latency_s in [f64::NAN, -1.0, f64::INFINITY] {
        assert!(!links.observe_latency(from, to, latency_s, 10.0));
    }
    assert!(
        !links.observe_latency(from, NodeId(99), 5.0, 10.0) && !links.observe_latency(from, from, 5.0, 10.0)
    );
}

#[test]
fn a_slow_host_slows_its_own_links_inside_a_cluster_and_no_others() {
    let mut builder = PlatformBuilder::new("one", PortModel::OnePort);
    let class = builder.add_class(LinkClass::affine(1.0, 100.0));
    let cluster = Some(builder.cluster("A"));
    let node = |at| Node { id: format!("n{at}"), cluster, ..Node::default() };
    let nodes: Vec<NodeId> = (0..4).map(|at| builder.add_node(node(at)).unwrap()).collect();
    builder.add_mesh(Mesh { nodes, class }).unwrap();
    let mut links = LinkEstimates::new(Arc::new(builder.build().unwrap()));
    assert_eq!(links.pairs().len(), 1, "one link of a cluster is watched");
    // A broadcast's two halves each; n1 sends at half its rate.
    for (from, to, seconds) in [(0, 1, 10.0), (1, 2, 20.0), (1, 3, 20.0), (0, 2, 10.0)] {
        for _ in 0..2 {
            links.observe(&sample(from, to, seconds, 1.0));
        }
    }
    let slow: Vec<(u32, u32)> = links
        .drifts()
        .map(|drift| links.representatives(drift.pair).unwrap())
        .map(|(from, to)| (from.0, to.0))
        .collect();
    assert_eq!(slow, [(1, 2), (1, 3)]);
    let now = links.platform();
    let seconds = |from: u32, to: u32| now.transfer_s(now.link(NodeId(from), NodeId(to)).unwrap(), 1000);
    assert_eq!((seconds(1, 2), seconds(1, 3), seconds(1, 0), seconds(0, 1)), (20.0, 20.0, 10.0, 10.0));
    assert_eq!(
        now.shared().iter().map(|shared| shared.id.as_str()).collect::<Vec<_>>(),
        ["slowed out of n1"]
    );
    assert!(links.probe_order(|_| false).contains(&links.pair(NodeId(1), NodeId(3))));
}

#[test]
fn one_pipe_stands_at_the_end_that_more_slow_links_share() {
    let mut links = LinkEstimates::new(base());
    for (from, to) in [(0, 4), (2, 4), (0, 4), (2, 4)] {
        links.observe(&sample(from, to, 50.0, 1.0));
    }
    let names: Vec<&str> = links.platform().shared().iter().map(|shared| shared.id.as_str()).collect();
    assert_eq!(names, ["slowed into C"]);
    assert_eq!(links.platform().shared()[0].bandwidth_bytes_per_s, 20.0);
}

#[test]
fn slow_links_of_a_cluster_carry_what_they_have_carried_together() {
    let mut links = LinkEstimates::new(base());
    let rates = |rate| [(0, 4, rate), (1, 5, rate), (0, 1, 90.0)].map(|(u, v, r)| (NodeId(u), NodeId(v), r));
    let pipe = |links: &LinkEstimates| links.platform().shared()[0].bandwidth_bytes_per_s;
    links.observe_together(&rates(100.0));
    assert_eq!(links.version(), 0, "nothing is slow");
    for _ in 0..2 {
        links.observe(&sample(0, 4, 50.0, 1.0));
    }
    assert_eq!(pipe(&links), 20.0, "what was carried before is forgotten");
    links.observe_together(&rates(18.0));
    assert_eq!((pipe(&links), links.version()), (36.0, 2));
    links.observe_together(&rates(20.0));
    assert_eq!((pipe(&links), links.version()), (36.0, 2), "a tenth more changes no plan");
    links.observe_together(&[(NodeId(0), NodeId(99), 900.0), (NodeId(0), NodeId(4), f64::NAN)]);
    assert_eq!(pipe(&links), 36.0);
    // A further drift: 10 bytes/s each.
    for _ in 0..2 {
        links.observe(&sample(0, 4, 100.0, 2.0));
    }
    assert_eq!(pipe(&links), 10.0);
}

#[test]
fn what_says_nothing_is_left_out() {
    let mut links = LinkEstimates::new(base());
    let good = sample(0, 2, 100.0, 1.0);
    let bad = [
        Sample { seconds: 0.0, ..good },
        Sample { seconds: f64::NAN, ..good },
        Sample { seconds: -1.0, ..good },
        Sample { to: NodeId(0), ..good },
        Sample { to: NodeId(99), ..good },
        Sample { bytes: 0, ..good },
    ];
    for sample in bad.iter().chain(&bad) {
        assert!(!links.observe(sample), "{sample:?}");
    }
    assert_eq!((links.version(), links.doubts().len()), (0, 0));
}
