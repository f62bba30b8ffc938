//! Segments of other sizes for the fastest plans.

use super::*;

/// In a chain of two sites, segments of 32 instead of 16 KiB add less than 3 % to the time of 4 MiB; those of 16 instead of 8 KiB add
/// more to the time of 1 MiB.
#[test]
fn segments_are_lengthened_while_half_the_messages_make_up_for_it() {
    let platform = two_sites();
    let placement = on_all_hosts(&platform);
    let ports = SharedPorts::new(&placement);
    for (bytes, lengthened, step) in [(1 << 20, 8 << 10, 16 << 10), (4 << 20, 32 << 10, 32 << 10)] {
        let instance = instance(&placement, Collective::Bcast, bytes);
        let chain = |bytes: u64| planned(&instance, "chain", bytes, &Budget::UNLIMITED).unwrap();
        assert_eq!(refined(&instance, &ports, &chain(2 << 10), false).segment_bytes, lengthened);
        let added = seconds(&ports, &chain(step)) / seconds(&ports, &chain(step / 2)) - 1.0;
        assert!(added > 0.0 && (added < 0.03) == (lengthened == step), "{added}");
    }
}

/// Among equal hosts, a ring takes as long in shorter segments and with skips, but for rounding.
#[test]
fn plans_are_not_refined_for_a_rounding_error() {
    let link = broadleaf::platform::LinkClass::affine(50e-6, 125e6);
    let platform = crate::test_platforms::equal_hosts(16, broadleaf::platform::PortModel::OnePort, link);
    let placement = on_all_hosts(&platform);
    let instance = instance(&placement, Collective::Allreduce, 1 << 20);
    let ports = SharedPorts::new(&placement);
    let ring = planned(&instance, "ring", 32 << 10, &Budget::UNLIMITED).unwrap();
    let ring = Plan { period: None, ..ring };
    let taken_s = seconds(&ports, &ring);
    let timed = |taken_s: f64, skip_busy: bool| {
        let plan = Plan { skip_busy, ..ring.clone() };
        Timed { taken_s, messages: 1.0, work: 0, plan, planned_bytes: 32 << 10, is_cut: false }
    };
    let skips = |part: f64| {
        let timed = vec![timed(taken_s, false), timed(part * taken_s, true)];
        choice_of(&instance, &ports, WORK, timed).fastest().skip_busy
    };
    assert!(!skips(1.0 - 1e-9) && skips(0.99));
    assert_eq!(refined(&instance, &ports, &ring, true), ring);
}

#[test]
fn segments_are_halved_further_in_simulated_time() {
    let platform = two_sites();
    let placement = on_all_hosts(&platform);
    let instance = instance(&placement, Collective::Bcast, 1 << 20);
    let ports = SharedPorts::new(&placement);
    let half_of = |segment_bytes: u64, is_simulated: bool| {
        let plan = planned(&instance, "chain", segment_bytes, &Budget::UNLIMITED).unwrap();
        let from =
            Timed { taken_s: 1.0, messages: 1.0, work: 0, plan, planned_bytes: segment_bytes, is_cut: false };
        let choice = Choice { is_simulated, ..choice_of(&instance, &ports, WORK, Vec::new()) };
        choice.in_half(&from).map(|half| half.segment_bytes)
    };
    assert_eq!([4 << 10, 2 << 10].map(|bytes| half_of(bytes, false)), [Some(2 << 10), None]);
    assert_eq!(
        [3 << 10, 2 << 10, 1 << 10].map(|bytes| half_of(bytes, true)),
        [Some(2 << 10), Some(1 << 10), None]
    );
}

/// From 2 KiB to 1 KiB, a chain of sixteen hosts gains fourteen times 8 µs: of 64 KiB much, of 4 MiB little.
#[test]
fn segments_below_the_usual_least_have_to_gain() {
    let ids: Vec<_> = (0..16).map(|at| format!("h{at}")).collect();
    let nodes: Vec<_> = ids.iter().map(|id| json!({"id": id})).collect();
    let link = json!({"latency_s": 1e-7, "bandwidth_bytes_per_s": 125e6});
    let document = json!({
        "format": "broadleaf-platform/1", "name": "equal", "port_model": "one-port", "handling_s": 0.0,
        "nodes": nodes, "meshes": [{"nodes": ids, "link": link}],
    });
    let platform = Platform::from_json(&document.to_string()).unwrap();
    let placement = on_all_hosts(&platform);
    let ports = SharedPorts::new(&placement);
    let segment_bytes = |bytes: u64| {
        let instance = instance(&placement, Collective::Bcast, bytes);
        let plan = planned(&instance, "chain", 2 << 10, &Budget::UNLIMITED).unwrap();
        let timed = Timed {
            taken_s: seconds(&ports, &plan),
            messages: 1.0,
            work: 0,
            plan,
            planned_bytes: 2 << 10,
            is_cut: false,
        };
        let mut choice = choice_of(&instance, &ports, WORK, vec![timed]);
        choice.shorten_segments(vec![0], |_, fastest_s| WORTH_REFINING * fastest_s);
        choice.timed.last().unwrap().plan.segment_bytes
    };
    assert_eq!([64 << 10, 4 << 20].map(segment_bytes), [1 << 10, 2 << 10]);
}

#[test]
fn of_about_equal_plans_the_one_with_the_least_work_is_refined_first() {
    let platform = two_sites();
    let placement = on_all_hosts(&platform);
    let instance = instance(&placement, Collective::Bcast, 1 << 20);
    let ports = SharedPorts::new(&placement);
    let plan = planned(&instance, "chain", 64 << 10, &Budget::UNLIMITED).unwrap();
    let timed = [(1.0, 100), (1.02, 50), (1.05, 1)].map(|(taken_s, work)| Timed {
        taken_s,
        messages: 1.0,
        work,
        plan: plan.clone(),
        planned_bytes: 64 << 10,
        is_cut: false,
    });
    let choice = choice_of(&instance, &ports, WORK, timed.to_vec());
    assert_eq!(choice.next_of(&[2, 1, 0]), Some(1));
    assert_eq!(choice.next_of(&[2, 0]), Some(1));
    assert_eq!(choice.next_of(&[2]), Some(0));
    assert_eq!(choice.next_of(&[]), None);
}

/// With too little work to simulate half the size.
#[test]
fn plans_whose_shorter_segments_take_too_long_to_simulate_are_marked() {
    let platform = two_sites();
    let placement = on_all_hosts(&platform);
    let instance = instance(&placement, Collective::Bcast, 1 << 20);
    let ports = SharedPorts::new(&placement);
    let plan = planned(&instance, "chain", 64 << 10, &Budget::UNLIMITED).unwrap();
    let is_cut = |work: u64, left: u64| {
        let timed = vec![Timed {
            taken_s: 1.0,
            messages: 1.0,
            work,
            plan: plan.clone(),
            planned_bytes: 8 << 10,
            is_cut: false,
        }];
        let mut choice = choice_of(&instance, &ports, left, timed);
        choice.shorten_segments(vec![0], |from, _| from.taken_s);
        choice.timed[0].is_cut
    };
    assert!(is_cut(100, 150), "twice the work is more than is left");
    assert!(is_cut(1, 10), "it ends during the simulation");
    assert!(!is_cut(1, WORK));
}

#[test]
fn blocks_are_tried_in_shorter_segments_in_simulated_time() {
    let platform = two_sites();
    let placement = on_all_hosts(&platform);
    let instance = instance(&placement, Collective::Allgather, 256 << 10);
    let long = planned(&instance, "site-relays", 256 << 10, &Budget::UNLIMITED).unwrap();
    assert!(long.period.is_none() && long.block_bytes().is_some());
    let ports = SharedPorts::new(&placement);
    assert_eq!(refined(&instance, &ports, &long, false), long);
    let plan = refined(&instance, &ports, &long, true);
    assert!(
        plan.segment_bytes < long.segment_bytes && seconds(&ports, &plan) < 0.97 * seconds(&ports, &long)
    );
}

/// Sixteen hosts: three hops of 64 KiB at 1 Gb/s alone take 1.6 ms.
#[test]
fn timetables_are_tried_in_shorter_segments() {
    let link = broadleaf::platform::LinkClass::affine(50e-6, 125e6);
    let platform = crate::test_platforms::equal_hosts(16, broadleaf::platform::PortModel::OnePort, link);
    let placement = on_all_hosts(&platform);
    let instance = instance(&placement, Collective::Bcast, 1 << 20);
    let long = planned(&instance, "two-tree", 64 << 10, &Budget::UNLIMITED).unwrap();
    assert!(long.period.is_some());
    let ports = SharedPorts::new(&placement);
    assert_eq!(refined(&instance, &ports, &long, false), long);
    let plan = refined(&instance, &ports, &long, true);
    assert!(plan.period.is_some() && plan.segment_bytes < long.segment_bytes);
    assert!(seconds(&ports, &plan) < 0.9 * seconds(&ports, &long));
}
