//! Paper 2: one message between clusters, then inside them.
//!
//! Clusters are either in A (they hold the message; cluster i may send from its ready time RT_i on) or in B
//! (they wait). A heuristic is a rule for the next send i → j, which occupies i for g_ij(m) and makes j ready
//! at RT_i + g_ij(m) + L_ij. Cluster i then needs T_i for its own broadcast. Ties go to the smallest j, then to
//! the smallest i. Reference: Barchet-Steffenel and Mounié, *Scheduling heuristics for efficient broadcast
//! operations on grid environments*.
//!
//! [`Grid`] is that problem, [`ClusterSend`]s are its solutions, [`makespan_s`] evaluates them; a [`Heuristic`] is a
//! rule with its card. As planners they work at two levels where a platform has clusters of several hosts (the inner
//! trees are grafted onto the coordinators), else directly between hosts.

mod bottom_up;
mod branch_and_bound;
mod cluster_two_trees;
mod coordinator_grid;
mod ecef;
mod ecef_ahead;
mod ecef_pipelined;
mod exact;
mod fef;
mod fef_gap;
mod flat_sends;
mod fnf;
mod frontier;
mod gateway_trees;
mod graft;
mod grid;
mod groups;
mod heuristic;
pub(super) mod host_times;
mod inner_tree;
mod kinds;
mod lightest_edge;
mod lookahead;
mod magpie;
mod makespan;
mod makespan_search;
mod mixed;
mod modelled_segments;
mod mpich_g2;
mod offers;
mod ordered_tree;
mod pipeline_time;
mod rules;
mod segmented_tree;
mod sends;
mod site_blocks;
mod site_gather;
mod site_packing;
mod site_promise;
mod site_relays;
mod site_trees;
mod unit;
mod units;
mod waiting;

pub use bottom_up::BOTTOM_UP;
pub use bottom_up::BOTTOM_UP_AS_PRINTED;
pub use branch_and_bound::{bound_s, Proof};
pub(crate) use cluster_two_trees::ClusterTwoTrees;
pub use ecef::ECEF;
pub use ecef_ahead::{ECEF_LA, ECEF_LAT_MAX, ECEF_LAT_MIN};
pub(crate) use ecef_ahead::{ECEF_LA_AVERAGE, ECEF_LA_SENDERS};
pub(crate) use ecef_pipelined::EcefPipelined;
pub use exact::solve;
pub(crate) use exact::Exact;
pub use fef::FEF;
pub(crate) use fef_gap::FEF_GAP;
pub use flat_sends::flat_sends;
pub(crate) use fnf::FNF;
pub(crate) use gateway_trees::GatewayTrees;
pub use grid::{Grid, GridError};
pub use heuristic::Heuristic;
pub use inner_tree::quickest_tree;
pub(crate) use magpie::Magpie;
pub(crate) use makespan::Makespan;
pub use makespan_search::{search, SearchEffort};
pub(crate) use mixed::MIXED;
pub(crate) use mpich_g2::MpichG2;
pub use rules::HEURISTICS;
pub use sends::{makespan_s, times, ClusterSend, Times};
pub(crate) use site_gather::SITE_BLOCKS;
pub(crate) use site_packing::{SITE_PACKING, SITE_PACKING_BINOMIAL};
pub(crate) use site_relays::SITE_RELAYS;
pub(crate) use site_trees::SiteTrees;
