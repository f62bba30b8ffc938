//! The bound that groups of hosts put on all-reduces: what has to cross between sites, or between clusters.
//!
//! Let the hosts be divided into k groups. A group *has* what any of its hosts has.
//!
//! *At least 2·(k − 1) transfers of each byte enter a group.* Let F be the first group that has the contributions of all
//! groups, and t* the moment. For each other group g, choose a contribution of g and the transfers by which it came to F;
//! the first of them that leaves g, o_g, arrives by t*. Each other group d lacks some contribution at t*, so a transfer
//! w_d into d arrives after t*. These 2·(k − 1) transfers are all different.
//!
//! *How long they hold pipes.* Assign each to a resource that it holds; the resource's windows are disjoint and begin
//! after its first one may. At most one of them, W, ends after the makespan T. Let one pipe lie on all links into a group
//! d of several hosts, and let W, on it, enter d at host r. Then r sends on, after W's arrival and by T, every byte that
//! counts in W, or the byte counts elsewhere:
//!
//! - W is w_d. Of the transfers into d that arrive after t*, let w_d be the first on the pipe. The other hosts of d get
//!   what d lacked at t* through r, or through another such transfer. That one holds the pipe after W, so W ends by T.
//! - W is o_g and d is not F. Then it is r that sends on, towards F.
//! - W is o_g and d is F. Of all ways of g's contribution into F by t*, let o_g be the first on the pipe. The other hosts
//!   of F get the contribution through r, or through another transfer V into F. If V holds the pipe after W, W ends by T.
//!   Else V arrives after t*, so it does not count yet, and counts in W's place: it holds the pipe before W.
//!
//! So W ends no later after T than its window outlasts its arrival and r's sends, as in [`Cover::PassedOn`].

use super::crossing::{Cover, Crossing, Crossings};
use super::lanes::Lanes;
use super::{outset, ROUNDING};
use crate::platform::{NodeId, Platform, SharedId};

/// More nodes than this have too many links to be visited.
const MOST_NODES: usize = 1000;

/// A lower bound on the time of an all-reduce of `message_bytes` by its sites and its clusters, seconds; 0 where there is
/// one group only, or a switch, which belongs to none.
pub fn exchanged_s(platform: &Platform, message_bytes: u64) -> f64 {
    let nodes = platform.node_count();
    let has_switches = platform.hosts().count() < nodes;
    if message_bytes == 0 || has_switches || nodes > MOST_NODES {
        return 0.0;
    }
    let crossings = outset(platform, message_bytes);
    let sites = labels(platform, |node| platform.node(node).site.as_deref());
    let clusters = labels(platform, |node| platform.node(node).cluster);
    let bound_s = |labels: Vec<usize>| between_s(platform, &crossings, &labels, message_bytes);
    bound_s(sites).max(bound_s(clusters)) * (1.0 - ROUNDING)
}

/// The number of each node's group; a node without a name for its group is a group by itself.
fn labels<Name: Ord>(platform: &Platform, name: impl Fn(NodeId) -> Option<Name>) -> Vec<usize> {
    let mut names: Vec<Name> = platform.nodes().filter_map(&name).collect();
    names.sort_unstable();
    names.dedup();
    let mut next = names.len();
    let mut alone = || {
        next += 1;
        next - 1
    };
    let known = |name: Name| names.binary_search(&name).expect("collected above");
    platform.nodes().map(|node| name(node).map_or_else(&mut alone, known)).collect()
}

fn between_s(platform: &Platform, crossings: &Crossings, labels: &[usize], message_bytes: u64) -> f64 {
    let groups = labels.iter().max().map_or(0, |&most| most + 1);
    let behind: Vec<Vec<bool>> =
        (0..groups).map(|group| labels.iter().map(|&label| label == group).collect()).collect();
    let entering: Vec<Vec<Crossing>> = behind.iter().map(|behind| crossings.entering(behind)).collect();
    if groups < 2 || entering.iter().any(Vec::is_empty) {
        return 0.0;
    }
    let needed = 2.0 * (groups - 1) as f64 * message_bytes as f64;
    let through_s = |cover_of: &dyn Fn(&[Crossing]) -> Cover| {
        let mut lanes = Lanes::default();
        for (behind, entering) in behind.iter().zip(&entering) {
            let several = behind.iter().filter(|&&is_behind| is_behind).count() > 1;
            let cover = cover_of(entering);
            for crossing in entering {
                let passes_on = several && matches!(cover, Cover::PassedOn(_));
                crossings.cross(&Crossing { passes_on, ..crossing.clone() }, cover, &mut lanes);
            }
        }
        lanes.carried_s(needed)
    };
    let common = |entering: &[Crossing]| common_pipe(platform, entering).map_or(Cover::Pipe, Cover::PassedOn);
    let covered_s = Cover::ALL.iter().map(|&cover| through_s(&|_| cover)).fold(0.0, f64::max);
    covered_s.max(through_s(&common))
}

/// The slowest pipe on all links into a group.
fn common_pipe(platform: &Platform, entering: &[Crossing]) -> Option<SharedId> {
    let is_common =
        |pipe: &SharedId| entering.iter().all(|crossing| platform.class(crossing.class).uses.contains(pipe));
    let rate = |pipe: &SharedId| platform.shared()[pipe.index()].bandwidth_bytes_per_s;
    let pipes = (0..platform.shared().len() as u32).map(SharedId).filter(is_common);
    pipes.min_by(|one, other| rate(one).total_cmp(&rate(other)))
}
