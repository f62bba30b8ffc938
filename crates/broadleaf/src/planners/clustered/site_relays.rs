//! All-gather of long blocks between sites: the trees of `site-trees`, but two hosts' blocks leave their site through one of
//! them, and another host than the one at which a block enters hands it on.
//!
//! The blocks of all hosts share a pipe and arrive together. Of two that leave one after the other, the first is handed on
//! while the second is in the pipe. The host at which a block enters has its port free for the next ones. Both cost a hop
//! inside a site, so `best` compares this planner with `site-trees`.
//!
//! Reference: Kielmann et al., *MagPIe* (each block crosses each wide-area link once); pairs and relays are chosen by
//! measurement (`benches/smpi_sweep.py --collective allgather`). Cost: all blocks through the busiest port or pipe, and the
//! latencies of one way. Complexity: O(n²). Guarantee: in each tree, each site is entered once.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::plan::Collective;
//! use broadleaf::planners::{find, plan_with, Instance};
//! use broadleaf::platform::Platform;
//!
//! let platform = Platform::from_json(r#"{"format": "broadleaf-platform/1", "name": "two sites", "port_model": "one-port",
//!     "nodes": [{"id": "a", "cluster": "A"}, {"id": "b", "cluster": "A"}, {"id": "c", "cluster": "B"}],
//!     "shared": [{"id": "pipe", "bandwidth_bytes_per_s": 100}],
//!     "meshes": [{"nodes": ["a", "b"], "link": {"latency_s": 0, "bandwidth_bytes_per_s": 100}}],
//!     "bridges": [{"from_cluster": "A", "to_cluster": "B", "both_ways": true,
//!         "link": {"latency_s": 0.5, "bandwidth_bytes_per_s": 100, "uses": ["pipe"]}}]}"#).unwrap();
//! let a = platform.hosts().next().unwrap();
//! let instance = Instance { collective: Collective::Allgather, ..Instance::new(&platform, a, 100).unwrap() };
//! let plan = plan_with(find("site-relays").unwrap(), &instance, &Budget::UNLIMITED).unwrap();
//! // The blocks of a and b both go from a to c.
//! let c = platform.hosts().last().unwrap();
//! let into_c = plan.trees.iter().flat_map(|tree| tree.edges()).filter(|&(_, to)| to == c);
//! assert!(into_c.map(|(from, _)| from).eq([a, a]));
//! ```

use super::site_blocks::Handing;
use super::{site_gather, site_trees};
use crate::budget::Budget;
use crate::plan::{Collective, Plan, PlanError};
use crate::planners::{Card, Instance, Planner, Profile, Segmentation, Unsupported};

pub(crate) struct SiteRelays;

static CARD: Card = Card {
    name: "site-relays",
    summary: "all-gather of long blocks along the trees of site-trees, by pairs of hosts and relays",
    reference: "Kielmann et al., MagPIe, PPoPP 1999",
    objective: "makespan of all-gathers of long blocks between sites",
    guarantee: "in each tree, each site is entered once",
    complexity: "O(n²)",
    profile: Profile {
        pace: site_trees::pace,
        segments: Segmentation::Guided {
            whole: |_, count| count,
            modelled: |instance, most| Some(site_gather::segments(instance, most)),
        },
        ..Profile::QUICK
    },
};

impl Planner for SiteRelays {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn collectives(&self) -> &'static [Collective] {
        &[Collective::Allgather]
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        site_trees::has_sites(instance)
    }

    fn plan(&self, instance: &Instance, _: &Budget) -> Result<Plan, PlanError> {
        site_gather::plan(instance, CARD.name, Handing::Relayed)
    }
}
