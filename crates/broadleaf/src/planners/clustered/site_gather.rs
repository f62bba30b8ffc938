//! All-gather between sites: each host has a tree that enters each other site and each cluster once.
//!
//! While all blocks take less time through a pipe than the latencies do, the ways of the least latencies or the straight
//! ones are taken. Longer blocks need all pipes. Where each two sites have a pipe of their own, the hosts of a site take
//! both kinds of ways in turn. Where the ways of a site to several others share a pipe, blocks go around all sites: on a
//! shared pipe the near sites' messages, whose latency is short, are quicker than the far ones', which come last (RTT
//! unfairness of TCP; SMPI has it too), and a round has one kind of them in each pipe. Where pipes differ much in rate, these
//! ways leave the slow ones to the end: then each block takes the ways on which it is everywhere first, behind the blocks
//! before it, if that promises to be a good deal faster.
//!
//! In a round, and if they are very long, blocks go in a few segments, so that they are handed on sooner.
//!
//! A sender passes over busy receivers and pipes in the model (`skip_busy`). Ranks start a message while an earlier one
//! waits for a pipe, so that is nearer to how they run the plan than a port that waits.
//!
//! Reference: Kielmann et al., *MagPIe* (each block crosses each wide-area link once). Cost: all blocks through the busiest
//! port or pipe, and the latencies of one way. Complexity: O(n²). Guarantee: in each tree, each site is entered once.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::plan::Collective;
//! use broadleaf::planners::{find, plan_with, Instance};
//! use broadleaf::platform::Platform;
//!
//! let platform = Platform::from_json(r#"{"format": "broadleaf-platform/1", "name": "two sites", "port_model": "one-port",
//!     "nodes": [{"id": "a", "cluster": "A"}, {"id": "b", "cluster": "A"}, {"id": "c", "cluster": "B"}],
//!     "meshes": [{"nodes": ["a", "b"], "link": {"latency_s": 0, "bandwidth_bytes_per_s": 100}}],
//!     "bridges": [{"from_cluster": "A", "to_cluster": "B", "both_ways": true,
//!         "link": {"latency_s": 0.5, "bandwidth_bytes_per_s": 100}}]}"#).unwrap();
//! let a = platform.hosts().next().unwrap();
//! let instance = Instance { collective: Collective::Allgather, ..Instance::new(&platform, a, 100).unwrap() };
//! let plan = plan_with(find("site-blocks").unwrap(), &instance, &Budget::UNLIMITED).unwrap();
//! // Of the three trees, that of c alone goes from B to A, and enters it once.
//! let c = platform.hosts().last().unwrap();
//! let out_of_c = plan.trees.iter().flat_map(|tree| tree.edges()).filter(|&(from, _)| from == c);
//! assert_eq!(out_of_c.count(), 1);
//! ```

use super::site_blocks::{self, Between, Handing, Ways};
use super::site_promise::{has_sites, latencies_s, promise, quickest, sites};
use crate::budget::Budget;
use crate::model::{occupation, Resource};
use crate::plan::{Collective, Plan, PlanError};
use crate::planners::time_needed::of_block_trees_s;
use crate::planners::{Card, Instance, Pace, Planner, Profile, Segmentation, Unsupported};
use crate::platform::{Hop, NodeId, Platform, SharedId};

/// Blocks are long where the busiest pipe takes more than this part of the time of the longest way; chosen.
const LONG_PART: f64 = 0.5;
/// Ways by the loads of pipes must promise to be faster by this factor. They have near and far messages in one pipe: on
/// teragrid-64, at a promise of 1.15, an all-gather of 1 MiB took 1.36 times as long as a round under SMPI.
const WORTH_BALANCING: f64 = 1.2;
/// Segments of a long block.
const SEGMENTS: u64 = 4;
/// A block that crosses one pipe after another goes in segments of at least this many bytes: shorter ones are mostly
/// headers on the wire.
const LEAST_BYTES: u64 = 2 << 10;
/// One that crosses no pipe but the first goes whole up to this many bytes; chosen.
const WHOLE_BYTES: u64 = 64 << 10;

/// More hosts take longer than a quick plan: n² transfers are simulated.
const QUICK_HOSTS: usize = 128;

/// One of the planners of all-gathers between sites.
pub(crate) struct SiteGather {
    pub(super) card: &'static Card,
    pub(super) handing: Handing,
}

pub(crate) static SITE_BLOCKS: SiteGather = SiteGather { card: &CARD, handing: Handing::Alone };

static CARD: Card = Card {
    name: "site-blocks",
    summary: "all-gather along a tree for each host, which enters each site once",
    reference: "Kielmann et al., MagPIe, PPoPP 1999",
    objective: "makespan of all-gathers between sites",
    guarantee: "in each tree, each site is entered once",
    complexity: "O(n²)",
    profile: PROFILE,
};

pub(super) const PROFILE: Profile = Profile {
    pace: |instance| Pace::uncounted(instance, instance.platform.node_count() <= QUICK_HOSTS),
    least_s: of_block_trees_s,
    segments: Segmentation::Guided {
        whole: |_, count| count,
        modelled: |instance, most, _| Some(segments(instance, most)),
    },
    ..Profile::QUICK
};

impl Planner for SiteGather {
    fn card(&self) -> &'static Card {
        self.card
    }

    fn collectives(&self) -> &'static [Collective] {
        &[Collective::Allgather]
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        has_sites(instance)
    }

    fn plan(&self, instance: &Instance, _: &Budget) -> Result<Plan, PlanError> {
        plan(instance, self.card.name, self.handing)
    }
}

/// The plan, named `name`; unsupported where two heads have no link between them, or short blocks would be relayed.
fn plan(instance: &Instance, name: &str, handing: Handing) -> Result<Plan, PlanError> {
    let Instance { platform, root, message_bytes, segment_bytes, seed, collective, .. } = *instance;
    let sites = sites(platform);
    let (ways, is_long) = ways(name, instance, &sites)?;
    if handing == Handing::Relayed && !is_long {
        let reason = "the blocks take less time through a pipe than the latencies".to_string();
        return Err(PlanError::Unsupported { planner: name.to_string(), reason });
    }
    let trees = site_blocks::trees(platform, &sites, &ways, handing);
    let plan = Plan::bcast(platform, name, root, message_bytes, segment_bytes, trees);
    Ok(Plan { collective, skip_busy: true, seed, ..plan })
}

/// The number of segments of a block, at most `most`.
fn segments(instance: &Instance, most: u64) -> u64 {
    let bytes = instance.message_bytes;
    let count = match ways("", instance, &sites(instance.platform)) {
        Ok((ways, true)) if ways.len() == 1 => bytes / LEAST_BYTES,
        Ok((_, true)) => bytes / WHOLE_BYTES * SEGMENTS,
        _ => 1,
    };
    count.clamp(1, SEGMENTS.min(most))
}

/// The sets of ways that a site's hosts take in turn, and whether they are those of long blocks.
fn ways(
    name: &str,
    instance: &Instance,
    sites: &[Vec<Vec<NodeId>>],
) -> Result<(Vec<Vec<Ways>>, bool), PlanError> {
    let platform = instance.platform;
    let latency_s = latencies_s(platform, sites);
    let [shortest, straight] = site_blocks::ways(&latency_s);
    let trees_of =
        |ways: &Vec<Ways>| site_blocks::trees(platform, sites, std::slice::from_ref(ways), Handing::Alone);
    let whole = instance.segmented(instance.message_bytes);
    let (short, at) = quickest(name, &whole, &[trees_of(&shortest), trees_of(&straight)], &[false])?;
    if short.pipe_s <= LONG_PART * short.longest_s {
        return Ok((vec![if at == 0 { shortest } else { straight }], false));
    }
    let long = match share_pipes(platform, sites) {
        true => vec![site_blocks::round(&latency_s)],
        false => vec![shortest, straight],
    };
    let sizes: Vec<usize> = sites.iter().map(|site| site.iter().map(Vec::len).sum()).collect();
    let balanced = site_blocks::balanced(&sizes, &Between { held_s: held_s(&whole, sites), latency_s });
    let promised_s = |ways: &[Vec<Ways>]| {
        let trees = site_blocks::trees(platform, sites, ways, Handing::Alone);
        promise(&whole, &trees, &[false]).map_or(f64::INFINITY, |promise| promise.all_s())
    };
    let is_worth = promised_s(&balanced) * WORTH_BALANCING <= promised_s(&long);
    Ok((if is_worth { balanced } else { long }, true))
}

/// By sites, the pipes of their link and how long a block holds each, seconds.
fn held_s(instance: &Instance, sites: &[Vec<Vec<NodeId>>]) -> Vec<Vec<Vec<(Resource, f64)>>> {
    let platform = instance.platform;
    let between = |from: NodeId, to: NodeId| {
        let class = platform.link(from, to).filter(|_| from != to);
        let windows = class.map_or_else(Vec::new, |class| {
            occupation(platform, Hop { from, to, class }, instance.message_bytes).windows
        });
        let pipes = windows.iter().filter(|window| matches!(window.resource, Resource::Shared(_)));
        pipes.map(|window| (window.resource, window.duration_s)).collect()
    };
    let first = |site: &Vec<Vec<NodeId>>| site[0][0];
    sites.iter().map(|from| sites.iter().map(|to| between(first(from), first(to))).collect()).collect()
}

/// Whether the ways between a site and two others share a pipe.
fn share_pipes(platform: &Platform, sites: &[Vec<Vec<NodeId>>]) -> bool {
    let uses = |from: usize, to: usize| -> &[SharedId] {
        platform.link(sites[from][0][0], sites[to][0][0]).map_or(&[], |class| &platform.class(class).uses)
    };
    let all = 0..sites.len();
    let shares = |site: usize, one: usize, other: usize| {
        uses(site, one).iter().any(|pipe| uses(site, other).contains(pipe))
            || uses(one, site).iter().any(|pipe| uses(other, site).contains(pipe))
    };
    all.clone().any(|site| {
        let others = || all.clone().filter(|&other| other != site);
        others().any(|one| others().any(|other| one < other && shares(site, one, other)))
    })
}
