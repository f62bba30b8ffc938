//! Plans for other collectives than broadcasts.

use super::adjust::{fastest_as_run, or_flat, without_skips, worth_relaying};
use super::as_run::{announces_data, predicted_s, relays_blocks};
use super::choice::{fastest_on_shared_ports, Others};
use super::job::Limit;
use super::plan_directory::{nearest, Wanted};
use super::shared_ports::SharedPorts;
use super::threads::on_threads;
use crate::rank_plan::allgather::{blocks_over_ranks, ring_by_node, Block};
use crate::rank_plan::{expand, goes_whole, RankPlan};
use crate::settings::{PlanSettings, PlanTime, BEST};
use crate::smpi;
use crate::tags::{channels, CHANNEL_TAGS};
use crate::topology::placement::Placement;
use broadleaf::budget::UNITS_PER_S;
use broadleaf::plan::{Collective, Plan, PlanError};
use broadleaf::planners::{find, supports, Instance};
use broadleaf::portfolio::{make, Effort, SegmentChoice};

/// The least planning work that the first call of a kind waits for if no time was set, units. It is more than a
/// broadcast's, since all later calls run the same plan.
const FIRST_WORK: u64 = UNITS_PER_S;

/// A scatter or gather with relays is used only if it is predicted to be faster than `flat` by this factor: part of the
/// gain is lost where their messages share ports. Chosen: on eight networks under SMPI, plans of less gain were up to
/// a sixth slower.
const WORTH_RELAYING: f64 = 1.2;

/// One collective to plan for, on a block of `bytes` for every rank, or of at most `bytes`.
pub struct ExchangeJob<'a> {
    pub placement: &'a Placement,
    /// Of the platform file; empty without one.
    pub digest: &'a str,
    pub collective: Collective,
    pub root: u32,
    pub bytes: u64,
    /// By rank, where they are not all alike; the largest is `bytes`.
    pub sizes: Option<&'a [u64]>,
    /// The bytes of an element, a divisor of `bytes`; segments end between elements.
    pub element_bytes: u64,
}

impl ExchangeJob<'_> {
    /// The plan of the selected planner if it plans this collective, else of the best. The error is one line for the
    /// user.
    pub fn plan(&self, settings: &PlanSettings) -> Result<RankPlan, String> {
        let Placement { handled, ranks, node_of_rank, .. } = self.placement;
        if self.goes_around_nodes() {
            let block = Block { bytes: self.bytes, segment_bytes: self.bytes };
            return checked(ring_by_node(self.collective, node_of_rank, block));
        }
        let plan = self.over_nodes(settings)?;
        let ranked =
            expand(&plan, handled, ranks, self.root, &|_| false).map_err(|error| error.to_string())?;
        checked(if self.has_blocks_of_all() {
            blocks_over_ranks(&plan, ranked, handled, ranks)
        } else {
            ranked
        })
    }

    /// The predicted makespan of that plan, s. The error is a reason for the user.
    pub fn makespan_s(&self, settings: &PlanSettings) -> Result<f64, String> {
        if self.goes_around_nodes() {
            return Err("of several ranks on a node no plan predicts the ring".to_string());
        }
        predicted_s(&self.placement.handled, &self.over_nodes(settings)?).map_err(|error| error.to_string())
    }

    fn has_one_root(&self) -> bool {
        matches!(self.collective, Collective::Scatter | Collective::Gather)
    }

    fn has_blocks_of_all(&self) -> bool {
        matches!(self.collective, Collective::Allgather | Collective::ReduceScatter)
    }

    /// Whether the plan is a ring of ranks that enters each node once.
    fn goes_around_nodes(&self) -> bool {
        self.has_blocks_of_all() && self.placement.ranks.iter().any(|ranks| ranks.len() > 1)
    }

    /// The plan over nodes, which `expand` turns into one over ranks.
    fn over_nodes(&self, settings: &PlanSettings) -> Result<Plan, String> {
        let plan = match self.stored(settings)? {
            Some(plan) => plan,
            None => self.planned(settings)?,
        };
        let segment_bytes = plan.segment_bytes.next_multiple_of(self.element_bytes);
        // The call's own blocks take the place of the nodes', which are those of several ranks together.
        Ok(Plan { segment_bytes, weights: None, ..plan })
    }

    /// The plan directory's plan; none for unequal blocks.
    fn stored(&self, settings: &PlanSettings) -> Result<Option<Plan>, String> {
        let Some(directory) = settings.plan_dir.as_ref().filter(|_| self.sizes.is_none()) else {
            return Ok(None);
        };
        let Placement { platform, node_of_rank, .. } = self.placement;
        let (collective, bytes, digest) = (self.collective, self.bytes, self.digest);
        let root = node_of_rank[self.root as usize];
        nearest(directory, Wanted { digest, platform, collective, root, bytes })
    }

    fn planned(&self, settings: &PlanSettings) -> Result<Plan, String> {
        let Placement { handled, node_of_rank, .. } = self.placement;
        let root = node_of_rank[self.root as usize];
        let instance = Instance::new(handled, root, self.bytes).map_err(|error| error.to_string())?;
        let instance = Instance { collective: self.collective, ..instance };
        let weights = self.weights();
        let weighted = weights.as_deref().map_or(Ok(instance), |weights| instance.weighted(weights));
        let instance = weighted.map_err(|error| error.to_string())?;
        let plans_it = |name: &&str| find(name).is_ok_and(|planner| supports(planner, &instance).is_ok());
        let name = Some(settings.planner.as_str()).filter(plans_it).unwrap_or(BEST);
        let effort = match settings.plan_time {
            PlanTime::Beside => Effort::Quick,
            PlanTime::Before => Effort::Thorough,
        };
        let work = settings.plan_time.first_work().max(FIRST_WORK);
        let limit = settings.first_budget.map_or(Limit::Work(work), Limit::Time);
        let made = on_threads(|| {
            let budget = limit.budget();
            let size = SegmentChoice::Auto;
            let best = make(&instance, name, size, effort, &budget)?;
            let others = Others::of(&best);
            // A block that goes whole waits for one turn, not for one per segment.
            let is_whole = best.plan.trees.iter().all(|tree| goes_whole(&best.plan, tree));
            let stays = is_whole && !relays_blocks(handled, &best.plan) && !announces_data(&best.plan);
            let plan = match stays {
                true => best.plan,
                false => fastest_as_run(&instance, self.placement, best, (size, effort), &budget)?,
            };
            let worth = if self.has_one_root() { WORTH_RELAYING } else { worth_relaying(&plan) };
            if name != BEST {
                return Ok(without_skips(handled, plan));
            }
            let plan = without_skips(handled, or_flat(&instance, self.placement, plan, worth)?);
            // A simulation of the candidates takes no account of time limits. For scatters and gathers its choice has not been
            // compared with the model's.
            if budget.is_timed() || self.has_one_root() {
                return Ok(plan);
            }
            let ports = SharedPorts::new(self.placement);
            Ok(fastest_on_shared_ports(&instance, &ports, (plan, others), &|plan| self.as_run(plan)))
        });
        Ok(self.as_run(made.map_err(|error: PlanError| error.to_string())?))
    }

    /// The plan as ranks run it, in whole elements. Under SMPI skips stay: [`fastest_on_shared_ports`] tries plans with and
    /// without, and every other plan comes without.
    fn as_run(&self, plan: Plan) -> Plan {
        let plan = if smpi::is_on() { plan } else { without_skips(&self.placement.handled, plan) };
        // Blocks that no host passes on gain nothing by their segments, which were for the model's pipes.
        let whole = plan.block_bytes().filter(|_| plan.is_direct());
        let segment_bytes = whole.unwrap_or(plan.segment_bytes).next_multiple_of(self.element_bytes);
        Plan { segment_bytes, ..plan }
    }
}

impl ExchangeJob<'_> {
    /// By node: what all its ranks have together.
    fn weights(&self) -> Option<Vec<f64>> {
        let sizes = self.sizes?;
        let mut weights = vec![0.0; self.placement.handled.node_count()];
        for (&node, &size) in self.placement.node_of_rank.iter().zip(sizes) {
            weights[node.index()] += size as f64 / self.bytes as f64;
        }
        Some(weights)
    }
}

fn checked(ranked: RankPlan) -> Result<RankPlan, String> {
    if channels(&ranked.transfers) <= u64::from(CHANNEL_TAGS) {
        return Ok(ranked);
    }
    let trees = ranked.transfers.trees.len();
    Err(format!("a plan of {trees} trees needs more message tags than MPI has"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_platforms::equal_hosts;
    use broadleaf::platform::{LinkClass, NodeId, Platform, PortModel};

    /// From or to rank 0, equal blocks, no platform file.
    fn job(
        placement: &Placement,
        collective: Collective,
        (bytes, element_bytes): (u64, u64),
    ) -> ExchangeJob<'_> {
        ExchangeJob { placement, digest: "", collective, root: 0, bytes, sizes: None, element_bytes }
    }

    fn planned(collective: Collective, bytes: u64) -> RankPlan {
        planned_by(BEST, PortModel::OnePort, collective, bytes)
    }

    /// On sixteen hosts, 50 µs apart, 1 Gb/s.
    fn planned_by(planner: &str, port_model: PortModel, collective: Collective, bytes: u64) -> RankPlan {
        let platform = equal_hosts(16, port_model, LinkClass::affine(50e-6, 125e6));
        let nodes: Vec<NodeId> = platform.hosts().collect();
        let placement = Placement::on(&platform, &nodes).unwrap();
        let settings =
            PlanSettings { planner: planner.to_string(), ..PlanSettings::read(&|_| None).unwrap() };
        job(&placement, collective, (bytes, 8)).plan(&settings).unwrap()
    }

    /// Planned in four segments, for the pipes of the model.
    #[test]
    fn blocks_that_are_not_passed_on_go_whole() {
        for collective in [Collective::Allgather, Collective::ReduceScatter] {
            let planned = planned_by("flat", PortModel::MultiPort, collective, 16 << 10);
            assert_eq!(
                (&planned.planner[..], planned.transfers.segment_bytes),
                ("flat", 16 << 10),
                "{collective}"
            );
        }
    }

    /// Six hosts of 100 MB/s and one of 10: its port is busy with 600 kB of the others' all the time, if no turn waits for it.
    #[test]
    fn blocks_go_at_once_where_turns_would_wait_for_a_slow_host() {
        let names: Vec<String> = (0..7).map(|at| format!("n{at}")).collect();
        let pairs = (0..7).flat_map(|to| (0..to).map(move |from| (from, to)));
        let links = pairs.map(|(from, to): (usize, usize)| {
            serde_json::json!({"from": names[from], "to": names[to], "both_ways": true, "latency_s": 5e-5,
                "bandwidth_bytes_per_s": if to == 6 { 1e7 } else { 1e8 }})
        });
        let document = serde_json::json!({
            "format": "broadleaf-platform/1", "name": "seven", "port_model": "one-port",
            "nodes": names.iter().map(|name| serde_json::json!({"id": name})).collect::<Vec<_>>(),
            "links": links.collect::<Vec<_>>(),
        });
        let platform = Platform::from_json(&document.to_string()).unwrap();
        let placement = Placement::on(&platform, &platform.hosts().collect::<Vec<_>>()).unwrap();
        let settings = PlanSettings::read(&|_| None).unwrap();
        for collective in [Collective::Allgather, Collective::ReduceScatter] {
            let bytes = 100_000;
            let job = job(&placement, collective, (bytes, 4));
            assert_eq!(job.plan(&settings).unwrap().planner, "flat", "{collective}");
            let taken_s = job.makespan_s(&settings).unwrap();
            assert!((0.060..0.061).contains(&taken_s), "{collective}: {taken_s} s");
        }
    }

    /// Four blocks for the third site: through a pipe of 5 MB/s 0.8 s, through the second site's less than 0.2 s; through one
    /// of 60 MB/s about as long as the root's port sends all blocks.
    #[test]
    fn blocks_are_relayed_only_where_that_gains() {
        let planned = |direct_bytes_per_s: f64| {
            let sites = ["a", "b", "c"];
            let nodes: Vec<_> = (0..12)
                .map(|at| serde_json::json!({"id": format!("n{at}"), "cluster": sites[at / 4]}))
                .collect();
            let site = |at: usize| (4 * at..4 * at + 4).map(|node| format!("n{node}")).collect::<Vec<_>>();
            let mesh =
                |at: usize| serde_json::json!({"nodes": site(at), "link": {"bandwidth_bytes_per_s": 125e6}});
            let bridge = |from: &str, to: &str, pipe: &str| {
                serde_json::json!({"from_cluster": from, "to_cluster": to, "both_ways": true,
                    "link": {"latency_s": 1e-3, "bandwidth_bytes_per_s": 125e6, "uses": [pipe]}})
            };
            let document = serde_json::json!({
                "format": "broadleaf-platform/1", "name": "three sites", "port_model": "one-port", "nodes": nodes,
                "shared": [{"id": "wide", "bandwidth_bytes_per_s": 125e6}, {"id": "far", "bandwidth_bytes_per_s": 125e6},
                    {"id": "direct", "bandwidth_bytes_per_s": direct_bytes_per_s}],
                "meshes": [mesh(0), mesh(1), mesh(2)],
                "bridges": [bridge("a", "b", "wide"), bridge("b", "c", "far"), bridge("a", "c", "direct")],
            });
            let platform = Platform::from_json(&document.to_string()).unwrap();
            let placement = Placement::on(&platform, &platform.hosts().collect::<Vec<_>>()).unwrap();
            [Collective::Scatter, Collective::Gather].map(|collective| {
                let placement = &*placement.for_collective(collective).unwrap();
                let (bytes, settings) = (1 << 20, PlanSettings::read(&|_| None).unwrap());
                job(placement, collective, (bytes, 1)).plan(&settings).unwrap().planner == "flat"
            })
        };
        assert_eq!(planned(5e6), [false, false]);
        assert_eq!(planned(60e6), [true, true]);
    }

    /// A reduction in long segments waits in each turn, which costs more than a timetable gains; of short segments
    /// several are in flight. A ring sends to one host only, with turns or without.
    #[test]
    fn turns_are_kept_where_they_win_once_the_waiting_is_counted() {
        assert_eq!(planned(Collective::Reduce, 16 << 20).transfers.period, None);
        assert!(planned(Collective::Reduce, 64 << 10).transfers.period.is_some());
        assert_eq!(planned(Collective::Allreduce, 1 << 20).planner, "ring");
    }
}
