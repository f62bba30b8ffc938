//! The choice among plans by their times on ports that messages share.

use super::adjust::in_larger_segments;
use super::as_run::predicted_s;
use super::shared_ports::SharedPorts;
use crate::smpi;
use crate::topology::placement::Placement;
use broadleaf::budget::{Budget, UNITS_PER_S};
use broadleaf::plan::{check, Plan, Predicted};
use broadleaf::planners::Instance;
use broadleaf::portfolio::{planned, Coarsening, Outcome, Tried};

/// Plans whose time in the model is longer than the least by this factor are left out; chosen, as is their number. Planners that
/// make the same plan count once.
const NEAR: f64 = 1.6;
const MOST_PLANS: usize = 16;

/// Planners of one tree and of several that `best` passes over where another plan seems to be as fast as the bound.
const ALSO: [&str; 2] = ["makespan", "optimal-trees"];

/// The fastest plans are tried in shorter segments: at most this number, and none that take longer by more than this factor.
/// Chosen.
const MOST_SHORTENED: usize = 4;
const WORTH_SHORTENING: f64 = 1.15;

/// The work of all, and of making one plan again, units.
const WORK: u64 = 6 * UNITS_PER_S;
const TO_MAKE: u64 = UNITS_PER_S / 4;
/// A plan whose simulation takes more than this part of the work is left out.
const PARTS: u32 = 3;

/// The plans simulated so far, and the times on shared ports, s, of those that were not much slower than the fastest.
struct Choice<'a> {
    instance: &'a Instance<'a>,
    ports: &'a SharedPorts<'a>,
    as_run: &'a dyn Fn(Plan) -> Plan,
    left: Budget,
    simulated: Vec<Plan>,
    timed: Vec<(f64, Plan)>,
}

/// What is compared with a plan.
pub struct Others {
    /// The plans that are near the fastest in the model, fastest first.
    near: Vec<Plan>,
    passed_over: Vec<&'static str>,
}

impl Others {
    pub fn of(best: &Outcome) -> Others {
        let mut near: Vec<(f64, &Plan)> = best.tried.iter().map(Tried::compared_s).zip(&best.plans).collect();
        near.sort_by(|one, other| one.0.total_cmp(&other.0));
        let longest_s = near.first().map_or(0.0, |&(fastest_s, _)| NEAR * fastest_s);
        let near = near.into_iter().filter(|&(taken_s, _)| taken_s <= longest_s);
        let is_tried = |name: &&str| best.tried.iter().any(|one| one.name == *name);
        Others {
            near: near.map(|(_, plan)| plan.clone()).collect(),
            passed_over: ALSO.into_iter().filter(|name| !is_tried(name)).collect(),
        }
    }
}

/// Of `chosen`, `flat` and the others, the plan that is fastest on shared ports, in segments of half the size, a quarter and so on
/// where these are faster yet. `as_run`: a plan's form as ranks run it. `chosen` where its simulation takes too long.
pub fn fastest_on_shared_ports(
    instance: &Instance,
    ports: &SharedPorts,
    (chosen, others): (Plan, Others),
    as_run: &dyn Fn(Plan) -> Plan,
) -> Plan {
    let left = Budget::of_work(WORK);
    let of_chosen = as_run(chosen.clone());
    let Ok(chosen_s) = ports.seconds(&of_chosen, f64::INFINITY, &left.divided(PARTS)) else {
        return chosen;
    };
    let (simulated, timed) = (vec![unnamed(of_chosen)], vec![(chosen_s, chosen.clone())]);
    let mut choice = Choice { instance, ports, as_run, left, simulated, timed };
    for plan in others.near {
        if choice.simulated.len() >= MOST_PLANS {
            break;
        }
        choice.consider_both_ways(plan);
    }
    for name in others.passed_over {
        if let Some(plan) = choice.made(name, chosen.segment_bytes) {
            choice.consider_both_ways(plan);
        }
    }
    choice.consider_flat();
    choice.shorten_segments(smpi::is_on());
    let fastest = choice.fastest();
    if check::faults(instance.platform, &fastest).is_empty() {
        fastest
    } else {
        chosen
    }
}

impl Choice<'_> {
    fn fastest_s(&self) -> f64 {
        self.timed.iter().map(|&(taken_s, _)| taken_s).fold(f64::INFINITY, f64::min)
    }

    /// The first of equal ones.
    fn fastest(self) -> Plan {
        let fastest = self.timed.into_iter().min_by(|one, other| one.0.total_cmp(&other.0));
        fastest.map(|(_, plan)| plan).expect("the plan chosen before is timed")
    }

    fn made(&self, planner: &str, segment_bytes: u64) -> Option<Plan> {
        let budget = Budget::of_work(TO_MAKE);
        let made = planned(self.instance, planner, segment_bytes, &budget);
        self.left.spend(TO_MAKE - budget.left());
        made.ok()
    }

    /// A timetable with its turns and without.
    fn consider_both_ways(&mut self, plan: Plan) {
        if self.left.is_spent() {
            return;
        }
        if plan.period.is_some() {
            self.consider(plan.clone());
        }
        if plan.pattern.is_some() {
            return;
        }
        let free = Plan { period: None, ..plan };
        let Ok(free) = in_larger_segments(self.instance.platform, free) else { return };
        if free.inward.iter().any(|tree| !tree.exchange.is_empty()) {
            self.consider(through_roots(free.clone()));
        }
        self.consider(free);
    }

    /// Ports that serve one transfer at a time do not support it in every collective.
    fn consider_flat(&mut self) {
        let Choice { instance, ports, .. } = *self;
        let sharing = Instance { platform: ports.platform(), ..*instance };
        let budget = Budget::of_work(TO_MAKE);
        let Ok(flat) = planned(&sharing, "flat", instance.message_bytes, &budget) else { return };
        self.consider(Plan { platform_digest: instance.platform.digest().to_string(), ..flat });
    }

    /// The plan's time, s, unless it has been simulated before or takes much longer than the fastest.
    fn consider(&mut self, plan: Plan) -> Option<f64> {
        let as_run = (self.as_run)(plan.clone());
        let unnamed = unnamed(as_run.clone());
        if self.simulated.contains(&unnamed) {
            return None;
        }
        let longest_s = WORTH_SHORTENING * self.fastest_s();
        let taken_s = self.ports.seconds(&as_run, longest_s, &self.left.divided(PARTS));
        self.simulated.push(unnamed);
        let taken_s = taken_s.ok().filter(|taken_s| taken_s.is_finite())?;
        self.timed.push((taken_s, plan));
        Some(taken_s)
    }

    /// Outside simulated time processors limit short segments, which the prediction does not know: only the fastest is tried
    /// in shorter ones there, unless it is a timetable.
    fn shorten_segments(&mut self, is_simulated: bool) {
        self.timed.sort_by(|one, other| one.0.total_cmp(&other.0));
        let most = if is_simulated { MOST_SHORTENED } else { 1 };
        let mut near = self.timed[..self.timed.len().min(most)].to_vec();
        near.retain(|(_, plan)| is_simulated || plan.period.is_none());
        for (taken_s, plan) in near {
            self.shorten_segments_of(taken_s, plan);
        }
    }

    /// Hosts that are busy with a program handle more messages then, so it must be worth that. A plan of blocks keeps its
    /// segments: of 1 MiB on the random grid of `benches/smpi_sweep.py`, an all-gather in half blocks was predicted to take 6 %
    /// less, and took 6 % more.
    fn shorten_segments_of(&mut self, mut taken_s: f64, mut plan: Plan) {
        let Coarsening { least_bytes, worth, .. } = Coarsening::BUSY;
        while plan.segment_bytes > least_bytes && plan.block_bytes().is_none() && !self.left.is_spent() {
            let Some(shorter) = self.in_segments(&plan, least_bytes.max(plan.segment_bytes / 2)) else {
                break;
            };
            match self.consider(shorter.clone()) {
                Some(shorter_s) if shorter_s < (1.0 - worth) * taken_s => {
                    (taken_s, plan) = (shorter_s, shorter);
                }
                _ => break,
            }
        }
    }

    /// The same trees, or a timetable made again.
    fn in_segments(&self, plan: &Plan, segment_bytes: u64) -> Option<Plan> {
        if plan.period.is_none() && !plan.combine {
            return Some(Plan { segment_bytes, ..plan.clone() });
        }
        self.made(&plan.planner, segment_bytes).filter(|made| made.segment_bytes < plan.segment_bytes)
    }
}

/// The times of two plans on shared ports, s; in the model, if either takes too long to simulate.
pub fn shared_or_predicted_s(placement: &Placement, plans: [&Plan; 2]) -> [f64; 2] {
    let (ports, budget) = (SharedPorts::new(placement), Budget::of_work(WORK));
    let shared_s = |plan: &Plan| ports.seconds(plan, f64::INFINITY, &budget.divided(PARTS));
    match plans.map(shared_s) {
        [Ok(one_s), Ok(other_s)] => [one_s, other_s],
        _ => plans.map(|plan| predicted_s(&placement.handled, plan).unwrap_or(f64::INFINITY)),
    }
}

/// A plan without what does not change how it is run.
fn unnamed(plan: Plan) -> Plan {
    Plan { planner: String::new(), seed: 0, predicted: Predicted::default(), ..plan }
}

/// The same trees without an exchange between heads.
fn through_roots(mut plan: Plan) -> Plan {
    plan.inward.iter_mut().for_each(|tree| tree.exchange.clear());
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf::plan::{Collective, PlanError};
    use broadleaf::platform::{NodeId, Platform};
    use broadleaf::portfolio::{make, Effort, SegmentChoice};
    use serde_json::json;

    /// Three leaf switches of four hosts under one root, every cable 1 Gb/s and a latency of 20 µs.
    fn oversubscribed() -> Platform {
        let id = |at: usize| format!("h{at}");
        let mut links = Vec::new();
        for (from, to) in
            (0..12).flat_map(|from| (0..12).map(move |to| (from, to))).filter(|(from, to)| from != to)
        {
            let (up, down) = (format!("up{}", from / 4), format!("down{}", to / 4));
            let uses = if from / 4 == to / 4 { vec![] } else { vec![up, down] };
            links.push(json!({"from": id(from), "to": id(to), "latency_s": 2e-5, "bandwidth_bytes_per_s": 125e6, "uses": uses}));
        }
        let rates = json!({"out_bytes_per_s": 125e6, "in_bytes_per_s": 125e6});
        let nodes: Vec<_> = (0..12)
            .map(|at| {
                let mut node = rates.clone();
                node["id"] = json!(id(at));
                node
            })
            .collect();
        let shared: Vec<_> = (0..3)
            .flat_map(|leaf| [format!("up{leaf}"), format!("down{leaf}")])
            .map(|id| json!({"id": id, "bandwidth_bytes_per_s": 125e6}))
            .collect();
        let document = json!({
            "format": "broadleaf-platform/1", "name": "leaves", "port_model": "multi-port", "nodes": nodes,
            "shared": shared, "links": links,
        });
        Platform::from_json(&document.to_string()).unwrap()
    }

    /// Two clusters of eight hosts, 10 ms apart; every link and the pipe each way 1 Gb/s.
    fn two_sites() -> Platform {
        let ids = |site: &str| (0..8).map(|at| format!("{site}{at}")).collect::<Vec<_>>();
        let host = |site: &'static str| move |id: String| json!({"id": id, "cluster": site});
        let nodes: Vec<_> =
            ["a", "b"].into_iter().flat_map(|site| ids(site).into_iter().map(host(site))).collect();
        let link = json!({"latency_s": 5e-5, "bandwidth_bytes_per_s": 125e6});
        let bridge = |from: &str, to: &str| {
            let far = json!({"latency_s": 0.01, "bandwidth_bytes_per_s": 125e6, "uses": [from]});
            json!({"from_cluster": from, "to_cluster": to, "link": far})
        };
        let shared = ["a", "b"].map(|id| json!({"id": id, "bandwidth_bytes_per_s": 125e6}));
        let meshes = ["a", "b"].map(|site| json!({"nodes": ids(site), "link": link}));
        let document = json!({
            "format": "broadleaf-platform/1", "name": "two sites", "port_model": "one-port", "nodes": nodes,
            "shared": shared, "meshes": meshes,
            "bridges": [bridge("a", "b"), bridge("b", "a")],
        });
        Platform::from_json(&document.to_string()).unwrap()
    }

    /// The choice, the time of it, and the instance's other times by planner, as planned in its segments.
    fn chosen(
        platform: &Platform,
        collective: Collective,
        bytes: u64,
    ) -> (Plan, f64, Vec<(&'static str, f64)>) {
        let placement = Placement::on(platform, &platform.hosts().collect::<Vec<_>>()).unwrap();
        let instance = Instance::new(&placement.handled, NodeId(0), bytes).unwrap();
        let instance = Instance { collective, ..instance };
        let best =
            make(&instance, "best", SegmentChoice::Auto, Effort::Thorough, &Budget::UNLIMITED).unwrap();
        let ports = SharedPorts::new(&placement);
        let seconds = |plan: &Plan| ports.seconds(plan, f64::INFINITY, &Budget::UNLIMITED);
        let first = (best.plan.clone(), Others::of(&best));
        let plan = fastest_on_shared_ports(&instance, &ports, first, &|plan| plan);
        let remade = |one: &Tried| {
            let size = SegmentChoice::Bytes(one.segment_bytes);
            let made = make(&instance, one.name, size, Effort::Quick, &Budget::UNLIMITED).ok()?;
            let free = in_larger_segments(instance.platform, Plan { period: None, ..made.plan }).ok()?;
            Some((one.name, seconds(&free).ok()?))
        };
        let others = best.tried.iter().filter_map(remade).collect();
        let taken_s = seconds(&plan).unwrap();
        (plan, taken_s, others)
    }

    #[test]
    fn no_planner_that_was_near_is_faster() {
        let (leaves, sites) = (oversubscribed(), two_sites());
        for (platform, collective, bytes) in [
            (&leaves, Collective::Bcast, 64 << 10),
            (&leaves, Collective::Reduce, 64 << 10),
            (&leaves, Collective::Allreduce, 16 << 10),
            (&leaves, Collective::Allgather, 4 << 10),
            // Eight planners of the least time in the model make one plan, and others are faster.
            (&sites, Collective::Allreduce, 1 << 20),
        ] {
            let (plan, taken_s, others) = chosen(platform, collective, bytes);
            assert!(others.len() >= 4, "{collective}");
            let fastest = others.iter().min_by(|one, other| one.1.total_cmp(&other.1)).unwrap();
            assert!(
                taken_s <= fastest.1 * (1.0 + 1e-9),
                "{collective} {}: {taken_s}, {fastest:?}",
                plan.planner
            );
        }
    }

    #[test]
    fn planners_that_were_passed_over_take_part() {
        let platform = oversubscribed();
        let placement = Placement::on(&platform, &platform.hosts().collect::<Vec<_>>()).unwrap();
        let instance = Instance::new(&placement.handled, NodeId(0), 1 << 20).unwrap();
        let flat = planned(&instance, "flat", 16 << 10, &Budget::UNLIMITED).unwrap();
        let (ports, none) = (SharedPorts::new(&placement), Vec::new);
        let choice = |passed_over: Vec<&'static str>| {
            let others = Others { near: none(), passed_over };
            fastest_on_shared_ports(&instance, &ports, (flat.clone(), others), &|plan| plan)
        };
        assert_eq!(choice(vec![]).planner, "flat");
        let with_one = choice(vec!["makespan"]);
        let seconds = |plan: &Plan| ports.seconds(plan, f64::INFINITY, &Budget::UNLIMITED).unwrap();
        assert!(with_one.planner == "makespan" && seconds(&with_one) < 0.5 * seconds(&flat));
    }

    /// Sixteen hosts: three hops of 64 KiB at 1 Gb/s alone take 1.6 ms.
    #[test]
    fn timetables_are_tried_in_shorter_segments() {
        let link = broadleaf::platform::LinkClass::affine(50e-6, 125e6);
        let platform = crate::test_platforms::equal_hosts(16, broadleaf::platform::PortModel::OnePort, link);
        let placement = Placement::on(&platform, &platform.hosts().collect::<Vec<_>>()).unwrap();
        let instance = Instance::new(&placement.handled, NodeId(0), 1 << 20).unwrap();
        let long = planned(&instance, "two-tree", 64 << 10, &Budget::UNLIMITED).unwrap();
        assert!(long.period.is_some());
        let ports = SharedPorts::new(&placement);
        let seconds = |plan: &Plan| ports.seconds(plan, f64::INFINITY, &Budget::UNLIMITED).unwrap();
        let shortened = |is_simulated: bool| {
            let (left, timed) = (Budget::of_work(WORK), vec![(seconds(&long), long.clone())]);
            let as_run: &dyn Fn(Plan) -> Plan = &|plan| plan;
            let simulated = vec![unnamed(long.clone())];
            let mut choice = Choice { instance: &instance, ports: &ports, as_run, left, simulated, timed };
            choice.shorten_segments(is_simulated);
            choice.fastest()
        };
        assert_eq!(shortened(false), long);
        let plan = shortened(true);
        assert!(plan.period.is_some() && plan.segment_bytes < long.segment_bytes);
        assert!(seconds(&plan) < 0.9 * seconds(&long));
    }

    /// A flat broadcast among a thousand hosts and one is not simulated.
    #[test]
    fn what_takes_too_long_to_simulate_stays_as_it_was_chosen() {
        let platform = crate::test_platforms::equal_hosts(
            1001,
            broadleaf::platform::PortModel::OnePort,
            broadleaf::platform::LinkClass::affine(50e-6, 125e6),
        );
        let placement = Placement::on(&platform, &platform.hosts().collect::<Vec<_>>()).unwrap();
        let instance = Instance::new(&placement.handled, NodeId(0), 1 << 10).unwrap();
        let flat = planned(&instance, "flat", 1 << 10, &Budget::UNLIMITED).unwrap();
        let ports = SharedPorts::new(&placement);
        assert!(matches!(ports.seconds(&flat, f64::INFINITY, &Budget::UNLIMITED), Err(PlanError::OutOfTime)));
        let none = Others { near: Vec::new(), passed_over: Vec::new() };
        assert_eq!(fastest_on_shared_ports(&instance, &ports, (flat.clone(), none), &|plan| plan), flat);
        let short = planned(&instance, "chain", 1, &Budget::UNLIMITED).unwrap();
        assert!(matches!(
            ports.seconds(&short, f64::INFINITY, &Budget::of_work(1000)),
            Err(PlanError::OutOfTime)
        ));
    }
}
