//! Pipelined round-robin broadcast: the root scatters the next messages while the others exchange these.
//!
//! Our segments are the paper's *messages*; one period is the paper's segment of n − 1 of them. The players of
//! a round-robin tournament (the rotation of figure 3; a virtual player when n is odd) meet in pairs. In each
//! iteration the root gives every destination one message of the next segment when they meet (figure 5), and
//! two destinations that meet exchange their messages of the present one (figure 4).
//!
//! As a plan: n − 1 two-level trees (root → destination → all other destinations), and the tournament as the
//! period, so that nobody is served out of turn. The paper's rounds are not kept apart by clocks: each node
//! does its matches in order, as soon as it can, so for odd n idle slots get used and the time can come out
//! below the paper's t·n/(n − 1).
//!
//! An all-gather is the tournament alone (the paper's *global data exchange*): in each round the pairs exchange
//! their own contributions, in (n − 1)/n·t for t = the time of all contributions together.
//!
//! Reference: Axida, Viet and Yoshinaga, *Pipelined round-robin broadcast*, sections 4.1 and 5.2.
//! Cost: about D/b + (n − 1) message times to fill the pipeline, on a homogeneous full-duplex one-port network.
//! Complexity: O(n²) slots. Guarantee: the limit m/b as the message grows, for even n.
//!
//! ```
//! use broadleaf::planners::{Instance, Planner, RoundRobin};
//! use broadleaf::platform::{LinkClass, Mesh, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("four", PortModel::OnePort);
//! let nodes: Vec<_> = ["r", "x", "y", "z"].iter().map(|id| builder.add_host(*id).unwrap()).collect();
//! let class = builder.add_class(LinkClass::affine(0.0, 1.0));
//! builder.add_mesh(Mesh { nodes: nodes.clone(), class }).unwrap();
//! let platform = builder.build().unwrap();
//! let instance = Instance::new(&platform, nodes[0], 6).unwrap().segmented(1);
//! let plan = RoundRobin.plan(&instance).unwrap();
//! let trace = broadleaf::simulate::simulate(&platform, &plan, false).unwrap();
//! // The root is done with six messages at 6; three rounds later the last exchange is over.
//! assert_eq!(trace.makespan_s, 9.0);
//! ```

use super::{Card, Instance, Planner, Unsupported};
use crate::plan::{Collective, Period, Plan, PlanError, Slot, TreeBuilder};
use crate::platform::NodeId;

/// n − 1 trees of n − 1 edges: beyond this the plan would take more than 32 MiB.
const MOST_HOSTS: usize = 1500;

pub struct RoundRobin;

/// Up to here it is planned and simulated at several segment sizes in a few milliseconds.
const QUICK_HOSTS: usize = 32;

static CARD: Card = Card {
    name: "round-robin",
    summary: "the root scatters the next messages while all others exchange these in a tournament",
    reference: "Axida, Viet and Yoshinaga, Pipelined round-robin broadcast, sections 4 and 5",
    objective: "throughput on homogeneous full-duplex clusters",
    guarantee: "the limit m/b as the message grows, for even n on homogeneous one-port networks",
    complexity: "O(n^2)",
};

impl Planner for RoundRobin {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        let hosts = instance.receivers().count() + 1;
        if hosts > MOST_HOSTS {
            return Err(Unsupported(format!(
                "{hosts} hosts; the tournament is written out for {MOST_HOSTS} at most"
            )));
        }
        let receivers = hosts as u64 - 1;
        if instance.collective == Collective::Bcast && instance.message_bytes < receivers {
            let bytes = instance.message_bytes;
            return Err(Unsupported(format!(
                "{bytes} bytes cannot give each of {receivers} nodes a message"
            )));
        }
        Ok(())
    }

    fn collectives(&self) -> &'static [Collective] {
        &[Collective::Bcast, Collective::Allgather]
    }

    /// Every simulation of it lasts for whole periods of n² slots.
    fn is_quick(&self, instance: &Instance) -> bool {
        instance.receivers().count() < QUICK_HOSTS
    }

    fn plan(&self, instance: &Instance) -> Result<Plan, PlanError> {
        if instance.collective == Collective::Allgather {
            return Ok(global_data_exchange(instance));
        }
        let mut players: Vec<NodeId> = vec![instance.root];
        players.extend(instance.receivers());
        let receivers = players.len() - 1;
        if receivers == 0 {
            let empty = TreeBuilder::new(instance.platform.node_count());
            return Ok(instance.tree_plan(CARD.name, empty));
        }
        // More nodes than messages: the segments are made smaller, so that everyone has one to scatter.
        let most = instance.message_bytes / receivers as u64;
        let segment_bytes = instance.segment_bytes.min(most.max(1));
        let mut trees: Vec<TreeBuilder> = Vec::with_capacity(receivers);
        // Which position of the period each player gets from the root: the order of its matches.
        let mut position = vec![0u32; players.len()];
        let mut slots = Vec::with_capacity(receivers * receivers);
        let rounds = tournament(players.len());
        for &(_, opponent) in rounds.iter().flatten().filter(|(first, _)| *first == 0) {
            position[opponent] = trees.len() as u32;
            let mut tree = TreeBuilder::new(instance.platform.node_count()).share(1.0 / receivers as f64);
            tree.add(players[0], players[opponent]);
            trees.push(tree);
        }
        for &(first, second) in rounds.iter().flatten() {
            let (a, b) = (players[first], players[second]);
            if first == 0 {
                slots.push(Slot { segment: position[second], from: a, to: b, lag: 0 });
                continue;
            }
            for (giver, from, to) in [(first, a, b), (second, b, a)] {
                trees[position[giver] as usize].add(from, to);
                slots.push(Slot { segment: position[giver], from, to, lag: 1 });
            }
        }
        let trees = trees.into_iter().map(TreeBuilder::build).collect();
        let plan = Plan::bcast(
            instance.platform,
            CARD.name,
            instance.root,
            instance.message_bytes,
            segment_bytes,
            trees,
        );
        let period = Some(Period { segments: receivers as u32, slots });
        Ok(Plan { seed: instance.seed, period, ..plan })
    }
}

/// Section 4.2: in each round of the tournament the pairs exchange their own contributions.
fn global_data_exchange(instance: &Instance) -> Plan {
    let players = instance.platform.hosts().count();
    let matches = tournament(players).into_iter().flatten();
    let moves: Vec<_> = matches.flat_map(|(a, b)| [(a, a, b), (b, b, a)]).collect();
    instance.allgather_plan(CARD.name, &moves, false)
}

/// The matches of every round of a tournament of `players`, by the rotation of figure 3 with player 0 fixed;
/// with an odd number of players the match against the virtual one is left out.
///
/// The others stand on a circle of places 0 … N − 2; in round r those whose places sum to N − 3 − 2r (modulo
/// N − 1) meet, and player 0 meets the one whose double does.
fn tournament(players: usize) -> Vec<Vec<(usize, usize)>> {
    let even = players.next_multiple_of(2);
    let circle = even - 1;
    let real = |player: usize| player < players;
    (0..circle)
        .map(|round| {
            let meets = |place: usize| (2 * circle + even - 3 - (2 * round) % circle - place) % circle;
            let fixed = even - 2 - round;
            let mut matches = vec![(0, fixed + 1)];
            let pairs = (0..circle).map(|place| (place + 1, meets(place) + 1));
            matches.extend(pairs.filter(|(first, second)| first < second));
            matches.retain(|&(first, second)| real(first) && real(second));
            matches
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::{LinkClass, Mesh, Platform, PlatformBuilder, PortModel};
    use crate::simulate::simulate;
    use std::collections::HashSet;

    /// Figure 3: 14 participants, the matches of rounds 1, 2, 3 and 13.
    #[test]
    fn rotates_as_figure_3() {
        let rounds = tournament(14);
        let printed = |top: [usize; 7], bottom: [usize; 7]| -> HashSet<(usize, usize)> {
            top.into_iter().zip(bottom).map(|(a, b)| (a.min(b) - 1, a.max(b) - 1)).collect()
        };
        for (round, top, bottom) in [
            (1, [1, 2, 3, 4, 5, 6, 7], [14, 13, 12, 11, 10, 9, 8]),
            (2, [1, 14, 2, 3, 4, 5, 6], [13, 12, 11, 10, 9, 8, 7]),
            (3, [1, 13, 14, 2, 3, 4, 5], [12, 11, 10, 9, 8, 7, 6]),
            (13, [1, 3, 4, 5, 6, 7, 8], [2, 14, 13, 12, 11, 10, 9]),
        ] {
            let ours: HashSet<(usize, usize)> = rounds[round - 1].iter().copied().collect();
            assert_eq!(ours, printed(top, bottom), "round {round}");
        }
    }

    #[test]
    fn everyone_meets_everyone_once() {
        for players in 2..20 {
            let rounds = tournament(players);
            let mut met = HashSet::new();
            for matches in &rounds {
                let busy: HashSet<usize> = matches.iter().flat_map(|&(a, b)| [a, b]).collect();
                assert_eq!(busy.len(), 2 * matches.len(), "nobody plays twice in a round");
                assert!(matches.iter().all(|pair| met.insert(*pair)));
            }
            assert_eq!(met.len(), players * (players - 1) / 2);
        }
    }

    fn homogeneous(nodes: usize) -> Platform {
        let mut builder = PlatformBuilder::new("same", PortModel::OnePort);
        let hosts: Vec<_> = (0..nodes).map(|node| builder.add_host(format!("n{node}")).unwrap()).collect();
        let class = builder.add_class(LinkClass::affine(0.0, 1.0));
        builder.add_mesh(Mesh { nodes: hosts, class }).unwrap();
        builder.build().unwrap()
    }

    /// Section 5.3 and table 2 over 300 periods: t for even n, at most n/(n − 1)·t for odd n.
    #[test]
    fn takes_the_papers_time() {
        for nodes in 2..=17usize {
            let platform = homogeneous(nodes);
            let messages = 300 * (nodes as u64 - 1);
            let instance = Instance::new(&platform, NodeId(0), messages).unwrap().segmented(1);
            let plan = RoundRobin.plan(&instance).unwrap();
            let trace = simulate(&platform, &plan, false).unwrap();
            let paper = if nodes % 2 == 0 { 1.0 } else { nodes as f64 / (nodes - 1) as f64 };
            let relative = trace.makespan_s / messages as f64;
            assert!(relative >= 1.0 && relative <= 1.01 * paper, "{nodes} nodes: {relative} t");
        }
    }

    /// Section 4.2: each node receives n − 1 contributions and never waits, for odd n one round more.
    #[test]
    fn exchanges_globally_in_one_tournament() {
        for nodes in 2..=17usize {
            let platform = homogeneous(nodes);
            let instance = Instance::new(&platform, NodeId(0), 100).unwrap();
            let instance = Instance { collective: Collective::Allgather, ..instance };
            let trace = simulate(&platform, &RoundRobin.plan(&instance).unwrap(), false).unwrap();
            let rounds = (nodes - 1 + nodes % 2) as f64;
            assert!(trace.makespan_s <= rounds * 100.0, "{nodes} nodes: {}", trace.makespan_s);
            assert!(trace.makespan_s >= (nodes - 1) as f64 * 100.0);
        }
    }

    #[test]
    fn small_messages_and_few_nodes() {
        let platform = homogeneous(5);
        let instance = |bytes| Instance::new(&platform, NodeId(2), bytes).unwrap().segmented(100);
        assert!(RoundRobin.supports(&instance(3)).is_err());
        let plan = RoundRobin.plan(&instance(10)).unwrap();
        assert_eq!(plan.segment_bytes, 2);
        simulate(&platform, &plan, false).unwrap();
        let alone = homogeneous(1);
        let plan = RoundRobin.plan(&Instance::new(&alone, NodeId(0), 7).unwrap()).unwrap();
        assert_eq!(simulate(&alone, &plan, false).unwrap().makespan_s, 0.0);
    }
}
