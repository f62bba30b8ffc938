//! The choice among plans by their times on ports that messages share.

use super::adjust::in_larger_segments;
use super::shared_ports::SharedPorts;
use broadleaf::budget::{Budget, UNITS_PER_S};
use broadleaf::plan::{check, Plan, Predicted};
use broadleaf::planners::Instance;
use broadleaf::portfolio::{planned, Coarsening, Tried};

/// Plans whose time in the model is longer than the least by this factor are left out; chosen, as is their number. Planners that
/// make the same plan count once.
const NEAR: f64 = 1.6;
const MOST_PLANS: usize = 16;

/// The work of all, and of making one plan again, units.
const WORK: u64 = 6 * UNITS_PER_S;
const TO_MAKE: u64 = UNITS_PER_S / 4;
/// A plan whose simulation takes more than this part of the work is left out.
const PARTS: u32 = 3;

/// The plans simulated so far, and the fastest with its time on shared ports, s.
struct Choice<'a> {
    instance: &'a Instance<'a>,
    ports: &'a SharedPorts<'a>,
    as_run: &'a dyn Fn(Plan) -> Plan,
    left: Budget,
    simulated: Vec<Plan>,
    fastest: (f64, Plan),
}

/// Of `chosen`, `flat` and the plans of the fastest planners tried, the one that is fastest on shared ports, without turns in
/// segments of half the size, a quarter and so on where these are faster yet. `as_run`: a plan's form as ranks run it. `chosen` where
/// its simulation takes too long.
pub fn fastest_on_shared_ports(
    instance: &Instance,
    ports: &SharedPorts,
    (chosen, mut tried): (Plan, Vec<Tried>),
    as_run: &dyn Fn(Plan) -> Plan,
) -> Plan {
    let left = Budget::of_work(WORK);
    let of_chosen = as_run(chosen.clone());
    let Ok(chosen_s) = ports.seconds(&of_chosen, f64::INFINITY, &left.divided(PARTS)) else {
        return chosen;
    };
    let (simulated, fastest) = (vec![unnamed(of_chosen)], (chosen_s, chosen.clone()));
    let mut choice = Choice { instance, ports, as_run, left, simulated, fastest };
    tried.sort_by(|one, other| one.compared_s().total_cmp(&other.compared_s()));
    let longest_s = NEAR * tried.first().map_or(0.0, Tried::compared_s);
    for one in tried.iter().take_while(|one| one.compared_s() <= longest_s) {
        if choice.simulated.len() >= MOST_PLANS {
            break;
        }
        choice.consider_made(one.name, one.segment_bytes);
    }
    choice.consider_flat();
    choice.shorten_segments();
    let (_, fastest) = choice.fastest;
    if check::faults(instance.platform, &fastest).is_empty() {
        fastest
    } else {
        chosen
    }
}

impl Choice<'_> {
    fn made(&self, planner: &str, segment_bytes: u64) -> Option<Plan> {
        let budget = Budget::of_work(TO_MAKE);
        let plan = planned(self.instance, planner, segment_bytes, &budget).ok();
        self.left.spend(TO_MAKE - budget.left());
        plan
    }

    /// A planner's plan; a timetable with its turns and without.
    fn consider_made(&mut self, planner: &str, segment_bytes: u64) {
        if self.left.is_spent() {
            return;
        }
        let Some(plan) = self.made(planner, segment_bytes) else { return };
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

    fn consider(&mut self, plan: Plan) {
        self.consider_worth(plan, 0.0);
    }

    /// Whether the plan is faster than all before by more than this part of the time; then it takes their place. One that has been
    /// simulated is not.
    fn consider_worth(&mut self, plan: Plan, worth: f64) -> bool {
        let as_run = (self.as_run)(plan.clone());
        let unnamed = unnamed(as_run.clone());
        if self.simulated.contains(&unnamed) {
            return false;
        }
        let longest_s = (1.0 - worth) * self.fastest.0;
        let taken_s = self.ports.seconds(&as_run, longest_s, &self.left.divided(PARTS));
        self.simulated.push(unnamed);
        match taken_s {
            Ok(taken_s) if taken_s < longest_s => {
                self.fastest = (taken_s, plan);
                true
            }
            _ => false,
        }
    }

    /// Hosts that are busy with a program handle more messages then, so it must be worth that. A timetable keeps the
    /// segments that it was made for, and so does a plan of blocks: of 1 MiB on the random grid of `benches/smpi_sweep.py`, an
    /// all-gather in half blocks was predicted to take 6 % less, and took 6 % more.
    fn shorten_segments(&mut self) {
        let Coarsening { least_bytes, worth, .. } = Coarsening::BUSY;
        while self.fastest.1.segment_bytes / 2 >= least_bytes {
            let longer = &self.fastest.1;
            if longer.period.is_some() || longer.block_bytes().is_some() {
                break;
            }
            let Some(plan) = self.made(&longer.planner, longer.segment_bytes / 2) else { break };
            let free = Plan { period: None, ..plan };
            let is_shorter = free.segment_bytes < longer.segment_bytes && free.pattern.is_none();
            if !is_shorter || !self.consider_worth(free, worth) {
                break;
            }
        }
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
    use crate::topology::placement::Placement;
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
        let first = (best.plan, best.tried.clone());
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
        assert_eq!(fastest_on_shared_ports(&instance, &ports, (flat.clone(), vec![]), &|plan| plan), flat);
        let short = planned(&instance, "chain", 1, &Budget::UNLIMITED).unwrap();
        assert!(matches!(
            ports.seconds(&short, f64::INFINITY, &Budget::of_work(1000)),
            Err(PlanError::OutOfTime)
        ));
    }
}
