//! The binomial tree as paper 1 prints it: the first 2^m hosts in m rounds, the others in one more.
//!
//! With m = ⌊log2 n⌋ and places relative to the root, round p = 0 … m − 1 sends from every X·2^(m−p) to
//! X·2^(m−p) + 2^(m−p−1), X = 0 … 2^p − 1; in the last round every place u ≥ 2^m receives from u − 2^m. For powers of
//! two that is `binomial`; else MPI's tree spans the places up to the next power of two without those that are
//! missing: of six places, 5 receives from 4 there and from 1 here. Where a link is missing the
//! quickest path carries the edge, and every use of a link counts. The last line's SHORTEST-PATH(u, u − 2^m) is read
//! as (u − 2^m, u): in the text u receives.
//!
//! Reference: Beaumont, Marchal and Robert, *Broadcast trees for heterogeneous platforms*, algorithm 4.
//! Cost: ⌈log2 n⌉·(T(m) + latency) unsegmented, on a homogeneous one-port network. Complexity: O(n).
//! Guarantee: unsegmented and without latency, optimal on a homogeneous one-port network, as for `binomial`.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::{find, Instance};
//! use broadleaf::platform::{LinkClass, Mesh, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("six", PortModel::OnePort);
//! let nodes: Vec<_> = "abcdef".chars().map(|id| builder.add_host(id.to_string()).unwrap()).collect();
//! let class = builder.add_class(LinkClass::affine(0.0, 100.0));
//! builder.add_mesh(Mesh { nodes: nodes.clone(), class }).unwrap();
//! let platform = builder.build().unwrap();
//! let instance = Instance::new(&platform, nodes[0], 100).unwrap();
//! let plan = find("binomial-printed").unwrap().plan(&instance, &Budget::UNLIMITED).unwrap();
//! let trace = broadleaf::simulate::simulate(&platform, &plan, false).unwrap();
//! // Rounds of 1 s: a to c; a to b and c to d; a to e and b to f.
//! assert_eq!(trace.finish_s, [0.0, 2.0, 1.0, 2.0, 3.0, 3.0]);
//! ```

use crate::budget::Budget;
use crate::plan::{Plan, PlanError, TreeBuilder};
use crate::planners::{Card, Instance, Planner, Profile, Unsupported};

pub struct BinomialPrinted;

static CARD: Card = Card {
    name: "binomial-printed",
    summary: "a binomial tree over the first 2^m nodes, then one more round to the others",
    reference: "Beaumont, Marchal and Robert, Broadcast trees for heterogeneous platforms, algorithm 4",
    objective: "comparison with trees that know the network's rates",
    guarantee: "unsegmented, optimal on a homogeneous one-port network without latency",
    complexity: "O(n)",
    // No better than `binomial` anywhere, and the same tree for powers of two.
    profile: Profile { is_baseline: true, ..Profile::QUICK },
};

impl Planner for BinomialPrinted {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, _: &Instance) -> Result<(), Unsupported> {
        Ok(())
    }

    fn plan(&self, instance: &Instance, _: &Budget) -> Result<Plan, PlanError> {
        let hosts = instance.hosts_from_root();
        let mut tree = TreeBuilder::new(instance.platform.node_count());
        for (from, to) in edges(hosts.len()) {
            tree.add(hosts[from], hosts[to]);
        }
        Ok(instance.tree_plan(CARD.name, tree))
    }
}

/// (sender, receiver) by place, in the order in which algorithm 4 adds them; `count` ≥ 1.
fn edges(count: usize) -> Vec<(usize, usize)> {
    let rounds = count.ilog2();
    let mut edges = Vec::with_capacity(count - 1);
    for round in 0..rounds {
        let apart = 1 << (rounds - round);
        edges.extend((0..1 << round).map(|at| (at * apart, at * apart + apart / 2)));
    }
    let whole = 1 << rounds;
    edges.extend((whole..count).map(|place| (place - whole, place)));
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::pattern::binomial::children;

    #[test]
    fn differs_from_the_tree_of_mpi_from_the_second_place_beyond_a_power_of_two() {
        let of_mpi = |count: usize| {
            let to_children = |place| children(place, count).map(move |to| (place, to));
            let mut edges: Vec<_> = (0..count).flat_map(to_children).collect();
            edges.sort_unstable();
            edges
        };
        for count in 1..70usize {
            let mut printed = edges(count);
            printed.sort_unstable();
            // The one place beyond a power of two receives from the root in both.
            let is_alike = count.is_power_of_two() || (count - 1).is_power_of_two();
            assert_eq!(printed == of_mpi(count), is_alike, "{count} places");
        }
    }

    #[test]
    fn six_and_seven_places_are_served_as_printed() {
        assert_eq!(edges(6), [(0, 2), (0, 1), (2, 3), (0, 4), (1, 5)]);
        assert_eq!(edges(7)[3..], [(0, 4), (1, 5), (2, 6)]);
    }

    /// Every place is served once, by one that has been served before.
    #[test]
    fn senders_have_what_they_send() {
        for count in 1..200 {
            let mut has = vec![false; count];
            has[0] = true;
            for (from, to) in edges(count) {
                assert!(
                    has[from] && !std::mem::replace(&mut has[to], true),
                    "{count} places: {from} to {to}"
                );
            }
            assert!(has.into_iter().all(|has| has), "{count} places");
        }
    }
}
