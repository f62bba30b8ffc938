//! All-gather of long blocks between sites: the trees of `site-blocks`, but two hosts' blocks leave their site through one of
//! them, and another host than the one at which a block enters hands it on.
//!
//! The blocks of all hosts share a pipe and arrive together. Of two that leave one after the other, the first is handed on
//! while the second is in the pipe. The host at which a block enters has its port free for the next ones. Both cost a hop
//! inside a site, so `best` compares this planner with `site-blocks`.
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
use super::site_gather::{SiteGather, PROFILE};
use crate::planners::Card;

pub(crate) static SITE_RELAYS: SiteGather = SiteGather { card: &CARD, handing: Handing::Relayed };

static CARD: Card = Card {
    name: "site-relays",
    summary: "all-gather of long blocks along the trees of site-blocks, by pairs of hosts and relays",
    reference: "Kielmann et al., MagPIe, PPoPP 1999",
    objective: "makespan of all-gathers of long blocks between sites",
    guarantee: "in each tree, each site is entered once",
    complexity: "O(n²)",
    profile: PROFILE,
};
